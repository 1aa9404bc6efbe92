"""Registers: things in any order, each at most once, against every sequence written out."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from random import Random

import pytest

from grammars import Limits, Vocabulary, compile_ir
from grammars.ir import IR, Builder, NodeId
from grammars.ir.nodes import ANOTHER_ELEMENT, OTHER_ELEMENT, Register, RegisterStep
from grammars.masks.batch import BatchFiller
from grammars.vocabulary.bitmask import allocate_token_bitmask

TOKENS = [bytes([byte]) for byte in range(256)] + [b"ab", b"ac=1", b"=1,", b"1}", b"=1,b", b"{b=1", None]
VOCABULARY = Vocabulary.from_bytes(TOKENS, eos_token_ids=[len(TOKENS) - 1])
END = len(TOKENS) - 1
TIGHT = Limits(
    max_configurations=24, max_items=400, max_stack_nodes=60, max_cached_masks=2, max_rollback_kept=3,
    max_register_sets=12,
)  # fmt: skip

REGISTERS = [
    (Register(3, required=(1,)), ["ab", "ac", "b"], []),
    (Register(3, required=(1,), most=2), ["ab", "ac", "b"], []),
    (Register(3, required=(0, 1), least=2, most=2), ["ab", "ac", "b"], []),
    (Register(2, required=(1,), least=3, most=4, others=True), ["ab", "b"], ["x"]),
    (Register(2, least=3, others=True), ["ab", "b"], ["x", "xx"]),
    (Register(1, most=0), ["a"], []),
    (Register(70, required=(65,), most=3), [f"n{index}" for index in range(70)], []),
]


def members(builder: Builder, register: Register, names: Sequence[str], others: Sequence[str]) -> NodeId:
    """``{`` names in any order ``}``, each with a value that may be such a thing itself."""
    number = builder.declare_register(register)
    value = builder.declare_rule("value")

    def member(name: str, element: int) -> NodeId:
        test, add = (builder.register(step, number, element) for step in (RegisterStep.TEST, RegisterStep.ADD))
        return builder.sequence(test, builder.literal(name), add, builder.literal("="), builder.call(value))

    ways = [member(name, element) for element, name in enumerate(names)]
    some = builder.alternation(*ways, *(member(name, OTHER_ELEMENT) for name in others))
    test_any = builder.register(RegisterStep.TEST, number, ANOTHER_ELEMENT)
    close = builder.sequence(builder.register(RegisterStep.CLOSE, number), builder.literal("}"))
    more = builder.repeat(builder.sequence(test_any, builder.literal(","), some), 0)
    body = builder.sequence(
        builder.literal("{"),
        builder.register(RegisterStep.OPEN, number),
        builder.alternation(close, builder.sequence(some, more, close)),
    )
    builder.define_rule(value, builder.alternation(builder.literal("1"), body))
    return body


def grammar(register: Register, names: Sequence[str], others: Sequence[str]) -> IR:
    builder = Builder()
    return builder.finish(members(builder, register, names, others))


def is_member(register: Register, names: Sequence[str], sequence: Sequence[str]) -> bool:
    declared = [name for name in sequence if name in names]
    return (
        len(set(declared)) == len(declared)
        and all(names[element] in sequence for element in register.required)
        and len(sequence) >= register.least
        and (register.most is None or len(sequence) <= register.most)
    )


@pytest.mark.parametrize(("register", "names", "others"), REGISTERS)
def test_every_sequence_of_names(register: Register, names: list[str], others: list[str]) -> None:
    compiled = compile_ir(grammar(register, names, others), VOCABULARY)
    pool = [*names, *others] if len(names) < 10 else [names[0], names[65], names[69]]
    for length in range(6 if len(pool) < 4 else 5):
        for sequence in itertools.product(pool, repeat=length):
            matcher = compiled.matcher()
            text = "{" + ",".join(f"{name}=1" for name in sequence) + "}"
            accepted = matcher.consume_bytes(text.encode()) and matcher.is_accepting
            assert accepted == is_member(register, names, sequence), text


@pytest.mark.parametrize(("register", "names", "others"), REGISTERS)
@pytest.mark.parametrize("limits", [Limits(), TIGHT])
def test_walks_never_meet_a_dead_end(register: Register, names: list[str], others: list[str], limits: Limits) -> None:
    if limits is TIGHT and len(names) > 10:
        limits = Limits(max_configurations=400, max_items=4_000, max_stack_nodes=300, max_register_sets=100)
    compiled = compile_ir(grammar(register, names, others), VOCABULARY, limits=limits)
    ended = 0
    for seed in range(30):
        random, matcher = Random(seed), compiled.matcher()
        text = b""
        for _ in range(60):
            allowed = matcher.allowed_token_ids()
            assert allowed, text
            token = random.choice(allowed)
            for other in random.sample(range(END), 6):
                assert bool(matcher.try_consume([other])) == (other in allowed)
                matcher.rollback(matcher.num_tokens - len(text.split(b"|")) + 1)
            matcher.consume(token)
            if token == END:
                ended += 1
                break
            text += (TOKENS[token] or b"") + b"|"
    assert ended


def test_two_readings_keep_registers_of_their_own() -> None:
    """``{a=1,b=1}``: one reading requires c as well, the other forbids it."""
    builder = Builder()
    with_c = members(builder, Register(3, required=(2,)), ["a", "b", "c"], [])
    without_c = members(builder, Register(2), ["a", "b"], [])
    compiled = compile_ir(builder.finish(builder.alternation(with_c, without_c)), VOCABULARY)
    for text, whole in [("{a=1,b=1}", True), ("{a=1,c=1,b=1}", True), ("{b=1,a=1,b=1}", False), ("{c=1,c=1}", False)]:
        matcher = compiled.matcher()
        assert (matcher.consume_bytes(text.encode()) and matcher.is_accepting) == whole, text


def test_batches_carry_registers_to_other_machines() -> None:
    register, names, others = REGISTERS[0]
    compiled = compile_ir(grammar(register, names, others), VOCABULARY)
    matchers = []
    for text in ("{", "{ab=1", "{ab=1,", "{b=1,ab=1,", "{ac=1", "{ac=1,b={ac=1", "{ac=1,b={ac=1},", "{ab={ac={ac=1"):
        matcher = compiled.matcher()
        assert matcher.consume_bytes(text.encode())
        matchers.append(matcher)
    bitmask = allocate_token_bitmask(len(matchers), VOCABULARY.size)
    with BatchFiller(threads=2) as filler:
        filler.fill(matchers, bitmask)
    for row, matcher in enumerate(matchers):
        alone = allocate_token_bitmask(1, VOCABULARY.size)
        fresh = compile_ir(compiled.ir, VOCABULARY).matcher()
        fresh.consume_bytes(b"".join(token for token in matcher._tokens if isinstance(token, bytes)))
        fresh.fill_next_token_bitmask(alone)
        assert (alone[0] == bitmask[row]).all()
