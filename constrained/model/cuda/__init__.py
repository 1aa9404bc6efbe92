"""Decoding on CUDA: keys and values in slots that never move, and one captured graph for each size of batch."""

from __future__ import annotations

from constrained.model.cuda.llama import CudaLlama
from constrained.model.cuda.slots import RowCache, Slots
from constrained.model.cuda.step import DecodeStep

__all__ = ["CudaLlama", "DecodeStep", "RowCache", "Slots"]
