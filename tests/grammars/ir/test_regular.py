"""Laws of regular languages, on random automata and against membership of single texts."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grammars.errors import GrammarError, LimitExceeded
from grammars.frontends.regex import regex_automaton
from grammars.ir import Builder
from grammars.ir.charset import ANY, Charset, from_ranges
from grammars.ir.nodes import NodeId
from grammars.ir.regular import (
    BYTES,
    TEXT,
    Dfa,
    Nfa,
    bytes_from_text,
    complement,
    difference,
    equivalent,
    from_ir,
    includes,
    intersection,
    is_empty,
    length_range,
    lengths,
    minimise,
    one_of,
    shortest_member,
    symmetric_difference,
    text_from_bytes,
    to_fragment,
    to_node,
    union,
)
from grammars.ir.regular.alphabet import partition
from grammars.limits import Limits
from tests.reference.recogniser import accepts

LETTERS = "abc"
SHORT_TEXTS = ["".join(letters) for length in range(5) for letters in itertools.product(LETTERS, repeat=length)]
SETS: list[Charset] = [((97, 97),), ((98, 99),), ((97, 98),), ((0, 96), (98, 0xD7FF)), ANY]


@st.composite
def nfas(draw: st.DrawFn) -> Nfa:
    """Small automata over text, any shape."""
    nfa = Nfa(TEXT)
    count = draw(st.integers(1, 5))
    states = st.integers(0, count - 1)
    for _ in range(count):
        nfa.add_state()
    for source, charset, target in draw(st.lists(st.tuples(states, st.sampled_from(SETS), states), max_size=9)):
        nfa.add_edge(source, charset, target)
    for source, target in draw(st.lists(st.tuples(states, states), max_size=3)):
        nfa.add_epsilon(source, target)
    nfa.starts.extend(draw(st.lists(states, max_size=2)))
    nfa.finals.update(draw(st.lists(states, max_size=2)))
    return nfa


def automata() -> st.SearchStrategy[Dfa]:
    return nfas().map(Nfa.determinise)


def language(dfa: Dfa) -> set[str]:
    return {text for text in SHORT_TEXTS if dfa.accepts(map(ord, text))}


def walk(nfa: Nfa, text: str) -> bool:
    """The slow twin of the subset construction."""
    charsets = list(nfa.charsets)
    here = {state for start in nfa.starts for state in nfa.closure(start)}
    for letter in map(ord, text):
        here = {
            state
            for source in here
            for number, target in nfa.edges[source]
            if any(low <= letter <= high for low, high in charsets[number])
            for state in nfa.closure(target)
        }
    return not here.isdisjoint(nfa.finals)


@given(nfas())
def test_determinising_keeps_the_language(nfa: Nfa) -> None:
    dfa = nfa.determinise()
    for text in SHORT_TEXTS[:60]:
        assert dfa.accepts(map(ord, text)) == walk(nfa, text)


@given(nfas())
@settings(max_examples=60)
def test_nondeterministic_automata_in_the_intermediate_form(nfa: Nfa) -> None:
    builder = Builder()
    ir = builder.finish(to_node(nfa, builder))
    for text in SHORT_TEXTS[:40]:
        assert accepts(ir, text.encode()) == walk(nfa, text)


@given(automata(), automata())
def test_operations_are_those_of_sets(left: Dfa, right: Dfa) -> None:
    one, other = language(left), language(right)
    assert language(intersection(left, right)) == one & other
    assert language(union(left, right)) == one | other
    assert language(difference(left, right)) == one - other
    assert language(symmetric_difference(left, right)) == one ^ other
    assert language(complement(left)) == set(SHORT_TEXTS) - one


@given(automata(), automata())
def test_laws_of_boolean_algebra(left: Dfa, right: Dfa) -> None:
    assert equivalent(complement(complement(left)), left)
    assert equivalent(complement(union(left, right)), intersection(complement(left), complement(right)))
    assert equivalent(difference(left, right), intersection(left, complement(right)))
    assert equivalent(union(difference(left, right), intersection(left, right)), left)
    assert is_empty(intersection(left, complement(left)))
    assert includes(left, intersection(left, right))
    assert includes(left, right) == is_empty(difference(right, left))


@given(automata())
def test_minimising_keeps_the_language_and_is_least(dfa: Dfa) -> None:
    least = minimise(dfa)
    assert equivalent(least, dfa)
    assert len(least.accepting) <= len(dfa.accepting)
    # least: no two states accept the same texts
    for first, second in itertools.combinations(range(len(least.accepting)), 2):
        twins = (Dfa(least.alphabet, least.transitions, least.accepting, state) for state in (first, second))
        assert not equivalent(*twins)


@given(automata())
def test_every_state_matters(dfa: Dfa) -> None:
    for state in range(1, len(dfa.accepting)):
        assert shortest_member(Dfa(dfa.alphabet, dfa.transitions, dfa.accepting, state)) is not None
    assert not dfa.accepting[0]
    assert not dfa.transitions[0].any()


@given(automata())
def test_a_shortest_member_is_one(dfa: Dfa) -> None:
    member = shortest_member(dfa)
    if member is None:
        assert is_empty(dfa)
        assert not language(dfa)
        return
    assert dfa.accepts(member)
    assert is_empty(intersection(dfa, lengths(TEXT, 0, len(member) - 1))) if member else dfa.accepting[dfa.start]


@given(automata())
def test_length_ranges_are_exact(dfa: Dfa) -> None:
    found = length_range(dfa)
    if found is None:
        assert is_empty(dfa)
        return
    shortest, longest = found
    assert includes(lengths(TEXT, shortest, longest), dfa)
    assert not is_empty(intersection(dfa, lengths(TEXT, shortest, shortest)))
    most = len(dfa.accepting) + 5 if longest is None else longest  # more than the states: only a cycle is that long
    assert not is_empty(intersection(dfa, lengths(TEXT, most, longest)))


@given(automata())
@settings(max_examples=60)
def test_to_the_intermediate_form_and_back(dfa: Dfa) -> None:
    builder = Builder()
    ir = builder.finish(to_node(dfa, builder))
    for text in SHORT_TEXTS[:40]:
        assert accepts(ir, text.encode()) == dfa.accepts(map(ord, text))
    in_bytes = bytes_from_text(dfa)
    assert equivalent(text_from_bytes(in_bytes), dfa)
    if not is_empty(dfa):
        builder = Builder()
        spliced = builder.finish(builder.fragment(to_fragment(in_bytes)))
        assert equivalent(from_ir(spliced), in_bytes)


@pytest.mark.parametrize(
    "pattern", ["", "a*", "(?:ab|c){2,3}", "[^a]+", r"\w{3}", "x(?:y*z)?", "é|日|😀", "a{0,3}b", "(?:a|ab)(?:c|bc)"]
)
def test_the_intermediate_form_of_regexes_as_automata(pattern: str) -> None:
    from grammars.frontends.regex import lower_regex

    builder = Builder()
    ir = builder.finish(lower_regex(pattern, builder))
    assert equivalent(text_from_bytes(from_ir(ir)), regex_automaton(pattern))


def test_text_from_bytes_takes_only_well_formed_text() -> None:
    everything = complement(one_of(BYTES, []))
    assert equivalent(text_from_bytes(everything), complement(one_of(TEXT, [])))
    overlong = one_of(
        BYTES, [b"\xc0\x80", b"\xe0\x80\x80", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xff", b"\x80", b"\xc3"]
    )
    assert is_empty(text_from_bytes(overlong))


def test_a_chain_becomes_one_sequence() -> None:
    builder = Builder()
    assert to_node(one_of(TEXT, [map(ord, "abc" * 1000)]), builder) == builder.literal("abc" * 1000)


def test_loops_over_text_stay_repeats() -> None:
    builder = Builder()
    any_text = builder.repeat(builder.charset(ANY), 0)
    node = to_node(regex_automaton(r"(?s).*"), builder)
    assert node == any_text


def test_characters_are_written_as_the_caller_says() -> None:
    builder = Builder()
    quote = from_ranges([(34, 34)])

    def spelled(members: Charset) -> NodeId:
        return builder.literal('\\"') if members == quote else builder.charset(members)

    ir = builder.finish(to_node(regex_automaton('a"b?(?!c)'), builder, characters=spelled))
    assert accepts(ir, b'a\\"')
    assert accepts(ir, b'a\\"b')
    assert not accepts(ir, b'a"')


def test_pattern_and_length() -> None:
    both = intersection(regex_automaton("[0-9a-f]+"), lengths(TEXT, 2, 4))
    members = [text for text in ("a", "ab", "0f1e", "abcde", "xyz") if both.accepts(map(ord, text))]
    assert members == ["ab", "0f1e"]
    assert shortest_member(both) == (48, 48)


def test_lengths() -> None:
    assert shortest_member(lengths(BYTES, 3)) == (0, 0, 0)
    assert equivalent(lengths(TEXT, 0), complement(one_of(TEXT, [])))
    assert equivalent(lengths(TEXT, 0, 0), one_of(TEXT, [()]))
    assert is_empty(intersection(lengths(TEXT, 2, 4), lengths(TEXT, 5)))


def test_symbols_beyond_the_universe_are_never_members() -> None:
    everything = complement(one_of(TEXT, []))
    assert not everything.accepts([0xD800])
    assert not everything.accepts([0x110000])
    assert everything.accepts([0x10FFFF])


def test_different_universes_do_not_mix() -> None:
    with pytest.raises(ValueError, match="same universe"):
        union(lengths(TEXT, 1, 1), lengths(BYTES, 1, 1))


def test_what_is_no_finite_automaton_is_refused() -> None:
    builder = Builder()
    rule = builder.declare_rule("nested")
    builder.define_rule(
        rule, builder.optional(builder.sequence(builder.literal("("), builder.call(rule), builder.literal(")")))
    )
    with pytest.raises(GrammarError, match="got a call of rule 'nested'"):
        from_ir(builder.finish(builder.call(rule)))
    builder = Builder()
    with pytest.raises(GrammarError, match="got JSON_STRINGS"):
        from_ir(builder.finish(builder.json_strings(["a", "b"], every_spelling=True)))
    with pytest.raises(GrammarError, match="matches nothing"):
        to_fragment(one_of(BYTES, []))


def test_growth_without_bound_meets_a_limit() -> None:
    tight = Limits(max_states=20_000)
    with pytest.raises(LimitExceeded, match="max_states"):
        regex_automaton(".*a.{12}", limits=tight)
    left, right = (regex_automaton(f"(?:.{{{count}}})*") for count in (97, 101))
    with pytest.raises(LimitExceeded, match="a product of finite automata"):
        intersection(left, right, limits=tight)
    builder = Builder()
    with pytest.raises(LimitExceeded, match="a grammar as a finite automaton"):
        from_ir(builder.finish(builder.repeat(builder.charset(ANY), 0, 5000)), limits=tight)


@given(st.lists(st.lists(st.tuples(st.integers(0, 300), st.integers(0, 300)), max_size=4), max_size=4))
def test_partitions_tell_apart_exactly_what_the_sets_do(drawn: list[list[tuple[int, int]]]) -> None:
    charsets = [from_ranges(ranges) for ranges in drawn]
    alphabet, owned = partition(BYTES, charsets)
    class_of = {symbol: number for low, high, number in alphabet.intervals() for symbol in range(low, high + 1)}
    assert sorted(class_of) == list(range(256))
    for symbol in range(256):
        inside = [any(low <= symbol <= high for low, high in charset) for charset in charsets]
        assert inside == [class_of[symbol] in classes for classes in owned]
    assert len(alphabet.classes) == len({tuple(n in classes for classes in owned) for n in class_of.values()})


def test_one_of_is_exactly_these_texts() -> None:
    words = ["be", "bee", "", "zoo", "déjà"]
    dfa = one_of(TEXT, [map(ord, word) for word in words])
    for word in [*words, "b", "zo", "beee", "deja"]:
        assert dfa.accepts(map(ord, word)) == (word in words)
