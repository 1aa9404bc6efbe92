"""`sentences` reaches every transition of a network, and shrinks to the shortest text that shows something."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, find, settings

import constrained
from constrained.testing.coverage import TransitionCoverage
from constrained.testing.strategies import sentences
from constrained.testing.subjects import ir_of
from grammars.library import grammar, names

search = settings(database=None, max_examples=2000, deadline=None, suppress_health_check=list(HealthCheck))
draw_only = settings(search, max_examples=5000, phases=[Phase.generate], derandomize=True)

NESTED = 'root ::= "" | "[" root "]" | "(" root ")"'
TREE = {"type": "object", "properties": {"v": {"type": "integer"}, "next": {"$ref": "#"}}, "required": ["v"]}
SHORTEST: list[tuple[Any, Callable[[bytes], bool], int]] = [
    (constrained.regex("[a-z]*[0-9]"), lambda text: True, 1),
    (constrained.regex("(ab|c)+"), lambda text: b"a" in text, 2),
    (constrained.regex("x{3,9}"), lambda text: len(text) > 4, 5),
    (constrained.regex("(a{40}|b)c"), lambda text: True, 2),
    (constrained.regex(r"\d{4}-\d{2}-\d{2}"), lambda text: text.endswith(b"7"), 10),
    (constrained.regex("(yes|no|perhaps)( really){0,3}"), lambda text: b"really" in text, 9),
    (constrained.regex("é*[^a]"), lambda text: max(text) > 0x7F, 2),
    (constrained.regex("(a|bb|ccc)(d|ee)"), lambda text: text.endswith(b"ee"), 3),
    (constrained.choice(["red", "green", "blue"]), lambda text: b"e" in text, 3),
    (constrained.choice(["longest", "long", "lo"]), lambda text: b"g" in text, 4),
    (constrained.gbnf(NESTED), lambda text: b"(" in text, 2),
    (constrained.gbnf(NESTED), lambda text: b"[(" in text, 4),
    (constrained.gbnf('root ::= n ("+" n)*\nn ::= [0-9]+ | "(" root ")"'), lambda text: b"+" in text, 3),
    (constrained.gbnf('root ::= n ("+" n)*\nn ::= [0-9]+ | "(" root ")"'), lambda text: b")" in text, 3),
    (constrained.gbnf('root ::= root "a" | "b"'), lambda text: len(text) >= 3, 3),
    (constrained.lark('start: WORD ("," WORD)*\nWORD: /[a-z]+/'), lambda text: text.count(b",") == 2, 5),
    ({"type": "array", "items": {"enum": [1, 22]}}, lambda text: b"22" in text, 4),
    ({"type": "string", "minLength": 2}, lambda text: True, 4),
    (TREE, lambda text: b"next" in text, 22),
    ({"type": "array", "items": {"type": "boolean"}, "minItems": 2}, lambda text: b"false" in text, 12),
    ({"type": "object", "properties": {"a": {"type": "null"}}, "required": ["a"]}, lambda text: True, 10),
    ({"type": "array", "items": {"enum": [1, 2, 3]}, "uniqueItems": True, "minItems": 2}, lambda text: True, 5),
]


@pytest.mark.parametrize(("language", "shows", "shortest"), SHORTEST, ids=lambda value: str(value)[:30])
def test_examples_shrink_to_within_two_bytes_of_the_shortest(
    language: Any, shows: Callable[[bytes], bool], shortest: int
) -> None:
    assert shortest <= len(find(sentences(language), shows, settings=search)) <= shortest + 2


COVERED: dict[str, Any] = {
    "dates": constrained.regex(r"(19|20)[0-9]{2}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])"),
    "nested": constrained.gbnf(NESTED),
    "arithmetic": constrained.gbnf('root ::= t ("+" t)*\nt ::= f ("*" f)*\nf ::= [0-9]+ | "(" root ")"'),
    "left recursion": constrained.gbnf('root ::= root "a" | root "b" "c" | "d"'),
    "lark": constrained.lark('start: pair ("," pair)*\npair: NAME "=" (NUM | "on")\nNAME: /[a-z]+/\nNUM: /[0-9]+/'),
    "a long word": constrained.choice(["a" * 60, "b" * 61 + "c"]),
    "tree": {**TREE, "additionalProperties": False},
    "union": {"anyOf": [{"type": "array", "items": {"type": "integer"}}, {"enum": ["a", "b", None]}]},
    "email": constrained.regex(r"[a-z]{1,8}(\.[a-z]{1,8})?@[a-z]{1,8}\.(com|org)"),
}


@pytest.mark.parametrize("name", COVERED)
def test_every_transition_is_covered(name: str) -> None:
    ir = ir_of(COVERED[name])
    coverage = TransitionCoverage(ir)
    find(sentences(ir, soft_length=60), lambda text: coverage.add(text) and coverage.is_whole, settings=draw_only)
    print(f"{name}: {coverage}")
    assert coverage.is_whole, str(coverage)


def test_the_library_has_sentences_of_each_grammar() -> None:
    from grammars.ir import Builder

    for name in names():
        builder = Builder()
        ir = builder.finish(grammar(name).lower(builder))
        coverage = TransitionCoverage(ir)
        assert coverage.add(find(sentences(ir), lambda text: True, settings=draw_only)), name
