"""Formats are constraints, exact ones."""

from __future__ import annotations

import datetime
import uuid

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from grammars.errors import UnsatisfiableGrammar
from grammars.frontends.json_schema.formats import FORMATS

from .texts import language

ZONES = (datetime.UTC, datetime.timezone(datetime.timedelta(hours=-3)))
GOOD = {
    "date": ["2024-02-29", "2000-02-29", "0001-01-01", "9999-12-31", "1999-11-30"],
    "time": ["12:30:00Z", "23:59:59.123456+05:30", "00:00:00-23:59"],
    "date-time": ["2024-02-29T12:00:00Z", "1985-04-12T23:20:50.52Z", "1990-12-31T15:59:59-08:00"],
    "duration": ["P1Y", "P4DT12H30M5S", "PT36H", "P3W", "P1Y2M3D", "PT0S"],
    "uuid": ["2eb8aa08-aa98-11ea-b4aa-73b441d16380", "2EB8AA08-AA98-11EA-B4AA-73B441D16380"],
    "ipv4": ["0.0.0.0", "192.168.0.1", "255.255.255.255"],
    "ipv6": [
        "::",
        "::1",
        "2001:db8::8:800:200c:417a",
        "::ffff:192.0.2.1",
        "1:2:3:4:5:6:7:8",
        "1::8",
        "1:2:3:4:5:6:7::",
    ],
    "email": ["joe.bloggs@example.com", "te~st@example.com", "a@b"],
    "idn-email": ["실례@실례.테스트", "joe.bloggs@example.com", "a@é", "é.\U0001d54f@b"],
    "hostname": [
        "a",
        "1host",
        "www.example.com",
        "a--b.c-d",
        "x" * 63,
        ".".join(["x" * 63] * 3 + ["y" * 61]),
        "ab",
        "a-b",
    ],
    "idn-hostname": ["a", "www.example.com", "x" * 63],
    "uri": ["http://foo.bar/?baz=qux#quux", "urn:oasis:names", "mailto:a@b.c", "http://[::1]:80/a%20b", "x:"],
    "uri-reference": ["", "/abc", "//host/p", "#frag", "a/b:c", "http://x", "?q"],
    "json-pointer": ["", "/", "/foo/0/a~1b/~0", "/é"],
    "relative-json-pointer": ["0", "1/a~1b", "0/objects", "12#", "0#"],
    "iri": ["http://ƒøø.ßår/?∂éœ=πîx#πîüx", "urn:é", "x:"],
    "iri-reference": ["", "âππ", "//ƒ/ø", "#ƒrägmênt", "/a?π"],
    "uri-template": ["", "http://a/{x}{?y,z*}", "{/id:3}", "a'b", "é{+path.sub}"],
    "regex": [
        *("", "a|b|", r"([abc])+\s+$", "(?<name>x)", "(?<=a+)b", "[]", "[^]", r"\cA", r"[\u4e00-\u9fa5]", "[а-я]"),
        *(r"^[a-zA-Z0-9_.+-]+@[a-zA-Z0-9-]+\.[a-z]{2,3}$", "[à-ÿ]", r"\p{L}+", "a{2,}?", r"[\w\-. ]*", "x{99,100}"),
        *(r"[\x00-\x7F]", "(?!.*--)a", r"\$\{[^}]+\}", "[0-9-_]", "x{10,20}", r"\/", "[ -~]"),
    ],
}
BAD = {
    "date": ["2023-02-29", "1900-02-29", "2024-13-01", "2024-04-31", "0000-01-01", "2024-1-01", "24-01-01", "20240101"],
    "time": ["12:30:00", "24:00:00Z", "12:60:00Z", "12:30:60Z", "12:30:00+24:00", "12:30:00.Z", "12:30Z"],
    "date-time": ["2024-02-30T12:00:00Z", "2024-02-29 12:00:00Z", "2024-02-29T12:00:00", "2024-02-29"],
    "duration": ["P", "PT", "P1D1Y", "P1", "1D", "P1DT", "P1W2D", "PT1D", "P1YT1S1M"],
    "uuid": ["2eb8aa08aa9811eab4aa73b441d16380", "2eb8aa08-aa98-11ea-b4ga-73b441d16380", ""],
    "ipv4": ["256.0.0.1", "1.2.3", "1.2.3.4.5", "01.2.3.4", "1.2.3.x"],
    "ipv6": ["1::2::3", "12345::", "::g", "1:2:3:4:5:6:7", ":1", "1:2:3:4:5:6:7:8:9", "::1.2.3", "1:2:3:4:5:6:7:8::"],
    "email": ["2962", ".test@example.com", "a..b@example.com", "a@-b.c", "a b@c", "@b", "a@"],
    "idn-email": ["2962", "é", "é@", "a@é-", "a＠b", "a é@b"],
    "hostname": [
        "",
        ".",
        "a.",
        ".a",
        "-a",
        "a-",
        "a_b",
        "x" * 64,
        ".".join(["x" * 63] * 3 + ["y" * 62]),
        "xn--X",
        "ab--c",
    ],
    "idn-hostname": ["", ".", "a.", "-a", "a_b", "x" * 64, "ab--c", ".".join(["x" * 63] * 3 + ["y" * 62])],
    "uri": ["//foo.bar", "/abc", "abc", "\\\\WINDOWS", "http:// x", "1a:b", "http://a%2", "http://[::x]"],
    "uri-reference": ["\\\\WINDOWS", "#a#b", "a b", "1:b", "%"],
    "json-pointer": ["a", "/~", "/a~2", "#/a"],
    "relative-json-pointer": ["", "/a", "01/a", "-1", "0##", "1a"],
    "iri": ["ƒøø", "/abc", "http://2001:0db8::x]", "http:// ∂", "\\\\WINDOWS", "x:\ufffe"],
    "iri-reference": ["\\\\WINDOWS", "#ƒräg\\mênt", "π\ue000"],
    "uri-template": ["{", "a{x", "{}", "{x:0}", "a<b", "{x:12345}", "}"],
    "regex": [
        *("^(abc]", "(", "a)", "*a", "a**", "\\a", "(?P<name>x)", "(?#c)", "(?i)abc", "[z-a]", "a{2,1}", "a{20,10}"),
        *("[", "]", "a{", "}", "\\", "(?<n>a)(?<n>b)", r"[\d-z]", "x{100,20}", "[я-а]", r"[\x7F-\x00]", r"\u12"),
    ],
}


