"""Names of devices, kinds of weights and numerics are read once, and refused by name."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from constrained.model.runtime import Runtime


@pytest.mark.parametrize(
    ("names", "kind"),
    [
        ({}, "fp32"),
        ({"dtype": "bfloat16"}, "bf16"),
        ({"dtype": "bf16", "weights": "bf16"}, "bf16"),
        ({"weights": "int8"}, "int8"),
        ({"dtype": "float32", "weights": "fp32"}, "fp32"),
    ],
)
def test_kinds_of_weights(names: dict[str, str], kind: str) -> None:
    runtime = Runtime.from_names(**({"device": "cpu", "dtype": "auto"} | names))
    assert (runtime.weights, runtime.device, runtime.numerics) == (kind, torch.device("cpu"), "native")


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ({"device": "gpu"}, "device: expected auto, cpu, cuda or cuda:N, got 'gpu'"),
        ({"dtype": "float16"}, "dtype: expected auto, float32 or bfloat16, got 'float16'"),
        ({"weights": "int4"}, "weights: expected auto, fp32, bf16, int8, got 'int4'"),
        ({"weights": "int8", "dtype": "float32"}, "dtype 'float32' and weights 'int8' say different things"),
        ({"numerics": "exact"}, "numerics: expected native or invariant, got 'exact'"),
        ({"threads": 0}, "threads: expected at least 1, got 0"),
    ],
)
def test_wrong_names(names: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Runtime.from_names(**({"device": "cpu", "dtype": "auto"} | names))


def test_what_only_a_cpu_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert Runtime.from_names(device="auto", dtype="auto").weights == "bf16"
    assert Runtime.from_names(device="cuda:1", dtype="float32").weights == "fp32"
    with pytest.raises(ValueError, match="weights: 'int8' is for the CPU; expected fp32 or bf16 on cuda"):
        Runtime.from_names(device="cuda", dtype="auto", weights="int8")


@pytest.mark.parametrize(("variable", "threads"), [("", 1), ("3", 3), ("many", 1), ("0", 1)])
def test_threads_are_those_of_the_environment(monkeypatch: pytest.MonkeyPatch, variable: str, threads: int) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", variable)
    assert Runtime.from_names(device="cpu", dtype="auto").num_threads == threads
    assert Runtime.from_names(device="cpu", dtype="auto", threads=2).num_threads == 2
