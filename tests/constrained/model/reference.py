"""The same model twice: transformers' implementation with seeded weights, and ours with those weights."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from transformers import LlamaConfig as TransformersLlamaConfig
from transformers import LlamaForCausalLM, MistralForCausalLM
from transformers import MistralConfig as TransformersMistralConfig

from constrained.model.config import LlamaConfig
from constrained.model.llama import Llama
from constrained.model.weights import build_model

CPU = torch.device("cpu")

SMALL: dict[str, Any] = {
    "vocab_size": 97,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 512,
}


class InMemory:
    """A checkpoint made of a state dict."""

    def __init__(self, state: dict[str, Tensor]) -> None:
        self.state = state

    def shapes(self) -> dict[str, tuple[int, ...]]:
        return {name: tuple(value.shape) for name, value in self.state.items()}

    def tensor(self, name: str) -> Tensor:
        return self.state[name]


def transformers_model(*, seed: int = 0, mistral: bool = False, **fields: Any) -> Any:
    """transformers' model of ``SMALL`` with ``fields`` replaced; biases and norms are random too."""
    config_class = TransformersMistralConfig if mistral else TransformersLlamaConfig
    model_class = MistralForCausalLM if mistral else LlamaForCausalLM
    model = model_class(config_class(**(SMALL | fields))).eval()
    generator = torch.Generator().manual_seed(seed)
    for name, parameter in model.named_parameters():
        noise = torch.randn(parameter.shape, generator=generator)
        if parameter.dim() == 1:
            parameter.data = 0.1 * noise + (1.0 if "norm" in name else 0.0)
        else:
            parameter.data = noise / parameter.shape[1] ** 0.5
    return model


def ours_of(model: Any, *, dtype: torch.dtype = torch.float32) -> Llama:
    """Our model with the weights and configuration of transformers' ``model``."""
    data = model.config.to_dict()
    data["architectures"] = [type(model).__name__]
    return build_model(LlamaConfig.from_mapping(data), InMemory(model.state_dict()), device=CPU, dtype=dtype)


def random_ids(*shape: int, vocab_size: int = 97, seed: int = 0) -> Tensor:
    """Token ids of the given shape, int64."""
    return torch.randint(0, vocab_size, shape, generator=torch.Generator().manual_seed(seed))


def transformers_logits(model: Any, token_ids: Tensor) -> Tensor:
    """(B, T, V) logits of one uncached pass."""
    with torch.no_grad():
        return model(token_ids, use_cache=False).logits.float()  # type: ignore[no-any-return]


def our_logits(model: Llama, token_ids: Tensor) -> Tensor:
    """(B, T, V) logits of one pass into a fresh cache."""
    cache = model.new_cache(token_ids.shape[0], token_ids.shape[1])
    return model.forward(token_ids, cache, all_positions=True)


def assert_same_logits(got: Tensor, expected: Tensor, *, tolerance: float = 1e-3) -> None:
    """Close everywhere; the same argmax wherever the two best are further apart than the tolerance."""
    assert got.shape == expected.shape
    assert got.dtype == torch.float32
    difference = (got - expected).abs().max().item()
    assert difference < tolerance, f"logits differ by {difference}"
    best, second = expected.topk(2, dim=-1).values.unbind(-1)
    clear = best - second > tolerance
    assert torch.equal(got.argmax(-1)[clear], expected.argmax(-1)[clear])
