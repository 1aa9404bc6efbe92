"""The laws of a matcher, on random grammars and vocabularies: every one against the slow twin or against itself."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from random import Random

import numpy as np
import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from constrained.testing.strategies import grammars as any_grammars
from constrained.testing.strategies import sentences, vocabularies
from grammars import (
    CompiledGrammar,
    LimitExceeded,
    Limits,
    Matcher,
    TokenRefused,
    UnsatisfiableGrammar,
    Vocabulary,
    allocate_token_bitmask,
    compile_ir,
)
from grammars.ir import IR, Builder, NodeId
from grammars.ir.charset import ANY, difference, from_ranges
from grammars.ir.printer import to_ebnf as show
from tests.reference.recogniser import Chart, Recogniser

laws = settings(
    deadline=None, max_examples=40, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much]
)
STEPS = 5
LONGEST_TEXT = 16
ROOM = Limits(max_configurations=4_000, max_items=200_000, max_stack_nodes=50_000)
"""Enough for all of these; so what runs away is found out soon."""
TIGHT = Limits(max_configurations=16, max_items=300, max_stack_nodes=100, max_cached_masks=2, max_rollback_kept=3)


class Case:
    """A grammar and a vocabulary, printed briefly when a law fails."""

    def __init__(self, ir: IR, vocabulary: Vocabulary) -> None:
        self.ir, self.vocabulary = ir, vocabulary
        self.recogniser = Recogniser(ir)

    @property
    def has_text(self) -> bool:
        return self.recogniser.productive[self.ir.start]

    def compile(self) -> CompiledGrammar:
        return compile_ir(self.ir, self.vocabulary, limits=ROOM)

    def __repr__(self) -> str:
        tokens = {index: token for index, token in enumerate(self.vocabulary.tokens) if token and len(token) > 1}
        return f"Case({show(self.ir)}\n{tokens} {self.vocabulary})"


@st.composite
def any_cases(draw: st.DrawFn, *, complete: bool = True) -> Case:
    return Case(draw(any_grammars()), draw(vocabularies(complete=complete)))


cases = any_cases().filter(lambda case: case.has_text)


class Walk:
    """A matcher and the twin's chart of the same text, moved together."""

    def __init__(self, case: Case, matcher: Matcher | None = None) -> None:
        self.vocabulary = case.vocabulary
        self.matcher = case.compile().matcher() if matcher is None else matcher
        self.chart = case.recogniser.chart()

    def expected(self) -> set[int]:
        """What the twin allows: tokens tried byte by byte, end tokens where the text is complete."""
        ends = self.vocabulary.eos_token_ids if self.chart.is_accepting else ()
        return self.chart.allowed(self.vocabulary.tokens) | set(ends)

    def ways_on(self) -> list[int]:
        """The allowed tokens that have text, ascending."""
        return sorted(self.chart.allowed(self.vocabulary.tokens))

    def step(self, data: st.DataObject) -> int | None:
        """Take a random allowed token, the longer ones as likely as single bytes; None if there is none.

        None too once the text is as long as the twin can follow in little time.
        """
        ways = self.ways_on()
        if not ways or len(self.chart.columns) > LONGEST_TEXT:
            return None
        longer = [way for way in ways if len(self.text(way)) > 1]
        token_id = data.draw(st.sampled_from(longer) | st.sampled_from(ways) if longer else st.sampled_from(ways))
        self.take(token_id)
        return token_id

    def take(self, token_id: int) -> None:
        """Move both."""
        self.matcher.consume(token_id)
        self.chart = self.chart.read_all(self.text(token_id))

    def some_steps(self, data: st.DataObject) -> list[int]:
        """Up to ``STEPS`` steps; the tokens taken."""
        taken: list[int] = []
        for _ in range(data.draw(st.integers(0, STEPS))):
            token_id = self.step(data)
            if token_id is None:
                break
            taken.append(token_id)
        return taken

    def text(self, token_id: int) -> bytes:
        return self.vocabulary.token_bytes(token_id) or b""


def bits(matcher: Matcher) -> list[int]:
    bitmask = allocate_token_bitmask(1, matcher.grammar.vocabulary.size)
    matcher.fill_next_token_bitmask(bitmask)
    return [int(word) for word in bitmask[0]]


def state(matcher: Matcher) -> tuple[object, ...]:
    """All that a matcher tells of itself."""
    return bits(matcher), matcher.is_accepting, matcher.is_terminated, matcher.forced_bytes(), matcher.num_tokens