@pytest.mark.parametrize("whitespace", ["compact", "any"])
@pytest.mark.parametrize("name", sorted(FORMATS))
def test_members(name: str, whitespace: str) -> None:
    taken = language({"type": "string", "format": name}, whitespace)
    assert [text for text in GOOD[name] if not taken.takes_value(text)] == []
    assert [text for text in BAD[name] if taken.takes_value(text)] == []


@pytest.mark.parametrize("name", sorted(FORMATS))
def test_lengths_of_the_table(name: str) -> None:
    lengths = FORMATS[name]
    for text in GOOD[name]:
        assert lengths.shortest <= len(text) <= (lengths.longest or len(text))


@settings(deadline=None)
@given(st.dates(), st.integers(1, 99))
def test_calendar_days(day: datetime.date, beyond: int) -> None:
    taken = language({"type": "string", "format": "date"})
    assert taken.takes_value(day.isoformat())
    text = f"{day.isoformat()[:8]}{beyond:02}"
    try:
        datetime.date.fromisoformat(text)
    except ValueError:
        assert not taken.takes_value(text)
    else:
        assert taken.takes_value(text)


@settings(deadline=None)
@given(
    st.datetimes(timezones=st.sampled_from((datetime.UTC, datetime.timezone(datetime.timedelta(hours=-3))))), st.uuids()
)
def test_what_python_writes(moment: datetime.datetime, identity: uuid.UUID) -> None:
    assert language({"type": "string", "format": "date-time"}).takes_value(moment.isoformat())
    assert language({"type": "string", "format": "uuid"}).takes_value(str(identity))


