"""Running a record again: does the same come, and if not, where does it first differ, and why?

Where the model's numerics are invariant, the logits of the whole recorded text are computed together, in a few passes,
and mask and draw are made anew at each step. Else the text is generated again, token by token.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from constrained.bad_words import without_bad_words
from constrained.errors import ConstrainedError, ContextTooLong, RecordRefused
from constrained.loop import Engine, Request, generate_tokens
from constrained.output_types import OutputType, output_type_from
from constrained.result import GenerationResult
from constrained.sampling_config import SamplingConfig
from grammars.errors import GrammarError

from .ahead import AheadModel
from .differences import Change, Difference, Stage, changed_inputs, compare, explain
from .record import RunRecord
from .recording import Asked, describe_step, input_sections, make_record
from .trace import StepObserver, Trace, Watch
from .wanted import rebuild

if TYPE_CHECKING:
    from constrained.api import Model
    from constrained.processors import LogitsProcessor

__all__ = ["EXIT_BITS", "EXIT_IDENTICAL", "EXIT_INCOMPARABLE", "EXIT_TOKEN", "Replay", "ReplayMode", "replay"]

EXIT_IDENTICAL, EXIT_BITS, EXIT_TOKEN, EXIT_INCOMPARABLE = 0, 2, 3, 4
ReplayMode = Literal["auto", "verify", "rerun"]
"""``verify``: the recorded text in a few passes; ``rerun``: token by token; ``auto``: the first where that is exact."""


@dataclass(frozen=True)
class Replay:
    """What a replay found."""

    mode: Literal["verify", "rerun"]
    num_steps: int
    """Draws that were compared."""
    num_passes: int | None
    """Passes of the model, in mode ``verify``."""
    changes: tuple[Change, ...]
    """Inputs that are not what they were, whether or not anything came of it."""
    bits: Difference | None
    """The first step in which anything differs, and be it a bit of the logits."""
    token: Difference | None
    """The first step in which another token was drawn."""
    output_differs: str
    """What else of the output differs though no step does; empty: nothing."""
    failure: str
    """Why it could not be finished, where it could not; empty: it was."""
    record: RunRecord | None
    """Its own record; ``None`` where it ended at a difference."""

    @property
    def exit_code(self) -> int:
        """0: identical; 2: bits differ, and every token agrees; 3: a token differs."""
        if self.token is not None or self.failure or self.output_differs:
            return EXIT_TOKEN
        return EXIT_BITS if self.bits is not None else EXIT_IDENTICAL

    @property
    def first(self) -> Difference | None:
        """The step to look at: that of the first other token, or else of the first other bit."""
        return self.token or self.bits

    @cached_property
    def explained_by(self) -> tuple[Change, ...]:
        """The changed inputs that can make the runs part where they do."""
        return tuple(explain(self.stage, self.changes)) if self.stage is not None else ()

    @property
    def stage(self) -> Stage | None:
        """Where the runs part."""
        if self.first is not None:
            return self.first.stage
        return "mask" if self.failure or self.output_differs else None

    @property
    def cause(self) -> Stage | None:
        """``input`` where a changed input explains it, else where the runs part."""
        return "input" if self.explained_by else self.stage

    def to_dict(self) -> dict[str, Any]:
        """As plain values, ready for JSON."""
        return {
            "exit_code": self.exit_code,
            "mode": self.mode,
            "num_steps": self.num_steps,
            "num_passes": self.num_passes,
            "cause": self.cause,
            "stage": self.stage,
            "explained_by": [change.path for change in self.explained_by],
            "changes": [dataclasses.asdict(change) for change in self.changes],
            "first_bits": None if self.bits is None else dataclasses.asdict(self.bits),
            "first_token": None if self.token is None else dataclasses.asdict(self.token),
            "output_differs": self.output_differs,
            "failure": self.failure,
        }


def replay(
    record: RunRecord | str | Path,
    model: Model,
    *,
    output_type: Any = None,
    seed: int | None = None,
    mode: ReplayMode = "auto",
    processors: Sequence[LogitsProcessor] = (),
) -> Replay:
    """Run a record, or the one in a file, again with ``model``, with another output type or seed where they are given.

    Raises :class:`~constrained.errors.RecordRefused` for what cannot be compared: another vocabulary, an output type
    that the record does not hold, ``processors`` of the caller's own that are not passed, a missing watermark key;
    ValueError for ``mode="verify"`` where the model's numerics are not invariant.

    >>> from constrained.api import Model
    >>> from constrained.model import CpuLlama, LoadedModel
    >>> from constrained.testing.tiny import tiny_llama, tiny_tokenizer
    >>> import tempfile, pathlib
    >>> model = Model(LoadedModel(CpuLlama.from_llama(tiny_llama()), tiny_tokenizer(), "tiny"))
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "run.json"
    >>> result = model.generate("Tea?", int, temperature=1.0, seed=1, record=path)
    >>> replay(path, model).exit_code, replay(RunRecord.from_file(path), model).exit_code
    (0, 0)
    """
    if not isinstance(record, RunRecord):
        record = RunRecord.from_file(record)
    run = _Run(record, model, output_type=output_type, seed=seed, processors=processors)
    is_invariant = getattr(model.engine.model, "numerics", "native") == "invariant"
    if mode == "verify" and not is_invariant:
        raise ValueError("mode: expected 'rerun': 'verify' needs invariant numerics, and the model's are native")
    verify = mode != "rerun" and is_invariant and record.document["numerics"]["mode"] == "invariant"
    return run.over("verify" if verify or mode == "verify" else "rerun")


class _Run:
    """One replay."""

    def __init__(
        self,
        record: RunRecord,
        model: Model,
        *,
        output_type: Any,
        seed: int | None,
        processors: Sequence[LogitsProcessor],
    ) -> None:
        document = record.document
        self._record, self._model, self._processors = record, model, processors
        self._expected: list[dict[str, Any]] = document["steps"]
        self._asked = _asked_of(document, output_type, processors)
        _require_comparable(document, model, self._asked)
        self._request = _request_of(document, model, self._asked, seed)
        self._same_prompt = list(self._request.prompt_ids) == document["prompt"]["token_ids"]
        self._ahead: AheadModel | None = None

    def over(self, mode: Literal["verify", "rerun"]) -> Replay:
        """Generate, and compare each step as it comes, up to the first other token."""
        observer = StepObserver()
        watch = observer.watch(self._request)
        request = dataclasses.replace(self._request, drafts=0) if mode == "verify" else self._request
        steps = generate_tokens(self._engine(mode), [request], processors=[observer, *self._processors], hold_back=True)
        bits = token = result = None
        failure, seen = "", 0
        try:
            for step in steps:
                result = step.result or result
                for found in self._differences(watch, seen):
                    bits = bits or found
                    token = token or (None if found.same_token else found)
                seen = len(watch.traces[-1]) if watch.traces else 0
                if token is not None:
                    break
        except (ConstrainedError, GrammarError) as error:
            failure = f"{type(error).__name__}: {error}"
        finally:
            steps.close()
        trace = watch.traces[-1] if watch.traces else Trace.of_no_draw(self._request)
        if token is None and not failure:
            token = self._missing(trace)
            bits = bits or token
        return self._report(mode, trace, bits, token, result if token is None else None, failure)

    def _engine(self, mode: Literal["verify", "rerun"]) -> Engine:
        engine = self._model.engine
        model: Any = engine.model
        if mode == "verify":
            prompt_ids = self._request.prompt_ids
            script = [*prompt_ids, *self._record.document["output"]["token_ids"]]
            model = self._ahead = AheadModel(engine.model, script, num_prompt=len(prompt_ids))
        return Engine(model, engine.tokenizer, engine.vocabulary, engine.context_length)

    def _differences(self, watch: Watch, start: int) -> list[Difference]:
        """Of the steps from ``start`` on, the first that differs, and the first with another token."""
        got = [describe_step(step) for step in watch.traces[-1].steps(start)] if watch.traces else []
        found = []
        for index, step in enumerate(got, start):
            if index < len(self._expected):
                difference = compare(self._expected[index], step, index, same_prompt=self._same_prompt)
                found += [difference] if difference is not None else []
        return found

    def _missing(self, trace: Trace) -> Difference | None:
        """The first step that only one of the two runs has."""
        got = [describe_step(step) for step in trace.steps()]
        index = min(len(self._expected), len(got))
        if len(self._expected) == len(got):
            return None
        expected = self._expected[index] if index < len(self._expected) else None
        return compare(expected, got[index] if index < len(got) else None, index, same_prompt=self._same_prompt)

    def _report(
        self,
        mode: Literal["verify", "rerun"],
        trace: Trace,
        bits: Difference | None,
        token: Difference | None,
        result: GenerationResult | None,
        failure: str,
    ) -> Replay:
        document = self._record.document
        record = None
        if result is not None:
            record = make_record(self._model, self._asked, self._request, trace, result, trust_cache=False)
        sections = (
            record.document
            if record is not None
            else input_sections(self._model, self._asked, self._request, stream=self._request.stream, trust_cache=False)
        )
        differs = ""
        if record is not None:
            differs = ", ".join(
                name for name, value in document["output"].items() if record.document["output"][name] != value
            )
        return Replay(
            mode=mode,
            num_steps=min(len(trace), len(self._expected)),
            num_passes=None if self._ahead is None else self._ahead.num_passes,
            changes=tuple(changed_inputs(document, sections)),
            bits=bits,
            token=token,
            output_differs=differs,
            failure=failure,
            record=record,
        )


def _asked_of(document: Any, output_type: Any, processors: Sequence[LogitsProcessor]) -> Asked:
    described, request = document["output_type"], document["request"]
    wanted: OutputType[Any] | None
    if output_type is not None:
        wanted = output_type_from(output_type)
    else:
        wanted = None if described is None else rebuild(described)
    return Asked(
        prompt=document["prompt"]["given"],
        chat=document["prompt"]["chat"],
        output_type=wanted,
        whitespace=request["whitespace"],
        source=request["source"],
        processors=tuple(type(processor).__name__ for processor in processors),
    )


def _require_comparable(document: Any, model: Model, asked: Asked) -> None:
    """Raise :class:`RecordRefused` where a comparison would say nothing."""
    if document["model"]["vocabulary"] != model.engine.vocabulary.digest:
        raise RecordRefused(
            f"the record is of a model with another vocabulary ({document['model']['name']}), so its token ids mean "
            f"other texts than those of {model.name}; load the model that it names"
        )
    named = document["request"]["processors"]
    if len(named) != len(asked.processors):
        raise RecordRefused(
            f"the run had processors of its caller's own ({', '.join(named) or 'none'}), which a record cannot hold; "
            f"got {len(asked.processors)}: pass the same ones (processors=)"
        )


def _request_of(document: Any, model: Model, asked: Asked, seed: int | None) -> Request:
    told = document["request"]
    sampling = _sampling_of(told["sampling"])
    if seed is not None:
        sampling = SamplingConfig.model_validate({**sampling.model_dump(), "seed": seed})
    if sampling.watermark is not None:
        sampling.watermark.load_key()  # raises, naming the file or variable
    matcher = None
    if asked.output_type is not None:
        grammar = model.compile(asked.output_type, whitespace=asked.whitespace, source=asked.source)
        matcher = grammar.matcher()
        sampling = sampling.for_schema(asked.output_type.digest)
    prompt_ids = document["prompt"]["token_ids"]
    if asked.prompt is not None:
        prompt_ids = model.prompt_ids(asked.prompt, chat=asked.chat)
    if len(prompt_ids) >= model.context_length:
        raise ContextTooLong(needed=len(prompt_ids) + 1, available=model.context_length, what="the model's context")
    return Request(
        prompt_ids=prompt_ids,
        matcher=without_bad_words(matcher, model, sampling.bad_words),
        sampling=sampling,
        stream=told["stream"],
        max_tokens=told["max_tokens"],
        stop=tuple(told["stop"]),
        max_rolled_back_tokens=told["max_rolled_back_tokens"],
        forced=told["forced"],
        on_budget=told["on_budget"],
        drafts=told["drafts"],
    )


def _sampling_of(told: dict[str, Any]) -> SamplingConfig:
    """Raises :class:`RecordRefused` for settings that this release does not know."""
    biases = {int(token_id): bias for token_id, bias in told["logit_bias"].items()}
    try:
        return SamplingConfig.model_validate({**told, "logit_bias": biases})
    except ValueError as error:
        raise RecordRefused(f"the record's sampling settings are not those of this release: {error}") from error
