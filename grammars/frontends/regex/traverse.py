"""Recursion whose stack is a list, so that no depth of nesting can overflow the interpreter's."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, TypeVar

__all__ = ["Steps", "run"]

Result = TypeVar("Result")

Steps = Generator[Generator[Any, Any, Any], Any, Result]
"""A recursive function as a generator: it yields its recursive calls, gets their results, and returns its own."""


def run(steps: Steps[Result]) -> Result:
    """The result of a recursive function written as :data:`Steps`.

    >>> def depth(n: int) -> Steps[int]:
    ...     return 1 + (yield depth(n - 1)) if n else 0
    >>> run(depth(100_000))
    100000
    """
    stack: list[Generator[Any, Any, Any]] = [steps]
    value: Any = None
    while stack:
        try:
            called = stack[-1].send(value)
        except StopIteration as stop:
            stack.pop()
            value = stop.value
        else:
            stack.append(called)
            value = None
    return value  # type: ignore[no-any-return]