@pytest.mark.parametrize("name", sorted(set(GOOD) - {"regex"}))  # the judge takes Python's
def test_the_judge_agrees(name: str) -> None:
    checker = Draft202012Validator({"format": name}, format_checker=Draft202012Validator.FORMAT_CHECKER)
    assert [text for text in GOOD[name] if not checker.is_valid(text)] == []


def test_leap_seconds_are_read() -> None:
    taken = language({"format": "date-time"}, "any")
    good = [
        "1998-12-31T23:59:60Z",
        "1998-12-31t15:59:60.5-08:00",
        "2016-12-31T05:29:60+05:30",
        "2016-12-31T23:59:60-00:00",
    ]
    bad = ["1998-12-31T22:59:60Z", "1998-12-31T23:59:60+01:00", "1998-12-31T23:59:61Z", "1998-12-31T05:29:60+05:15"]
    assert [taken.takes_value(text) for text in good + bad] == [True] * 4 + [False] * 4
    assert not language({"format": "time"}, "compact").takes_value("23:59:60Z")  # they are not written
    assert language({"format": "time", "minLength": 1, "pattern": ":60"}, "any").takes_value("23:59:60Z")


def test_older_drafts_take_any_label() -> None:
    schema = {"$schema": "http://json-schema.org/draft-04/schema#", "format": "hostname"}
    assert language(schema).takes_value("xn--X")
    assert not language({"format": "hostname"}).takes_value("xn--X")
    assert not language({"format": "hostname"}).takes_value("xn--ll-0ea")  # such names are not written


def test_escapes_are_taken_where_all_are() -> None:
    assert language({"type": "string", "format": "date"}, "any").takes('"\\u0032024-02-29"')


def test_a_format_limits_strings_only() -> None:
    taken = language({"format": "date"})
    assert taken.takes("5")
    assert not taken.takes_value("x")
    assert language({"type": "integer", "format": "ipv6"}).takes("5")


def test_unknown_formats_are_annotations() -> None:
    assert language({"type": "string", "format": "int32"}).takes_value("x")


def test_formats_that_are_no_automaton_are_checked() -> None:
    for name, good, bad in (
        ("hostname", ["xn--9n2bp8q.xn--9t4b11yi5a", "xn--ll-0ea", "a.b"], ["xn--X", "xn--l-fda", "ab--c", "é"]),
        ("idn-hostname", ["실례.테스트", "l·l", "a。b", "אב"], ["a·l", "א0٠", "aא", "Ä", "a..b", "ü" * 60]),
        ("regex", [r"(?<n>a)\k<n>(b)\2", "x{1000,1001}", r"[\u1234-\u1235]"], [r"(a)\2", r"\k<n>", "x{1001,1000}"]),
    ):
        taken, others = language({"format": name}, "any"), language({"not": {"format": name}}, "any")
        mixed = language({"format": name, "minLength": 2, "pattern": "^[^z]*$", "maxLength": 90}, "any")
        for text in good + bad:
            assert taken.takes_value(text) == mixed.takes_value(text) == (text in good), text
            assert others.takes_value(text) == (text in bad), text
    short = language({"format": "hostname", "maxLength": 3}, "any")
    assert [short.takes_value(text) for text in ("a.b", "abcd")] == [True, False]
    names = language({"propertyNames": {"format": "regex"}}, "any")
    assert [names.takes_value({name: 1}) for name in ("a*", "(")] == [True, False]


def test_lengths_beside_a_format() -> None:
    assert language({"type": "string", "format": "date", "minLength": 1, "maxLength": 99}).takes_value("2024-01-01")
    short = language({"type": "string", "format": "email", "maxLength": 8})
    assert short.takes_value("ab@de.fr")
    assert not short.takes_value("abc@de.fr")
    assert not short.takes_value("abdecofr")
    with pytest.raises(UnsatisfiableGrammar):
        language({"type": "string", "format": "date", "maxLength": 9})
