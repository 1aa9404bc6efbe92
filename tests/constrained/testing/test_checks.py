"""Checks of processors and of whole generations, and the plugin that users get."""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import Any

import pytest
import torch
from torch import Tensor

import constrained
import grammars
from constrained.integrations.transformers import GrammarProcessor
from constrained.testing import (
    LawBroken,
    assert_deterministic,
    assert_distribution,
    assert_schema_valid,
    check_logits_processor,
)
from constrained.testing.model_checks import expected_distribution
from constrained.testing.tiny import tiny_model, tiny_tokenizer
from constrained.testing.walks import walking_vocabulary

pytest_plugins = ["pytester"]

SCHEMA = {"type": "array", "items": {"enum": ["a", "ab", 1]}, "maxItems": 3}
GRAMMAR = grammars.compile_json_schema(SCHEMA, walking_vocabulary(), whitespace="compact")


class Processor:
    """Ours, with one thing wrong."""

    def __init__(self, fault: str = "") -> None:
        self.inner = GrammarProcessor(GRAMMAR)
        self.fault = fault
        self.first: Tensor | None = None

    def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:
        masked = self.inner(input_ids, scores)
        match self.fault:
            case "nan":
                return torch.where(masked == -torch.inf, torch.nan, masked)
            case "revives":
                return torch.where(scores > 5_000, scores, masked)
            case "mixes":
                return masked[:1].expand_as(masked).clone()
            case "scales":
                return 2 * masked
            case "unmasks":
                return masked.masked_fill(masked == -torch.inf, -1e4)
            case "narrow":
                return masked[:, :-1] if len(masked) == 2 else masked
        return masked


def test_our_processor_keeps_the_laws() -> None:
    checked = check_logits_processor(Processor, SCHEMA, walking_vocabulary(), examples=15)
    assert checked.walks == 15
    model = constrained.seq("a", "b")
    grammar = grammars.compile_ir(model.lower(whitespace="compact"), tiny_tokenizer().vocabulary(tiny_tokenizer().size))
    check_logits_processor(lambda: GrammarProcessor(grammar), None, tiny_tokenizer(), examples=5)


FAULTS = {
    "nan": "NaN|can be consumed|never empty",
    "revives": "no score revives",
    "mixes": "a row of a batch is what it is alone|keeps its score",
    "scales": "what is allowed keeps its score",
    "unmasks": "ids without a text are masked|an end token is allowed|crash",
    "narrow": "scores keep their shape",
}


@pytest.mark.parametrize("fault", FAULTS)
def test_each_fault_of_a_processor_is_named(fault: str) -> None:
    with pytest.raises(LawBroken, match=FAULTS[fault]):
        check_logits_processor(lambda: Processor(fault), SCHEMA, walking_vocabulary(), examples=30)


@pytest.fixture(scope="module")
def model() -> constrained.Model:
    return tiny_model()


def test_generations_are_valid_repeatable_and_distributed_as_the_model_says(model: constrained.Model) -> None:
    assert_schema_valid(model, "Tea?", SCHEMA, n=5, max_tokens=200)
    assert_deterministic(model, "Tea?", SCHEMA, n=2)
    assert assert_distribution(model, "Tea?", constrained.choice(["yes", "yet", "no"]), n=150) > 1e-6


def test_the_expected_distribution_is_one(model: constrained.Model) -> None:
    expected = expected_distribution(model, "Tea?", constrained.choice(["yes", "yet", "no"]))
    assert set(expected) == {"yes", "yet", "no"}
    assert sum(expected.values()) == pytest.approx(1.0)
    with pytest.raises(ValueError, match="at most 20"):
        expected_distribution(model, "Tea?", str, max_outcomes=20)


class Liar:
    """A model whose texts are not what it says."""

    def __init__(self, model: constrained.Model, change: Any) -> None:
        self.model, self.change, self.calls = model, change, 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.model, name)

    def generate(self, *arguments: Any, **options: Any) -> Any:
        import dataclasses

        self.calls += 1
        result = self.model.generate(*arguments, **options)
        return dataclasses.replace(result, **self.change(result, self.calls))


def test_what_is_wrong_with_generations_is_told(model: constrained.Model) -> None:
    expected = expected_distribution(model, "Tea?", constrained.choice(["yes", "no"]))
    rare = min(expected, key=expected.__getitem__)

    def invalid(result: Any, calls: int) -> dict[str, Any]:
        return {"text": '["b"]'}

    def moody(result: Any, calls: int) -> dict[str, Any]:
        return {"token_ids": (calls,)}

    def biased(result: Any, calls: int) -> dict[str, Any]:
        return {"text": rare}

    def cut(result: Any, calls: int) -> dict[str, Any]:
        return {"complete": False}

    with pytest.raises(AssertionError, match="seed 0 is not valid"):
        assert_schema_valid(Liar(model, invalid), "Tea?", SCHEMA, n=2)  # type: ignore[arg-type]
    with pytest.raises(AssertionError, match="0 of 2 outputs were finished"):
        assert_schema_valid(Liar(model, cut), "Tea?", SCHEMA, n=2)  # type: ignore[arg-type]
    with pytest.raises(AssertionError, match="other tokens the second time"):
        assert_deterministic(Liar(model, moody), "Tea?", SCHEMA, n=2)  # type: ignore[arg-type]
    with pytest.raises(AssertionError, match="not distributed"):
        assert_distribution(Liar(model, biased), "Tea?", constrained.choice(["yes", "no"]), n=60)  # type: ignore[arg-type]


# Nothing to name where the package is installed; a checkout has no entry points of its own.
PLUGIN = (
    ()
    if any(point.name == "constrained" for point in entry_points(group="pytest11"))
    else ("-p", "constrained.testing.plugin")
)
USERS_TEST = """
import pytest
from constrained.testing import assert_schema_valid, check_matcher
from constrained.testing.budget import examples_of, seed_of
from constrained.testing.walks import walking_vocabulary

SCHEMA = {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]}

def test_model(constrained_model):
    assert_schema_valid(constrained_model, "Is it so?", SCHEMA, n=2)

def test_budget():
    assert (examples_of(), seed_of()) == (7, 11)

@pytest.mark.constrained(examples=3, seed=4)
def test_marker():
    import grammars
    assert (examples_of(), seed_of()) == (3, 4)
    check_matcher(grammars.compile_regex("a+", walking_vocabulary()).matcher)
"""


def test_the_plugin(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(USERS_TEST)
    ran = pytester.runpytest_subprocess(
        *PLUGIN, "--strict-markers", "--constrained-examples=7", "--constrained-seed=11"
    )
    ran.assert_outcomes(passed=3)
    ran.stdout.fnmatch_lines(
        ["*== constrained ==*", "assert_schema_valid: 1 runs, 2 generations", "check_matcher: 1 runs, 3 walks*"]
    )


@pytest.mark.parametrize(
    ("code", "option", "said"),
    [
        ("def test_a(): pass", "--constrained-examples=none", "CONSTRAINED_EXAMPLES: expected"),
        (
            "import pytest\n@pytest.mark.constrained(7)\ndef test_a(): pass",
            "--constrained-seed=1",
            "expected examples=",
        ),
    ],
)
def test_the_plugin_refuses_what_means_nothing(pytester: pytest.Pytester, code: str, option: str, said: str) -> None:
    pytester.makepyfile(code)
    ran = pytester.runpytest_subprocess(*PLUGIN, option)
    assert ran.ret == pytest.ExitCode.USAGE_ERROR
    assert said in ran.stderr.str()
