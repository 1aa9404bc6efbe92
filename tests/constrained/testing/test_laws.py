"""The laws hold for what is right, and name what is wrong by a small walk; peers run behind the same interface."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import grammars
from constrained.testing.adapters import ENGINE_NAMES, Language, Refused, Session, engine_of
from constrained.testing.budget import examples_of
from constrained.testing.faults import Fault, LawBroken
from constrained.testing.fuzz import INVALID_ACCEPTED, VALID_REJECTED, fuzz
from constrained.testing.isolation import Task, run_isolated
from constrained.testing.judge import JsonschemaJudge
from constrained.testing.laws import check_matcher
from constrained.testing.walks import walking_vocabulary
from grammars import Vocabulary

SCHEMA = {
    "type": "object",
    "properties": {"a": {"type": "integer"}, "b": {"type": "array", "items": {"type": "string"}, "maxItems": 2}},
    "required": ["a"],
    "additionalProperties": False,
}
PACKAGES = {"xgrammar": "xgrammar", "llguidance": "llguidance", "outlines": "outlines_core", "lmfe": "lmformatenforcer"}


def is_valid(text: bytes) -> bool:
    return JsonschemaJudge(SCHEMA).takes(text, repeated_names=True)


def test_our_matcher_keeps_the_laws() -> None:
    compiled = grammars.compile_json_schema(SCHEMA, walking_vocabulary(), whitespace="any")
    checked = check_matcher(compiled.matcher, is_member=is_valid, examples=30)
    assert checked.walks == 30
    assert checked.finished > 5
    assert checked.tokens > 100


@pytest.mark.parametrize("name", [name for name in ENGINE_NAMES if name != "ours"])
def test_a_peer_runs_behind_the_interface(name: str) -> None:
    pytest.importorskip(PACKAGES[name])
    engine = engine_of(name, walking_vocabulary())
    assert engine.version() != "?"
    make = engine.compile(Language.from_schema(SCHEMA))
    for text, wanted in ((b'{"a":12,"b":["x"]}', True), (b'{"a":"x"}', False), (b'{"a":1', False)):
        ids, session = engine.spell(text), make()
        assert ids is not None
        assert (all(session.consume(token_id) for token_id in ids) and session.can_end()) is wanted, text
    with pytest.raises(Refused):
        engine.compile(Language("gbnf" if name != "xgrammar" else "lark", 'root ::= "a"'))


class Broken(Session):
    """``a*`` over [a, b, end, special], with one thing wrong."""

    def __init__(self, fault: str) -> None:
        super().__init__(Vocabulary.from_bytes([b"a", b"b", None, None, b""], eos_token_ids=[2]))
        self.fault = fault
        self.ids: list[int] = []

    def allowed(self) -> npt.NDArray[np.bool_]:
        mask = np.array([True, False, True, False, False])
        if self.fault == "special":
            mask[3] = True
        if self.fault == "empty":
            mask[4] = True
        if self.fault == "dead" and len(self.ids) == 2:
            mask[:] = False
        if self.fault == "narrow":
            return mask[:3]
        if self.fault == "odd":
            mask[2] = len(self.ids) % 2 == 0
        if self.fault == "crash" and len(self.ids) == 1:
            raise RuntimeError("lost")
        if self.fault == "refuses":
            mask[1] = len(self.ids) == 1
        if self.fault == "moody":
            Broken.calls += 1
            mask[1] = Broken.calls % 7 == 0
        return mask

    calls = 0

    def consume(self, token_id: int) -> bool:
        if token_id == 1 and self.fault != "generous":
            return False
        if token_id > 2:
            return False
        self.ids.append(token_id)
        return True


FAULTS = {
    "special": "ids without a text are masked",
    "empty": "ids without a text are masked",
    "dead": "a mask is never empty before the end",
    "narrow": "a mask is as wide as the vocabulary",
    "odd": "an end token is allowed only where the text is complete and valid",
    "crash": "an implementation does not crash",
    "refuses": "an id that the mask allows can be consumed",
    "generous": "no id is consumed that the mask forbids",
}


@pytest.mark.parametrize("name", FAULTS)
def test_each_law_names_what_breaks_it_by_the_smallest_walk(name: str) -> None:
    def is_member(text: bytes) -> bool:
        return len(text) % 2 == 1 if name == "odd" else True

    with pytest.raises(LawBroken) as broken:
        check_matcher(lambda: Broken(name), is_member=is_member, examples=100, seed=3)
    fault = broken.value.fault
    assert fault.law == FAULTS[name]
    assert len(fault.token_ids) <= 3
    assert fault.seed == 3
    assert "expected" in str(broken.value)


def test_a_slow_mask_breaks_its_budget() -> None:
    with pytest.raises(LawBroken, match="budget"):
        check_matcher(lambda: Broken(""), max_mask_seconds=0.0, examples=5)


def test_an_implementation_that_changes_its_mind_is_told() -> None:
    with pytest.raises(LawBroken):
        check_matcher(lambda: Broken("moody"), examples=100)


def test_the_same_seed_walks_the_same_walks() -> None:
    compiled = grammars.compile_regex("(ab|c)+", walking_vocabulary())
    first, second = (check_matcher(compiled.matcher, examples=20, seed=5) for _ in range(2))
    assert (first.tokens, first.finished) == (second.tokens, second.finished)


@pytest.mark.parametrize("language", [Language("regex", "(a|bc){1,3}"), Language("gbnf", 'root ::= "a" root? "b"')])
def test_grammars_have_texts_that_are_in_them_and_texts_that_are_not(language: Language) -> None:
    outcome = fuzz(language, engine_of("ours", walking_vocabulary()), examples=15)
    assert outcome.num_faults == 0, [str(fault) for fault in outcome.faults]
    assert outcome.tried >= 30


class Loose:
    """Our engine for another schema than it is asked for."""

    def __init__(self, change: Callable[[Any], Any]) -> None:
        self.ours = engine_of("ours", walking_vocabulary())
        self.change = change

    def __getattr__(self, name: str) -> Any:
        return getattr(self.ours, name)

    def compile(self, language: Language) -> Any:
        return self.ours.compile(Language.from_schema(self.change(language.schema)))


def without_maximum(schema: Any) -> Any:
    inner = schema.get("items", {}) if isinstance(schema, dict) else {}
    if not isinstance(inner, dict) or "maximum" not in inner:
        return schema
    return {**schema, "items": {name: value for name, value in inner.items() if name != "maximum"}}


def with_fewer_items(schema: Any) -> Any:
    return {**schema, "maxItems": 1} if isinstance(schema, dict) and "items" in schema else schema


@pytest.mark.parametrize(("change", "law"), [(without_maximum, INVALID_ACCEPTED), (with_fewer_items, VALID_REJECTED)])
def test_faults_of_a_schema_are_made_small(change: Callable[[Any], Any], law: str) -> None:
    schema = {"type": "array", "items": {"type": "integer", "maximum": 5}, "description": "x", "minItems": 1}
    outcome = fuzz(Language.from_schema(schema), Loose(change), examples=40, max_seconds=9)  # type: ignore[arg-type]
    found = [fault for fault in outcome.faults if fault.law == law]
    assert found, outcome
    kept = json.loads(found[0].language)
    assert set(kept) <= {"items", "type"}, kept
    assert len(found[0].text) <= 8
    assert "--seed 0" in found[0].command


def test_a_worker_that_dies_or_hangs_is_a_crash(monkeypatch: pytest.MonkeyPatch) -> None:
    task = Task(subject="x", kind="regex", text="a", engine="ours", examples=1, max_seconds=0.5)
    (hung,) = run_isolated([task], grace=-0.4)
    assert hung.crashes == 1
    assert "no answer" in hung.faults[0].got
    monkeypatch.setattr("sys.executable", "/bin/false")
    (died,) = run_isolated([task])
    assert "process ended" in died.faults[0].got


def test_a_worker_that_answers_at_once_is_heard() -> None:
    tasks = [Task(subject="x", kind="schema", text="false", engine="ours", examples=1, max_seconds=1)] * 20
    assert [bool(outcome.refused) for outcome in run_isolated(tasks, grace=10)] == [True] * 20


def test_a_worker_says_what_is_no_grammar() -> None:
    task = Task(subject="bad.gbnf", kind="gbnf", text="root ::= foo", engine="ours", examples=1)
    with pytest.raises(ValueError, match=r"bad\.gbnf"):
        list(run_isolated([task]))


def test_the_budget_is_one_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONSTRAINED_EXAMPLES", "7")
    assert examples_of() == 7
    assert examples_of(3) == 3
    monkeypatch.setenv("CONSTRAINED_EXAMPLES", "many")
    with pytest.raises(ValueError, match="CONSTRAINED_EXAMPLES"):
        examples_of()
    with pytest.raises(ValueError, match="examples"):
        examples_of(0)


def test_a_fault_can_be_read_and_kept() -> None:
    fault = Fault(law="a law", expected="1", got="2", token_ids=(1, 2), text='a"', seed=4, command="constrained test x")
    assert json.loads(json.dumps(fault.to_dict()))["token_ids"] == [1, 2]
    assert str(fault).splitlines()[-1].strip() == "again: constrained test x"
