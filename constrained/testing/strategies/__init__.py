"""Hypothesis strategies: random grammars, vocabularies and texts, for tests of this package and of what is built on it.

They need `hypothesis`, which the extra `test` installs.
"""

from .grammars_ir import grammars_ir
from .sentences import sentences
from .vocabularies import vocabularies

__all__ = ["grammars_ir", "sentences", "vocabularies"]
