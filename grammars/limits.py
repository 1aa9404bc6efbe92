"""Every ceiling in one place: what hostile or careless input may cost."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["DEFAULT_LIMITS", "Limits"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Ceilings of compiling and running a grammar; reaching one raises :class:`~grammars.errors.LimitExceeded`.

    The defaults suit a server that takes schemas from strangers.
    """

    max_source_length: int = 4_000_000
    """Characters of a regular expression, grammar or schema text."""
    max_nesting: int = 512
    """Depth of groups in a regular expression, or of nested schemas."""
    max_repeat: int = 100_000
    """Upper bound of one counted repeat, as in ``a{1,100000}`` or ``maxLength``."""
    max_nodes: int = 2_000_000
    """Nodes of the intermediate form."""
    max_states: int = 4_000_000
    """States of the network."""
    max_configurations: int = 65_536
    """Configurations kept at once; at the cap the unused are dropped (this changes no result)."""
    max_items: int = 4_000_000
    """(state, stack set) pairs over all configurations kept at once."""
    max_stack_nodes: int = 1_000_000
    """Stack-set nodes kept at once: bounds nesting depth times ambiguity."""
    max_register_sets: int = 32_768
    """Sets of names already written, of objects whose properties come in any order, kept at once."""
    max_cached_masks: int = 2_048
    """Token bitmasks kept at once (16 KB each for 128k tokens)."""
    max_rollback_kept: int = 1_024
    """Steps of a matcher's history kept when room is made; rolling back further replays the tokens."""
    max_rolled_back_tokens: int = 256
    """Output tokens that one generation may take back, all dead ends together."""


DEFAULT_LIMITS = Limits()
