"""Weights in the order in which the products read them: panels of 32 outputs, one after the other, in one array."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from constrained.model.config import LlamaConfig

from .exact import LANES
from .kinds import WEIGHT_TYPES, WeightKind
from .plan import (
    ATTENTION_SCALE_AT,
    BIAS_AT,
    EPSILON_AT,
    INPUTS,
    NORMS_AT,
    OUTPUTS,
    SCALES_AT,
    WEIGHTS_AT,
)

__all__ = ["PackedWeights", "pack", "packed_bytes", "stored_and_scales"]

_ALIGNMENT = 64  # bytes of a line of the caches


@dataclass(frozen=True, slots=True, eq=False)
class PackedWeights:
    """``weights``: all panels. ``params``: epsilon, scale of attention, norms, scales, biases. ``matrices``: places."""

    kind: WeightKind
    weights: NDArray[Any]
    params: NDArray[np.float32]
    matrices: NDArray[np.int64]

    @property
    def num_bytes(self) -> int:
        """Memory of all of them."""
        return self.weights.nbytes + self.params.nbytes


@dataclass(frozen=True, slots=True)
class _Matrix:
    """A product's weights: the tensor's name, its inputs and outputs, and whether it holds two (gate and up)."""

    name: str
    inputs: int
    outputs: int
    has_bias: bool = False
    is_pair: bool = False

    @property
    def panels(self) -> int:
        return (2 if self.is_pair else 1) * math.ceil(self.outputs / LANES)


def pack(config: LlamaConfig, tensors: Iterable[tuple[str, Tensor]], *, kind: WeightKind) -> PackedWeights:
    """Pack the tensors of a :class:`constrained.model.Llama`, (name, tensor) in any order, each once."""
    matrices, norm_at = list(_matrices(config)), _norm_places(config)
    table, weights_size, params_size = _places(matrices, NORMS_AT + len(norm_at) * config.hidden_size, kind)
    packed = PackedWeights(kind, _aligned(weights_size, WEIGHT_TYPES[kind]), np.zeros(params_size, np.float32), table)
    packed.params[EPSILON_AT] = config.rms_norm_eps
    packed.params[ATTENTION_SCALE_AT] = 1 / math.sqrt(config.head_dim)
    index_of = {matrix.name: index for index, matrix in enumerate(matrices)}
    left = {*norm_at, *(matrix.name + ".weight" for matrix in matrices)}
    left |= {matrix.name + ".bias" for matrix in matrices if matrix.has_bias}
    for name, tensor in tensors:
        left.remove(name)
        if name in norm_at:
            packed.params[norm_at[name] :][: config.hidden_size] = tensor.float().numpy()
            continue
        index = index_of[name.rpartition(".")[0]]
        if name.endswith(".bias"):
            _fill(packed.params, int(table[index, BIAS_AT]), _lanes(tensor.float(), matrices[index]))
        else:
            _pack_matrix(packed, table[index], tensor, matrices[index])
    if left:
        raise ValueError(f"tensors: missing {', '.join(sorted(left))}")
    return packed


def packed_bytes(config: LlamaConfig, *, kind: WeightKind) -> int:
    """Bytes that the weights of such a model take when they are packed.

    >>> from constrained.testing.tiny import tiny_config
    >>> packed_bytes(tiny_config(), kind="fp32"), packed_bytes(tiny_config(), kind="int8")
    (115456, 32768)
    """
    params_size = NORMS_AT + (2 * config.num_hidden_layers + 1) * config.hidden_size
    _, weights_size, params_size = _places(list(_matrices(config)), params_size, kind)
    return weights_size * int(np.dtype(WEIGHT_TYPES[kind]).itemsize) + 4 * params_size


def _norm_places(config: LlamaConfig) -> dict[str, int]:
    """Name of a norm's weights -> their place among the parameters."""
    names = [f"blocks.{layer}.{name}_norm.weight" for layer in range(config.num_hidden_layers) for name in _NORMS]
    return {name: NORMS_AT + index * config.hidden_size for index, name in enumerate([*names, "norm.weight"])}


_NORMS = ("attention", "mlp")


