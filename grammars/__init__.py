"""What may be written: grammars compiled to token bitmasks. Needs numpy and numba, never torch."""

from .compile import CompiledGrammar, compile_ir, compile_json_schema, compile_regex
from .errors import (
    GrammarError,
    LimitExceeded,
    RegexError,
    SchemaError,
    TokenRefused,
    UnsatisfiableGrammar,
    UnsupportedSchema,
    VocabularyError,
)
from .limits import DEFAULT_LIMITS, Limits
from .masks.batch import BatchFiller
from .matcher import Matcher
from .vocabulary import Vocabulary
from .vocabulary.bitmask import allocate_token_bitmask, allowed_token_ids
from .warm_up import is_warm, warm_up

__all__ = [
    "DEFAULT_LIMITS",
    "BatchFiller",
    "CompiledGrammar",
    "GrammarError",
    "LimitExceeded",
    "Limits",
    "Matcher",
    "RegexError",
    "SchemaError",
    "TokenRefused",
    "UnsatisfiableGrammar",
    "UnsupportedSchema",
    "Vocabulary",
    "VocabularyError",
    "allocate_token_bitmask",
    "allowed_token_ids",
    "compile_ir",
    "compile_json_schema",
    "compile_regex",
    "is_warm",
    "warm_up",
]
