r"""Hypothesis strategy: the ways to write one text as a JSON string.

>>> from hypothesis import find
>>> find(json_spellings("a/"), lambda data: b"u0061" in data.lower() and b"\\/" in data)
b'"\\u0061\\/"'
"""

from __future__ import annotations

import json

from hypothesis import strategies as st

from grammars.ir.sentences import spellings

__all__ = ["json_spellings"]


@st.composite
def json_spellings(draw: st.DrawFn, text: str, *, every: bool = True, only_ascii: bool = False) -> bytes:
    """A JSON string, quotes included, that means ``text``; only the canonical spelling unless ``every``."""
    if not every:
        return json.dumps(text, ensure_ascii=only_ascii).encode()
    ways = (spellings(character, only_ascii=only_ascii) for character in text)
    return b'"' + b"".join(draw(st.sampled_from(way)) for way in ways) + b'"'
