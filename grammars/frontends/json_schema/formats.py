"""The formats that are enforced, as nodes of the intermediate form.

Dates and times follow RFC 3339 with real calendar days (years 0001 to 9999), durations its appendix A, addresses
RFC 3986 and RFC 4291, mailboxes RFC 5321 and RFC 6531, host names RFC 1123.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ...errors import GrammarError
from ...ir import Builder, NodeId
from ...ir.charset import ANY, Charset, difference, from_ranges, union
from .host_names import is_hostname, is_idn_hostname
from .keywords import Draft
from .regex_syntax import is_regex

__all__ = ["ALL_FORMATS", "FORMATS", "Format", "format_meant", "plain_format"]

_DIGIT: Charset = ((48, 57),)
_HEX: Charset = from_ranges(((48, 57), (65, 70), (97, 102)))
_ALPHA: Charset = from_ranges(((65, 90), (97, 122)))
_ALNUM: Charset = union(_DIGIT, _ALPHA)


def _of(text: str) -> Charset:
    return from_ranges((ord(character), ord(character)) for character in text)


class _Writer:
    """Short names for building: text, characters, runs."""

    def __init__(self, builder: Builder, *, every: bool) -> None:
        self.builder = builder
        self.every = every
        self.sequence = self.builder.sequence
        self.either = self.builder.alternation
        self.optional = self.builder.optional
        self.repeat = self.builder.repeat
        self.chars = builder.charset

    def text(self, text: str) -> NodeId:
        return self.sequence(*(self.chars(_of(character)) for character in text))

    def texts(self, *texts: str) -> NodeId:
        return self.either(*map(self.text, texts))

    def digits(self, low: int, high: int | None = None) -> NodeId:
        return self.repeat(self.chars(_DIGIT), low, low if high is None else high)

    def two_digits(self, low: int, high: int) -> NodeId:
        """``low`` to ``high`` in two digits."""
        parts = []
        for tens in range(low // 10, high // 10 + 1):
            first = low % 10 if tens == low // 10 else 0
            last = high % 10 if tens == high // 10 else 9
            parts.append(self.sequence(self.text(str(tens)), self.chars(((48 + first, 48 + last),))))
        return self.either(*parts)


# -- dates and times ----------------------------------------------------------------------------------------------


def _date(w: _Writer) -> NodeId:
    digit = w.chars(_DIGIT)
    nonzero = w.chars(((49, 57),))
    zero = w.text("0")
    # multiples of four in two digits, without and with 00
    fours = w.either(
        w.sequence(zero, w.chars(_of("48"))),
        w.sequence(w.chars(_of("2468")), w.chars(_of("048"))),
        w.sequence(w.chars(_of("13579")), w.chars(_of("26"))),
    )
    century_leap = w.sequence(fours, w.text("00"))
    leap = w.either(w.sequence(digit, digit, fours), century_leap)
    year = w.either(
        w.sequence(nonzero, digit, digit, digit),
        w.sequence(zero, nonzero, digit, digit),
        w.sequence(zero, zero, nonzero, digit),
        w.sequence(zero, zero, zero, nonzero),
    )
    dash = w.text("-")
    long_months = w.texts("01", "03", "05", "07", "08", "10", "12")
    short_months = w.texts("04", "06", "09", "11")
    days = w.either(
        w.sequence(long_months, dash, w.two_digits(1, 31)),
        w.sequence(short_months, dash, w.two_digits(1, 30)),
        w.sequence(w.text("02"), dash, w.two_digits(1, 28)),
    )
    return w.either(w.sequence(year, dash, days), w.sequence(leap, w.text("-02-29")))


def _fraction(w: _Writer) -> NodeId:
    return w.optional(w.sequence(w.text("."), w.repeat(w.chars(_DIGIT), 1)))


def _plain_time(w: _Writer) -> NodeId:
    colon = w.text(":")
    sixty = w.two_digits(0, 59)
    hour = w.two_digits(0, 23)
    zulu = w.chars(_of("Zz")) if w.every else w.text("Z")
    zone = w.either(zulu, w.sequence(w.chars(_of("+-")), hour, colon, sixty))
    return w.sequence(hour, colon, sixty, colon, sixty, _fraction(w), zone)


def _leap_time(w: _Writer) -> NodeId:
    """A last minute before midnight UTC with 61 seconds, by all offsets that were in use since there are such minutes:
    whole quarters of an hour."""
    fraction = _fraction(w)
    ways = []
    for minute in range(14, 1440, 15):  # of the local time, whose offset is one more (modulo a day)
        ahead, behind = (minute + 1) % 1440, (1439 - minute) % 1440
        zones = [w.text(f"{sign}{offset // 60:02}:{offset % 60:02}") for sign, offset in (("+", ahead), ("-", behind))]
        if minute == 1439:
            zones.append(w.chars(_of("Zz")))
        ways.append(w.sequence(w.text(f"{minute // 60:02}:{minute % 60:02}:60"), fraction, w.either(*zones)))
    return w.either(*ways)


def _time(w: _Writer) -> NodeId:
    return w.either(_plain_time(w), _leap_time(w)) if w.every else _plain_time(w)


def _date_and_t(w: _Writer) -> NodeId:
    return w.sequence(_date(w), w.chars(_of("Tt")) if w.every else w.text("T"))


def _date_time(w: _Writer) -> NodeId:
    return w.sequence(_date_and_t(w), _time(w))


def _duration(w: _Writer) -> NodeId:
    def amount(unit: str) -> NodeId:
        return w.sequence(w.repeat(w.chars(_DIGIT), 1), w.text(unit))

    second = amount("S")
    minute = w.sequence(amount("M"), w.optional(second))
    hour = w.sequence(amount("H"), w.optional(minute))
    time = w.sequence(w.text("T"), w.either(hour, minute, second))
    day = amount("D")
    month = w.sequence(amount("M"), w.optional(day))
    year = w.sequence(amount("Y"), w.optional(month))
    date = w.sequence(w.either(day, month, year), w.optional(time))
    return w.sequence(w.text("P"), w.either(date, time, amount("W")))


def _uuid(w: _Writer) -> NodeId:
    hexadecimal, dash = w.chars(_HEX), w.text("-")
    four = w.repeat(hexadecimal, 4, 4)
    return w.sequence(
        w.repeat(hexadecimal, 8, 8), dash, four, dash, four, dash, four, dash, w.repeat(hexadecimal, 12, 12)
    )


# -- addresses ----------------------------------------------------------------------------------------------------


def _ipv4(w: _Writer) -> NodeId:
    digit = w.chars(_DIGIT)
    octet = w.either(
        digit,
        w.sequence(w.chars(((49, 57),)), digit),
        w.sequence(w.text("1"), digit, digit),
        w.sequence(w.text("2"), w.chars(_of("01234")), digit),
        w.sequence(w.text("25"), w.chars(_of("012345"))),
    )
    return w.sequence(octet, w.repeat(w.sequence(w.text("."), octet), 3, 3))


def _ipv6(w: _Writer) -> NodeId:
    group = w.repeat(w.chars(_HEX), 1, 4)
    colon, gap = w.text(":"), w.text("::")
    last_two = w.either(w.sequence(group, colon, group), _ipv4(w))
    grouped = w.sequence(group, colon)
    ways = [w.sequence(w.repeat(grouped, 6, 6), last_two)]
    for after in range(5, -1, -1):  # groups behind the gap, before the last two
        before = 5 - after
        head = w.optional(w.sequence(w.repeat(grouped, 0, before - 1), group)) if before else w.builder.epsilon
        ways.append(w.sequence(head, gap, w.repeat(grouped, after, after), last_two))
    for before, tail in ((6, group), (7, w.builder.epsilon)):
        head = w.optional(w.sequence(w.repeat(grouped, 0, before - 1), group))
        ways.append(w.sequence(head, gap, tail))
    return w.either(*ways)


def _label(w: _Writer, more: Charset = ()) -> NodeId:
    edge = w.chars(union(_ALNUM, more))
    inner = w.repeat(w.chars(union(_ALNUM, more, _of("-"))), 0, 61)
    return w.sequence(edge, w.optional(w.sequence(inner, edge)))


def _plain_label(w: _Writer) -> NodeId:
    """A label of letters, digits and hyphens without hyphens in both its third and fourth place.

    Those with ``xn--`` stand for Unicode; they are read but not written.
    """
    edge, any_inner = w.chars(_ALNUM), w.chars(union(_ALNUM, _of("-")))
    rest = w.sequence(w.repeat(any_inner, 0, 59), edge)  # behind the first three
    hyphen_third = w.sequence(
        edge, any_inner, w.text("-"), w.sequence(edge, w.optional(w.sequence(w.repeat(any_inner, 0, 58), edge)))
    )
    return w.either(edge, w.sequence(edge, edge), w.sequence(edge, any_inner, edge, w.optional(rest)), hyphen_third)


def _hostname(w: _Writer) -> NodeId:
    label = _label(w) if w.every else _plain_label(w)
    return w.sequence(label, w.repeat(w.sequence(w.text("."), label), 0))


def _idn_hostname(w: _Writer) -> NodeId:
    separators = _of("\u3002\uff0e\uff61")
    beyond = difference(ANY, union(((0, 0x7F),), separators))
    label = _label(w, beyond) if w.every else _plain_label(w)
    dot = w.chars(union(separators, _of("."))) if w.every else w.text(".")
    return w.sequence(label, w.repeat(w.sequence(dot, label), 0))


def _any_hostname(w: _Writer) -> NodeId:
    label = _label(w)
    return w.sequence(label, w.repeat(w.sequence(w.text("."), label), 0))


def _mailbox(w: _Writer, more: Charset = ()) -> NodeId:
    atom = w.repeat(w.chars(union(_ALNUM, _of("!#$%&'*+-/=?^_`{|}~"), more)), 1)
    dot = w.text(".")
    local = w.sequence(atom, w.repeat(w.sequence(dot, atom), 0))
    label = _label(w, more)
    domain = w.sequence(label, w.repeat(w.sequence(dot, label), 0))
    if w.every:  # quoted strings and address literals are read, but not written
        plain = w.chars(union(((0x20, 0x21), (0x23, 0x5B), (0x5D, 0x7E)), more))
        pair = w.sequence(w.text("\\"), w.chars(((0x20, 0x7E),)))
        local = w.either(local, w.sequence(w.text('"'), w.repeat(w.either(plain, pair), 0), w.text('"')))
        address = w.either(_ipv4(w), w.sequence(w.text("IPv6:"), _ipv6(w)))
        domain = w.either(domain, w.sequence(w.text("["), address, w.text("]")))
    return w.sequence(local, w.text("@"), domain)


def _email(w: _Writer) -> NodeId:
    return _mailbox(w)


def _idn_email(w: _Writer) -> NodeId:
    return _mailbox(w, difference(ANY, ((0, 0x7F),)))


_UNRESERVED = union(_ALNUM, _of("-._~"))
_SUB_DELIMITERS = _of("!$&'()*+,;=")


_UCS: Charset = from_ranges(
    (
        *((0xA0, 0xD7FF), (0xF900, 0xFDCF), (0xFDF0, 0xFFEF)),
        *((plane << 16, (plane << 16) + 0xFFFD) for plane in range(1, 14)),
        (0xE1000, 0xEFFFD),
    )
)
"""``ucschar`` of RFC 3987; planes 1 to 13 whole but for their last two."""
_PRIVATE: Charset = ((0xE000, 0xF8FF), (0xF0000, 0xFFFFD), (0x100000, 0x10FFFD))


def _uri_parts(w: _Writer, more_members: Charset = (), more_in_query: Charset = ()) -> tuple[NodeId, ...]:
    """scheme and colon; //authority with path; absolute, rootless and colon-less path; query and fragment."""
    percent = w.sequence(w.text("%"), w.repeat(w.chars(_HEX), 2, 2))

    def run(extra: str, minimum: int = 0, besides: Charset = ()) -> NodeId:
        members = union(_UNRESERVED, _SUB_DELIMITERS, more_members, besides, _of(extra) if extra else ())
        return w.repeat(w.either(w.chars(members), percent), minimum)

    scheme = w.sequence(w.chars(_ALPHA), w.repeat(w.chars(union(_ALNUM, _of("+-."))), 0), w.text(":"))
    segment = run(":@")
    more = w.repeat(w.sequence(w.text("/"), segment), 0)
    future = w.sequence(
        w.chars(_of("vV")),
        w.repeat(w.chars(_HEX), 1),
        w.text("."),
        w.repeat(w.chars(union(_UNRESERVED, _SUB_DELIMITERS, _of(":"))), 1),
    )
    literal_host = w.sequence(w.text("["), w.either(_ipv6(w), future), w.text("]"))
    host = w.either(literal_host, run(""))
    port = w.optional(w.sequence(w.text(":"), w.repeat(w.chars(_DIGIT), 0)))
    user = w.optional(w.sequence(run(":"), w.text("@")))
    authority = w.sequence(w.text("//"), user, host, port, more)
    rootless = w.sequence(run(":@", 1), more)
    absolute = w.sequence(w.text("/"), w.optional(rootless))
    colonless = w.sequence(run("@", 1), more)
    tail = run(":@/?")
    query = w.optional(w.sequence(w.text("?"), run(":@/?", besides=more_in_query)))
    fragment = w.optional(w.sequence(w.text("#"), tail))
    return scheme, authority, absolute, rootless, colonless, w.sequence(query, fragment)


