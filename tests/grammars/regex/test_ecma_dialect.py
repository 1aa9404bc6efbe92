"""The dialect ``ecma`` against verdicts of V8 (Node.js 20, flag ``u``; ``i``, ``m`` and ``s`` for the scoped flags)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from grammars.frontends.regex import lower_search, regex_automaton
from grammars.ir import Builder
from grammars.ir.charset import from_ranges
from tests.reference.recogniser import accepts

from .matching import full_match, search_ir

DATA: dict[str, Any] = json.loads((Path(__file__).parent / "ecma_cases.json").read_text())


@pytest.mark.parametrize("case", DATA["cases"], ids=lambda case: case["pattern"])
def test_recorded_verdicts(case: dict[str, Any]) -> None:
    ir = search_ir(case["pattern"])
    automaton = regex_automaton(case["pattern"], dialect="ecma", search=True)
    for number, text in enumerate(DATA["texts"]):
        found = number in case["found"]
        assert accepts(ir, text.encode()) == found, text
        assert automaton.accepts(map(ord, text)) == found, text


def test_halves_of_surrogate_pairs_match_nothing() -> None:
    for pattern in (r"\uD83D", r"[\uD800-\uDFFF]", "\ud83d", "(?:a|\ud83d)b"):
        assert not full_match(
            pattern, "\ud83d\ude00".encode("utf-16", "surrogatepass").decode("utf-16"), dialect="ecma"
        )
    assert full_match(r"[^\uD800]", "a", dialect="ecma")


def test_anchored_branches_stay_plain() -> None:
    builder = Builder()
    assert lower_search("^(?:ab|^cd)$", builder) == builder.literals([b"ab", b"cd"])


def test_characters_are_written_as_the_caller_says() -> None:
    builder = Builder()
    doubled = from_ranges(((97, 97),))

    def write(members: tuple[tuple[int, int], ...]):  # type: ignore[no-untyped-def]
        return builder.literal("aa") if members == doubled else builder.charset(members)

    for pattern in ("^ab$", r"^a\bb?$|^\ba(?=b)b$"):
        ir = builder.finish(lower_search(pattern, builder, characters=write))
        assert accepts(ir, b"aab") == (pattern != r"^a\bb?$")
        assert not accepts(ir, b"ab")
