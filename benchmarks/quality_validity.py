"""The acceptance run: extractions at temperature 1 are valid one and all, and a seed gives the same tokens twice."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from jsonschema import Draft202012Validator

from benchmarks.quality_documents import LabelledDocument

if TYPE_CHECKING:
    from constrained.api import Model
    from constrained.result import GenerationResult

REPEAT_EVERY = 5  # so many runs share one repetition, which costs as much as a run


@dataclass(frozen=True)
class Validity:
    """Valid answers among `runs`, and repetitions with the same tokens among `repeated`."""

    runs: int
    valid: int
    invalid: tuple[str, ...]
    repeated: int
    repeated_alike: int


def measure_validity(
    model: Model,
    documents: Sequence[LabelledDocument],
    *,
    runs: int,
    say: Callable[[str], None],
    max_tokens: int = 2048,
) -> Validity:
    """Run seeds 0 to `runs` - 1 over the documents in turn, every fifth seed twice.

    An answer is valid when the generation says that it is complete and the jsonschema library accepts its value, with
    its formats. One cut off by `max_tokens` is not.
    """
    invalid = []
    repeated = repeated_alike = 0
    for seed in range(runs):
        document = documents[seed % len(documents)]

        def extract(document: LabelledDocument = document, seed: int = seed) -> GenerationResult:
            return model.extract(document.text, document.schema, temperature=1.0, seed=seed, max_tokens=max_tokens)

        result = extract()
        if problem := _problem(document, result):
            invalid.append(f"seed {seed}, {document.id}: {problem}")
        if seed % REPEAT_EVERY == 0:
            repeated += 1
            repeated_alike += extract().token_ids == result.token_ids
        say(f"seed {seed}: {document.id}: {problem or 'valid'} ({len(result.token_ids)} tokens)")
    return Validity(runs, runs - len(invalid), tuple(invalid), repeated, repeated_alike)


def _problem(document: LabelledDocument, result: GenerationResult) -> str | None:
    """What is wrong with an answer, or None."""
    if not result.complete:
        return f"not complete: {result.stop_reason} after {len(result.token_ids)} tokens"
    validator = Draft202012Validator(document.schema, format_checker=Draft202012Validator.FORMAT_CHECKER)
    messages = [error.message for error in validator.iter_errors(result.value)]
    return "; ".join(messages) or None
