"""Free text and markers: small automata, one state a character of a marker."""

from __future__ import annotations

from collections.abc import Iterable

from ...limits import DEFAULT_LIMITS, Limits
from .alphabet import TEXT
from .dfa import Dfa, complement, from_rows
from .minimise import minimise
from .nfa import Nfa

__all__ = ["up_to_marker", "without_marker"]


def up_to_marker(markers: Iterable[str], *, limits: Limits = DEFAULT_LIMITS) -> Dfa:
    """Over text: any text that ends with a marker and holds none before its end.

    >>> automaton = up_to_marker(["-->"])
    >>> [automaton.accepts(map(ord, text)) for text in ("a--->", "-->", "a--", "--> -->")]
    [True, True, False, False]
    """
    found = _search(markers, limits)
    rows = found.transitions.tolist()
    for state, accepts in enumerate(found.accepting.tolist()):
        if accepts:
            rows[state] = [0] * len(rows[state])
    return minimise(from_rows(found.alphabet, rows, found.accepting.tolist(), found.start))


def without_marker(markers: Iterable[str], *, limits: Limits = DEFAULT_LIMITS) -> Dfa:
    """Over text: any text that holds none of the markers.

    >>> without_marker(["ab"]).accepts(map(ord, "ba"))
    True
    """
    found = _search(markers, limits)
    rows = found.transitions.tolist()
    for state, accepts in enumerate(found.accepting.tolist()):
        if accepts:
            rows[state] = [state] * len(rows[state])
    return minimise(complement(from_rows(found.alphabet, rows, found.accepting.tolist(), found.start)))


def _search(markers: Iterable[str], limits: Limits) -> Dfa:
    """Texts that end with a marker: the automaton of Aho and Corasick, by the subset construction."""
    nfa = Nfa(TEXT)
    start = nfa.add_state()
    nfa.starts.append(start)
    nfa.add_edge(start, TEXT, start)
    for marker in markers:
        state = start
        for character in marker:
            after = nfa.add_state()
            nfa.add_edge(state, ((ord(character), ord(character)),), after)
            state = after
        nfa.finals.add(state)
    return nfa.determinise(limits=limits)