def _uri(w: _Writer) -> NodeId:
    scheme, authority, absolute, rootless, _, tail = _uri_parts(w)
    return w.sequence(scheme, w.either(authority, absolute, rootless, w.builder.epsilon), tail)


def _uri_reference(w: _Writer) -> NodeId:
    _, authority, absolute, _, colonless, tail = _uri_parts(w)
    relative = w.sequence(w.either(authority, absolute, colonless, w.builder.epsilon), tail)
    return w.either(_uri(w), relative)


def _iri(w: _Writer) -> NodeId:
    scheme, authority, absolute, rootless, _, tail = _uri_parts(w, _UCS, _PRIVATE)
    return w.sequence(scheme, w.either(authority, absolute, rootless, w.builder.epsilon), tail)


def _iri_reference(w: _Writer) -> NodeId:
    _, authority, absolute, _, colonless, tail = _uri_parts(w, _UCS, _PRIVATE)
    relative = w.sequence(w.either(authority, absolute, colonless, w.builder.epsilon), tail)
    return w.either(_iri(w), relative)


def _uri_template(w: _Writer) -> NodeId:
    """RFC 6570: literals and expressions in braces."""
    percent = w.sequence(w.text("%"), w.repeat(w.chars(_HEX), 2, 2))
    plain: Charset = from_ranges(
        (
            *((0x21, 0x21), (0x23, 0x24), (0x26, 0x3B), (0x3D, 0x3D), (0x3F, 0x5B)),
            *((0x5D, 0x5D), (0x5F, 0x5F), (0x61, 0x7A), (0x7E, 0x7E)),
        )
    )
    literal = w.either(w.chars(union(plain, _UCS, _PRIVATE)), percent)
    letter = w.either(w.chars(union(_ALNUM, _of("_"))), percent)
    name = w.sequence(letter, w.repeat(w.sequence(w.optional(w.text(".")), letter), 0))
    prefix = w.sequence(w.text(":"), w.chars(((49, 57),)), w.repeat(w.chars(_DIGIT), 0, 3))
    variable = w.sequence(name, w.optional(w.either(prefix, w.text("*"))))
    listed = w.sequence(variable, w.repeat(w.sequence(w.text(","), variable), 0))
    expression = w.sequence(w.text("{"), w.optional(w.chars(_of("+#./;?&=,!@|"))), listed, w.text("}"))
    return w.repeat(w.either(literal, expression), 0)


