"""Compiled grammars kept for the next request, the least recently used dropped first."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from grammars import CompiledGrammar

__all__ = ["GrammarCache"]

Key = tuple[str, str, str]
_MEASURED_EVERY = 16  # measuring a grammar takes some 12 us


class GrammarCache:
    """Compiled grammars by (grammar digest, whitespace, vocabulary digest), of ``max_bytes`` together.

    The one used last is always kept, whatever its size. A grammar grows while it is used (its tables fill), so all are
    measured anew whenever one is added, and now and then when one is found. Safe among threads.
    """

    def __init__(self, *, max_bytes: int) -> None:
        if isinstance(max_bytes, bool) or not isinstance(max_bytes, int):
            raise TypeError(f"max_bytes: expected a whole number of bytes, got {max_bytes!r}")
        if max_bytes < 0:
            raise ValueError(f"max_bytes: expected at least 0, got {max_bytes}")
        self.max_bytes = max_bytes
        self._kept: OrderedDict[Key, CompiledGrammar] = OrderedDict()
        self._found = 0
        self._lock = threading.Lock()

    def get(self, key: Key, compile_grammar: Callable[[], CompiledGrammar]) -> CompiledGrammar:
        """The grammar of that key, compiled at need (twice at once at worst, when two threads ask together)."""
        with self._lock:
            found = self._kept.get(key)
            if found is not None:
                self._kept.move_to_end(key)
                self._found += 1
                if self._found % _MEASURED_EVERY == 0:
                    self._make_room()
                return found
        compiled = compile_grammar()
        with self._lock:
            self._kept[key] = compiled
            self._kept.move_to_end(key)
            self._make_room()
        return compiled

    def _make_room(self) -> None:
        sizes = {key: grammar.nbytes for key, grammar in self._kept.items()}
        total = sum(sizes.values())
        while total > self.max_bytes and len(self._kept) > 1:
            oldest, _ = self._kept.popitem(last=False)
            total -= sizes[oldest]

    @property
    def nbytes(self) -> int:
        """Bytes of all grammars kept."""
        with self._lock:
            return sum(grammar.nbytes for grammar in self._kept.values())

    def __len__(self) -> int:
        return len(self._kept)
