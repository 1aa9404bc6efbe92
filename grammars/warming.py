"""Compiles every kernel ahead of time. Machine code is kept on disk: once after an install or upgrade is enough.

>>> warm_up()
"""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import numpy as np

from .automaton.machine import Machine
from .automaton.memory import (
    END_EDGE,
    FINAL,
    FIRST_EDGE,
    FULL_CONFIGURATIONS,
    FULL_MASKS,
    STATE_FLAGS,
    STATE_WORDS,
    wrap,
)
from .automaton.network import Network, build_network
from .automaton.pack import finish_states
from .automaton.transitions import forced_bytes, run_bytes
from .compile import compile_ir, compile_json_schema, compile_regex
from .frontends.json_schema import lower_json_schema
from .guards import DistinctItems
from .ir import IR, Builder
from .jit import is_compiled
from .limits import DEFAULT_LIMITS, Limits
from .masks.batch import BatchFiller
from .masks.walk import consume_token, fill_bitmask
from .vocabulary import Vocabulary
from .vocabulary.bitmask import allocate_token_bitmask

__all__ = ["is_warm", "warm_up"]

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 40},
        "kinds": {"type": "array", "items": {"enum": ["a", "b"]}},
    },
    "required": ["name"],
}


def is_warm() -> bool:
    """Whether machine code for the kernels is on disk: else the first grammar takes seconds to compile."""
    return is_compiled(fill_bitmask) and is_compiled(finish_states)


def warm_up() -> None:
    """Run every kernel once, on grammars that between them need all of them.

    With nothing on disk yet, a second process compiles the kernels that build networks meanwhile.
    """
    other: subprocess.Popen[bytes] | None = None
    if not is_warm() and sys.executable and len(os.sched_getaffinity(0)) > 1:
        code = "from grammars.warming import warm_networks; warm_networks()"
        other = subprocess.Popen(
            [sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        )
    warm_machine()
    if other is not None and other.wait() != 0:
        raise RuntimeError(f"compiling kernels in a second process failed (exit status {other.returncode})")
    warm_networks()
    _exercise()


def warm_networks() -> None:
    """The kernels that turn an IR into a network."""
    build_network(lower_json_schema(SCHEMA, whitespace="any"))
    build_network(_nested())


def warm_machine() -> None:
    """The kernels that run a network, on one written by hand, ``a`` once, so that none that builds one is needed."""
    states = np.zeros((2, STATE_WORDS), np.int32)
    states[0, END_EDGE] = states[1, FIRST_EDGE] = states[1, END_EDGE] = 1
    states[1, STATE_FLAGS] = FINAL
    edges = np.array([[97 | 97 << 8, 1]], np.int32)
    none = np.empty((0, 4), np.int32)
    network = Network(states, edges, none[:, 0], none[:, :2], start=0, steps=none)
    vocabulary = Vocabulary.from_bytes([*(bytes([byte]) for byte in range(256)), None], eos_token_ids=[256])
    tables = wrap(vocabulary.tables)
    machine = Machine(network, (vocabulary.size + 31) // 32, DEFAULT_LIMITS)
    memory, bitmask = machine.memory, allocate_token_bitmask(1, vocabulary.size)
    fill_bitmask(memory, tables, machine.start, bitmask, 0)
    consume_token(memory, tables, machine.start, 97)
    forced_bytes(memory, machine.start, wrap(np.zeros(4, np.int32)))
    run_bytes(memory, machine.start, wrap(np.zeros(1, np.int32)), 0, 1)
    machine.make_room(FULL_CONFIGURATIONS)
    machine.make_room(FULL_MASKS)


def _exercise() -> None:
    """Everything through the public doors."""
    vocabulary = Vocabulary.from_bytes([*(bytes([byte]) for byte in range(256)), b"ab", None], eos_token_ids=[257])
    short = Vocabulary.from_bytes([b"a", b"ab", None], eos_token_ids=[2])
    compile_regex("a|ab", short).matcher().allowed_token_ids()
    for whitespace in ("indent=2", "any"):
        compiled = compile_json_schema(SCHEMA, vocabulary, whitespace=whitespace)
        matcher = compiled.matcher()
        matcher.forced_bytes()
        matcher.consume_bytes(b"{")
        bitmask = allocate_token_bitmask(8, vocabulary.size)
        with BatchFiller(threads=2) as filler:
            filler.fill([matcher, *(compiled.matcher() for _ in range(7))], bitmask)
    guarded = compile_ir(_guarded(), vocabulary).matcher()
    for byte in b"1,1":
        guarded.allowed_token_ids()
        guarded.consume(byte)
    guarded.allowed_token_ids()
    tight = compile_ir(_nested(), vocabulary, limits=Limits(max_configurations=40, max_cached_masks=2))
    matcher = tight.matcher()
    for byte in b"((((((a+a))))))" * 8:
        matcher.allowed_token_ids()
        if not matcher.try_consume([byte]):
            matcher.reset()


def _guarded() -> IR:
    """Numbers of one or two digits that must differ."""
    builder = Builder(limits=DEFAULT_LIMITS)
    number = builder.repeat(builder.charset(((48, 57),)), 1, 2)
    item = builder.sequence(number, builder.guard(DistinctItems()))
    return builder.finish(builder.sequence(item, builder.repeat(builder.sequence(builder.literal(","), item), 0)))


def _nested() -> IR:
    """e = e "+" e | "a" | "(" e ")" | a rule without an end: left recursion, unions of stacks, an unproductive part."""
    builder = Builder(limits=DEFAULT_LIMITS)
    rule, endless = builder.declare_rule("e"), builder.declare_rule("endless")
    e = builder.call(rule)
    builder.define_rule(endless, builder.sequence(builder.literal("a"), builder.call(endless)))
    sums = builder.sequence(e, builder.literal("+"), e)
    brackets = builder.sequence(builder.literal("("), e, builder.literal(")"))
    builder.define_rule(rule, builder.alternation(sums, builder.literal("a"), brackets, builder.call(endless)))
    return builder.finish(e)
