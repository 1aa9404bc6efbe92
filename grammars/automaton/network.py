"""Networks: what the machine runs. States with byte edges, epsilon edges and calls to rules; some end a rule."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ..errors import LimitExceeded, UnsatisfiableGrammar
from ..ir.analyze import analyze
from ..ir.nodes import IR, Int32Array, Kind, Register
from ..limits import DEFAULT_LIMITS, Limits
from .emit import emit
from .left_recursion import remove_left_recursion
from .measure import NUM_STATES, ONLY_TEXT_CHARACTER, measure
from .memory import END_CALL, END_EDGE, END_EPSILON, FINAL, FIRST_CALL, FIRST_EDGE, FIRST_EPSILON, STATE_FLAGS
from .pack import pack
from .productive import drop_unproductive
from .suffix_automaton import Documents, build_documents

__all__ = ["Network", "build_network"]

_NOTHING = np.empty(0, np.int32)


@dataclass(frozen=True, slots=True, eq=False)
class Network:
    """A recursive transition network over bytes, frozen.

    ``states`` (S, STATE_WORDS) index into ``byte_edges`` (E, 2: low | high << 8, target), ``epsilon_edges`` (P,) and
    ``call_edges`` (C, 2: first state of the rule, or -1 - step; return state or -1),
    ``steps`` (T, 4) are nodes of the IR: guards, and work on ``registers``; see :mod:`grammars.automaton.memory`.
    A call may also lead into a document: its states have numbers from S on (``verbatim_states`` and so on, see
    :class:`~.suffix_automaton.Documents`).
    """

    states: Int32Array
    byte_edges: Int32Array
    epsilon_edges: Int32Array
    call_edges: Int32Array
    start: int
    steps: Int32Array
    registers: tuple[Register, ...] = ()
    num_guards: int = 0
    verbatim_states: Int32Array = field(default_factory=lambda: _NOTHING)
    verbatim_edges: Int32Array = field(default_factory=lambda: _NOTHING)
    verbatim_roots: Int32Array = field(default_factory=lambda: _NOTHING)

    @property
    def num_states(self) -> int:
        """How many states, those of documents apart."""
        return len(self.states)

    @property
    def num_verbatim_states(self) -> int:
        """How many states of documents."""
        return max(len(self.verbatim_states) - 1, 0)


def build_network(ir: IR, *, limits: Limits = DEFAULT_LIMITS) -> Network:
    """Compile an IR. Raises UnsatisfiableGrammar when no text matches, LimitExceeded when it would be too large.

    SourceError where verbatim text has no document yet.
    """
    facts = analyze(ir)
    if not facts.productive[ir.start]:
        raise UnsatisfiableGrammar(
            "no text matches this grammar: every way through it leads to a part that matches nothing"
        )
    table = measure(ir, facts.reachable)
    num_states = int(table[-1, NUM_STATES])
    if num_states > limits.max_states:
        raise LimitExceeded("max_states", limits.max_states, f"the grammar needs {num_states:,} states")
    edges, calls, rule_starts, rule_bodies, capacities, flags = emit(ir, table, facts.reachable)
    if not facts.productive[ir.rules[facts.reachable]].all():
        edges, calls = drop_unproductive(edges, calls, rule_starts, flags)
    neutral = table[rule_bodies, ONLY_TEXT_CHARACTER] != 0
    neutral[len(ir.rules)] = False  # nobody calls the start
    if facts.left_recursive:
        nullable = facts.nullable[rule_bodies]
        edges, calls, rule_starts, flags, capacities = remove_left_recursion(
            edges, calls, rule_starts, flags, capacities, nullable, limits
        )
        neutral = np.append(neutral, np.zeros(len(rule_starts) - len(neutral), np.bool_))
    states, byte_edges, epsilon_edges, call_edges = pack(edges, calls, rule_starts, capacities, flags, neutral)
    documents = Documents(_NOTHING, _NOTHING, _NOTHING)
    if ir.verbatims:
        documents = _enter_documents(ir, states, call_edges, limits)
    return Network(
        states,
        byte_edges,
        epsilon_edges,
        call_edges,
        start=int(rule_starts[len(ir.rules)]),
        steps=_number_steps(ir, call_edges),
        registers=ir.registers,
        num_guards=len(ir.guards),
        verbatim_states=documents.states,
        verbatim_edges=documents.edges,
        verbatim_roots=documents.roots,
    )


def _enter_documents(ir: IR, states: Int32Array, call_edges: Int32Array, limits: Limits) -> Documents:
    """Build the documents in use, and let the calls that are VERBATIM nodes lead to their first states."""
    callees = call_edges[:, 0].tolist()
    rows = [row for row, callee in enumerate(callees) if callee < 0 and ir.nodes[-1 - callee, 0] == Kind.VERBATIM]
    verbatim_of = {row: int(ir.nodes[-1 - callees[row], 1]) for row in rows}
    used = sorted(set(verbatim_of.values()))
    if not used:
        return Documents(_NOTHING, _NOTHING, _NOTHING)
    documents = build_documents([ir.verbatims[verbatim] for verbatim in used], limits)
    roots = dict(zip(used, documents.roots.tolist(), strict=True))
    for row, verbatim in verbatim_of.items():
        back = states[call_edges[row, 1]]
        call_edges[row, 0] = len(states) + roots[verbatim]
        if back[STATE_FLAGS] & FINAL and not _goes_on(back):
            call_edges[row, 1] = -1
    return documents


def _goes_on(state: Int32Array) -> bool:
    ways = ((FIRST_EDGE, END_EDGE), (FIRST_EPSILON, END_EPSILON), (FIRST_CALL, END_CALL))
    return any(state[first] < state[end] for first, end in ways)


def _number_steps(ir: IR, call_edges: Int32Array) -> Int32Array:
    """Renumber the calls that are steps, from nodes of the IR to rows of the array returned."""
    is_step = call_edges[:, 0] < 0
    if not is_step.any():
        return np.empty((0, 4), np.int32)
    nodes, numbers = np.unique(-1 - call_edges[is_step, 0], return_inverse=True)
    call_edges[is_step, 0] = -1 - numbers
    return ir.nodes[nodes]
