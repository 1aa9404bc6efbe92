"""What is refused by default can be left out instead: the grammar then allows more, and its notes say what.

Leaving a keyword out of the schema would not do, for under a negation that allows less. So a part that nobody can tell
becomes one that anything passes, with a check that knows nothing: whatever negates it is then beyond telling too.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from ...errors import Note, Problem
from ...guards import ValidValue
from .shapes import FREE_ARRAY, FREE_NUMBER, FREE_OBJECT, FREE_STRING, Node

__all__ = ["UNKNOWN", "left_out_notes", "passes", "unknown", "unknown_node"]

UNKNOWN: dict[str, Any] = {"pattern": r"(.)\1"}
"""Stands for a schema that is not to be had: no automaton tells what it takes."""


def passes(value: Any) -> bool:
    """The check of what nobody can tell."""
    return True


def unknown(name: str) -> ValidValue:
    """A check that knows nothing."""
    return ValidValue(name, passes)


def unknown_node(problem: Problem) -> Node:
    """The node of :data:`UNKNOWN`: any value, if not for the problem."""
    return Node(
        True,
        3,
        (replace(FREE_NUMBER),),
        (replace(FREE_STRING),),
        (replace(FREE_ARRAY),),
        (replace(FREE_OBJECT),),
        (problem,),
        problem.pointer,
    )


def left_out_notes(problems: Iterable[Problem]) -> tuple[Note, ...]:
    """What was left out, each once, in order."""
    notes = {Note(one.pointer, one.keyword, f"left out, so that texts may break it: {one.reason}") for one in problems}
    return tuple(sorted(notes))
