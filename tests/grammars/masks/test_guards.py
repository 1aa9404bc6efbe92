"""Guards: what a grammar says, less what is denied where a value ends."""

from __future__ import annotations

import json
from dataclasses import dataclass
from random import Random

import numpy as np
import pytest

from grammars import BatchFiller, Limits, Vocabulary, allocate_token_bitmask, compile_ir
from grammars.guards import DistinctItems, DistinctNames, Reading, ValidValue
from grammars.guards.questions import QUIET, UNKNOWN, Ahead
from grammars.ir import IR, Builder, NodeId
from grammars.matcher import Matcher

TOKENS = [bytes([byte]) for byte in range(256)]
TOKENS += [b"1,", b"12", b"1,1", b"1,2]", b'"a"', b'"a","a"', b'"b","', b"]]", b"],", b"[1", b"1],["]
TOKENS += [b'a"', b"\\u0061", b'"a":1,"a"']
TOKENS += [b"1,", b'"a"']  # twins
END = len(TOKENS)
VOCABULARY = Vocabulary.from_bytes([*TOKENS, None], eos_token_ids=[END])
TIGHT = Limits(max_configurations=40, max_items=800, max_stack_nodes=100, max_cached_masks=2, max_rollback_kept=3)


@dataclass(frozen=True)
class Answer:
    """Says the same to everything."""

    agrees: bool
    name: str = ""

    def holds(self, reading: Reading) -> bool:
        return self.agrees

    def denied_ahead(self, reading: Reading) -> Ahead:
        return QUIET if self.agrees else UNKNOWN


def arrays(builder: Builder, behind_item: NodeId, behind_array: NodeId) -> NodeId:
    """Arrays of numbers, strings of a and b (and escapes), and arrays."""
    array = builder.declare_rule("array")
    digit = builder.charset(((49, 50),))
    letter = builder.alternation(builder.charset(((97, 98),)), builder.literal("\\u0061"), builder.literal("\\n"))
    string = builder.sequence(builder.literal('"'), builder.repeat(letter, 0), builder.literal('"'))
    value = builder.alternation(builder.repeat(digit, 1), string, builder.call(array))
    item = builder.sequence(value, behind_item)
    more = builder.repeat(builder.sequence(builder.literal(","), item), 0)
    filled = builder.sequence(builder.literal("["), item, more, builder.literal("]"))
    builder.define_rule(array, builder.sequence(builder.alternation(builder.literal("[]"), filled), behind_array))
    return builder.call(array)


def grammar(item: object | None, array: object | None = None) -> IR:
    builder = Builder()
    behind = [builder.epsilon if question is None else builder.guard(question) for question in (item, array)]
    return builder.finish(arrays(builder, *behind))


def assert_same_along_a_walk(matcher: Matcher, twin: Matcher, seed: int, steps: int = 25) -> None:
    """Both allow the same all along a random walk."""
    random = Random(seed)
    for _ in range(steps):
        allowed = matcher.allowed_token_ids()
        assert allowed == twin.allowed_token_ids()
        assert matcher.is_accepting == twin.is_accepting
        token = random.choice(allowed)
        matcher.consume(token)
        twin.consume(token)
        if token == END:
            return


@pytest.mark.parametrize("limits", [Limits(), TIGHT])
def test_a_guard_that_agrees_changes_nothing(limits: Limits) -> None:
    plain = compile_ir(grammar(None), VOCABULARY)
    for item, array in [(Answer(True), None), (None, Answer(True)), (Answer(True), Answer(True, "other"))]:
        guarded = compile_ir(grammar(item, array), VOCABULARY, limits=limits)
        for seed in range(10):
            assert_same_along_a_walk(guarded.matcher(), plain.matcher(), seed)


