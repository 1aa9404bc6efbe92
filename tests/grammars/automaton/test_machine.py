"""The machine against the slow twin, and its tables when they grow or run full."""

from __future__ import annotations

import random

import pytest

from grammars import CompiledGrammar, LimitExceeded, Limits, TokenRefused, UnsatisfiableGrammar, compile_ir
from grammars.automaton.memory import NUM_CONFIGURATIONS
from grammars.ir import IR, Builder
from tests.reference import recogniser

from .grammars_by_hand import ALL, END, byte_vocabulary, lists, palindromes, strings, sums

TIGHT = Limits(max_configurations=24, max_items=400, max_stack_nodes=200, max_cached_masks=3, max_rollback_kept=4)
MORE_TOKENS = (
    b"aa",
    b"a+",
    b"+a",
    b"((",
    b"))",
    b'"a',
    b'a"',
    b'ab"',
    b"\\n",
    b"],[",
    b"[[",
    b"]]",
    b"bb",
    b"aaaa",
    b"aa",
)


def walk(compiled: CompiledGrammar, seed: int, length: int) -> tuple[list[int], list[list[int]]]:
    """A random walk over allowed tokens: the tokens taken, and what was allowed before each."""
    random_choice = random.Random(seed).choice
    matcher = compiled.matcher()
    taken: list[int] = []
    seen: list[list[int]] = []
    while len(taken) < length:
        allowed = matcher.allowed_token_ids()
        seen.append(allowed)
        ways_on = [token for token in allowed if token != END]
        if not ways_on:
            break
        taken.append(random_choice(ways_on))
        matcher.consume(taken[-1])
    return taken, seen


@pytest.mark.parametrize("name", ALL)
def test_masks_equal_the_slow_twin(name: str) -> None:
    ir = ALL[name]()
    vocabulary = byte_vocabulary(*MORE_TOKENS)
    taken, seen = walk(compile_ir(ir, vocabulary), seed=1, length=7)
    text = b""
    for step, allowed in enumerate(seen):
        expected = recogniser.mask(ir, vocabulary.tokens, text)
        if recogniser.accepts(ir, text):
            expected = expected | {END}
        assert set(allowed) == expected, (name, text)
        text += vocabulary.tokens[taken[step]] or b"" if step < len(taken) else b""


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("seed", range(3))
def test_a_full_table_changes_no_mask(name: str, seed: int) -> None:
    vocabulary = byte_vocabulary(*MORE_TOKENS)
    taken, seen = walk(compile_ir(ALL[name](), vocabulary), seed, 12)
    tight = compile_ir(ALL[name](), vocabulary, limits=TIGHT).matcher()
    for step, allowed in enumerate(seen):
        assert tight.allowed_token_ids() == allowed
        if step < len(taken):
            tight.consume(taken[step])


def test_matchers_survive_making_room_with_their_history() -> None:
    """Two matchers in one small machine: the walk of one drops what the other does not need, and only that."""
    vocabulary = byte_vocabulary()
    compiled = compile_ir(strings(0, 500), vocabulary, limits=TIGHT)
    calm, busy = compiled.matcher(), compiled.matcher()
    for byte in b'"abc':
        calm.consume(byte)
    before = calm.allowed_token_ids()
    for byte in b'"' + b"x" * 200:
        busy.consume(byte)
    assert compiled.machine.memory[NUM_CONFIGURATIONS] <= TIGHT.max_configurations
    assert calm.allowed_token_ids() == before
    calm.rollback(2)
    for byte in b'zz"':
        calm.consume(byte)
    assert calm.allowed_token_ids() == [END]
    busy.rollback(150)  # far past what was kept: replayed from the tokens
    assert busy.num_tokens == 51
    busy.consume(ord('"'))
    assert busy.is_accepting


def test_what_is_in_use_can_fill_a_table() -> None:
    compiled = compile_ir(lists(), byte_vocabulary(), limits=Limits(max_stack_nodes=50))
    matcher = compiled.matcher()
    with pytest.raises(LimitExceeded, match="max_stack_nodes"):
        matcher.try_consume([ord("[")] * 100)


def test_ambiguity_does_not_multiply_configurations() -> None:
    """A sum of 300 terms has as many readings as the Catalan number of 299, and a handful of configurations."""
    compiled = compile_ir(sums(), byte_vocabulary())
    matcher = compiled.matcher()
    assert matcher.consume_bytes(b"+".join([b"a"] * 300))
    assert matcher.is_accepting
    assert compiled.machine.memory[NUM_CONFIGURATIONS] < 10


def test_palindromes_grow_at_most_linearly() -> None:
    compiled = compile_ir(palindromes(), byte_vocabulary())
    matcher = compiled.matcher()
    for _ in range(301):
        matcher.consume(ord("a"))
    assert matcher.is_accepting
    assert compiled.machine.memory[NUM_CONFIGURATIONS] < 310


