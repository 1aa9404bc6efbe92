"""The LALR tables are those of `lark`: as many states, looking for the same terminals."""

from __future__ import annotations

from collections import Counter

import lark
import pytest

from grammars.frontends.cfg.lark.bnf import bnf_from_document
from grammars.frontends.cfg.lark.lalr import build_tables
from grammars.frontends.cfg.lark.parser import parse_lark
from grammars.limits import DEFAULT_LIMITS

from .matching import GRAMMARS

MORE = {
    "long repeat": 'start: A~60 B~3..70\nA: "a"\nB: "b"',
    "nullable": "start: x y x\nx: A?\ny: [B] x | y C\nA: /a/\nB: /b/\nC: /c/",
    "options": 'start: [A] ["x"] ("y" | A+ B | B*)\nA: "a"\nB: "b"',
    "override": 'start: A\n%extend start: "b"\nA: "a"\n%override A: "c"',
    "begun items": "start: x\nx: A x | A y B | y\ny: x C | A\nA: /a/\nB: /b/\nC: /c/",
}


@pytest.mark.parametrize("name", [*GRAMMARS, *MORE])
def test_same_states(name: str) -> None:
    text = GRAMMARS.get(name) or MORE[name]
    table = lark.Lark(text, parser="lalr", lexer="contextual").parser.parser._parse_table
    wanted = Counter(
        frozenset(key for key in actions if key.isupper() or key == "$END") for actions in table.states.values()
    )
    tables = build_tables(bnf_from_document(parse_lark(text)), DEFAULT_LIMITS)
    names = tables.terminals
    found = Counter(
        frozenset(name for bit, name in enumerate(names) if looked_for >> bit & 1) for looked_for in tables.looked_for
    )
    assert found == Counter(keys - {"$END"} for keys in wanted.elements())
