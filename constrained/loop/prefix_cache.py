"""Keys and values of prompts, kept for later prompts that begin alike (a system prompt, instructions, a schema).

Prompts are cut into blocks of :data:`BLOCK` tokens. A block is known by its tokens and by the block before it, so what
several prompts share is kept once. What was used last is kept, up to a number of bytes.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from constrained.loop.engine import Cache

__all__ = ["BLOCK", "PrefixCache"]

BLOCK = 32

Key = tuple[int, tuple[int, ...]]
"""The number of the block before (0: none), and the tokens."""


@dataclass(frozen=True, slots=True)
class _Block:
    number: int
    content: Any
    num_bytes: int


class PrefixCache:
    """Blocks of keys and values of one model, of ``max_bytes`` together; 0 keeps none. Safe among threads."""

    def __init__(self, *, max_bytes: int) -> None:
        if isinstance(max_bytes, bool) or not isinstance(max_bytes, int):
            raise TypeError(f"max_bytes: expected a whole number of bytes, got {max_bytes!r}")
        if max_bytes < 0:
            raise ValueError(f"max_bytes: expected at least 0, got {max_bytes}")
        self.max_bytes = max_bytes
        self.num_bytes = 0
        """Bytes of all blocks kept."""
        self._blocks: OrderedDict[Key, _Block] = OrderedDict()
        self._numbers = 0
        self._lock = threading.Lock()

    def load(self, cache: Cache, prompt_ids: Sequence[int]) -> int:
        """Bring what is known of a prompt into an empty cache; how many tokens.

        At least one token of the prompt is left, so that a pass gives logits after it.
        """
        with self._lock:
            known = self._known(prompt_ids[:-1])
            self._use([key for key, _ in known])
        for _, block in known:
            cache.append(block.content)
        return BLOCK * len(known)

    def store(self, cache: Cache, prompt_ids: Sequence[int]) -> None:
        """Keep the whole blocks of a prompt that a cache holds by now."""
        if self.max_bytes == 0:
            return
        with self._lock:
            keys, number = [], 0
            for index, tokens in enumerate(_blocks(prompt_ids[: cache.length])):
                key = (number, tokens)
                if key not in self._blocks:
                    self._add(key, cache.copy_out(BLOCK * index, BLOCK * (index + 1)))
                keys.append(key)
                number = self._blocks[key].number
            self._use(keys)
            self._make_room()

    def next_block(self, prompt_ids: Sequence[int]) -> tuple[int, ...] | None:
        """The prompt up to the end of its first block that is not known; ``None`` if there is none."""
        with self._lock:
            end = BLOCK * (1 + len(self._known(prompt_ids)))
        return tuple(prompt_ids[:end]) if end <= len(prompt_ids) else None

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._blocks.clear()
            self.num_bytes = 0

    # -- inside -------------------------------------------------------------------------------------------------

    def _known(self, ids: Sequence[int]) -> list[tuple[Key, _Block]]:
        known: list[tuple[Key, _Block]] = []
        number = 0
        for tokens in _blocks(ids):
            block = self._blocks.get((number, tokens))
            if block is None:
                break
            known.append(((number, tokens), block))
            number = block.number
        return known

    def _add(self, key: Key, content: Any) -> None:
        self._numbers += 1
        self._blocks[key] = _Block(self._numbers, content, content.num_bytes)
        self.num_bytes += content.num_bytes

    def _use(self, keys: Sequence[Key]) -> None:
        for key in reversed(keys):  # the first last: without it those behind it are never found
            self._blocks.move_to_end(key)

    def _make_room(self) -> None:
        while self.num_bytes > self.max_bytes:
            _, block = self._blocks.popitem(last=False)
            self.num_bytes -= block.num_bytes


def _blocks(ids: Sequence[int]) -> Iterator[tuple[int, ...]]:
    for end in range(BLOCK, len(ids) + 1, BLOCK):
        yield tuple(ids[end - BLOCK : end])
