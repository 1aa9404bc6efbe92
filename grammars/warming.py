"""Compiles every kernel ahead of time. Machine code is kept on disk: once after an install or upgrade is enough.

>>> warm_up()
"""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import numpy as np

from .automaton.collect import collect
from .automaton.network import build_network
from .automaton.pack import finish_states
from .automaton.productive import reach_end
from .automaton.suffix_automaton import build_documents
from .automaton.transfer import transfer
from .automaton.transitions import filtered_transition, forced_bytes, guarded_target, run_bytes, run_to_guard, start
from .automaton.verbatim import spread_writable
from .frontends.json_schema import lower_json_schema
from .ir import IR, Builder
from .ir.verbatim import Verbatim
from .jit import is_compiled, prepare
from .limits import DEFAULT_LIMITS
from .masks.batch import keep_bitmask, walk_rows
from .masks.limited import leave
from .masks.narrow import begin_narrowing, end_narrowing, walk_again
from .masks.pending import any_inside, find_place, list_odd, token_below
from .masks.walk import consume_agreed, consume_token, fill_bitmask, forget_masks, list_places
from .vocabulary import Vocabulary
from .vocabulary.trie import write_trie

__all__ = ["is_warm", "warm_up"]

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"name": {"type": "string", "maxLength": 40}, "kinds": {"type": "array", "items": {"enum": ["a"]}}},
    "required": ["name"],
}


def is_warm() -> bool:
    """Whether machine code for the kernels is on disk: else the first grammar takes seconds to compile."""
    return all(is_compiled(function) for function in (fill_bitmask, write_trie, finish_states, collect))


def warm_up() -> None:
    """Have machine code of every kernel at hand.

    With nothing on disk yet, a second process compiles half of them meanwhile.
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


def warm_machine() -> None:
    """The kernels that run a network and make bitmasks, and those that turn tokens into tables."""
    words, bitmask = np.zeros(1, np.int32), np.zeros((1, 1), np.int32)
    prepare(start, words)
    prepare(fill_bitmask, words, words, 0, bitmask, 0)
    prepare(consume_token, words, words, 0, 0)
    prepare(consume_agreed, words, words, 0, 0)
    prepare(run_bytes, words, 0, words, 0, 0)
    prepare(forced_bytes, words, 0, words)
    prepare(run_to_guard, words, 0, words, 0, 0, words)
    prepare(guarded_target, words, 0)
    prepare(filtered_transition, words, 0, 0, words)
    prepare(any_inside, words, 0, 0)
    prepare(token_below, words, 0)
    prepare(list_odd, words, words, 0, 0, False, words)
    prepare(find_place, words, words, 0, 0, words)
    prepare(begin_narrowing, words, 0)
    prepare(walk_again, words, words, 0, 0)
    prepare(end_narrowing, words, words, bitmask, 0)
    prepare(walk_rows, words, words, words, words, bitmask)
    prepare(keep_bitmask, words, 0, bitmask, 0)
    prepare(transfer, words, words, 0, words)
    prepare(forget_masks, words)
    prepare(list_places, words, words, 0)
    prepare(leave, words, 0, words, 0, 0)
    assert Vocabulary.from_bytes([b"a", b"b"], eos_token_ids=[]).tables.size


def warm_networks() -> None:
    """The kernels that turn an IR into a network, and those that few grammars need."""
    build_network(lower_json_schema(SCHEMA, whitespace="any"))
    build_network(_texts())
    build_documents([Verbatim("a", "characters", "plain")], DEFAULT_LIMITS)
    words, flags = np.zeros(1, np.int32), np.zeros(1, np.bool_)
    prepare(spread_writable, words, words, flags, flags)
    reach_end(flags, words, words, words, words, words)
    prepare(collect, words, words, words, words)


def _texts() -> IR:
    """One of two texts, as the front ends other than JSON Schema write them."""
    builder = Builder(limits=DEFAULT_LIMITS)
    return builder.finish(builder.alternation(builder.literal("a"), builder.literal("bc")))
