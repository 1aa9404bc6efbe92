"""Syntax trees: what is built, and that every node knows its place."""

from __future__ import annotations

import pytest

from grammars.frontends.regex import parse_regex
from grammars.frontends.regex.ast import (
    Alternation,
    AnyCharacter,
    Assertion,
    AssertionKind,
    CharacterClass,
    CharacterRange,
    Concatenation,
    Flags,
    Group,
    Lookaround,
    Node,
    Property,
    Repeat,
    Shorthand,
    Span,
    Text,
)


def written(pattern: str, node: Node) -> str:
    return pattern[node.span.start : node.span.end]


def test_a_run_of_plain_characters_is_one_node() -> None:
    assert parse_regex("abc").root == Text(Span(0, 3), "abc")


def test_a_quantifier_takes_the_last_character_only() -> None:
    pattern = "abc+?d"
    root = parse_regex(pattern).root
    assert isinstance(root, Concatenation)
    assert [written(pattern, part) for part in root.parts] == ["ab", "c+?", "d"]
    repeat = root.parts[1]
    assert repeat == Repeat(Span(2, 5), Text(Span(2, 3), "c"), 1, None, True)


def test_branches_and_empty_branches() -> None:
    root = parse_regex("a||b").root
    assert isinstance(root, Alternation)
    assert root.branches == (Text(Span(0, 1), "a"), Concatenation(Span(2, 2), ()), Text(Span(3, 4), "b"))


def test_groups_keep_names_and_flags() -> None:
    root = parse_regex("(?P<year>x)(?i-s:y)(z)").root
    assert isinstance(root, Concatenation)
    assert root.parts == (
        Group(Span(0, 11), Text(Span(9, 10), "x"), "year"),
        Group(Span(11, 19), Text(Span(17, 18), "y"), None, Flags.IGNORECASE, Flags.DOTALL),
        Group(Span(19, 22), Text(Span(20, 21), "z")),
    )


def test_classes_keep_their_items() -> None:
    root = parse_regex(r"[^a-c\d\p{L}\-]").root
    assert root == CharacterClass(
        Span(0, 15),
        (
            CharacterRange(Span(2, 5), 97, 99),
            Shorthand(Span(5, 7), "d", False),
            Property(Span(7, 12), "L", None, False),
            CharacterRange(Span(12, 14), 45, 45),
        ),
        True,
    )


def test_what_has_no_width() -> None:
    root = parse_regex(r"^(?<!a)\b.").root
    assert isinstance(root, Concatenation)
    assert root.parts == (
        Assertion(Span(0, 1), AssertionKind.LINE_START),
        Lookaround(Span(1, 7), Text(Span(5, 6), "a"), ahead=False, negated=True),
        Assertion(Span(7, 9), AssertionKind.WORD_BOUNDARY),
        AnyCharacter(Span(9, 10)),
    )


def test_verbose_patterns_skip_blanks_and_comments() -> None:
    pattern = "(?x) a b # c\n [ ] \\ (?-x: d)"
    root = parse_regex(pattern).root
    assert isinstance(root, Concatenation)
    assert [written(pattern, part) for part in root.parts] == ["a", "b", "[ ]", "\\ ", "(?-x: d)"]


def test_flags_of_the_whole_pattern() -> None:
    assert parse_regex("(?i)(?s)a").flags == Flags.IGNORECASE | Flags.DOTALL


@pytest.mark.parametrize("pattern", ["a{", "a{,", "a{1", "a{x}", "{}", "}", "]", "a{1,2,3}"])
def test_braces_that_count_nothing_are_characters(pattern: str) -> None:
    root = parse_regex(pattern).root
    parts = root.parts if isinstance(root, Concatenation) else (root,)
    assert all(isinstance(part, Text) for part in parts)
    assert "".join(written(pattern, part) for part in parts) == pattern


def test_an_unknown_dialect_is_refused() -> None:
    with pytest.raises(ValueError, match="expected 'python' or 'ecma', got 'perl'"):
        parse_regex("a", dialect="perl")
