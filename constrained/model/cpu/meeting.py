"""Workers waiting for one another: nobody leaves before all have come."""

from __future__ import annotations

from typing import Any

from grammars.jit import CHECKED, inlined

__all__ = ["meet"]

_PATIENCE = 2000
"""Looks at the counter before a worker lets others have its core."""

if CHECKED:
    import threading
    import time

    _lock = threading.Lock()

    def _arrive(meeting: Any) -> int:
        with _lock:
            meeting[0] += 1
            return int(meeting[0])

    def _arrived(meeting: Any) -> int:
        return int(meeting[0])

    def _give_way() -> None:
        time.sleep(0)

else:
    from numba.core import types
    from numba.extending import intrinsic

    from .llvm import INDEX, WORD, call, data_of

    @intrinsic
    def _arrive(typing: Any, meeting: Any) -> Any:
        """Count one arrival; how many there are now."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            counter = data_of(context, builder, signature.args[0], arguments[0])
            return builder.add(builder.atomic_rmw("add", counter, INDEX(1), "seq_cst"), INDEX(1))

        return types.int64(meeting), generate

    @intrinsic
    def _arrived(typing: Any, meeting: Any) -> Any:
        """How many arrivals there were."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            counter = data_of(context, builder, signature.args[0], arguments[0])
            return builder.load_atomic(counter, "seq_cst", 8)

        return types.int64(meeting), generate

    @intrinsic
    def _give_way(typing: Any) -> Any:
        """Let other threads run (POSIX ``sched_yield``)."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            call(builder, "sched_yield", WORD)
            return context.get_dummy_value()

        return types.void(), generate


@inlined
def meet(meeting: Any, workers: int) -> None:
    """Wait until all ``workers`` are here, or ``meeting[1]`` says not to. ``meeting[0]`` counts all arrivals from 0."""
    if workers > 1:
        mine = _arrive(meeting)
        last = (mine + workers - 1) // workers * workers
        looks = 0
        while _arrived(meeting) < last and meeting[1] == 0:
            looks += 1
            if looks > _PATIENCE:
                _give_way()
