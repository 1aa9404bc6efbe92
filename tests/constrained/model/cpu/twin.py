"""The forward pass on a CPU once more, slowly: numpy, one operation at a time, in the order that docs/decode.md names.

Nothing is shared with the kernels but how weights are rounded, so equal bits mean that the kernels do what is written.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from constrained.model import Llama
from constrained.model.cpu.exact import fused
from constrained.model.cpu.pack import WeightKind, stored_and_scales
from constrained.model.rope import RotaryTables

Numbers = NDArray[np.float32]
ONE, ZERO = np.float32(1), np.float32(0)


def twin_logits(llama: Llama, token_ids: list[int], *, kind: WeightKind = "fp32") -> Numbers:
    """Logits (T, V) of every position."""
    return _Twin(llama, kind).logits(token_ids)


class _Twin:
    def __init__(self, llama: Llama, kind: WeightKind) -> None:
        self.config, self.kind, self.state = llama.config, kind, llama.state_dict()

    def logits(self, token_ids: list[int]) -> Numbers:
        config, steps = self.config, len(token_ids)
        embedding, scales = self.matrix("embedding")
        stream = embedding[token_ids]
        if scales is not None:
            stream = stream * scales[token_ids, None]
        cos, sin = RotaryTables(config).slice(0, steps, device=torch.device("cpu"), dtype=torch.float32)
        turns = cos[:, :, config.head_dim // 2 :].numpy(), sin[:, :, config.head_dim // 2 :].numpy()  # (T, 1, D / 2)
        for layer in range(config.num_hidden_layers):
            name = f"blocks.{layer}."
            heads = self.product(name + "attention.qkv", self.norm(name + "attention_norm", stream))
            mixed = self.attention(heads.reshape(steps, -1, config.head_dim), turns)
            stream = stream + self.product(name + "attention.output", mixed.reshape(steps, -1))
            gate, up = np.split(self.product(name + "mlp.gate_up", self.norm(name + "mlp_norm", stream)), 2, axis=1)
            stream = stream + self.product(name + "mlp.down", gate / (ONE + exponential(-gate)) * up)
        return self.product("embedding" if config.tie_word_embeddings else "unembedding", self.norm("norm", stream))

    def matrix(self, name: str) -> tuple[Numbers, Numbers | None]:
        stored, scales = stored_and_scales(self.state[name + ".weight"], kind=self.kind)
        values = stored.view(torch.bfloat16) if self.kind == "bf16" else stored
        return values.float().numpy(), None if scales is None else scales.numpy()

    def product(self, name: str, x: Numbers) -> Numbers:
        weights, scales = self.matrix(name)
        total = np.zeros((len(x), len(weights)), np.float32)
        for place in range(x.shape[1]):
            total = fused(x[:, place, None], weights[None, :, place], total)
        if scales is not None:
            total = total * scales
        return total + self.state[name + ".bias"].numpy() if name + ".bias" in self.state else total

    def norm(self, name: str, x: Numbers) -> Numbers:
        size = x.shape[1]
        whole = size // 32 * 32
        lanes = np.zeros((len(x), 32), np.float32)
        for place in range(0, whole, 32):
            lanes = fused(x[:, place : place + 32], x[:, place : place + 32], lanes)
        total = in_halves(lanes)
        for place in range(whole, size):
            total = total + x[:, place] * x[:, place]
        inverse = ONE / np.sqrt(total / np.float32(size) + np.float32(self.config.rms_norm_eps))
        return x * inverse[:, None] * self.state[name + ".weight"].numpy()

    def attention(self, heads: Numbers, turns: tuple[Any, Any]) -> Numbers:
        config = self.config
        queries, keys, values = np.split(
            heads, [config.num_attention_heads, config.num_attention_heads + config.num_key_value_heads], axis=1
        )
        queries = turned(queries, *turns) * np.float32(1 / np.sqrt(config.head_dim))
        keys = turned(keys, *turns)
        mixed = np.empty_like(queries)
        for position in range(len(heads)):
            low = 0 if config.sliding_window is None else max(0, position + 1 - config.sliding_window)
            for head in range(config.num_attention_heads):
                of_head = head // config.num_query_groups
                mixed[position, head] = mix(
                    queries[position, head], keys[low : position + 1, of_head], values[low : position + 1, of_head], low
                )
        return mixed


def turned(heads: Numbers, cos: Numbers, sin: Numbers) -> Numbers:
    low, high = np.split(heads, 2, axis=2)
    return np.concatenate([fused(high, -sin, low * cos), fused(low, sin, high * cos)], axis=2)


def mix(query: Numbers, keys: Numbers, values: Numbers, first: int) -> Numbers:
    """Softmax of the scores of positions ``first``, ``first + 1`` ..., times their values."""
    scores = np.zeros(len(keys), np.float32)
    for place in range(len(query)):
        scores = fused(query[place], keys[:, place], scores)
    shares = exponential(scores - scores.max())
    lanes = np.zeros(32, np.float32)
    for place, share in enumerate(shares, first):
        lanes[place % 32] += share
    total = np.zeros(len(query), np.float32)
    for share, value in zip(shares, values, strict=True):
        total = fused(share, value, total)
    return total / in_halves(lanes)


def in_halves(lanes: Numbers) -> Any:
    while lanes.shape[-1] > 1:
        lanes = lanes[..., : lanes.shape[-1] // 2] + lanes[..., lanes.shape[-1] // 2 :]
    return lanes[..., 0]


def exponential(x: Numbers) -> Numbers:
    """e**x by halves of ln 2 and a series of eight terms."""
    bounded = np.clip(x, np.float32(-87), np.float32(88))
    rounder = np.float32(3 * 2**22)
    whole = fused(bounded, np.float32(np.log2(np.e)), rounder) - rounder
    high, low = np.float32(0.693359375), np.float32(np.log(2) - 0.693359375)
    rest = fused(whole, -low, fused(whole, -high, bounded))
    series = np.full_like(rest, np.float32(1 / 5040))
    for factor in (1 / 720, 1 / 120, 1 / 24, 1 / 6, 1 / 2, 1, 1):
        series = fused(series, rest, np.float32(factor))
    return np.where(x < -87, ZERO, series * np.float32(2) ** whole)
