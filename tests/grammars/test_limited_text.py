"""Text of so many tokens: masks against a slow twin that counts by itself, and what must hold on every walk."""

from __future__ import annotations

import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from constrained.testing.strategies import vocabularies
from grammars import CompiledGrammar, GrammarError, Limits, Matcher, Vocabulary, compile_ir
from grammars.ir import IR, Builder, NodeId
from grammars.ir.printer import to_ebnf
from grammars.ir.regular import TEXT, bytes_from_text, lengths, to_fragment, up_to_marker
from grammars.ir.utf8 import utf8_fragment
from grammars.ir.verbatim import Verbatim
from tests.reference.recogniser import Recogniser

BYTES = [bytes([byte]) for byte in range(256)]
ANY = ((0, 0xD7FF), (0xE000, 0x10FFFF))
laws = settings(deadline=None, max_examples=25, suppress_health_check=list(HealthCheck))
TIGHT = Limits(max_configurations=80, max_items=2_000, max_stack_nodes=100, max_cached_masks=2, max_rollback_kept=3)


def free(builder: Builder, marker: str, max_tokens: int | None) -> NodeId:
    """Text up to a marker, or any text for an empty one."""
    dfa = bytes_from_text(up_to_marker([marker]) if marker else lengths(TEXT, 0))
    fragment = to_fragment(dfa)
    return builder.fragment(fragment) if max_tokens is None else builder.limited(fragment, max_tokens)


def framed(marker: str, behind: str, max_tokens: int | None) -> IR:
    """``<``, the text, and something behind it."""
    builder = Builder()
    return builder.finish(
        builder.sequence(builder.literal("<"), free(builder, marker, max_tokens), builder.literal(behind))
    )


class Twin:
    """The text so far; from where on only the way out is left; how many tokens ended inside."""

    def __init__(self, marker: str, behind: str, max_tokens: int) -> None:
        self.marker, self.behind, self.max_tokens = marker, behind, max_tokens
        self.text, self.count = b"", 0
        self.chart = Recogniser(framed(marker, behind, None)).chart()

    def is_inside(self) -> bool:
        """Whether the text may stand inside, with something of it written."""
        if len(self.text) < 2:
            return False
        return not self.marker or self.marker.encode() not in self.text[1:]

    def take(self, data: bytes) -> None:
        self.text += data
        self.chart = self.chart.read_all(data)
        if not self.is_inside():
            self.count = 0
            return
        self.count += 1
        if self.count == self.max_tokens:
            self.leave()

    def leave(self) -> None:
        """From now on: what was begun is finished, the rest of the marker, and what comes behind."""
        self.count = -(1 << 30)
        builder = Builder()
        begun = re.search(rb"[\xc2-\xf4][\x80-\xbf]*\Z", self.text)
        whole = self.text
        ways = []
        if begun is not None and not _is_text(begun[0]):
            whole = self.text[: begun.start()]
            options = _characters(begun[0], self.marker)
            endings = builder.literals(options) if options else _rest(builder, begun[0])
            written = builder.sequence(builder.literal(whole), endings)
            ahead = self.marker.encode()
            if options:  # the character may be one of the marker: then it is
                ahead = b""
        else:
            written = builder.literal(whole)
            ahead = self.marker.encode()
            for length in range(len(self.marker) - 1, 0, -1):
                if whole[1:].endswith(self.marker[:length].encode()):
                    ahead = self.marker[length:].encode()
                    break
        ways.append(builder.sequence(written, builder.literal(ahead), builder.literal(self.behind)))
        if not self.marker:  # it may have ended before
            places = [place for place in range(1, len(self.text) + 1) if _is_text(self.text[:place])]
            ways += [
                builder.sequence(builder.literal(self.text[:place]), builder.literal(self.behind)) for place in places
            ]
        self.chart = Recogniser(builder.finish(builder.alternation(*ways))).chart().read_all(self.text)


