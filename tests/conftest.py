"""What all tests share: how long Hypothesis searches, and the real model where it can be had."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from constrained.api import Model
    from constrained.model import LoadedModel

# Small products gain nothing from threads, and threads of several workers on shared cores take turns waiting.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

# Deadlines are off: the first call of a kernel compiles it, and the machines of CI are shared. A plain run draws the
# same examples each time, so that it fails for what was changed; `make fuzz` draws others.
settings.register_profile("default", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile(
    "fuzz", parent=settings.get_profile("default"), max_examples=5_000, derandomize=False, print_blob=True
)
settings.load_profile(os.environ.get("CONSTRAINED_HYPOTHESIS_PROFILE", "default"))


@pytest.fixture(scope="session")
def real_model_files() -> Path:
    """Folder of the embedded default model; without it (no network, no cache) tests that ask for it are skipped."""
    from constrained.errors import ModelUnavailable
    from constrained.model.embedded import default_model_folder

    try:
        return default_model_folder(progress=lambda line: print(line, file=sys.stderr))
    except ModelUnavailable as error:
        pytest.skip(f"the embedded default model is not to be had: {error}")


@pytest.fixture(scope="session")
def loaded_real_model(real_model_files: Path) -> LoadedModel:
    """The default model on the CPU in float32. Shared: tests make caches of their own and change nothing else."""
    from constrained.model import load_model

    return load_model(None, device="cpu", dtype="float32")


@pytest.fixture(scope="session")
def real_model(loaded_real_model: LoadedModel) -> Model:
    """The same model behind the API."""
    from constrained.api import Model

    return Model(loaded_real_model)
