"""What a result tells of its draws: the weight of its masks, log-probabilities, and how it is marked."""

from __future__ import annotations

from typing import Any

from constrained.loop.row import Row
from constrained.result import MarkedWith, TokenLogprob

__all__ = ["drawn_as"]


def drawn_as(row: Row) -> dict[str, Any]:
    """Fields of :class:`~constrained.GenerationResult` for a row that has ended."""
    notes = row.record.of_output(row.output_ids, ended=row.stop_reason == "eos")
    drawn = [note.unmasked_logprob for note in notes if note.unmasked_logprob is not None]
    sampling, marker = row.request.sampling, row.record.marker
    return {
        "log_weight": sum(note.log_mass for note in notes),
        "logprobs": _logprobs(row) if sampling.logprobs or sampling.top_logprobs else None,
        "mean_logprob": sum(drawn) / len(drawn) if drawn else None,
        "watermark": None
        if marker is None
        else MarkedWith(scheme=marker.config.scheme, fingerprint=marker.fingerprint, nonce=marker.nonce),
    }


def _logprobs(row: Row) -> tuple[TokenLogprob, ...]:
    """One for each output token; those that were forced have no numbers."""
    notes = {note.position: note for note in row.record.notes}
    listed = []
    for position, token_id in enumerate(row.output_ids):
        note = notes.get(position)
        forced = note is None or note.token_id != token_id
        listed.append(
            TokenLogprob(
                token_id=token_id,
                text=row.engine.token_bytes(token_id).decode("utf-8", "replace"),
                logprob=None if forced or note is None else note.logprob,
                unmasked_logprob=None if forced or note is None else note.unmasked_logprob,
                top=() if forced or note is None else note.top,
            )
        )
    return tuple(listed)
