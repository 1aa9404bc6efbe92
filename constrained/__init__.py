"""Makes a Llama write exactly what a schema or grammar allows.

>>> import constrained
>>> model = constrained.load()  # doctest: +SKIP
>>> model.generate("Is the sky blue?", constrained.choice(["yes", "no"])).value  # doctest: +SKIP
'yes'

Names are imported when first used, so that ``import constrained`` is quick.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .errors import ConstrainedError, UnsupportedOutputType, ValidationFailed

if TYPE_CHECKING:
    from .api import Model, load
    from .batches import GenerationRequest, Outcome
    from .combinators import (
        ToolCall,
        alt,
        free_text,
        gbnf,
        lark,
        many,
        optional,
        seq,
        special,
        text_without,
        tool_calls,
        until,
    )
    from .fields import fields_schema
    from .output_types import OutputType, choice, json_schema, regex
    from .prompts import PromptTemplate
    from .result import GenerationResult, Usage
    from .sampling_config import SamplingConfig
    from .text_stream import TextStream

__all__ = [
    "ConstrainedError",
    "GenerationRequest",
    "GenerationResult",
    "Model",
    "Outcome",
    "OutputType",
    "PromptTemplate",
    "SamplingConfig",
    "TextStream",
    "ToolCall",
    "UnsupportedOutputType",
    "Usage",
    "ValidationFailed",
    "Verbatim",
    "alt",
    "choice",
    "fields_schema",
    "free_text",
    "gbnf",
    "json_schema",
    "lark",
    "load",
    "many",
    "optional",
    "regex",
    "seq",
    "special",
    "text_without",
    "tool_calls",
    "until",
    "verbatim",
]

_HOME_OF = {
    "GenerationRequest": "batches",
    "GenerationResult": "result",
    "Model": "api",
    "Outcome": "batches",
    "OutputType": "output_types",
    "PromptTemplate": "prompts",
    "SamplingConfig": "sampling_config",
    "TextStream": "text_stream",
    "ToolCall": "combinators",
    "Usage": "result",
    "Verbatim": "output_types",
    "alt": "combinators",
    "choice": "output_types",
    "fields_schema": "fields",
    "free_text": "combinators",
    "gbnf": "combinators",
    "json_schema": "output_types",
    "lark": "combinators",
    "load": "api",
    "many": "combinators",
    "optional": "combinators",
    "regex": "output_types",
    "seq": "combinators",
    "special": "combinators",
    "text_without": "combinators",
    "tool_calls": "combinators",
    "until": "combinators",
    "verbatim": "combinators",
}


def __getattr__(name: str) -> Any:
    if name == "watermark":
        return import_module(".watermark", __name__)
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f".{_HOME_OF[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
