"""An IR as text that a person can read: what failing tests print."""

from __future__ import annotations

from grammars.ir import IR, Kind
from grammars.ir.nodes import UNBOUNDED

__all__ = ["show"]


def show(ir: IR) -> str:
    """The rules that the start reaches, and the start, one a line (each node's own text is put into its parents')."""
    texts = ["?"] * len(ir.nodes)
    for node in range(len(ir.nodes)):  # children come before their parents
        texts[node] = _one(ir, node, texts)
    lines = [f"{ir.rule_names[rule]} = {texts[body]}" for rule, body in enumerate(ir.rules.tolist())]
    return "\n".join([*lines, f"start = {texts[ir.start]}"])


def _one(ir: IR, node: int, texts: list[str]) -> str:
    kind, first, second, third = ir.nodes[node].tolist()
    listed = [texts[child] for child in ir.children[first : first + second].tolist()]
    match Kind(kind):
        case Kind.NEVER | Kind.EPSILON:
            return Kind(kind).name.lower()
        case Kind.LITERAL:
            return repr(ir.data[first : first + second].tobytes())[1:]
        case Kind.FRAGMENT:
            begin, end = ir.fragments[first : first + 2].tolist()
            edges = (f"{a}-{low:02x}..{high:02x}->{b}" for a, low, high, b in ir.fragment_edges[begin:end].tolist())
            return f"<{' '.join(edges)}>"
        case Kind.SEQUENCE:
            return " ".join(listed)
        case Kind.ALTERNATION | Kind.LITERALS:
            return f"({' | '.join(listed)})"
        case Kind.CALL:
            return str(ir.rule_names[first])
        case _:
            return f"({texts[first]}){{{second},{'' if third == UNBOUNDED else third}}}"
