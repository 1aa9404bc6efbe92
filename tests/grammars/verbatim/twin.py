"""The slow twin of verbatim text: Python's ``in``, and regular expressions for what a word is."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

from hypothesis import strategies as st

from grammars import Vocabulary
from grammars.ir import IR, Builder, NodeId
from grammars.ir.verbatim import Spelling, Unit, Verbatim

__all__ = ["SHAPES", "documents", "pieces", "spelled", "verbatim_ir", "vocabularies_of", "written_out_ir"]

_WORD, _LETTER = r"[\w\u0300-\u036f\u200d]", r"(?:[^\W\d_]|[\u0300-\u036f])"
_BEGINS = re.compile(
    rf"(?=\S)(?!(?<={_WORD}){_WORD})(?!(?<={_LETTER})['’])(?!(?<=\d)[.,])(?!(?<={_LETTER}['’]){_LETTER})(?!(?<=\d[.,])\d)"
)
_ENDS = re.compile(
    rf"(?<=\S)(?!(?<={_WORD}){_WORD})(?!(?<={_LETTER})['’]{_LETTER})(?!(?<={_LETTER}['’]){_LETTER})"
    r"(?!(?<=\d)[.,]\d)(?!(?<=\d[.,])\d)"
)


def pieces(document: str, by: Unit) -> set[str]:
    """Every piece of a document that verbatim text may be."""
    if by == "characters":
        begins, ends = range(len(document)), range(1, len(document) + 1)
        return {document[begin:end] for begin in begins for end in ends if begin < end}
    starts = [match.start() for match in _BEGINS.finditer(document)]
    stops = [match.start() for match in _ENDS.finditer(document)]
    return {document[start:stop] for start in starts for stop in stops if start < stop}


def spelled(text: str, spelling: Spelling) -> bytes:
    """How it is written."""
    return text.encode() if spelling == "plain" else json.dumps(text, ensure_ascii=spelling != "json")[1:-1].encode()


Shape = Callable[[Builder, NodeId], NodeId]


def _strings(builder: Builder, piece: NodeId) -> NodeId:
    quoted = builder.sequence(builder.literal('"'), piece, builder.literal('"'))
    return builder.sequence(
        builder.literal("["),
        quoted,
        builder.repeat(builder.sequence(builder.literal(", "), quoted), 0),
        builder.literal("]"),
    )


def _nested(builder: Builder, piece: NodeId) -> NodeId:
    rule = builder.declare_rule("nested")
    inside = builder.repeat(builder.alternation(piece, builder.call(rule)), 0)
    builder.define_rule(rule, builder.sequence(builder.literal("("), inside, builder.literal(")")))
    return builder.call(rule)


def _left_recursive(builder: Builder, piece: NodeId) -> NodeId:
    rule = builder.declare_rule("sum")
    more = builder.sequence(builder.call(rule), builder.literal("+"), piece)
    builder.define_rule(rule, builder.alternation(more, piece))
    return builder.call(rule)


def _beside_text(builder: Builder, piece: NodeId) -> NodeId:
    letters = builder.repeat(builder.charset(((0x61, 0x7A),)), 0, 4)
    return builder.sequence(
        builder.alternation(piece, builder.sequence(letters, builder.literal("!"))), builder.literal('"')
    )


def _before_text(builder: Builder, piece: NodeId) -> NodeId:
    return builder.sequence(
        builder.literal("a"), piece, builder.repeat(builder.charset(((0x61, 0x63), (0x20, 0x20))), 0)
    )


SHAPES: dict[str, Shape] = {
    "alone": lambda builder, piece: piece,
    "array of strings": _strings,
    "with spaces between": lambda builder, piece: builder.sequence(
        piece, builder.repeat(builder.sequence(builder.literal(" "), piece), 0, 2)
    ),
    "two in a row": lambda builder, piece: builder.sequence(piece, piece),
    "optional": lambda builder, piece: builder.sequence(builder.optional(piece), builder.literal(".")),
    "nested": _nested,
    "left recursive": _left_recursive,
    "beside text": _beside_text,
    "before text": _before_text,
}
"""Places where verbatim text may stand."""


def verbatim_ir(shape: Shape, document: str, by: Unit, spelling: Spelling) -> IR:
    """The grammar with a verbatim node."""
    builder = Builder()
    return builder.finish(shape(builder, builder.verbatim(Verbatim(document, by, spelling))))


def written_out_ir(shape: Shape, document: str, by: Unit, spelling: Spelling) -> IR:
    """The same grammar with all pieces as literals."""
    builder = Builder()
    texts = [spelled(piece, spelling) for piece in pieces(document, by)]
    return builder.finish(shape(builder, builder.literals(texts)))


def documents(*, max_size: int = 14) -> st.SearchStrategy[str]:
    """Short texts with repeats, escapes, and characters of every length."""
    characters = st.sampled_from("aab bc1 2.,'\"\\\n\r\té€😀_(")
    parts = st.lists(st.text(characters, min_size=1, max_size=4), min_size=1, max_size=3)
    return st.builds(
        lambda few, order: "".join(few[i % len(few)] for i in order)[:max_size],
        parts,
        st.lists(st.integers(0, 2), min_size=1, max_size=5),
    ).filter(str.strip)


@st.composite
def vocabularies_of(draw: st.DrawFn, document: str) -> Vocabulary:
    """All single bytes, and a few longer tokens: pieces of the document among what stands around it."""
    around = st.sampled_from(['"', '", "', '["', '"]', " ", "+", "(", ")", "!", ".", "ab", "a b", "\\"])
    inside = st.builds(
        lambda begin, length: document[begin : begin + length], st.integers(0, len(document) - 1), st.integers(1, 4)
    )
    written = inside.map(lambda text: json.dumps(text, ensure_ascii=False)[1:-1])
    texts = st.lists(around | inside | written, min_size=1, max_size=3).map("".join)
    longer = draw(st.lists(texts.map(str.encode), max_size=12, unique=True))
    singles = [bytes((byte,)) for byte in range(256)]
    tokens = [*singles, *(token for token in longer if token not in singles), None]
    return Vocabulary.from_bytes(tokens, eos_token_ids=[len(tokens) - 1])
