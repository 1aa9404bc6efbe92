"""What a generation will cost, before it is begun: memory, and the time that the machine needs at least (a roofline).

A pass reads every weight once and the keys and values of its rows, and computes two floating-point operations a weight
and token. It can take no less time than either needs at the rates that are measured here: bytes a second, operations a
second (Williams, Waterman and Patterson, "Roofline", CACM 52:4, 2009). One output token a pass is bound by the reading,
a prompt by the computing; hence the price of an output token, told as a ratio to that of an input token.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import torch

from .errors import DoesNotFit, ModelUnavailable
from .model.config import LlamaConfig

__all__ = [
    "WEIGHT_BYTES",
    "CostPlan",
    "Rates",
    "available_memory",
    "measure_rates",
    "plan_costs",
    "read_config",
    "shown_bytes",
]

Weights = Literal["fp32", "bf16", "int8"]
WEIGHT_BYTES: dict[str, int] = {"fp32": 4, "bf16": 2, "int8": 1}

_SPARE = 0.1  # of memory, left to everything else
_PROBE_BYTES = 256 * 2**20
_PROBE_SIZE = {"cpu": 1024, "cuda": 8192}
_PROBES = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """What a device was measured to do."""

    bytes_per_second: float
    """Read from memory."""
    flops: float
    """Floating-point operations a second in a large matrix product."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CostPlan:
    """Costs of ``batch`` rows of ``prompt_tokens`` and ``max_tokens`` each, written side by side."""

    parameters: int
    weight_bytes: int
    kv_bytes_per_token: int
    """Of one row."""
    kv_bytes: int
    """Of all rows at their full length."""
    memory_bytes: int
    """Weights, keys and values, and the activations of a pass."""
    available_bytes: int | None
    """What there was; ``None`` where it is not known."""
    prefill_seconds: float
    """Of all prompts, at least."""
    seconds_per_step: float
    """Of one pass that writes a token of every row, at half of the output's length."""
    decode_seconds: float
    """Of all output tokens, at least, if each costs a pass: forced and drafted ones do not."""
    bound_by: Literal["bandwidth", "arithmetic"]
    """What a decode pass waits for."""
    tokens_per_second: float
    """Output tokens of all rows together."""
    output_to_input_ratio: float
    """How many tokens of a prompt cost as much time as one token of the output."""

    def to_dict(self) -> dict[str, Any]:
        """As plain values, ready for JSON."""
        return asdict(self)


def plan_costs(
    config: LlamaConfig,
    rates: Rates,
    *,
    prompt_tokens: int,
    max_tokens: int,
    batch: int = 1,
    weights: Weights = "fp32",
    cache_bytes: int = 4,
    available_bytes: int | None = None,
) -> CostPlan:
    """The costs of a model on a device. ``cache_bytes``: of one number in the cache of keys and values.

    Raises :class:`~constrained.errors.DoesNotFit` where ``available_bytes`` are too few, or the model's context is too
    short, saying what would fit.

    >>> from constrained.testing.tiny import tiny_config
    >>> rates = Rates(bytes_per_second=1e10, flops=1e11)
    >>> plan = plan_costs(tiny_config(), rates, prompt_tokens=100, max_tokens=20)
    >>> plan.kv_bytes_per_token, plan.kv_bytes, plan.bound_by
    (256, 30720, 'bandwidth')
    """
    length = prompt_tokens + max_tokens
    if length > config.max_position_embeddings:
        raise DoesNotFit(
            what=f"{prompt_tokens:,} prompt and {max_tokens:,} output tokens",
            needed=f"a context of {length:,}",
            available=f"one of {config.max_position_embeddings:,} tokens",
            remedy=f"at most {max(config.max_position_embeddings - prompt_tokens, 0):,} output tokens fit this prompt",
        )
    read, table = _parameters(config)
    kv_bytes_per_token = 2 * config.num_hidden_layers * config.num_key_value_heads * config.head_dim * cache_bytes
    weight_bytes = (read + table) * WEIGHT_BYTES[weights]
    kv_bytes = batch * length * kv_bytes_per_token
    activations = batch * 4 * (config.vocab_size + 8 * config.hidden_size + 2 * config.intermediate_size)
    memory = weight_bytes + kv_bytes + activations
    if available_bytes is not None and memory > available_bytes:
        _refuse(weight_bytes, kv_bytes, batch, memory, available_bytes)

    def pass_seconds(tokens: float, context: float, rows: float) -> tuple[float, float]:
        reading = read * WEIGHT_BYTES[weights] + rows * context * kv_bytes_per_token
        attention = 4 * config.num_hidden_layers * config.num_attention_heads * config.head_dim * context
        return reading / rates.bytes_per_second, tokens * (2 * read + attention) / rates.flops

    reading, computing = pass_seconds(batch * prompt_tokens, prompt_tokens / 2, batch)
    prefill = max(reading, computing)
    reading, computing = pass_seconds(batch, prompt_tokens + max_tokens / 2, batch)
    step = max(reading, computing)
    return CostPlan(
        parameters=read + table,
        weight_bytes=weight_bytes,
        kv_bytes_per_token=kv_bytes_per_token,
        kv_bytes=kv_bytes,
        memory_bytes=memory,
        available_bytes=available_bytes,
        prefill_seconds=prefill,
        seconds_per_step=step,
        decode_seconds=step * max_tokens,
        bound_by="bandwidth" if reading >= computing else "arithmetic",
        tokens_per_second=batch / step,
        output_to_input_ratio=(step / batch) / (prefill / (batch * prompt_tokens)),
    )


