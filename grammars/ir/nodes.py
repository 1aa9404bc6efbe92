"""The intermediate form: a grammar as flat arrays of nodes, easy to build and quick to analyse.

Front ends never fill these arrays by hand; they use :class:`~grammars.ir.builder.Builder`.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, NamedTuple, NewType

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from .verbatim import Verbatim

__all__ = [
    "ANOTHER_ELEMENT",
    "FIRST_ELEMENT",
    "IR",
    "OTHER_ELEMENT",
    "UNBOUNDED",
    "Int32Array",
    "Kind",
    "NodeId",
    "Register",
    "RegisterStep",
    "RuleId",
]

NodeId = NewType("NodeId", int)
RuleId = NewType("RuleId", int)
Int32Array = npt.NDArray[np.int32]

UNBOUNDED = -1
"""As the maximum of a repeat: any number of times."""


class Kind(IntEnum):
    """What a node is, and what its arguments ``a``, ``b``, ``c`` mean."""

    NEVER = 0
    """Matches nothing at all."""
    EPSILON = 1
    """Matches the empty text. a: so many characters of string text may follow, whatever they are (see
    :meth:`~grammars.ir.builder.Builder.text_ahead`), ``UNBOUNDED`` for any number; 0 says nothing."""
    LITERAL = 2
    """a: offset into ``data``, b: length in bytes (at least one)."""
    FRAGMENT = 3
    """a: index of the fragment, b: 1 if it matches every character of JSON string text, c: 1 if it may be empty."""
    SEQUENCE = 4
    """a: offset into ``children``, b: how many."""
    ALTERNATION = 5
    """a: offset into ``children``, b: how many."""
    REPEAT = 6
    """a: the node, b: minimum, c: maximum or ``UNBOUNDED``."""
    CALL = 7
    """a: the rule."""
    LITERALS = 8
    """Any of several texts. a: offset into ``children``, b: how many: LITERAL nodes, sorted by bytes, distinct."""
    JSON_STRINGS = 9
    """JSON strings, quotes included, by the text they mean. a: offset into ``children``, b: how many: LITERAL nodes
    (EPSILON for the empty text). c: 1 in every spelling, not just the canonical one; 2 all strings *but* these; 4 in
    ASCII."""
    GUARD = 10
    """Matches the empty text where a guard agrees with what was read so far. a: index into ``guards``."""
    REGISTER = 11
    """Matches the empty text, and works on a register. a: what it does (:class:`RegisterStep`), b: which register,
    c: which element, or ``OTHER_ELEMENT``, ``FIRST_ELEMENT`` or ``ANOTHER_ELEMENT``."""
    VERBATIM = 12
    """Neighbouring units of a document, at least one. a: index into ``verbatims``. It is the body of a rule."""
    SPECIAL = 13
    """One special token. a: index into ``specials``. For one vocabulary it becomes a LITERAL (:mod:`.private`)."""
    LIMITED = 14
    """A FRAGMENT in which no more than so many tokens are drawn. a: the fragment's node, b: how many, c: as FRAGMENT's.
    Made ready for tokens, it becomes a FRAGMENT that holds its ways out as well (:mod:`.private`)."""


OTHER_ELEMENT = -1
"""Of a register: one of those that are only counted."""
ANOTHER_ELEMENT = -2
"""Of a register that has some: whichever else."""
FIRST_ELEMENT = -3
"""Of a register that has none yet: whichever."""


class RegisterStep(IntEnum):
    """What a REGISTER node does. All that one register goes through stands in one rule, each way from OPEN to CLOSE."""

    OPEN = 0
    """Begin with nothing noted."""
    TEST = 1
    """No way on unless the element can still be noted and the register be closed after all."""
    ADD = 2
    """Note the element."""
    CLOSE = 3
    """End; no way on unless all that is required was noted."""
    MARK = 4
    """Note the element once more or for the first time, without counting it."""


class Register(NamedTuple):
    """Which of ``size`` elements have been, and how many: what may come in any order, each at most once."""

    size: int
    required: tuple[int, ...] = ()
    """Elements without which it does not close."""
    least: int = 0
    most: int | None = None
    """Bounds of how many, the others included."""
    others: bool = False
    """Whether there are elements beyond the ``size`` ones, which are only counted."""


@dataclass(frozen=True, slots=True, eq=False)
class IR:
    """A whole grammar, frozen. Lengths: N nodes, R rules, F fragments.

    ``nodes`` is (N, 4): kind, a, b, c. ``rules`` (R,) holds the body of each rule, ``start`` the node to match.
    ``fragments`` (F + 1,) are offsets into ``fragment_edges`` (E, 4): from, low, high, to (see
    :data:`~grammars.ir.utf8.Fragment`); ``fragment_states`` (F,) counts states.
    """

    nodes: Int32Array
    children: Int32Array
    data: npt.NDArray[np.uint8]
    fragments: Int32Array
    fragment_states: Int32Array
    fragment_edges: Int32Array
    rules: Int32Array
    rule_names: tuple[str, ...]
    start: NodeId
    registers: tuple[Register, ...] = ()
    """What the REGISTER nodes work on."""
    verbatims: tuple[Verbatim, ...] = ()
    """What the VERBATIM nodes take from."""
    specials: tuple[str | int, ...] = ()
    """Names or ids of the tokens that the SPECIAL nodes stand for."""
    guards: tuple[Hashable, ...] = ()
    """What the GUARD nodes ask, in the words of whoever built them: opaque to everything but the matcher's judge."""
