"""Context-free grammars as text: GBNF (:func:`lower_gbnf`), to a syntax tree with places, to the intermediate form."""

from .gbnf_lower import lower_gbnf, unreachable_rules
from .gbnf_parser import parse_gbnf

__all__ = ["lower_gbnf", "parse_gbnf", "unreachable_rules"]
