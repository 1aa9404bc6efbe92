"""A universe of symbols (code points or bytes) cut into classes that an automaton does not tell apart."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ..charset import ANY, Charset

__all__ = ["BYTES", "TEXT", "Alphabet", "partition", "refine"]

TEXT: Charset = ANY
"""The universe of automata over text: all code points that UTF-8 can write."""

BYTES: Charset = ((0, 255),)
"""The universe of automata over bytes."""


@dataclass(frozen=True, slots=True, eq=False)
class Alphabet:
    """Disjoint classes, none empty, that cover ``universe``."""

    universe: Charset
    classes: tuple[Charset, ...]

    def intervals(self) -> list[tuple[int, int, int]]:
        """(lowest, highest, class) of each interval of the universe, in order."""
        return sorted((low, high, index) for index, members in enumerate(self.classes) for low, high in members)


def partition(universe: Charset, charsets: Sequence[Charset]) -> tuple[Alphabet, list[list[int]]]:
    """The coarsest alphabet in which each of ``charsets`` is a union of classes, and those classes for each.

    Members of the sets beyond the universe are left out.

    >>> alphabet, members = partition(BYTES, [((97, 122),), ((101, 101),)])
    >>> alphabet.classes
    (((0, 96), (123, 255)), ((97, 100), (102, 122)), ((101, 101),))
    >>> members
    [[1, 2], [2]]
    """
    cuts = sorted({cut for charset in (universe, *charsets) for low, high in charset for cut in (low, high + 1)})
    place = {cut: index for index, cut in enumerate(cuts)}
    inside = [False] * len(cuts)
    for low, high in universe:
        inside[place[low] : place[high + 1]] = [True] * (place[high + 1] - place[low])
    signatures = [0] * len(cuts)  # one bit for each set that holds the interval from this cut to the next
    for number, charset in enumerate(charsets):
        bit = 1 << number
        for low, high in charset:
            for index in range(place[low], place[high + 1]):
                signatures[index] |= bit
    classes: dict[int, list[tuple[int, int]]] = {}
    for index, signature in enumerate(signatures):
        if not inside[index]:
            continue
        ranges = classes.setdefault(signature, [])
        if ranges and ranges[-1][1] == cuts[index] - 1:
            ranges[-1] = (ranges[-1][0], cuts[index + 1] - 1)
        else:
            ranges.append((cuts[index], cuts[index + 1] - 1))
    members: list[list[int]] = [[] for _ in charsets]
    for index, signature in enumerate(classes):
        while signature:
            bit = signature & -signature
            members[bit.bit_length() - 1].append(index)
            signature ^= bit
    return Alphabet(universe, tuple(map(tuple, classes.values()))), members


def refine(left: Alphabet, right: Alphabet) -> tuple[Alphabet, list[int], list[int]]:
    """An alphabet finer than both, and for each of its classes the class of ``left`` and of ``right`` that holds it."""
    if left is right:
        same = list(range(len(left.classes)))
        return left, same, same
    if left.universe != right.universe:
        raise ValueError("expected automata over the same universe, got one over text and one over bytes")
    alphabet, members = partition(left.universe, [*left.classes, *right.classes])
    split = len(left.classes)
    return alphabet, _owners(members[:split], len(alphabet.classes)), _owners(members[split:], len(alphabet.classes))


def _owners(members: Iterable[list[int]], count: int) -> list[int]:
    owners = [0] * count
    for owner, owned in enumerate(members):
        for index in owned:
            owners[index] = owner
    return owners
