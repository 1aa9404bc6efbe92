"""What users call: load a model, ask it for text or for values of a type."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import torch

from grammars.limits import DEFAULT_LIMITS

from .arguments import (
    check_chat,
    check_messages,
    check_source,
    check_text,
    check_whitespace,
    forced_mode,
    optional_count,
    processors_of,
    sampling_of,
    stop_texts,
)
from .bad_words import without_bad_words
from .compiling import Grammars
from .errors import ContextTooLong, DeadEnd, ValidationFailed
from .loop import Engine, Request, generate_tokens
from .model import LoadedModel, load_model
from .output_types import DEFAULT_WHITESPACE, InvalidText, OutputType, output_type_from
from .prompts import DEFAULT_TEMPLATE, PromptTemplate
from .result import ForcedMode, GenerationResult
from .sampling import Drawer, keep_best, sample_stream, stream_of_document
from .sampling_config import SamplingConfig
from .sampling_options import SamplingOptions
from .spans import find_spans
from .text_stream import TextStream

if TYPE_CHECKING:
    from grammars import CompiledGrammar

    from .processors import LogitsProcessor

__all__ = ["DEFAULT_MAX_TOKENS", "DEFAULT_WHITESPACE", "GenerationOptions", "Model", "Prompt", "load"]

Prompt = str | Sequence[Mapping[str, Any]]
"""A text (one turn of the user), or turns with ``role`` and ``content``."""

DEFAULT_MAX_TOKENS = 1024
_MAX_GRAMMAR_BYTES = 256 * 2**20
_MOST_THREADS = 1024
_RETRIES = 3


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


def load(
    source: str | Path | None = None,
    *,
    device: str = "auto",
    dtype: str = "auto",
    weights: str = "auto",
    numerics: str = "native",
    threads: int | None = None,
    progress: Callable[[str], None] | None = None,
) -> Model:
    """Load a model: ``None`` for the small embedded default, a folder, a GGUF file, or a hub id.

    ``device`` is auto, cpu or cuda; ``progress`` gets a line for each slow step. ``weights`` is how weights are held:
    fp32 (exactly), bf16 (half the memory) or int8 (a quarter, on a CPU); auto is fp32 on a CPU and bf16 on CUDA.
    ``dtype``, float32 or bfloat16, says the same in other words. With ``numerics="invariant"``, a row's logits depend
    on its own tokens only, to the last bit; on a CPU they always do, elsewhere it is refused.

    ``threads`` is the number of CPU threads, of torch too, for the whole process. ``None``: what the environment
    variable OMP_NUM_THREADS says, else 1. More are faster on cores of one's own; on shared ones they are several times
    slower.

    Raises :class:`~constrained.errors.ModelUnavailable`, :class:`~constrained.errors.UnsupportedModel` or
    :class:`~constrained.errors.ModelFilesError`, and ValueError for a name or number that is none.
    """
    check_source(source, progress)
    for value, argument, example in (
        (device, "device", "'auto', 'cpu' or 'cuda'"),
        (dtype, "dtype", "'float32'"),
        (weights, "weights", "'fp32', 'bf16' or 'int8'"),
        (numerics, "numerics", "'native' or 'invariant'"),
    ):
        if not isinstance(value, str):
            raise TypeError(f"{argument}: expected a str such as {example}, got {value!r}")
    _set_threads(threads)
    import grammars  # its kernels load when first needed

    if not grammars.is_warm():
        if progress is not None:
            progress("compiling the kernels of the grammar engine (once)")
        grammars.warm_up()
    return Model(
        load_model(
            source, device=device, dtype=dtype, weights=weights, numerics=numerics, threads=threads, progress=progress
        )
    )


def _set_threads(threads: int | None) -> None:
    threads = optional_count(threads, "threads", least=1, most=_MOST_THREADS)
    if threads is None and not os.environ.get("OMP_NUM_THREADS"):
        threads = 1
    if threads is not None:
        torch.set_num_threads(threads)


@dataclasses.dataclass(frozen=True, slots=True)
class _Settings:
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

    @classmethod
    def from_options(cls, options: GenerationOptions) -> _Settings:
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
        )

    @property
    def is_greedy(self) -> bool:
        """Whether every draw would be the same."""
        return self.sampling.is_greedy or self.sampling.top_k == 1


@dataclasses.dataclass(frozen=True, slots=True)
class _Job:
    """One call, ready to run as often as it takes."""

    request: Request
    output_type: OutputType[Any] | None
    processors: tuple[LogitsProcessor, ...]
    retries: int
    asked_retries: int
    source: str | None = None


class Model:
    """A model and its tokenizer, ready to write. Its weights never change.

    Grammars are compiled once and kept, up to ``max_grammar_bytes`` in all (256 MiB), the least recently used dropped
    first.

    >>> from constrained.model import LoadedModel
    >>> from constrained.testing.tiny import tiny_llama, tiny_tokenizer
    >>> model = Model(LoadedModel(tiny_llama(), tiny_tokenizer(), "tiny"))
    >>> model.generate("Tea?", bool).value in (True, False)
    True
    """

    def __init__(self, loaded: LoadedModel, *, max_grammar_bytes: int = _MAX_GRAMMAR_BYTES) -> None:
        if not isinstance(loaded, LoadedModel):
            raise TypeError(
                f"loaded: expected what constrained.model.load_model gives, got {type(loaded).__name__}; "
                "constrained.load(...) makes a Model from a name"
            )
        self.name = loaded.name
        self.tokenizer = loaded.tokenizer
        self.engine = Engine.from_model(loaded.model, loaded.tokenizer)
        self._grammars = Grammars(max_bytes=max_grammar_bytes)

    @property
    def context_length(self) -> int:
        """Most tokens of prompt and output together."""
        return self.engine.context_length

    def generate(
        self, prompt: Prompt, output_type: Any = None, **options: Unpack[GenerationOptions]
    ) -> GenerationResult:
        """Answer ``prompt``: freely, or as ``output_type`` allows.

        The result's ``value`` is an instance of the type. It is ``None`` for free text, and where ``max_tokens`` or the
        context cut the output off (``complete`` is false then). ``usage`` is that of the last draw.

        Raises :class:`~constrained.errors.UnsupportedOutputType`, :class:`grammars.errors.GrammarError` where the type
        cannot be enforced, :class:`~constrained.errors.ContextTooLong`, :class:`~constrained.errors.DeadEnd` where a
        text had no way on, and :class:`~constrained.errors.ValidationFailed` where the type's own validation refused
        every draw.
        """
        return self._run(self._job(prompt, output_type, options))

    def _run(self, job: _Job) -> GenerationResult:
        """All samples that a call asks for, each drawn anew where it has to be; the best or first, with the others."""
        drawer = Drawer(self.engine, job.request, job.processors)
        return keep_best(drawer, lambda sample: self._sample(job, drawer, sample))

    def _sample(self, job: _Job, drawer: Drawer, sample: int) -> GenerationResult:
        attempt = 0
        while True:
            stream = sample_stream(job.request.stream, sample=sample, attempt=attempt)
            attempt += 1
            try:
                result = drawer.draw(stream)
            except DeadEnd:
                if attempt > job.retries:
                    raise
                continue
            try:
                return _with_value(result, job)
            except InvalidText as error:
                if attempt > job.retries:
                    raise _validation_failed(result, error, attempt, _remedy(job)) from error

    def stream(self, prompt: Prompt, output_type: Any = None, **options: Unpack[GenerationOptions]) -> TextStream:
        """As :meth:`generate`, but the text comes piece by piece; the stream's ``result`` is there when it has ended.

        What has been given out cannot be drawn again, so a failed validation raises at the end, whatever ``retries``.
        A value that has to be whole before all is known of it, such as an array whose items must differ, comes in one
        piece when it is whole.
        """
        job = self._job(prompt, output_type, options)

        def finish(result: GenerationResult) -> GenerationResult:
            try:
                return _with_value(result, job)
            except InvalidText as error:
                raise _validation_failed(result, error, 1, _STREAM_REMEDY) from error

        return TextStream(generate_tokens(self.engine, [job.request], processors=job.processors), finish)

    def extract(
        self,
        document: str,
        output_type: Any,
        *,
        instructions: str | None = None,
        template: PromptTemplate = DEFAULT_TEMPLATE,
        **options: Unpack[GenerationOptions],
    ) -> GenerationResult:
        """Read a value of ``output_type`` from a document. ``instructions`` say in words what is wanted.

        Instructions that contain ``{document}`` are the whole prompt, with the document put there. What is to be taken
        from a source is taken from the document, unless ``source`` is another text.
        """
        check_text(document, "document")
        if instructions is not None:
            check_text(instructions, "instructions")
            if not instructions.strip():
                raise ValueError("instructions: expected words, got an empty text; pass None for the template's own")
        if not isinstance(template, PromptTemplate):
            raise TypeError(f"template: expected a PromptTemplate, got {type(template).__name__}")
        settings = _Settings.from_options(options)
        wanted = output_type_from(output_type)
        if wanted.takes_source and settings.source is None:
            options["source"] = document
        whitespace = settings.whitespace
        messages = template.messages(document, instructions, schema_text=wanted.schema_text, whitespace=whitespace)
        prompt: Prompt = messages
        if options.get("chat") is False or not self.tokenizer.has_chat_template:
            prompt = "\n\n".join(message["content"] for message in messages) + "\n\n"
        return self._run(self._job(prompt, wanted, options, stream=stream_of_document(document)))

    def compile(
        self, output_type: Any, *, whitespace: str = DEFAULT_WHITESPACE, source: str | None = None
    ) -> CompiledGrammar:
        """The compiled grammar of an output type for this model's vocabulary, from the cache if it is there.

        ``source`` is the text that verbatim parts are taken from.
        """
        check_whitespace(whitespace)
        wanted = output_type_from(output_type)
        return self._grammars.get(wanted, whitespace=whitespace, vocabulary=self.engine.vocabulary, source=source)

    # -- inside -------------------------------------------------------------------------------------------------

    def _job(self, prompt: Prompt, output_type: Any, options: GenerationOptions, *, stream: int = 0) -> _Job:
        settings = _Settings.from_options(options)
        _check_prompt(prompt, settings.chat)
        wanted = None if output_type is None else output_type_from(output_type)
        prompt_ids = self._prompt_ids(prompt, settings.chat)
        max_tokens = self._max_tokens(len(prompt_ids), settings.max_tokens)
        if wanted is None and settings.source is not None:
            raise ValueError("source: free text is not taken from it; pass an output type with verbatim parts as well")
        grammar = None
        if wanted is not None:
            grammar = self.compile(wanted, whitespace=settings.whitespace, source=settings.source)
        request = Request(
            prompt_ids=prompt_ids,
            matcher=without_bad_words(
                None if grammar is None else grammar.matcher(), self, settings.sampling.bad_words
            ),
            sampling=settings.sampling.for_schema("" if wanted is None else wanted.digest),
            stream=stream,
            max_tokens=max_tokens,
            stop=settings.stop,
            forced=settings.forced,
            max_rolled_back_tokens=settings.max_rolled_back_tokens,
        )
        return _Job(
            request,
            wanted,
            settings.processors,
            0 if settings.is_greedy else settings.retries,
            settings.retries,
            settings.source,
        )

    def _prompt_ids(self, prompt: Prompt, chat: bool | None) -> list[int]:
        if not isinstance(prompt, str):
            return self.tokenizer.chat_prompt(prompt)
        if chat is False or (chat is None and not self.tokenizer.has_chat_template):
            ids = self.tokenizer.text_prompt(prompt)
            if not ids:
                raise ValueError("prompt: expected text, got an empty one, and this model has no token to start with")
            return ids
        return self.tokenizer.chat_prompt([{"role": "user", "content": prompt}])

    def _max_tokens(self, prompt_tokens: int, asked: int | None) -> int:
        room = self.context_length - prompt_tokens
        if room < 1:
            raise ContextTooLong(needed=prompt_tokens + 1, available=self.context_length, what="the model's context")
        return min(DEFAULT_MAX_TOKENS if asked is None else asked, room)


def _check_prompt(prompt: object, chat: bool | None) -> None:
    if isinstance(prompt, str):
        check_text(prompt, "prompt")
        return
    check_messages(prompt)
    if chat is False:
        raise TypeError("prompt: a list of messages needs the chat template; pass a str with chat=False")


def _with_value(result: GenerationResult, job: _Job) -> GenerationResult:
    wanted = job.output_type
    if wanted is None or not result.complete:
        return result
    result = dataclasses.replace(result, value=wanted.parse(result.text))
    if job.source is None:
        return result
    is_json = wanted.schema_text is not None
    return dataclasses.replace(result, spans=find_spans(result.text, job.source, is_json=is_json))


_STREAM_REMEDY = "what a stream has given out cannot be drawn again; generate draws again, up to retries times"


def _remedy(job: _Job) -> str:
    """What would have helped: whatever kept the output from being drawn again, or else more tries."""
    if job.asked_retries == 0:
        needs = " and a temperature above 0" if job.request.sampling.is_greedy else ""
        needs = needs or (" and top_k above 1" if job.request.sampling.top_k == 1 else "")
        return f"pass retries above 0{needs}, so that it may be drawn again"
    if job.request.sampling.is_greedy:
        return "pass a temperature above 0, so that it may be drawn again: at 0 every draw is the same"
    if job.request.sampling.top_k == 1:
        return "pass top_k above 1, so that it may be drawn again: with top_k=1 every draw is the same"
    return "raise retries, or say in the prompt what the validation asks for"


def _validation_failed(result: GenerationResult, error: InvalidText, attempts: int, remedy: str) -> ValidationFailed:
    return ValidationFailed(text=result.text, problems=error.problems, attempts=attempts, remedy=remedy)