def _parameters(config: LlamaConfig) -> tuple[int, int]:
    """Weights that every pass reads, and those of a table of embeddings that it only looks up."""
    hidden, heads = config.hidden_size, config.num_attention_heads + 2 * config.num_key_value_heads
    attention = hidden * config.head_dim * (heads + config.num_attention_heads)
    layer = attention + 3 * hidden * config.intermediate_size + 2 * hidden
    table = config.vocab_size * hidden
    return config.num_hidden_layers * layer + hidden + table, 0 if config.tie_word_embeddings else table


def _refuse(weight_bytes: int, kv_bytes: int, batch: int, memory: int, available: int) -> None:
    room = available - weight_bytes
    rows = max(int(room // (kv_bytes / batch)), 0) if kv_bytes else 0
    raise DoesNotFit(
        what=f"{shown_bytes(weight_bytes)} of weights and {shown_bytes(kv_bytes)} of keys and values",
        needed=shown_bytes(memory),
        available=shown_bytes(available),
        remedy=f"a batch of {rows} would fit"
        if rows
        else "a smaller model, fewer bytes a weight (--weights), or shorter texts would fit",
    )


def shown_bytes(count: float) -> str:
    """A number of bytes for people.

    >>> shown_bytes(3 * 2**30), shown_bytes(512)
    ('3.00 GiB', '512 B')
    """
    for unit in ("B", "KiB", "MiB"):
        if count < 1024:
            return f"{count:.0f} B" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.2f} GiB"


def available_memory(device: torch.device) -> int | None:
    """Bytes that a model could take now, some left to everything else; ``None`` where the system does not say."""
    if device.type == "cuda":
        return int(torch.cuda.mem_get_info(device)[0] * (1 - _SPARE))
    free = [count for count in (_free_of_system(), _free_of_group()) if count is not None]
    return int(min(free) * (1 - _SPARE)) if free else None


def _free_of_system() -> int | None:
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        return None
    fields = dict(line.split(":", 1) for line in lines if ":" in line)
    return 1024 * int(fields["MemAvailable"].split()[0]) if "MemAvailable" in fields else None


def _free_of_group() -> int | None:
    """Of the control group, where the process is in one with a limit."""
    folder = Path("/sys/fs/cgroup")
    try:
        limit, used = (folder / name for name in ("memory.max", "memory.current"))
        most = limit.read_text().strip()
        return None if most == "max" else max(int(most) - int(used.read_text()), 0)
    except (OSError, ValueError):
        return None


def measure_rates(device: torch.device, *, dtype: torch.dtype = torch.float32) -> Rates:
    """Measure a device, which takes about a second: the best of five readings and of five matrix products."""
    size = _PROBE_SIZE["cuda" if device.type == "cuda" else "cpu"]
    data = torch.ones(_PROBE_BYTES // dtype.itemsize, device=device, dtype=dtype)
    square = torch.ones((size, size), device=device, dtype=dtype)
    reading = _best_time(device, data.sum)
    computing = _best_time(device, lambda: square @ square)
    return Rates(bytes_per_second=data.numel() * dtype.itemsize / reading, flops=2 * size**3 / computing)


def _best_time(device: torch.device, work: Callable[[], object]) -> float:
    times = []
    for _ in range(_PROBES):
        started = time.perf_counter()
        work()
        if device.type == "cuda":
            torch.cuda.synchronize(device)
        times.append(time.perf_counter() - started)
    return min(times)


def read_config(source: str | Path | None, *, progress: Callable[[str], None] = lambda _: None) -> LlamaConfig:
    """The sizes of a model, without its weights: of a folder, a GGUF file, a hub id, or the default (``None``).

    Raises what loading it would raise.
    """
    from .model.embedded import default_model_folder
    from .model.gguf_file import GGUFFile
    from .model.sources import is_hub_id, no_such_model

    path = default_model_folder(progress=progress) if source is None else Path(source).expanduser()
    if path.is_dir():
        return LlamaConfig.from_file(path / "config.json")
    if path.is_file():
        return GGUFFile(path).config
    if not is_hub_id(str(source)):
        raise no_such_model(str(source))
    import huggingface_hub  # slow to import

    try:
        return LlamaConfig.from_file(Path(huggingface_hub.hf_hub_download(str(source), "config.json")))
    except (OSError, ValueError, huggingface_hub.errors.HfHubHTTPError) as error:
        raise ModelUnavailable(
            f"model {str(source)!r}: no such folder or file, and the hub did not give its config.json: {error}"
        ) from error
