"""Checks of whole generations: valid, repeatable, and distributed as they should be."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import torch

from constrained.output_types import output_type_from

from .judge import JsonschemaJudge
from .records import note_check

if TYPE_CHECKING:
    from constrained.api import Model
    from grammars import Matcher

__all__ = ["assert_deterministic", "assert_distribution", "assert_schema_valid", "expected_distribution"]

_LEAST_EXPECTED = 5.0
"""Outcomes with less are counted together: the chi-square distribution is no good for them."""


def assert_schema_valid(
    model: Model,
    prompt: Any,
    schema: Any,
    *,
    n: int = 20,
    temperature: float = 1.0,
    seed: int = 0,
    min_complete: int = 1,
    **options: Any,
) -> None:
    """Generate ``n`` times, with seeds from ``seed`` on, and have `jsonschema` judge every finished text.

    ``schema`` is a JSON Schema or a Python type that is written as JSON. Outputs that ``max_tokens`` cuts off are not
    judged; ``min_complete`` must be finished. Raises AssertionError with the text, the seed and what is wrong with it.
    A right implementation never fails (false alarms: none).

    >>> from constrained.testing.tiny import tiny_model
    >>> assert_schema_valid(tiny_model(), "Tea?", {"type": "boolean"}, n=3)
    """
    text_of_schema = output_type_from(schema).schema_text
    if text_of_schema is None:
        raise TypeError(f"schema: expected a JSON Schema or a type that is written as JSON, got {schema!r}")
    judge = JsonschemaJudge(json.loads(text_of_schema))
    complete = 0
    for number in range(seed, seed + n):
        result = model.generate(prompt, schema, temperature=temperature, seed=number, **options)
        if not result.complete:
            continue
        complete += 1
        if not judge.takes(result.text):
            raise AssertionError(
                f"the text of seed {number} is not valid\n  text: {result.text}\n"
                f"  token ids: {list(result.token_ids)}\n"
                f"  wrong: {'; '.join(judge.problems_of_text(result.text))}\n  schema: {text_of_schema}"
            )
    note_check("assert_schema_valid", generations=n)
    if complete < min_complete:
        raise AssertionError(
            f"{complete} of {n} outputs were finished, expected {min_complete} at least; give more max_tokens"
        )


def assert_deterministic(
    model: Model,
    prompt: Any,
    output_type: Any = None,
    *,
    n: int = 3,
    temperature: float = 1.0,
    seed: int = 0,
    **options: Any,
) -> None:
    """Generate with each of ``n`` seeds, others in between, and again in reverse order: the ids must be the same.

    Raises AssertionError with the seed and both outputs. A right implementation never fails (false alarms: none).

    >>> from constrained.testing.tiny import tiny_model
    >>> assert_deterministic(tiny_model(), "Tea?", max_tokens=5)
    """
    seeds = range(seed, seed + n)

    def run(number: int) -> tuple[int, ...]:
        result = model.generate(prompt, output_type, temperature=temperature, seed=number, **options)
        return tuple(result.token_ids)

    first = {number: run(number) for number in seeds}
    for number in reversed(seeds):
        again = run(number)
        if again != first[number]:
            place = next(
                (index for index, pair in enumerate(zip(first[number], again, strict=False)) if pair[0] != pair[1]),
                min(len(first[number]), len(again)),
            )
            raise AssertionError(
                f"seed {number} gave other tokens the second time, from output position {place} on\n"
                f"  first: {list(first[number])}\n  again: {list(again)}"
            )
    note_check("assert_deterministic", generations=2 * n)


def assert_distribution(
    model: Model,
    prompt: str,
    output_type: Any,
    *,
    n: int = 400,
    temperature: float = 1.0,
    seed: int = 0,
    false_alarm_rate: float = 1e-6,
    max_outcomes: int = 1_000,
    **options: Any,
) -> float:
    """Draw ``n`` texts and compare how often each came with :func:`expected_distribution`, by a chi-square test.

    Gives the p-value. Raises AssertionError where it is below ``false_alarm_rate``: so often a right implementation
    fails, for seeds that were not looked at before. Outcomes that are expected fewer than five times are counted
    together. ValueError for a type with more than ``max_outcomes`` texts.

    >>> from constrained.testing.tiny import tiny_model
    >>> import constrained
    >>> 0 <= assert_distribution(tiny_model(), "Tea?", constrained.choice(["yes", "no"]), n=50) <= 1
    True
    """
    expected = expected_distribution(model, prompt, output_type, temperature=temperature, max_outcomes=max_outcomes)
    counts: Counter[str] = Counter()
    for number in range(seed, seed + n):
        result = model.generate(prompt, output_type, temperature=temperature, seed=number, forced="off", **options)
        counts[result.text] += 1
    impossible = sorted(set(counts) - set(expected))
    if impossible:
        raise AssertionError(f"{impossible[0]!r} came {counts[impossible[0]]} times; expected a text that is possible")
    p_value = chi_square_p_value(counts, {text: n * share for text, share in expected.items()})
    note_check("assert_distribution", generations=n)
    if p_value < false_alarm_rate:
        ranked = sorted(expected, key=lambda text: -abs(counts[text] - n * expected[text]))[:5]
        listed = "".join(f"\n  {text!r}: expected {n * expected[text]:.1f}, got {counts[text]}" for text in ranked)
        raise AssertionError(
            f"the texts of {n} draws are not distributed as the model says: p = {p_value:.2g}, below "
            f"{false_alarm_rate:g}{listed}"
        )
    return p_value


def expected_distribution(
    model: Model, prompt: str, output_type: Any, *, temperature: float = 1.0, max_outcomes: int = 1_000
) -> dict[str, float]:
    """The probability of each text, by enumerating every sequence of tokens that the grammar allows.

    Each token is drawn from the softmax of its logits over ``temperature``, among those allowed. ValueError where there
    are more than ``max_outcomes`` sequences.
    """
    engine = model.engine
    start = model.compile(output_type).matcher()
    prompt_ids = model.prompt_ids(prompt)
    found: dict[str, float] = {}
    pending: list[tuple[tuple[int, ...], Matcher, float]] = [((), start, 1.0)]
    sequences = 0
    while pending:
        ids, matcher, share = pending.pop()
        allowed = matcher.allowed_token_ids()
        ends = [token_id for token_id in allowed if token_id in engine.eos_token_ids]
        if len(ends) == len(allowed):
            sequences += 1
            _add(found, engine.vocabulary.tokens, ids, share)
            continue
        if sequences + len(pending) > max_outcomes:
            raise ValueError(f"output_type: expected at most {max_outcomes:,} sequences of tokens; there are more")
        cache = engine.model.new_cache(1, len(prompt_ids) + len(ids))
        row = engine.model.forward_rows([[*prompt_ids, *ids]], [cache])[0].double() / temperature
        shares = torch.softmax(row[allowed], 0).tolist()
        for token_id, part in zip(allowed, shares, strict=True):
            if token_id in ends:
                sequences += 1
                _add(found, engine.vocabulary.tokens, ids, share * part)
            else:
                after = matcher.fork()
                after.consume(token_id)
                pending.append(((*ids, token_id), after, share * part))
    return found


def _add(found: dict[str, float], tokens: Any, ids: tuple[int, ...], share: float) -> None:
    text = b"".join(tokens[token_id] or b"" for token_id in ids).decode("utf-8", "replace")
    found[text] = found.get(text, 0.0) + share


def chi_square_p_value(counts: Mapping[str, int], expected: Mapping[str, float]) -> float:
    """The probability of counts at least as far from those expected, by Pearson's statistic.

    Outcomes that are expected fewer than five times are counted together, with the next ones until there are enough.

    >>> chi_square_p_value({"a": 50, "b": 50}, {"a": 50.0, "b": 50.0})
    1.0
    >>> chi_square_p_value({"a": 80, "b": 20}, {"a": 50.0, "b": 50.0}) < 1e-8
    True
    """
    pooled: list[tuple[float, int]] = []
    rest, rest_count = 0.0, 0
    for text in sorted(expected, key=expected.__getitem__):
        rest, rest_count = rest + expected[text], rest_count + counts.get(text, 0)
        if rest >= _LEAST_EXPECTED:
            pooled.append((rest, rest_count))
            rest, rest_count = 0.0, 0
    if rest and pooled:
        pooled[-1] = (pooled[-1][0] + rest, pooled[-1][1] + rest_count)
    if len(pooled) < 2:
        return 1.0
    statistic = math.fsum((count - wanted) ** 2 / wanted for wanted, count in pooled)
    freedom = torch.tensor((len(pooled) - 1) / 2, dtype=torch.float64)
    return float(torch.special.gammaincc(freedom, torch.tensor(statistic / 2, dtype=torch.float64)))
