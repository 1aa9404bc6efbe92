"""Our grammars in `transformers`: a logits processor for any ``model.generate``.

>>> from constrained.integrations.transformers import GrammarProcessor
>>> processor = GrammarProcessor.from_output_type(bool, tokenizer)  # doctest: +SKIP
>>> model.generate(**inputs, logits_processor=[processor])  # doctest: +SKIP
"""

from __future__ import annotations

from typing import Any, Literal, cast

import torch
from torch import Tensor
from transformers import LogitsProcessor

from constrained.output_types import DEFAULT_WHITESPACE, output_type_from
from constrained.processors import apply_token_bitmask
from grammars import CompiledGrammar, Vocabulary, compile_ir

from .row_matchers import RowMatchers, refuse_dead_ends

__all__ = ["DeadEnds", "GrammarProcessor", "vocabulary_of"]

DeadEnds = Literal["refuse", "raise"]
"""What to do about a grammar whose text may come to where nothing is allowed: refuse the grammar, or raise
:class:`~constrained.errors.DeadEnd` where a text does."""


def vocabulary_of(tokenizer: Any, *, size: int | None = None) -> Vocabulary:
    """The vocabulary of a fast `transformers` tokenizer; ``size`` is the width of the model's logits.

    The tokenizer's end token ends a text.
    """
    return Vocabulary.from_tokenizer(tokenizer, size=size)


class GrammarProcessor(LogitsProcessor):
    """Masks what a grammar does not allow, in any loop of `transformers`: greedy, sampled, beams, batches.

    A row is followed by its ids, so beams may be reordered and copied, and prompts may differ in length (with padding
    on the left, as the library wants it). One processor serves one generation at a time and begins anew by itself with
    the next. The loop never takes tokens back, so a grammar that asks something at the end of a value is refused,
    unless ``dead_ends="raise"``.

    Raises :class:`~constrained.errors.UnsupportedOutputType` for such a grammar.
    """

    supports_continuous_batching = False

    def __init__(self, grammar: CompiledGrammar, *, dead_ends: DeadEnds = "refuse") -> None:
        if dead_ends not in ("refuse", "raise"):
            raise ValueError(f"dead_ends: expected 'refuse' or 'raise', got {dead_ends!r}")
        if dead_ends == "refuse":
            refuse_dead_ends(grammar)
        self.grammar = grammar
        self._rows = RowMatchers(grammar)

    @classmethod
    def from_output_type(
        cls,
        output_type: Any,
        tokenizer: Any,
        *,
        vocab_size: int | None = None,
        whitespace: str = DEFAULT_WHITESPACE,
        dead_ends: DeadEnds = "refuse",
    ) -> GrammarProcessor:
        """Of whatever :meth:`constrained.Model.generate` takes as output type, and a fast tokenizer.

        ``vocab_size`` is the width of the model's logits (``model.config.vocab_size``), where it is more than the
        tokenizer has.
        """
        vocabulary = vocabulary_of(tokenizer, size=vocab_size)
        ir = output_type_from(output_type).lower(whitespace=whitespace)
        return cls(compile_ir(ir, vocabulary), dead_ends=dead_ends)

    def reset(self) -> None:
        """Forget the generation so far."""
        self._rows.reset()

    def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:
        """Ids (B, T) and scores (B, V) in, scores with -inf at what is not allowed out; the scores given stay as they
        are.

        Raises ValueError where V is not the size of the vocabulary.
        """
        size = self.grammar.vocabulary.size
        if scores.shape[-1] != size:
            raise ValueError(
                f"scores: expected as many columns as the grammar's vocabulary has ids, {size:,}, got "
                f"{scores.shape[-1]:,}; pass vocab_size=model.config.vocab_size to from_output_type"
            )
        bitmask = self._rows.bitmask(cast("list[list[int]]", input_ids.tolist()))
        masked = apply_token_bitmask(scores.float(), bitmask)
        return masked.to(scores.dtype) if scores.dtype != torch.float32 else masked
