"""What `benchmarks.gpu` constrains with: a vocabulary that needs no download, a JSON Schema, and a text in it.

Where numba is missing there is no grammar engine: then bitmasks are made beforehand, at random, and no text is forced.
"""

from __future__ import annotations

import itertools
import random
import time
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np
import torch
from torch import Tensor

from constrained.model.cuda import CudaLlama

__all__ = ["TEXT", "generate_text", "json_matcher", "masks_of", "synthetic_vocabulary"]

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "invoice_number": {"type": "string", "maxLength": 12},
        "currency_of_payment": {"enum": ["euro", "pound", "dollar"]},
        "total_including_taxes": {"type": "integer", "minimum": 0, "maximum": 9999},
        "was_paid_before_the_due_date": {"type": "boolean"},
    },
    "required": ["invoice_number", "currency_of_payment", "total_including_taxes", "was_paid_before_the_due_date"],
    "additionalProperties": False,
}
TEXT = "An invoice."


def synthetic_vocabulary(size: int) -> Any:
    """All bytes, then words of small letters with and without a blank before them; the last id ends a text."""
    if find_spec("numba") is None:
        return size
    import grammars

    draw = random.Random(0)
    pieces = [
        "in",
        "er",
        "on",
        "al",
        "th",
        "re",
        "ti",
        "pa",
        "cu",
        "vo",
        "ice",
        "num",
        "ber",
        "tax",
        "due",
        "date",
        "to",
    ]
    words = {
        blank + "".join(word) for n in (1, 2) for word in itertools.product(pieces, repeat=n) for blank in ("", " ")
    }
    while len(words) < size - 257:
        words.add(draw.choice(("", " ")) + "".join(draw.choices("abcdefghijklmnopqrstuvwxyz", k=draw.randrange(3, 9))))
    tokens = [bytes([byte]) for byte in range(256)] + [word.encode() for word in sorted(words)][: size - 257]
    return grammars.Vocabulary.from_bytes([*tokens, None], eos_token_ids=[size - 1])


def json_matcher(vocabulary: Any) -> Any:
    """A matcher of the schema, ``None`` without an engine."""
    if isinstance(vocabulary, int):
        return None
    import grammars

    return grammars.compile_json_schema(SCHEMA, vocabulary).matcher()


def masks_of(vocabulary: Any, num_rows: int) -> Callable[[Tensor], Tensor]:
    """What a grammar does to the logits of a step: consumes the last token, fills bitmasks, and applies them."""
    if isinstance(vocabulary, int):
        allowed = torch.from_numpy(np.random.default_rng(0).random((num_rows, vocabulary)) < 0.5)
        return lambda logits: logits.masked_fill(~allowed.to(logits.device, non_blocking=True), -torch.inf)

    from constrained.processors.mask import apply_token_bitmask_tensor

    matchers = [json_matcher(vocabulary) for _ in range(num_rows)]
    bitmask = np.full((num_rows, -(-vocabulary.size // 32)), -1, np.int32)

    def mask(logits: Tensor) -> Tensor:
        for row, matcher in enumerate(matchers):
            matcher.fill_next_token_bitmask(bitmask, row)
        masked = apply_token_bitmask_tensor(logits, bitmask)
        for matcher, token_id in zip(matchers, masked.argmax(-1).tolist(), strict=True):
            matcher.consume(token_id)
            if matcher.is_terminated:
                matcher.reset()
        return masked

    return mask


class LongestMatch:
    """A tokenizer for the synthetic vocabulary: the longest token at each place."""

    def __init__(self, vocabulary: Any) -> None:
        self.ids = {token: token_id for token_id, token in enumerate(vocabulary.tokens) if token}
        self.longest = max(map(len, self.ids))

    def tokenize(self, text: str) -> list[int]:
        data, place, ids = text.encode(), 0, []
        while place < len(data):
            length = next(n for n in range(self.longest, 0, -1) if data[place : place + n] in self.ids)
            ids.append(self.ids[data[place : place + length]])
            place += length
        return ids


def generate_text(model: CudaLlama, vocabulary: Any, prompt: str) -> dict[str, float]:
    """One constrained generation, token by token and with forced text: how much quicker that is."""
    from constrained.loop import Engine, Request, generate

    tokenizer = LongestMatch(vocabulary)
    engine = Engine(model, tokenizer, vocabulary, model.config.max_position_embeddings)
    seconds: dict[str, float] = {}
    passes: dict[str, float] = {}
    for forced in ("off", "canonical", "off", "canonical"):  # the first two capture graphs
        request = Request(
            prompt_ids=tokenizer.tokenize(prompt), matcher=json_matcher(vocabulary), max_tokens=300, forced=forced
        )
        if torch.cuda.is_available():
            torch.cuda.synchronize()
        started = time.perf_counter()
        result = generate(engine, request)
        seconds[forced] = time.perf_counter() - started
        passes[forced] = result.usage.forward_passes
    return {
        "off_seconds": seconds["off"],
        "canonical_seconds": seconds["canonical"],
        "off_passes": passes["off"],
        "canonical_passes": passes["canonical"],
        "speed_up": seconds["off"] / seconds["canonical"],
    }
