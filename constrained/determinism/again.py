"""Loading the model that a record names."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from constrained.errors import RecordRefused

from .record import RunRecord

if TYPE_CHECKING:
    from constrained.api import Model

__all__ = ["load_arguments", "load_recorded"]


def load_arguments(record: RunRecord, *, source: str | None = None, **changes: Any) -> dict[str, Any]:
    """The arguments of :func:`constrained.load` for the model of a record; ``source`` and ``changes`` replace some.

    Raises :class:`~constrained.errors.RecordRefused` for a model that was made in memory.
    """
    model, numerics = record.document["model"], record.document["numerics"]
    if source is None:
        source = _source_of(model)
    arguments = {
        "source": source,
        "device": numerics["device"],
        "weights": _KINDS.get(numerics["weights"], numerics["weights"]),
        "numerics": numerics["mode"] if numerics["device"] == "cpu" else "native",
        "threads": numerics["threads"],
    }
    return arguments | {name: value for name, value in changes.items() if value is not None}


_KINDS = {"float32": "fp32", "bfloat16": "bf16"}


def _source_of(model: dict[str, Any]) -> str | None:
    origin = model["origin"]
    if origin is None:
        raise RecordRefused(
            f"the record is of a model that was made in memory ({model['name']}), so there is nothing to load; name "
            "one (--model), or pass the model from Python: constrained.determinism.replay(record, model)"
        )
    if origin["kind"] == "default":
        return None
    if origin["kind"] == "hub":
        name = origin["hub_id"].partition("@")[0]
        return f"{name}@{origin['revision']}" if origin["revision"] else name
    return str(origin["path"])


def load_recorded(record: RunRecord, *, progress: Callable[[str], None] | None = None, **changes: Any) -> Model:
    """The model of a record, loaded again: see :func:`load_arguments` and :func:`constrained.load`."""
    from constrained.api import load

    return load(progress=progress, **load_arguments(record, **changes))
