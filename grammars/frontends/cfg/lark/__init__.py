"""Lark grammars: text to syntax tree, to productions, to LALR tables and lexers, to the intermediate form."""

from .lower import lower_lark
from .parser import parse_lark

__all__ = ["lower_lark", "parse_lark"]
