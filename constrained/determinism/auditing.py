"""The whole audit: torch's operations, the model in invariant mode, and the same weights by torch beside it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from constrained.loop import Engine
from constrained.model.config import LlamaConfig
from constrained.model.gguf_file import GGUFFile
from constrained.model.sources import LoadedModel, load_model
from constrained.model.weights import SafetensorsFolder, build_model

from .audit import ModelAudit, audit_model
from .operations import OperationAudit, audit_operations

__all__ = ["Audit", "audit_all"]


@dataclass(frozen=True, slots=True)
class Audit:
    """All that was found."""

    operations: tuple[OperationAudit, ...]
    invariant: ModelAudit
    native: ModelAudit | None
    """The same by torch; ``None`` where weights are held in a way that torch has not."""

    def to_dict(self) -> dict[str, Any]:
        """As plain values, ready for JSON."""
        return {
            "operations": [operation.to_dict() for operation in self.operations],
            "invariant": self.invariant.to_dict(),
            "native": None if self.native is None else self.native.to_dict(),
        }


def audit_all(
    source: str | Path | None = None,
    *,
    weights: str = "auto",
    threads: Sequence[int] = (1, 2),
    num_tokens: int = 32,
    progress: Callable[[str], None] | None = None,
) -> Audit:
    """Load a model, as :func:`constrained.load` does, on the CPU, and try it."""
    say = progress or (lambda _line: None)
    loaded = load_model(source, device="cpu", weights=weights, numerics="invariant", progress=progress)
    config: LlamaConfig = loaded.model.config
    say("trying torch's operations")
    operations = tuple(audit_operations(config))
    say("trying the model in invariant mode")
    invariant = _tried(loaded, loaded.model, threads, num_tokens)
    dtype = {"fp32": torch.float32, "bf16": torch.bfloat16}.get(str(getattr(loaded.model, "weights", "")))
    if dtype is None or loaded.origin is None:
        return Audit(operations, invariant, None)
    say("trying the same weights by torch")
    path = loaded.origin.path
    checkpoint = GGUFFile(path) if loaded.origin.kind == "gguf" else SafetensorsFolder(path)
    native = build_model(config, checkpoint, device=torch.device("cpu"), dtype=dtype)
    return Audit(operations, invariant, _tried(loaded, native, threads, num_tokens))


def _tried(loaded: LoadedModel, model: Any, threads: Sequence[int], num_tokens: int) -> ModelAudit:
    engine = Engine.from_model(model, loaded.tokenizer)
    return audit_model(engine, num_tokens=num_tokens, threads=threads)
