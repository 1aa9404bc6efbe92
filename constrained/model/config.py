"""What a model of the Llama family is made of, read from a Hugging Face `config.json`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from constrained.errors import ModelFilesError, UnsupportedModel

__all__ = ["SUPPORTED_ARCHITECTURES", "LlamaConfig", "RopeScaling", "end_token_ids"]

#: Architecture names (field `architectures` of `config.json`) that our forward pass computes.
SUPPORTED_ARCHITECTURES = ("LlamaForCausalLM", "MistralForCausalLM")

_ARCHITECTURE_OF_MODEL_TYPE = {"llama": "LlamaForCausalLM", "mistral": "MistralForCausalLM"}
_SUPPORTED_ROPE_TYPES = ("default", "linear", "llama3")


@dataclass(frozen=True, kw_only=True)
class RopeScaling:
    """How rotary frequencies are stretched for long contexts.

    ``rope_type`` is ``"linear"`` (all frequencies divided by ``factor``), ``"llama3"`` (long wavelengths divided by
    ``factor``, short ones kept, a ramp between; Llama 3.1 model card) or ``"factors"`` (each frequency divided by its
    own entry of ``factors``, as GGUF files store it).
    """

    rope_type: str
    factor: float = 1.0
    low_freq_factor: float = 1.0
    high_freq_factor: float = 4.0
    original_max_position_embeddings: int = 8192
    factors: tuple[float, ...] = ()


@dataclass(frozen=True, kw_only=True)
class LlamaConfig:
    """Sizes and switches of a Llama: everything that the forward pass depends on besides the weights.

    >>> config = LlamaConfig(vocab_size=64, hidden_size=16, intermediate_size=32, num_hidden_layers=2,
    ...                      num_attention_heads=4, num_key_value_heads=2, head_dim=4)
    >>> config.num_query_groups
    2
    """

    vocab_size: int
    hidden_size: int
    intermediate_size: int
    num_hidden_layers: int
    num_attention_heads: int
    num_key_value_heads: int
    head_dim: int
    max_position_embeddings: int = 2048
    rms_norm_eps: float = 1e-6
    rope_theta: float = 10000.0
    rope_scaling: RopeScaling | None = None
    tie_word_embeddings: bool = False
    attention_bias: bool = False
    mlp_bias: bool = False
    sliding_window: int | None = None
    bos_token_id: int | None = None
    eos_token_ids: tuple[int, ...] = ()
    architecture: str = "LlamaForCausalLM"

    def __post_init__(self) -> None:
        if self.architecture not in SUPPORTED_ARCHITECTURES:
            raise UnsupportedModel(
                f"architecture {self.architecture!r} is not supported; expected one of {_supported()}"
            )
        for name in ("vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads"):
            _require_positive(name, getattr(self, name))
        for name in ("num_key_value_heads", "head_dim", "max_position_embeddings"):
            _require_positive(name, getattr(self, name))
        if self.num_attention_heads % self.num_key_value_heads:
            raise ModelFilesError(
                f"config: num_attention_heads={self.num_attention_heads} is not a multiple of "
                f"num_key_value_heads={self.num_key_value_heads}"
            )
        if self.head_dim % 2:
            raise ModelFilesError(f"config: head_dim={self.head_dim} is odd; rotary embedding needs an even one")
        if self.sliding_window is not None:
            _require_positive("sliding_window", self.sliding_window)

    @property
    def num_query_groups(self) -> int:
        """Query heads that share one key/value head."""
        return self.num_attention_heads // self.num_key_value_heads

    @classmethod
    def from_mapping(cls, data: Mapping[str, Any]) -> LlamaConfig:
        """From the content of a Hugging Face ``config.json``.

        Raises :class:`UnsupportedModel` for another architecture or a switch that we do not compute, and
        :class:`ModelFilesError` for a missing or senseless field.
        """
        architecture = _architecture(data)
        _refuse_unsupported_switches(data)
        heads = _integer(data, "num_attention_heads")
        hidden = _integer(data, "hidden_size")
        mistral = architecture == "MistralForCausalLM"
        rope_theta, rope_scaling = _rope(data)
        return cls(
            vocab_size=_integer(data, "vocab_size"),
            hidden_size=hidden,
            intermediate_size=_integer(data, "intermediate_size"),
            num_hidden_layers=_integer(data, "num_hidden_layers"),
            num_attention_heads=heads,
            num_key_value_heads=_integer(data, "num_key_value_heads", 8 if mistral else heads),
            head_dim=_integer(data, "head_dim", _whole_quotient(hidden, heads)),
            max_position_embeddings=_integer(data, "max_position_embeddings", 131072 if mistral else 2048),
            rms_norm_eps=float(data.get("rms_norm_eps", 1e-6)),
            rope_theta=rope_theta,
            rope_scaling=rope_scaling,
            tie_word_embeddings=bool(data.get("tie_word_embeddings", False)),
            attention_bias=bool(data.get("attention_bias", False)) and not mistral,
            mlp_bias=bool(data.get("mlp_bias", False)) and not mistral,
            sliding_window=data.get("sliding_window", 4096) if mistral else None,
            bos_token_id=data.get("bos_token_id"),
            eos_token_ids=end_token_ids(data),
            architecture=architecture,
        )

    def to_mapping(self) -> dict[str, Any]:
        """Content of a ``config.json`` that :meth:`from_mapping` and transformers read as this configuration."""
        same = ["vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads"]
        same += ["num_key_value_heads", "head_dim", "max_position_embeddings", "rms_norm_eps", "rope_theta"]
        same += ["tie_word_embeddings", "attention_bias", "mlp_bias", "bos_token_id"]
        data = {name: getattr(self, name) for name in same}
        data["architectures"] = [self.architecture]
        data["model_type"] = {value: key for key, value in _ARCHITECTURE_OF_MODEL_TYPE.items()}[self.architecture]
        data["hidden_act"] = "silu"
        ends = self.eos_token_ids
        data["eos_token_id"] = ends[0] if len(ends) == 1 else list(ends)
        if self.sliding_window is not None or self.architecture == "MistralForCausalLM":
            data["sliding_window"] = self.sliding_window
        if self.rope_scaling is not None:
            data["rope_scaling"] = _rope_scaling_mapping(self.rope_scaling)
        return data

    @classmethod
    def from_file(cls, path: Path) -> LlamaConfig:
        """From a ``config.json`` on disk."""
        try:
            data = json.loads(path.read_text(encoding="utf-8"))
        except json.JSONDecodeError as error:
            raise ModelFilesError(f"{path}: not valid JSON: {error}") from error
        if not isinstance(data, dict):
            raise ModelFilesError(f"{path}: expected a JSON object, got {type(data).__name__}")
        return cls.from_mapping(data)


def end_token_ids(data: Mapping[str, Any]) -> tuple[int, ...]:
    """Ids that end a generation, from field ``eos_token_id`` (absent, null, one id, or a list).

    >>> end_token_ids({"eos_token_id": 2}), end_token_ids({"eos_token_id": [7, 3]}), end_token_ids({})
    ((2,), (7, 3), ())
    """
    value = data.get("eos_token_id")
    if value is None:
        return ()
    values = value if isinstance(value, list) else [value]
    if not all(isinstance(item, int) and not isinstance(item, bool) for item in values):
        raise ModelFilesError(f"config: eos_token_id: expected an integer or a list of integers, got {value!r}")
    return tuple(dict.fromkeys(values))


def _supported() -> str:
    return ", ".join(SUPPORTED_ARCHITECTURES)


def _require_positive(name: str, value: int) -> None:
    if value < 1:
        raise ModelFilesError(f"config: {name}: expected at least 1, got {value}")


def _architecture(data: Mapping[str, Any]) -> str:
    """The one architecture that the config names, by class name or (where that is missing) by model type."""
    names = data.get("architectures") or []
    model_type = data.get("model_type")
    if names:
        name = str(names[0])
    elif model_type in _ARCHITECTURE_OF_MODEL_TYPE:
        name = _ARCHITECTURE_OF_MODEL_TYPE[model_type]
    else:
        name = str(model_type)
    if name not in SUPPORTED_ARCHITECTURES:
        raise UnsupportedModel(f"architecture {name!r} is not supported; expected one of {_supported()}")
    return name


def _refuse_unsupported_switches(data: Mapping[str, Any]) -> None:
    activation = data.get("hidden_act", "silu")
    if activation not in ("silu", "swish"):
        raise UnsupportedModel(f"config: hidden_act={activation!r} is not supported; expected 'silu'")
    if data.get("quantization_config"):
        method = data["quantization_config"].get("quant_method", "?")
        raise UnsupportedModel(
            f"config: weights quantised by {method!r} are not supported; use unquantised files or a GGUF file"
        )


def _integer(data: Mapping[str, Any], name: str, default: int | None = None) -> int:
    value = data.get(name)
    if value is None:
        value = default
    if not isinstance(value, int) or isinstance(value, bool):
        raise ModelFilesError(f"config: {name}: expected an integer, got {value!r}")
    return value


def _whole_quotient(hidden: int, heads: int) -> int | None:
    """hidden / heads where that is whole, as the default of head_dim; else there is no default."""
    return hidden // heads if heads > 0 and hidden % heads == 0 else None


def _rope(data: Mapping[str, Any]) -> tuple[float, RopeScaling | None]:
    """Base and scaling of the rotary embedding: `rope_parameters`, or the older `rope_theta` and `rope_scaling`."""
    parameters: dict[str, Any] = dict(data.get("rope_scaling") or {})
    parameters.update(data.get("rope_parameters") or {})
    theta = float(parameters.get("rope_theta", data.get("rope_theta") or 10000.0))
    rope_type = parameters.get("rope_type", parameters.get("type", "default"))
    if rope_type not in _SUPPORTED_ROPE_TYPES:
        raise UnsupportedModel(
            f"config: rope_type {rope_type!r} is not supported; expected one of {', '.join(_SUPPORTED_ROPE_TYPES)}"
        )
    if float(parameters.get("partial_rotary_factor", data.get("partial_rotary_factor") or 1.0)) != 1.0:
        raise UnsupportedModel("config: partial_rotary_factor other than 1 is not supported")
    if rope_type == "default":
        return theta, None
    names = ["factor"]
    if rope_type == "llama3":
        names += ["low_freq_factor", "high_freq_factor", "original_max_position_embeddings"]
    missing = [name for name in names if name not in parameters]
    if missing:
        raise ModelFilesError(f"config: rope_type {rope_type!r} needs {', '.join(missing)}")
    return theta, RopeScaling(rope_type=rope_type, **{name: parameters[name] for name in names})


def _rope_scaling_mapping(scaling: RopeScaling) -> dict[str, Any]:
    """The inverse of :func:`_rope`."""
    data: dict[str, Any] = {"rope_type": scaling.rope_type, "factor": scaling.factor}
    if scaling.rope_type == "llama3":
        data["low_freq_factor"] = scaling.low_freq_factor
        data["high_freq_factor"] = scaling.high_freq_factor
        data["original_max_position_embeddings"] = scaling.original_max_position_embeddings
    elif scaling.rope_type != "linear":
        raise UnsupportedModel(f"config.json has no words for rope_type {scaling.rope_type!r}")
    return data
