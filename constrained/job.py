"""One call of the API: its options, checked, and what its results are made into."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from grammars.limits import DEFAULT_LIMITS

from .arguments import (
    budget_policy,
    check_chat,
    check_text,
    check_whitespace,
    file_to_write,
    forced_mode,
    optional_count,
    processors_of,
    sampling_of,
    seconds,
    stop_texts,
)
from .errors import ValidationFailed
from .loop import Request
from .loop.request import MOST_DRAFTS
from .output_types import DEFAULT_WHITESPACE, ChoiceType, InvalidText, OutputType
from .result import BudgetPolicy, ForcedMode, GenerationResult
from .sampling import sample_stream
from .sampling_config import SamplingConfig
from .sampling_options import SamplingOptions
from .spans import find_spans
from .special_marks import marked_text

if TYPE_CHECKING:
    from grammars import Vocabulary

    from .determinism import Recording, StepObserver
    from .processors import LogitsProcessor

__all__ = ["GenerationOptions", "Job", "Settings", "refuse_what_does_not_go_together"]

_RETRIES = 3
_DRAFTS = 8
_BEAMS_REMEDY = "raise num_beams, or say in the prompt what the validation asks for"


class GenerationOptions(SamplingOptions, total=False):
    """What :meth:`Model.generate`, :meth:`Model.stream` and :meth:`Model.extract` take by keyword.

    How tokens are chosen is said by the options of :class:`~constrained.sampling_options.SamplingOptions`.
    """

    max_tokens: int | None
    """Most output tokens; ``None``: 1024. What the context has no room for is not written, whatever this says."""
    stop: Sequence[str]
    """Texts that end the output and are cut off."""
    whitespace: str
    """Of JSON: ``"indent=2"``, ``"spaced"``, ``"compact"``, ``"flexible"``, ``"any"``."""
    processors: Sequence[LogitsProcessor]
    """More steps of the post-forward stage; the mask comes after those that name no place of their own."""
    forced: ForcedMode
    """How text without a choice is written, see :data:`constrained.result.ForcedMode`."""
    retries: int
    """How often an output is drawn again that its type's validation refuses, or that has no way on. 3 by default; not
    at temperature 0."""
    max_rolled_back_tokens: int
    """Output tokens that may be taken back where the text turned out to have no way on. 256 by default."""
    chat: bool | None
    """Whether to use the chat template. ``None``: if the model has one."""
    source: str | None
    """The text that verbatim parts of the output are taken from (:class:`~constrained.Verbatim`)."""
    on_budget: BudgetPolicy
    """``"cut"`` (the default) or ``"close"``: what happens as ``max_tokens`` or ``time_budget`` come to their end."""
    time_budget: float | None
    """Seconds that it may take; ``None``: as long as it takes."""
    drafts: int
    """Most tokens copied from the prompt that a pass checks on top of its own; 0: none. They change no output. 8 by
    default."""
    record: str | Path | None
    """A file to write the run record to, when there is a result: see :mod:`constrained.determinism`."""


@dataclasses.dataclass(frozen=True, slots=True)
class Settings:
    """The options of one call, each checked."""

    sampling: SamplingConfig
    max_tokens: int | None
    stop: tuple[str, ...]
    whitespace: str
    processors: tuple[LogitsProcessor, ...]
    forced: ForcedMode
    max_rolled_back_tokens: int
    retries: int
    chat: bool | None
    source: str | None
    on_budget: BudgetPolicy
    time_budget: float | None
    drafts: int
    record: Path | None

    @classmethod
    def from_options(cls, options: Mapping[str, Any]) -> Settings:
        """Raises TypeError or ValueError, naming the option."""
        unknown = set(options) - GenerationOptions.__optional_keys__
        if unknown:
            known = ", ".join(sorted(GenerationOptions.__optional_keys__))
            raise TypeError(f"unknown option {', '.join(sorted(unknown))}; expected some of {known}")
        whitespace = options.get("whitespace", DEFAULT_WHITESPACE)
        check_whitespace(whitespace)
        chat = options.get("chat")
        check_chat(chat)
        retries = optional_count(options.get("retries", _RETRIES), "retries", least=0)
        source = options.get("source")
        if source is not None:
            check_text(source, "source")
        default = DEFAULT_LIMITS.max_rolled_back_tokens
        rolled_back = optional_count(options.get("max_rolled_back_tokens"), "max_rolled_back_tokens", least=0)
        drafts = optional_count(options.get("drafts"), "drafts", least=0, most=MOST_DRAFTS)
        return cls(
            sampling=sampling_of(options.get),
            max_tokens=optional_count(options.get("max_tokens"), "max_tokens", least=1),
            stop=stop_texts(options.get("stop", ())),
            whitespace=whitespace,
            processors=processors_of(options.get("processors", ())),
            forced=forced_mode(options.get("forced", "canonical")),
            max_rolled_back_tokens=default if rolled_back is None else rolled_back,
            retries=_RETRIES if retries is None else retries,
            chat=chat,
            source=source,
            on_budget=budget_policy(options.get("on_budget", "cut")),
            time_budget=seconds(options.get("time_budget"), "time_budget"),
            drafts=_DRAFTS if drafts is None else drafts,
            record=file_to_write(options.get("record"), "record"),
        )

    @property
    def is_greedy(self) -> bool:
        """Whether every draw would be the same."""
        return self.sampling.is_greedy or self.sampling.top_k == 1


@dataclasses.dataclass(frozen=True, slots=True)
class Job:
    """One call, ready to run as often as it takes."""

    request: Request
    output_type: OutputType[Any] | None
    processors: tuple[LogitsProcessor, ...]
    retries: int
    asked_retries: int
    source: str | None = None
    vocabulary: Vocabulary | None = None
    """Tells special tokens by name."""
    recording: Recording | None = None

    @property
    def whole_choices(self) -> tuple[str, ...] | None:
        """The texts of which one is wanted, where each is to be weighed as a whole."""
        wanted = self.output_type
        return tuple(wanted.options) if isinstance(wanted, ChoiceType) and wanted.score == "sequence" else None

    @property
    def is_one_row(self) -> bool:
        """Whether it is one text, drawn token by token: what can be a row of a batch."""
        sampling = self.request.sampling
        return (
            self.whole_choices is None
            and sampling.sampling == "local"
            and sampling.num_beams == 1
            and (sampling.best_of or sampling.n) == 1
        )

    def recorded(self, recording: Recording, observer: StepObserver) -> Job:
        """The same, with a record. Raises ValueError for what is more than one text, or not drawn token by token."""
        if not self.is_one_row:
            raise ValueError(
                "record: a record is of one text, drawn token by token; expected n=1, sampling='local', num_beams=1, "
                "and choices that are not weighed as a whole"
            )
        return dataclasses.replace(self, recording=recording, processors=(observer, *self.processors))

    def draw(self, *, sample: int, attempt: int) -> Request:
        """The request of one sample, and of its later attempts."""
        stream = sample_stream(self.request.stream, sample=sample, attempt=attempt)
        return dataclasses.replace(self.request, stream=stream)

    def with_value(self, result: GenerationResult) -> GenerationResult:
        """The result with what its text means, once it is recorded where that was asked for.

        Raises :class:`~constrained.output_types.InvalidText`.
        """
        result = self._with_value(result)
        if self.recording is not None:
            self.recording.finish(result)
        return result

    def _with_value(self, result: GenerationResult) -> GenerationResult:
        wanted = self.output_type
        if wanted is None or not result.complete:
            return result
        text = result.text
        if wanted.read_specials:
            assert self.vocabulary is not None
            text = marked_text(self.vocabulary, result, wanted.read_specials)
        result = dataclasses.replace(result, value=wanted.parse(text))
        if self.source is None:
            return result
        is_json = wanted.schema_text is not None
        return dataclasses.replace(result, spans=find_spans(result.text, self.source, is_json=is_json))

    def valid_ones(self, results: list[GenerationResult]) -> list[GenerationResult]:
        """Those whose value is valid, with it; ValidationFailed, told of the first, where none is."""
        kept = []
        failures = []
        for result in results:
            try:
                kept.append(self.with_value(result))
            except InvalidText as error:
                failures.append(self.failed(result, error, attempts=len(results), remedy=_BEAMS_REMEDY))
        if not kept:
            raise failures[0]
        return kept

    def failed(
        self, result: GenerationResult, error: InvalidText, *, attempts: int, remedy: str | None = None
    ) -> ValidationFailed:
        """The error to raise when it is not drawn again."""
        return ValidationFailed(
            text=result.text, problems=error.problems, attempts=attempts, remedy=remedy or self._remedy()
        )

    def _remedy(self) -> str:
        """What would have helped: whatever kept the output from being drawn again, or else more tries."""
        sampling = self.request.sampling
        if self.asked_retries == 0:
            needs = " and a temperature above 0" if sampling.is_greedy else ""
            needs = needs or (" and top_k above 1" if sampling.top_k == 1 else "")
            return f"pass retries above 0{needs}, so that it may be drawn again"
        if sampling.is_greedy:
            return "pass a temperature above 0, so that it may be drawn again: at 0 every draw is the same"
        if sampling.top_k == 1:
            return "pass top_k above 1, so that it may be drawn again: with top_k=1 every draw is the same"
        return "raise retries, or say in the prompt what the validation asks for"


def refuse_what_does_not_go_together(settings: Settings) -> None:
    """Raise ValueError where a budget is to be kept by a sampling that knows none."""
    sampling = settings.sampling
    if sampling.sampling == "local" and sampling.num_beams == 1:
        return
    what = f"sampling={sampling.sampling!r}" if sampling.sampling != "local" else f"num_beams={sampling.num_beams}"
    if settings.on_budget == "close":
        raise ValueError(f"on_budget: {what} draws whole texts of at most max_tokens; expected 'cut', got 'close'")
    if settings.time_budget is not None:
        raise ValueError(f"time_budget: {what} knows no time; expected None, got {settings.time_budget}")
