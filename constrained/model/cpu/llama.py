"""A Llama on the CPU by our own kernels: the same logits, to the last bit, however the work is cut into passes."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from constrained.errors import ContextTooLong
from constrained.model.config import LlamaConfig
from constrained.model.llama import PREFILL_CHUNK, Llama, check_rows
from constrained.model.rope import RotaryTables

from . import plan as entry
from .blocks import BLOCK_POSITIONS
from .cache import CpuCache
from .exact import LANES
from .forward import PASSES
from .kinds import WeightKind
from .pack import PackedWeights, pack
from .team import Team
from .tile import MOST_ROWS, rows_at_once

__all__ = ["CpuLlama"]

_NO_WINDOW = 2**40


class CpuLlama:
    """A decoder of the Llama family with packed weights; activations, cache and logits are float32.

    A row's logits depend on its own tokens only: not on batch size, batch mates, the cutting into passes, the capacity
    of the cache or the number of threads.

    >>> from constrained.testing.tiny import tiny_llama
    >>> model = CpuLlama.from_llama(tiny_llama(seed=0, vocab_size=300))
    >>> whole, step = model.new_cache(1, 16), model.new_cache(1, 16)
    >>> logits = model.forward(torch.tensor([[1, 2, 3]]), whole)
    >>> for token_id in (1, 2, 3):
    ...     last = model.forward(torch.tensor([[token_id]]), step)
    >>> torch.equal(logits, last)
    True
    """

    numerics = "invariant"

    def __init__(self, config: LlamaConfig, packed: PackedWeights, *, num_threads: int = 1) -> None:
        self.config = config
        self._packed = packed
        self._team = Team(PASSES[packed.kind], num_threads)
        self._rotary = RotaryTables(config)
        self._scratch = self._cos = self._sin = np.empty(0, np.float32)
        self._plan = np.zeros(entry.PLAN_SIZE, np.int64)
        window = config.sliding_window
        for place, value in (
            (entry.LAYERS, config.num_hidden_layers),
            (entry.HIDDEN, config.hidden_size),
            (entry.INNER, config.intermediate_size),
            (entry.HEADS, config.num_attention_heads),
            (entry.KV_HEADS, config.num_key_value_heads),
            (entry.HEAD_DIM, config.head_dim),
            (entry.WINDOW, _NO_WINDOW if window is None else window),
            (entry.ROWS_AT_ONCE, rows_at_once()),
            (entry.WORKERS, num_threads),
        ):
            self._plan[place] = value

    @classmethod
    def from_tensors(
        cls,
        config: LlamaConfig,
        tensors: Iterable[tuple[str, Tensor]],
        *,
        weights: WeightKind = "fp32",
        num_threads: int = 1,
    ) -> CpuLlama:
        """Of the tensors of a :class:`constrained.model.Llama`, name and tensor, held as ``weights`` says."""
        return cls(config, pack(config, tensors, kind=weights), num_threads=num_threads)

    @classmethod
    def from_llama(cls, llama: Llama, *, weights: WeightKind = "fp32", num_threads: int = 1) -> CpuLlama:
        """The same model as one of torch on the CPU."""
        return cls.from_tensors(llama.config, llama.state_dict().items(), weights=weights, num_threads=num_threads)

    @property
    def device(self) -> torch.device:
        """The CPU."""
        return torch.device("cpu")

    @property
    def dtype(self) -> torch.dtype:
        """Type of activations and cache; what the weights are held in is :attr:`weights`."""
        return torch.float32

    @property
    def weights(self) -> WeightKind:
        """How weights are held: fp32, bf16 or int8."""
        return self._packed.kind

    @property
    def num_threads(self) -> int:
        """Threads of a pass. Logits do not depend on it."""
        return self._team.num_threads

    @property
    def vocab_size(self) -> int:
        """Width of the logits."""
        return self.config.vocab_size

    def with_threads(self, num_threads: int) -> CpuLlama:
        """The same weights, which are not copied, run by another number of threads."""
        return CpuLlama(self.config, self._packed, num_threads=num_threads)

    def held_arrays(self) -> tuple[tuple[str, NDArray[np.generic]], ...]:
        """All numbers that its logits depend on, each array with a name."""
        return ("weights", self._packed.weights), ("params", self._packed.params)

    @property
    def num_bytes(self) -> int:
        """Memory of the weights."""
        return self._packed.num_bytes

    @cached_property
    def weights_digest(self) -> str:
        """blake2b of the weights as they are held."""
        digest = hashlib.blake2b(self.weights.encode(), digest_size=16)
        digest.update(self._packed.weights.data)
        digest.update(self._packed.params.data)
        return digest.hexdigest()

    def new_cache(self, batch_size: int, capacity: int) -> CpuCache:
        """An empty cache for ``batch_size`` rows of up to ``capacity`` tokens, prompt and output together.

        Raises :class:`ContextTooLong` if ``capacity`` is beyond what the model was made for.
        """
        if capacity > self.config.max_position_embeddings:
            raise ContextTooLong(
                needed=capacity, available=self.config.max_position_embeddings, what="the model's context"
            )
        return CpuCache(self.config, batch_size=batch_size, capacity=capacity)

    def forward(self, token_ids: Tensor, cache: CpuCache, *, all_positions: bool = False) -> Tensor:
        """Append ``token_ids`` (B, T) int64, T >= 1, to ``cache`` and return logits in float32.

        Logits have shape (B, V) and belong to the last position, or (B, T, V) with ``all_positions``. Raises
        :class:`ContextTooLong` before anything is written if they do not fit, and ValueError for ids outside the
        vocabulary.
        """
        if token_ids.dim() != 2 or token_ids.shape[0] != cache.batch_size or token_ids.shape[1] < 1:
            raise ValueError(
                f"token_ids: expected shape ({cache.batch_size}, T) with T >= 1, got {tuple(token_ids.shape)}"
            )
        ids = token_ids.to("cpu", torch.int64).numpy()
        self._check(ids, cache)
        rows, steps = ids.shape
        logits = []
        width = max(1, PREFILL_CHUNK // rows)
        for start in range(0, steps, width):
            stop = min(steps, start + width)
            wanted = stop - start if all_positions else int(stop == steps)
            parts = [_Part(ids[row, start:stop], cache, row, wanted) for row in range(rows)]
            logits.append(self._pass(parts).view(rows, wanted, self.vocab_size))
        return torch.cat(logits, dim=1) if all_positions else logits[-1][:, 0]  # (B, T, V), (B, V)

    def forward_rows(
        self, rows: Sequence[Sequence[int]], caches: Sequence[CpuCache], *, all_positions: bool = False
    ) -> Tensor:
        """Append the ids of each row (one at least) to its own cache, of one row and any length; logits in float32.

        All rows share the reading of the weights. Logits have shape (B, V) and belong to the last position of each
        row, or, with ``all_positions``, to every position, row after row: (T1 + T2 + ... , V). Raises as
        :meth:`forward` does, before anything is written.

        >>> from constrained.testing.tiny import tiny_llama
        >>> model = CpuLlama.from_llama(tiny_llama(vocab_size=300))
        >>> caches = [model.new_cache(1, 16), model.new_cache(1, 16)]
        >>> model.forward_rows([[1, 2, 3], [4]], caches).shape, [cache.length for cache in caches]
        (torch.Size([2, 300]), [3, 1])
        """
        check_rows(rows, caches)
        arrays = [np.asarray(row, np.int64) for row in rows]
        for ids, cache in zip(arrays, caches, strict=True):
            self._check(ids, cache)
        logits, parts, room = [], [], PREFILL_CHUNK
        for ids, cache in zip(arrays, caches, strict=True):
            start = 0
            while start < len(ids):
                stop = min(len(ids), start + room)
                parts.append(_Part(ids[start:stop], cache, 0, stop - start if all_positions else int(stop == len(ids))))
                room -= stop - start
                start = stop
                if room == 0:
                    logits.append(self._pass(parts))
                    parts, room = [], PREFILL_CHUNK
        if parts:
            logits.append(self._pass(parts))
        return logits[0] if len(logits) == 1 else torch.cat(logits)

    def _check(self, ids: NDArray[np.int64], cache: CpuCache) -> None:
        cache.require_room(ids.shape[-1])
        low, high = int(ids.min()), int(ids.max())
        if low < 0 or high >= self.vocab_size:
            raise ValueError(f"token_ids: expected ids from 0 to {self.vocab_size - 1}, got {low} to {high}")

    def _pass(self, parts: Sequence[_Part]) -> Tensor:
        """Logits (wanted, V) of what each part wants, one after the other; one pass over the weights."""
        with self._team as team:
            segments, blocks = _segments(parts)
            wanted = _wanted(parts)
            self._lay_out(segments, len(wanted))
            cos, sin = self._turns(int((segments[:, entry.START] + segments[:, entry.COUNT]).max()))
            logits = np.empty((len(wanted), self.vocab_size), np.float32)
            token_ids = np.concatenate([part.ids for part in parts])
            packed = self._packed
            team.run(
                packed.weights, packed.params, packed.matrices, self._plan, cos, sin, token_ids, segments, blocks,
                wanted, self._scratch, logits.reshape(-1),
            )  # fmt: skip
            for cache, count in {id(part.cache): (part.cache, len(part.ids)) for part in parts}.values():
                cache.advance(count)
        return torch.from_numpy(logits)

    def _lay_out(self, segments: NDArray[np.int64], wanted: int) -> None:
        """Note in the plan where things of a pass are in the scratch memory, and have enough of it."""
        config, plan = self.config, self._plan
        rows = int(segments[:, entry.COUNT].sum())
        longest = int((segments[:, entry.START] + segments[:, entry.COUNT]).max())
        width = config.num_attention_heads * config.head_dim
        projected = width + 2 * config.num_key_value_heads * config.head_dim
        end = 0
        for place, size in (
            (entry.STREAM_AT, rows * config.hidden_size),
            (entry.NORMED_AT, rows * config.hidden_size),
            (entry.PROJECTED_AT, rows * projected),
            (entry.QUERIES_AT, rows * width),
            (entry.ATTENDED_AT, rows * width),
            (entry.GATED_AT, rows * config.intermediate_size),
        ):
            plan[place] = end
            end += _whole_lines(size)
        # Beside what a tile needs: one block more than the positions fill, where a window begins within a block.
        span = _whole_lines(longest) + BLOCK_POSITIONS
        attention = MOST_ROWS * (_whole_lines(config.head_dim) + span)
        wide_panels = LANES * max(2 * config.hidden_size, config.intermediate_size, width)
        work = entry.PANELS_SIZE + max(attention, wide_panels)
        plan[entry.ROWS], plan[entry.WANTED] = rows, wanted
        plan[entry.WORK_AT], plan[entry.WORK_SIZE] = end, work
        needed = end + work * self.num_threads
        if len(self._scratch) < needed:
            self._scratch = np.empty(needed * 5 // 4, np.float32)

    def _turns(self, stop: int) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Cosines and sines of positions up to ``stop`` at least, (positions * D / 2) each."""
        half = self.config.head_dim // 2
        if len(self._cos) < stop * half:
            length = max(512, 1 << (stop - 1).bit_length())
            cos, sin = self._rotary.slice(0, length, device=self.device, dtype=torch.float32)
            self._cos = cos[:, 0, half:].contiguous().view(-1).numpy()
            self._sin = sin[:, 0, half:].contiguous().view(-1).numpy()
        return self._cos, self._sin


@dataclass(frozen=True, slots=True)
class _Part:
    """Tokens of one pass for one row of a cache; the logits of the last ``wanted`` of them are asked for."""

    ids: NDArray[np.int64]
    cache: CpuCache
    row: int
    wanted: int


def _segments(parts: Sequence[_Part]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The table of segments, and the addresses of all blocks that they refer to; room is made in the caches."""
    for part in parts:
        part.cache.make_room(len(part.ids))
    segments = np.empty((len(parts), 4), np.int64)
    addresses = [part.cache.addresses(part.row) for part in parts]
    first_row = first_block = 0
    for index, part in enumerate(parts):
        segments[index] = first_row, len(part.ids), part.cache.length, first_block
        first_row += len(part.ids)
        first_block += len(addresses[index])
    return segments, np.concatenate(addresses)


def _wanted(parts: Sequence[_Part]) -> NDArray[np.int64]:
    """Rows of the pass whose logits are asked for."""
    places: list[int] = []
    stop = 0
    for part in parts:
        stop += len(part.ids)
        places += range(stop - part.wanted, stop)
    return np.array(places, np.int64)


def _whole_lines(size: int) -> int:
    return -(-size // LANES) * LANES
