"""Hypothesis strategies: JSON values that are valid under a schema, and values that are not."""

from __future__ import annotations

import json
import warnings
from random import Random
from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st
from jsonschema.validators import validator_for

from ..judge import AGREED_FORMATS, JsonschemaJudge, formats_of
from ..subjects import byte_vocabulary
from ..walks import POLICIES, random_walk
from .instances import schema_instances
from .schemas import json_values

if TYPE_CHECKING:
    from grammars import CompiledGrammar

__all__ = ["instances", "invalid_instances", "judge_of"]


def instances(schema: Any, *, formats: bool | None = None) -> st.SearchStrategy[Any]:
    """JSON values that are valid under a schema of any draft: a dict, a boolean, or its JSON text.

    Values come from the schema's own names, constants and bounds, and from texts that our grammar of it may write; each
    is valid by the verdict of `jsonschema`, whatever our engine says of it. ``formats`` says whether ``format`` is a
    constraint; by default where `jsonschema` and the specification agree on every format in the schema. Draws of a
    schema that allows nothing end in :class:`hypothesis.errors.Unsatisfiable`.

    >>> from hypothesis import find, settings
    >>> tree = {"type": "object", "properties": {"next": {"$ref": "#"}, "n": {"const": 3}}, "required": ["n"]}
    >>> find(instances(tree), lambda value: "next" in value, settings=settings(database=None))["next"]["n"]
    3
    """
    schema = _checked(schema)
    judge = judge_of(schema, formats=formats)
    return _candidates(schema).filter(judge.allows)


def invalid_instances(schema: Any, *, formats: bool | None = None) -> st.SearchStrategy[Any]:
    """JSON values that are not valid, most of them nearly: one part of a valid value is another, missing, or too much.

    The verdict is that of `jsonschema`; ``formats`` as :func:`instances` has it. Nothing at all for a schema that is
    ``True`` or empty.

    >>> from hypothesis import find
    >>> find(invalid_instances({"enum": ["yes", "no"]}), lambda value: isinstance(value, str)) in ("yes", "no")
    False
    """
    schema = _checked(schema)
    if schema is True or schema == {}:
        return st.nothing()
    judge = judge_of(schema, formats=formats)
    near = changed_values(_candidates(schema))
    return st.one_of(json_values(), schema_instances(schema), near, near).filter(lambda value: not judge.allows(value))


def judge_of(schema: Any, *, formats: bool | None = None) -> JsonschemaJudge:
    """The judge of a schema; by default ``format`` is a constraint where `jsonschema` and the specification agree."""
    return JsonschemaJudge(schema, formats=formats_of(schema) <= AGREED_FORMATS if formats is None else formats)


def _checked(schema: Any) -> Any:
    """The schema, read. Raises jsonschema.SchemaError for what is none, ValueError for text that is no JSON."""
    schema = json.loads(schema) if isinstance(schema, str) else schema
    validator_for(schema).check_schema(schema)
    return schema


def _candidates(schema: Any) -> st.SearchStrategy[Any]:
    """Values that are often valid."""
    near = schema_instances(schema)
    grammar = _grammar(schema)
    if grammar is None:
        return near
    if grammar.open_guards is None:
        return st.one_of(near, _written(grammar))
    return st.one_of(near, _written(grammar), _walked(grammar))


def _grammar(schema: Any) -> CompiledGrammar | None:
    """Our grammar of it, where there is one."""
    from grammars import GrammarError, compile_json_schema

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return compile_json_schema(schema, byte_vocabulary(), whitespace="compact", on_unsupported="relax")
    except GrammarError:  # it allows nothing, or is too large: the values that need no grammar are left
        return None


@st.composite
def _written(draw: st.DrawFn, grammar: CompiledGrammar) -> Any:
    """What the masks allow, byte by byte; whatever ends things first, so that it shrinks."""
    matcher = grammar.matcher()
    text = bytearray()
    while True:
        allowed = sorted(matcher.allowed_token_ids(), key=_RANK.__getitem__)
        if not allowed or len(text) > _MOST_BYTES:
            return draw(st.nothing())
        closes = len(text) > _MOST_BYTES // 4 or draw(st.integers(0, 2)) < 2
        byte = allowed[0] if closes or len(allowed) == 1 else draw(st.sampled_from(allowed))
        if byte == _END:
            return json.loads(bytes(text).decode())
        matcher.consume(byte)
        text.append(byte)


@st.composite
def _walked(draw: st.DrawFn, grammar: CompiledGrammar) -> Any:
    """What a random walk writes that goes back where it has no way on."""
    policy = POLICIES[draw(st.sampled_from(("closing", "evenly", "opening")))]
    random = Random(draw(st.integers(0, 2**32)))
    walk = random_walk(grammar.matcher(), random, policy=policy, max_tokens=_MOST_BYTES, max_rollbacks=40)
    return json.loads(walk.text) if walk.finished else draw(st.nothing())


_END = 256
_MOST_BYTES = 160
_SOONEST = (_END, *b'}]"0n:,')
_RANK = {byte: _SOONEST.index(byte) if byte in _SOONEST else 300 + byte for byte in range(_END + 1)}
"""Bytes in the order in which they bring a JSON text to its end."""


@st.composite
def changed_values(draw: st.DrawFn, values: st.SearchStrategy[Any]) -> Any:
    """A value with one part of it changed."""
    value = json.loads(json.dumps(draw(values)))
    places = list(_places(value))
    path = draw(st.sampled_from(places))
    if not path:
        return draw(_other(value))
    holder = value
    for step in path[:-1]:
        holder = holder[step]
    if draw(st.integers(0, 3)) == 0:
        del holder[path[-1]]
    else:
        holder[path[-1]] = draw(_other(holder[path[-1]]))
    return value


def _places(value: Any) -> list[tuple[Any, ...]]:
    """The paths of all parts of a value."""
    found: list[tuple[Any, ...]] = []
    pending: list[tuple[tuple[Any, ...], Any]] = [((), value)]
    while pending:
        path, part = pending.pop()
        found.append(path)
        if isinstance(part, dict):
            pending += [((*path, name), inner) for name, inner in part.items()]
        elif isinstance(part, list):
            pending += [((*path, index), inner) for index, inner in enumerate(part)]
    return found


def _other(value: Any) -> st.SearchStrategy[Any]:
    """Something near a value, or of another type."""
    near: list[st.SearchStrategy[Any]] = [json_values(max_leaves=3)]
    if isinstance(value, bool) or value is None:
        near.append(st.sampled_from((0, 1, "", "true", not value)))
    elif isinstance(value, int | float):
        near.append(st.sampled_from((value + 1, value - 1, -value, value + 0.5, str(value), 10 * value)))
    elif isinstance(value, str):
        near.append(st.sampled_from((value + "a", value[:-1], value[1:], value + value, value.upper(), value + "\n")))
    elif isinstance(value, list):
        near.append(st.sampled_from((value[:-1], value + value[-1:], value[::-1], [*value, None], [value])))
    else:
        more = [{**value, name: None} for name in ("a", "zz", "")]
        fewer = [{name: inner for name, inner in value.items() if name != left_out} for left_out in value]
        near.append(st.sampled_from([*fewer, *more]))
    return st.one_of(*near)
