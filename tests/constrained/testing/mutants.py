"""Twenty faults to plant in our own engine, and the search that has to find each of them."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import seed as seeded
from hypothesis import strategies as st

import constrained
import grammars
import grammars.frontends.json_schema as json_schema_front_end
from constrained.integrations.transformers import GrammarProcessor
from constrained.processors import pipeline, sampling
from constrained.testing.adapters import Language, Refused, Session
from constrained.testing.adapters.ours import Ours
from constrained.testing.budget import TimeUp
from constrained.testing.fuzz import fuzz
from constrained.testing.judge import JsonschemaJudge
from constrained.testing.laws import check_matcher
from constrained.testing.model_checks import assert_distribution, assert_schema_valid
from constrained.testing.processor_laws import check_logits_processor
from constrained.testing.spellings_of_values import texts_of
from constrained.testing.strategies import instances, invalid_instances, regexes, schemas
from constrained.testing.tiny import tiny_model
from constrained.testing.walks import walking_vocabulary
from grammars import Matcher
from grammars.guards.judge import Judge
from grammars.ir import Builder

Patch = pytest.MonkeyPatch
MOST_SECONDS = 60.0
COMMON = ("type", "enum", "minimum", "maximum", "items", "minItems", "maxItems", "uniqueItems")
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"a": {"type": "integer"}, "b": {"type": "array", "items": {"type": "string"}, "maxItems": 2}},
    "required": ["a"],
    "additionalProperties": False,
}
GUARDED = {"type": "array", "items": {"type": "integer", "minimum": 0, "maximum": 12}, "uniqueItems": True}


class Found(Exception):
    """The search has found the fault."""


# -- what is searched --------------------------------------------------------------------------------------------


def by_walks(seed: int) -> None:
    for schema in (SCHEMA, GUARDED, {"enum": [1, 12, "ab"]}):
        judge = JsonschemaJudge(schema)
        compiled = grammars.compile_json_schema(schema, walking_vocabulary(), whitespace="compact")
        check_matcher(compiled.matcher, is_member=lambda text, judge=judge: judge.takes(text), examples=60, seed=seed)


def by_processors(seed: int) -> None:
    compiled = grammars.compile_json_schema(SCHEMA, walking_vocabulary(), whitespace="compact")
    check_logits_processor(lambda: GrammarProcessor(compiled), SCHEMA, compiled.vocabulary, examples=20, seed=seed)


def by_draws(seed: int) -> None:
    model = tiny_model()
    assert_distribution(
        model, "Tea?", constrained.choice(["yes", "yet", "no", "nor"]), n=400, temperature=4.0, seed=seed
    )
    assert_schema_valid(model, "Tea?", SCHEMA, n=5, seed=seed, max_tokens=200)


def by_schemas(seed: int) -> None:
    """As `fuzz`, with few values of many schemas, and no walks."""
    engine = Ours(walking_vocabulary())

    def reads(make: Callable[[], Session], text: bytes) -> bool:
        ids, session = engine.spell(text), make()
        return ids is not None and all(session.consume(token_id) for token_id in ids) and session.can_end()

    @st.composite
    def tried(draw: st.DrawFn) -> None:
        schema = draw(schemas(draft="2020-12", keywords=COMMON, max_depth=1))
        try:
            make = engine.compile(Language.from_schema(schema))
        except Refused:
            return
        for values, wanted in ((invalid_instances(schema), False), (instances(schema), True)):
            for _ in range(3):
                value = draw(values)
                if any(reads(make, text) for text in texts_of(value, schema)) is not wanted:
                    raise Found(f"{schema}: {value!r}")

    _over(tried(), lambda done: None, seed)


def by_regexes(seed: int) -> None:
    engine = Ours(walking_vocabulary())

    def tried(pattern: str) -> None:
        outcome = fuzz(Language("regex", pattern), engine, examples=12, seed=seed, max_seconds=6)
        if outcome.num_faults:
            raise Found(str(outcome.faults[0]))

    _over(regexes(flags=False), tried, seed)


def _over(subjects: Any, tried: Callable[[Any], None], seed: int) -> None:
    """Try subjects until the time is up."""
    until = time.monotonic() + MOST_SECONDS

    @seeded(seed)
    @settings(
        max_examples=5000,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(subjects)
    def each(subject: Any) -> None:
        if time.monotonic() > until:
            raise TimeUp
        tried(subject)

    try:
        each()
    except TimeUp:
        return  # nothing was found in time


# -- what is planted ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Mutant:
    """A fault, and the search that has to find it."""

    plant: Callable[[Patch], None]
    search: Callable[[int], None]


def of_matcher(name: str, change: Callable[[Any], Any]) -> Callable[[Patch], None]:
    """Put another method in the place of one of the matcher's; ``change`` is given the right one."""
    return lambda patch: patch.setattr(Matcher, name, change(getattr(Matcher, name)))