def _is_text(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _characters(begun: bytes, marker: str) -> list[bytes]:
    """The marker's first character, if it begins like this and is all of it (markers here are short)."""
    return [marker.encode()] if len(marker) == 1 and marker.encode().startswith(begun) else []


def _rest(builder: Builder, begun: bytes) -> NodeId:
    """Every character that begins so."""
    found: list[tuple[int, int, int, int]] = []
    count, edges = utf8_fragment(ANY)
    state = 0
    for byte in begun:
        state = next(target for source, low, high, target in edges if source == state and low <= byte <= high)
    states = {0: count + 1, state: 0}
    for source, low, high, target in edges:
        found.append((states.get(source, source), low, high, states.get(target, target)))
    return builder.sequence(builder.literal(begun), builder.fragment((count + 2, tuple(found))))


def walk_of(matcher: Matcher, twin: Twin, data: st.DataObject, steps: int) -> list[int]:
    taken: list[int] = []
    tokens = matcher.grammar.tokens
    for _ in range(steps):
        ways = sorted(twin.chart.allowed(tokens))
        ends = set(matcher.grammar.vocabulary.eos_token_ids) if twin.chart.is_accepting else set()
        assert set(matcher.allowed_token_ids()) == set(ways) | ends
        if not ways or len(twin.text) > 24:
            break
        longer = [way for way in ways if len(tokens[way] or b"") > 1]
        token_id = data.draw(st.sampled_from(longer) | st.sampled_from(ways) if longer else st.sampled_from(ways))
        matcher.consume(token_id)
        twin.take(tokens[token_id] or b"")
        taken.append(token_id)
    return taken


@laws
@given(
    st.sampled_from(["", ">", "ab", "aab", "é", "</a>"]),
    st.sampled_from(["", "!", "ab"]),
    st.integers(1, 4),
    vocabularies(texts=("a", "b", "ab", ">", "é", "a>", "</", "日", "<")),
    st.booleans(),
    st.data(),
)
def test_masks_are_those_of_a_twin_that_counts(
    marker: str, behind: str, max_tokens: int, vocabulary: Vocabulary, is_tight: bool, data: st.DataObject
) -> None:
    ir = framed(marker, behind, max_tokens)
    grammar = compile_ir(ir, vocabulary, limits=TIGHT) if is_tight else compile_ir(ir, vocabulary)
    matcher = grammar.matcher()
    taken = walk_of(matcher, Twin(marker, behind, max_tokens), data, 9)
    back = data.draw(st.integers(0, len(taken)))
    fork = matcher.fork()
    matcher.rollback(back)
    fresh = grammar.matcher()
    assert fresh.try_consume(taken[: len(taken) - back]) == len(taken) - back
    assert matcher.allowed_token_ids() == fresh.allowed_token_ids()
    assert matcher.try_consume(taken[len(taken) - back :]) == back
    assert matcher.allowed_token_ids() == fork.allowed_token_ids()
    fork.reset()
    assert fork.allowed_token_ids() == grammar.matcher().allowed_token_ids()
    assert fork.try_consume(taken) == len(taken)


def finished(matcher: Matcher, draw: st.DataObject) -> bytes:
    """Random logits drawn to the end; the text."""
    tokens = matcher.grammar.tokens
    written: list[bytes] = []
    random = draw.draw(st.randoms(use_true_random=False))
    while not matcher.is_terminated:
        assert len(written) < 400
        allowed = matcher.allowed_token_ids()
        assert allowed
        token_id = random.choice(allowed)
        matcher.consume(token_id)
        written.append(tokens[token_id] or b"")
    return b"".join(written)


@laws
@given(st.integers(1, 6), vocabularies(texts=("a", "b", ",", "é", "日", "]")), st.data())
def test_every_walk_ends_in_time_and_valid(max_tokens: int, vocabulary: Vocabulary, data: st.DataObject) -> None:
    """Several limited texts, by themselves and in a loop with a rule: each visit counts anew."""
    builder = Builder()
    item = builder.rule("item", free(builder, ",", max_tokens))
    ir = builder.finish(
        builder.sequence(
            builder.literal("["), builder.repeat(item, 1, 3), free(builder, "]", 2), free(builder, "", max_tokens)
        )
    )
    matcher = compile_ir(ir, vocabulary).matcher()
    text = finished(matcher, data).decode()  # whole characters: no half of one is left
    assert re.fullmatch(r"\[([^,]*,){1,3}[^\]]*\].*", text, re.DOTALL)


@pytest.mark.parametrize("max_tokens", [1, 2, 5])
def test_never_more_than_so_many(max_tokens: int) -> None:
    vocabulary = Vocabulary.from_bytes([*BYTES, b"word", b">x", None], eos_token_ids=[258])
    matcher = compile_ir(framed(">", "x", max_tokens), vocabulary).matcher()
    matcher.consume(ord("<"))
    for _ in range(max_tokens):
        assert {256, 257, ord("a")} <= set(matcher.allowed_token_ids())
        matcher.consume(256)
    assert set(matcher.allowed_token_ids()) == {ord(">"), 257}
    assert matcher.forced_bytes() == b">x"
    matcher.rollback(1)
    matcher.consume(0xE6)  # half of a character, the last token
    assert set(matcher.allowed_token_ids()) == set(range(0x80, 0xC0))
    assert matcher.try_consume([0x97, 0xA5, 257, 258]) == 4
    assert matcher.is_terminated


def test_a_token_that_begins_before_counts_and_one_that_ends_behind_does_not() -> None:
    vocabulary = Vocabulary.from_bytes([*BYTES, b"<aa", b"a>x", None], eos_token_ids=[258])
    grammar = compile_ir(framed(">", "x", 2), vocabulary)
    matcher = grammar.matcher()
    assert matcher.try_consume([256, ord("a")]) == 2
    assert matcher.allowed_token_ids() == [ord(">")]
    matcher.rollback(1)
    assert matcher.try_consume([257]) == 1
    assert matcher.is_accepting


def test_text_without_tokens_does_not_count() -> None:
    vocabulary = Vocabulary.from_bytes([*BYTES, None], eos_token_ids=[256])
    matcher = compile_ir(framed(">", "x", 2), vocabulary).matcher()
    assert matcher.consume_bytes(b"<a long beginning")
    assert matcher.try_consume(b"ab") == 2
    assert matcher.allowed_token_ids() == [ord(">")]
    matcher.rollback(3)
    assert matcher.try_consume(b"<ab") == 3
    assert matcher.allowed_token_ids() == [ord(">")]


def test_another_way_to_read_the_text_is_not_lost() -> None:
    """What comes behind was begun inside: it may go on, and a text that was complete stays complete."""
    vocabulary = Vocabulary.from_bytes([*BYTES, None], eos_token_ids=[256])
    matcher = compile_ir(framed("", "END", 3), vocabulary).matcher()
    assert matcher.try_consume(b"<xEN") == 4
    assert matcher.allowed_token_ids() == sorted(b"DE")
    builder = Builder()
    either = builder.alternation(free(builder, ">", 2), builder.literal("ab"))
    matcher = compile_ir(builder.finish(either), vocabulary).matcher()
    assert matcher.try_consume(b"ab") == 2
    assert matcher.is_accepting
    assert matcher.allowed_token_ids() == [ord(">"), 256]


def test_beside_text_of_a_document() -> None:
    builder = Builder()
    document = builder.verbatim(Verbatim(document="a quote", by="characters", spelling="plain"))
    either = builder.alternation(free(builder, ">", 3), builder.sequence(document, builder.literal("!")))
    vocabulary = Vocabulary.from_bytes([*BYTES, None], eos_token_ids=[256])
    matcher = compile_ir(builder.finish(either), vocabulary).matcher()
    assert matcher.try_consume(b"quo") == 3
    assert matcher.allowed_token_ids() == sorted(b"t!>")
    assert matcher.try_consume(b"te!") == 3
    assert matcher.is_accepting


def test_completions_know_the_limit() -> None:
    vocabulary = Vocabulary.from_bytes([*BYTES, b"x>", None], eos_token_ids=[257])
    grammar: CompiledGrammar = compile_ir(framed(">", "!", 2), vocabulary)
    matcher = grammar.matcher()
    assert grammar.completions.tokens_to_end(matcher) == 3
    for token_id, needed in ((ord("<"), 2), (ord("a"), 2), (ord("b"), 2), (ord(">"), 1)):
        matcher.consume(token_id)
        assert grammar.completions.tokens_to_end(matcher) == needed


def test_refusals() -> None:
    builder = Builder()
    with pytest.raises(ValueError, match="max_tokens: expected at least 1, got 0"):
        builder.limited(to_fragment(lengths(((0, 255),), 0)), 0)
    many = builder.sequence(
        *(builder.sequence(free(builder, ">", count), builder.literal("-")) for count in range(1, 14))
    )
    vocabulary = Vocabulary.from_bytes([*BYTES, None], eos_token_ids=[256])
    with pytest.raises(GrammarError, match="at most 12 different values of max_tokens in one grammar, got 13"):
        compile_ir(builder.finish(many), vocabulary)
    poor = Vocabulary.from_bytes([b"<", b"a", b">!", None], eos_token_ids=[3])
    with pytest.raises(GrammarError, match="max_tokens: expected a vocabulary with a token for every byte"):
        compile_ir(framed(">", "!", 2), poor)


def test_a_grammar_for_people() -> None:
    assert "<at most 3 tokens of " in to_ebnf(framed("", "", 3))
