"""From nodes to the intermediate form: one rule for each array or object shape and depth, on a work list."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from decimal import Decimal
from typing import Any, Literal

from ...errors import GrammarError, Problem, UnsatisfiableGrammar, UnsupportedSchema
from ...guards import DistinctItems, DistinctNames, ValidValue
from ...ir import NodeId, RuleId
from ...ir.regular import Dfa
from ...ir.verbatim import Unit
from ...limits import DEFAULT_LIMITS, Limits
from .arrays import array_body
from .combine import number_fits, string_fits
from .emptiness import settle, why_empty
from .keywords import Draft
from .layout import DEEPEST_INDENT, ON_ONE_LINE, Layout
from .load import load_schema
from .normalise import Normaliser
from .notes import Lowered
from .number_parts import pointed_number, with_exponent
from .numbers import between_bounds, bounded_number, bounds_the_sign, number_values
from .objects import object_body
from .prelude import Prelude, prelude_of, verbatim_string
from .relax import left_out_notes, passes
from .resources import Registry
from .shapes import (
    ANY,
    FREE_ARRAY,
    FREE_INTEGER,
    FREE_NUMBER,
    FREE_OBJECT,
    FREE_STRING,
    ArrayShape,
    Goal,
    Node,
    NumberShape,
    ObjectShape,
    StringShape,
)
from .strings import constrained_string, string_language, string_values

__all__ = ["Lowering", "lower_json_schema"]

_MAX_STRINGS = 64
"""Alternatives of strings by patterns and formats; beyond this a guard tells them."""
_MAX_STEPPED = 12
"""Kinds of multiples, and of what is no multiple, that have automata of their own; a guard tells further ones."""
_INLINE_VALUES = 16
"""Longer lists of values become a rule, so that they are stored once however often they are used."""


def lower_json_schema(
    schema: Mapping[str, Any] | bool | str,
    *,
    whitespace: str = "indent=2",
    formats: Literal["assert", "annotate"] = "assert",
    property_order: Literal["schema", "any"] = "schema",
    registry: Registry | None = None,
    on_unsupported: Literal["error", "relax"] = "error",
    ensure_ascii: bool = False,
    verbatim: Unit | None = None,
    limits: Limits = DEFAULT_LIMITS,
) -> Lowered:
    """The grammar of all JSON texts that the schema allows, in one layout.

    ``schema`` is a mapping, a boolean or JSON text; properties come in its order, other keys after them, or
    all in any order, each name once (``property_order="any"``).
    ``whitespace`` names the layout (see :class:`~.layout.Layout`); ``formats="annotate"`` makes ``format`` an
    annotation. ``registry`` (a :class:`referencing.Registry`) finds what references outside the schema lead to and
    metaschemas of one's own; without it nothing is ever fetched. The result's ``notes`` say what is left unenforced
    because it is an annotation, such as formats that nobody knows; and with ``on_unsupported="relax"`` what was left
    out because it is not supported, so that the grammar allows more than the schema. ``ensure_ascii`` writes
    characters beyond ASCII by number, as ``json.dumps`` does by default. ``verbatim`` (words or characters) lets every
    string without a pattern, format, or given values be taken from the source, as ``x-verbatim`` does for one.

    Raises :class:`~grammars.errors.SchemaError` for an invalid schema and
    :class:`~grammars.errors.UnsupportedSchema` for assertions that are not enforced (both list every problem with
    its JSON pointer), :class:`~grammars.errors.UnsatisfiableGrammar` where no value at all is allowed, and
    :class:`~grammars.errors.LimitExceeded`.

    >>> lower_json_schema({"type": "object", "properties": {"n": {"type": "integer"}}}).start > 0
    True
    """
    layout = Layout.from_text(whitespace)
    document = load_schema(schema, limits=limits, registry=registry)
    normaliser = Normaliser(document, assert_formats=formats == "assert", relax=on_unsupported == "relax")
    root = normaliser.written(normaliser.goal(normaliser.references.start))
    settle(normaliser.link(root))
    document.raise_problems()
    prelude = prelude_of(
        layout, integral_fractions=document.draft != Draft.DRAFT4, only_ascii=ensure_ascii, verbatim=verbatim
    )
    prelude.builder.limits = limits
    lowering = Lowering(prelude, normaliser.validity.holds, any_order=property_order == "any")
    start = lowering.whole(root)
    problems = dict.fromkeys([*normaliser.unsupported, *lowering.problems])
    if problems:
        raise UnsupportedSchema(sorted(problems, key=lambda problem: (problem.pointer, problem.keyword)))
    if not root.is_productive:
        raise UnsatisfiableGrammar(f"the schema allows no value at all: {why_empty(root)}")
    notes = (*normaliser.notes, *left_out_notes(normaliser.left_out))
    return Lowered.of(prelude.builder.finish(start), notes)


class Lowering:
    """Writes the rules of one schema. ``problems`` collects assertions that are not enforced where they matter."""

    def __init__(self, prelude: Prelude, holds: Callable[[Goal, Any], bool], *, any_order: bool = False) -> None:
        """``holds``: whether a value is valid under a goal."""
        self.prelude = prelude
        self.holds = holds
        self.builder = prelude.builder
        self.any_order = any_order
        """Whether the properties of an object may come in any order."""
        self.layout = prelude.layout
        self.problems: dict[Problem, None] = {}
        self.kept: list[object] = []
        """What the names of checks identify, so that no other object gets its identity."""
        self._values: dict[tuple[int, int], NodeId] = {}
        self._shapes: dict[tuple[int, int], NodeId] = {}
        self._leaves: dict[tuple[object, ...], NodeId] = {}
        self._pending: list[tuple[RuleId, ArrayShape | ObjectShape, int]] = []
        self._recursive: dict[int, bool] = {}
        self._stepped = 0

    def report(self, problems: Iterable[Problem]) -> None:
        """Note assertions that matter and are not enforced."""
        self.problems.update(dict.fromkeys(problems))

    def rule(self, name: str, body: NodeId) -> NodeId:
        """A call of a new rule."""
        rule = self.builder.declare_rule(name)
        self.builder.define_rule(rule, body)
        return self.builder.call(rule)

    def whole(self, root: Node) -> NodeId:
        """The whole text, with all rules it needs."""
        value = self.value(root, self.layout.root_depth)
        pending = self._pending
        while pending:
            rule, shape, depth = pending.pop()
            self.builder.define_rule(rule, self._body(shape, depth))
        if self.layout.whitespace == "any":
            return self.builder.sequence(self.prelude.whitespace, value, self.prelude.whitespace)
        return value

    def _body(self, shape: ArrayShape | ObjectShape, depth: int) -> NodeId:
        return object_body(self, shape, depth) if isinstance(shape, ObjectShape) else array_body(self, shape, depth)

    # -- values -------------------------------------------------------------------------------------------------

    def value(self, node: Node, depth: int) -> NodeId:
        """All values of a node, at a depth."""
        if node is ANY:
            return self.prelude.values[self.prelude.free_depth(depth)]
        key = (id(node), depth)
        known = self._values.get(key)
        if known is None:
            known = self._values[key] = self._make_value(node, depth)
        return known

    def _make_value(self, node: Node, depth: int) -> NodeId:
        if node.problems:
            self.report(node.problems)
        parts: list[NodeId] = []
        builder = self.builder
        if node.null:
            parts.append(builder.literal(b"null"))
        if node.booleans:
            if node.booleans & 2:
                parts.append(builder.literal(b"true"))
            if node.booleans & 1:
                parts.append(builder.literal(b"false"))
        parts.extend(map(self._number, node.numbers))
        if len(node.strings) > _MAX_STRINGS and sum(bool(shape.rules) for shape in node.strings) > _MAX_STRINGS:
            parts.append(self._many_strings(node))
        else:
            parts.extend(map(self._string, node.strings))
        parts.extend(self._shape(array, depth) for array in node.arrays if array.productive)
        parts.extend(self._shape(shape, depth) for shape in node.objects if shape.productive)
        return parts[0] if len(parts) == 1 else builder.alternation(*parts)

    @property
    def distinct_name(self) -> NodeId:
        """Stands behind each undeclared name."""
        return self.builder.guard(DistinctNames())

    @property
    def distinct_item(self) -> NodeId:
        """Stands behind each item of an array whose items must differ."""
        return self.builder.guard(DistinctItems())

    def checked(self, node: NodeId, checks: Iterable[ValidValue]) -> NodeId:
        """The node with guards behind it."""
        return self.builder.sequence(node, *(self.builder.guard(one) for one in checks if one.check is not passes))

    def _number(self, shape: NumberShape) -> NodeId:
        if shape is FREE_NUMBER:
            return self.prelude.number
        if shape is FREE_INTEGER:
            return self.prelude.integer
        if shape.problems:
            self.report(shape.problems)
        every = self.prelude.every
        if shape.values is not None:
            node = number_values(self.builder, shape.values, every=every)
            node = self._shared(("numbers", shape.values), node) if len(shape.values) > _INLINE_VALUES else node
            return self.checked(node, shape.checks)
        bounds = (shape.low, shape.low_open, shape.high, shape.high_open, shape.multiples, shape.avoided)
        key = (shape.pointed, shape.integer, *bounds)
        known = self._leaves.get(key)
        if known is None:
            known = self._shared(key, self._pointed_number(shape) if shape.pointed else self._bounded_number(shape))
        return self.checked(known, shape.checks)

    def _pointed_number(self, shape: NumberShape) -> NodeId:
        self.kept.append(shape)
        whole = ValidValue(f"number {id(shape)}", lambda value: number_fits(Decimal(value), shape))
        is_free = shape.low is shape.high is None and not (shape.multiples or shape.avoided)
        return self.checked(pointed_number(self.builder, every=self.prelude.every), () if is_free else (whole,))

    def _bounded_number(self, shape: NumberShape) -> NodeId:
        every, integral = self.prelude.every, self.prelude.integral_fractions
        self._stepped += bool(shape.multiples or shape.avoided)
        if self._stepped <= _MAX_STEPPED:
            built = bounded_number(self.builder, shape, every=every, integral_fractions=integral)
        else:
            built = Problem(shape.pointer, "multipleOf", f"more than {_MAX_STEPPED} kinds of multiples")
        whole = ValidValue(f"number {id(shape)}", lambda value: number_fits(Decimal(value), shape))
        if not isinstance(built, Problem):
            if not every or bounds_the_sign(shape) or (shape.integer and not integral):
                return built
            self.kept.append(shape)
            return self.builder.alternation(built, self.checked(with_exponent(self.builder), (whole,)))
        self.kept.append(shape)
        if not every:
            return self.checked(between_bounds(self.builder, shape), (whole,))
        bounds = replace(shape, multiples=(), avoided=())
        bounded = bounded_number(self.builder, bounds, every=every, integral_fractions=integral)
        if isinstance(bounded, Problem):
            bounded = self.prelude.integer if shape.integer else self.prelude.number
        return self.checked(bounded, (whole,))

    def _string(self, shape: StringShape) -> NodeId:
        if shape is FREE_STRING:
            return self.prelude.value_string
        if shape.problems:
            self.report(shape.problems)
        if shape.values is not None:
            known = self._leaves.get(("strings", shape.values))
            if known is None:
                known = string_values(self.prelude, shape.values)
                if len(shape.values) > _INLINE_VALUES:
                    known = self._shared(("strings", shape.values), known)
            return self.checked(known, shape.checks)
        unit = shape.verbatim or (None if shape.rules or shape.excluded else self.prelude.verbatim)
        if unit is not None:
            self.report(_not_verbatim(shape))
            return self.checked(verbatim_string(self.builder, unit, only_ascii=self.prelude.only_ascii), shape.checks)
        key = (shape.minimum, shape.maximum, shape.rules, shape.excluded)
        known = self._leaves.get(key)
        if known is None:
            known = self._shared(key, self._constrained_string(shape))
        return self.checked(known, shape.checks)

    def _many_strings(self, node: Node) -> NodeId:
        """Strings of any of too many shapes."""
        shapes = node.strings
        try:
            for shape in shapes:
                self.report(shape.problems)
                string_fits("", shape)
        except GrammarError as error:
            self.report((Problem(node.pointer, "pattern", str(error)),))
            return self.builder.never

        def fits(value: str) -> bool:
            return any(string_fits(value, one) and all(check.check(value) for check in one.checks) for one in shapes)

        self.kept.append(node)
        return self.checked(self.prelude.string, (ValidValue(f"strings {id(node)}", fits),))

    def _constrained_string(self, shape: StringShape) -> NodeId:
        built = constrained_string(self.prelude, shape)
        if not isinstance(built, Problem):
            return built
        try:
            string_fits("", shape)
        except GrammarError:
            self.report((built,))
            return self.builder.never
        whole = ValidValue(f"string {id(shape)}", lambda value: string_fits(value, shape))
        self.kept.append(shape)
        measured = constrained_string(self.prelude, StringShape(shape.minimum, shape.maximum))
        return self.checked(self.prelude.string if isinstance(measured, Problem) else measured, (whole,))

    def name(self, language: Dfa) -> NodeId:
        """A whole name of the language."""
        known = self._leaves.get(("name", language))
        return known or self._shared(("name", language), string_language(self.prelude, language))

    def _shared(self, key: tuple[object, ...], body: NodeId) -> NodeId:
        node = self._leaves[key] = self.rule(str(key[0]), body)
        return node

    # -- arrays and objects -------------------------------------------------------------------------------------

    def _shape(self, shape: ArrayShape | ObjectShape, depth: int) -> NodeId:
        if shape is FREE_OBJECT:
            return self.prelude.objects[self.prelude.free_depth(depth)]
        if shape is FREE_ARRAY:
            return self.prelude.arrays[self.prelude.free_depth(depth)]
        if depth > DEEPEST_INDENT and self._is_recursive(shape):
            depth = ON_ONE_LINE
        key = (id(shape), depth)
        known = self._shapes.get(key)
        if known is None:
            if shape.problems:
                self.report(shape.problems)
            rule = self.builder.declare_rule(shape.pointer or "#")
            known = self._shapes[key] = self.checked(self.builder.call(rule), shape.checks)
            self._pending.append((rule, shape, depth))
        return known

    def _is_recursive(self, shape: ArrayShape | ObjectShape) -> bool:
        known = self._recursive.get(id(shape))
        if known is None:
            seen: set[int] = set()
            pending = _below(shape)
            while pending and id(shape) not in seen:
                below = pending.pop()
                if id(below) not in seen:
                    seen.add(id(below))
                    pending.extend(_below(below))
            known = self._recursive[id(shape)] = id(shape) in seen
        return known


def _not_verbatim(shape: StringShape) -> list[Problem]:
    """What a string says that cannot be enforced together with being taken from the source."""
    reason = "cannot be enforced together with x-verbatim; leave one of the two out"
    said = {rule.kind: rule.holds for rule in shape.rules}
    keywords = [name if holds else "not" for name, holds in said.items()]
    keywords += ["not"] if shape.excluded else []
    keywords += ["minLength"] if shape.minimum > 1 else []  # it is never empty
    keywords += ["maxLength"] if shape.maximum is not None else []
    return [Problem(shape.pointer, keyword, reason) for keyword in keywords]


def _below(shape: ArrayShape | ObjectShape) -> list[ArrayShape | ObjectShape]:
    """The shapes that may stand directly inside."""
    if isinstance(shape, ObjectShape):
        nodes = [node for _, node, _ in shape.members] + [node for _, node in shape.extras]
        nodes += [node for _, _, node in shape.some_extras]
    elif shape.hits:
        nodes = [node for ways in shape.hits for _, node in ways]
    else:
        nodes = shape.prefix_nodes if shape.items_node is None else [*shape.prefix_nodes, shape.items_node]
    below: list[ArrayShape | ObjectShape] = []
    for node in nodes:
        below += node.objects
        below += node.arrays
    return below
