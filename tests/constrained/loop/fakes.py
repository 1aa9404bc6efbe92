"""Stand-ins for the loop's partners that keep their contracts: a model of noise, a tokenizer, a matcher.

The model's logits are a function of all ids before them, bit for bit, however they were cut into passes; so runs that
must agree can be compared exactly.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from hypothesis import strategies as st
from numpy.typing import NDArray

from constrained.loop import Engine
from grammars.errors import TokenRefused
from grammars.vocabulary import Vocabulary


class FakeCache:
    """The ids themselves."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.ids: list[int] = []

    @property
    def length(self) -> int:
        return len(self.ids)

    @property
    def num_bytes(self) -> int:
        return 4 * len(self.ids)

    def truncate(self, length: int) -> None:
        assert 0 <= length <= len(self.ids)
        del self.ids[length:]

    def copy_out(self, start: int, stop: int) -> FakeBlock:
        assert 0 <= start < stop <= len(self.ids)
        return FakeBlock(self.ids[start:stop])

    def append(self, block: FakeBlock) -> None:
        self.ids += block.ids
        assert len(self.ids) <= self.capacity


class FakeBlock:
    """Some ids."""

    def __init__(self, ids: list[int]) -> None:
        self.ids = list(ids)
        self.num_bytes = 4 * len(ids)


class FakeModel:
    """Logits drawn from a hash of the ids so far; ``wish`` makes it want to write certain ids after the prompt."""

    def __init__(
        self,
        vocab_size: int,
        *,
        seed: int = 0,
        wish: Sequence[int] = (),
        prompt_length: int = 1,
        context_length: int = 4096,
        bad_after: int | None = None,
    ) -> None:
        self.config: Any = SimpleNamespace(max_position_embeddings=context_length)
        self.vocab_size = vocab_size
        self.device = torch.device("cpu")
        self.passes: list[list[int]] = []
        self.caches: list[FakeCache] = []
        self._seed = seed
        self._wish = list(wish)
        self._prompt_length = prompt_length
        self._bad_after = bad_after

    def new_cache(self, batch_size: int, capacity: int) -> FakeCache:
        assert batch_size == 1
        assert capacity <= self.config.max_position_embeddings
        return FakeCache(capacity)

    def forward_rows(
        self, rows: Sequence[Sequence[int]], caches: Sequence[FakeCache], *, all_positions: bool = False
    ) -> torch.Tensor:
        logits = []
        for ids, cache in zip(rows, caches, strict=True):
            assert ids
            self.passes.append(list(ids))
            for place, token_id in enumerate(ids, 1):
                cache.ids.append(token_id)
                if all_positions or place == len(ids):
                    logits.append(self._logits_after(cache.ids))
            assert len(cache.ids) <= cache.capacity
        return torch.from_numpy(np.stack(logits))

    def _logits_after(self, ids: list[int]) -> NDArray[np.float32]:
        digest = hashlib.sha256(repr((self._seed, ids)).encode()).digest()
        generator = np.random.Generator(np.random.Philox(int.from_bytes(digest[:8], "little")))
        logits = generator.normal(size=self.vocab_size).astype(np.float32) * 2
        place = len(ids) - self._prompt_length
        if 0 <= place < len(self._wish):
            logits[self._wish[place]] += 100
        if self._bad_after is not None and place >= self._bad_after:
            logits[0] = np.nan
        return logits


