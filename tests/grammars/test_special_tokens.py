"""Special tokens in grammars: masks against the slow twin, and that text and tokens never stand for one another."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from constrained.testing.strategies import grammars as random_grammars
from constrained.testing.strategies import vocabularies
from grammars import (
    GrammarError,
    Limits,
    TokenRefused,
    UnsatisfiableGrammar,
    Vocabulary,
    VocabularyError,
    compile_ir,
    compile_regex,
)
from grammars.ir import IR, Builder, NodeId
from grammars.ir.printer import to_ebnf
from grammars.ir.private import PRIVATE_BYTES, make_private, spelling_of
from grammars.ir.sentences import sample
from grammars.ir.splice import splice
from grammars.masks.batch import BatchFiller
from grammars.vocabulary.bitmask import allocate_token_bitmask, allowed_token_ids
from tests.reference.recogniser import Recogniser

BYTES = [bytes([byte]) for byte in range(256)]
END, EOT, CALL, TEXT = 256, 257, 258, 259
VOCABULARY = Vocabulary.from_bytes(
    [*BYTES, None, None, None, b"<|call|>", b"a\xff", b"ab"],
    eos_token_ids=[END, EOT],
    special_tokens={"<|end|>": END, "<|eot|>": EOT, "<|call|>": CALL},
)
ROOM = Limits(max_configurations=4_000, max_items=200_000, max_stack_nodes=50_000)


def text_of(*parts: str | int | tuple[str]) -> IR:
    """A sequence: a ``str`` is that text, a tuple of one name or an id a special token."""
    builder = Builder()
    nodes = [
        builder.special(part[0] if isinstance(part, tuple) else part)
        if not isinstance(part, str)
        else _text(builder, part)
        for part in parts
    ]
    return builder.finish(builder.sequence(*nodes))


def _text(builder: Builder, text: str) -> NodeId:
    return builder.literal(text)


@st.composite
def grammars_with_specials(draw: st.DrawFn) -> IR:
    """Random grammars, with special tokens before, between, behind and beside them."""
    builder = Builder()
    parts = [splice(draw(random_grammars()), builder) for _ in range(2)]
    parts += [builder.special(token) for token in draw(st.lists(st.sampled_from(["<|a|>", "<|b|>"]), min_size=1))]
    parts += [builder.repeat(builder.special("<|a|>"), 0, draw(st.sampled_from([2, None])))]
    order = draw(st.permutations(parts))
    half = draw(st.integers(0, len(order)))
    ways = builder.sequence(*order[:half]), builder.sequence(*order[half:])
    return builder.finish(builder.alternation(*ways) if draw(st.booleans()) else builder.sequence(*ways))


@settings(deadline=None, max_examples=20, suppress_health_check=list(HealthCheck))
@given(grammars_with_specials(), vocabularies(complete=True), st.data())
def test_masks_are_those_of_the_spelled_grammar(ir: IR, plain: Vocabulary, data: st.DataObject) -> None:
    names = {"<|a|>": plain.size, "<|b|>": data.draw(st.sampled_from([plain.size + 1, *plain.eos_token_ids]))}
    vocabulary = Vocabulary.from_bytes(
        [*plain.tokens, None, None], eos_token_ids=plain.eos_token_ids, special_tokens=names
    )
    try:
        grammar = compile_ir(ir, vocabulary, limits=ROOM)
    except (GrammarError, UnsatisfiableGrammar):  # it reads private bytes, or nothing
        assume(False)
    spelled = make_private(ir, [names[str(name)] for name in ir.specials])
    matcher, chart = grammar.matcher(), Recogniser(spelled).chart()
    for _ in range(6):
        ends = set(vocabulary.eos_token_ids) if chart.is_accepting else set()
        ways = sorted(chart.allowed(grammar.tokens))
        assert set(matcher.allowed_token_ids()) == set(ways) | ends
        assert matcher.allows_special == any(way in names.values() for way in ways if way not in ends or way in ways)
        if not ways or len(chart.columns) > 16:
            break
        special = [way for way in ways if way in names.values()]
        token_id = data.draw(st.sampled_from(special) | st.sampled_from(ways) if special else st.sampled_from(ways))
        matcher.consume(token_id)
        assert not matcher.is_terminated
        chart = chart.read_all(grammar.tokens[token_id] or b"")
    if matcher.num_tokens:
        before = matcher.num_tokens
        matcher.rollback(before)
        assert matcher.allowed_token_ids() == grammar.matcher().allowed_token_ids()


def test_one_token_and_nothing_else_is_read() -> None:
    matcher = compile_ir(text_of("a", ("<|call|>",), "b"), VOCABULARY).matcher()
    assert matcher.try_consume([97]) == 1
    assert matcher.allowed_token_ids() == [CALL]
    assert (matcher.forced_bytes(), matcher.forced_special(), matcher.allows_special) == (b"", CALL, True)
    for text in (b"<|call|>", b"\xff", b"\xff258\xff", spelling_of(CALL)):
        assert not matcher.consume_bytes(text)
    for token_id in (255, TEXT, END, *b"<"):
        with pytest.raises(TokenRefused):
            matcher.consume(token_id)
    matcher.consume(CALL)
    assert (matcher.forced_bytes(), matcher.forced_special(), matcher.forced_tokens()) == (b"b", None, [98])
    matcher.rollback(1)
    assert matcher.fork().allowed_token_ids() == [CALL]


def test_any_byte_is_never_a_special_token() -> None:
    matcher = compile_regex("(?s).*", VOCABULARY).matcher()
    assert CALL not in matcher.allowed_token_ids()
    assert not matcher.try_consume([CALL])
    builder = Builder()
    every = builder.repeat(builder.byte_range(0, 255), 0)
    assert CALL not in compile_ir(builder.finish(every), VOCABULARY).matcher().allowed_token_ids()
    ir = builder.finish(builder.sequence(every, builder.special("<|call|>")))
    with pytest.raises(GrammarError, match="reads the bytes C0, C1 or F5 to FF"):
        compile_ir(ir, VOCABULARY)


def test_other_grammars_keep_their_tables_and_masks() -> None:
    plain = Vocabulary.from_bytes(VOCABULARY.tokens, eos_token_ids=VOCABULARY.eos_token_ids)
    ours = compile_regex("[a-c]*", VOCABULARY).matcher()
    bitmask, other = allocate_token_bitmask(1, plain.size), allocate_token_bitmask(1, plain.size)
    ours.fill_next_token_bitmask(bitmask)
    compile_regex("[a-c]*", plain).matcher().fill_next_token_bitmask(other)
    assert (bitmask == other).all()
    assert (plain.tables == VOCABULARY.tables).all()
    special = compile_ir(text_of(("<|call|>",)), VOCABULARY)
    assert (VOCABULARY.tables == plain.tables).all()
    assert all(token is None or not any(byte in PRIVATE_BYTES for byte in token) for token in special.tokens[:CALL])
    assert compile_ir(text_of(CALL, "x"), VOCABULARY).tables is special.tables  # by name and by id: made once


def test_a_token_with_a_text_of_its_own_can_be_asked_for_by_its_id() -> None:
    matcher = compile_ir(text_of(TEXT, "<|call|>"), VOCABULARY).matcher()
    assert matcher.allowed_token_ids() == [TEXT]
    matcher.consume(TEXT)
    assert matcher.allowed_token_ids() == [ord("<")]  # where it is asked for, it is that token and no text


def test_an_end_token_that_is_asked_for_does_not_end() -> None:
    matcher = compile_ir(text_of("a", ("<|eot|>",), "b"), VOCABULARY).matcher()
    assert matcher.try_consume([97, EOT]) == 2
    assert not matcher.is_terminated
    assert matcher.allowed_token_ids() == [98]
    matcher.consume(98)
    assert matcher.allowed_token_ids() == [END, EOT]
    matcher.consume(EOT)
    assert matcher.is_terminated
    matcher.rollback(3)
    assert (matcher.is_terminated, matcher.allowed_token_ids()) == (False, [EOT])


def test_where_it_may_be_both_an_end_token_is_what_was_asked_for() -> None:
    builder = Builder()
    more = builder.sequence(builder.special("<|eot|>"), builder.literal("b"))
    matcher = compile_ir(
        builder.finish(builder.sequence(builder.literal("a"), builder.optional(more))), VOCABULARY
    ).matcher()
    matcher.consume(97)
    assert (matcher.is_accepting, matcher.allows_special) == (True, True)
    assert matcher.allowed_token_ids() == [END, EOT]
    assert matcher.forced_special() is None
    matcher.consume(EOT)
    assert matcher.allowed_token_ids() == [98]


def test_batches() -> None:
    grammar = compile_ir(text_of("ab", ("<|call|>",), ("<|eot|>",)), VOCABULARY)
    matchers = [grammar.matcher() for _ in range(6)]
    for count, matcher in enumerate(matchers):
        matcher.try_consume([97, 98, CALL, EOT][:count])
    bitmask = allocate_token_bitmask(6, VOCABULARY.size)
    with BatchFiller(threads=2) as filler:
        filler.fill(matchers, bitmask)
    expected = [matcher.allowed_token_ids() for matcher in matchers]
    assert [allowed_token_ids(row).tolist() for row in bitmask] == expected


def test_a_vocabulary_without_some_bytes() -> None:
    vocabulary = Vocabulary.from_bytes([b"a", b"b", None, None], eos_token_ids=[3], special_tokens={"<|x|>": 2})
    builder = Builder()
    ways = builder.alternation(builder.literal("ac"), builder.sequence(builder.literal("a"), builder.special("<|x|>")))
    matcher = compile_ir(builder.finish(ways), vocabulary).matcher()
    assert matcher.try_consume([0, 2, 3]) == 3


@pytest.mark.parametrize(
    ("token", "vocabulary", "message"),
    [
        ("<|eot>", VOCABULARY, "the vocabulary has no special token '<|eot>'; there is '<|eot|>'"),
        ("zzz", VOCABULARY, "expected one of '<|call|>', '<|end|>', '<|eot|>'"),
        (999, VOCABULARY, "a special token: expected ids from 0 to 261, got 999"),
        ("<|a|>", Vocabulary.from_bytes(BYTES, eos_token_ids=[]), "it names none at all: pass the id"),
    ],
)
def test_errors(token: str | int, vocabulary: Vocabulary, message: str) -> None:
    builder = Builder()
    ir = builder.finish(builder.special(token))
    with pytest.raises(VocabularyError) as caught:
        compile_ir(ir, vocabulary)
    assert message in str(caught.value)


def test_digests_tell_names_apart() -> None:
    tokens = [b"a", None]
    plain = Vocabulary.from_bytes(tokens, eos_token_ids=[])
    named = [
        Vocabulary.from_bytes(tokens, eos_token_ids=[], special_tokens={name: 1}) for name in ("<x>", "<y>", "<x>")
    ]
    assert len({plain.digest, *(vocabulary.digest for vocabulary in named)}) == 3


def test_a_grammar_for_people() -> None:
    ir = text_of("a", ("<|call|>",), 7)
    assert to_ebnf(ir) == 'root ::= "a" <special token "<|call|>"> <special token 7>'
    assert next(sample(ir)) == b"a<|call|>7"
