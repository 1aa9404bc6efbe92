"""What the checks have tried so far, for whoever wants to tell of it (the pytest plugin does)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

__all__ = ["Records", "note_check", "recording"]


@dataclass(slots=True)
class Records:
    """Counts by name of the check, and of what it counts."""

    counts: dict[str, dict[str, int]] = field(default_factory=dict)

    def lines(self) -> list[str]:
        """One line a check.

        >>> records = Records({"check_matcher": {"runs": 2, "walks": 40}})
        >>> records.lines()
        ['check_matcher: 2 runs, 40 walks']
        """
        return [
            f"{name}: {', '.join(f'{number:,} {what}' for what, number in counts.items())}"
            for name, counts in sorted(self.counts.items())
        ]


_RECORDS: ContextVar[Records | None] = ContextVar("constrained_testing_records", default=None)


def note_check(name: str, **numbers: int) -> None:
    """Count one run of a check, and what it tried, if anybody records it."""
    records = _RECORDS.get()
    if records is None:
        return
    counts = records.counts.setdefault(name, {"runs": 0})
    counts["runs"] += 1
    for what, number in numbers.items():
        counts[what] = counts.get(what, 0) + number


@contextmanager
def recording() -> Iterator[Records]:
    """Record what checks do within the block."""
    records = Records()
    token = _RECORDS.set(records)
    try:
        yield records
    finally:
        _RECORDS.reset(token)
