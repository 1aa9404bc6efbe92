"""A grammar inside another has the language it had."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from constrained.testing.strategies import grammars as any_grammars
from constrained.testing.strategies import sentences
from grammars.frontends.json_schema import lower_json_schema
from grammars.guards import JsonBegins
from grammars.ir import IR, Builder
from grammars.ir.sentences import sample
from grammars.ir.splice import splice
from tests.reference.recogniser import Recogniser, accepts


@given(st.data(), any_grammars())
def test_spliced_grammars_keep_their_language(data: st.DataObject, ir: IR) -> None:
    builder = Builder()
    builder.define_rule(builder.declare_rule("another"), builder.epsilon)  # so that no id is what it was
    again = builder.finish(splice(ir, builder))
    there, back = Recogniser(ir), Recogniser(again)
    assert there.productive[ir.start] == back.productive[again.start]
    for members in (sentences(ir, soft_length=8), sentences(again, soft_length=8)):
        if not members.is_empty:
            text = data.draw(members)
            for written in (text, text[1:], text + b"a"):
                accepted = there.chart().read_all(written).is_accepting
                assert accepted == back.chart().read_all(written).is_accepting


def test_json_strings_and_text_coverage_survive() -> None:
    ir = lower_json_schema({"type": "object", "properties": {"a": {"const": "x"}, "b": {"type": "string"}}})
    builder = Builder()
    again = builder.finish(splice(ir, builder))
    fragments = ir.nodes[ir.nodes[:, 0] == 3]
    copied = again.nodes[again.nodes[:, 0] == 3]
    assert fragments[:, 2].any()
    assert copied[:, 2].any()
    for text in (b'{\n  "a": "x",\n  "b": "\xc3\xa9"\n}', b'{\n  "a": "y"\n}', next(sample(ir))):
        assert accepts(ir, text) == accepts(again, text)


def test_where_a_json_text_begins_is_marked_only_for_guards_that_are_asked() -> None:
    properties = {"type": "object", "properties": {"a": {"type": "integer"}}}
    for schema, is_marked in (({"type": "boolean"}, False), (properties, True)):
        builder = Builder()
        lowered = lower_json_schema(schema)
        assert lowered.guards  # declared, asked or not
        again = builder.finish(splice(lowered, builder, begins=JsonBegins()))
        assert (JsonBegins() in again.guards) == is_marked
