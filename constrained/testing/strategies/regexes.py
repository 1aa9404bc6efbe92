"""Random regular expressions with texts that match them, nearly match them, or have nothing to do with them.

The expressions are in the dialect of :mod:`re`, so that ``re.fullmatch`` can be the judge of every text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from hypothesis import strategies as st

__all__ = ["RegexCase", "near_texts", "regex_cases", "regexes"]

_LETTERS = "abAB01_- \n.é߀Σσςſk😀"
_ANY = st.sampled_from(_LETTERS)


@dataclass(frozen=True, slots=True)
class RegexCase:
    """A pattern and some texts: members of its language for the most part, or close to one."""

    pattern: str
    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Piece:
    """A part of a pattern that can be repeated as it stands, and a strategy of texts that it may match."""

    pattern: str
    texts: st.SearchStrategy[str]


def _literal(character: str) -> _Piece:
    return _Piece(re.escape(character), st.just(character))


_SHORTHANDS = [
    _Piece(r"\d", st.sampled_from("019٣")),
    _Piece(r"\D", _ANY),
    _Piece(r"\w", st.sampled_from("aZ_é9")),
    _Piece(r"\W", st.sampled_from(" -.€")),
    _Piece(r"\s", st.sampled_from(" \t\n\u2003\x1c")),
    _Piece(r"\S", _ANY),
    _Piece(".", _ANY),
    _Piece(r"\x41", st.just("A")),
    _Piece(r"\u03a3", st.sampled_from("Σσς")),
    _Piece(r"\141", st.just("a")),
    _Piece(r"\N{EM DASH}", st.just("—")),
]


@st.composite
def _brackets(draw: st.DrawFn) -> _Piece:
    items: list[str] = []
    members: list[str] = []
    for _ in range(draw(st.integers(1, 3))):
        kind = draw(st.integers(0, 3))
        if kind == 0:
            low, high = sorted((draw(_ANY), draw(_ANY)))
            items.append(f"{re.escape(low)}-{re.escape(high)}")
            members += [low, high]
        elif kind == 1:
            items.append(draw(st.sampled_from([r"\d", r"\w", r"\s", r"\S", r"\W"])))
            members += "1a "
        else:
            members.append(draw(_ANY))
            items.append(re.escape(members[-1]))
    negation = draw(st.sampled_from(["", "", "^"]))
    return _Piece(f"[{negation}{''.join(items)}]", st.sampled_from(members) if not negation else _ANY)


_COUNTS = [
    ("*", 0, 3),
    ("+", 1, 3),
    ("?", 0, 1),
    ("*?", 0, 2),
    ("{2}", 2, 2),
    ("{1,3}", 1, 3),
    ("{,2}", 0, 2),
    ("{2,}", 2, 4),
    ("{0}", 0, 0),
    ("{1,2}?", 1, 2),
]


def _joined(parts: list[_Piece]) -> st.SearchStrategy[str]:
    return st.tuples(*(part.texts for part in parts)).map("".join)


@st.composite
def _combined(draw: st.DrawFn, pieces: st.SearchStrategy[_Piece], flags: bool) -> _Piece:
    kind = draw(st.integers(0, 4))
    if kind == 0:
        piece = draw(pieces)
        written, least, most = draw(st.sampled_from(_COUNTS))
        body = f"(?:{piece.pattern})"
        return _Piece(f"(?:{body}{written})", st.lists(piece.texts, min_size=least, max_size=most).map("".join))
    parts = draw(st.lists(pieces, min_size=0 if kind == 1 else 1, max_size=3))
    opening = draw(st.sampled_from(["(", "(?:", *(["(?i:", "(?s:", "(?-i:", "(?m:", "(?a:"] if flags else [])]))
    if kind <= 2:
        body = "|".join(part.pattern for part in parts)
        return _Piece(f"{opening}{body})", st.one_of([part.texts for part in parts] or [st.just("")]))
    return _Piece(f"{opening}{''.join(part.pattern for part in parts)})", _joined(parts))


def near_texts(texts: st.SearchStrategy[str], alphabet: st.SearchStrategy[str] = _ANY) -> st.SearchStrategy[str]:
    """The texts, as they are or with one small change: a character more, less, other, or of the other case."""

    @st.composite
    def changed(draw: st.DrawFn) -> str:
        text = draw(texts)
        place = draw(st.integers(0, len(text)))
        kind = draw(st.integers(0, 5))
        if kind == 0:
            return text[:place] + draw(alphabet) + text[place:]
        if kind == 1:
            return text[:place] + text[place + 1 :]
        if kind == 2:
            return text[:place] + draw(alphabet) + text[place + 1 :]
        if kind == 3:
            return text.swapcase()
        return text

    return changed()


@st.composite
def regex_cases(draw: st.DrawFn, *, flags: bool = True, assertions: bool = False) -> RegexCase:
    """Patterns of a few dozen characters with six texts each.

    ``flags``: inline flags, of the whole pattern or of a group; ``assertions``: anchors, word boundaries, look-around.
    """
    leaves = st.one_of(_ANY.map(_literal), st.sampled_from(_SHORTHANDS), _brackets())
    if assertions:
        anchors = ["^", "$", r"\A", r"\Z", r"\b", r"\B"]
        leaves = st.one_of(leaves, leaves, st.sampled_from(anchors).map(lambda anchor: _Piece(anchor, st.just(""))))
        looks = st.sampled_from(["(?=", "(?!", "(?<=", "(?<!"])
        fixed = st.one_of(_ANY.map(_literal), st.sampled_from(_SHORTHANDS), st.just(_Piece(r"\b", st.just(""))))
        around = st.builds(
            lambda look, parts: _Piece(f"{look}{''.join(part.pattern for part in parts)})", st.just("")),
            looks,
            st.lists(fixed, max_size=2),
        )
        leaves = st.one_of(leaves, leaves, leaves, around)
    pieces = st.recursive(leaves, lambda inner: _combined(inner, flags), max_leaves=8)
    parts = draw(st.lists(pieces, min_size=1, max_size=4))
    separator = draw(st.sampled_from(["", "", "|"]))
    start = draw(st.sampled_from(["", "", "(?i)", "(?s)", "(?m)", "(?a)", "(?is)"])) if flags else ""
    pattern = start + separator.join(part.pattern for part in parts)
    members = _joined(parts) if not separator else st.one_of([part.texts for part in parts])
    return RegexCase(pattern, tuple(draw(st.lists(near_texts(members), min_size=6, max_size=6))))


def regexes(*, flags: bool = True, assertions: bool = False) -> st.SearchStrategy[str]:
    """Regular expressions of a few dozen characters, in the dialect of :mod:`re`, so that it can be the judge.

    ``flags``: inline flags, of the whole pattern or of a group; ``assertions``: anchors, word boundaries, look-around.
    :func:`regex_cases` draws texts with them.

    >>> regexes().map(re.compile).is_empty
    False
    """
    return regex_cases(flags=flags, assertions=assertions).map(lambda case: case.pattern)