@given(any_cases())
@laws
def test_a_grammar_compiles_exactly_if_it_has_a_text(case: Case) -> None:
    if case.has_text:
        assert case.compile().matcher().num_tokens == 0
    else:
        with pytest.raises(UnsatisfiableGrammar):
            case.compile()


@given(cases, st.data())
@laws
def test_masks_equal_the_slow_twin(case: Case, data: st.DataObject) -> None:
    walk = Walk(case)
    for _ in range(STEPS):
        assert set(walk.matcher.allowed_token_ids()) == walk.expected()
        assert walk.matcher.is_accepting == walk.chart.is_accepting
        if walk.step(data) is None:
            event("reached the end")
            break


Body = Callable[[Builder, NodeId], NodeId]


def wide(builder: Builder) -> NodeId:
    """A set of characters with a large automaton, which a network may hold once for all its uses."""
    return builder.charset(difference(ANY, from_ranges([(97, 97)])))


LEFT_RECURSIVE: dict[str, Body] = {
    "s = (wide | s)+": lambda b, s: b.repeat(b.alternation(wide(b), s), 1),
    "s = a | (s wide)+": lambda b, s: b.alternation(b.literal("a"), b.repeat(b.sequence(s, wide(b)), 1)),
    "s = a | s wide": lambda b, s: b.alternation(b.literal("a"), b.sequence(s, wide(b))),
    "s = a? s wide | wide": lambda b, s: b.alternation(b.sequence(b.optional(b.literal("a")), s, wide(b)), wide(b)),
    "s = s s | wide a": lambda b, s: b.alternation(b.sequence(s, s), b.sequence(wide(b), b.literal("a"))),
    "s = (s{2,3} wide | a)*": lambda b, s: b.repeat(
        b.alternation(b.sequence(b.repeat(s, 2, 3), wide(b)), b.literal("a")), 0
    ),
}


@pytest.mark.parametrize("name", LEFT_RECURSIVE)
def test_left_recursion_around_a_large_part(name: str) -> None:
    builder = Builder()
    rule = builder.declare_rule("s")
    builder.define_rule(rule, LEFT_RECURSIVE[name](builder, builder.call(rule)))
    tokens = [bytes((byte,)) for byte in range(256)] + [b"aa", b"ab", b"ba", "éa".encode(), None]
    case = Case(builder.finish(builder.call(rule)), Vocabulary.from_bytes(tokens, eos_token_ids=[260]))
    for seed in range(4):
        walk, choice = Walk(case), Random(seed).choice
        for _ in range(STEPS):
            assert set(walk.matcher.allowed_token_ids()) == walk.expected()
            if not (ways := walk.ways_on()):
                break
            walk.take(choice(ways))


@given(cases, st.data())
@laws
def test_a_mask_bit_is_set_exactly_if_the_token_can_be_consumed(case: Case, data: st.DataObject) -> None:
    walk = Walk(case)
    for _ in range(STEPS):
        before = state(walk.matcher)
        allowed = set(walk.matcher.allowed_token_ids())
        for token_id in range(-1, walk.vocabulary.size + 1):
            if token_id in allowed:
                assert walk.matcher.fork().try_consume([token_id]) == 1
            else:
                assert walk.matcher.try_consume([token_id]) == 0
        assert state(walk.matcher) == before
        refused = data.draw(st.sampled_from(sorted({*range(-1, walk.vocabulary.size + 1)} - allowed)))
        with pytest.raises(TokenRefused):
            walk.matcher.consume(refused)
        assert state(walk.matcher) == before
        if walk.step(data) is None:
            break


@given(cases, st.data())
@laws
def test_members_are_consumed_and_what_is_no_prefix_is_refused_whole(case: Case, data: st.DataObject) -> None:
    matcher, chart = case.compile().matcher(), case.recogniser.chart()
    member = data.draw(sentences(case.ir, soft_length=16), label="member")
    cut = data.draw(st.integers(0, len(member)))
    assert matcher.consume_bytes(member[:cut])
    before = state(matcher)
    other = data.draw(st.binary(min_size=1, max_size=3) | st.text("ab", min_size=1).map(str.encode), label="other")
    assert matcher.consume_bytes(other) == chart.read_all(member[:cut]).read_all(other).is_viable
    if matcher.num_tokens > 1:
        matcher.rollback(1)
    assert state(matcher) == before
    assert matcher.consume_bytes(member[cut:])
    assert matcher.is_accepting


