"""What Lark itself has not: JSON by its schema, and substrings, inside rules; and what is read generously."""

from __future__ import annotations

import pytest

from .matching import lark_ir, our_verdict, their_verdict

JSON = r"""
start: (call | NAME)+
call: NAME "(" %json {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"],
    "additionalProperties": false} ")"
NAME: /[a-z]+/
%ignore /\s+/
"""


def test_json_in_its_place() -> None:
    ours = our_verdict(lark_ir(JSON))
    accepted = ['f({\n  "a": 1\n})', 'x f ( {\n  "a": -12\n} ) y']
    refused = ["f({})", 'f({\n  "a": 1.5\n})', "f(", "()"]
    assert [text for text in accepted if not ours(text)] == []
    assert [text for text in refused if ours(text)] == []


@pytest.mark.parametrize(
    ("piece", "accepted", "refused"),
    [
        ('{"substring_words": "to be, or not"}', ["to be", "be, or", "not", " or "], ["to or", "o be", "tobe", ""]),
        ('{"substring_chars": "abca"}', ["abca", "bc", "a"], ["ac", "cb"]),
        ('{"substring_chunks": ["ab", "c"]}', ["ab", "abc", "c"], ["a", "bc"]),
    ],
)
def test_substrings(piece: str, accepted: list[str], refused: list[str]) -> None:
    ours = our_verdict(lark_ir(f'start: "<" %regex {piece} ">"'))
    assert [text for text in accepted if not ours(f"<{text}>")] == []
    assert [text for text in refused if ours(f"<{text}>")] == []


SAME = [
    'start: a b // comment\na: "a" # another\n  | "b"\n\n  | "c" -> see\nb: A\nA.2: "x" | /y+/i',
    "%import common (INT, WS)\n%import common.CNAME -> NAME\nstart: NAME INT\n%ignore WS",
    'start: _list{item, ","}\n_list{x, sep}: x (sep x)*\nitem: both{"a", /b/}\nboth{x, y}: x y | y x',
    '?start: x\n!x: "a" "b"?',
    'start: A\nA: B B\nB: "b"\n%override B: "c"',
    'start: x\nx: "a"\n%extend x: "b"',
    'start: "\\"" /[\\"]/ "\\\\" "\\n" "\\x41" "\\u00e9" "\\."',
    'start: "a" \\\n  "b"',
    "start: A+\nA: /\n  a   # comment\n  b\n/x",
    'start: "A"i~2 ("b" | "c")~0..2 ["d"]',
]


@pytest.mark.parametrize("grammar", SAME)
def test_notation(grammar: str) -> None:
    ours, theirs = our_verdict(lark_ir(grammar)), their_verdict(grammar)
    texts = ["ab", "ba", "aa", "bb", "cc", "axy", "bY", "cx", "a 1", "ab1", "ab 12", "ab,ba", "ab,", "aA", "AAd"]
    texts += ["aacb", "ac", "abab", "a", "b", "aabc", "aad", '""\\\nAé\\.', '""\\\nAé.', "", "aabbb"]
    verdicts = [theirs(text) for text in texts]
    assert [ours(text) for text in texts] == verdicts
    assert any(verdicts)
