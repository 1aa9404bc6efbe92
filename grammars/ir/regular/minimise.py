"""The smallest automaton of a language.

Source: J. Hopcroft, "An n log n algorithm for minimizing states in a finite automaton", 1971, all classes of a splitter
taken at once.
"""

from __future__ import annotations

from .dfa import Dfa, from_rows

__all__ = ["minimise"]


def minimise(dfa: Dfa) -> Dfa:
    """The automaton of the same language with the fewest states.

    >>> from grammars.ir.regular import BYTES, one_of
    >>> len(minimise(one_of(BYTES, [b"ax", b"bx"])).accepting)  # dead, start, after a or b, end
    4
    """
    rows = dfa.transitions.tolist()
    block_of = _blocks(rows, dfa.accepting.tolist())
    # the block of the dead state must come first
    number = {block_of[0]: 0}
    members = [0]
    for state, block in enumerate(block_of):
        if block not in number:
            number[block] = len(members)
            members.append(state)
    table = [[number[block_of[target]] for target in rows[state]] for state in members]
    accepting = [bool(dfa.accepting[state]) for state in members]
    return from_rows(dfa.alphabet, table, accepting, number[block_of[dfa.start]])


def _blocks(rows: list[list[int]], accepting: list[bool]) -> list[int]:
    """A number for each state, equal for those that no text tells apart."""
    before: list[dict[int, list[int]]] = [{} for _ in rows[0]]  # of each class: the states that lead to a state
    for state, row in enumerate(rows):
        for index, target in enumerate(row):
            before[index].setdefault(target, []).append(state)
    block_of = [int(accepts) for accepts in accepting]
    blocks: list[set[int]] = [set(), set()]
    for state, block in enumerate(block_of):
        blocks[block].add(state)
    waiting = {0 if len(blocks[0]) < len(blocks[1]) else 1}
    while waiting:
        splitter = list(blocks[waiting.pop()])
        for sources in before:
            hit: dict[int, set[int]] = {}
            for target in splitter:
                for state in sources.get(target, ()):
                    hit.setdefault(block_of[state], set()).add(state)
            for block, inside in hit.items():
                if len(inside) == len(blocks[block]):
                    continue
                blocks[block] -= inside
                new = len(blocks)
                blocks.append(inside)
                for state in inside:
                    block_of[state] = new
                if block in waiting or len(inside) <= len(blocks[block]):
                    waiting.add(new)
                else:
                    waiting.add(block)
    return block_of
