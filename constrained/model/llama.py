"""The forward pass: token ids in, logits out."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from constrained.errors import ContextTooLong
from constrained.model.config import LlamaConfig
from constrained.model.kv_cache import KVCache
from constrained.model.layers import Block, Linear, Pass, RMSNorm
from constrained.model.rope import RotaryTables

__all__ = ["PREFILL_CHUNK", "Llama", "check_rows"]

#: Most tokens of one pass; a longer prompt is cut, so that activations stay small.
PREFILL_CHUNK = 512


class Llama(nn.Module):
    """A decoder of the Llama family (Llama 2 and 3, Mistral, SmolLM2). Weights start uninitialised.

    >>> from constrained.testing.tiny import tiny_llama
    >>> model = tiny_llama(seed=0, vocab_size=300)
    >>> cache = model.new_cache(1, 16)
    >>> model.forward(torch.tensor([[1, 2, 3]]), cache).shape
    torch.Size([1, 300])
    >>> cache.length
    3
    """

    def __init__(
        self, config: LlamaConfig, *, device: torch.device | str = "cpu", dtype: torch.dtype = torch.float32
    ) -> None:
        super().__init__()
        factory: dict[str, Any] = {"device": device, "dtype": dtype}
        self.config = config
        self.embedding = Linear(config.hidden_size, config.vocab_size, **factory)
        self.blocks = nn.ModuleList(Block(config, layer, **factory) for layer in range(config.num_hidden_layers))
        self.norm = RMSNorm(config.hidden_size, config.rms_norm_eps, **factory)
        tied = config.tie_word_embeddings
        self.unembedding = None if tied else Linear(config.hidden_size, config.vocab_size, **factory)
        self._rotary = RotaryTables(config)

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return self.embedding.weight.device

    @property
    def dtype(self) -> torch.dtype:
        """Type of the weights, activations and cache."""
        return self.embedding.weight.dtype

    numerics = "native"
    prefill_chunk = PREFILL_CHUNK
    """Most tokens of one pass."""

    @property
    def vocab_size(self) -> int:
        """Width of the logits."""
        return self.config.vocab_size

    @property
    def weights(self) -> str:
        """How weights are held: fp32 or bf16."""
        return {torch.float32: "fp32", torch.bfloat16: "bf16"}[self.dtype]

    @property
    def num_bytes(self) -> int:
        """Memory of the weights."""
        return sum(parameter.nbytes for parameter in self.parameters())

    @cached_property
    def weights_digest(self) -> str:
        """blake2b of the weights as they are held."""
        digest = hashlib.blake2b(self.weights.encode(), digest_size=16)
        for name, parameter in sorted(self.named_parameters()):
            digest.update(name.encode())
            digest.update(parameter.detach().cpu().contiguous().view(torch.uint8).numpy().data)
        return digest.hexdigest()

    def new_cache(self, batch_size: int, capacity: int) -> KVCache:
        """An empty cache for ``batch_size`` rows of up to ``capacity`` tokens, prompt and output together.

        Raises :class:`ContextTooLong` if ``capacity`` is beyond what the model was made for.
        """
        if capacity > self.config.max_position_embeddings:
            raise ContextTooLong(
                needed=capacity, available=self.config.max_position_embeddings, what="the model's context"
            )
        return KVCache(self.config, batch_size=batch_size, capacity=capacity, device=self.device, dtype=self.dtype)

    @torch.no_grad()
    def forward(self, token_ids: Tensor, cache: KVCache, *, all_positions: bool = False) -> Tensor:
        """Append ``token_ids`` (B, T) int64, T >= 1, to ``cache`` and return logits in float32.

        Logits have shape (B, V) and belong to the last position, or (B, T, V) with ``all_positions``. More than
        ``prefill_chunk`` tokens are run in several passes. Raises :class:`ContextTooLong` before anything is
        written if they do not fit, and ValueError for ids outside the vocabulary.
        """
        self._check(token_ids, cache)
        token_ids = token_ids.to(self.device)
        logits = []
        for chunk in torch.split(token_ids, self.prefill_chunk, dim=1):
            hidden = self._pass(chunk, cache)  # (B, T, hidden)
            if all_positions:
                logits.append(self.scores(hidden))
        if all_positions:
            return torch.cat(logits, dim=1)  # (B, T, V)
        return self.scores(hidden[:, -1])  # (B, V)

    def forward_rows(
        self, rows: Sequence[Sequence[int]], caches: Sequence[KVCache], *, all_positions: bool = False
    ) -> Tensor:
        """Append the ids of each row (one at least) to its own cache, of one row and any length; logits in float32.

        Logits have shape (B, V) and belong to the last position of each row, or, with ``all_positions``, to every
        position, row after row: (T1 + T2 + ... , V). Raises as :meth:`forward` does, before anything is written.
        """
        check_rows(rows, caches)
        inputs = [torch.tensor([list(row)], dtype=torch.int64) for row in rows]  # (1, T) each
        for token_ids, cache in zip(inputs, caches, strict=True):
            self._check(token_ids, cache)
        logits = [
            self.forward(token_ids, cache, all_positions=all_positions).view(-1, self.vocab_size)
            for token_ids, cache in zip(inputs, caches, strict=True)
        ]
        return torch.cat(logits)

    def _check(self, token_ids: Tensor, cache: KVCache) -> None:
        if token_ids.dim() != 2 or token_ids.shape[0] != cache.batch_size or token_ids.shape[1] < 1:
            raise ValueError(
                f"token_ids: expected shape ({cache.batch_size}, T) with T >= 1, got {tuple(token_ids.shape)}"
            )
        cache.require_room(token_ids.shape[1])
        if token_ids.device.type == "cpu":  # elsewhere the check would have to wait for the device
            low, high = (int(bound) for bound in token_ids.aminmax())
            if low < 0 or high >= self.vocab_size:
                raise ValueError(f"token_ids: expected ids from 0 to {self.vocab_size - 1}, got {low} to {high}")

    def _pass(self, token_ids: Tensor, cache: KVCache) -> Tensor:
        """Hidden states (B, T, hidden) of new tokens, not yet normed; their keys and values are in the cache."""
        start, steps = cache.length, token_ids.shape[1]
        cos, sin = self._rotary.slice(start, start + steps, device=self.device, dtype=self.dtype)
        attn_mask = self._attn_mask(start, steps)
        shared = Pass(cache, cos, sin, attn_mask, is_causal=steps > 1 and attn_mask is None)
        hidden = F.embedding(token_ids, self.embedding.weight)
        for block in self.blocks:
            hidden = block(hidden, shared)
        cache.advance(steps)
        return hidden

    def _attn_mask(self, start: int, steps: int) -> Tensor | None:
        """(T, S) bool: query t at position start + t sees the positions up to its own, within the sliding window.

        None where no mask is needed: one new token, or a whole prompt from position 0 (plain causal attention).
        """
        window = self.config.sliding_window
        stop = start + steps
        if steps == 1 or (start == 0 and (window is None or stop <= window)):
            return None
        queries = torch.arange(start, stop, device=self.device).unsqueeze(1)
        keys = torch.arange(stop, device=self.device)
        mask = keys <= queries
        return mask if window is None else mask & (keys > queries - window)

    def rotary(self, length: int) -> tuple[Tensor, Tensor]:
        """Cosine and signed sine of the positions below ``length``, (length, 1, D) each."""
        return self._rotary.slice(0, length, device=self.device, dtype=self.dtype)

    def scores(self, hidden: Tensor) -> Tensor:
        """Logits in float32 of hidden states (..., hidden)."""
        head = self.embedding if self.unembedding is None else self.unembedding
        return head(self.norm(hidden)).float()  # type: ignore[no-any-return]


def check_rows(rows: Sequence[Sequence[int]], caches: Sequence[Any]) -> None:
    """Raise ValueError unless there is a cache of one row for each row, and no cache twice."""
    if not rows or len(rows) != len(caches):
        raise ValueError(f"expected as many rows as caches, one at least, got {len(rows)} and {len(caches)}")
    if len({id(cache) for cache in caches}) < len(caches):
        raise ValueError("caches: expected one for each row, got the same cache twice")
    for index, (row, cache) in enumerate(zip(rows, caches, strict=True)):
        if not len(row):
            raise ValueError(f"rows[{index}]: expected one token id at least, got none")
        if cache.batch_size != 1:
            raise ValueError(f"caches[{index}]: expected a cache of one row, got one of {cache.batch_size}")
