"""The pytest plugin: there as soon as the package is installed, with nothing to import.

``--constrained-seed`` and ``--constrained-examples`` set the seed and the budget of every check;
``@pytest.mark.constrained(examples=, seed=)`` sets them for one test. The fixture ``constrained_model`` is a tiny
seeded Llama behind the API, made once a session. What the checks tried is told at the end.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest

from .budget import EXAMPLES_VARIABLE, SEED_VARIABLE
from .records import Records, recording

if TYPE_CHECKING:
    from constrained.api import Model


__all__: list[str] = []

_STACK = pytest.StashKey[ExitStack]()
_RECORDS = pytest.StashKey[Records]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """The two options."""
    group = parser.getgroup("constrained", "checks of grammars, schemas and logits processors")
    group.addoption("--constrained-seed", metavar="S", help="seed of the checks; default: CONSTRAINED_SEED, or 0")
    group.addoption(
        "--constrained-examples", metavar="N", help="examples of each check; default: CONSTRAINED_EXAMPLES, or 20"
    )


def pytest_configure(config: pytest.Config) -> None:
    """The marker, the options, and the record of what is tried."""
    config.addinivalue_line(
        "markers", "constrained(examples=, seed=): how many examples the checks of this test draw, and by which seed"
    )
    stack = config.stash[_STACK] = ExitStack()
    config.stash[_RECORDS] = stack.enter_context(recording())
    options = {
        EXAMPLES_VARIABLE: config.getoption("--constrained-examples"),
        SEED_VARIABLE: config.getoption("--constrained-seed"),
    }
    given = {name: str(value) for name, value in options.items() if value is not None}
    if given:
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        for name, value in given.items():
            patch.setenv(name, value)
        _check_budget()


def _check_budget() -> None:
    from .budget import examples_of, seed_of

    try:
        examples_of()
        seed_of()
    except ValueError as error:
        raise pytest.UsageError(str(error)) from None


def pytest_unconfigure(config: pytest.Config) -> None:
    """Put everything back."""
    config.stash[_STACK].close()


_OF_MARKER = {"examples": EXAMPLES_VARIABLE, "seed": SEED_VARIABLE}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Refuse markers that say something else."""
    for item in items:
        for marker in item.iter_markers("constrained"):
            if marker.args or set(marker.kwargs) - set(_OF_MARKER):
                got = marker.args or marker.kwargs
                raise pytest.UsageError(f"{item.nodeid}: constrained: expected examples= and seed=, got {got}")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, Any, Any]:
    """Run a test with the budget that its marker sets."""
    marker = item.get_closest_marker("constrained")
    with pytest.MonkeyPatch.context() as patch:
        for name, value in ({} if marker is None else marker.kwargs).items():
            patch.setenv(_OF_MARKER[name], str(value))
        return (yield)


@pytest.fixture(scope="session")
def constrained_model() -> Model:
    """A tiny Llama with random weights that are always the same, and a tokenizer, behind the API.

    On one thread unless ``OMP_NUM_THREADS`` says more, as models that :func:`constrained.load` gives.
    """
    from constrained.api import set_threads

    from .tiny import tiny_model

    set_threads(None)
    return tiny_model()


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """What the checks tried."""
    lines = config.stash[_RECORDS].lines()
    if lines:
        terminalreporter.section("constrained")
        for line in lines:
            terminalreporter.write_line(line)
