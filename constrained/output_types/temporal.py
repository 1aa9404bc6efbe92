"""Dates with times as people write them, often without an offset from UTC.

The format ``date-time`` of JSON Schema demands an offset, so a model would have to invent one. Python's ``datetime``
and ``time`` do not; these patterns say what they take (ISO 8601, extended form).
"""

from __future__ import annotations

from typing import Any

__all__ = ["datetime_schema", "time_schema"]

_YEAR = r"(?:[1-9]\d{3}|0[1-9]\d{2}|00[1-9]\d|000[1-9])"
_LEAP_YEAR = r"(?:\d{2}(?:0[48]|[2468][048]|[13579][26])|(?:0[48]|[2468][048]|[13579][26])00)"
_MONTH_AND_DAY = (
    r"(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\d|3[01])|(?:0[469]|11)-(?:0[1-9]|[12]\d|30)|02-(?:0[1-9]|1\d|2[0-8]))"
)
_DATE = rf"(?:{_YEAR}-{_MONTH_AND_DAY}|{_LEAP_YEAR}-02-29)"
_TIME = r"(?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.\d{1,6})?)?"
_OFFSET = r"(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)"
_OFFSETS = {"aware": _OFFSET, "naive": "", None: f"{_OFFSET}?"}


def datetime_schema(*, offset: str | None = None) -> dict[str, Any]:
    """A date and a time; ``offset`` is "aware" (must have one), "naive" (must have none), or ``None`` (may)."""
    return {"type": "string", "pattern": f"^{_DATE}T{_TIME}{_OFFSETS[offset]}$"}


def time_schema(*, offset: str | None = None) -> dict[str, Any]:
    """A time of day; ``offset`` as in :func:`datetime_schema`."""
    return {"type": "string", "pattern": f"^{_TIME}{_OFFSETS[offset]}$"}
