"""The format ``regex``: regular expressions of ECMA-262 as a context-free grammar.

Patterns nest, so this is no finite automaton. What is taken is valid with the flag ``u`` or without it (annex B is not
taken). Some valid patterns are left out, for they depend on what stands far away: back-references, a second named
group, bounds of repetition and of ranges that a look at their first digits does not put in order.
"""

from __future__ import annotations

from collections.abc import Callable

from ...ir import Builder, NodeId
from ...ir.charset import ANY, Charset, difference, from_ranges, intersection, union

__all__ = ["regex_node"]

_DIGIT: Charset = ((48, 57),)
_HEX: Charset = from_ranges(((48, 57), (65, 70), (97, 102)))
_LETTER: Charset = from_ranges(((65, 90), (97, 122)))
_BEYOND_ASCII: Charset = difference(ANY, ((0, 0x7F),))
_CATEGORIES = (
    *("L", "Lu", "Ll", "Lt", "LC", "Lm", "Lo", "M", "Mn", "Mc", "Me", "N", "Nd", "Nl", "No", "P", "Pc", "Pd"),
    *(
        "Ps",
        "Pe",
        "Pi",
        "Pf",
        "Po",
        "S",
        "Sm",
        "Sc",
        "Sk",
        "So",
        "Z",
        "Zs",
        "Zl",
        "Zp",
        "C",
        "Cc",
        "Cf",
        "Cs",
        "Co",
        "Cn",
    ),
    *("Letter", "Uppercase_Letter", "Lowercase_Letter", "Mark", "Number", "Decimal_Number"),
    *("Punctuation", "Symbol", "Separator", "Other"),
)
_PROPERTIES = ("ASCII", "Alphabetic", "Any", "Assigned", "Emoji", "ID_Continue", "ID_Start", "Lowercase", "Uppercase")
_SCRIPTS = (
    *("Arabic", "Armenian", "Bengali", "Cyrillic", "Devanagari", "Ethiopic", "Georgian", "Greek", "Han", "Hangul"),
    *("Hebrew", "Hiragana", "Katakana", "Khmer", "Lao", "Latin", "Mongolian", "Tamil", "Thai", "Tibetan"),
)


def _of(text: str) -> Charset:
    return from_ranges((ord(character), ord(character)) for character in text)


_SYNTAX = _of("^$\\.*+?()[]{}|")
_PUNCTUATION = difference(((32, 126),), union(_DIGIT, _LETTER, _of("_")))
_RANGE_ASCII = difference(((32, 126),), _of("\\]-"))
_BLOCKS: tuple[tuple[int, int], ...] = (
    *((low, low + 31) for low in range(0x80, 0x100, 32)),
    *((low, low + 63) for low in range(0x100, 0x3400, 64)),
    *((0x3400, 0x4DFF), (0x4E00, 0xABFF), (0xAC00, 0xD7FF), (0xE000, 0xFFFF), (0x10000, 0x10FFFF)),
)


def regex_node(builder: Builder, characters: Callable[[Charset], NodeId]) -> NodeId:
    """All such patterns. ``characters`` writes one character of a set.

    >>> regex_node(Builder(), lambda members: 1) > 0
    True
    """
    return _Writer(builder, characters).pattern()


