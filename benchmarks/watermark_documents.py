"""Documents of the real model under one schema, marked and unmarked, for ``benchmarks.watermark``; kept in a folder.

Rows with the same prompt run in lockstep, so that one pass serves all of them. What the grammar forces is written with
the tokens of the tokenizer, as ``constrained`` does by default; each token that is drawn is drawn by its pipeline.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch

from constrained import load
from constrained.api import Model
from constrained.loop.forced import consume_forced
from constrained.processors import RowRecord, StepContext, standard_pipeline
from constrained.sampling_config import SamplingConfig
from constrained.watermark import WatermarkConfig, WatermarkKey
from constrained.watermark.contexts import Marker

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 40},
        "category": {"enum": ["tools", "books", "clothing", "food", "furniture"]},
        "price": {"type": "number", "minimum": 1, "maximum": 999},
        "in_stock": {"type": "boolean"},
        "tags": {"type": "array", "items": {"type": "string", "maxLength": 16}, "minItems": 1, "maxItems": 3},
        "summary": {"type": "string", "maxLength": 200},
    },
    "required": ["name", "category", "price", "in_stock", "tags", "summary"],
    "additionalProperties": False,
}
_THINGS = (
    "a lamp", "a novel", "a winter coat", "a jar of honey", "an oak table", "a bicycle pump",
    "a chess set", "hiking boots", "a tea kettle", "a garden hose", "a cookbook", "a desk chair",
)  # fmt: skip
PROMPTS = tuple(f"Describe {thing} for the catalogue of a shop, as a JSON object." for thing in _THINGS)
MAX_TOKENS = 160
MODES = ("plain", "kgw", "gumbel")
_KEPT = 256


@dataclass(slots=True)
class _Row:
    matcher: Any
    record: RowRecord
    config: SamplingConfig
    stream: int
    prompt_ids: list[int]
    output_ids: list[int] = field(default_factory=list)
    queue: list[int] = field(default_factory=list)
    ended: bool = False


def key_of(mode: str, number: int) -> WatermarkKey:
    """The key of one document: each has its own, so that figures are means over keys."""
    return WatermarkKey.from_text(f"{MODES.index(mode):032x}{number:032x}")


def config_of(mode: str) -> WatermarkConfig | None:
    """How a mode marks; its keys are given to the rows directly."""
    if mode == "plain":
        return None
    return WatermarkConfig(scheme=mode, key_env="UNUSED", nonces=1)  # type: ignore[arg-type]


def make_documents(
    folder: Path, *, mode: str, count: int, batch_size: int = 20, say: Callable[[str], None] = print
) -> None:
    """Write ``count`` documents of a mode to ``folder``, unless they are there already."""
    path = folder / f"{mode}.json"
    if path.is_file() and len(json.loads(path.read_text())["documents"]) >= count:
        return
    model = load()
    grammar = model.compile(SCHEMA)
    documents: list[list[int]] = []
    choices: list[dict[str, Any]] = []
    started = time.perf_counter()
    for start in range(0, count, batch_size):
        numbers = range(start, min(start + batch_size, count))
        prompt_ids = model.tokenizer.chat_prompt(
            [{"role": "user", "content": PROMPTS[start // batch_size % len(PROMPTS)]}]
        )
        rows = [_new_row(mode, number, grammar, prompt_ids) for number in numbers]
        _run(model, rows, choices if mode == "plain" else None)
        documents += [row.output_ids for row in rows]
        say(f"{mode}: {len(documents)} documents, {time.perf_counter() - started:.0f} s")
        folder.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"documents": documents}))
        if choices:
            (folder / "choices.json").write_text(json.dumps(choices))


def _new_row(mode: str, number: int, grammar: Any, prompt_ids: list[int]) -> _Row:
    marks = config_of(mode)
    config = SamplingConfig(temperature=1.0, seed=1, watermark=marks)
    record = RowRecord()
    if marks is not None:
        schema_digest = digest_of_schema()
        marks = marks.model_copy(update={"schema_digest": schema_digest})
        record.marker = Marker(marks, key_of(mode, number), nonce=0)
    return _Row(grammar.matcher(), record, config, number, prompt_ids)


def digest_of_schema() -> str:
    """What a detector puts into every context for this schema."""
    from constrained.output_types import output_type_from

    return output_type_from(SCHEMA).digest


@torch.no_grad()
def _run(model: Model, rows: list[_Row], choices: list[dict[str, Any]] | None) -> None:
    """Generate all rows to their end."""
    engine, prompt_ids = model.engine, rows[0].prompt_ids
    cache = engine.model.new_cache(len(rows), len(prompt_ids) + MAX_TOKENS + 1)
    pipeline = standard_pipeline()
    logits = engine.model.forward(torch.tensor([prompt_ids] * len(rows)), cache)  # (B, V)
    for row in rows:
        row.queue = _forced(model, row)
    for _ in range(MAX_TOKENS):
        places = [place for place, row in enumerate(rows) if not row.ended and not row.queue]
        if places:
            drawn = _draw(model, pipeline, [rows[place] for place in places], logits[places], choices)
            for place, token_id in zip(places, drawn, strict=True):
                row = rows[place]
                row.matcher.consume(token_id)
                row.ended = token_id in engine.eos_token_ids
                row.queue = [] if row.ended else [token_id]
        inputs = []
        for row in rows:
            token_id = row.queue.pop(0) if row.queue else 0
            if not row.ended:
                row.output_ids.append(token_id)
                if not row.queue:
                    row.queue = _forced(model, row)
            inputs.append([token_id])
        if all(row.ended for row in rows):
            return
        logits = engine.model.forward(torch.tensor(inputs), cache)


def _forced(model: Model, row: _Row) -> list[int]:
    left = [*row.prompt_ids, *row.output_ids][-16:]
    return consume_forced(model.engine, row.matcher, left, mode="canonical", limit=MAX_TOKENS)


def _draw(
    model: Model, pipeline: Any, rows: list[_Row], logits: torch.Tensor, choices: list[dict[str, Any]] | None
) -> list[int]:
    vocabulary = model.engine.vocabulary
    bitmask = np.empty((len(rows), model.engine.free_bitmask.shape[0]), np.int32)
    for place, row in enumerate(rows):
        row.matcher.fill_next_token_bitmask(bitmask, place)
    context = StepContext(
        vocab_size=vocabulary.size,
        positions=tuple(len(row.output_ids) for row in rows),
        sampling=tuple(row.config for row in rows),
        streams=tuple(row.stream for row in rows),
        token_bitmask=bitmask,
        prompt_ids=tuple(row.prompt_ids for row in rows),
        output_ids=tuple(row.output_ids for row in rows),
        vocabulary=vocabulary,
        records=tuple(row.record for row in rows),
    )
    drawn: list[int] = pipeline.sample(context, logits)
    if choices is not None and len(choices) < 4000:
        choices += [choice for row in range(len(rows)) if (choice := _choice(context, rows, logits, row)) is not None]
    return drawn


def _choice(context: StepContext, rows: list[_Row], logits: torch.Tensor, row: int) -> dict[str, Any] | None:
    """The model's distribution over the best allowed tokens at a free position."""
    if not rows[row].record.notes[-1].is_free:
        return None
    bits = np.unpackbits(context.token_bitmask[row].view(np.uint8), bitorder="little")[: context.vocab_size]
    allowed = np.flatnonzero(bits)
    masked = logits[row, torch.from_numpy(allowed)].double().log_softmax(0)
    values, columns = masked.topk(min(_KEPT, len(allowed)))
    return {
        "ids": allowed[columns.numpy()].tolist(),
        "logprobs": [round(value, 4) for value in values.tolist()],
        "allowed": len(allowed),
    }
