"""Sets of characters when case does not count.

Python's rule (:mod:`re` with ``IGNORECASE`` on ``str``): a character matches a member if the lower cases of the two
are equal or have the same upper case. ECMAScript's rule (flags ``i`` and ``u``): if Unicode's simple case folding makes
them equal. Either way a set matches what its members match, so one table from character to characters says it all.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import lru_cache

from ...ir.charset import MAX_CODE_POINT, Charset, from_ranges, union
from .ast import Dialect, Flags

__all__ = ["ignore_case"]

_BLOCK = 0x400


def _cased() -> Iterator[int]:
    """Every code point that some change of case changes; whole blocks without one are passed over quickly."""
    for start in range(0, MAX_CODE_POINT + 1, _BLOCK):
        block = "".join(map(chr, range(start, start + _BLOCK)))
        if block.lower() == block.upper() == block.casefold():
            continue
        for character in block:
            if not character.lower() == character.upper() == character.casefold():
                yield ord(character)


def _classes(keys: Mapping[int, object]) -> dict[int, tuple[int, ...]]:
    """Each code point, with all of the same key, itself included; those alone are left out."""
    by_key: defaultdict[object, list[int]] = defaultdict(list)
    for code_point, key in keys.items():
        by_key[key].append(code_point)
    return {member: tuple(members) for members in by_key.values() if len(members) > 1 for member in members}


@lru_cache(maxsize=1)
def _python_table() -> dict[int, tuple[int, ...]]:
    # Of the lower cases only that of U+0130 has two characters, "i" and a dot; `re` sees the "i" alone.
    lower = {code_point: ord(chr(code_point).lower()[0]) for code_point in _cased()}
    return _classes({code_point: chr(low).upper() for code_point, low in lower.items()})


@lru_cache(maxsize=1)
def _ascii_table() -> dict[int, tuple[int, ...]]:
    return _classes({code_point: chr(code_point).lower() for code_point in range(0x80)})


@lru_cache(maxsize=1)
def _ecma_table() -> dict[int, tuple[int, ...]]:
    # Characters of equal full folding have equal simple folding: where the full one is longer than a character, the
    # simple one leads to the one character among them that is its own lower case.
    return _classes({code_point: chr(code_point).casefold() for code_point in _cased()})


@lru_cache(maxsize=3)
def _sorted_keys(dialect: Dialect, ascii_only: bool) -> tuple[dict[int, tuple[int, ...]], list[int]]:
    table = _ecma_table() if dialect == "ecma" else _ascii_table() if ascii_only else _python_table()
    return table, sorted(table)


def ignore_case(charset: Charset, dialect: Dialect, flags: Flags) -> Charset:
    """All characters that match the set when case does not count.

    >>> ignore_case(((107, 107),), "python", Flags.IGNORECASE)  # k, K and the Kelvin sign
    ((75, 75), (107, 107), (8490, 8490))
    """
    table, keys = _sorted_keys(dialect, bool(flags & Flags.ASCII))
    cased = [key for low, high in charset for key in keys[bisect_left(keys, low) : bisect_right(keys, high)]]
    if not cased:
        return charset
    return union(charset, from_ranges((other, other) for key in cased for other in table[key]))
