"""What the loop needs of a model, a tokenizer and a grammar, and the one object that holds them together."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from constrained.processors.mask import bitmask_of
from grammars.ir.private import spelling_of
from grammars.vocabulary import Vocabulary

if TYPE_CHECKING:
    from constrained.loop.prefix_cache import PrefixCache

__all__ = ["Cache", "CausalModel", "Completions", "Engine", "TextTokenizer", "TokenMatcher"]


class Cache(Protocol):
    """Keys and values of one row (:class:`constrained.model.KVCache`)."""

    @property
    def length(self) -> int: ...
    @property
    def num_bytes(self) -> int: ...
    def truncate(self, length: int) -> None: ...
    def copy_out(self, start: int, stop: int) -> Any: ...
    def append(self, block: Any) -> None: ...


class CausalModel(Protocol):
    """A forward pass (:class:`constrained.model.Llama`)."""

    config: Any

    @property
    def vocab_size(self) -> int: ...
    @property
    def device(self) -> torch.device: ...
    def new_cache(self, batch_size: int, capacity: int) -> Any: ...
    def forward_rows(
        self, rows: Sequence[Sequence[int]], caches: Sequence[Any], *, all_positions: bool = False
    ) -> Tensor: ...


class TextTokenizer(Protocol):
    """Text to ids (:class:`constrained.model.Tokenizer`); text never becomes special tokens."""

    def tokenize(self, text: str) -> list[int]: ...


class TokenMatcher(Protocol):
    """State of one sequence under a grammar (:class:`grammars.Matcher`)."""

    @property
    def is_accepting(self) -> bool: ...
    @property
    def is_terminated(self) -> bool: ...
    @property
    def allows_special(self) -> bool: ...
    @property
    def has_open_guard(self) -> bool: ...
    def denials(self) -> tuple[str, ...]: ...
    def fill_next_token_bitmask(self, bitmask: NDArray[np.int32], row: int = 0) -> Any: ...
    def consume(self, token_id: int) -> Any: ...
    def try_consume(self, token_ids: list[int]) -> int: ...
    def consume_bytes(self, data: bytes) -> bool: ...
    def forced_bytes(self) -> bytes: ...
    def forced_special(self) -> int | None: ...
    def forced_tokens(self) -> list[int]: ...
    def rollback(self, num_tokens: int) -> Any: ...
    def fork(self) -> Self: ...


class Completions(Protocol):
    """How few tokens complete a text (:class:`grammars.completions.Completions`)."""

    def tokens_to_end(self, matcher: Any) -> int | None: ...
    def keep_within(self, matcher: Any, bitmask: NDArray[np.int32], row: int, *, num_tokens: int) -> int: ...


@dataclass(frozen=True, repr=False)
class Engine:
    """A model with its tokenizer and vocabulary: all that requests share. Frozen; one serves any number of requests.

    ``vocabulary`` is as wide as the model's logits. ``context_length`` bounds prompt and output together, in tokens.
    ``prefix_cache`` keeps keys and values of prompts for later ones that begin alike; without it each is computed anew.
    """

    model: CausalModel
    tokenizer: TextTokenizer
    vocabulary: Vocabulary
    context_length: int
    prefix_cache: PrefixCache | None = None

    def __post_init__(self) -> None:
        if self.vocabulary.size != self.model.vocab_size:
            raise ValueError(
                f"vocabulary: expected {self.model.vocab_size:,} ids, as wide as the model's logits, got "
                f"{self.vocabulary.size:,}; pass size= when making the vocabulary"
            )

    @classmethod
    def from_model(cls, model: CausalModel, tokenizer: Any, *, prefix_cache: PrefixCache | None = None) -> Self:
        """Of a :class:`constrained.model.Llama` and its :class:`constrained.model.Tokenizer`.

        >>> from constrained.testing.tiny import tiny_llama, tiny_tokenizer
        >>> engine = Engine.from_model(tiny_llama(), tiny_tokenizer())
        >>> engine.vocabulary.size == engine.model.vocab_size
        True
        """
        vocabulary = tokenizer.vocabulary(model.vocab_size)
        return cls(model, tokenizer, vocabulary, model.config.max_position_embeddings, prefix_cache)

    @cached_property
    def eos_token_ids(self) -> frozenset[int]:
        """Ids that end a generation."""
        return frozenset(self.vocabulary.eos_token_ids)

    @cached_property
    def free_bitmask(self) -> NDArray[np.int32]:
        """(ceil(V / 32),) What may be drawn without a grammar: ids with a text, and those that end a generation."""
        allowed = np.array([token is not None for token in self.vocabulary.tokens])
        allowed[list(self.eos_token_ids)] = True
        return bitmask_of(allowed)

    @cached_property
    def text_bitmask(self) -> NDArray[np.int32]:
        """(ceil(V / 32),) All ids but those that end a generation."""
        allowed = np.ones(self.vocabulary.size, np.bool_)
        allowed[list(self.eos_token_ids)] = False
        return bitmask_of(allowed)

    def token_bytes(self, token_id: int) -> bytes:
        """What an id writes; nothing for an id without text."""
        return self.vocabulary.tokens[token_id] or b""

    def spelled(self, token_id: int) -> bytes:
        """What an id writes; for an id without text, what grammars read it as."""
        token = self.vocabulary.tokens[token_id]
        return spelling_of(token_id) if token is None else token

    def ids_that_extend(self, prefix: bytes) -> NDArray[np.int64]:
        """Ids of the tokens that begin with ``prefix`` and go on after it, in no particular order."""
        tokens, ids = self._sorted_tokens
        first = bisect_right(tokens, prefix)
        last = bisect_left(tokens, _after(prefix), lo=first) if prefix.strip(b"\xff") else len(tokens)
        return ids[first:last]

    def ids_that_begin(self, text: bytes) -> NDArray[np.int64]:
        """Ids of the tokens that begin with ``text`` or are just that, in no particular order."""
        tokens, ids = self._sorted_tokens
        first = bisect_left(tokens, text)
        return np.concatenate([ids[first : bisect_right(tokens, text, lo=first)], self.ids_that_extend(text)])

    @cached_property
    def _sorted_tokens(self) -> tuple[list[bytes], NDArray[np.int64]]:
        ids = sorted((token_id for token_id in range(self.vocabulary.size) if self.spelled(token_id)), key=self.spelled)
        return [self.spelled(token_id) for token_id in ids], np.array(ids, np.int64)


def _after(prefix: bytes) -> bytes:
    """The least bytes above everything that begins with ``prefix``, which holds a byte other than FF."""
    kept = prefix.rstrip(b"\xff")
    return kept[:-1] + bytes([kept[-1] + 1])
