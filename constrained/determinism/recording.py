"""From a call and what was noted of its draws to a run record."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from constrained.loop import Request
from constrained.output_types import OutputType
from constrained.result import GenerationResult

from .bits import DIGEST_NAME
from .canonical import DIGEST, digest_of_bytes
from .fingerprints import describe_model, describe_numerics, describe_software, describe_tokenizer
from .record import RunRecord
from .trace import StepNote, StepObserver, Trace
from .wanted import describe

if TYPE_CHECKING:
    from constrained.api import Model
    from constrained.job import Job

__all__ = ["Asked", "Recording", "describe_step", "input_sections", "make_record"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a call asks for beside its request."""

    prompt: Any
    """A text, messages, or ``None`` where only ids are known."""
    chat: bool | None
    output_type: OutputType[Any] | None
    whitespace: str
    source: str | None
    processors: tuple[str, ...]
    """Names of the caller's own processors, in their order."""

    @classmethod
    def of_job(cls, prompt: Any, job: Job, *, chat: bool | None, whitespace: str) -> Asked:
        """Of a call of :meth:`constrained.Model.generate`."""
        return cls(
            prompt=_plain(prompt),
            chat=chat,
            output_type=job.output_type,
            whitespace=whitespace,
            source=job.source,
            processors=tuple(type(processor).__name__ for processor in job.processors),
        )


def _plain(prompt: Any) -> Any:
    """A prompt as a JSON value; ``None`` for messages that hold what JSON cannot say."""
    if isinstance(prompt, str):
        return prompt
    try:
        return json.loads(json.dumps([dict(message) for message in prompt], allow_nan=False))
    except (TypeError, ValueError):
        return None


class Recording:
    """Notes one call, and writes its record when it has a result."""

    def __init__(self, path: Path, model: Model, asked: Asked, request: Request, observer: StepObserver) -> None:
        self._path, self._model, self._asked, self._request = path, model, asked, request
        self._watch = observer.watch(request)

    def finish(self, result: GenerationResult) -> RunRecord:
        """Write the record of the last draw, which gave ``result``. Raises OSError where that cannot be."""
        traces = self._watch.traces
        trace = traces[-1] if traces else Trace.of_no_draw(self._request)
        record = make_record(self._model, self._asked, self._request, trace, result)
        record.write(self._path)
        return record


def make_record(
    model: Model, asked: Asked, request: Request, trace: Trace, result: GenerationResult, *, trust_cache: bool = True
) -> RunRecord:
    """The record of a draw that gave ``result``."""
    steps = trace.steps()
    sections = input_sections(model, asked, request, stream=trace.stream, trust_cache=trust_cache)
    kept = _kept(steps)
    watermark = None
    if result.watermark is not None and request.sampling.watermark is not None:
        watermark = {
            "scheme": result.watermark.scheme,
            "key_id": request.sampling.watermark.load_key().key_id,
            "fingerprint": result.watermark.fingerprint,
            "nonce": result.watermark.nonce,
        }
    forced = [position for position in range(len(result.token_ids)) if position not in kept]
    return RunRecord.seal(
        {
            **sections,
            "watermark": watermark,
            "steps": [describe_step(step, is_kept=kept.get(step.position) is step) for step in steps],
            "output": {
                "token_ids": list(result.token_ids),
                "forced": forced,
                "stop_reason": result.stop_reason,
                "complete": result.complete,
                "text_digest": digest_of_bytes([result.text.encode("utf-8", "surrogatepass")]),
                "rolled_back_tokens": result.usage.rolled_back_tokens,
            },
        }
    )


def _kept(steps: Sequence[StepNote]) -> dict[int, StepNote]:
    """Position -> the draw that stayed: a later one at a position or before it takes the others back."""
    kept: dict[int, StepNote] = {}
    for step in steps:
        while kept and next(reversed(kept)) >= step.position:
            kept.popitem()
        kept[step.position] = step
    return kept


def describe_step(step: StepNote, *, is_kept: bool = True) -> dict[str, Any]:
    """As records have it."""
    return {
        "position": step.position,
        "forced": list(step.forced),
        "allowed": step.num_allowed,
        "mask": f"{step.mask_digest:016x}",
        "logits": f"{step.logits_digest:016x}",
        "best": [list(pair) for pair in step.best],
        "token": step.token_id,
        "kept": is_kept,
    }


def input_sections(
    model: Model, asked: Asked, request: Request, *, stream: int, trust_cache: bool = True
) -> dict[str, Any]:
    """Everything of a record that is known before the first pass."""
    return {
        "software": describe_software(),
        "model": describe_model(model, trust_cache=trust_cache),
        "tokenizer": describe_tokenizer(model),
        "numerics": describe_numerics(model),
        "digests": {"steps": DIGEST_NAME, "files": DIGEST},
        "prompt": {"given": asked.prompt, "chat": asked.chat, "token_ids": list(request.prompt_ids)},
        "output_type": None if asked.output_type is None else describe(asked.output_type),
        "request": _describe_request(asked, request, stream),
    }


def _describe_request(asked: Asked, request: Request, stream: int) -> Mapping[str, Any]:
    sampling = request.sampling.model_dump(mode="json")
    return {
        "sampling": {**sampling, "logit_bias": {str(name): value for name, value in sampling["logit_bias"].items()}},
        "stream": stream,
        "max_tokens": request.max_tokens,
        "stop": list(request.stop),
        "whitespace": asked.whitespace,
        "source": asked.source,
        "forced": request.forced,
        "max_rolled_back_tokens": request.max_rolled_back_tokens,
        "on_budget": request.on_budget,
        "time_budget": request.time_budget,
        "drafts": request.drafts,
        "processors": list(asked.processors),
    }
