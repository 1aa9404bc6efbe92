"""Every kernel of the stage is compiled ahead."""

from __future__ import annotations

import pytest

from constrained.processors import warming
from grammars.jit import CHECKED


@pytest.mark.skipif(CHECKED, reason="nothing is compiled")
def test_warm_up_compiles_every_kernel() -> None:
    warming.warm_up()
    assert warming.is_warm()