@given(cases, st.data())
@laws
def test_rollback_undoes_consuming_bit_for_bit(case: Case, data: st.DataObject) -> None:
    walk = Walk(case)
    states = [state(walk.matcher)]
    while len(states) <= STEPS and walk.step(data) is not None:
        states.append(state(walk.matcher))
    if walk.matcher.is_accepting and walk.vocabulary.eos_token_ids:
        walk.matcher.consume(data.draw(st.sampled_from(walk.vocabulary.eos_token_ids)))
        states.append(state(walk.matcher))
    while len(states) > 1:
        count = data.draw(st.integers(0, len(states) - 1))
        walk.matcher.rollback(count)
        states = states[: len(states) - count]
        assert state(walk.matcher) == states[-1]
        if count == 0:
            break
    with pytest.raises(ValueError, match="rollback"):
        walk.matcher.rollback(len(states))
    walk.matcher.reset()
    assert state(walk.matcher) == state(walk.matcher.grammar.matcher())


@given(cases, st.data())
@laws
def test_forks_and_matchers_of_one_grammar_are_independent(case: Case, data: st.DataObject) -> None:
    walk = Walk(case)
    walk.some_steps(data)
    before, fork = state(walk.matcher), walk.matcher.fork()
    assert state(fork) == before
    fork_walk = Walk(case, fork)
    fork_walk.chart = walk.chart
    fork_walk.some_steps(data)
    assert state(walk.matcher) == before
    fork.reset()
    assert state(walk.matcher) == before
    assert set(walk.matcher.allowed_token_ids()) == walk.expected()


@given(cases, st.data())
@laws
def test_forced_bytes_are_the_only_way_on(case: Case, data: st.DataObject) -> None:
    walk = Walk(case)
    for _ in range(STEPS):
        assert walk.matcher.forced_bytes() == forced(walk.chart)
        if walk.step(data) is None:
            break


def forced(chart: Chart) -> bytes:
    """Bytes that follow whatever is chosen: one way on, and no end."""
    text = bytearray()
    while not chart.is_accepting:
        ways = [byte for byte in range(256) if chart.read(byte).is_viable]
        if len(ways) != 1:
            break
        text.append(ways[0])
        chart = chart.read(ways[0])
    return bytes(text)


@given(cases, st.data())
@laws
def test_forced_tokens_are_the_only_tokens(case: Case, data: st.DataObject) -> None:
    walk = Walk(case)
    for _ in range(STEPS):
        chart = walk.chart
        for token_id in walk.matcher.forced_tokens()[:20]:
            assert not chart.is_accepting
            assert chart.allowed(walk.vocabulary.tokens) == {token_id}
            chart = chart.read_all(walk.text(token_id))
        if walk.step(data) is None:
            break


@given(cases, st.data())
@laws
def test_after_an_end_token_only_end_tokens_are_set_and_nothing_is_taken(case: Case, data: st.DataObject) -> None:
    vocabulary, matcher = case.vocabulary, case.compile().matcher()
    assert matcher.consume_bytes(data.draw(sentences(case.ir, soft_length=16)))
    ends = set(vocabulary.eos_token_ids)
    assert ends <= set(matcher.allowed_token_ids())
    matcher.consume(data.draw(st.sampled_from(sorted(ends))))
    assert matcher.is_terminated
    assert matcher.is_accepting
    before = state(matcher)
    assert set(matcher.allowed_token_ids()) == ends
    assert [matcher.try_consume([token_id]) for token_id in range(vocabulary.size)] == [0] * vocabulary.size
    assert not matcher.consume_bytes(b"a")
    assert (matcher.forced_bytes(), matcher.forced_tokens()) == (b"", [])
    assert state(matcher) == before


@given(cases, st.data())
@laws
def test_rows_of_a_batch_are_independent(case: Case, data: st.DataObject) -> None:
    compiled = case.compile()
    walks = [Walk(case, compiled.matcher()) for _ in range(3)]
    for walk in walks:
        walk.some_steps(data)
    together = allocate_token_bitmask(5, walks[0].vocabulary.size)
    rows = data.draw(st.permutations(range(5)))
    for walk, row in zip(walks, rows[:3], strict=True):
        walk.matcher.fill_next_token_bitmask(together, row)
    for walk, row in zip(walks, rows[:3], strict=True):
        assert together[row].tolist() == bits(walk.matcher)
    assert np.all(together[rows[3:]] == -1), "a row that nobody filled was written to"


