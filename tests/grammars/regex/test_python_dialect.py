"""The dialect ``python`` against :mod:`re` itself, as whole match and as search."""

from __future__ import annotations

import re
import warnings

import pytest
from hypothesis import assume, given, settings

from constrained.testing.strategies.regexes import RegexCase, regex_cases
from grammars.errors import RegexError
from grammars.frontends.regex import parse_regex, regex_automaton
from tests.reference.recogniser import accepts

from .matching import full_ir, full_match, search_ir


def compiled(pattern: str) -> re.Pattern[str] | None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return re.compile(pattern)
        except re.error:
            return None


def check(case: RegexCase) -> None:
    judge = compiled(case.pattern)
    assume(judge is not None)
    assert judge is not None
    full, found = full_ir(case.pattern), search_ir(case.pattern, dialect="python")
    automaton = regex_automaton(case.pattern)
    for text in case.texts:
        whole = judge.fullmatch(text) is not None
        assert accepts(full, text.encode()) == whole, text
        assert automaton.accepts(map(ord, text)) == whole, text
        assert accepts(found, text.encode()) == (judge.search(text) is not None), text


@given(regex_cases())
@settings(max_examples=80)
def test_random_patterns(case: RegexCase) -> None:
    check(case)


@given(regex_cases(assertions=True))
@settings(max_examples=60)
def test_random_patterns_with_assertions(case: RegexCase) -> None:
    check(case)


TEXTS = [
    "", "a", "b", "ab", "ba", "aa", "aaa", "abab", "A", "\n", "a\n", "\na", "a\nb", "ab\n", "a\n\n", " ", "a b",
    "a-b", "-", "--", "_", "1", "12", "1a", "é", "ß", "ẞ", "ς", "ſ", "İ", "i", "ı", "\u212a", "k", "\x00", "\x07",
    "\\", "]", "^", "foo", "foobar", "barfoo", "foo bar", "x\r\ny", "😀", "٣", "\u2028", "\x85", "{", "a{", "a{1",
    "a{,", "S", "\x01", "8",
]  # fmt: skip

PATTERNS = [
    "", "a", "a|", "|a", "()", "(?:)", "a*", "a+?", "a??", "(?:a|b)*", "(?:ab)+", "a{2}", "a{,2}", "a{2,}", "a{0}",
    "a{1,2}?", "a{", "a{1", "a{,", "{", "a{}", "x{,}", "]", "[]]", "[^]]", "[]^]", "[a-]", "[-a]", r"[\]\\^-]",
    r"[\b]", "[a^]", r"[\w-]", r"[\d\s]", r"[^\d\s]", r"[^\W]", r"\d", r"\D", r"\w", r"\W", r"\s", r"\S", ".",
    "(?s).", "(?s:.)a", ".*", r"\.", r"\0", r"\00", r"\01", r"\001", r"\0018", r"\a", r"\\", r"\x41", r"\u0041",
    r"\U0001F600", r"\N{LATIN SMALL LETTER A}", "^", "$", "^$", "^a", "a$", "^a$", "a^", "$a", "a$b", "a\n$", "a$\n",
    "a$\n?", "(?m)a$\nb", "(?m)a\n^b", "(?m)^$", "(?m)$\n^", r"\Aa\Z", r"a\Z\n", r"\Z", r"\A", "(^a|b)+", "(a$|b)+",
    "(?:^|a)+b", "(?:a|$)*", "(?:^)*a", "(?:$)+", r"\ba", r"a\b", r"a\bb", r"\b", r"\B", r"a\Bb", r"\Ba", r".*\b.*",
    r"\b\w+\b.\b\w+\b", r"(?a)\b.", r"(?a:\w)\W?", "(?=a)a", "(?=a).*", "(?!a).*", "(?=.*b).*a.*", "(?!.*b).*",
    "(?:(?!b).)*", "a(?=b)", "a(?=b)b", "(?<=a)b", "a(?<=a)b", "(?<!a)b", ".*(?<!b)", "(?=a(?!b)).*",
    "(?<=(?<!b)a)b|ab", r"(?=\ba).*\b", "(?:a(?=b)|b)*", "(?:(?<=a)b|a)*", "(?=(?=a))a", "(?!(?!a))a", "(?=$)",
    "(?=^)a", "(?!$).", "(?<=^)a", "(?<!^).", "(?i)a", "(?i)[a-k]", "(?i)ſ", "(?i)[^s]", "(?i)ß", "(?i)ẞ", "(?i)İ",
    "(?i)i", "(?i)ı", "(?i)k", "(?i)σ", "(?ai)k", "(?ai)[a-k]", "(?i:a)b", "(?i)(?-i:a)b", "(?ia)\\w", "(?x) a b # c",
    "(?x)a\\ b", "(?x)[ a]", "(?x: a )b", "(?#c)a", "a(?#c)+", "(?x)a +", "(?P<n>a)b", "(a)(b)", "((a)|b)+", "(?u:é)",
    "(?a)(?u:é)", "(?s-i:.)a", "foo(?!bar).*", "(?<!bar)foo", r"(?m)^foo$", r"[😀-😎]", r"[^😀]", "x\r\ny", r"\141",
    r"[\141-\142]", r"\u212a",
]  # fmt: skip


