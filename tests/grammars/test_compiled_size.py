"""How many bytes a compiled grammar holds."""

from __future__ import annotations

from grammars import CompiledGrammar, Vocabulary, allocate_token_bitmask, compile_json_schema, compile_regex

VOCABULARY = Vocabulary.from_bytes([*(bytes([byte]) for byte in range(256)), None], eos_token_ids=[256])


def run_over(compiled: CompiledGrammar, text: bytes) -> None:
    matcher = compiled.matcher()
    bitmask = allocate_token_bitmask(1, VOCABULARY.size)
    for byte in text:
        matcher.fill_next_token_bitmask(bitmask)
        matcher.consume(byte)


def test_a_grammar_counts_what_it_is_made_of_and_what_its_use_has_filled() -> None:
    small = compile_regex("a{3}", VOCABULARY)
    large = compile_json_schema({"enum": [f"name {number}" for number in range(3_000)]}, VOCABULARY)
    arrays = (large.ir.nodes, large.ir.data, large.machine.network.states, large.machine.network.byte_edges)
    assert large.nbytes > sum(array.nbytes for array in arrays) > small.nbytes > 0
    before = small.nbytes
    run_over(compile_regex("[ab]{3}", VOCABULARY), b"aba")
    assert small.nbytes == before
    strings = compile_json_schema({"type": "string"}, VOCABULARY)
    fresh = strings.nbytes
    run_over(strings, b'"text of some length"')
    filled = strings.nbytes
    assert filled > fresh
    run_over(strings, b'"text of some length"')
    assert strings.nbytes == filled
    strings.forget_bitmasks()
    assert strings.nbytes <= filled
