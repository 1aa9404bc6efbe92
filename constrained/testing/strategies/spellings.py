r"""Hypothesis strategy: the ways to write one text as a JSON string.

>>> from hypothesis import find
>>> find(json_spellings("a/"), lambda data: b"u0061" in data.lower() and b"\\/" in data)
b'"\\u0061\\/"'
"""

from __future__ import annotations

import json

from hypothesis import strategies as st

__all__ = ["json_spellings"]


@st.composite
def json_spellings(draw: st.DrawFn, text: str, *, every: bool = True) -> bytes:
    """A JSON string, quotes included, that means ``text``; only the canonical spelling unless ``every``."""
    if not every:
        return json.dumps(text, ensure_ascii=False).encode()
    return b'"' + b"".join(draw(st.sampled_from(_spellings(character))) for character in text) + b'"'


def _spellings(character: str) -> list[bytes]:
    canonical = json.dumps(character, ensure_ascii=False)[1:-1].encode()
    units = character.encode("utf-16-be")
    by_number = [units[place : place + 2].hex() for place in range(0, len(units), 2)]
    forms = [canonical, "".join(f"\\u{unit}" for unit in by_number).encode()]
    forms.append("".join(f"\\u{unit.upper()}" for unit in by_number).encode())
    return [*forms, b"\\/"] if character == "/" else forms
