"""Regular languages as finite automata, over text (code points) or bytes: what front ends combine lexical pieces with.

An automaton over text comes from :func:`grammars.frontends.regex.regex_automaton`, :func:`lengths`, :func:`one_of` or
:func:`text_from_bytes`; it goes back into the intermediate form by :func:`to_node`, which lets the caller say how a
character is written (raw, or escaped as in a JSON string).

>>> from grammars.ir import Builder
>>> builder = Builder()
>>> short_words = intersection(one_of(TEXT, [map(ord, "be"), map(ord, "three")]), lengths(TEXT, 0, 4))
>>> to_node(short_words, builder) == builder.literal("be")
True
"""

from .alphabet import BYTES, TEXT, Alphabet
from .bulk import rules_of
from .counted import counted_node, has_length
from .dfa import (
    Dfa,
    complement,
    difference,
    equivalent,
    includes,
    intersection,
    is_empty,
    length_range,
    lengths,
    one_of,
    shortest_member,
    symmetric_difference,
    union,
)
from .encode import bytes_from_text, text_from_bytes
from .markers import up_to_marker, without_marker
from .minimise import minimise
from .nfa import Nfa, meet
from .read import from_ir
from .write import to_fragment, to_node

__all__ = [
    "BYTES",
    "TEXT",
    "Alphabet",
    "Dfa",
    "Nfa",
    "bytes_from_text",
    "complement",
    "counted_node",
    "difference",
    "equivalent",
    "from_ir",
    "has_length",
    "includes",
    "intersection",
    "is_empty",
    "length_range",
    "lengths",
    "meet",
    "minimise",
    "one_of",
    "rules_of",
    "shortest_member",
    "symmetric_difference",
    "text_from_bytes",
    "to_fragment",
    "to_node",
    "union",
    "up_to_marker",
    "without_marker",
]
