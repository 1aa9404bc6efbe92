"""How few tokens bring each state of a network to the end of its rule: an upper bound, with a text that shows it.

First the shortest way in bytes (Knuth's generalisation of Dijkstra's algorithm, Information Processing Letters 6,
1977), so that each state has one best move: a byte, a step without one, or a call. Then, along these moves, how few
tokens of the vocabulary write that text. A token may not reach over a call or the end of a rule here, which is what
makes the result a bound and not the least number; on the other hand, wherever the bound is n, some token leads to
where it is n - 1, so that whoever keeps below it always gets to an end.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush

import numpy as np
import numpy.typing as npt

from ..ir.private import LIMIT_BYTES
from .memory import (
    END_CALL,
    END_EDGE,
    END_EPSILON,
    FINAL,
    FIRST_CALL,
    FIRST_EDGE,
    FIRST_EPSILON,
    STATE_FLAGS,
    VERBATIM_MASK,
    VERBATIM_SHIFT,
)
from .network import Network

__all__ = ["NEVER", "Shortest", "shortest_ends"]

NEVER = 1 << 40
"""More tokens than any text has."""

_LONGEST_TOKEN = 24  # bytes; longer tokens are not looked for
_MOST_VISITS = (
    32  # of a state, on average, while the deepest stacks are sought; a grammar that nests without end has none
)


@dataclass(frozen=True, slots=True, eq=False)
class Shortest:
    """``tokens`` (S,) int64: from each state to the end of its rule, at most; :data:`NEVER` where none is known.

    ``most``: from any place that the network can come to, to the end of the text; ``None`` where it nests without end.
    """

    tokens: npt.NDArray[np.int64]
    most: int | None


def shortest_ends(network: Network, tokens: Collection[bytes]) -> Shortest:
    """Of a network without guards and registers, for a vocabulary of these ``tokens``."""
    edges = _Edges.from_network(network)
    needed = _in_tokens(edges, *_best_moves(edges), frozenset(tokens))
    return Shortest(np.array(needed, np.int64), _deepest(edges, needed, network.start))


@dataclass(frozen=True, slots=True)
class _Edges:
    """The edges of a network as lists: by source, and where they come from."""

    is_final: Sequence[bool]
    edges: Sequence[tuple[int, int, int]]  # source, byte or -1 for none, target
    calls: Sequence[tuple[int, int, int]]  # source, first state of the rule, return state or -1
    edges_to: Sequence[list[int]]  # inside limited text, those of the way out alone
    calls_to: Sequence[list[int]]  # calls of a rule by its first state, and by their return state

    @classmethod
    def from_network(cls, network: Network) -> _Edges:
        states, num_states = network.states, network.num_states
        everywhere = np.arange(num_states)
        sources = np.repeat(everywhere, states[:, END_EDGE] - states[:, FIRST_EDGE])
        lows = network.byte_edges[:, 0] & 0xFF
        leaves = np.isin(lows, LIMIT_BYTES)
        lows[leaves] = -1
        is_inside = set(sources[leaves].tolist())
        edges = list(zip(sources.tolist(), lows.tolist(), network.byte_edges[:, 1].tolist(), strict=True))
        sources = np.repeat(everywhere, states[:, END_EPSILON] - states[:, FIRST_EPSILON])
        edges += [
            (source, -1, target)
            for source, target in zip(sources.tolist(), network.epsilon_edges.tolist(), strict=True)
        ]
        sources = np.repeat(everywhere, states[:, END_CALL] - states[:, FIRST_CALL])
        callees, backs = network.call_edges.T.tolist() if len(network.call_edges) else ([], [])
        calls = list(zip(sources.tolist(), callees, backs, strict=True))
        is_final = ((states[:, STATE_FLAGS] & FINAL) != 0).tolist()
        for number in range(network.num_verbatim_states):  # those of documents come behind, as a machine has them
            first, end = network.verbatim_states[number].item(), network.verbatim_states[number + 1].item()
            is_final.append(bool(first & 1))
            for way in network.verbatim_edges[first >> 1 : end >> 1].tolist():
                edges.append((num_states + number, way >> VERBATIM_SHIFT, num_states + (way & VERBATIM_MASK)))
        edges_to: list[list[int]] = [[] for _ in is_final]
        for index, (source, byte, target) in enumerate(edges):
            if byte < 0 or source not in is_inside:
                edges_to[target].append(index)
        calls_to: list[list[int]] = [[] for _ in is_final]
        for index, (_, callee, back) in enumerate(calls):
            calls_to[callee].append(index)
            if back >= 0 and back != callee:
                calls_to[back].append(index)
        return cls(is_final, edges, calls, edges_to, calls_to)


_END = ("end", 0)
Move = tuple[str, int]
"""What to do first: ``end``, or ``edge`` or ``call`` with its index."""


def _best_moves(edges: _Edges) -> tuple[list[int], dict[int, Move]]:
    """The states in the order of their distances in bytes, and the first move of the shortest way from each."""
    distance: list[int] = [NEVER] * len(edges.is_final)
    moves: dict[int, Move] = {}
    order: list[int] = []
    settled = [False] * len(distance)
    heap: list[tuple[int, int]] = []

    def offer(state: int, length: int, move: Move) -> None:
        if length < distance[state]:
            distance[state] = length
            moves[state] = move
            heappush(heap, (length, state))

    for state, final in enumerate(edges.is_final):
        if final:
            offer(state, 0, _END)
    while heap:
        _, state = heappop(heap)
        if settled[state]:
            continue
        settled[state] = True
        order.append(state)
        for index in edges.edges_to[state]:
            source, byte, _ = edges.edges[index]
            offer(source, distance[state] + (byte >= 0), ("edge", index))
        for index in edges.calls_to[state]:
            source, callee, back = edges.calls[index]
            if settled[callee] and (back < 0 or settled[back]):
                offer(source, distance[callee] + (0 if back < 0 else distance[back]), ("call", index))
    return order, moves


def _in_tokens(edges: _Edges, order: Sequence[int], moves: dict[int, Move], tokens: frozenset[bytes]) -> list[int]:
    """How few tokens write the shortest text of each state, (S,): each move leads to a state that is known by then."""
    needed = [NEVER] * len(edges.is_final)
    for state in order:
        kind, index = moves[state]
        if kind == "end":
            needed[state] = 0
        elif kind == "call":
            _, callee, back = edges.calls[index]
            needed[state] = min(NEVER, needed[callee] + (0 if back < 0 else needed[back]))
        else:
            ends = _texts_ahead(edges, moves, state)
            needed[state] = min(
                (needed[end] + (text in tokens) for text, end in ends if not text or text in tokens), default=NEVER
            )
            needed[state] = min(NEVER, needed[state])
    return needed


def _texts_ahead(edges: _Edges, moves: dict[int, Move], state: int) -> Iterator[tuple[bytes, int]]:
    """Where the best moves lead, up to a call or the end of the rule, and the text on the way there."""
    text = b""
    while len(text) < _LONGEST_TOKEN and moves[state][0] == "edge":
        _, byte, state = edges.edges[moves[state][1]]
        if byte >= 0:
            text += bytes([byte])
        yield text, state
        if not text:
            return  # what is behind a step without a byte is known


def _deepest(edges: _Edges, needed: Sequence[int], start: int) -> int | None:
    """The most that is needed from anywhere, what is left of the rules around it included."""
    edges_from: list[list[int]] = [[] for _ in needed]
    for source, _, target in edges.edges:
        edges_from[source].append(target)
    calls_from: list[list[tuple[int, int]]] = [[] for _ in needed]
    for source, callee, back in edges.calls:
        calls_from[source].append((callee, back))
    around = {start: 0}  # of each state that can be come to: what is needed behind the end of its rule
    todo = deque([start])
    visits = _MOST_VISITS * len(needed)
    while todo:
        state = todo.popleft()
        visits -= 1
        if visits < 0:
            return None
        depth = around[state]
        after = [(target, depth) for target in edges_from[state]]
        for callee, back in calls_from[state]:
            after.append((callee, depth + (0 if back < 0 else needed[back])))
            if back >= 0:
                after.append((back, depth))
        for target, deep in after:
            if deep > around.get(target, -1):
                around[target] = deep
                todo.append(target)
    most = max(depth + needed[state] for state, depth in around.items())
    return most if most < NEVER else None
