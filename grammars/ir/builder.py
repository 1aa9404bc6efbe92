"""How front ends write the intermediate form: constructors that simplify as they build.

>>> builder = Builder()
>>> digit = builder.charset(((48, 57),))
>>> value = builder.declare_rule("value")
>>> nested = builder.sequence(builder.literal(b"("), builder.call(value), builder.literal(b")"))
>>> builder.define_rule(value, builder.alternation(builder.repeat(digit, 1), nested))
>>> ir = builder.finish(builder.call(value))
"""

from __future__ import annotations

from array import array
from collections.abc import Hashable, Iterable
from functools import lru_cache
from itertools import chain

import numpy as np

from ..errors import LimitExceeded
from ..limits import DEFAULT_LIMITS, Limits
from .charset import JSON_TEXT, Charset, contains
from .nodes import IR, OTHER_ELEMENT, UNBOUNDED, Int32Array, Kind, NodeId, Register, RegisterStep, RuleId
from .utf8 import Fragment, trim_fragment, utf8_fragment
from .verbatim import Verbatim, check_source

__all__ = ["Builder"]

_NEVER, _EPSILON, _LITERAL, _FRAGMENT = int(Kind.NEVER), int(Kind.EPSILON), int(Kind.LITERAL), int(Kind.FRAGMENT)
_SEQUENCE, _ALTERNATION, _REPEAT = int(Kind.SEQUENCE), int(Kind.ALTERNATION), int(Kind.REPEAT)
_CALL, _LITERALS, _JSON_STRINGS = int(Kind.CALL), int(Kind.LITERALS), int(Kind.JSON_STRINGS)
_GUARD, _REGISTER, _VERBATIM = int(Kind.GUARD), int(Kind.REGISTER), int(Kind.VERBATIM)
_SPECIAL, _LIMITED = int(Kind.SPECIAL), int(Kind.LIMITED)

MOST_FLATTENED = 4
"""A sequence in a sequence is taken apart, so that literals meet, only if short: a long one would be copied often."""


@lru_cache(maxsize=1024)
def _flat_edges(fragment: Fragment) -> array[int]:
    return array("i", chain.from_iterable(fragment[1]))


def _int32(words: array[int]) -> Int32Array:
    return np.frombuffer(words, np.int32).copy() if words else np.empty(0, np.int32)