def of_schemas(change: Callable[[dict[str, Any]], Mapping[str, Any]]) -> Callable[[Patch], None]:
    """A front end that reads every schema within as another one."""
    right = json_schema_front_end.lower_json_schema

    def changed(schema: Any) -> Any:
        if isinstance(schema, list):
            return [changed(inner) for inner in schema]
        if not isinstance(schema, dict):
            return schema
        inner = {
            name: value if name in ("enum", "const", "required") else changed(value) for name, value in schema.items()
        }
        return dict(change(inner))

    def wrong(schema: Any, **options: Any) -> Any:
        return right(changed(json.loads(schema) if isinstance(schema, str) else schema), **options)

    return lambda patch: patch.setattr(json_schema_front_end, "lower_json_schema", wrong)


def without(name: str) -> Callable[[dict[str, Any]], dict[str, Any]]:
    return lambda schema: {other: value for other, value in schema.items() if other != name}


def shifted(name: str, by: int) -> Callable[[dict[str, Any]], dict[str, Any]]:
    def change(schema: dict[str, Any]) -> dict[str, Any]:
        value = schema.get(name)
        return {**schema, name: value + by} if isinstance(value, int) and value + by >= 0 else schema

    return change


def one_fewer(name: str) -> Callable[[dict[str, Any]], dict[str, Any]]:
    def change(schema: dict[str, Any]) -> dict[str, Any]:
        listed = schema.get(name)
        return {**schema, name: listed[:-1]} if isinstance(listed, list) and len(listed) > 1 else schema

    return change


def _goes_back_too_little(right: Any) -> Any:
    return lambda self, num_tokens: right(self, num_tokens - (num_tokens > 1))


def _stays_terminated(right: Any) -> Any:
    def rollback(self: Matcher, num_tokens: int) -> None:
        was = self._terminated
        right(self, num_tokens)
        self._terminated = was

    return rollback


def _ends_anywhere(right: Any) -> Any:
    def advance(self: Matcher, token_id: int) -> bool:
        if token_id in self.grammar.vocabulary.eos_token_ids and not self._terminated:
            self._append(token_id, self._history[-1])
            self._terminated = True
            return True
        return bool(right(self, token_id))

    return advance


def _goes_on_after_the_end(right: Any) -> Any:
    def advance(self: Matcher, token_id: int) -> bool:
        self._terminated = False
        return bool(right(self, token_id))

    return advance


def _forgets_the_end(right: Any) -> Any:
    return lambda self, bitmask, row: bitmask[row].fill(0)


def _filled(change: Callable[[Matcher, Any, int], None]) -> Callable[[Any], Any]:
    """A bitmask that is changed after it was filled."""

    def mutate(right: Any) -> Any:
        def fill(self: Matcher, bitmask: Any, row: int = 0) -> None:
            right(self, bitmask, row)
            if not self._terminated:
                change(self, bitmask.view(np.uint32), row)

        return fill

    return mutate


def _bit(token_id: int) -> tuple[int, np.uint32]:
    return token_id >> 5, np.uint32(1 << (token_id & 31))


def _sets_a_special_id(matcher: Matcher, words: Any, row: int) -> None:
    unused = [token_id for token_id, token in enumerate(matcher.grammar.vocabulary.tokens) if not token]
    word, bit = _bit(unused[0])
    words[row, word] |= bit


