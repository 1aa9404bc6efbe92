"""The plainest twin: all short texts of a grammar, by computing with sets of texts until nothing new comes."""

from __future__ import annotations

from collections.abc import Iterable

from grammars.ir import IR, Kind
from grammars.ir.nodes import UNBOUNDED

__all__ = ["language"]


def language(ir: IR, *, alphabet: bytes, max_length: int) -> frozenset[bytes]:
    """Every text of the language of at most ``max_length`` bytes, all of them in ``alphabet``."""
    texts: list[frozenset[bytes]] = [frozenset()] * len(ir.nodes)
    changed = True
    while changed:
        changed = False
        for node in range(len(texts)):
            known = frozenset(_texts(ir, node, texts, alphabet, max_length))
            changed |= known != texts[node]
            texts[node] = known
    return texts[int(ir.start)]


def _texts(ir: IR, node: int, texts: list[frozenset[bytes]], alphabet: bytes, max_length: int) -> Iterable[bytes]:
    kind, first, second, third = ir.nodes[node].tolist()
    listed = ir.children[first : first + second].tolist()
    match Kind(kind):
        case Kind.NEVER:
            return ()
        case Kind.EPSILON | Kind.GUARD:  # a guard is taken to agree
            return (b"",)
        case Kind.LITERAL:
            data = ir.data[first : first + second].tobytes()
            return (data,) if len(data) <= max_length and set(data) <= set(alphabet) else ()
        case Kind.FRAGMENT:
            return _of_fragment(ir, first, alphabet, max_length)
        case Kind.SEQUENCE:
            result: Iterable[bytes] = (b"",)
            for child in listed:
                result = _product(result, texts[child], max_length)
            return result
        case Kind.ALTERNATION | Kind.LITERALS:
            return {text for child in listed for text in texts[child]}
        case Kind.CALL:
            return texts[int(ir.rules[first])]
        case _:
            return _powers(texts[first], second, None if third == UNBOUNDED else third, max_length)


def _product(left: Iterable[bytes], right: Iterable[bytes], max_length: int) -> set[bytes]:
    return {one + other for one in left for other in right if len(one) + len(other) <= max_length}


def _powers(texts: frozenset[bytes], minimum: int, maximum: int | None, max_length: int) -> set[bytes]:
    power: set[bytes] = {b""}
    for _ in range(minimum):
        power = _product(power, texts, max_length)
    result, count = set(power), minimum
    while power and count != maximum:
        # Powers beyond the minimum only matter for what they add.
        power = _product(power, texts, max_length) - result
        result |= power
        count += 1
    return result


def _of_fragment(ir: IR, fragment: int, alphabet: bytes, max_length: int) -> set[bytes]:
    first, end = ir.fragments[fragment : fragment + 2].tolist()
    edges = ir.fragment_edges[first:end].tolist()
    reached = {(0, b"")}
    pending = [*reached]
    while pending:
        state, text = pending.pop()
        for source, low, high, target in edges:
            if source == state:
                bytes_read = (b"",) if low > high else [bytes((b,)) for b in alphabet if low <= b <= high]
                new = {(target, text + byte) for byte in bytes_read if len(text + byte) <= max_length} - reached
                reached |= new
                pending.extend(new)
    return {text for state, text in reached if state == 1}