@pytest.mark.parametrize("pattern", PATTERNS)
def test_chosen_patterns(pattern: str) -> None:
    judge = compiled(pattern)
    assert judge is not None
    full, found = full_ir(pattern), search_ir(pattern, dialect="python")
    for text in TEXTS:
        assert accepts(full, text.encode()) == (judge.fullmatch(text) is not None), text
        assert accepts(found, text.encode()) == (judge.search(text) is not None), text


MALFORMED = [
    "(", ")", "a)", "(?", "(?P", "(?P<", "(?P<a", "(?P<a>", "(?P<1>a)", "(?P<a b>c)", "[", "[a", "[^", "[]", "[^]",
    "[b-a]", "[\\w-a]", "*", "+a", "?", "a**", "a+*", "a{1}{2}", "{1}", "a|*", "(*)", "^*", "$?", r"\b+", "a{2,1}",
    "\\", r"\q", r"\x", r"\x1", r"\u123", r"\U0010000", r"\U00110000", r"\N", r"\N{}", r"\N{nope}", "[\\q]", r"\1",
    r"(a)\2", r"\8", r"\400", r"[\400]", "(?z)", "(?i", "(?i-", "(?i-:a)", "(?-)", "(?i-i:a)", "(?au)", "(?-a:b)",
    "a(?i)", "(?iL)a", "(?:a", "(?=a", "(?<=a", "(?<a", "(?#", "(?(1)a",
]  # fmt: skip


@pytest.mark.parametrize("pattern", MALFORMED)
def test_what_re_refuses_is_refused(pattern: str) -> None:
    assert compiled(pattern) is None
    with pytest.raises(RegexError):
        parse_regex(pattern)


@pytest.mark.parametrize(
    ("pattern", "member", "other"), [(r"\p{Lu}x", "Éx", "éx"), ("(?<n>a)", "a", "b"), ("a+b(?<=aa*b)", "ab", "a")]
)
def test_what_goes_beyond_re(pattern: str, member: str, other: str) -> None:
    assert compiled(pattern) is None
    assert full_match(pattern, member)
    assert not full_match(pattern, other)


@given(regex_cases())
@settings(max_examples=40)
def test_a_cut_pattern_is_parsed_or_refused_like_re(case: RegexCase) -> None:
    for end in range(len(case.pattern)):
        pattern = case.pattern[:end]
        try:
            parse_regex(pattern)
        except RegexError:
            assert compiled(pattern) is None, pattern
        else:
            assert compiled(pattern) is not None, pattern
