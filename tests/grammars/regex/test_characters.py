"""Sets of characters: named classes and case, exhaustively against the interpreter."""

from __future__ import annotations

import re
import sys
import unicodedata

import pytest

from grammars.frontends.regex.ast import Flags
from grammars.frontends.regex.casefold import ignore_case
from grammars.frontends.regex.classes import dot, shorthand, unicode_property
from grammars.ir.charset import ANY, Charset, complement, from_ranges

TEXT = [chr(code) for code in range(sys.maxunicode + 1) if not 0xD800 <= code <= 0xDFFF]
CASED = [one for one in TEXT if not one.lower() == one.upper() == one.casefold()]


def members(charset: Charset) -> set[str]:
    return {chr(code) for low, high in charset for code in range(low, high + 1)}


def test_shorthands_are_those_of_the_interpreter() -> None:
    assert members(shorthand("d", "python", Flags.NONE)) == {one for one in TEXT if one.isdecimal()}
    assert members(shorthand("s", "python", Flags.NONE)) == {one for one in TEXT if one.isspace()}
    assert members(shorthand("w", "python", Flags.NONE)) == {one for one in TEXT if one.isalnum() or one == "_"}


def test_ascii_shorthands() -> None:
    assert shorthand("d", "python", Flags.ASCII) == ((48, 57),)
    assert members(shorthand("s", "python", Flags.ASCII)) == set(" \t\n\r\f\v")
    assert shorthand("w", "python", Flags.ASCII) == shorthand("w", "ecma", Flags.NONE)


def test_dots() -> None:
    assert complement(dot("python", Flags.NONE)) == ((10, 10),)
    assert complement(dot("ecma", Flags.NONE)) == ((10, 10), (13, 13), (0x2028, 0x2029))
    assert dot("ecma", Flags.DOTALL) == ANY


def test_properties_by_category_and_script() -> None:
    known = {one for one in TEXT if unicodedata.category(one) != "Cn"}  # the library's Unicode may be newer
    assert members(unicode_property("Lu", None)) & known == {one for one in TEXT if unicodedata.category(one) == "Lu"}
    assert members(unicode_property("gc", "Nd")) & known == {one for one in TEXT if unicodedata.category(one) == "Nd"}
    greek = members(unicode_property("Script", "Greek"))
    assert set("αΩἄ") <= greek
    assert not set("aя1") & greek


def python_matches(pattern: str) -> list[str]:
    return re.findall(pattern, "".join(CASED))


def test_case_of_single_characters_is_as_in_re() -> None:
    for one in CASED:
        expected = python_matches(f"(?i){re.escape(one)}")
        assert sorted(members(ignore_case(from_ranges([(ord(one), ord(one))]), "python", Flags.NONE))) == expected


def test_case_of_characters_without_one_is_as_in_re() -> None:
    text = "".join(CASED)
    for code in range(0, 0x10000, 7):
        one = chr(code)
        if one not in CASED and not 0xD800 <= code <= 0xDFFF:
            assert re.search(f"(?i){re.escape(one)}", text) is None
            assert ignore_case(((code, code),), "python", Flags.NONE) == ((code, code),)


@pytest.mark.parametrize(
    "written", ["a-k", "À-ÿ", "ſ-ƀ", "\u0300-\u03ff", "Ѐ-я", "ᲀ-ᲈ", "ẖ-ẞ", "Ａ-Ｚ", "\u2100-\u2150ß", "İı"]
)
def test_case_of_classes_is_as_in_re(written: str) -> None:
    ranges = [(ord(piece[0]), ord(piece[-1])) for piece in re.findall("(?s).-.|.", written)]
    found = members(ignore_case(from_ranges(ranges), "python", Flags.NONE)) & set(CASED)
    assert sorted(found) == python_matches(f"(?i)[{written}]")


def test_case_in_ascii_only() -> None:
    for code in range(0x80):
        text = "".join(map(chr, range(0x2200)))
        expected = re.findall("(?ai)" + re.escape(chr(code)), text)
        assert sorted(members(ignore_case(((code, code),), "python", Flags.ASCII))) == expected


def test_case_of_ecma() -> None:
    def same(one: str) -> set[str]:
        return members(ignore_case(((ord(one), ord(one)),), "ecma", Flags.NONE))

    assert same("k") == {"k", "K", "\u212a"}
    assert same("ß") == {"ß", "ẞ"}
    assert same("i") == {"i", "I"}
    assert same("İ") == {"İ"}
    assert same("ι") == {"ι", "Ι", "\u0345", "\u1fbe"}