class LongestMatch:
    """A tokenizer that takes the longest token at each place, from left to right."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._ids = {token: token_id for token_id, token in reversed(list(enumerate(vocabulary.tokens))) if token}
        self._longest = max(map(len, self._ids))

    def tokenize(self, text: str) -> list[int]:
        data, ids, place = text.encode(), [], 0
        while place < len(data):
            piece = next(
                data[place : place + length]
                for length in range(self._longest, 0, -1)
                if data[place : place + length] in self._ids and place + length <= len(data)
            )
            ids.append(self._ids[piece])
            place += len(piece)
        return ids


class FiniteMatcher:
    """Follows a finite set of texts."""

    def __init__(self, texts: Iterable[bytes], vocabulary: Vocabulary) -> None:
        self._texts = tuple(texts)
        self._vocabulary = vocabulary
        self._states: list[tuple[bytes, bool]] = [(b"", False)]

    @property
    def written(self) -> bytes:
        return self._states[-1][0]

    @property
    def is_terminated(self) -> bool:
        return self._states[-1][1]

    @property
    def is_accepting(self) -> bool:
        return self.written in self._texts

    @property
    def allows_special(self) -> bool:
        return False

    @property
    def has_open_guard(self) -> bool:
        return False

    def denials(self) -> tuple[str, ...]:
        return ()

    def _is_prefix(self, data: bytes) -> bool:
        return any(text.startswith(data) for text in self._texts)

    def _allows(self, token_id: int) -> bool:
        if token_id in self._vocabulary.eos_token_ids:
            return self.is_accepting
        token = self._vocabulary.tokens[token_id]
        return bool(token) and not self.is_terminated and self._is_prefix(self.written + (token or b""))

    def allowed(self) -> list[int]:
        return [token_id for token_id in range(self._vocabulary.size) if self._allows(token_id)]

    def fill_next_token_bitmask(self, bitmask: NDArray[np.int32], row: int = 0) -> None:
        bits = np.zeros(bitmask.shape[1] * 32, np.bool_)
        bits[self.allowed()] = True
        bitmask[row] = np.packbits(bits, bitorder="little").view(np.int32)

    def consume(self, token_id: int) -> None:
        if not self.try_consume([token_id]):
            raise TokenRefused(token_id, "not allowed here")

    def try_consume(self, token_ids: Iterable[int]) -> int:
        count = 0
        for token_id in token_ids:
            if self.is_terminated or not self._allows(token_id):
                break
            ends = token_id in self._vocabulary.eos_token_ids
            self._states.append((self.written + (self._vocabulary.tokens[token_id] or b""), ends))
            count += 1
        return count

    def consume_bytes(self, data: bytes) -> bool:
        if not self._is_prefix(self.written + data):
            return False
        self._states.append((self.written + data, False))
        return True

    def forced_bytes(self) -> bytes:
        forced = b""
        while not self.is_terminated and self.written + forced not in self._texts:
            ahead = self.written + forced
            following = {text[len(ahead)] for text in self._texts if text.startswith(ahead) and len(text) > len(ahead)}
            if len(following) != 1:
                break
            forced += bytes(following)
        return forced

    def forced_special(self) -> int | None:
        return None

    def forced_tokens(self) -> list[int]:
        ahead, forced = self.fork(), []
        while len(allowed := ahead.allowed()) == 1 and allowed[0] not in self._vocabulary.eos_token_ids:
            forced += allowed
            ahead.consume(allowed[0])
        return forced

    def rollback(self, num_tokens: int) -> None:
        assert 0 <= num_tokens < len(self._states)
        if num_tokens:
            del self._states[-num_tokens:]

    def fork(self) -> FiniteMatcher:
        other = FiniteMatcher(self._texts, self._vocabulary)
        other._states = self._states.copy()
        return other


def vocabulary_of(*tokens: str | bytes | None, eos: int = 1, size: int | None = None) -> Vocabulary:
    """The given tokens, then ``eos`` end tokens."""
    listed = [token.encode() if isinstance(token, str) else token for token in tokens]
    ends = range(len(listed), len(listed) + eos)
    return Vocabulary.from_bytes([*listed, *[None] * eos], eos_token_ids=ends, size=size)


def engine_of(vocabulary: Vocabulary, **model: Any) -> Engine:
    """A model of noise over a vocabulary, with a tokenizer that takes the longest match."""
    fake = FakeModel(vocabulary.size, **model)
    return Engine(fake, LongestMatch(vocabulary), vocabulary, fake.config.max_position_embeddings)


@st.composite
def languages(draw: st.DrawFn) -> tuple[Vocabulary, list[bytes]]:
    """A vocabulary over three letters with some longer tokens, and a finite language over them."""
    longer = draw(st.lists(st.text("abé", min_size=2, max_size=4), max_size=8, unique=True))
    split = [b"\xc3", b"\xa9"]
    shuffled = draw(st.permutations(["a", "b", "é", *longer, *split, None]))
    vocabulary = vocabulary_of(*shuffled, eos=draw(st.integers(1, 2)), size=draw(st.integers(20, 40)))
    texts = draw(st.lists(st.text("abé", min_size=1, max_size=9), min_size=1, max_size=6, unique=True))
    return vocabulary, [text.encode() for text in texts]
