"""What an implementation must offer to be tested: a session for one sequence, and an engine that makes them."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from grammars.vocabulary import Vocabulary

__all__ = ["Engine", "Language", "LanguageKind", "Refused", "Session", "allowed_of_bitmask"]

LanguageKind = Literal["schema", "regex", "gbnf", "lark"]


class Refused(Exception):
    """An engine does not take a grammar; the message is the engine's own."""


@dataclass(frozen=True, slots=True)
class Language:
    """A language as text: a JSON Schema, a regular expression that the whole text matches, or a grammar."""

    kind: LanguageKind
    text: str

    @classmethod
    def from_schema(cls, schema: Any) -> Language:
        """Of a JSON Schema, as a value or as text."""
        return cls("schema", schema if isinstance(schema, str) else json.dumps(schema, ensure_ascii=False))

    @property
    def schema(self) -> Any:
        """The schema as a value. ValueError for a language of another kind."""
        if self.kind != "schema":
            raise ValueError(f"schema: expected a language that is a JSON Schema, got {self.kind}")
        return json.loads(self.text)


class Session(ABC):
    """One sequence under one grammar, at its beginning. What an implementation cannot do it leaves as it is here."""

    can_roll_back: ClassVar[bool] = False
    may_dead_end: bool = False
    """Whether it may come to where nothing is allowed, and whoever uses it goes back then."""
    knows_end: ClassVar[bool] = False
    """Whether a session goes on answering after an end token: only end tokens are allowed then, and none is taken."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary

    @abstractmethod
    def allowed(self) -> npt.NDArray[np.bool_]:
        """(V,) Which ids may come next; V is the size of the vocabulary."""

    @abstractmethod
    def consume(self, token_id: int) -> bool:
        """Append an id; False, and nothing changes, where it is not allowed."""

    def roll_back(self, num_tokens: int) -> None:
        """Undo the last ids."""
        raise NotImplementedError(f"{type(self).__name__} cannot roll back")

    def can_end(self) -> bool:
        """Whether the text may end here."""
        return bool(self.allowed()[list(self.vocabulary.eos_token_ids)].any())


class Engine(ABC):
    """A way to compile grammars for one vocabulary."""

    name: ClassVar[str]
    distribution: ClassVar[str]
    """The package whose version counts."""
    kinds: ClassVar[tuple[LanguageKind, ...]] = ("schema",)
    """What it reads."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary

    @classmethod
    def version(cls) -> str:
        """Of the installed package; ``"?"`` if it is not one."""
        try:
            return version(cls.distribution)
        except PackageNotFoundError:
            return "?"

    @abstractmethod
    def compile(self, language: Language) -> Callable[[], Session]:
        """A maker of sessions. Raises :class:`Refused`; whatever else comes out is a crash."""

    @cached_property
    def _ids(self) -> dict[bytes, int]:
        """The first id of each text."""
        ids: dict[bytes, int] = {}
        for token_id, token in enumerate(self.vocabulary.tokens):
            if token:
                ids.setdefault(token, token_id)
        return ids

    def spell(self, text: bytes) -> list[int] | None:
        """Ids that write a text, one a byte; ``None`` where a byte has no token."""
        ids = [self._ids.get(text[place : place + 1]) for place in range(len(text))]
        return [token_id for token_id in ids if token_id is not None] if None not in ids else None

    def _check_kind(self, language: Language) -> None:
        if language.kind not in self.kinds:
            raise Refused(f"{self.name} reads {', '.join(self.kinds)}, not {language.kind}")


def allowed_of_bitmask(bitmask: npt.NDArray[np.int32], size: int) -> npt.NDArray[np.bool_]:
    """(V,) The bits of one row, as booleans.

    >>> allowed_of_bitmask(np.array([5], np.int32), 4)
    array([ True, False,  True, False])
    """
    return np.unpackbits(bitmask.view(np.uint8), bitorder="little")[:size].astype(np.bool_)
