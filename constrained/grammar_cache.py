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


class GrammarCache:
    """At most ``capacity`` compiled grammars by (grammar digest, whitespace, vocabulary digest). Safe among threads."""

    def __init__(self, capacity: int) -> None:
        if capacity < 1:
            raise ValueError(f"expected a capacity of at least 1, got {capacity}")
        self.capacity = capacity
        self._kept: OrderedDict[Key, CompiledGrammar] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Key, compile_grammar: Callable[[], CompiledGrammar]) -> CompiledGrammar:
        """The grammar of that key, compiled at need (twice at once at worst, when two threads ask together)."""
        with self._lock:
            found = self._kept.get(key)
            if found is not None:
                self._kept.move_to_end(key)
                return found
        compiled = compile_grammar()
        with self._lock:
            self._kept[key] = compiled
            self._kept.move_to_end(key)
            while len(self._kept) > self.capacity:
                self._kept.popitem(last=False)
        return compiled

    def __len__(self) -> int:
        return len(self._kept)
