"""Context-free grammars as text: GBNF and Lark, to a syntax tree with places, to the intermediate form."""

from .gbnf_lower import lower_gbnf, unreachable_rules
from .gbnf_parser import parse_gbnf
from .lark import lower_lark, parse_lark

__all__ = ["lower_gbnf", "lower_lark", "parse_gbnf", "parse_lark", "unreachable_rules"]
