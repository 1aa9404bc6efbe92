r"""The intermediate form as text that a person can read: EBNF in the notation of GBNF.

What GBNF has no notation for is written in angle brackets: ``<FF>`` and ``<80-BF>`` are single bytes, and
``<json string "a" | "b">`` is a JSON string by its meaning, ``<special token "<|end|>">`` one token of that name.
Without these, the text can be read back as GBNF.
"""

from __future__ import annotations

import re
from itertools import chain

from .charset import ANY, Charset, complement
from .nodes import IR, UNBOUNDED, Kind
from .regular import BYTES, Dfa, Nfa, bytes_from_text, equivalent, text_from_bytes

__all__ = ["character_class", "quoted", "to_ebnf"]

_ALTERNATION, _SEQUENCE, _ITEM = 0, 1, 2
"""How tightly a text holds together."""

_LONGEST_INLINE = 40
"""A text used in several places becomes a rule of its own if longer."""

_WIDTH = 100

_ESCAPES = {"\n": r"\n", "\r": r"\r", "\t": r"\t", "\\": r"\\"}


def to_ebnf(ir: IR) -> str:
    """All rules that the start reaches, the start as ``root`` in the first line.

    >>> from .builder import Builder
    >>> builder = Builder()
    >>> digit = builder.charset(((48, 57),))
    >>> value = builder.declare_rule("value")
    >>> nested = builder.sequence(builder.literal("("), builder.call(value), builder.literal(")"))
    >>> builder.define_rule(value, builder.alternation(builder.repeat(digit, 1), nested))
    >>> print(to_ebnf(builder.finish(builder.call(value))))
    root ::= [0-9]+ | "(" root ")"
    """
    return _Printer(ir).text()


def quoted(text: str) -> str:
    r"""A text as GBNF writes it.

    >>> print(quoted('a"\n'))
    "a\"\n"
    """
    return f'"{"".join(_escaped(character, chr(34)) for character in text)}"'


def character_class(members: Charset) -> str:
    """A set of characters as GBNF writes it.

    >>> character_class(((48, 57), (97, 97)))
    '[0-9a]'
    """
    if members == ANY:
        return "."
    negated = complement(members)
    is_short = len(negated) < len(members) and bool(negated)
    ranges = negated if is_short else members
    pieces = []
    for low, high in ranges:
        first, last = _escaped(chr(low), "]^-["), _escaped(chr(high), "]^-[")
        pieces.append(first if low == high else f"{first}{last}" if low + 1 == high else f"{first}-{last}")
    return f"[{'^' if is_short else ''}{''.join(pieces)}]"


def _escaped(character: str, special: str) -> str:
    if character in _ESCAPES:
        return _ESCAPES[character]
    if character in special:
        return "\\" + character
    if character.isprintable():
        return character
    code_point = ord(character)
    return f"\\x{code_point:02X}" if code_point < 256 else f"\\U{code_point:08X}"


