"""Our grammars in Outlines: ``outlines.Generator(model, processor=grammar_processor(model, output_type))``.

Outlines' own types are output types of ours, and ours are taken here too: a Pydantic model, a JSON Schema, a Lark or
GBNF grammar, a regular expression with look-around.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from outlines.backends.base import BaseBackend
from outlines.models.transformers import Transformers
from outlines.processors import OutlinesLogitsProcessor

from constrained.combinators import lark
from constrained.output_types import output_type_from, regex
from constrained.processors import apply_token_bitmask
from grammars import CompiledGrammar, Vocabulary, compile_ir

from .row_matchers import RowMatchers, refuse_dead_ends
from .transformers import DeadEnds, vocabulary_of

__all__ = ["ConstrainedBackend", "ConstrainedLogitsProcessor", "grammar_processor"]

_LIBRARIES = ("torch", "numpy")


class ConstrainedLogitsProcessor(OutlinesLogitsProcessor):
    """Masks what a grammar does not allow; Outlines calls :meth:`reset` before each generation."""

    def __init__(self, grammar: CompiledGrammar, tensor_library_name: str, *, dead_ends: DeadEnds = "refuse") -> None:
        if tensor_library_name not in _LIBRARIES:
            raise NotImplementedError(
                f"tensors of {tensor_library_name} are not supported; expected a model on {' or '.join(_LIBRARIES)}"
            )
        if dead_ends == "refuse":
            refuse_dead_ends(grammar)
        super().__init__(tensor_library_name)
        self.tensor_library_name = tensor_library_name
        self.grammar = grammar
        self._rows = RowMatchers(grammar)

    def reset(self) -> None:
        """Begin a generation."""
        self._rows.reset()

    def process_logits(self, input_ids: Any, logits: Any) -> Any:
        """Ids (B, T) and logits (B, V) in, logits with -inf at what is not allowed out."""
        bitmask = self._rows.bitmask(input_ids.tolist())
        is_torch = self.tensor_library_name == "torch"
        rows = logits.float() if is_torch else torch.from_numpy(np.ascontiguousarray(logits, np.float32))
        masked = apply_token_bitmask(rows, bitmask)
        return masked.to(logits.dtype) if is_torch else masked.numpy().astype(logits.dtype)


class ConstrainedBackend(BaseBackend):
    """The grammars of one Outlines model, in the form of its own backends."""

    def __init__(self, model: Any, *, whitespace: str = "compact", dead_ends: DeadEnds = "refuse") -> None:
        if not isinstance(model, Transformers):
            got = type(model).__name__
            raise NotImplementedError(f"model: expected one of outlines.from_transformers, with a tokenizer, got {got}")
        self.tensor_library_name = model.tensor_library_name
        self.whitespace = whitespace
        self.dead_ends: DeadEnds = dead_ends
        self.vocabulary: Vocabulary = vocabulary_of(model.hf_tokenizer, size=model.model.config.vocab_size)

    def get_logits_processor(self, output_type: Any) -> ConstrainedLogitsProcessor:
        """Of any output type, ours or Outlines'."""
        ir = output_type_from(output_type).lower(whitespace=self.whitespace)
        grammar = compile_ir(ir, self.vocabulary)
        return ConstrainedLogitsProcessor(grammar, self.tensor_library_name, dead_ends=self.dead_ends)

    def get_json_schema_logits_processor(
        self, json_schema: str, whitespace_pattern: str | None = None
    ) -> ConstrainedLogitsProcessor:
        """Of a JSON Schema as text. A whitespace pattern is refused: ``whitespace=`` says how JSON is written."""
        if whitespace_pattern is not None:
            raise NotImplementedError(
                "whitespace_pattern is not supported; pass whitespace='compact', 'indent=2', 'flexible' ... to "
                "ConstrainedBackend"
            )
        return self.get_logits_processor(json_schema)

    def get_regex_logits_processor(self, regex_pattern: str) -> ConstrainedLogitsProcessor:
        """Of a regular expression that the whole text matches."""
        return self.get_logits_processor(regex(regex_pattern))

    def get_cfg_logits_processor(self, grammar: str) -> ConstrainedLogitsProcessor:
        """Of a Lark grammar."""
        return self.get_logits_processor(lark(grammar))


def grammar_processor(
    model: Any, output_type: Any, *, whitespace: str = "compact", dead_ends: DeadEnds = "refuse"
) -> ConstrainedLogitsProcessor:
    """What to pass as ``outlines.Generator(model, processor=...)``, for an Outlines model and any output type.

    Raises NotImplementedError for a model that is not one of `transformers`.
    """
    return ConstrainedBackend(model, whitespace=whitespace, dead_ends=dead_ends).get_logits_processor(output_type)