def _loses_an_id(matcher: Matcher, words: Any, row: int) -> None:
    allowed = np.flatnonzero(np.unpackbits(words[row].view(np.uint8), bitorder="little"))
    if len(allowed) > 3:
        word, bit = _bit(int(allowed[1]))
        words[row, word] &= ~bit


def _adds_an_id(matcher: Matcher, words: Any, row: int) -> None:
    if matcher.num_tokens == 3:
        word, bit = _bit(ord("x"))
        words[row, word] |= bit


def _always_ends(matcher: Matcher, words: Any, row: int) -> None:
    word, bit = _bit(matcher.grammar.vocabulary.eos_token_ids[0])
    words[row, word] |= bit


def _never_ends(matcher: Matcher, words: Any, row: int) -> None:
    word, bit = _bit(matcher.grammar.vocabulary.eos_token_ids[0])
    words[row, word] &= ~bit


def _fills_the_first_row(right: Any) -> Any:
    return lambda self, bitmask, row=0: right(self, bitmask, 0)


def _forks_itself(right: Any) -> Any:
    return lambda self: self


def _ignores_temperature(patch: Patch) -> None:
    patch.setattr(sampling.Temperature, "__call__", lambda self, context, logits: logits)


def _draws_the_best(patch: Patch) -> None:
    right = pipeline.draw
    patch.setattr(pipeline, "draw", lambda context, logits: right(context, logits * 1e6))


def _repeats_too_often(patch: Patch) -> None:
    right = Builder.repeat

    def repeat(self: Builder, node: Any, minimum: int, maximum: int | None = None) -> Any:
        return right(self, node, minimum, maximum + 1 if maximum is not None and maximum > 1 else maximum)

    patch.setattr(Builder, "repeat", repeat)


MUTANTS: dict[str, Mutant] = {
    "roll-back undoes one too few": Mutant(of_matcher("rollback", _goes_back_too_little), by_walks),
    "roll-back over the end leaves it ended": Mutant(of_matcher("rollback", _stays_terminated), by_walks),
    "guards do not go back": Mutant(lambda patch: patch.setattr(Judge, "go_back", lambda self, n: None), by_walks),
    "an end token is taken anywhere": Mutant(of_matcher("_advance", _ends_anywhere), by_walks),
    "ids are taken after the end": Mutant(of_matcher("_advance", _goes_on_after_the_end), by_walks),
    "the mask after the end is empty": Mutant(of_matcher("_fill_terminated", _forgets_the_end), by_walks),
    "a special id is allowed": Mutant(of_matcher("fill_next_token_bitmask", _filled(_sets_a_special_id)), by_walks),
    "the mask loses an id": Mutant(of_matcher("fill_next_token_bitmask", _filled(_loses_an_id)), by_walks),
    "the mask has an id too many": Mutant(of_matcher("fill_next_token_bitmask", _filled(_adds_an_id)), by_walks),
    "the end is always allowed": Mutant(of_matcher("fill_next_token_bitmask", _filled(_always_ends)), by_walks),
    "the end is never allowed": Mutant(of_matcher("fill_next_token_bitmask", _filled(_never_ends)), by_walks),
    "every mask goes to the first row": Mutant(
        of_matcher("fill_next_token_bitmask", _fills_the_first_row), by_processors
    ),
    "a fork is the matcher itself": Mutant(of_matcher("fork", _forks_itself), by_processors),
    "temperature is ignored": Mutant(_ignores_temperature, by_draws),
    "the best token is drawn always": Mutant(_draws_the_best, by_draws),
    "a repeat goes round once too often": Mutant(_repeats_too_often, by_regexes),
    "uniqueItems is ignored": Mutant(of_schemas(without("uniqueItems")), by_schemas),
    "maximum is one too high": Mutant(of_schemas(shifted("maximum", 1)), by_schemas),
    "minItems is one too many": Mutant(of_schemas(shifted("minItems", 1)), by_schemas),
    "the last of an enum is left out": Mutant(of_schemas(one_fewer("enum")), by_schemas),
}
"""What is planted -> how it is planted, and found."""