class _Printer:
    def __init__(self, ir: IR) -> None:
        self.ir = ir
        self.nodes: list[list[int]] = ir.nodes.tolist()
        self.listed: list[int] = ir.children.tolist()
        self.rules: list[int] = ir.rules.tolist()
        self.reached: dict[int, None] = {}  # rules, in the order in which they are met
        self.uses = [0] * len(self.nodes)
        self._visit()
        kind, first = self.nodes[int(ir.start)][:2]
        self.root = first if kind == Kind.CALL else -1  # the rule that is the start
        self.taken = {"root"}
        self.names = {rule: "root" if rule == self.root else self.named(ir.rule_names[rule]) for rule in self.reached}
        self.shared: dict[int, str] = {}
        self.texts: dict[int, tuple[str, int]] = {}

    def children(self, node: int) -> list[int]:
        """The nodes below, calls not followed."""
        kind, first, second, _ = self.nodes[node]
        if kind in (Kind.SEQUENCE, Kind.ALTERNATION, Kind.LITERALS):
            return self.listed[first : first + second]
        return [first] if kind in (Kind.REPEAT, Kind.LIMITED) else []

    def _visit(self) -> None:
        """Count the uses of each node that the start reaches."""
        pending = [int(self.ir.start)]
        while pending:
            node = pending.pop()
            self.uses[node] += 1
            if self.uses[node] > 1:
                continue
            pending += reversed(self.children(node))
            kind, rule = self.nodes[node][:2]
            if kind == Kind.CALL and rule not in self.reached:
                self.reached[rule] = None
                pending.append(self.rules[rule])

    def named(self, name: str) -> str:
        """A name for GBNF, like the given one, that is not taken yet."""
        plain = re.sub(r"[^A-Za-z0-9_]+", "-", name).strip("-") or "rule"
        plain = f"r{plain}" if plain[0].isdigit() else plain
        result, count = plain, 1
        while result in self.taken:
            count += 1
            result = f"{plain}-{count}"
        self.taken.add(result)
        return result

    def text(self) -> str:
        for node, uses in enumerate(self.uses):  # children come before their parents
            if uses:
                self.texts[node] = self.write(node)
                if uses > 1 and len(self.texts[node][0]) > _LONGEST_INLINE and self.nodes[node][0] != Kind.CALL:
                    self.shared[node] = self.named(f"part-{node}")
        lines = [(self.names[rule], self.rules[rule]) for rule in self.reached]
        if self.root < 0:
            lines.insert(0, ("root", int(self.ir.start)))
        else:
            lines.sort(key=lambda line: line[0] != "root")
        written = [self.rule(name, self.inlined(node)) for name, node in lines]
        written += [self.rule(name, self.texts[node]) for node, name in self.shared.items()]
        return "\n".join(written)

    def inlined(self, node: int) -> tuple[str, int]:
        """The text of a node where it is used."""
        name = self.shared.get(node)
        return self.texts[node] if name is None else (name, _ITEM)

    def rule(self, name: str, body: tuple[str, int]) -> str:
        line = f"{name} ::= {body[0]}"
        if len(line) > _WIDTH and body[1] == _ALTERNATION:
            return f"{name} ::=\n    " + "\n  | ".join(_branches(body[0]))
        return line

    def part(self, node: int, level: int) -> str:
        text, own = self.inlined(node)
        return text if own >= level else f"({text})"

    def write(self, node: int) -> tuple[str, int]:
        kind, first, second, third = self.nodes[node]
        children = self.children(node)
        match Kind(kind):
            case Kind.NEVER:
                return "<nothing>", _ITEM
            case Kind.EPSILON:
                return '""', _ITEM
            case Kind.LITERAL:
                return _literal(self.ir.data[first : first + second].tobytes())
            case Kind.FRAGMENT:
                return self.fragment(first)
            case Kind.SEQUENCE:
                return " ".join(self.part(child, _SEQUENCE) for child in children), _SEQUENCE
            case Kind.ALTERNATION | Kind.LITERALS:
                return self.alternation(children)
            case Kind.REPEAT:
                return self.part(first, _ITEM) + _counts(second, third), _ITEM
            case Kind.CALL:
                return self.names[first], _ITEM
            case Kind.JSON_STRINGS:
                texts = " | ".join(self.texts_of(first, second))
                return f"<{'any other ' if third & 2 else ''}json string {texts}>", _ITEM
            case Kind.VERBATIM:
                verbatim = self.ir.verbatims[first]
                return f"<verbatim {verbatim.by} of the {'source' if verbatim.document is None else 'document'}>", _ITEM
            case Kind.SPECIAL:
                token = self.ir.specials[first]
                return f"<special token {quoted(token) if isinstance(token, str) else token}>", _ITEM
            case Kind.LIMITED:
                return f"<at most {second} tokens of {self.part(first, _ITEM)}>", _ITEM
            case other:
                return f"<{other.name.lower().replace('_', ' ')}>", _ITEM

    def texts_of(self, first: int, count: int) -> list[str]:
        nodes = [self.nodes[child] for child in self.listed[first : first + count]]
        data = self.ir.data
        return [_literal(data[a : a + b].tobytes())[0] if kind == Kind.LITERAL else '""' for kind, a, b, _ in nodes]

    def alternation(self, children: list[int]) -> tuple[str, int]:
        rest = [child for child in children if self.nodes[child][0] != Kind.EPSILON]
        if len(rest) == len(children):
            return " | ".join(self.part(child, _SEQUENCE) for child in children), _ALTERNATION
        if len(rest) == 1:
            return f"{self.part(rest[0], _ITEM)}?", _ITEM
        return f"({' | '.join(self.part(child, _SEQUENCE) for child in rest)})?", _ITEM

    def fragment(self, index: int) -> tuple[str, int]:
        """A class of characters, a range of bytes, or an automaton written out."""
        begin, end = self.ir.fragments[index : index + 2].tolist()
        edges: list[list[int]] = self.ir.fragment_edges[begin:end].tolist()
        if all(source == 0 and target == 1 and high < 128 for source, _, high, target in edges):
            return character_class(tuple(sorted((low, high) for _, low, high, _ in edges))), _ITEM
        nfa = Nfa(BYTES)
        for _ in range(int(self.ir.fragment_states[index])):
            nfa.add_state()
        for source, low, high, target in edges:
            if low > high:
                nfa.add_epsilon(source, target)
            else:
                nfa.add_edge(source, ((low, high),), target)
        nfa.starts.append(0)
        nfa.finals.add(1)
        return _automaton(nfa.determinise())


