"""Hypothesis strategies: grammars, schemas, texts and values of them, vocabularies, logits.

They are for tests of what is built on grammars, schemas and logits processors, ours or anybody's. They need
`hypothesis`, which the extra ``testing`` installs.
"""

from .all_keywords import DRAFTS, KEYWORDS, schemas
from .instances import json_texts
from .logits import logits
from .near_misses import near_misses
from .random_grammars import grammars
from .regexes import regex_cases, regexes
from .sentences import sentences
from .spellings import json_spellings
from .values import instances, invalid_instances
from .vocabularies import vocabularies

__all__ = [
    "DRAFTS",
    "KEYWORDS",
    "grammars",
    "instances",
    "invalid_instances",
    "json_spellings",
    "json_texts",
    "logits",
    "near_misses",
    "regex_cases",
    "regexes",
    "schemas",
    "sentences",
    "vocabularies",
]
