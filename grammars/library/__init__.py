"""Ready grammars, as data files: each says at its top what it takes, and has accepted and rejected texts beside it.

>>> from grammars.library import grammar, names
>>> "sql_select" in names()
True
>>> grammar("uuid").kind
'regex'
"""

from .load import LibraryGrammar, grammar, names

__all__ = ["LibraryGrammar", "grammar", "names"]
