"""Two engines behind one face for comparing what they allow: our matcher and llguidance's, over Llama 3's vocabulary.

A follower stands somewhere in a text. It computes its token bitmask, takes tokens or bytes, and can be forked, so that
what may follow can be tried out.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import numpy.typing as npt

import grammars
from grammars import Vocabulary

from .engines import Refused, llama3_encoding
from .llama3_vocabulary import llama3_vocabulary

__all__ = ["SEPARATORS", "Follower", "Lab"]

SEPARATORS = {"compact": (",", ":"), "spaced": (", ", ": "), "any": (", ", ": ")}
"""Layouts that both engines can be asked for, and how to write them by ``json.dumps``."""


class Follower(ABC):
    """Where an engine stands in a text. It cannot go back: fork first."""

    name: str

    @abstractmethod
    def bitmask(self) -> npt.NDArray[np.int32]:
        """The token bitmask of what may come next, a fresh array (ceil(V / 32),)."""

    @abstractmethod
    def consume(self, token_id: int) -> bool:
        """Take a token; False, and unusable from then on, if it is not allowed."""

    @abstractmethod
    def count_taken(self, data: bytes) -> int:
        """How many of these bytes could follow; nothing is taken."""

    @abstractmethod
    def feed(self, data: bytes) -> bool:
        """Take bytes; False, and unusable from then on, if they are not allowed."""

    @property
    @abstractmethod
    def is_accepting(self) -> bool:
        """Whether the text may end here."""

    @abstractmethod
    def fork(self) -> Follower:
        """Another one that stands at the same place."""

    @property
    def gave_up(self) -> str:
        """Why the engine stopped working, if it did."""
        return ""

    def accepts(self, rest: bytes) -> bool:
        """Whether the text may go on with these bytes and end there."""
        ahead = self.fork()
        return ahead.feed(rest) and ahead.is_accepting


class OurFollower(Follower):
    """A :class:`grammars.Matcher`."""

    name = "constrained"

    def __init__(self, matcher: grammars.Matcher) -> None:
        self.matcher = matcher

    def bitmask(self) -> npt.NDArray[np.int32]:
        bitmask = grammars.allocate_token_bitmask(1, self.matcher.grammar.vocabulary.size)
        self.matcher.fill_next_token_bitmask(bitmask)
        row: npt.NDArray[np.int32] = bitmask[0]
        return row

    def consume(self, token_id: int) -> bool:
        return self.matcher.try_consume((token_id,)) == 1

    def count_taken(self, data: bytes) -> int:
        ahead = self.matcher.fork()
        for count in range(len(data)):
            if not ahead.consume_bytes(data[count : count + 1]):
                return count
        return len(data)

    def feed(self, data: bytes) -> bool:
        return self.matcher.consume_bytes(data)

    @property
    def is_accepting(self) -> bool:
        return self.matcher.is_accepting

    def fork(self) -> OurFollower:
        return OurFollower(self.matcher.fork())


class TheirFollower(Follower):
    """An `LLMatcher`, fed with bytes by its tokens of one byte."""

    name = "llguidance"

    def __init__(self, matcher: Any, lab: Lab) -> None:
        self.matcher, self.lab = matcher, lab

    def bitmask(self) -> npt.NDArray[np.int32]:
        bitmask = np.zeros((self.lab.vocabulary.size + 31) // 32, np.int32)
        self.matcher.unsafe_compute_mask_ptr(bitmask.ctypes.data, bitmask.nbytes)
        return bitmask

    def consume(self, token_id: int) -> bool:
        return bool(self.matcher.consume_token(token_id)) and not self.matcher.is_error()

    def count_taken(self, data: bytes) -> int:
        return int(self.matcher.validate_tokens([self.lab.byte_ids[byte] for byte in data]))

    def feed(self, data: bytes) -> bool:
        if not data:
            return True
        return bool(self.matcher.consume_tokens([self.lab.byte_ids[byte] for byte in data]))

    @property
    def is_accepting(self) -> bool:
        return bool(self.matcher.is_accepting())

    @property
    def gave_up(self) -> str:
        return str(self.matcher.get_error()) if self.matcher.is_error() else ""

    def fork(self) -> TheirFollower:
        return TheirFollower(self.matcher.deep_copy(), self.lab)


class Lab:
    """The vocabulary, and both engines asked for the same layout."""

    def __init__(self) -> None:
        from llguidance.tiktoken import lltokenizer_from_encoding

        self.vocabulary: Vocabulary = llama3_vocabulary()
        self.encoding = llama3_encoding()
        ends = list(self.vocabulary.eos_token_ids)
        self.tokenizer = lltokenizer_from_encoding(self.encoding, n_vocab=self.vocabulary.size, eos_token=ends)
        single = {
            token[0]: token_id for token_id, token in enumerate(self.vocabulary.tokens) if token and len(token) == 1
        }
        self.byte_ids = [single[byte] for byte in range(256)]
        self._words, self._bits = np.divmod(np.array(self.byte_ids), 32)

    def allowed_bytes(self, bitmask: npt.NDArray[np.int32]) -> list[int]:
        """The bytes that are allowed as tokens of their own."""
        return [int(byte) for byte in np.flatnonzero((bitmask[self._words] >> self._bits) & 1)]

    def ours(self, schema: Any, layout: str) -> Follower:
        """Our follower at the beginning. Raises :class:`~benchmarks.engines.Refused`."""
        try:
            compiled = grammars.compile_json_schema(schema, self.vocabulary, whitespace=layout)
        except grammars.GrammarError as error:
            raise Refused(str(error)) from error
        return OurFollower(compiled.matcher())

    def theirs(self, schema: Any, layout: str) -> Follower:
        """llguidance's follower at the beginning. Raises :class:`~benchmarks.engines.Refused`.

        Where the next bytes are forced, llguidance by default allows only the token that its tokenizer would take;
        that is no matter of the language, so it is asked not to.
        """
        from llguidance import LLMatcher

        options: dict[str, Any] = {"whitespace_flexible": layout == "any"}
        if layout != "any":
            item, key = SEPARATORS[layout]
            options.update(item_separator=item, key_separator=key)
        asked = {**(schema if isinstance(schema, dict) else {"allOf": [schema]}), "x-guidance": options}
        grammar = f'%llguidance {{"no_forcing": true}}\nstart: %json {json.dumps(asked)}'
        matcher = LLMatcher(self.tokenizer, grammar, log_level=0)
        if matcher.is_error():
            raise Refused(matcher.get_error())
        return TheirFollower(matcher, self)