def test_a_guard_that_denies_is_the_grammar_without_its_rule() -> None:
    def alternatives(guard: bool, both: bool) -> IR:
        builder = Builder()
        nothing = builder.epsilon
        first = builder.sequence(builder.literal("1"), builder.guard(Answer(False)) if guard else builder.never)
        second = builder.sequence(builder.literal("1"), builder.optional(builder.literal("2"))) if both else nothing
        one = builder.rule("one", builder.alternation(first, second))
        tail = builder.repeat(builder.sequence(builder.literal(","), one), 0)
        return builder.finish(builder.sequence(one, tail, builder.optional(builder.literal("1,1"))))

    for both in (False, True):
        denied = compile_ir(alternatives(True, both), VOCABULARY)
        without = compile_ir(alternatives(False, both), VOCABULARY)
        for seed in range(20):
            assert_same_along_a_walk(denied.matcher(), without.matcher(), seed)


def only_repeats(text: str) -> bool:
    """Whether the closed part of a text already repeats an item: the twin of :class:`DistinctItems`, by brute force."""
    stack: list[list[str]] = []
    start = index = 0
    while index < len(text):
        byte = text[index]
        if byte == '"':
            end = index + 1
            while end < len(text) and text[end] != '"':
                end += 2 if text[end] == "\\" else 1
            if end >= len(text):
                return False
            item = json.dumps(json.loads(text[index : end + 1]))
            if item in stack[-1]:
                return True
            stack[-1].append(item)
            index = end
        elif byte == "[":
            stack.append([])
        elif byte in "]," and text[index - 1] in "12":
            start = index
            while text[start - 1] in "12":
                start -= 1
            if text[start:index] in stack[-1]:
                return True
            stack[-1].append(text[start:index])
        if byte == "]":
            done = stack.pop()
            if stack:
                item = "[" + ",".join(done) + "]"
                if item in stack[-1]:
                    return True
                stack[-1].append(item)
        index += 1
    return False


@pytest.mark.parametrize("limits", [Limits(), TIGHT])
@pytest.mark.parametrize("seed", range(12))
def test_distinct_items_token_by_token(seed: int, limits: Limits) -> None:
    """A token is allowed if the plain grammar allows it and it repeats no item; a matcher that went back agrees."""
    plain = compile_ir(grammar(None), VOCABULARY).matcher()
    matcher = compile_ir(grammar(DistinctItems()), VOCABULARY, limits=limits).matcher()
    random = Random(seed)
    text = ""
    for _ in range(25):
        expected = [
            token for token in plain.allowed_token_ids()
            if token == END or not only_repeats(text + TOKENS[token].decode("latin-1"))
        ]  # fmt: skip
        assert matcher.allowed_token_ids() == expected, text
        away = matcher.fork()
        for token in random.sample(range(END), 20):
            assert bool(away.try_consume([token])) == (token in expected), (text, TOKENS[token])
            away.rollback(away.num_tokens - matcher.num_tokens)
        token = random.choice(expected)
        matcher.consume(token)
        plain.consume(token)
        if token == END:
            break
        text += TOKENS[token].decode("latin-1")
        if random.random() < 0.2:
            matcher.consume_bytes(b"")
            matcher.rollback(1)


def test_items_are_compared_by_value() -> None:
    builder = Builder()
    values = ["1", "1.0", "1e0", "true", '"a"', '"\\u0061"', '{"a":1,"b":2}', '{"b":2,"a":1.0}', "[1]", "[1.0]", "null"]
    item = builder.sequence(builder.literals([value.encode() for value in values]), builder.guard(DistinctItems()))
    more = builder.repeat(builder.sequence(builder.literal(", "), item), 0)
    ir = builder.finish(builder.sequence(builder.literal("["), item, more, builder.literal("]")))
    compiled = compile_ir(ir, VOCABULARY)
    for left in values:
        for right in values:
            matcher = compiled.matcher()
            accepted = matcher.consume_bytes(f"[{left}, {right}]".encode())
            one, other = json.loads(left), json.loads(right)
            same = one == other and isinstance(one, bool) == isinstance(other, bool)
            assert accepted != same, (left, right)


