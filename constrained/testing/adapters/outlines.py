"""Outlines, by the index and guide of its core."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from grammars.vocabulary import Vocabulary

from .base import Engine, Language, Refused, Session, allowed_of_bitmask

__all__ = ["Outlines", "OutlinesSession"]


class OutlinesSession(Session):
    """An `outlines_core.Guide`."""

    def __init__(self, vocabulary: Vocabulary, guide: Any) -> None:
        super().__init__(vocabulary)
        self.guide = guide
        self._bitmask = np.zeros((vocabulary.size + 31) // 32, np.int32)

    def allowed(self) -> npt.NDArray[np.bool_]:
        self._bitmask[:] = 0
        self.guide.write_mask_into(self._bitmask.ctypes.data, self._bitmask.size, self._bitmask.itemsize)
        return allowed_of_bitmask(self._bitmask, self.vocabulary.size)

    def consume(self, token_id: int) -> bool:
        if token_id in self.vocabulary.eos_token_ids:  # no transition of an index reads it
            return bool(self.guide.is_finished())
        try:
            self.guide.advance(token_id, return_tokens=False)
        except ValueError:
            return False
        return True


class Outlines(Engine):
    """`outlines_core.Index`, over the regular expression that it makes of a schema."""

    name = "outlines"
    distribution = "outlines-core"
    kinds = ("schema", "regex")

    def __init__(self, vocabulary: Vocabulary) -> None:
        import outlines_core

        super().__init__(vocabulary)
        ids: dict[bytes, list[int]] = {}
        for token_id, token in enumerate(vocabulary.tokens):
            if token:
                ids.setdefault(token, []).append(token_id)
        self.tokens = outlines_core.Vocabulary(vocabulary.eos_token_ids[0], ids)

    def compile(self, language: Language) -> Callable[[], Session]:
        import outlines_core
        from outlines_core.json_schema import build_regex_from_schema

        self._check_kind(language)
        try:
            pattern = build_regex_from_schema(language.text) if language.kind == "schema" else language.text
            index = outlines_core.Index(pattern, self.tokens)
        except (ValueError, TypeError, RuntimeError) as error:
            raise Refused(str(error)) from error
        return lambda: OutlinesSession(self.vocabulary, outlines_core.Guide(index))