def test_refusal_changes_nothing_and_says_why() -> None:
    matcher = compile_ir(strings(1, 2), byte_vocabulary()).matcher()
    for token, reason in (
        (ord("a"), "does not allow b'a'"),
        (END, "not complete"),
        (300, "0 to 256"),
        (-1, "0 to 256"),
    ):
        with pytest.raises(TokenRefused, match=reason):
            matcher.consume(token)
    assert matcher.num_tokens == 0
    matcher.consume(ord('"'))
    assert matcher.forced_bytes() == b""


def test_end_tokens_only_after_the_end() -> None:
    matcher = compile_ir(strings(0, 1), byte_vocabulary()).matcher()
    assert matcher.forced_bytes() == b'"'
    matcher.consume_bytes(b'"x')
    assert matcher.forced_bytes() == b'"'
    matcher.consume(ord('"'))
    assert matcher.allowed_token_ids() == [END]
    matcher.consume(END)
    assert matcher.is_terminated
    assert matcher.allowed_token_ids() == [END]
    with pytest.raises(TokenRefused, match="has ended"):
        matcher.consume(END)
    matcher.rollback(1)
    assert not matcher.is_terminated
    assert matcher.is_accepting


def unproductive() -> IR:
    """ "a" loop | "b", loop = "a" loop: whoever takes the first way never ends."""
    builder = Builder()
    loop = builder.declare_rule("loop")
    builder.define_rule(loop, builder.sequence(builder.literal("a"), builder.call(loop)))
    return builder.finish(
        builder.alternation(builder.sequence(builder.literal("a"), builder.call(loop)), builder.literal("b"))
    )


def test_ways_without_an_end_are_not_entered() -> None:
    matcher = compile_ir(unproductive(), byte_vocabulary()).matcher()
    assert matcher.allowed_token_ids() == [ord("b")]


def test_a_grammar_without_any_text_is_an_error() -> None:
    builder = Builder()
    rule = builder.declare_rule("loop")
    builder.define_rule(rule, builder.sequence(builder.literal("a"), builder.call(rule)))
    with pytest.raises(UnsatisfiableGrammar, match="no text"):
        compile_ir(builder.finish(builder.call(rule)), byte_vocabulary())


@pytest.mark.parametrize(("minimum", "maximum"), [(0, None), (0, 3), (2, 3), (3, 200)])
def test_slices_equal_the_plain_walk(minimum: int, maximum: int | None) -> None:
    """Text tokens of many lengths, whole and cut in a character: as many as fit, and no more."""
    tokens = [b"x" * length for length in (1, 2, 3, 4, 128, 129, 300)]
    tokens += ["é".encode() * 2, "é".encode()[:1], b"\xa9", "€".encode()[:2], b'xx"', b'"x', b"x\\", b"\x7f", b"\x1f"]
    vocabulary = byte_vocabulary(*tokens)
    ir = strings(minimum, maximum)
    matcher = compile_ir(ir, vocabulary).matcher()
    text = b""
    for piece in (b'"', b"a", "é".encode()[:1], "é".encode()[1:]):
        assert matcher.consume_bytes(piece)
        text += piece
        for token_id, token in enumerate(vocabulary.tokens):
            if token is not None:
                other = matcher.fork()
                assert (token_id in matcher.allowed_token_ids()) == other.consume_bytes(token), (text, token)


def test_what_is_no_id_is_named_at_once() -> None:
    matcher = compile_ir(strings(1, 2), byte_vocabulary()).matcher()
    for nonsense in (1.5, None, "a"):
        with pytest.raises(TypeError):
            matcher.consume(nonsense)  # type: ignore[arg-type]
    with pytest.raises(TokenRefused, match="0 to 256"):
        matcher.consume(2**63)
    assert matcher.num_tokens == 0


def test_layered_rules_are_closed_in_one_sweep() -> None:
    """Eight layers of four rules, each of which begins with any rule of the next: 4 ** 8 ways down."""
    builder = Builder()
    rules = [[builder.declare_rule(f"{layer}{way}") for way in "abcd"] for layer in range(9)]
    for layer, row in enumerate(rules):
        for way, rule in zip("abcd", row, strict=True):
            if layer == 8:
                builder.define_rule(rule, builder.literal(way))
                continue
            again = [
                builder.sequence(builder.call(below), builder.literal(f"{other}{layer}"), builder.call(rule))
                for other, below in zip("abcd", rules[layer + 1], strict=True)
            ]
            builder.define_rule(rule, builder.alternation(builder.call(rules[layer + 1]["abcd".index(way)]), *again))
    ir = builder.finish(builder.alternation(*map(builder.call, rules[0])))
    matcher = compile_ir(ir, byte_vocabulary()).matcher()
    assert matcher.consume_bytes(b"bb0")
    assert not matcher.is_accepting
    assert matcher.consume_bytes(b"a")
    assert matcher.is_accepting
    assert not matcher.consume_bytes(b"b")