@given(cases, st.data())
@laws
def test_bits_beyond_the_vocabulary_stay_clear(case: Case, data: st.DataObject) -> None:
    walk = Walk(case)
    row = np.array(bits(walk.matcher), np.int32).view(np.uint8)
    assert not np.unpackbits(row, bitorder="little")[walk.vocabulary.size :].any()


@contextmanager
def at_most(seconds: int) -> Iterator[None]:
    """Ends what would go on for ever."""

    def stop(*_: object) -> None:
        raise TimeoutError(f"still running after {seconds} seconds")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def test_a_mask_that_needs_more_than_all_room_is_a_named_limit() -> None:
    builder = Builder()
    words = [
        builder.sequence(builder.literal(chr(97 + i)), builder.repeat(builder.literal("a"), i, i)) for i in range(24)
    ]
    ir = builder.finish(builder.sequence(builder.alternation(*words), builder.literal("x")))
    vocabulary = Vocabulary.from_bytes([bytes((byte,)) for byte in range(256)] + [None], eos_token_ids=[256])
    with at_most(20), pytest.raises(LimitExceeded, match="max_configurations"):
        compile_ir(ir, vocabulary, limits=Limits(max_configurations=16)).matcher().allowed_token_ids()


@pytest.mark.parametrize("minimum", [0, 1, 2])
def test_left_recursion_of_a_rule_that_is_empty_by_a_fragment_s_epsilon_edges(minimum: int) -> None:
    builder = Builder()
    rule = builder.declare_rule("s")
    nothing_or_more = builder.fragment((3, ((0, 1, 0, 2), (2, 98, 98, 2), (2, 1, 0, 1))))
    again = builder.sequence(builder.call(rule), builder.literal("a"))
    builder.define_rule(rule, builder.alternation(builder.repeat(nothing_or_more, minimum, 3), again))
    vocabulary = Vocabulary.from_bytes([b"a", b"b", b"ba", b"c", None], eos_token_ids=[4])
    walk = Walk(Case(builder.finish(builder.call(rule)), vocabulary))
    for token_id in (0, 0):
        assert set(walk.matcher.allowed_token_ids()) == walk.expected()
        walk.take(token_id)
    assert set(walk.matcher.allowed_token_ids()) == walk.expected()


def spellings(text: bytes, vocabulary: Vocabulary) -> list[int] | None:
    """Some tokens that write ``text``, as few as possible; ``None`` if none do."""
    best: list[list[int] | None] = [[]] + [None] * len(text)
    for end in range(1, len(text) + 1):
        for token_id, token in enumerate(vocabulary.tokens):
            if token and text[:end].endswith(token):
                before = best[end - len(token)]
                if before is not None and len(before) + 1 < len(best[end] or range(end + 1)):
                    best[end] = [*before, token_id]
    return best[-1]


@given(any_cases(complete=False).filter(lambda case: case.has_text), st.data())
@laws
def test_a_vocabulary_that_cannot_write_all_is_never_led_into_a_dead_end(case: Case, data: st.DataObject) -> None:
    member = data.draw(sentences(case.ir, soft_length=16))
    tokens = spellings(member, case.vocabulary)
    try:
        walk = Walk(case)
        if tokens is not None:
            event("a member that can be written")
            matcher = walk.matcher.fork()
            for token_id in tokens:
                matcher.consume(token_id)
            assert matcher.is_accepting
        for _ in range(STEPS):
            allowed = set(walk.matcher.allowed_token_ids())
            assert allowed
            assert allowed <= walk.expected()
            ways = sorted(allowed - set(case.vocabulary.eos_token_ids))
            if not ways:
                assert walk.chart.is_accepting
                break
            walk.take(data.draw(st.sampled_from(ways)))
    except UnsatisfiableGrammar:
        event("no member can be written")
        assert tokens is None
    except LimitExceeded:
        event("too large a search")


@given(cases, st.data())
@laws
def test_full_tables_change_no_result(case: Case, data: st.DataObject) -> None:
    """The same walk in a machine with hardly any room: the same masks, or a named limit."""
    walk = Walk(case)
    start = state(walk.matcher)
    tokens = walk.some_steps(data)
    plain = walk.matcher.grammar.matcher()
    try:
        with at_most(30):
            tight = compile_ir(case.ir, case.vocabulary, limits=TIGHT).matcher()
            for token_id in tokens:
                assert state(tight) == state(plain)
                tight.consume(token_id)
                plain.consume(token_id)
            assert state(tight) == state(plain)
            tight.rollback(len(tokens))
            assert state(tight) == start
    except LimitExceeded as error:
        event(f"too tight: {error.limit}")
