"""Our engine in the released Outlines: as a processor, and behind the form of its backends."""

from __future__ import annotations

import re
from typing import Any, Literal

import numpy as np
import pytest
from pydantic import BaseModel

import constrained

outlines = pytest.importorskip("outlines")

from outlines.types import CFG, Regex  # noqa: E402  (only where it is installed)

from constrained.integrations.outlines import (  # noqa: E402
    ConstrainedBackend,
    ConstrainedLogitsProcessor,
    grammar_processor,
)


class Answer(BaseModel):
    """What is asked for."""

    word: Literal["yes", "no"]
    sure: bool


@pytest.fixture(scope="module")
def model(hf_model: Any, hf_tokenizer: Any) -> Any:
    return outlines.from_transformers(hf_model, hf_tokenizer)


CASES: list[tuple[Any, str]] = [
    (Answer, r'\{"word":"(yes|no)","sure":(true|false)\}'),
    (Regex(r"[ab]{3}"), r"[ab]{3}"),
    (CFG('start: "x" | "(" start ")"'), r"\(*x\)*"),
    (constrained.regex(r"(?!a)[a-c]{2}"), r"[bc][a-c]"),
]


@pytest.mark.parametrize(("output_type", "pattern"), CASES, ids=["model", "regex", "cfg", "look-ahead"])
def test_a_generator_with_our_processor(output_type: Any, pattern: str, model: Any) -> None:
    generator = outlines.Generator(model, processor=grammar_processor(model, output_type))
    for _ in range(2):
        text = generator("Write: ", max_new_tokens=60, do_sample=True)
        assert re.fullmatch(pattern, text), text
    assert all(re.fullmatch(pattern, text) for text in generator.batch(["a", "b c"], max_new_tokens=60))


def test_the_form_of_its_backends(model: Any) -> None:
    backend = ConstrainedBackend(model)
    for processor in (
        backend.get_json_schema_logits_processor('{"type": "boolean"}'),
        backend.get_regex_logits_processor("a+"),
        backend.get_cfg_logits_processor('start: "a"'),
    ):
        assert isinstance(processor, ConstrainedLogitsProcessor)
    with pytest.raises(NotImplementedError, match="whitespace="):
        backend.get_json_schema_logits_processor("{}", " ?")
    with pytest.raises(NotImplementedError, match="from_transformers"):
        ConstrainedBackend(object())


def test_logits_of_numpy(model: Any) -> None:
    backend = ConstrainedBackend(model)
    grammar = backend.get_regex_logits_processor("a").grammar
    processor = ConstrainedLogitsProcessor(grammar, "numpy")
    logits = processor(np.array([[1]]), np.zeros((1, backend.vocabulary.size), np.float32))
    assert int(np.isfinite(logits).sum()) == 1
    with pytest.raises(NotImplementedError, match="mlx"):
        ConstrainedLogitsProcessor(grammar, "mlx")
