"""A JSON Schema as text, and how it is to be read: what output types that write JSON have in common."""

from __future__ import annotations

import itertools
import warnings
import weakref
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, get_args

from ..errors import UnsupportedOutputType
from .base import InvalidText, digest_of
from .verbatim import asks_for_source, checked_unit

if TYPE_CHECKING:
    from grammars.frontends.json_schema.final_check import FinalCheck
    from grammars.ir import IR
    from grammars.ir.verbatim import Unit

__all__ = ["DEFAULT_OPTIONS", "Formats", "OnUnsupported", "PropertyOrder", "SchemaOptions", "WrittenSchema"]

PropertyOrder = Literal["schema", "any"]
"""``schema``: properties come in the order of the schema; ``any``: the model chooses, each name once."""
Formats = Literal["assert", "annotate"]
"""``assert``: ``format`` is a constraint; ``annotate``: it is ignored."""
OnUnsupported = Literal["error", "relax"]
"""``error``: a schema with something that is not supported is refused; ``relax``: that is left out of the grammar, with
a warning, and the finished text is validated by it."""

_numbers = itertools.count(1)
_number_of: dict[int, int] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaOptions:
    """How a JSON Schema is read. Raises UnsupportedOutputType for values that are none.

    >>> SchemaOptions(property_order="random")
    Traceback (most recent call last):
    ...
    constrained.errors.UnsupportedOutputType: property_order: expected 'schema' or 'any', got 'random'
    """

    property_order: PropertyOrder = "schema"
    formats: Formats = "assert"
    on_unsupported: OnUnsupported = "error"
    ensure_ascii: bool = False
    """Whether characters beyond ASCII are written by number, as ``json.dumps`` does by default."""
    verbatim: Unit | None = None
    """By which units every string without a pattern, format or given values is to be taken from the source, if any."""
    registry: Any = None
    """A :class:`referencing.Registry` with the documents that references outside the schema lead to."""

    def __post_init__(self) -> None:
        given = (("property_order", PropertyOrder), ("formats", Formats), ("on_unsupported", OnUnsupported))
        for name, expected in given:
            value = getattr(self, name)
            if not isinstance(value, str) or value not in get_args(expected):
                listed = " or ".join(map(repr, get_args(expected)))
                raise UnsupportedOutputType(f"{name}: expected {listed}, got {value!r}")
        if not isinstance(self.ensure_ascii, bool):
            raise UnsupportedOutputType(f"ensure_ascii: expected True or False, got {self.ensure_ascii!r}")
        if self.verbatim is not None:
            checked_unit(self.verbatim, "verbatim")
        if self.registry is not None and not hasattr(self.registry, "get_or_retrieve"):
            raise UnsupportedOutputType(
                f"registry: expected a referencing.Registry, got {type(self.registry).__name__}; make one by "
                "referencing.Registry().with_resources([(uri, resource), ...])"
            )

    @property
    def digest_parts(self) -> tuple[str, ...]:
        """What makes the language another; empty for the defaults."""
        if self == DEFAULT_OPTIONS:
            return ()
        spelled = "ascii" if self.ensure_ascii else ""
        read = (self.property_order, self.formats, self.on_unsupported, spelled, self.verbatim or "")
        return (*read, _registry_number(self.registry))


def _registry_number(registry: Any) -> str:
    """Different for registries that are not the same object, also over time."""
    if registry is None:
        return ""
    key = id(registry)
    if key not in _number_of:
        try:
            weakref.finalize(registry, _number_of.pop, key, None)
        except TypeError:  # it cannot be watched, so its grammars are not found again
            return str(next(_numbers))
        _number_of[key] = next(_numbers)
    return str(_number_of[key])


DEFAULT_OPTIONS = SchemaOptions()


class WrittenSchema:
    """A schema's text with its options. Immutable."""

    def __init__(self, text: str, options: SchemaOptions = DEFAULT_OPTIONS) -> None:
        self.text = text
        self.options = options

    def with_options(self, options: SchemaOptions) -> WrittenSchema:
        """The same text, read in another way."""
        return WrittenSchema(self.text, options)

    @cached_property
    def digest(self) -> str:
        """Equal for equal languages (for the same whitespace)."""
        return digest_of("json_schema", self.text, *self.options.digest_parts)

    @property
    def takes_source(self) -> bool:
        """Whether some string may have to be taken from a source."""
        return self.options.verbatim is not None or asks_for_source(self.text)

    def lower(self, *, whitespace: str) -> IR:
        """The grammar; a :class:`grammars.SchemaWarning` names what it does not enforce."""
        from grammars.errors import SchemaWarning
        from grammars.frontends.json_schema import lower_json_schema

        options = self.options
        ir = lower_json_schema(
            self.text,
            whitespace=whitespace,
            formats=options.formats,
            property_order=options.property_order,
            registry=options.registry,
            on_unsupported=options.on_unsupported,
            ensure_ascii=options.ensure_ascii,
            verbatim=options.verbatim,
        )
        if options.on_unsupported == "relax":
            self._final_check.notes  # noqa: B018  (made now, for it refuses what it could not check)
        if ir.notes:
            warnings.warn(SchemaWarning(ir.notes), stacklevel=2)
        return ir

    def require_valid(self, text: str) -> None:
        """Raise :class:`InvalidText` where a text breaks something that the grammar leaves out."""
        if self.options.on_unsupported != "relax":
            return
        check = self._final_check
        if check.notes and not check.holds(text):
            raise InvalidText([f"something that the grammar leaves out is broken: {note}" for note in check.notes])

    @cached_property
    def _final_check(self) -> FinalCheck:
        from grammars.frontends.json_schema.final_check import FinalCheck

        return FinalCheck(self.text, formats=self.options.formats, registry=self.options.registry)
