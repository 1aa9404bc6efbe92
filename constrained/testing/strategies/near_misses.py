"""Hypothesis strategy: texts that are one edit away from a grammar's language, and outside it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from ..recogniser import Recogniser
from ..subjects import ir_of
from .sentences import sentences

__all__ = ["edited", "near_misses"]

_FAVOURITES = b'a0"{}[],: \n-.x'


def near_misses(
    grammar: Any, *, is_member: Callable[[bytes], bool] | None = None, soft_length: int = 40
) -> st.SearchStrategy[bytes]:
    """Texts outside a language, each one edit away from one inside.

    ``grammar`` is what :func:`~.sentences.sentences` takes. An edit takes bytes away, puts some in, changes one,
    exchanges two, doubles a piece, or cuts the end off. That the result is outside is the verdict of a plain recogniser
    (Earley's), not of the engine: with guards taken to agree it takes more than the language, so what it refuses is
    outside for certain. ``is_member`` is another judge, such as
    :meth:`~constrained.testing.judge.JsonschemaJudge.takes`. A grammar with registers (properties in any order) needs
    one: ValueError without it.

    >>> from hypothesis import find
    >>> import constrained
    >>> find(near_misses(constrained.regex("[0-9]{2}")), lambda text: text.isdigit())
    b'0'
    """
    ir = ir_of(grammar)
    if is_member is None:
        if ir.registers:
            raise ValueError(
                "near_misses: expected is_member for a grammar with registers (properties in any order), which no "
                "plain recogniser follows; for a JSON Schema pass JsonschemaJudge(schema).takes"
            )
        recogniser = Recogniser(ir)
        whole = recogniser.chart()

        def is_member(text: bytes) -> bool:
            return whole.read_all(text).is_accepting

    judge = is_member
    return edited(sentences(ir, soft_length=soft_length)).filter(lambda text: not judge(text))


@st.composite
def edited(draw: st.DrawFn, texts: st.SearchStrategy[bytes]) -> bytes:
    """A text with one edit."""
    text = draw(texts)
    place = draw(st.integers(0, len(text)))
    inserted = st.sampled_from(_FAVOURITES) | st.integers(0, 255)
    match draw(st.integers(0, 6)):
        case 0:
            return text[:place]
        case 1:
            return text[:place] + text[place + draw(st.integers(1, 3)) :]
        case 2:
            return text[:place] + bytes((draw(inserted),)) + text[place:]
        case 3:
            return text[:place] + bytes((draw(inserted),)) + text[place + 1 :]
        case 4:
            return text[:place] + text[place : place + 2][::-1] + text[place + 2 :]
        case 5:
            end = min(place + draw(st.integers(1, 8)), len(text))
            return text[:end] + text[place:end] + text[end:]
        case _:
            return text + draw(st.binary(min_size=1, max_size=2))
