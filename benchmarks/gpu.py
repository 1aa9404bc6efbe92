"""Prefill and decoding on a GPU: times, and shares of what the device can do, measured in the same run.

    python -m benchmarks.gpu [--tiny] [--seconds 300] [--without-transformers]

A Llama of the shapes of Llama 3.1 8B, with random bf16 weights made on the device: nothing is fetched. ``--tiny`` runs
all of it with a small model on any device, to try the script itself. Sections, each with its own line of the table: the
peaks (a large product, a large read); prefill of 8,192 tokens; decode steps of 1, 8 and 64 rows that hold 512 tokens
each, beside transformers' ``generate`` with a static cache; the same with a JSON Schema mask made on the CPU while the
pass runs; and what forced text saves. A section that does not fit into ``--seconds`` or the memory is left out, by
name. The last line is JSON.
"""

from __future__ import annotations

import argparse
import gc
import json
import statistics
import time
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from constrained.model.config import LlamaConfig
from constrained.model.cuda import CudaLlama

from .gpu_grammar import TEXT, generate_text, json_matcher, masks_of, synthetic_vocabulary

LLAMA_8B = LlamaConfig(
    vocab_size=128_256, hidden_size=4096, intermediate_size=14336, num_hidden_layers=32, num_attention_heads=32,
    num_key_value_heads=8, head_dim=128, max_position_embeddings=16_384, rms_norm_eps=1e-5, rope_theta=500_000.0,
)  # fmt: skip
TINY = LlamaConfig(
    vocab_size=2_048, hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4,
    num_key_value_heads=2, head_dim=16, max_position_embeddings=2_048,
)  # fmt: skip


class Sizes:
    """How large everything is."""

    def __init__(self, *, tiny: bool) -> None:
        self.config = TINY if tiny else LLAMA_8B
        self.prompt, self.held, self.steps = (256, 32, 8) if tiny else (8192, 512, 64)
        self.batches = (1, 2) if tiny else (1, 8, 64)
        self.side, self.read_bytes = (256, 1 << 22) if tiny else (8192, 4 << 30)


def synchronise() -> None:
    """Wait for the device, if there is one to wait for."""
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def seconds_of(work: Callable[[], Any], *, repeat: int = 5) -> float:
    """The median time of some work, after one run that does not count."""
    work()
    times = []
    for _ in range(repeat):
        synchronise()
        started = time.perf_counter()
        work()
        synchronise()
        times.append(time.perf_counter() - started)
    return statistics.median(times)


