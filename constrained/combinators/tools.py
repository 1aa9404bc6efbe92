"""Tool calls in free text: a tag triggers a call, whose name and arguments the tools' JSON Schemas allow."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ..errors import UnsupportedOutputType
from ..output_types import InvalidText, OutputType, output_type_from
from ..output_types.base import digest_of, mark_of
from ..output_types.text import require_unicode
from .base import Piece, add_piece
from .pieces import SpecialToken, alt, many, seq, text_without, until
from .pieces import free_text as free_text_of

if TYPE_CHECKING:
    from grammars.ir import IR

__all__ = ["ToolCall", "ToolCallsType", "tool_calls"]


Tag = str | SpecialToken

_NAME, _ARGUMENTS, _BETWEEN = '{"name": ', ', "arguments": ', "\n"
_STRING_OR_BRACKET = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{}]')


def _closing_brace(text: str, start: int) -> int:
    """Where the object ends inside which the value at ``start`` stands."""
    depth = 1
    for match in _STRING_OR_BRACKET.finditer(text, start):
        depth += (match[0] in "{[") - (match[0] in "]}")
        if not depth:
            return match.start()
    raise InvalidText(["a tool call is not closed"])


def _written(tag: Tag) -> str:
    return tag if isinstance(tag, str) else mark_of(tag.token)


def _text_before(tag: Tag, max_tokens: int | None) -> Piece:
    return text_without(tag, max_tokens=max_tokens) if isinstance(tag, str) else free_text_of(max_tokens=max_tokens)


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call: ``arguments`` is a value of what was given for the tool ``name``."""

    name: str
    arguments: Any


class ToolCallsType(OutputType[list[ToolCall]]):
    """Free text and the calls in it; the value is the list of calls."""

    def __init__(self, tools: dict[str, OutputType[Any]], piece: Piece, opening: Tag, closing: Tag) -> None:
        self.tools = tools
        self.piece = piece
        self.opening = opening
        self.closing = closing

    @property
    def read_specials(self) -> tuple[str | int, ...]:
        return tuple(tag.token for tag in (self.opening, self.closing) if isinstance(tag, SpecialToken))

    @cached_property
    def digest(self) -> str:
        return digest_of("tool_calls", self.piece.digest)

    @property
    def schema_text(self) -> None:
        return None

    @property
    def takes_source(self) -> bool:
        return self.piece.takes_source

    def lower(self, *, whitespace: str) -> IR:
        from grammars.ir import Builder

        builder = Builder()
        return builder.finish(add_piece(self.piece, builder, whitespace=whitespace))

    def parse(self, text: str) -> list[ToolCall]:
        calls: list[ToolCall] = []
        opening, closing = map(_written, (self.opening, self.closing))
        begin = text.find(opening)
        while begin >= 0:
            begin += len(opening) + len(_NAME)
            name, after = json.JSONDecoder().raw_decode(text, begin)
            after += len(_ARGUMENTS)
            end = _closing_brace(text, after)
            calls.append(ToolCall(name, self.tools[name].parse(text[after:end])))
            behind = end + 1 + len(closing) + len(_BETWEEN)
            begin = behind if text.startswith(opening, behind) else -1
        return calls

    def __repr__(self) -> str:
        return f"tool_calls({self.tools!r})"


def tool_calls(
    tools: Mapping[str, Any],
    *,
    opening: Tag = "<tool_call>\n",
    closing: Tag = "\n</tool_call>",
    parallel: bool = False,
    required: bool = False,
    free_text: bool = True,
    max_text_tokens: int | None = None,
) -> ToolCallsType:
    """Calls of ``tools`` (name to the type or JSON Schema of the arguments), one or, if ``parallel``, several.

    A call is ``opening``, ``{"name": ..., "arguments": ...}`` and ``closing``; these tags are texts or special tokens.
    Before, and where there is none, the model writes freely (unless ``free_text`` is false) as long as it does not
    begin a call, and no more than ``max_text_tokens`` tokens as :func:`~constrained.free_text` counts them; after the
    last call the output ends. ``required``: at least one call.

    >>> tools = tool_calls({"add": {"type": "array", "items": {"type": "integer"}}})
    >>> tools.parse('Well. <tool_call>\\n{"name": "add", "arguments": [1, 2]}\\n</tool_call>')
    [ToolCall(name='add', arguments=[1, 2])]
    """
    if not isinstance(tools, Mapping):
        raise UnsupportedOutputType(
            f"tool_calls: expected a mapping from names of tools to their arguments' types, got {type(tools).__name__}"
        )
    for name in tools:
        if not isinstance(name, str):
            raise UnsupportedOutputType(f"tool_calls: expected names that are texts, got {name!r}")
        require_unicode(name, f"tool_calls: the name {name!r}")
    if not tools:
        raise UnsupportedOutputType("tool_calls: expected at least one tool, got none")
    for tag in (opening, closing):
        if not isinstance(tag, SpecialToken) and not (isinstance(tag, str) and tag):
            raise UnsupportedOutputType(
                f"tool_calls: expected an opening and a closing that are special tokens or text, not empty, got {tag!r}"
            )
    types = {name: output_type_from(arguments) for name, arguments in tools.items()}
    for name, arguments in types.items():
        if arguments.schema_text is None:
            raise UnsupportedOutputType(f"tool_calls: expected a type or JSON Schema for {name!r}, got {arguments!r}")
    bodies = [
        seq(f"{_NAME}{json.dumps(name, ensure_ascii=False)}{_ARGUMENTS}", arguments, "}")
        for name, arguments in types.items()
    ]
    once = seq(alt(*bodies), closing)
    calls = seq(once, many(seq(_BETWEEN, opening, once))) if parallel else once
    ways = [seq(until(opening, max_tokens=max_text_tokens) if free_text else opening, calls)]
    if not required:
        ways.append(_text_before(opening, max_text_tokens) if free_text else seq())
    return ToolCallsType(types, alt(*ways), opening, closing)
