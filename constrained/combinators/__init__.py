"""Grammars that combine: text, regular expressions, JSON Schemas and types, and grammar texts as parts of one output.

Every part is written into one intermediate form, so that a whole output is one grammar.
"""

from .base import Piece
from .pieces import alt, free_text, gbnf, lark, many, optional, seq, special, text_without, until
from .tools import ToolCall, tool_calls
from .verbatim import verbatim

__all__ = [
    "Piece",
    "ToolCall",
    "alt",
    "free_text",
    "gbnf",
    "lark",
    "many",
    "optional",
    "seq",
    "special",
    "text_without",
    "tool_calls",
    "until",
    "verbatim",
]
