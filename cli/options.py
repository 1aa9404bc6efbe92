"""Options that several commands share, and how their values are read."""

from __future__ import annotations

import importlib
import json
import math
import os
import re
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from .documents import decode_text
from .loop_options import loop_keywords, loop_options
from .records import RecordFolder, record_folder, record_option
from .sampling_options import sampling_keywords, sampling_options
from .streams import stdout_to_stderr

__all__ = [
    "AnyParamType",
    "FieldsParam",
    "FiniteRange",
    "Generation",
    "NameParam",
    "Reading",
    "SchemaParam",
    "TextParam",
    "WhitespaceParam",
    "generation_options",
    "generation_settings",
    "reading_options",
    "reading_settings",
    "schema_options",
]

Command = TypeVar("Command", bound=Callable[..., Any])

if TYPE_CHECKING:
    AnyParamType = click.ParamType[Any]
else:
    AnyParamType = click.ParamType  # no generic at run time in older releases

_WHITESPACE_STYLES = ("indent=2", "spaced", "compact", "flexible", "any")
_INDENT = re.compile(r"indent=[0-8]")  # as the grammars have it
_MOST_THREADS = 1024
_REFERENCE = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*:[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")


class NameParam(AnyParamType):
    """The name of a file, as the shell has it. Empty, it would be read as if the option were not there."""

    name = "name"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if not str(value).strip():
            self.fail("this is empty; give a value, or leave the option out", param, ctx)
        return str(value)


class TextParam(AnyParamType):
    """Text. A shell may pass bytes that are none; they are refused here, where they can be named.

    ``empty=False`` refuses empty text too, as :class:`NameParam` does.
    """

    name = "text"

    def __init__(self, *, empty: bool = True) -> None:
        self.empty = empty

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        text = str(value) if self.empty else NameParam().convert(value, param, ctx)
        if not _is_unicode(text):
            self.fail("this is not UTF-8 text", param, ctx)
        return text


class FiniteRange(click.FloatRange):
    """A range of numbers. ``nan`` is in none of them, and ``inf`` is no number to compute with."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        number = float(super().convert(value, param, ctx))
        if not math.isfinite(number):
            self.fail(f"expected a finite number, got {value}", param, ctx)
        return number


class SchemaParam(AnyParamType):
    """A JSON Schema: a file, ``@`` and a file, JSON itself, or ``module:Model``. The value is an output type."""

    name = "schema"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not isinstance(value, str):
            return value
        text = value.strip()
        if text in ("", "@"):
            self.fail("this is empty; expected a file, JSON (starting with '{'), or module:Model", param, ctx)
        if text.startswith("@"):
            return self._from_file(text[1:], param, ctx)
        if text.startswith("{") or text in ("true", "false"):
            if not _is_unicode(text):
                self.fail("this is not UTF-8 text", param, ctx)
            return self._checked(text, "the JSON given", param, ctx)
        if _is_file(text) or not _REFERENCE.fullmatch(text):
            return self._from_file(text, param, ctx)
        return self._from_reference(text, param, ctx)

    def _from_file(self, name: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        try:
            text = decode_text(Path(name).read_bytes())
        except FileNotFoundError:
            fetched = "; nothing is fetched from the network" if "://" in name else ""
            self.fail(
                f"there is no file {name!r}; expected a file with a JSON Schema, the JSON itself "
                f"(starting with '{{'), or module:Model{fetched}",
                param,
                ctx,
            )
        except OSError as error:
            self.fail(f"{name!r} cannot be read: {error.strerror or error}", param, ctx)
        except ValueError as error:  # no text, or a path that no file can have
            self.fail(f"{name!r} is not a text file with a JSON Schema: {error}", param, ctx)
        return self._checked(text, f"the file {name!r}", param, ctx)

    def _checked(self, text: str, what: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        try:
            schema = json.loads(text)
        except json.JSONDecodeError as error:
            place = f"line {error.lineno}, column {error.colno}"
            self.fail(f"{what} is not valid JSON: {error.msg} at {place}\n{_caret(text, error)}", param, ctx)
        except RecursionError:
            self.fail(f"{what} is nested too deeply to be read", param, ctx)
        except ValueError as error:
            self.fail(f"{what} cannot be read as JSON: {error}", param, ctx)
        if not isinstance(schema, dict | bool):
            self.fail(f"{what} is no JSON Schema: expected an object, got {type(schema).__name__}", param, ctx)
        return text

    def _from_reference(self, text: str, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        module_name, _, path = text.partition(":")
        if os.getcwd() not in sys.path:
            sys.path.insert(0, os.getcwd())
        try:
            with stdout_to_stderr():
                found: Any = importlib.import_module(module_name)
        except (Exception, SystemExit) as error:  # the module is the user's: whatever it raises is told, with the place
            self.fail(f"importing {module_name!r} failed: {_told(error)}{_place(error)}", param, ctx)
        for part in path.split("."):
            try:
                found = getattr(found, part)
            except AttributeError:
                self.fail(f"{module_name!r} has no {path!r}", param, ctx)
        return found


class FieldsParam(AnyParamType):
    """Fields in one line, as ``name: str, due: date?``. The value is a JSON Schema."""

    name = "fields"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        from constrained.errors import FieldsError
        from constrained.fields import fields_schema

        if not isinstance(value, str):
            return value
        try:
            return fields_schema(value)
        except FieldsError as error:
            self.fail(str(error), param, ctx)


class WhitespaceParam(AnyParamType):
    """A whitespace style of the JSON that the model writes."""

    name = "style"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if value not in _WHITESPACE_STYLES and not _INDENT.fullmatch(value):
            self.fail(
                f"{value!r} is none of {', '.join(_WHITESPACE_STYLES)} (or another indent, from indent=0 to indent=8)",
                param,
                ctx,
            )
        return str(value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """Everything that the options of :func:`reading_options` say: how a schema is read."""

    property_order: str | None
    formats: str | None
    on_unsupported: str | None
    ensure_ascii: bool | None
    verbatim: str | None = None
    """Of ``extract`` alone."""

    @property
    def given(self) -> dict[str, Any]:
        """What was given, by the names that ``constrained.json_schema`` has for it."""
        values = {
            "property_order": self.property_order,
            "formats": self.formats,
            "on_unsupported": self.on_unsupported,
            "ensure_ascii": self.ensure_ascii,
            "verbatim": self.verbatim,
        }
        return {name: value for name, value in values.items() if value is not None}


def reading_settings(options: dict[str, Any]) -> Reading:
    """Take the options of :func:`reading_options` out of a command's keyword arguments."""
    return Reading(**{name: options.pop(name, None) for name in Reading.__dataclass_fields__})


def reading_options(command: Command) -> Command:
    """How the schema is read."""
    for option in reversed(
        (
            click.option(
                "--property-order",
                type=click.Choice(["schema", "any"]),
                help="Of objects: as the schema has it, or as the model likes. Default: schema.",
            ),
            click.option(
                "--formats",
                type=click.Choice(["assert", "annotate"]),
                help="Whether the schema's formats (date, email ...) are enforced or ignored. Default: assert.",
            ),
            click.option(
                "--on-unsupported",
                type=click.Choice(["error", "relax"]),
                help="What of a schema is not supported: refuse it, or leave it out with a warning and validate the "
                "result. Default: error.",
            ),
            click.option(
                "--ensure-ascii",
                is_flag=True,
                default=None,
                help="Write every character beyond ASCII as \\uXXXX, as Python's json.dumps does by default.",
            ),
        )
    ):
        command = option(command)
    return command


@dataclass(frozen=True, slots=True, kw_only=True)
class Generation:
    """Everything that the options of :func:`generation_options` say."""

    model: str | None
    device: str
    weights: str
    deterministic: bool
    threads: int | None
    temperature: float
    top_p: float
    top_k: int | None
    seed: int
    max_tokens: int | None
    retries: int | None
    whitespace: str | None
    sampling: dict[str, Any]
    """Settings of the draw that were given, as arguments of the API."""
    spending: dict[str, Any]
    """The same of budgets and drafts."""
    records: RecordFolder | None
    """Where each output is recorded."""

    def keywords(self) -> dict[str, Any]:
        """The arguments of ``Model.generate`` and ``Model.extract``; what was not given keeps their default.

        Each call names another file for the record.
        """
        given: dict[str, Any] = {
            "temperature": self.temperature,
            "top_p": self.top_p,
            "top_k": self.top_k,
            "seed": self.seed,
            **self.sampling,
            **self.spending,
        }
        if self.records is not None:
            given["record"] = self.records.next_file()
        if self.max_tokens is not None:
            given["max_tokens"] = self.max_tokens
        if self.retries is not None:
            given["retries"] = self.retries
        if self.whitespace is not None:
            given["whitespace"] = self.whitespace
        return given


def generation_settings(options: dict[str, Any]) -> Generation:
    """Collect the options of :func:`generation_options` from a command's keyword arguments."""
    options["sampling"] = sampling_keywords(options)
    options["spending"] = loop_keywords(options)
    options["records"] = record_folder(options)
    return Generation(**{name: options[name] for name in Generation.__dataclass_fields__})


def generation_options(command: Command) -> Command:
    """Which model, on what, and how it draws."""
    command = record_option(loop_options(sampling_options(command)))
    for option in reversed(
        (
            click.option(
                "--model",
                "-m",
                type=NameParam(),
                metavar="NAME",
                help="A folder, a GGUF file, or a hub id. Default: the small embedded model.",
            ),
            click.option("--device", default="auto", show_default=True, type=click.Choice(["auto", "cpu", "cuda"])),
            click.option(
                "--weights",
                default="auto",
                show_default=True,
                type=click.Choice(["auto", "fp32", "bf16", "int8"]),
                help="How weights are held: exactly, in half the memory, or in a quarter (on a CPU), less exact but "
                "faster. auto: fp32 on a CPU, bf16 on CUDA.",
            ),
            click.option(
                "--deterministic",
                is_flag=True,
                help="The same bits whatever else is computed beside it, or an error where that cannot be had.",
            ),
            click.option(
                "--threads",
                type=click.IntRange(min=1, max=_MOST_THREADS),
                help="CPU threads; more are faster on cores of your own. Default: OMP_NUM_THREADS, else 1.",
            ),
            click.option(
                "--temperature",
                default=0.0,
                show_default=True,
                type=FiniteRange(min=0),
                help="0 always takes the best token.",
            ),
            click.option(
                "--top-p",
                default=1.0,
                show_default=True,
                type=FiniteRange(min=0, max=1, min_open=True),
                help="Keep the smallest set of best tokens with at least this probability.",
            ),
            click.option("--top-k", type=click.IntRange(min=1), help="Keep the best so many. Default: all tokens."),
            click.option(
                "--seed",
                default=0,
                show_default=True,
                type=click.IntRange(min=0, max=2**64 - 1),
                help="The same seed gives the same tokens.",
            ),
            click.option(
                "--max-tokens",
                type=click.IntRange(min=1),
                help="Of one output. Default: 1024, or what the context has room for.",
            ),
            click.option(
                "--retries",
                type=click.IntRange(min=0),
                help="How often an output that its type's own validation refuses is drawn again. Default: 3; "
                "0 at temperature 0.",
            ),
            click.option(
                "--whitespace",
                type=WhitespaceParam(),
                help=f"How the model writes JSON: {', '.join(_WHITESPACE_STYLES)}.",
            ),
        )
    ):
        command = option(command)
    return command


def schema_options(command: Command) -> Command:
    """The two ways to say which JSON is wanted."""
    command = click.option(
        "--fields", type=FieldsParam(), metavar="LIST", help="Fields in one line: 'name: str, age: int, due: date?'."
    )(command)
    return click.option(
        "--schema",
        "-s",
        type=SchemaParam(),
        metavar="FILE|JSON|MODULE:MODEL",
        help="A file with a JSON Schema, the JSON itself, or a Python type such as a Pydantic model.",
    )(command)


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _is_file(text: str) -> bool:
    try:
        return Path(text).is_file()
    except (OSError, ValueError):
        return False


def _caret(text: str, error: json.JSONDecodeError) -> str:
    from grammars.errors import excerpt

    return excerpt(text, error.pos)


def _told(error: BaseException) -> str:
    if isinstance(error, SystemExit):
        return f"it ended the program (sys.exit({'' if error.code is None else repr(error.code)}))"
    return f"{type(error).__name__}: {error}"


def _place(error: BaseException) -> str:
    """Where in the user's module it happened, if inside a file."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if "importlib" not in frame.filename and not frame.filename.startswith("<")]
    if len(own) < 2:  # only our own import
        return ""
    return f" ({own[-1].filename}:{own[-1].lineno})"
