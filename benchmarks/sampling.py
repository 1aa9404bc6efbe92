"""Microseconds of the post-forward stage per token, from raw logits to the id drawn, on one thread.

    python -m benchmarks.sampling [--steps 500] [--vocabulary 49152 --vocabulary 128256]

Logits are normal with standard deviation 4, and the mask allows every id, three in four, 1,000, 40 or 3 of them. Each
row is one setting; each step has other noise and, with a watermark, another context. `uncontended` is the smallest time
seen, for machines that others use at the same time. `mark and draw` is the part of it that the watermark and the keyed
draw take, after mask, temperature and truncation. The last line is one JSON object.
"""

from __future__ import annotations

import argparse
import json
import os
import time

import numpy as np
import torch

from constrained.processors import (
    GrammarMask,
    Pipeline,
    RowRecord,
    StepContext,
    Temperature,
    TopK,
    TopP,
    Watermark,
    standard_pipeline,
)
from constrained.processors.draw import draw
from constrained.processors.mask import bitmask_of
from constrained.sampling_config import SamplingConfig
from constrained.watermark import WatermarkConfig, WatermarkKey
from grammars.vocabulary import Vocabulary

MASKS = {"every id": 1.0, "three in four": 0.75, "1,000 ids": 1000, "40 ids": 40, "3 ids": 3}
KEY_VARIABLE = "BENCHMARK_WATERMARK_KEY"


def marked(scheme: str) -> SamplingConfig:
    """Temperature 1 with a watermark."""
    marks = WatermarkConfig(scheme=scheme, key_env=KEY_VARIABLE)  # type: ignore[arg-type]
    return SamplingConfig(temperature=1.0, watermark=marks)


SETTINGS = {
    "greedy": SamplingConfig(),
    "temperature 1": SamplingConfig(temperature=1.0),
    "temperature 0.7, top-p 0.9": SamplingConfig(temperature=0.7, top_p=0.9),
    "temperature 1, top-k 50": SamplingConfig(temperature=1.0, top_k=50),
    "watermark: gumbel": marked("gumbel"),
    "watermark: kgw": marked("kgw"),
    "watermark: synthid": marked("synthid"),
}


def allowed_ids(generator: np.random.Generator, vocab_size: int, amount: float) -> np.ndarray:
    """(V,) bool: a share of the ids (``amount`` at most 1), or a number of them."""
    count = round(vocab_size * amount) if amount <= 1 else int(amount)
    allowed = np.zeros(vocab_size, np.bool_)
    allowed[generator.choice(vocab_size, count, replace=False)] = True
    return allowed


def microseconds(
    logits: torch.Tensor, allowed: np.ndarray, config: SamplingConfig, vocabulary: Vocabulary, steps: int
) -> tuple[np.ndarray, np.ndarray]:
    """(steps,) the time of each step and of marking and drawing in it, each ascending."""
    pipeline, bitmask = standard_pipeline(), bitmask_of(allowed)[None]
    before, watermark = Pipeline([GrammarMask(), Temperature(), TopK(), TopP()]), Watermark()
    record, output = RowRecord(), []
    times, parts = [], []
    for step in range(steps + 10):
        started = time.perf_counter()
        context = StepContext(
            vocab_size=logits.shape[1],
            positions=(step,),
            sampling=(config,),
            streams=(0,),
            token_bitmask=bitmask,
            vocabulary=vocabulary,
            output_ids=(output,),
            records=(record,),
        )
        (token_id,) = pipeline.sample(context, logits)
        times.append(time.perf_counter() - started)
        assert allowed[token_id]
        seen, processed = before.process(context, logits)
        started = time.perf_counter()
        draw(*watermark.mark(seen, processed))
        parts.append(time.perf_counter() - started)
        output.append(token_id)
    return np.sort(np.array(times[10:])) * 1e6, np.sort(np.array(parts[10:])) * 1e6


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--vocabulary", type=int, action="append", help="width of the logits; may be repeated")
    options = parser.parse_args()
    torch.set_num_threads(1)
    os.environ[KEY_VARIABLE] = WatermarkKey.generate().text
    rows = []
    print(f"{'':<54}{'from logits to id, us':>30}{'mark and draw, us':>30}")
    print(f"{'vocabulary':>10}  {'mask':<14}{'setting':<28}" + f"{'uncontended':>12}{'p50':>9}{'p99':>9}" * 2)
    for vocab_size in options.vocabulary or [49_152, 128_256]:
        generator = np.random.Generator(np.random.Philox(0))
        logits = torch.from_numpy(generator.normal(scale=4, size=(1, vocab_size)).astype(np.float32))
        tokens = (b"%c%d" % (33 + number % 90, number) for number in range(vocab_size))
        vocabulary = Vocabulary.from_bytes(tokens, eos_token_ids=[])
        for mask, amount in MASKS.items():
            allowed = allowed_ids(generator, vocab_size, amount)
            for setting, config in SETTINGS.items():
                both = microseconds(logits, allowed, config, vocabulary, options.steps)
                row: dict[str, object] = {"vocabulary": vocab_size, "mask": mask, "setting": setting}
                shown = f"{vocab_size:>10,}  {mask:<14}{setting:<28}"
                for name, times in zip(("whole", "mark and draw"), both, strict=True):
                    least, p50, p99 = (float(value) for value in np.quantile(times, (0, 0.5, 0.99)))
                    row[name] = {"min": least, "p50": p50, "p99": p99}
                    shown += f"{least:>12.1f}{p50:>9.1f}{p99:>9.1f}"
                rows.append(row)
                print(shown)
    print(json.dumps({"benchmark": "sampling", "unit": "us", "rows": rows}))


if __name__ == "__main__":
    main()