class _Writer:
    def __init__(self, builder: Builder, characters: Callable[[Charset], NodeId]) -> None:
        self.builder = builder
        self.chars = characters
        self.sequence = builder.sequence
        self.either = builder.alternation
        self.optional = builder.optional
        self.repeat = builder.repeat

    def text(self, text: str) -> NodeId:
        return self.sequence(*(self.chars(_of(character)) for character in text))

    def texts(self, *texts: str) -> NodeId:
        return self.either(*map(self.text, texts))

    def pattern(self) -> NodeId:
        builder = self.builder
        plain, naming = builder.declare_rule("regex"), builder.declare_rule("regex with a named group")
        quantifier = builder.rule("quantifier", self.quantifier())
        escape = builder.rule("escape", self.escape(in_class=False))
        group_class = builder.rule("class", self.character_class())
        single = self.either(self.chars(difference(ANY, _SYNTAX)), self.text("."), escape, group_class)
        opening = self.sequence(self.text("("), self.optional(self.text("?:")))
        looking = self.sequence(self.text("(?"), self.texts("=", "!", "<=", "<!"))
        close = self.text(")")
        edges = self.either(self.chars(_of("^$")), self.texts("\\b", "\\B"))
        inner, named = builder.call(plain), builder.call(naming)
        term = builder.rule(
            "term",
            self.either(
                self.sequence(self.either(single, self.sequence(opening, inner, close)), self.optional(quantifier)),
                self.sequence(looking, inner, close),
                edges,
            ),
        )
        first = self.chars(union(_LETTER, _of("$_")))
        name = self.sequence(first, self.repeat(self.chars(union(_LETTER, _DIGIT, _of("$_"))), 0))
        naming_group = self.sequence(self.text("(?<"), name, self.text(">"), inner, close)
        naming_term = self.either(
            self.sequence(self.either(naming_group, self.sequence(opening, named, close)), self.optional(quantifier)),
            self.sequence(looking, named, close),
        )
        bar = self.text("|")
        terms = self.repeat(term, 0)
        builder.define_rule(plain, self.sequence(terms, self.repeat(self.sequence(bar, terms), 0)))
        builder.define_rule(
            naming,
            self.sequence(
                self.repeat(self.sequence(terms, bar), 0),
                *(terms, naming_term, terms),
                self.repeat(self.sequence(bar, terms), 0),
            ),
        )
        return self.either(inner, named)

    # -- repetition ---------------------------------------------------------------------------------------------

    def quantifier(self) -> NodeId:
        digits = self.repeat(self.chars(_DIGIT), 1)
        counts = self.either(
            self.sequence(digits, self.optional(self.text(","))), *(self.in_order(size) for size in (1, 2, 3))
        )
        braces = self.sequence(self.text("{"), counts, self.text("}"))
        return self.sequence(self.either(self.chars(_of("*+?")), braces), self.optional(self.text("?")))

    def in_order(self, size: int) -> NodeId:
        """``n,m`` where n has so many digits, and no zero in front, and m is not less."""
        digit, nonzero, comma = self.chars(_DIGIT), self.chars(((49, 57),)), self.text(",")
        any_of_size = digit if size == 1 else self.sequence(nonzero, self.repeat(digit, size - 1, size - 1))
        longer = self.sequence(nonzero, self.repeat(digit, size, 5))
        ways = [self.sequence(any_of_size, comma, longer)]
        least = 0 if size == 1 else 10
        for prefix in range(least, 10 if size == 1 else 100):  # the first digits, two at most
            start = str(prefix)
            rest = self.repeat(digit, size - len(start), size - len(start))
            above = [self.text(start[:-1]) if start[:-1] else self.builder.epsilon, self.greater(int(start[-1])), rest]
            ways.append(self.sequence(self.text(start), rest, comma, *above))
            if len(start) == 2:
                above = [self.greater(int(start[0])), self.repeat(digit, size - 1, size - 1)]
                ways.append(self.sequence(self.text(start), rest, comma, *above))
            if len(start) == size:
                ways.append(self.sequence(self.text(start), comma, self.text(start)))
        return self.either(*ways)

    def greater(self, digit: int) -> NodeId:
        return self.chars(((49 + digit, 57),) if digit < 9 else ())

    # -- characters ---------------------------------------------------------------------------------------------

    def hexadecimal(self, count: int) -> NodeId:
        return self.repeat(self.chars(_HEX), count, count)

    def escape(self, *, in_class: bool) -> NodeId:
        """An escape outside of classes, or inside one."""
        zeros = self.repeat(self.text("0"), 0)
        code = self.either(
            self.sequence(zeros, self.repeat(self.chars(_HEX), 1, 5)),
            self.sequence(zeros, self.text("10"), self.hexadecimal(4)),
        )
        named = [f"{key}={name}" for key in ("Script", "sc", "Script_Extensions", "scx") for name in _SCRIPTS]
        named += [f"{key}={name}" for key in ("General_Category", "gc") for name in _CATEGORIES]
        properties = self.texts(*_CATEGORIES, *_PROPERTIES, *named)
        ways = [
            self.chars(_of("dDsSwWfnrtv" + ("b" if in_class else ""))),
            self.sequence(self.text("c"), self.chars(_LETTER)),
            self.sequence(self.text("x"), self.hexadecimal(2)),
            self.sequence(
                self.text("u"), self.either(self.hexadecimal(4), self.sequence(self.text("{"), code, self.text("}")))
            ),
            self.sequence(self.chars(_of("pP")), self.text("{"), properties, self.text("}")),
            self.chars(_PUNCTUATION),
        ]
        return self.sequence(self.text("\\"), self.either(*ways))

    def character_class(self) -> NodeId:
        hyphen = self.text("-")
        single = self.either(
            self.chars(difference(ANY, _of("\\]-"))), self.builder.rule("escape in a class", self.escape(in_class=True))
        )
        span = self.builder.rule("range", self.range())
        item = self.either(single, self.sequence(span, self.repeat(self.sequence(hyphen, single), 0, 1)))
        content = self.sequence(self.optional(hyphen), self.repeat(item, 0), self.optional(hyphen))
        return self.sequence(self.text("["), self.optional(self.text("^")), content, self.text("]"))

    def range(self) -> NodeId:
        """Two characters in order with a hyphen between them."""
        hyphen, escaped = self.text("-"), self.text("\\")
        beyond = self.chars(_BEYOND_ASCII)

        def ascii_from(code: int) -> NodeId:
            members: Charset = ((code, 126),)
            raw = self.chars(intersection(members, _RANGE_ASCII))
            return self.either(raw, self.sequence(escaped, self.chars(intersection(members, _PUNCTUATION))), beyond)

        ways = []
        for code in range(32, 127):
            here: Charset = ((code, code),)
            low = [self.chars(here)] if intersection(here, _RANGE_ASCII) else []
            if intersection(here, _PUNCTUATION):
                low.append(self.sequence(escaped, self.chars(here)))
            ways.append(self.sequence(self.either(*low), hyphen, ascii_from(code)))
        controls = self.sequence(escaped, self.chars(_of("tnvfr")))
        ways.append(self.sequence(controls, hyphen, ascii_from(32)))
        for low_end, high_end in _BLOCKS:
            behind = difference(ANY, ((0, high_end),))
            if behind:
                ways.append(self.sequence(self.chars(((low_end, high_end),)), hyphen, self.chars(behind)))
            block: Charset = ((low_end, high_end),)
            ways.append(self.sequence(self.chars(((low_end, low_end),)), hyphen, self.chars(block)))
        ways += [self.hex_range("x", 2), self.hex_range("u", 4)]
        return self.either(*ways)

    def hex_range(self, letter: str, size: int) -> NodeId:
        """Two escapes by ``size`` hexadecimal digits that one of their first two puts in order (or that are equal)."""
        start, between = self.text(f"\\{letter}"), self.text(f"-\\{letter}")
        ways = []
        for first in range(16):
            one = self.chars(_hex(first, first))
            rest = self.hexadecimal(size - 1)
            ways.append(self.sequence(one, rest, between, self.chars(_hex(first + 1, 15)), rest))
            for second in range(16):
                two, rest = self.chars(_hex(second, second)), self.hexadecimal(size - 2)
                above = self.chars(_hex(second if size == 2 else second + 1, 15))
                ways.append(self.sequence(one, two, rest, between, one, above, rest))
        if size == 4:  # the first plane's beginning, by one digit more
            zero, last = self.text("0"), self.hexadecimal(1)
            for pair in range(256):
                two, three = (self.chars(_hex(digit, digit)) for digit in divmod(pair, 16))
                above = self.chars(_hex(pair % 16 + 1, 15))
                ways.append(self.sequence(zero, two, three, last, between, zero, two, above, last))
        return self.sequence(start, self.either(*ways))


def _hex(low: int, high: int) -> Charset:
    digits = "0123456789abcdef"[low : high + 1]
    return _of(digits + digits.upper()) if digits else ()
