"""Nodes that match one character, as sets of code points."""

from __future__ import annotations

from typing import TypeAlias

from ...errors import RegexError
from ...ir.charset import ANY, Charset, complement, from_ranges, union
from .ast import AnyCharacter, CharacterClass, CharacterRange, ClassItem, Flags, Pattern, Property, Shorthand
from .casefold import ignore_case
from .classes import UnknownProperty, dot, shorthand, unicode_property

__all__ = ["CharacterNode", "character_variants", "node_charset"]

CharacterNode: TypeAlias = AnyCharacter | Shorthand | Property | CharacterClass


def character_variants(character: str, pattern: Pattern, flags: Flags) -> Charset:
    """The set that a literal character matches; empty for a surrogate, which no UTF-8 text holds."""
    single = from_ranges(((ord(character), ord(character)),))
    return ignore_case(single, pattern.dialect, flags) if flags & Flags.IGNORECASE else single


def node_charset(node: CharacterNode, pattern: Pattern, flags: Flags) -> Charset:
    """The set that a node of one character matches."""
    if isinstance(node, AnyCharacter):
        return dot(pattern.dialect, flags)
    if isinstance(node, CharacterClass):
        written = from_ranges((item.low, item.high) for item in node.items if isinstance(item, CharacterRange))
        if flags & Flags.IGNORECASE:
            written = ignore_case(written, pattern.dialect, flags)
        named = [_named(item, pattern, flags) for item in node.items if not isinstance(item, CharacterRange)]
        members = union(written, *named)
        return complement(members) if node.negated else members
    return _named(node, pattern, flags)


def _named(item: ClassItem, pattern: Pattern, flags: Flags) -> Charset:
    r"""A shorthand or property. For Python ``\W`` is closed under case; ECMAScript adds what matches its members."""
    if isinstance(item, Shorthand):
        members = shorthand(item.letter, pattern.dialect, flags)
        by_case = pattern.dialect == "ecma"
    else:
        assert isinstance(item, Property)
        members = _property(item, pattern)
        by_case = True
    if item.negated:
        members = complement(members)
    return ignore_case(members, pattern.dialect, flags) if by_case and flags & Flags.IGNORECASE else members


def _property(item: Property, pattern: Pattern) -> Charset:
    if item.value is None and item.name.lower() == "any":
        return ANY
    try:
        return unicode_property(item.name, item.value)
    except UnknownProperty as unknown:
        message = f"unknown Unicode property {unknown}: expected one such as L, Script=Greek or Emoji"
        raise RegexError(message, pattern.text, item.span.start) from None