def _relative_json_pointer(w: _Writer) -> NodeId:
    whole = w.either(w.text("0"), w.sequence(w.chars(((49, 57),)), w.repeat(w.chars(_DIGIT), 0)))
    return w.sequence(whole, w.either(w.text("#"), _json_pointer(w)))


def _json_pointer(w: _Writer) -> NodeId:
    token = w.either(w.chars(difference(ANY, _of("~/"))), w.texts("~0", "~1"))
    return w.repeat(w.sequence(w.text("/"), w.repeat(token, 0)), 0)


def _no_automaton(w: _Writer) -> NodeId:
    raise GrammarError("the format 'regex' is no finite automaton")


# -- the table ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Format:
    """An enforced format: how it is built and the lengths its strings have (``None``: without end)."""

    build: Callable[[_Writer], NodeId]
    shortest: int
    longest: int | None
    most: int | None = None
    """A length in code points that holds besides what is built."""
    check: Callable[[str], bool] | None = None
    """Tells members exactly, where what is built allows more (or is no automaton)."""


FORMATS: dict[str, Format] = {
    "date": Format(_date, 10, 10),
    "time": Format(_time, 9, None),
    "date-time": Format(_date_time, 20, None),
    "duration": Format(_duration, 3, None),
    "uuid": Format(_uuid, 36, 36),
    "ipv4": Format(_ipv4, 7, 15),
    "ipv6": Format(_ipv6, 2, 45),
    "email": Format(_email, 3, None),
    "idn-email": Format(_idn_email, 3, None),
    "hostname": Format(_hostname, 1, None, most=253, check=is_hostname),
    "idn-hostname": Format(_idn_hostname, 1, None, most=253, check=is_idn_hostname),
    "uri": Format(_uri, 2, None),
    "uri-reference": Format(_uri_reference, 0, None),
    "iri": Format(_iri, 2, None),
    "iri-reference": Format(_iri_reference, 0, None),
    "uri-template": Format(_uri_template, 0, None),
    "relative-json-pointer": Format(_relative_json_pointer, 1, None),
    "json-pointer": Format(_json_pointer, 0, None),
    "regex": Format(_no_automaton, 0, None, check=is_regex),
}
"""What is enforced."""

PIECES: dict[str, Format] = {
    "plain-time": Format(_plain_time, 9, None),
    "leap-time": Format(_leap_time, 9, None),
    "date-and-t": Format(_date_and_t, 11, 11),
    "hostname of RFC 1034": Format(_any_hostname, 1, None, most=253),
}
"""Parts of formats, and what some drafts mean by them."""
ALL_FORMATS = FORMATS | PIECES


def format_meant(name: str, draft: Draft) -> str:
    """What a name of a format stands for in a draft, as a key of ``ALL_FORMATS``."""
    return "hostname of RFC 1034" if name == "hostname" and draft <= Draft.DRAFT6 else name


def plain_format(builder: Builder, name: str, *, every: bool = True) -> NodeId:
    """All strings of the format (or piece) as they are; without ``every`` those that are written, not just read."""
    return ALL_FORMATS[name].build(_Writer(builder, every=every))
