"""Python types as output types: Pydantic derives the JSON Schema and builds the value.

What the schema of a type says and what its validation takes are not quite the same; the mends are in
:class:`~.closed_schema.ClosedJsonSchema` and :mod:`.patterns`, each with its reason.
"""

from __future__ import annotations

import json
import sys
import typing
from collections.abc import Iterator
from decimal import Decimal
from types import GenericAlias, UnionType
from typing import TYPE_CHECKING, Annotated, Any, Union, get_args, get_origin

import typing_extensions
from pydantic import TypeAdapter, ValidationError
from pydantic.errors import PydanticUserError
from pydantic_core import CoreSchema, SchemaError

from ..errors import UnsupportedOutputType
from .base import InvalidText, OutputType
from .closed_schema import ClosedJsonSchema
from .patterns import with_known_formats
from .written_schema import SchemaOptions, WrittenSchema

if TYPE_CHECKING:
    from grammars.ir import IR

__all__ = ["PythonType"]

_LONGEST_NAME = 80
_ACCEPTED = (
    "a Pydantic model, dataclass, TypedDict, NamedTuple, Enum or Literal; bool, int, float, str, Decimal, date, "
    "datetime, time, timedelta, UUID, complex; list[...], tuple[...], set[...], dict[...], unions of these; a JSON "
    "Schema as dict or text; constrained.regex(...), constrained.choice([...])"
)


class PythonType(OutputType[Any]):
    """JSON for a Python type; the value is an instance of the type, made and checked by Pydantic.

    >>> import datetime
    >>> PythonType.from_type(list[datetime.date]).parse('["2024-02-29"]')
    [datetime.date(2024, 2, 29)]
    """

    def __init__(self, adapter: TypeAdapter[Any], schema: WrittenSchema, name: str, *, holds_decimal: bool) -> None:
        self._adapter = adapter
        self._schema = schema
        self._name = name
        self._holds_decimal = holds_decimal

    @classmethod
    def from_type(cls, python_type: Any) -> PythonType:
        """From a type or type form. Raises :class:`~constrained.errors.UnsupportedOutputType`."""
        name = _name_of(python_type)
        if not isinstance(python_type, TypeAdapter):
            _require_type_form(python_type, name)
        try:
            adapter: TypeAdapter[Any] = (
                python_type if isinstance(python_type, TypeAdapter) else TypeAdapter(portable(python_type))
            )
            _require_no_imports(adapter, name)
            schema = with_known_formats(adapter.json_schema(schema_generator=ClosedJsonSchema))
            schema_text = json.dumps(schema, ensure_ascii=False)
        except UnsupportedOutputType as error:
            raise UnsupportedOutputType(f"{name}: {error}") from error
        except Exception as error:  # types have code of their users in them: whatever it raises is told
            raise UnsupportedOutputType(_why_not(name, error)) from error
        return cls(
            adapter,
            WrittenSchema(schema_text),
            name,
            holds_decimal=any(node.get("type") == "decimal" for node in _core_nodes(adapter.core_schema)),
        )

    def with_options(self, options: SchemaOptions) -> PythonType:
        """The same type, its schema read in another way."""
        schema = self._schema.with_options(options)
        return PythonType(self._adapter, schema, self._name, holds_decimal=self._holds_decimal)

    @property
    def digest(self) -> str:
        return self._schema.digest

    @property
    def schema_text(self) -> str:
        return self._schema.text

    @property
    def options(self) -> SchemaOptions:
        """How the schema is read."""
        return self._schema.options

    @property
    def takes_source(self) -> bool:
        return self._schema.takes_source

    def lower(self, *, whitespace: str) -> IR:
        return self._schema.lower(whitespace=whitespace)

    def parse(self, text: str) -> Any:
        self._schema.require_valid(text)
        try:
            return self._validated(text)
        except InvalidText:
            raise
        except Exception as error:  # a validator of the user's own: whatever it raises is told, with the text
            raise InvalidText([f"a validator raised {type(error).__name__}: {error}"]) from error

    def _validated(self, text: str) -> Any:
        if self._holds_decimal:
            # Pydantic reads JSON numbers as binary floats, which cuts a Decimal after 17 digits.
            try:
                return self._adapter.validate_python(json.loads(text, parse_float=Decimal))
            except (ValueError, RecursionError):
                pass  # a strict model takes no text for a date from Python; from JSON it does
        try:
            return self._adapter.validate_json(text)
        except ValidationError as error:
            raise InvalidText([_problem(detail) for detail in error.errors(include_url=False)]) from error

    def __repr__(self) -> str:
        return f"PythonType.from_type({self._name})"


def _problem(detail: Any) -> str:
    place = ".".join(str(part) for part in detail["loc"]) or "the value"
    return f"{place}: {detail['msg']}"


def _name_of(candidate: Any) -> str:
    """What to call it in messages; whatever it is, this does not raise."""
    if isinstance(candidate, type) and not get_origin(candidate):
        return candidate.__name__
    try:
        text = repr(candidate)
    except Exception:  # of the user's own; or nested too deeply
        return f"an object of {type(candidate).__name__}"
    return text if len(text) <= _LONGEST_NAME else text[:_LONGEST_NAME] + "…"


