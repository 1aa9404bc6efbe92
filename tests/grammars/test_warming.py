"""Machine code made ahead is all that is needed, and lies on disk for other processes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from grammars.automaton.words import mix
from grammars.jit import CHECKED

USE_EVERYTHING = """
from numba.core import dispatcher, event
import grammars
from tests.grammars.automaton import test_machine, test_registers
from tests.grammars.masks import test_batch, test_guards, test_spelling

grammars.warm_up()
compiled = []

class Listener(event.Listener):
    def on_start(self, event):
        compiled.append((event.data["dispatcher"].py_func.__qualname__, event.data["args"]))

    def on_end(self, event):
        pass

event.register("numba:compile", Listener())
def use_everything():
    test_batch.test_threads_change_no_bit(2, grammars.Limits(max_configurations=40, max_cached_masks=5))
    test_guards.test_a_guard_that_agrees_changes_nothing(test_guards.TIGHT)
    test_guards.test_a_guard_that_denies_is_the_grammar_without_its_rule()
    test_spelling.test_a_way_round_is_found()
    test_machine.test_ways_without_an_end_are_not_entered()
    test_registers.test_batches_carry_registers_to_other_machines()

use_everything()
assert not compiled, compiled
slow = []
find = dispatcher._DispatcherBase._compile_for_args

def find_slowly(self, *arguments, **options):
    slow.append((self.py_func.__qualname__, list(map(type, arguments))))
    return find(self, *arguments, **options)

dispatcher._DispatcherBase._compile_for_args = find_slowly
use_everything()
assert not slow, slow
"""


@pytest.mark.skipif(CHECKED, reason="nothing is compiled in the checked mode")
def test_nothing_is_left_to_compile_after_warm_up() -> None:
    """And every call finds its kernel at once, as it does not with numpy's integers for arguments."""
    root = Path(__file__).parents[2]
    paths = os.pathsep.join([str(root), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, "-W", "error", "-c", USE_EVERYTHING]
    done = subprocess.run(command, env={**os.environ, "PYTHONPATH": paths}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(CHECKED, reason="nothing is compiled in the checked mode")
def test_what_only_kernels_call_refuses_to_be_called() -> None:
    with pytest.raises(TypeError, match="mix is called by kernels only"):
        mix(1, 2)
