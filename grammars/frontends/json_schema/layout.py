"""Where whitespace stands: the five layouts of a JSON text.

``indent=N`` is exactly what ``json.dumps(value, indent=N, ensure_ascii=False)`` writes, ``spaced`` what it writes
without ``indent``, ``compact`` what it writes with ``separators=(",", ":")``. ``flexible`` allows one space or one
line break with up to 64 spaces or tabs after it wherever JSON allows whitespace inside a value, ``any`` allows all
that JSON does.

A depth is the number of open brackets; in layouts without line breaks it is always ``ON_ONE_LINE``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from ...errors import GrammarError

__all__ = ["DEEPEST_INDENT", "ON_ONE_LINE", "Layout", "Punctuation"]

ON_ONE_LINE = -1
"""Depth of what is written without line breaks."""
DEEPEST_INDENT = 8
"""Free-form and recursive values below this depth go on without line breaks."""


@dataclass(frozen=True, slots=True)
class Punctuation:
    """The bytes around the members of an object or the items of an array, if whitespace is fixed."""

    open_object: bytes
    open_array: bytes
    comma: bytes
    colon: bytes
    close_object: bytes
    close_array: bytes


@dataclass(frozen=True, slots=True)
class Layout:
    """One layout. ``indent`` is the width of a level or ``None``; ``whitespace`` says which runs are free, if any.

    >>> Layout.from_text("indent=2").punctuation(0).open_object
    b'{\\n  '
    """

    name: str
    comma: str = ", "
    colon: str = ": "
    indent: int | None = None
    whitespace: str = ""

    @classmethod
    def from_text(cls, text: str) -> Layout:
        """The layout of this name; raises :class:`~grammars.errors.GrammarError` for any other."""
        return _from_text(text)

    @property
    def is_fixed(self) -> bool:
        """Whether every byte between values is forced."""
        return not self.whitespace

    @property
    def root_depth(self) -> int:
        """The depth of the whole value."""
        return ON_ONE_LINE if self.indent is None else 0

    def inside(self, depth: int) -> int:
        """The depth of what stands in an array or object at ``depth``."""
        return depth if depth == ON_ONE_LINE else depth + 1

    def punctuation(self, depth: int) -> Punctuation:
        """The fixed bytes of an array or object at ``depth``."""
        return _punctuation(self, depth)


@lru_cache(maxsize=32)
def _from_text(text: str) -> Layout:
    if text == "spaced":
        return Layout(text)
    if text == "compact":
        return Layout(text, comma=",", colon=":")
    if text in ("flexible", "any"):
        return Layout(text, whitespace=text)
    match = re.fullmatch(r"indent=([0-8])", text)
    if match is None:
        raise GrammarError(
            f"whitespace: expected 'indent=0' to 'indent=8', 'spaced', 'compact', 'flexible' or 'any'; got {text!r}"
        )
    return Layout(text, comma=",", indent=int(match[1]))


@lru_cache(maxsize=4096)
def _punctuation(layout: Layout, depth: int) -> Punctuation:
    colon = layout.colon.encode()
    if layout.indent is None or depth == ON_ONE_LINE:
        comma = layout.comma.encode() if layout.indent is None else b", "
        return Punctuation(b"{", b"[", comma, colon, b"}", b"]")
    outer = b"\n" + b" " * (layout.indent * depth)
    inner = b"\n" + b" " * (layout.indent * (depth + 1))
    return Punctuation(b"{" + inner, b"[" + inner, b"," + inner, colon, outer + b"}", outer + b"]")