def _automaton(dfa: Dfa) -> tuple[str, int]:
    text = text_from_bytes(dfa)
    if equivalent(bytes_from_text(text), dfa):
        dfa, write = text, character_class
    else:
        write = _byte_class
    ways = dfa.edges()
    if len(ways) == 3 and not ways[2 if dfa.start == 1 else 1] and not dfa.accepting[dfa.start]:
        members = ways[dfa.start][0][1]
        return write(members), _ITEM
    states = (
        f"{'>' if state == dfa.start else ''}{state}{'!' if dfa.accepting[state] else ''} "
        + " ".join(f"{write(members)}{target}" for target, members in out)
        for state, out in enumerate(ways)
        if state
    )
    return f"<automaton {'; '.join(state.strip() for state in states)}>", _ITEM


def _byte_class(members: Charset) -> str:
    return "|".join(f"<{low:02X}>" if low == high else f"<{low:02X}-{high:02X}>" for low, high in members)


def _literal(data: bytes) -> tuple[str, int]:
    pieces = re.split(r"([\udc80-\udcff]+)", data.decode("utf-8", "surrogateescape"))
    texts = [
        [quoted(piece)] if index % 2 == 0 else [f"<{ord(one) - 0xDC00:02X}>" for one in piece]
        for index, piece in enumerate(pieces)
        if piece
    ]
    parts = list(chain.from_iterable(texts))
    return " ".join(parts), _ITEM if len(parts) == 1 else _SEQUENCE


def _counts(minimum: int, maximum: int) -> str:
    if maximum == UNBOUNDED:
        return {0: "*", 1: "+"}.get(minimum, f"{{{minimum},}}")
    return f"{{{minimum}}}" if minimum == maximum else f"{{{minimum},{maximum}}}"


def _branches(text: str) -> list[str]:
    """The branches of an alternation, at its own level."""
    result, start, depth = [], 0, 0
    for match in re.finditer(r'"(?:[^"\\]|\\.)*"|\[(?:[^\]\\]|\\.)*\]|<[^>]*>|[()]| \| ', text, re.DOTALL):
        if match[0] == "(":
            depth += 1
        elif match[0] == ")":
            depth -= 1
        elif match[0] == " | " and depth == 0:
            result.append(text[start : match.start()])
            start = match.end()
    return [*result, text[start:]]