def _matrices(config: LlamaConfig) -> Iterator[_Matrix]:
    """All matrices in order of their places; where embedding and head are one, the last stands for both."""
    hidden, inner = config.hidden_size, config.intermediate_size
    heads = config.num_attention_heads * config.head_dim
    projected = heads + 2 * config.num_key_value_heads * config.head_dim
    for layer in range(config.num_hidden_layers):
        yield _Matrix(f"blocks.{layer}.attention.qkv", hidden, projected, config.attention_bias)
        yield _Matrix(f"blocks.{layer}.attention.output", heads, hidden, config.attention_bias)
        yield _Matrix(f"blocks.{layer}.mlp.gate_up", hidden, inner, config.mlp_bias, is_pair=True)
        yield _Matrix(f"blocks.{layer}.mlp.down", inner, hidden, config.mlp_bias)
    if not config.tie_word_embeddings:
        yield _Matrix("unembedding", hidden, config.vocab_size)
    yield _Matrix("embedding", hidden, config.vocab_size)


def _places(matrices: list[_Matrix], params_size: int, kind: WeightKind) -> tuple[NDArray[np.int64], int, int]:
    """The table of matrices, and the sizes of weights and parameters. One that is head and embedding is twice."""
    rows, weights_size = [], 0
    params_size = -(-params_size // LANES) * LANES
    for matrix in matrices:
        row = {WEIGHTS_AT: weights_size, SCALES_AT: -1, BIAS_AT: -1, INPUTS: matrix.inputs, OUTPUTS: matrix.outputs}
        weights_size += -(-matrix.panels * matrix.inputs * LANES // _ALIGNMENT) * _ALIGNMENT
        for column, wanted in ((SCALES_AT, kind == "int8"), (BIAS_AT, matrix.has_bias)):
            if wanted:
                row[column] = params_size
                params_size += matrix.panels * LANES
        rows.append([row[column] for column in sorted(row)])
    if matrices[-2].name != "unembedding":
        rows.append(rows[-1])
    return np.array(rows, np.int64), weights_size, params_size


def _aligned(size: int, dtype: Any) -> NDArray[Any]:
    """An array that begins at a line of the caches, so that no vector lies across two."""
    width = np.dtype(dtype).itemsize
    room = np.empty(size + _ALIGNMENT // width, dtype)
    skip = -room.ctypes.data % _ALIGNMENT // width
    return room[skip : skip + size]


def _pack_matrix(packed: PackedWeights, row: NDArray[np.int64], tensor: Tensor, matrix: _Matrix) -> None:
    stored, scales = stored_and_scales(tensor, kind=packed.kind)
    halves = stored.chunk(2) if matrix.is_pair else (stored,)
    panels = torch.stack([_panels(half) for half in halves], dim=1)  # (P, 1 or 2, K, 32)
    target = packed.weights.view(np.int16) if packed.kind == "bf16" else packed.weights
    _fill(target, int(row[WEIGHTS_AT]), panels)
    if scales is not None:
        _fill(packed.params, int(row[SCALES_AT]), _lanes(scales, matrix))


def stored_and_scales(tensor: Tensor, *, kind: WeightKind) -> tuple[Tensor, Tensor | None]:
    """A matrix (N, K) as it is held, bfloat16 by its bits (int16), and for int8 the scales (N,) to multiply by.

    >>> stored_and_scales(torch.tensor([[0.5, -1.0, 0.1]]), kind="int8")
    (tensor([[  64, -127,   13]], dtype=torch.int8), tensor([0.0079]))
    """
    if kind == "fp32":
        return tensor.float(), None
    if kind == "bf16":
        return tensor.bfloat16().view(torch.int16), None
    single = tensor.float()
    largest = single.abs().amax(dim=1)
    scales = torch.where(largest > 0, largest / 127, torch.ones_like(largest))
    return (single / scales.unsqueeze(1)).round().clamp(-127, 127).to(torch.int8), scales


def _panels(matrix: Tensor) -> Tensor:
    """(N, K) as panels (ceil(N / 32), K, 32); outputs that are not there are 0."""
    missing = -matrix.shape[0] % LANES
    padded = torch.nn.functional.pad(matrix, (0, 0, 0, missing)) if missing else matrix
    return padded.view(-1, LANES, matrix.shape[1]).transpose(1, 2)


def _lanes(vector: Tensor, matrix: _Matrix) -> Tensor:
    """(N,) in the order of the panels' outputs."""
    halves = vector.chunk(2) if matrix.is_pair else (vector,)
    return torch.stack([_panels(half.unsqueeze(1)) for half in halves], dim=1)


def _fill(target: NDArray[Any], at: int, values: Tensor) -> None:
    torch.from_numpy(target[at : at + values.numel()]).view(values.shape).copy_(values)
