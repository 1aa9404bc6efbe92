"""Networks: what the machine runs. States with byte edges, epsilon edges and calls to rules; some end a rule."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..errors import LimitExceeded, UnsatisfiableGrammar
from ..ir.analyze import analyze
from ..ir.nodes import IR, Int32Array, Register
from ..limits import DEFAULT_LIMITS, Limits
from .emit import emit
from .left_recursion import remove_left_recursion
from .measure import NUM_STATES, ONLY_TEXT_CHARACTER, measure
from .pack import pack
from .productive import drop_unproductive

__all__ = ["Network", "build_network"]


@dataclass(frozen=True, slots=True, eq=False)
class Network:
    """A recursive transition network over bytes, frozen.

    ``states`` (S, STATE_WORDS) index into ``byte_edges`` (E, 2: low | high << 8, target), ``epsilon_edges`` (P,) and
    ``call_edges`` (C, 2: first state of the rule, or -1 - step; return state or -1),
    ``steps`` (T, 4) are nodes of the IR: guards, and work on ``registers``; see :mod:`grammars.automaton.memory`.
    """

    states: Int32Array
    byte_edges: Int32Array
    epsilon_edges: Int32Array
    call_edges: Int32Array
    start: int
    steps: Int32Array
    registers: tuple[Register, ...] = ()
    num_guards: int = 0

    @property
    def num_states(self) -> int:
        """How many states."""
        return len(self.states)


def build_network(ir: IR, *, limits: Limits = DEFAULT_LIMITS) -> Network:
    """Compile an IR. Raises UnsatisfiableGrammar when no text matches, LimitExceeded when it would be too large."""
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
            edges, calls, rule_starts, flags, capacities, nullable
        )
        neutral = np.append(neutral, np.zeros(len(rule_starts) - len(neutral), np.bool_))
    states, byte_edges, epsilon_edges, call_edges = pack(edges, calls, rule_starts, capacities, flags, neutral)
    return Network(
        states,
        byte_edges,
        epsilon_edges,
        call_edges,
        start=int(rule_starts[len(ir.rules)]),
        steps=_number_steps(ir, call_edges),
        registers=ir.registers,
        num_guards=len(ir.guards),
    )


def _number_steps(ir: IR, call_edges: Int32Array) -> Int32Array:
    """Renumber the calls that are steps, from nodes of the IR to rows of the array returned."""
    is_step = call_edges[:, 0] < 0
    if not is_step.any():
        return np.empty((0, 4), np.int32)
    nodes, numbers = np.unique(-1 - call_edges[is_step, 0], return_inverse=True)
    call_edges[is_step, 0] = -1 - numbers
    return ir.nodes[nodes]