def test_items_of_the_array_around_are_asked_about_from_within() -> None:
    """The inner array is free; what it must differ from are its elder siblings, and one token may end both."""
    builder = Builder()
    number = builder.repeat(builder.charset(((49, 50),)), 1)
    inner = builder.sequence(
        builder.literal("["),
        number,
        builder.repeat(builder.sequence(builder.literal(","), number), 0),
        builder.literal("]"),
    )
    item = builder.sequence(inner, builder.guard(DistinctItems()))
    more = builder.repeat(builder.sequence(builder.literal(","), item), 0)
    many = [b"1%d],[" % index for index in range(1, 3)] + [b"%d]" % index for index in range(1, 30)]
    vocabulary = Vocabulary.from_bytes([*TOKENS, *many, None], eos_token_ids=[END + len(many)])
    whole = builder.sequence(builder.literal("["), item, more, builder.literal("]"))
    compiled = compile_ir(builder.finish(whole), vocabulary)
    matcher = compiled.matcher()
    assert matcher.consume_bytes(b"[[1,1],[2],[")
    allowed = matcher.allowed_token_ids()
    for text, right in [(b"2]", False), (b"1]", True), (b"12]", True), (b"1],[", True), (b"1,1", True)]:
        ids = [index for index, token in enumerate(vocabulary.tokens) if token == text]
        assert ids
        assert all((index in allowed) == right for index in ids), text


def test_names_are_compared_unescaped() -> None:
    builder = Builder()
    letter = builder.alternation(builder.charset(((97, 98),)), builder.literal("\\u0061"))
    name = builder.sequence(builder.literal('"'), builder.repeat(letter, 1), builder.literal('"'))
    member = builder.sequence(name, builder.guard(DistinctNames()), builder.literal(":1"))
    more = builder.repeat(builder.sequence(builder.literal(","), member), 0)
    object_ = builder.sequence(builder.literal("{"), member, more, builder.literal("}"))
    compiled = compile_ir(builder.finish(object_), VOCABULARY)
    matcher = compiled.matcher()
    assert not matcher.fork().consume_bytes(b'{"a":1,"\\u0061":1}')
    assert matcher.fork().consume_bytes(b'{"a":1,"\\u0061b":1,"b":1}')
    assert matcher.consume_bytes(b'{"a":1,"')
    assert TOKENS.index(b'a"') not in matcher.allowed_token_ids()


def test_valid_value_sees_exact_numbers() -> None:
    builder = Builder()
    seen: list[object] = []

    def check(value: object) -> bool:
        seen.append(value)
        return True

    ir = builder.finish(builder.sequence(builder.literal("[1,0.1]"), builder.guard(ValidValue("check", check))))
    assert compile_ir(ir, VOCABULARY).matcher().consume_bytes(b"[1,0.1]")
    assert str(seen) == "[[1, Decimal('0.1')]]"


@pytest.mark.parametrize("threads", [1, 2])
def test_batches_ask_each_sequence(threads: int) -> None:
    """Sequences that stand in one configuration with other items behind them, and walks by many threads."""
    texts = ["[1,", "[2,", "[1,2,", '["a",', '["a","b",', "[[1],", "[[1],[2", "[", "[1", '["']
    together, alone = (compile_ir(grammar(DistinctItems()), VOCABULARY) for _ in range(2))
    matchers = [together.matcher() for _ in texts * 2]
    expected = allocate_token_bitmask(len(matchers), VOCABULARY.size)
    for row, (matcher, text) in enumerate(zip(matchers, texts * 2, strict=True)):
        twin = alone.matcher()
        assert matcher.consume_bytes(text.encode())
        assert twin.consume_bytes(text.encode())
        twin.fill_next_token_bitmask(expected, row)
    with BatchFiller(threads=threads) as filler:
        for _ in range(2):
            bitmask = allocate_token_bitmask(len(matchers), VOCABULARY.size)
            filler.fill(matchers, bitmask)
            np.testing.assert_array_equal(bitmask, expected)


def test_a_spelling_with_escapes_is_denied_as_well() -> None:
    matcher = compile_ir(grammar(DistinctItems()), VOCABULARY).matcher()
    assert matcher.consume_bytes(rb'["\n","ab","')
    tokens = {TOKENS[token] for token in matcher.allowed_token_ids()}
    assert b'a"' in tokens
    assert b"\\u0061" in tokens
    assert matcher.fork().consume_bytes(b'\\u0061"')
    assert not matcher.fork().consume_bytes(b'\\u0061b"')
    assert not matcher.fork().consume_bytes(rb'\n"')
