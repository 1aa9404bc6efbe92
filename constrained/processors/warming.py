"""Compiling the kernels of the post-forward stage ahead of the first draw."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from constrained.processors import draw, mask, pipeline, sampling
from constrained.processors.context import StepContext
from constrained.processors.pipeline import standard_pipeline
from constrained.processors.record import RowRecord
from constrained.sampling_config import SamplingConfig
from constrained.token_bitmasks import list_allowed
from constrained.watermark import contexts, green, tournament
from constrained.watermark.config import WatermarkConfig
from constrained.watermark.contexts import Marker
from constrained.watermark.key import WatermarkKey
from grammars.jit import is_compiled
from grammars.vocabulary import Vocabulary

__all__ = ["is_warm", "warm_up"]

_KERNELS: tuple[Callable[..., Any], ...] = (
    *(draw._draw_narrow, draw._draw_wide, list_allowed, mask._mask_row, pipeline._is_faulty),
    *(sampling._keep_best, sampling._nucleus, contexts.is_free, green.add_to_green),
    *(tournament._list_words, tournament._play_rounds),
)
_SIZE = 2 * mask.NARROW


def is_warm() -> bool:
    """Whether machine code of every kernel is at hand."""
    return all(map(is_compiled, _KERNELS))


def warm_up() -> None:
    """Draw once by every way there is, from few tokens and from many."""
    vocabulary = Vocabulary.from_bytes([bytes([65 + number % 26]) for number in range(_SIZE)], eos_token_ids=[])
    key = WatermarkKey(b"\0" * 16)
    plain = SamplingConfig(temperature=0.7, top_k=20, top_p=0.9)
    configs = [plain]
    for scheme in ("gumbel", "kgw", "synthid"):
        marks = WatermarkConfig(scheme=scheme, key_env="UNUSED")
        configs.append(SamplingConfig(temperature=1.0, watermark=marks))
    for config in configs:
        for allowed in (3, 40, _SIZE):
            record = RowRecord()
            if config.watermark is not None:
                record.marker = Marker(config.watermark, key, nonce=0)
            context = StepContext(
                vocab_size=_SIZE,
                positions=(0,),
                sampling=(config,),
                streams=(0,),
                token_bitmask=mask.bitmask_of(np.arange(_SIZE) < allowed)[None],
                output_ids=((),),
                vocabulary=vocabulary,
                records=(record,),
            )
            standard_pipeline().sample(context, torch.zeros(1, _SIZE))
