"""Every error names what is wrong, where, and what to do."""

from __future__ import annotations

import pytest

from grammars.errors import RegexError
from grammars.frontends.regex import lower_regex, parse_regex
from grammars.ir import Builder

REPEAT_IT = "not a regular language, so it cannot be enforced; repeat what it refers to"
NO_BACKING = "it depends on what the engine tries first, not on the text; write {} if nothing has to be kept back"

GOLDEN: list[tuple[str, str, int, str]] = [
    # dialect, pattern, position, message
    ("python", "a(b", 1, "unclosed group: expected ')'; add it, or write \\( for the character"),
    ("python", "(a(b)", 0, "unclosed group: expected ')'; add it, or write \\( for the character"),
    ("python", "ab)c", 2, "')' without '('; leave it out, or write \\) for the character"),
    ("python", "x[a-", 1, "unclosed class: expected ']'; add it, or write \\[ for the character"),
    ("python", "[]", 0, "unclosed class: expected ']'; add it, or write \\[ for the character"),
    ("python", "[z-a]", 1, "range z-a: expected the lower character first; swap the ends"),
    ("python", r"[\d-z]", 1, r"range \d-z: expected a single character at both ends; write the - last, or as \-"),
    ("python", r"[a-\w]", 1, r"range a-\w: expected a single character at both ends; write the - last, or as \-"),
    ("python", "a\\", 1, r"a backslash ends the pattern: expected a character after it; write \\ for a backslash"),
    ("python", r"\y", 0, r"unknown escape \y: write y for the letter"),
    ("python", r"[\Z]", 1, r"unknown escape \Z in a class: the end of the text is written $ here"),
    ("python", r"\G", 0, r"unknown escape \G: there is no place of a previous match; leave it out"),
    ("python", r"\xZ", 0, r"\x: expected 2 hexadecimal digits, got 'Z'"),
    ("python", r"\u12", 0, r"\u: expected 4 hexadecimal digits, got '12'"),
    ("python", r"\U00110000", 0, r"\U00110000: expected a code point, at most 0010FFFF"),
    ("python", r"\N{NO SUCH}", 0, r"\N: unknown character name 'NO SUCH'; write \u and four hexadecimal digits"),
    ("python", r"\Nx", 0, r"\N: expected a character name in braces, as in \N{EM DASH}"),
    ("python", r"\777", 0, r"octal escape \777: expected at most \377; write \u and four hexadecimal digits"),
    ("python", r"[\8]", 1, r"unknown escape \8 in a class: write 8 for the digit"),
    ("python", r"\p", 0, r"\p: expected a property in braces, as in \p{L} or \p{Script=Greek}"),
    ("python", "*a", 0, "nothing to repeat before *: expected an item; write \\* for the character"),
    ("python", "a|+", 2, "nothing to repeat before +: expected an item; write \\+ for the character"),
    ("python", "({2})", 1, "nothing to repeat before {2}: expected an item; write \\{ for the character"),
    ("python", "^*", 1, "nothing to repeat before *: an assertion has no width; leave the quantifier out"),
    ("python", "a**", 2, "quantifier * after a quantifier; put what it repeats into (?:...)"),
    ("python", "a{1,1000}{1,1000}", 9, "quantifier {1,1000} after a quantifier; put what it repeats into (?:...)"),
    ("python", "a{3,2}", 1, "quantifier {3,2}: expected the lower bound first; swap the bounds"),
    ("python", "a++", 2, "possessive quantifier ++ is not supported: " + NO_BACKING.format("+")),
    ("python", "a{2}+", 4, "possessive quantifier {2}+ is not supported: " + NO_BACKING.format("{2}")),
    ("python", "(?>a)", 0, "atomic group (?>...) is not supported: " + NO_BACKING.format("(?:...)")),
    ("python", r"(a)\1", 3, r"back-reference \1: " + REPEAT_IT),
    ("python", "(?P<q>a)(?P=q)", 8, "back-reference (?P=...): " + REPEAT_IT),
    ("python", "(a)(?(1)b|c)", 3, "conditional group (?(...)...) is not supported; write the alternatives out"),
    ("python", "a(?R)", 1, "recursion is not supported in a regular expression; use a grammar"),
    ("python", "(?#a", 0, "unclosed comment: expected ')'; add it"),
    ("python", "(?P<a", 4, "unclosed group name: expected '>'; add it"),
    ("python", "(?P<1>a)", 4, "group name '1': expected a letter or _, then letters, digits or _; rename the group"),
    ("python", "(?P<a>x)(?P<a>y)", 12, "group name 'a' is used twice; rename one of the groups"),
    ("python", "a(?i)", 1, "flags (?i) of the whole pattern: expected them at its start; move them there"),
    ("python", "(?-i)a", 0, "flags (?-i): expected ':' and what they apply to; write (?...:...)"),
    ("python", "(?iz:a)", 3, "unknown flag z: expected some of a, i, m, s, u, x; leave it out"),
    ("python", "(?i-i:a)", 0, "flag i is turned on and off; leave one out"),
    ("python", "(?au:a)", 2, "flags a and u exclude each other; leave one out"),
    ("python", "(?-a:a)", 0, "flags a and u cannot be turned off; turn the other one on"),
    ("python", r"x\p{Nope}", 1, "unknown Unicode property Nope: expected one such as L, Script=Greek or Emoji"),
    ("ecma", r"\A", 0, r"unknown escape \A: the start of the text is written ^ here"),
    ("ecma", r"\c1", 0, r"\c: expected an ASCII letter after it, as in \cJ"),
    ("ecma", r"\01", 0, r"octal escape: not allowed in this dialect; write \x and two hexadecimal digits"),
    ("ecma", r"\k<a>", 0, r"back-reference \k: " + REPEAT_IT),
    (
        "ecma",
        r"\u{110000}",
        0,
        r"\u{...}: expected hexadecimal digits of a code point, at most 10FFFF, and a closing brace",
    ),
    ("ecma", "a{,3}", 1, "quantifier {,3}: expected a lower bound; write {0,3}"),
    ("ecma", "(?=a)*", 5, "nothing to repeat before *: an assertion has no width; leave the quantifier out"),
    ("ecma", "(?#a)", 0, "comment (?#...): not part of this dialect; leave it out"),
    ("ecma", "(?<a>x(?<a>y))", 9, "group name 'a' is used twice; rename one of the groups"),
    ("ecma", "(?x:a)", 2, "unknown flag x: expected some of i, m, s; leave it out"),
]


@pytest.mark.parametrize(("dialect", "pattern", "position", "message"), GOLDEN)
def test_golden_errors(dialect: str, pattern: str, position: int, message: str) -> None:
    with pytest.raises(RegexError) as caught:
        lower_regex(pattern, Builder(), dialect=dialect)
    assert caught.value.position == position
    assert str(caught.value) == f"{message} at position {position}\n{pattern}\n{' ' * position}^"


def test_an_unknown_group_lists_the_known_ones() -> None:
    with pytest.raises(RegexError, match=r"unknown group \(\?~: expected one of \(\?: \(\?P<name> \(\?="):
        parse_regex("(?~a)")


def test_the_caret_is_in_the_line_of_the_fault() -> None:
    with pytest.raises(RegexError) as caught:
        parse_regex("(?x) a\n  b)\n")
    assert str(caught.value).endswith("at position 10\n  b)\n   ^")
