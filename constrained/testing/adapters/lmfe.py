"""lm-format-enforcer, by its token enforcer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from grammars.vocabulary import Vocabulary

from .base import Engine, Language, Refused, Session

__all__ = ["LMFormatEnforcer", "LMFormatEnforcerSession"]


class LMFormatEnforcerSession(Session):
    """An `lmformatenforcer.TokenEnforcer`, asked with all ids so far."""

    def __init__(self, vocabulary: Vocabulary, enforcer: Any) -> None:
        super().__init__(vocabulary)
        self.enforcer = enforcer
        self._ids: list[int] = []

    def allowed(self) -> npt.NDArray[np.bool_]:
        mask = np.zeros(self.vocabulary.size, np.bool_)
        mask[list(self.enforcer.get_allowed_tokens(self._ids).allowed_tokens)] = True
        return mask

    def consume(self, token_id: int) -> bool:
        if not self.allowed()[token_id]:
            return False
        self._ids = [*self._ids, token_id]
        return True


class LMFormatEnforcer(Engine):
    """`lm-format-enforcer`, with the tokens that are whole characters: it follows text, not bytes."""

    name = "lmfe"
    distribution = "lm-format-enforcer"
    kinds = ("schema", "regex")

    def __init__(self, vocabulary: Vocabulary) -> None:
        from lmformatenforcer.tokenenforcer import TokenEnforcerTokenizerData

        super().__init__(vocabulary)
        self.texts = {token_id: text for token_id, token in enumerate(vocabulary.tokens) if (text := _text(token))}
        regular = [(token_id, text, False) for token_id, text in self.texts.items()]
        self.tokens = TokenEnforcerTokenizerData(
            regular, self._decode, list(vocabulary.eos_token_ids), False, vocabulary.size
        )
        self.ids = {text: token_id for token_id, text in reversed(self.texts.items())}

    def _decode(self, ids: list[int]) -> str:
        return "".join(self.texts.get(token_id, "") for token_id in ids)

    def spell(self, text: bytes) -> list[int] | None:
        ids = [self.ids.get(character) for character in text.decode()]
        return [token_id for token_id in ids if token_id is not None] if None not in ids else None

    def compile(self, language: Language) -> Callable[[], Session]:
        from lmformatenforcer import JsonSchemaParser, RegexParser, TokenEnforcer

        self._check_kind(language)

        def make() -> Session:
            parser = JsonSchemaParser(language.schema) if language.kind == "schema" else RegexParser(language.text)
            return LMFormatEnforcerSession(self.vocabulary, TokenEnforcer(self.tokens, parser))

        try:
            make()
        except Exception as error:  # it has no errors of its own: what it does not read ends in any of Python's
            raise Refused(f"{type(error).__name__}: {error}") from error
        return make


def _text(token: bytes | None) -> str | None:
    try:
        return token.decode() if token else None
    except UnicodeDecodeError:
        return None