class Builder:
    """Collects nodes and rules; :meth:`finish` freezes them. Equal nodes get equal ids.

    The constructors apply the laws that cost nothing: short sequences and alternations are flattened, ``epsilon``
    and ``never`` absorbed, doubled alternatives dropped, literals joined.
    """

    def __init__(self, *, limits: Limits = DEFAULT_LIMITS) -> None:
        self.limits = limits
        self._nodes = array("i", (_NEVER, 0, 0, 0, _EPSILON, 0, 0, 0))
        self._children = array("i")
        self._data = bytearray()
        self._fragments: list[Fragment] = []
        self._rules = array("i")
        self._rule_names: list[str] = []
        self._guards: dict[Hashable, int] = {}
        self._registers: list[Register] = []
        self._verbatims: dict[Verbatim, NodeId] = {}
        self._specials: dict[str | int, int] = {}
        self._known: dict[tuple[object, ...], NodeId] = {}
        self._literal_of: dict[NodeId, bytes] = {}
        self._parts_of: dict[NodeId, tuple[NodeId, ...]] = {}  # children of SEQUENCE, ALTERNATION and LITERALS nodes

    def copy(self) -> Builder:
        """An independent builder that starts with all of this one's nodes and rules (ids stay valid)."""
        other = Builder.__new__(Builder)
        other.limits = self.limits
        other._nodes = self._nodes[:]
        other._children = self._children[:]
        other._data = self._data[:]
        other._fragments = self._fragments.copy()
        other._rules = self._rules[:]
        other._rule_names = self._rule_names.copy()
        other._guards = self._guards.copy()
        other._registers = self._registers.copy()
        other._verbatims = self._verbatims.copy()
        other._specials = self._specials.copy()
        other._known = self._known.copy()
        other._literal_of = self._literal_of.copy()
        other._parts_of = self._parts_of.copy()
        return other

    # -- leaves -------------------------------------------------------------------------------------------------

    @property
    def never(self) -> NodeId:
        """Matches nothing."""
        return NodeId(0)

    @property
    def epsilon(self) -> NodeId:
        """Matches the empty text."""
        return NodeId(1)

    def text_ahead(self, characters: int) -> NodeId:
        """Matches the empty text, and promises that so many characters of JSON string text may follow, any of them.

        A promise makes token bitmasks quicker, and changes no language. What follows must come in the same sequence.
        ``UNBOUNDED`` for any number of characters, 0 for no promise.
        """
        return self._leaf(_EPSILON, characters, 0, 0) if characters else self.epsilon

    def literal(self, text: bytes | str) -> NodeId:
        """Exactly these bytes (a ``str`` as UTF-8)."""
        data = text.encode() if isinstance(text, str) else text
        if not data:
            return self.epsilon
        key = (_LITERAL, data)
        node = self._known.get(key)
        if node is None:
            node = self._add(key, _LITERAL, len(self._data), len(data), 0)
            self._data += data
            self._literal_of[node] = data
        return node

    def literals(self, texts: Iterable[bytes]) -> NodeId:
        """Any one of these texts; thousands are fine (they become a trie)."""
        distinct = sorted(set(texts))
        if len(distinct) > 1 and not distinct[0]:
            return self.alternation(self.epsilon, self.literals(distinct[1:]))
        nodes = tuple(self.literal(text) for text in distinct)
        if not nodes:
            return self.never
        if len(nodes) == 1:
            return nodes[0]
        return self._add_list(_LITERALS, nodes)

    def json_strings(self, texts: Iterable[str], *, every_spelling: bool = False, only_ascii: bool = False) -> NodeId:
        """A JSON string, quotes included, that means one of ``texts``; in its canonical spelling or in any.

        ``only_ascii``: characters beyond ASCII are written by number, as ``json.dumps`` does by default.
        """
        nodes = tuple(self.literal(text) for text in dict.fromkeys(texts))
        options = int(every_spelling) | 4 * int(only_ascii)
        return self._add_list(_JSON_STRINGS, nodes, options) if nodes else self.never

    def other_json_strings(
        self, texts: Iterable[str], *, every_spelling: bool = False, only_ascii: bool = False
    ) -> NodeId:
        """A JSON string, quotes included, that means none of ``texts``, however it is spelled."""
        nodes = tuple(self.literal(text) for text in dict.fromkeys(texts))
        return self._add_list(_JSON_STRINGS, nodes, 2 | int(every_spelling) | 4 * int(only_ascii))

    def charset(self, ranges: Charset) -> NodeId:
        """One character of the set, as UTF-8 (``ranges`` as :func:`grammars.ir.charset.from_ranges` makes them)."""
        if not ranges:
            return self.never
        if len(ranges) == 1 and ranges[0][0] == ranges[0][1]:
            return self.literal(chr(ranges[0][0]))
        key = (_FRAGMENT, ranges)
        node = self._known.get(key)
        if node is None:
            covers_text = len(ranges) < 64 and contains(ranges, JSON_TEXT)
            node = self._add(key, _FRAGMENT, len(self._fragments), int(covers_text), 0)
            self._fragments.append(utf8_fragment(ranges))
        return node

    def byte_range(self, low: int, high: int) -> NodeId:
        """One byte from ``low`` to ``high``, whatever it means as text."""
        return self.fragment((2, ((0, low, high, 1),)))

    def fragment(self, fragment: Fragment, *, covers_text: bool = False) -> NodeId:
        """A finite automaton over bytes, spliced in as it is (see :data:`grammars.ir.utf8.Fragment`).

        ``covers_text`` promises that it is one character, and any that may stand unescaped in a JSON string.
        """
        key = (_FRAGMENT, fragment, covers_text)
        node = self._known.get(key)
        if node is None:
            trimmed, may_be_empty = trim_fragment(fragment)
            if not trimmed[1]:
                return self.never
            node = self._add(key, _FRAGMENT, len(self._fragments), int(covers_text), int(may_be_empty))
            self._fragments.append(trimmed)
        return node

    def verbatim(self, verbatim: Verbatim) -> NodeId:
        """Any neighbouring units of a document, at least one; see :class:`grammars.ir.verbatim.Verbatim`.

        Raises :class:`~grammars.errors.SourceError` for a document that holds none.
        """
        node = self._verbatims.get(verbatim)
        if node is None:
            if verbatim.document is not None:
                check_source(verbatim.document, "verbatim: document")
            body = self._leaf(_VERBATIM, len(self._verbatims), 0, 0)
            node = self._verbatims[verbatim] = self.rule("verbatim", body)
        return node

    def special(self, token: str | int) -> NodeId:
        """Exactly one special token, by its name or id. It writes no text, and no text is read as one."""
        return self._leaf(_SPECIAL, self._specials.setdefault(token, len(self._specials)), 0, 0)

    def limited(self, fragment: Fragment, max_tokens: int) -> NodeId:
        """As :meth:`fragment`, but after ``max_tokens`` tokens that end inside it, only the shortest way out is left.

        For an automaton over whole characters of text; see :mod:`grammars.ir.private` for what counts.
        """
        if max_tokens < 1:
            raise ValueError(f"max_tokens: expected at least 1, got {max_tokens}")
        node = self.fragment(fragment)
        if self._nodes[4 * node] != _FRAGMENT:
            return node
        return self._leaf(_LIMITED, node, max_tokens, self._nodes[4 * node + 3])

    # -- combinations -------------------------------------------------------------------------------------------

    def sequence(self, *nodes: NodeId) -> NodeId:
        """One after the other."""
        parts: list[NodeId] = []
        literal_of, parts_of = self._literal_of, self._parts_of
        before: bytes | None = None  # the last part, if it is a literal
        for node in nodes:
            if node <= 1:
                if node == 0:
                    return node
                continue
            inner = parts_of.get(node)
            if inner is None or len(inner) > MOST_FLATTENED or self._nodes[4 * node] != _SEQUENCE:
                inner = (node,)
            data = literal_of.get(inner[0])
            if data is not None and before is not None:
                parts[-1] = self.literal(before + data)
                parts += inner[1:]
            else:
                parts += inner
            before = literal_of.get(parts[-1])
        if len(parts) > 1:
            return self._add_list(_SEQUENCE, tuple(parts))
        return parts[0] if parts else self.epsilon

    def alternation(self, *nodes: NodeId) -> NodeId:
        """Any one of them."""
        parts: dict[NodeId, None] = {}
        for node in nodes:
            if node == 0:
                continue
            inner = self._parts_of.get(node)
            if inner is not None and self._nodes[4 * node] != _SEQUENCE:
                parts.update(dict.fromkeys(inner))
            else:
                parts[node] = None
        if not parts:
            return self.never
        if len(parts) == 1:
            return next(iter(parts))
        if all(part in self._literal_of for part in parts):
            return self.literals(self._literal_of[part] for part in parts)
        return self._add_list(_ALTERNATION, tuple(parts))

    def optional(self, node: NodeId) -> NodeId:
        """The node or nothing."""
        return self.alternation(self.epsilon, node)

    def repeat(self, node: NodeId, minimum: int, maximum: int | None = None) -> NodeId:
        """The node ``minimum`` to ``maximum`` times, ``None``: without end."""
        if minimum < 0 or (maximum is not None and maximum < minimum):
            raise ValueError(f"repeat: expected 0 <= minimum <= maximum, got {minimum} and {maximum}")
        for bound in (minimum, maximum or 0):
            if bound > self.limits.max_repeat:
                raise LimitExceeded("max_repeat", self.limits.max_repeat, f"a repeat of {bound:,}")
        if maximum == 0 or node == 1:
            return self.epsilon
        if node == 0:
            return self.epsilon if minimum == 0 else node
        if minimum == maximum == 1:
            return node
        if minimum == 0 and maximum == 1:
            return self.optional(node)
        return self._leaf(_REPEAT, node, minimum, UNBOUNDED if maximum is None else maximum)

    # -- rules --------------------------------------------------------------------------------------------------

    def declare_rule(self, name: str) -> RuleId:
        """A rule to be defined later, so that it can call itself. The name is for people; it need not be unique."""
        rule = RuleId(len(self._rules))
        self._rules.append(-1)
        self._rule_names.append(name)
        return rule

    def define_rule(self, rule: RuleId, body: NodeId) -> None:
        """Give a declared rule its body, once."""
        if self._rules[rule] >= 0:
            raise ValueError(f"rule {self._rule_names[rule]!r} is already defined")
        self._rules[rule] = body

    def call(self, rule: RuleId) -> NodeId:
        """What the rule matches."""
        return self._leaf(_CALL, rule, 0, 0)

    def rule(self, name: str, body: NodeId) -> NodeId:
        """Declare, define and call at once."""
        rule = self.declare_rule(name)
        self.define_rule(rule, body)
        return self.call(rule)

    def guard(self, question: Hashable) -> NodeId:
        """The empty text, where a guard agrees with what was read so far.

        ``question`` says what the guard asks; equal questions are one guard. It is put behind a node whose texts a
        finite automaton cannot tell from others, such as an array whose items must differ.
        """
        return self._leaf(_GUARD, self._guards.setdefault(question, len(self._guards)), 0, 0)

    def declare_register(self, register: Register) -> int:
        """The id of a new register, for :meth:`register`."""
        self._registers.append(register)
        return len(self._registers) - 1

    def register(self, step: RegisterStep, register: int, element: int = OTHER_ELEMENT) -> NodeId:
        """The empty text, doing ``step`` to a register; every way from OPEN to CLOSE must stay within one rule.

        Two letters of three, in any order:

        >>> builder = Builder()
        >>> letters = builder.declare_register(Register(3, least=2, most=2))
        >>> def letter(index: int) -> NodeId:
        ...     test, add = (builder.register(step, letters, index) for step in (RegisterStep.TEST, RegisterStep.ADD))
        ...     return builder.sequence(test, builder.literal("abc"[index]), add)
        >>> some = builder.repeat(builder.alternation(*map(letter, range(3))), 0)
        >>> begin, end = (builder.register(step, letters) for step in (RegisterStep.OPEN, RegisterStep.CLOSE))
        >>> ir = builder.finish(builder.sequence(begin, some, end))
        """
        return self._leaf(_REGISTER, int(step), register, element)

    # -- the end ------------------------------------------------------------------------------------------------

    def finish(self, start: NodeId) -> IR:
        """Freeze what was built; ``start`` is what a whole text must match."""
        for rule, body in enumerate(self._rules):
            if body < 0:
                raise ValueError(f"rule {self._rule_names[rule]!r} is declared but not defined")
        offsets, states, edges = [0], array("i"), array("i")
        for fragment in self._fragments:
            states.append(fragment[0])
            edges += _flat_edges(fragment)
            offsets.append(len(edges) // 4)
        return IR(
            nodes=_int32(self._nodes).reshape(-1, 4),
            children=_int32(self._children),
            data=np.frombuffer(bytearray(self._data), np.uint8),
            fragments=np.array(offsets, np.int32),
            fragment_states=_int32(states),
            fragment_edges=_int32(edges).reshape(-1, 4),
            rules=_int32(self._rules),
            rule_names=tuple(self._rule_names),
            start=start,
            registers=tuple(self._registers),
            verbatims=tuple(self._verbatims),
            specials=tuple(self._specials),
            guards=tuple(self._guards),
        )

    # -- inside -------------------------------------------------------------------------------------------------

    def _leaf(self, kind: int, a: int, b: int, c: int) -> NodeId:
        key = (kind, a, b, c)
        node = self._known.get(key)
        return self._add(key, kind, a, b, c) if node is None else node

    def _add_list(self, kind: int, parts: tuple[NodeId, ...], options: int = 0) -> NodeId:
        key = (kind, parts, options)
        node = self._known.get(key)
        if node is None:
            node = self._add(key, kind, len(self._children), len(parts), options)
            self._children.extend(parts)
            if kind != _JSON_STRINGS:
                self._parts_of[node] = parts
        return node

    def _add(self, key: tuple[object, ...], kind: int, a: int, b: int, c: int) -> NodeId:
        node = NodeId(len(self._nodes) // 4)
        if node >= self.limits.max_nodes:
            raise LimitExceeded("max_nodes", self.limits.max_nodes, "the grammar")
        self._nodes.extend((kind, a, b, c))
        self._known[key] = node
        return node
