"""Two runs side by side: the first step that differs, which inputs differ, and which of them explains it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

__all__ = ["Change", "Difference", "Stage", "changed_inputs", "compare", "explain"]

Stage = Literal["input", "mask", "logits", "sampler"]
"""Where two runs part: ``input``, the prompt's ids; ``mask``, what the grammar allows or forces; ``logits``, what the
model computes; ``sampler``, the draw from the same logits under the same mask."""

_Step = Mapping[str, Any]
_INPUTS = ("software", "model", "tokenizer", "numerics", "digests", "prompt", "output_type", "request")
_SAY_NOTHING = ("model.name", "model.origin", "prompt.given")
_EXPLAINS: dict[Stage, tuple[str, ...]] = {
    "input": ("tokenizer", "prompt", "software"),
    "mask": (
        *("output_type", "request.whitespace", "request.source", "request.forced", "request.sampling.bad_words"),
        *("request.max_tokens", "request.max_rolled_back_tokens", "request.on_budget", "request.time_budget"),
        *("request.stop", "tokenizer", "software"),
    ),
    "logits": ("model", "numerics", "tokenizer", "software"),
    "sampler": ("request.sampling", "request.stream", "request.processors", "watermark", "software"),
}
"""Which changed inputs can make runs part there."""


@dataclass(frozen=True, slots=True)
class Change:
    """An input that is not what it was."""

    path: str
    expected: Any
    got: Any

    def __str__(self) -> str:
        return f"{self.path}: {_short(self.expected)} -> {_short(self.got)}"


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 40 else f"{text[:16]}…"


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """A step that is not what it was. What is not there on one side (a run was shorter) is ``None``."""

    step: int
    """Index among all draws."""
    position: int
    """Index within the output."""
    stage: Stage
    same_mask: bool
    same_logits: bool
    same_best: bool
    """Whether the best allowed tokens are the same in the same order, their logits equal to 0.001."""
    expected_token: int | None
    got_token: int | None
    expected_gap: float | None
    """Of the two best allowed tokens: how far their raw logits are apart."""
    got_gap: float | None
    expected_allowed: int | None
    got_allowed: int | None

    @property
    def same_token(self) -> bool:
        """Whether the same token was drawn all the same."""
        return self.expected_token == self.got_token


def compare(expected: _Step | None, got: _Step | None, index: int, *, same_prompt: bool = True) -> Difference | None:
    """How two steps differ; ``None`` where they do not.

    >>> step = dict(position=0, forced=[], allowed=2, mask="a", logits="b", best=[[7, 1500], [3, 1000]], token=7)
    >>> found = compare(step, {**step, "token": 3}, 0)
    >>> found.stage, found.expected_token, found.got_token, found.expected_gap
    ('sampler', 7, 3, 0.5)
    """
    present = expected if expected is not None else got
    assert present is not None
    if expected is None or got is None:
        return _Sides(present, expected, got, False, False, False).difference(index, "mask" if same_prompt else "input")
    same_place = all(expected[name] == got[name] for name in ("position", "forced"))
    same_mask = same_place and all(expected[name] == got[name] for name in ("mask", "allowed"))
    same_logits = expected["logits"] == got["logits"]
    if same_mask and same_logits and expected["token"] == got["token"]:
        return None
    stage: Stage = "mask" if not same_mask else "logits" if not same_logits else "sampler"
    sides = _Sides(present, expected, got, same_mask, same_logits, _is_near(expected["best"], got["best"]))
    return sides.difference(index, stage if same_prompt else "input")


@dataclass(frozen=True, slots=True)
class _Sides:
    """Two steps, one of which may not be there, and what they have in common."""

    present: _Step
    expected: _Step | None
    got: _Step | None
    same_mask: bool
    same_logits: bool
    same_best: bool

    def difference(self, index: int, stage: Stage) -> Difference:
        expected, got = self.expected, self.got
        return Difference(
            step=index,
            position=self.present["position"],
            stage=stage,
            same_mask=self.same_mask,
            same_logits=self.same_logits,
            same_best=self.same_best,
            expected_token=None if expected is None else expected["token"],
            got_token=None if got is None else got["token"],
            expected_gap=_gap(expected),
            got_gap=_gap(got),
            expected_allowed=None if expected is None else expected["allowed"],
            got_allowed=None if got is None else got["allowed"],
        )


def _is_near(one: Sequence[Sequence[int]], other: Sequence[Sequence[int]]) -> bool:
    return len(one) == len(other) and all(
        a[0] == b[0] and abs(a[1] - b[1]) <= 1 for a, b in zip(one, other, strict=True)
    )


def _gap(step: _Step | None) -> float | None:
    if step is None or len(step["best"]) < 2:
        return None
    return float(step["best"][0][1] - step["best"][1][1]) / 1000


def changed_inputs(expected: Mapping[str, Any], got: Mapping[str, Any]) -> list[Change]:
    """What of two records' inputs differs. Names and places of files say nothing; their digests do."""
    changes = [change for section in _INPUTS for change in _changes(section, expected.get(section), got.get(section))]
    is_comparable = expected["model"]["weights"]["of"] == got["model"]["weights"]["of"]
    return [
        change
        for change in changes
        if not _is_under(change.path, _SAY_NOTHING)
        and (is_comparable or not _is_under(change.path, ("model.weights",)))
    ]


def _changes(path: str, expected: Any, got: Any) -> Iterator[Change]:
    if expected == got:
        return
    if path == "output_type":
        yield Change(path, expected and expected["digest"], got and got["digest"])
    elif path == "prompt.token_ids":
        yield Change(
            path, f"{len(expected)} ids", f"{len(got)} ids, others" if len(expected) == len(got) else f"{len(got)} ids"
        )
    elif isinstance(expected, Mapping) and isinstance(got, Mapping):
        for name in sorted({*expected, *got}):
            yield from _changes(f"{path}.{name}", expected.get(name), got.get(name))
    else:
        yield Change(path, expected, got)


def explain(stage: Stage, changes: Sequence[Change]) -> list[Change]:
    """Those of ``changes`` that can make runs part at ``stage``; software only where nothing else does."""
    found = [change for change in changes if _is_under(change.path, _EXPLAINS[stage])]
    closer = [change for change in found if not _is_under(change.path, ("software",))]
    return closer or found


def _is_under(path: str, prefixes: Sequence[str]) -> bool:
    return any(path == prefix or path.startswith(prefix + ".") for prefix in prefixes)
