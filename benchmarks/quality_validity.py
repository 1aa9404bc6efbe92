"""The acceptance run: extractions at temperature 1 are valid one and all, and a seed gives the same tokens twice."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from jsonschema import Draft202012Validator

from benchmarks.quality_documents import LabelledDocument

if TYPE_CHECKING:
    from constrained.api import Model
    from constrained.result import GenerationResult

REPEAT_EVERY = 5  # so many runs share one repetition, which costs as much as a run


@dataclass(frozen=True)
class Validity:
    """Outcomes of `runs` extractions, and repetitions with the same tokens among `repeated`."""

    top_p: float
    runs: int
    valid: int
    """Complete, and accepted by the jsonschema library with its formats."""
    cut_off: tuple[str, ...]
    """Ended by `max_tokens`: a string or list that its schema does not bound may go on for ever (see `--bounded`)."""
    invalid: tuple[str, ...]
    """Complete, and not accepted: never, if the grammar is right."""
    repeated: int
    repeated_alike: int


def measure_validity(
    model: Model,
    documents: Sequence[LabelledDocument],
    *,
    runs: int,
    say: Callable[[str], None],
    top_p: float = 1.0,
    max_tokens: int = 2048,
) -> Validity:
    """Run seeds 0 to `runs` - 1 at temperature 1 over the documents in turn, every fifth seed twice."""
    cut_off, invalid = [], []
    repeated = repeated_alike = 0
    for seed in range(runs):
        document = documents[seed % len(documents)]
        result = _extract(model, document, seed, top_p, max_tokens)
        name = f"seed {seed}, {document.id}"
        tokens = f"{len(result.token_ids)} tokens"
        if not result.complete:
            cut_off.append(name)
            say(f"{name}: cut off after {tokens}")
        elif problems := _problems(document, result.value):
            invalid.append(f"{name}: {problems}")
            say(f"{name}: {problems}")
        else:
            say(f"{name}: valid, {tokens}")
        if seed % REPEAT_EVERY == 0:
            repeated += 1
            repeated_alike += _extract(model, document, seed, top_p, max_tokens).token_ids == result.token_ids
    valid = runs - len(cut_off) - len(invalid)
    return Validity(top_p, runs, valid, tuple(cut_off), tuple(invalid), repeated, repeated_alike)


def _extract(model: Model, document: LabelledDocument, seed: int, top_p: float, max_tokens: int) -> GenerationResult:
    return model.extract(document.text, document.schema, temperature=1.0, top_p=top_p, seed=seed, max_tokens=max_tokens)


def _problems(document: LabelledDocument, value: Any) -> str:
    """What the jsonschema library has against a value; nothing if it is valid."""
    validator = Draft202012Validator(document.schema, format_checker=Draft202012Validator.FORMAT_CHECKER)
    return "; ".join(error.message for error in validator.iter_errors(value))