def _why_not(name: str, error: Exception) -> str:
    reason = (error.message if isinstance(error, PydanticUserError) else str(error)).strip()
    if isinstance(error, RecursionError):
        return f"{name} is nested too deeply to be an output type; make it flatter"
    if isinstance(error, ImportError):
        return f"{name} needs a package that is not here: {reason}"
    if isinstance(error, SchemaError):
        last = reason.splitlines()[-1].strip().removeprefix("error: ") if reason else ""
        remedy = (
            "Pydantic's own patterns are simpler than Python's; give the model "
            "model_config = ConfigDict(regex_engine='python-re')"
            if "regex parse error" in reason
            else f"accepted are {_ACCEPTED}"
        )
        return f"{name} cannot be built by Pydantic: {last}; {remedy}"
    first = reason.splitlines()[0] if reason else ""
    if isinstance(error, PydanticUserError):
        return f"{name} is not an output type: {first}; accepted are {_ACCEPTED}"
    return f"{name} cannot be built by Pydantic: {type(error).__name__}: {first}"


def _require_type_form(candidate: Any, name: str) -> None:
    """Pydantic takes functions too, and calls them to validate; nobody wants that from a text."""
    type_alias = getattr(typing_extensions, "TypeAliasType", ())
    is_form = (
        isinstance(candidate, type | typing.NewType | type_alias)
        or get_origin(candidate) is not None
        or candidate is Any
    )
    if not is_form:
        raise UnsupportedOutputType(
            f"{name} ({type(candidate).__name__}) is not an output type; accepted are {_ACCEPTED}"
        )


def _require_no_imports(adapter: TypeAdapter[Any], name: str) -> None:
    """Pydantic's ImportString runs the module that a text names: not of a text that a model wrote."""
    for node in _core_nodes(adapter.core_schema):
        function = node.get("function")
        called = function.get("function") if isinstance(function, dict) else None
        if getattr(called, "__name__", "") == "import_string":
            raise UnsupportedOutputType("ImportString would import what the model wrote; use str")


def portable(python_type: Any) -> Any:
    """The same type with every ``typing.TypedDict`` in it made anew by ``typing_extensions``.

    Before Python 3.12 the standard one does not say which of its keys are inherited, so Pydantic refuses it.
    """
    return python_type if sys.version_info >= (3, 12) else _portable(python_type, ())


def _portable(python_type: Any, above: tuple[Any, ...]) -> Any:
    if typing.is_typeddict(python_type):
        if type(python_type).__module__ != "typing":
            return python_type
        if python_type in above:
            raise UnsupportedOutputType(
                f"{python_type.__name__} refers to itself; import TypedDict from typing_extensions on Python < 3.12"
            )
        return _rebuilt_typed_dict(python_type, (*above, python_type))
    origin, arguments = get_origin(python_type), get_args(python_type)
    if origin is None or origin is typing.Literal:
        return python_type
    if origin is Annotated:
        return Annotated[(_portable(arguments[0], above), *arguments[1:])]
    renewed = tuple(_portable(argument, above) for argument in arguments)
    if all(new is old for new, old in zip(renewed, arguments, strict=True)):
        return python_type
    if origin in (Union, UnionType):
        return Union[renewed]  # noqa: UP007  (the operator needs the members one by one)
    if isinstance(python_type, GenericAlias) or isinstance(origin, type):
        return origin[renewed]
    return python_type.copy_with(renewed)


def _rebuilt_typed_dict(python_type: Any, above: tuple[Any, ...]) -> Any:
    hints: dict[str, Any] = typing_extensions.get_type_hints(python_type, include_extras=True)
    make_typed_dict: Any = typing_extensions.TypedDict  # Any: mypy wants its arguments spelled out
    fields: dict[str, Any] = {}
    for key, hint in hints.items():
        required = key in python_type.__required_keys__
        # __required_keys__ overlooks these two where annotations are kept as text.
        while get_origin(hint) in (typing_extensions.Required, typing_extensions.NotRequired):
            required = get_origin(hint) is typing_extensions.Required
            (hint,) = get_args(hint)
        plain = _portable(hint, above)
        fields[key] = plain if required else typing_extensions.NotRequired[plain]
    renewed = make_typed_dict(python_type.__name__, fields)
    renewed.__doc__ = python_type.__doc__
    renewed.__module__ = python_type.__module__
    config = getattr(python_type, "__pydantic_config__", None)
    if config is not None:
        renewed.__pydantic_config__ = config
    return renewed


def _core_nodes(schema: CoreSchema) -> Iterator[dict[str, Any]]:
    """Every dict inside a core schema, itself included."""
    pending: list[Any] = [schema]
    while pending:
        node = pending.pop()
        if isinstance(node, dict):
            yield node
            pending.extend(value for value in node.values() if isinstance(value, dict | list | tuple))
        elif isinstance(node, list | tuple):
            pending.extend(item for item in node if isinstance(item, dict | list | tuple))
