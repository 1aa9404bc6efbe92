"""One step: the pass over what is pending, the masks made meanwhile, and the draw."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import torch
from numpy.typing import NDArray

from constrained.errors import LogitsError, NoTokenAllowed
from constrained.loop.engine import Engine
from constrained.loop.prefill import chunk_size, keep_prefix, open_cache
from constrained.loop.roll_back import go_back, is_stuck
from constrained.loop.row import Row
from constrained.processors import Pipeline, StepContext

__all__ = ["draw", "forward"]

_MOST_PENDING = 32  # of any row, for drafts to go with a pass: they need logits of every position in it
_MOST_DRAFTED = 16  # of all rows together: beyond so many, a pass waits for its arithmetic and no longer for memory


def forward(engine: Engine, rows: Sequence[Row]) -> None:
    """Launch one pass over what ``rows`` have pending, a draft behind it; on an accelerator it runs on after this.

    A row that brought all it had pending has logits then, from which its next token can be drawn.
    """
    if not rows:
        return
    with _timed(rows):
        for row in rows:
            if row.cache is None:
                row.cache = open_cache(row)
        size = chunk_size(rows)
        if all(len(row.pending) <= _MOST_PENDING for row in rows):
            for row in rows:
                _add_draft(row, limit=_room_for_draft(engine, len(rows)))
        fed = [_take_pending(row, size) for row in rows]
        all_positions = any(row.ahead for row in rows)
        logits = engine.model.forward_rows(fed, [row.cache for row in rows], all_positions=all_positions)
        end = 0
        for row, ids in zip(rows, fed, strict=True):
            end += len(ids) if all_positions else 1
            if not row.pending:
                row.logits = logits[end - 1 - len(row.ahead) : end]  # (1 + draft, V)
                row.forward_passes += 1
            keep_prefix(row)


def _room_for_draft(engine: Engine, num_rows: int) -> int:
    """Most drafted tokens of one row. On an accelerator, rows share a pass only where each brings a single token."""
    if engine.model.device.type != "cpu" and num_rows > 1:
        return 0
    return _MOST_DRAFTED // num_rows


def _add_draft(row: Row, *, limit: int) -> None:
    if row.drafter is not None and limit > 0:
        row.ahead = row.drafter.propose(row, limit=limit)
        row.drafted_tokens += len(row.ahead)


def _take_pending(row: Row, size: int) -> list[int]:
    ids = row.pending[:size]
    del row.pending[:size]
    return ids + row.ahead


def draw(engine: Engine, pipeline: Pipeline, rows: Sequence[Row]) -> list[tuple[Row, int]]:
    """Draw the next token of each of ``rows``, which have logits.

    Those that turn out to have no way on go back instead, and those that no token can be drawn for end with an error.
    """
    with _timed(rows):
        bitmask = _fill_token_bitmask(engine, rows)  # (B, W), made while the pass runs
        ready = [place for place, row in enumerate(rows) if row.is_live and not _is_sent_back(row, bitmask[place])]
        if not ready:
            return []
        drawn = _sample(engine, pipeline, [rows[place] for place in ready], bitmask[ready])
    return [(rows[place], token_id) for place, token_id in zip(ready, drawn, strict=True) if token_id is not None]


def _fill_token_bitmask(engine: Engine, rows: Sequence[Row]) -> NDArray[np.int32]:
    """The masks of ``rows``, (B, ceil(V / 32)) int32."""
    bitmask = np.empty((len(rows), engine.free_bitmask.shape[0]), np.int32)
    for place, row in enumerate(rows):
        if row.matcher is None:
            bitmask[place] = engine.free_bitmask
        elif row.bitmask is not None:
            bitmask[place], row.bitmask = row.bitmask[0], None
        else:
            with row.on_its_own():
                row.fill(row.matcher, bitmask, place)
    return bitmask


def _is_sent_back(row: Row, words: NDArray[np.int32]) -> bool:
    """Whether a row has no way on, so that it goes back, for the next pass."""
    if is_stuck(words):
        with row.on_its_own():
            go_back(row)
        return True
    return False


def _sample(
    engine: Engine, pipeline: Pipeline, rows: Sequence[Row], bitmask: NDArray[np.int32]
) -> Sequence[int | None]:
    """A token for each row; ``None`` for one that none can be drawn for, and that has ended with the error."""
    try:
        firsts = [row.logits[:1] for row in rows if row.logits is not None]
        logits = firsts[0] if len(firsts) == 1 else torch.cat(firsts)  # (B, V)
        return pipeline.sample(_step_context(engine, rows, bitmask), logits)
    except (LogitsError, NoTokenAllowed) as error:
        if len(rows) == 1:
            rows[0].error = error
            return [None]
    alone = [_sample(engine, pipeline, [row], bitmask[place : place + 1]) for place, row in enumerate(rows)]
    return [token_id for (token_id,) in alone]


def _step_context(engine: Engine, rows: Sequence[Row], token_bitmask: NDArray[np.int32]) -> StepContext:
    """What the processors are told of this step."""
    return StepContext(
        vocab_size=engine.vocabulary.size,
        positions=tuple(len(row.output_ids) for row in rows),
        sampling=tuple(row.request.sampling for row in rows),
        streams=tuple(row.request.stream for row in rows),
        token_bitmask=token_bitmask,
        prompt_ids=tuple(row.request.prompt_ids for row in rows),
        output_ids=tuple(row.output_ids for row in rows),
        vocabulary=engine.vocabulary,
        records=tuple(row.record for row in rows),
    )


@contextmanager
def _timed(rows: Sequence[Row]) -> Iterator[None]:
    """Rows that share a step each take the whole of its time."""
    started = time.perf_counter()
    yield
    seconds = time.perf_counter() - started
    for row in rows:
        row.note_seconds(seconds)
