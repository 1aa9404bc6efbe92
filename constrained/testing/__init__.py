"""Tests of what is built on grammars, schemas and logits processors: ours, another engine's, or your own.

:mod:`~constrained.testing.strategies` draws grammars, schemas, texts, values, vocabularies and logits for Hypothesis;
:func:`check_matcher` and :func:`check_logits_processor` hold an implementation to the laws; ``assert_...`` check whole
generations; ``constrained test`` is all of it on the command line. Names are imported when first used, and need the
extra ``testing``. docs/testing.md tells more.

>>> from constrained.testing import assert_schema_valid, strategies
>>> strategies.instances({"type": "integer"}).is_empty
False
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import strategies
    from .faults import Fault, LawBroken
    from .judge import JsonschemaJudge
    from .laws import Checked, check_matcher
    from .model_checks import assert_deterministic, assert_distribution, assert_schema_valid
    from .processor_laws import check_logits_processor

__all__ = [
    "Checked",
    "Fault",
    "JsonschemaJudge",
    "LawBroken",
    "assert_deterministic",
    "assert_distribution",
    "assert_schema_valid",
    "check_logits_processor",
    "check_matcher",
    "strategies",
]

# No module of this folder may have one of these names: importing it would put the module in the name's place.
_HOME_OF = {
    "Checked": "laws",
    "Fault": "faults",
    "JsonschemaJudge": "judge",
    "LawBroken": "faults",
    "assert_deterministic": "model_checks",
    "assert_distribution": "model_checks",
    "assert_schema_valid": "model_checks",
    "check_logits_processor": "processor_laws",
    "check_matcher": "laws",
}


def __getattr__(name: str) -> Any:
    if name == "strategies":
        return import_module(".strategies", __name__)
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f".{_HOME_OF[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
