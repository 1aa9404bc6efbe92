"""Samples are members, the same for the same seed, and end soon however the grammar is built."""

from __future__ import annotations

import time
from itertools import islice

import pytest
from hypothesis import given

from constrained.testing.strategies import grammars as any_grammars
from grammars.errors import UnsatisfiableGrammar
from grammars.frontends.json_schema import lower_json_schema
from grammars.ir import IR, Builder
from grammars.ir.sentences import sample
from tests.grammars.cfg.matching import gbnf_ir
from tests.reference.recogniser import Recogniser, accepts


@given(any_grammars())
def test_samples_are_members(ir: IR) -> None:
    recogniser = Recogniser(ir)
    if not recogniser.productive[ir.start]:
        with pytest.raises(UnsatisfiableGrammar):
            sample(ir)
        return
    for text in islice(sample(ir, seed=3, soft_length=12), 3):
        assert recogniser.chart().read_all(text).is_accepting


def test_same_seed_same_samples() -> None:
    ir = lower_json_schema({"type": "object"})
    first, again, other = (list(islice(sample(ir, seed=seed), 5)) for seed in (1, 1, 2))
    assert first == again
    assert first != other


def test_samples_of_json_strings() -> None:
    builder = Builder()
    given = builder.json_strings(["a/", ""], every_spelling=True)
    ir = builder.finish(builder.alternation(given, builder.other_json_strings(["a", "B"])))
    texts = set(islice(sample(ir), 40))
    assert len(texts) > 5
    assert all(accepts(ir, text) for text in texts)


def test_a_long_chain_of_rules_takes_no_time() -> None:
    ir = gbnf_ir("root ::= r0\n" + "".join(f"r{n} ::= r{n + 1}\n" for n in range(5000)) + 'r5000 ::= "a"')
    began = time.process_time()
    assert next(sample(ir)) == b"a"
    assert time.process_time() - began < 1
