"""What may be written: grammars compiled to token bitmasks. Needs numpy and numba, never torch.

Names are imported when first used: lowering a schema, and telling what is wrong with it, needs no kernels.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .errors import (
    CfgError,
    GrammarError,
    LimitExceeded,
    RegexError,
    SchemaError,
    SchemaWarning,
    SourceError,
    TokenRefused,
    UnsatisfiableGrammar,
    UnsupportedSchema,
    VocabularyError,
)
from .limits import DEFAULT_LIMITS, Limits

if TYPE_CHECKING:
    from .compile import CompiledGrammar, compile_gbnf, compile_ir, compile_json_schema, compile_lark, compile_regex
    from .ir.printer import to_ebnf
    from .ir.sentences import sample
    from .masks.batch import BatchFiller
    from .matcher import Matcher
    from .vocabulary import Vocabulary
    from .vocabulary.bitmask import allocate_token_bitmask, allowed_token_ids
    from .warming import is_warm, warm_up

__all__ = [
    "DEFAULT_LIMITS",
    "BatchFiller",
    "CfgError",
    "CompiledGrammar",
    "GrammarError",
    "LimitExceeded",
    "Limits",
    "Matcher",
    "RegexError",
    "SchemaError",
    "SchemaWarning",
    "SourceError",
    "TokenRefused",
    "UnsatisfiableGrammar",
    "UnsupportedSchema",
    "Vocabulary",
    "VocabularyError",
    "allocate_token_bitmask",
    "allowed_token_ids",
    "compile_gbnf",
    "compile_ir",
    "compile_json_schema",
    "compile_lark",
    "compile_regex",
    "is_warm",
    "sample",
    "to_ebnf",
    "warm_up",
]

# No module of this folder may have one of these names: importing it would put the module in the name's place.
_HOME_OF = {
    "BatchFiller": "masks.batch",
    "CompiledGrammar": "compile",
    "Matcher": "matcher",
    "Vocabulary": "vocabulary",
    "allocate_token_bitmask": "vocabulary.bitmask",
    "allowed_token_ids": "vocabulary.bitmask",
    "compile_gbnf": "compile",
    "compile_ir": "compile",
    "compile_json_schema": "compile",
    "compile_lark": "compile",
    "compile_regex": "compile",
    "is_warm": "warming",
    "sample": "ir.sentences",
    "to_ebnf": "ir.printer",
    "warm_up": "warming",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f".{_HOME_OF[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
