"""Output text as it comes."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from constrained.loop.text import OutputText

stops = st.lists(st.text("abé", min_size=1, max_size=4), max_size=3)


def cut(data: bytes, at: list[int]) -> list[bytes]:
    places = sorted({0, len(data), *(place % (len(data) + 1) for place in at)})
    return [data[first:last] for first, last in itertools.pairwise(places)]


@given(text=st.text(), at=st.lists(st.integers(0, 200)))
def test_pieces_make_the_text_however_it_is_cut(text: str, at: list[int]) -> None:
    output = OutputText()
    pieces = [output.feed(piece) for piece in cut(text.encode(), at)]
    assert "".join(pieces) + output.finish() == output.whole == text


@given(text=st.text("abé", max_size=30), stop=stops, at=st.lists(st.integers(0, 60)))
def test_the_first_stop_text_cuts_and_nothing_of_it_is_given(text: str, stop: list[str], at: list[int]) -> None:
    output = OutputText(stop=stop)
    given_so_far = ""
    for piece in cut(text.encode(), at):
        given_so_far += output.feed(piece)
        if output.is_stopped:
            break
    given_so_far += output.finish()
    # The stop text that ends first is the one that is seen, since text comes from the left.
    ends = [text.find(one) + len(one) for one in stop if one in text]
    assert output.is_stopped == bool(ends)
    assert given_so_far == output.whole
    assert text.startswith(given_so_far)
    if not ends:
        assert given_so_far == text
    else:
        assert not any(one in given_so_far for one in stop)
        assert any(text.startswith(one, len(given_so_far)) for one in stop)


@given(text=st.text("ab", min_size=1, max_size=20), stop=st.lists(st.text("ab", min_size=1, max_size=4), max_size=3))
def test_no_more_is_held_back_than_may_become_a_stop_text(text: str, stop: list[str]) -> None:
    output = OutputText(stop=stop)
    for index in range(len(text)):
        output.feed(text[index].encode())
        if output.is_stopped:
            return
        held = text[len(output.whole) : index + 1]
        assert not held or any(one.startswith(held) for one in stop)


@pytest.mark.parametrize(
    ("pieces", "expected"),
    [
        ([b"a\xff", b"b"], "a\ufffdb"),
        ([b"\xf0\x9f", b"\x98\x80!"], "\U0001f600!"),
        ([b"a\xf0\x9f"], "a"),
        ([b"\xe2", b"a"], "\ufffda"),
    ],
)
def test_bytes_that_are_no_text(pieces: list[bytes], expected: str) -> None:
    output = OutputText()
    for piece in pieces:
        output.feed(piece)
    output.finish()
    assert output.whole == expected
