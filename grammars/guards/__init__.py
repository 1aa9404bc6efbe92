"""Guards: what no finite automaton settles, asked of the text where a value ends.

A grammar may hold guards (:meth:`grammars.ir.Builder.guard`): places where a :class:`Question` is put to what was read
so far. The machine takes every answer to be yes; a :class:`Judge` follows the text of one sequence and knows better,
and :mod:`grammars.masks.narrow` takes out of a token bitmask what it denies.
"""

from .judge import Judge
from .questions import DistinctFewNames, DistinctItems, DistinctNames, JsonBegins, Question, ValidValue
from .reading import Reading

__all__ = [
    "DistinctFewNames",
    "DistinctItems",
    "DistinctNames",
    "JsonBegins",
    "Judge",
    "Question",
    "Reading",
    "ValidValue",
]
