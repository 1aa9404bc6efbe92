"""Every error of GBNF: message, place, caret and remedy, word for word; and hostile texts meet a limit, soon."""

from __future__ import annotations

import time

import pytest

from grammars.errors import CfgError, LimitExceeded
from grammars.frontends.cfg import lower_gbnf
from grammars.ir import Builder
from grammars.limits import Limits

ERRORS = [
    ("", "an empty grammar: expected at least one rule; write root ::= ..., at 1:1\n\n^"),
    (
        "root ::= (a\na ::= [x]",
        "unclosed group: expected ')'; add it, or write \"(\" for the character, at 1:10\nroot ::= (a\n         ^",
    ),
    (
        'root ::= "a")',
        "')' without '('; leave it out, or write \")\" for the character, at 1:13\nroot ::= \"a\")\n            ^",
    ),
    (
        'root ::= foo bar\nfoo ::= "f"',
        'undefined rule "bar"; add bar ::= ..., at 1:14\nroot ::= foo bar\n             ^',
    ),
    (
        'root ::= my_rule\nmy-rule ::= "f"',
        'undefined rule "my_rule"; did you mean my-rule?, at 1:10\nroot ::= my_rule\n         ^',
    ),
    (
        'root ::= "a"\nroot ::= "b"',
        'rule "root" is already defined in line 1; rename one, or join them with |, at 2:1\nroot ::= "b"\n^',
    ),
    (
        'main ::= "a"',
        'no rule "root", which the grammar starts with; rename the rule that does, at 1:1\nmain ::= "a"\n^',
    ),
    (
        'root ::= "a',
        'unclosed text: expected a quote; add it, or write \\" for a quote in the text, at 1:10\n'
        'root ::= "a\n         ^',
    ),
    (
        "root ::= [a-",
        "unclosed class: expected ']'; add it, or write \\[ for the character, at 1:10\nroot ::= [a-\n         ^",
    ),
    (
        "root ::= []",
        "empty class: expected a character; write \\] for the bracket, at 1:10\nroot ::= []\n         ^",
    ),
    (
        "root ::= [z-a]",
        "range z-a: expected the lower character first; swap the ends, at 1:11\nroot ::= [z-a]\n          ^",
    ),
    (
        "root ::= \\d",
        "expected a text \"...\", a class [...], a name, a group or |, got '\\\\'; "
        'write "\\" for the character, at 1:10\nroot ::= \\d\n         ^',
    ),
    (
        "root ::= [\\d]",
        "unknown escape \\d: expected a character; write [0-9] as a class, at 1:11\nroot ::= [\\d]\n          ^",
    ),
    (
        'root ::= "\\q"',
        'unknown escape \\q: expected one of \\n \\r \\t \\\\ \\" \\x \\u \\U; write q for it, at 1:11\n'
        'root ::= "\\q"\n          ^',
    ),
    (
        'root ::= "\\u12"',
        "\\u: expected 4 hexadecimal digits, got '12\"'; fill up with zeros in front, at 1:11\n"
        'root ::= "\\u12"\n          ^',
    ),
    (
        'root ::= "\\U00110000"',
        '\\U00110000: expected a code point; the greatest is 0010FFFF, at 1:11\nroot ::= "\\U00110000"\n          ^',
    ),
    (
        'root ::= "\\ud83d"',
        "\\ud83d is half of a surrogate pair: no UTF-8 text holds one; write the character itself, "
        'or \\U and its code point, at 1:11\nroot ::= "\\ud83d"\n          ^',
    ),
    (
        'root ::= "\ud800"',
        'the grammar holds half of a surrogate pair (U+D800); leave it out, at 1:11\nroot ::= "\ud800"\n          ^',
    ),
    (
        "root ::= * [a]",
        'nothing to repeat before *: expected an item; write "*" for it, at 1:10\nroot ::= * [a]\n         ^',
    ),
    (
        'root ::= "a"{x}',
        'repeat: expected {m}, {m,} or {m,n} with digits only, at 1:13\nroot ::= "a"{x}\n            ^',
    ),
    (
        'root ::= "a"{3,2}',
        'repeat {3,2}: expected the lower bound first; swap the bounds, at 1:13\nroot ::= "a"{3,2}\n            ^',
    ),
    (
        "root ::= 'a'",
        'expected a text "...", a class [...], a name, a group or |, got "\'"; '
        "write texts in double quotes: \"...\", at 1:10\nroot ::= 'a'\n         ^",
    ),
    (
        "root ::= <think>",
        "expected a text \"...\", a class [...], a name, a group or |, got '<'; special tokens in a grammar text are "
        "not supported; combine grammars with constrained.special(...), at 1:10\nroot ::= <think>\n         ^",
    ),
    (
        'root: "a"',
        'expected ::= behind the name "root", got \':\'; write root ::= ..., at 1:5\nroot: "a"\n    ^',
    ),
    ("root", 'expected ::= behind the name "root", got the end; write root ::= ..., at 1:5\nroot\n    ^'),
    (
        '{"type": "object"}',
        "expected the name of a rule, got '{'; if this is JSON, pass it as a JSON Schema, at 1:1\n"
        '{"type": "object"}\n^',
    ),
    (
        'root ::= "a"\n  | foo = "b"',
        "expected a text \"...\", a class [...], a name, a group or |, got '='; rules are written name ::= ..., "
        'at 2:9\n  | foo = "b"\n        ^',
    ),
]


@pytest.mark.parametrize(("grammar", "message"), ERRORS, ids=lambda value: ascii(value)[:30])
def test_error(grammar: str, message: str) -> None:
    with pytest.raises(CfgError) as caught:
        lower_gbnf(grammar, Builder())
    assert str(caught.value) == message


def test_error_tells_its_place_in_numbers() -> None:
    with pytest.raises(CfgError) as caught:
        lower_gbnf('root ::= "a"\n  )', Builder())
    assert (caught.value.line, caught.value.column, caught.value.position) == (2, 3, 15)


HOSTILE = [
    ("root ::= " + "(" * 60_000, "max_nesting"),
    ("root ::= " + "(" * 60_000 + '"a"' + ")" * 60_000, "max_nesting"),
    ('root ::= "a"{1,1000}{1,1000}', "max_repeat"),
    ('root ::= ("a"{1,1000}){1,1000}', "max_repeat"),
    ('root ::= "a"{999999999999999999999999}', "max_repeat"),
    ('root ::= "' + "a" * 5_000_000 + '"', "max_source_length"),
]


@pytest.mark.parametrize(("grammar", "limit"), HOSTILE, ids=lambda value: value[:30])
def test_hostile_texts_meet_a_limit(grammar: str, limit: str) -> None:
    began = time.process_time()
    with pytest.raises(LimitExceeded) as caught:
        lower_gbnf(grammar, Builder())
    assert caught.value.limit == limit
    assert time.process_time() - began < 1


def test_limits_of_the_builder_apply() -> None:
    with pytest.raises(LimitExceeded, match="the group at 1:11"):
        lower_gbnf("root ::= ((a))", Builder(limits=Limits(max_nesting=1)))
