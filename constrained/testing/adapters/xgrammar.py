"""XGrammar, by its matcher."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from grammars.vocabulary import Vocabulary

from .base import Engine, Language, Refused, Session, allowed_of_bitmask

__all__ = ["XGrammar", "XGrammarSession"]


class XGrammarSession(Session):
    """An `xgrammar.GrammarMatcher`."""

    can_roll_back = True

    def __init__(self, vocabulary: Vocabulary, matcher: Any) -> None:
        import xgrammar

        super().__init__(vocabulary)
        self.matcher = matcher
        self._bitmask = xgrammar.allocate_token_bitmask(1, vocabulary.size)

    def allowed(self) -> npt.NDArray[np.bool_]:
        self.matcher.fill_next_token_bitmask(self._bitmask)
        return allowed_of_bitmask(self._bitmask.numpy()[0], self.vocabulary.size)

    def consume(self, token_id: int) -> bool:
        return bool(self.matcher.accept_token(token_id))

    def roll_back(self, num_tokens: int) -> None:
        self.matcher.rollback(num_tokens)


class XGrammar(Engine):
    """`xgrammar`, with any white space, and not strict: what a schema does not mention is allowed."""

    name = "xgrammar"
    distribution = "xgrammar"
    kinds = ("schema", "regex", "gbnf")

    def __init__(self, vocabulary: Vocabulary) -> None:
        import xgrammar

        super().__init__(vocabulary)
        texts = enumerate(vocabulary.tokens)
        tokens = [f"<|special {token_id}|>".encode() if text is None else text for token_id, text in texts]
        info = xgrammar.TokenizerInfo(
            tokens,
            vocab_type=xgrammar.VocabType.RAW,
            vocab_size=vocabulary.size,
            stop_token_ids=list(vocabulary.eos_token_ids),
        )
        self.compiler = xgrammar.GrammarCompiler(info, max_threads=1, cache_enabled=False)

    def compile(self, language: Language) -> Callable[[], Session]:
        import xgrammar

        self._check_kind(language)
        try:
            match language.kind:
                case "schema":
                    compiled = self.compiler.compile_json_schema(language.text, any_whitespace=True, strict_mode=False)
                case "regex":
                    compiled = self.compiler.compile_regex(language.text)
                case _:
                    compiled = self.compiler.compile_grammar(language.text)
        except (RuntimeError, ValueError) as error:
            raise Refused(str(error)) from error
        return lambda: XGrammarSession(self.vocabulary, xgrammar.GrammarMatcher(compiled))
