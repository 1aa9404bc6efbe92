"""Taking tokens and bytes where guards are asked on the way."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..automaton.memory import TRANSITIONS, Memory, words_of, wrap
from ..automaton.transitions import filtered_transition, guarded_target, run_to_guard
from ..guards.judge import Judge
from .pending import guards_of

__all__ = ["run_past_guards"]


def run_past_guards(
    memory: Memory, configuration: int, data: Memory, first: int, end: int, judge: Callable[[], Judge]
) -> int:
    """Take ``data[first:end]``, asking the guards on the way: a configuration, DEAD, or what is full.

    ``judge`` is called when it is first needed, and stands where ``data[first]`` begins.
    """
    stopped = wrap(np.empty(1, np.int32))
    whole, text = first, words_of(data)[first:end].astype(np.uint8).tobytes()
    begin = -1
    has_passed = False
    while True:
        configuration = run_to_guard(memory, configuration, data, first, end, stopped)
        at = int(stopped[0])
        if configuration < 0 or at == end:
            if configuration > 0 and begin > 0:
                judge().json_begins(begin)
            if configuration > 0 and has_passed:
                judge().passes.append(judge().num_pieces)
            return configuration
        ahead = text[: at + 1 - whole]
        code = int(memory[int(memory[TRANSITIONS]) + 256 * configuration + ahead[-1]])
        guards = guards_of(memory, code)
        denied = [guard for guard in guards if not judge().agrees(guard, ahead, begin)]
        if not judge().marks.isdisjoint(guards):
            begin = len(ahead)
        has_passed = has_passed or not judge().marks.issuperset(guards)
        if denied:
            configuration = filtered_transition(memory, configuration, ahead[-1], wrap(np.array(denied, np.int32)))
        else:
            configuration = guarded_target(memory, code)
        if configuration < 0:
            return configuration
        first = at + 1