def measured_peaks(sizes: Sizes, device: torch.device, dtype: torch.dtype) -> dict[str, float]:
    """FLOP/s of a large product, and bytes/s of a large read."""
    one, other = (torch.randn(sizes.side, sizes.side, device=device, dtype=dtype) for _ in range(2))
    block = torch.zeros(sizes.read_bytes // 4, device=device, dtype=torch.float32)
    return {
        "flops": 2 * sizes.side**3 / seconds_of(lambda: one @ other),
        "bandwidth": sizes.read_bytes / seconds_of(block.amax),
    }


def random_model(config: LlamaConfig, device: torch.device, dtype: torch.dtype) -> CudaLlama:
    """Weights that keep activations of ordinary size."""
    model = CudaLlama(config, device=device, dtype=dtype)
    for parameter in model.parameters():
        if parameter.dim() == 1:
            parameter.data.fill_(1.0)
        else:
            parameter.data.normal_(std=parameter.shape[1] ** -0.5)
    return model


def prefill(model: CudaLlama, sizes: Sizes, peaks: dict[str, float]) -> dict[str, float]:
    """A long prompt."""
    ids = torch.randint(0, model.vocab_size, (1, sizes.prompt), device=model.device)

    def run() -> None:
        model.forward(ids, model.new_cache(1, sizes.prompt))

    seconds = seconds_of(run, repeat=3)
    matrices = sum(parameter.numel() for parameter in model.blocks.parameters() if parameter.dim() == 2)
    config = model.config
    attention = 2 * config.num_hidden_layers * config.num_attention_heads * config.head_dim * sizes.prompt**2
    flops = (2 * matrices * sizes.prompt + attention) / seconds
    return {"seconds": seconds, "tflops": flops / 1e12, "share_of_peak": flops / peaks["flops"]}


def held_rows(model: CudaLlama, num_rows: int, sizes: Sizes) -> list[Any]:
    """Caches that hold so many tokens (zeros, which cost as much to read as any)."""
    caches = [model.new_cache(1, sizes.held + 2 * sizes.steps) for _ in range(num_rows)]
    for cache in caches:
        cache.advance(sizes.held)
    return caches


def decode(
    model: CudaLlama,
    num_rows: int,
    sizes: Sizes,
    peaks: dict[str, float],
    mask: Callable[[Tensor], Tensor] | None = None,
) -> dict[str, float]:
    """Greedy steps; ``mask`` is what a grammar adds: its bitmask is made while the pass runs."""
    caches = held_rows(model, num_rows, sizes)
    ids = [1] * num_rows
    times = []
    for step in range(sizes.steps):
        synchronise()
        started = time.perf_counter()
        logits = model.forward_rows([[token_id] for token_id in ids], caches)
        if mask is not None:
            logits = mask(logits)
        ids = logits.argmax(-1).tolist()
        if step > 2:  # the first one captures
            times.append(time.perf_counter() - started)
    seconds = statistics.median(times)
    config = model.config
    a_token = (
        2
        * config.num_hidden_layers
        * config.num_key_value_heads
        * config.head_dim
        * model.embedding.weight.element_size()
    )
    weights = model.num_bytes - model.embedding.weight.nbytes * (model.unembedding is not None)
    read = weights + num_rows * a_token * (sizes.held + sizes.steps // 2)
    return {
        "ms": 1e3 * seconds,
        "share_of_bandwidth": read / seconds / peaks["bandwidth"],
        "tokens_per_second": num_rows / seconds,
    }


def transformers_decode(
    config: LlamaConfig, sizes: Sizes, device: torch.device, dtype: torch.dtype
) -> dict[str, float]:
    """One row by transformers' ``generate`` with a static cache, uncompiled: compiling takes minutes."""
    import transformers

    settings = transformers.LlamaConfig(
        vocab_size=config.vocab_size, hidden_size=config.hidden_size, intermediate_size=config.intermediate_size,
        num_hidden_layers=config.num_hidden_layers, num_attention_heads=config.num_attention_heads,
        num_key_value_heads=config.num_key_value_heads, head_dim=config.head_dim,
        max_position_embeddings=config.max_position_embeddings, tie_word_embeddings=False,
    )  # fmt: skip
    with torch.device(device):
        model = transformers.LlamaForCausalLM(settings).to(dtype).eval()
    prompt = torch.ones((1, sizes.held), dtype=torch.int64, device=device)
    options: dict[str, Any] = {
        "do_sample": False, "cache_implementation": "static", "disable_compile": True, "pad_token_id": 0,
        "eos_token_id": None, "attention_mask": torch.ones_like(prompt),
    }  # fmt: skip
    few, many = 4, 4 + sizes.steps // 2
    least = seconds_of(lambda: model.generate(prompt, max_new_tokens=few, **options), repeat=2)
    most = seconds_of(lambda: model.generate(prompt, max_new_tokens=many, **options), repeat=2)
    return {"ms": 1e3 * (most - least) / (many - few)}


def run(arguments: argparse.Namespace) -> dict[str, Any]:
    """All sections; what is left out says why."""
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    dtype = torch.bfloat16 if device.type == "cuda" else torch.float32
    sizes = Sizes(tiny=arguments.tiny or device.type == "cpu")
    until = time.perf_counter() + arguments.seconds
    name = torch.cuda.get_device_name() if device.type == "cuda" else "cpu"
    result: dict[str, Any] = {"device": name, "torch": torch.__version__, "left_out": {}}

    def section(name: str, work: Callable[[], Any]) -> Any:
        if time.perf_counter() > until:
            result["left_out"][name] = "no time left"
            return None
        try:
            result[name] = work()
        except torch.cuda.OutOfMemoryError as error:
            result["left_out"][name] = str(error).splitlines()[0]
        gc.collect()
        print(name, json.dumps(result.get(name)), flush=True)
        return result.get(name)

    peaks = section("peaks", lambda: measured_peaks(sizes, device, dtype))
    model = random_model(sizes.config, device, dtype)

    def fresh() -> CudaLlama:
        """The same weights with slots of their own, no larger than a section needs."""
        return CudaLlama.from_llama(model)

    section("prefill", lambda: prefill(fresh(), sizes, peaks))
    for num_rows in sizes.batches:
        section(f"decode_{num_rows}", lambda rows=num_rows: decode(fresh(), rows, sizes, peaks))
    vocabulary = synthetic_vocabulary(sizes.config.vocab_size)
    for num_rows in sizes.batches[:2]:
        plain, masked = f"decode_{num_rows}", f"masked_{num_rows}"
        section(masked, lambda rows=num_rows: decode(fresh(), rows, sizes, peaks, masks_of(vocabulary, rows)))
        if plain in result and masked in result:
            result[masked]["to_plain"] = result[masked]["ms"] / result[plain]["ms"]
    if json_matcher(vocabulary) is not None:
        section("forced", lambda: generate_text(fresh(), vocabulary, TEXT))
    if not arguments.without_transformers:
        section("transformers_decode_1", lambda: transformers_decode(sizes.config, sizes, device, dtype))
        if "transformers_decode_1" in result and "decode_1" in result:
            result["transformers_decode_1"]["to_ours"] = (
                result["transformers_decode_1"]["ms"] / result["decode_1"]["ms"]
            )
    return result


def main() -> None:
    """Run, and print the result."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--tiny", action="store_true", help="a small model: tries the script, measures nothing")
    parser.add_argument("--seconds", type=float, default=300, help="no section begins later than this")
    parser.add_argument("--without-transformers", action="store_true")
    print(json.dumps(run(parser.parse_args())))


if __name__ == "__main__":
    main()
