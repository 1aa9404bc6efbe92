"""llguidance, by its matcher."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from grammars.vocabulary import Vocabulary

from .base import Engine, Language, Refused, Session, allowed_of_bitmask

__all__ = ["LLGuidance", "LLGuidanceSession"]


class LLGuidanceSession(Session):
    """An `llguidance.LLMatcher`."""

    can_roll_back = True

    def __init__(self, vocabulary: Vocabulary, matcher: Any) -> None:
        super().__init__(vocabulary)
        self.matcher = matcher
        self._is_over = False
        self._bitmask = np.zeros((1, (vocabulary.size + 31) // 32), np.int32)

    def allowed(self) -> npt.NDArray[np.bool_]:
        self.matcher.unsafe_compute_mask_ptr(self._bitmask.ctypes.data, self._bitmask.nbytes)
        return allowed_of_bitmask(self._bitmask[0], self.vocabulary.size)

    def consume(self, token_id: int) -> bool:
        if self._is_over:
            return False
        if token_id in self.vocabulary.eos_token_ids and self.matcher.is_stopped():
            # Where nothing but the end is left, it is set in the mask, and not counted as consumed.
            self._is_over = bool(self.matcher.is_accepting())
            return self._is_over
        return bool(self.matcher.try_consume_tokens([token_id]) == 1)

    def roll_back(self, num_tokens: int) -> None:
        num_tokens, self._is_over = num_tokens - self._is_over, False
        if num_tokens and not self.matcher.rollback(num_tokens):
            raise RuntimeError(f"llguidance: {self.matcher.get_error()}")


class _Tokens:
    """What llguidance's wrapper of tokenizers asks for."""

    bos_token_id = None

    def __init__(self, vocabulary: Vocabulary) -> None:
        texts = enumerate(vocabulary.tokens)
        self.eos_token_id = vocabulary.eos_token_ids[0]
        self.tokens = [f"<|special {token_id}|>".encode() if text is None else text for token_id, text in texts]
        self.special_token_ids = [token_id for token_id, text in enumerate(vocabulary.tokens) if text is None]
        self._ids = {text: token_id for token_id, text in enumerate(vocabulary.tokens) if text and len(text) == 1}

    def __call__(self, text: bytes) -> list[int]:
        return [self._ids[bytes((byte,))] for byte in text]


class LLGuidance(Engine):
    """`llguidance`, as it comes."""

    name = "llguidance"
    distribution = "llguidance"
    kinds = ("schema", "regex", "lark")

    def __init__(self, vocabulary: Vocabulary) -> None:
        from llguidance import LLTokenizer, TokenizerWrapper

        super().__init__(vocabulary)
        self.tokenizer = LLTokenizer(TokenizerWrapper(_Tokens(vocabulary)), n_vocab=vocabulary.size)

    def compile(self, language: Language) -> Callable[[], Session]:
        from llguidance import LLMatcher

        self._check_kind(language)
        try:
            match language.kind:
                case "schema":
                    grammar = LLMatcher.grammar_from_json_schema(language.text)
                case "regex":
                    grammar = LLMatcher.grammar_from_regex(language.text)
                case _:
                    grammar = LLMatcher.grammar_from_lark(language.text)
        except ValueError as error:
            raise Refused(str(error)) from error
        fresh = LLMatcher(self.tokenizer, grammar)
        if fresh.is_error():
            raise Refused(fresh.get_error())
        return lambda: LLGuidanceSession(self.vocabulary, fresh.deep_copy())
