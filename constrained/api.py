"""What users call: load a model, ask it for text or for values of a type."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Unpack

import torch

from .arguments import check_messages, check_source, check_text, check_whitespace, optional_count, processors_of
from .bad_words import without_bad_words
from .batches import GenerationRequest, Outcome, run_many
from .compiling import Grammars
from .determinism import Asked, Recording, StepObserver
from .errors import ContextTooLong, DeadEnd
from .job import GenerationOptions, Job, Settings, refuse_what_does_not_go_together
from .loop import Engine, PrefixCache, Request, generate_tokens
from .model import LoadedModel, load_model
from .output_types import DEFAULT_WHITESPACE, InvalidText, output_type_from
from .prompts import DEFAULT_TEMPLATE, PromptTemplate
from .result import GenerationResult
from .sampling import Drawer, keep_best, stream_of_document
from .text_stream import TextStream

if TYPE_CHECKING:
    from grammars import CompiledGrammar

    from .processors import LogitsProcessor

__all__ = ["DEFAULT_MAX_TOKENS", "DEFAULT_WHITESPACE", "GenerationOptions", "Model", "Prompt", "load"]

Prompt = str | Sequence[Mapping[str, Any]]
"""A text (one turn of the user), or turns with ``role`` and ``content``."""

DEFAULT_MAX_TOKENS = 1024
_MAX_GRAMMAR_BYTES = 256 * 2**20
_MAX_PREFIX_BYTES = 256 * 2**20
_BATCH_SIZE = 8
_MOST_THREADS = 1024
_MOST_ROWS = 1024


def load(
    source: str | Path | None = None,
    *,
    device: str = "auto",
    dtype: str = "auto",
    weights: str = "auto",
    numerics: str = "native",
    threads: int | None = None,
    backend: Literal["own", "transformers"] = "own",
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

    ``backend="transformers"`` computes with that library, for architectures that our own forward pass does not know:
    slower on a CPU, row by row, with weights as ``dtype`` says (``weights`` and ``numerics`` are refused), and behind
    the same API.

    Raises :class:`~constrained.errors.ModelUnavailable`, :class:`~constrained.errors.UnsupportedModel` or
    :class:`~constrained.errors.ModelFilesError`, and ValueError for a name or number that is none.
    """
    check_source(source, progress)
    for value, argument, example in (
        (device, "device", "'auto', 'cpu' or 'cuda'"),
        (dtype, "dtype", "'float32'"),
        (weights, "weights", "'fp32', 'bf16' or 'int8'"),
        (numerics, "numerics", "'native' or 'invariant'"),
        (backend, "backend", "'own' or 'transformers'"),
    ):
        if not isinstance(value, str):
            raise TypeError(f"{argument}: expected a str such as {example}, got {value!r}")
    if backend not in ("own", "transformers"):
        raise ValueError(f"backend: expected 'own' or 'transformers', got {backend!r}")
    set_threads(threads)
    import grammars  # its kernels load when first needed

    if not grammars.is_warm():
        if progress is not None:
            progress("compiling the kernels of the grammar engine (once)")
        grammars.warm_up()
    if backend == "transformers":
        from .integrations.transformers_model import load_transformers_model

        if (weights, numerics) != ("auto", "native"):
            raise ValueError(
                "weights, numerics: transformers decides about them; pass dtype, or leave backend='transformers' out"
            )
        return Model(load_transformers_model(source, device=device, dtype=dtype, progress=progress), max_prefix_bytes=0)
    return Model(
        load_model(
            source, device=device, dtype=dtype, weights=weights, numerics=numerics, threads=threads, progress=progress
        )
    )


def set_threads(threads: int | None) -> None:
    """Set torch's number of CPU threads for the whole process, see :func:`load`."""
    threads = optional_count(threads, "threads", least=1, most=_MOST_THREADS)
    if threads is None and not os.environ.get("OMP_NUM_THREADS"):
        threads = 1
    if threads is not None:
        torch.set_num_threads(threads)


class Model:
    """A model and its tokenizer, ready to write. Its weights never change.

    Grammars are compiled once and kept, up to ``max_grammar_bytes`` in all (256 MiB), the least recently used dropped
    first. So are keys and values of prompts, for prompts that begin alike, up to ``max_prefix_bytes`` (256 MiB).

    >>> from constrained.model import LoadedModel
    >>> from constrained.testing.tiny import tiny_llama, tiny_tokenizer
    >>> model = Model(LoadedModel(tiny_llama(), tiny_tokenizer(), "tiny"))
    >>> model.generate("Tea?", bool).value in (True, False)
    True
    """

    def __init__(
        self,
        loaded: LoadedModel,
        *,
        max_grammar_bytes: int = _MAX_GRAMMAR_BYTES,
        max_prefix_bytes: int = _MAX_PREFIX_BYTES,
    ) -> None:
        if not isinstance(loaded, LoadedModel):
            raise TypeError(
                f"loaded: expected what constrained.model.load_model gives, got {type(loaded).__name__}; "
                "constrained.load(...) makes a Model from a name"
            )
        self.name = loaded.name
        self.origin = loaded.origin
        self.tokenizer = loaded.tokenizer
        self.observer = StepObserver()
        prefix_cache = PrefixCache(max_bytes=max_prefix_bytes)
        self.engine = Engine.from_model(loaded.model, loaded.tokenizer, prefix_cache=prefix_cache)
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
        cannot be enforced, :class:`~constrained.errors.ContextTooLong`, :class:`~constrained.errors.BudgetTooSmall`
        where ``on_budget="close"`` cannot be kept, :class:`~constrained.errors.DeadEnd` where a text had no way on, and
        :class:`~constrained.errors.ValidationFailed` where the type's own validation refused every draw.
        """
        return self.run(self.job_of(GenerationRequest(prompt, output_type, **options)))

    def generate_many(
        self,
        requests: Iterable[GenerationRequest],
        *,
        batch_size: int = _BATCH_SIZE,
        processors: Sequence[LogitsProcessor] = (),
    ) -> list[Outcome]:
        """Answer many requests, each with its own type, seed and settings, ``batch_size`` of them side by side.

        They share the passes of the model, and as one ends the next one joins; each result is what it is alone. One
        that fails leaves the others: its outcome has the error. In the order of the requests.

        >>> from constrained.model import LoadedModel
        >>> from constrained.testing.tiny import tiny_llama, tiny_tokenizer
        >>> model = Model(LoadedModel(tiny_llama(), tiny_tokenizer(), "tiny"))
        >>> asked = [GenerationRequest("Tea?", bool), GenerationRequest("How many?", int, seed=7, temperature=1.0)]
        >>> [type(outcome.value).__name__ for outcome in model.generate_many(asked)]
        ['bool', 'int']
        """
        outcomes = self.stream_many(requests, batch_size=batch_size, processors=processors)
        return sorted(outcomes, key=lambda outcome: outcome.index)

    def stream_many(
        self,
        requests: Iterable[GenerationRequest],
        *,
        batch_size: int = _BATCH_SIZE,
        processors: Sequence[LogitsProcessor] = (),
    ) -> Iterator[Outcome]:
        """As :meth:`generate_many`, but each outcome comes when it is there; requests are taken when there is room.

        Ending early frees what the batch holds: close the iterator or drop it.
        """
        if optional_count(batch_size, "batch_size", least=1, most=_MOST_ROWS) is None:
            raise TypeError("batch_size: expected a whole number, got None")
        return run_many(self, requests, batch_size=batch_size, processors=processors_of(processors))

    def run(self, job: Job) -> GenerationResult:
        """All samples that a call asks for, each drawn anew where it has to be; the best or first, with the others."""
        drawer = Drawer(self.engine, job.request, job.processors, choices=job.whole_choices)
        return keep_best(drawer, lambda sample: self._sample(job, drawer, sample), job.valid_ones)

    def _sample(self, job: Job, drawer: Drawer, sample: int) -> GenerationResult:
        attempt = 0
        while True:
            stream = job.draw(sample=sample, attempt=attempt).stream
            attempt += 1
            try:
                result = drawer.draw(stream)
            except DeadEnd:
                if attempt > job.retries:
                    raise
                continue
            try:
                return job.with_value(result)
            except InvalidText as error:
                if attempt > job.retries:
                    raise job.failed(result, error, attempts=attempt) from error

    def stream(self, prompt: Prompt, output_type: Any = None, **options: Unpack[GenerationOptions]) -> TextStream:
        """As :meth:`generate`, but the text comes piece by piece; the stream's ``result`` is there when it has ended.

        What has been given out cannot be drawn again, so a failed validation raises at the end, whatever ``retries``.
        A value that has to be whole before all is known of it, such as an array whose items must differ, comes in one
        piece when it is whole.
        """
        job = self.job_of(GenerationRequest(prompt, output_type, **options))
        if not job.is_one_row:
            raise ValueError(
                "stream: expected one text drawn token by token; n, best_of, num_beams, sampling and whole choices "
                "are for generate"
            )

        def finish(result: GenerationResult) -> GenerationResult:
            try:
                return job.with_value(result)
            except InvalidText as error:
                raise job.failed(result, error, attempts=1, remedy=_STREAM_REMEDY) from error

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
        request = self.extraction(document, output_type, instructions=instructions, template=template, **options)
        return self.run(self.job_of(request))

    def extraction(
        self,
        document: str,
        output_type: Any,
        *,
        instructions: str | None = None,
        template: PromptTemplate = DEFAULT_TEMPLATE,
        **options: Unpack[GenerationOptions],
    ) -> GenerationRequest:
        """What :meth:`extract` asks, for :meth:`generate_many` and :meth:`stream_many`."""
        check_text(document, "document")
        if instructions is not None:
            check_text(instructions, "instructions")
            if not instructions.strip():
                raise ValueError("instructions: expected words, got an empty text; pass None for the template's own")
        if not isinstance(template, PromptTemplate):
            raise TypeError(f"template: expected a PromptTemplate, got {type(template).__name__}")
        settings = Settings.from_options(options)
        wanted = output_type_from(output_type)
        if wanted.takes_source and settings.source is None:
            options["source"] = document
        whitespace = settings.whitespace
        messages = template.messages(document, instructions, schema_text=wanted.schema_text, whitespace=whitespace)
        prompt: Prompt = messages
        if options.get("chat") is False or not self.tokenizer.has_chat_template:
            prompt = "\n\n".join(message["content"] for message in messages) + "\n\n"
        return GenerationRequest(prompt, wanted, stream=stream_of_document(document), **options)

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

    def job_of(self, asked: GenerationRequest) -> Job:
        """A request, checked, tokenized, and with its grammar compiled."""
        prompt, output_type = asked.prompt, asked.output_type
        settings = Settings.from_options(asked.options)
        refuse_what_does_not_go_together(settings)
        _check_prompt(prompt, settings.chat)
        wanted = None if output_type is None else output_type_from(output_type)
        prompt_ids = self.prompt_ids(prompt, chat=settings.chat)
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
            stream=asked.stream,
            max_tokens=max_tokens,
            stop=settings.stop,
            forced=settings.forced,
            max_rolled_back_tokens=settings.max_rolled_back_tokens,
            on_budget=settings.on_budget,
            time_budget=settings.time_budget,
            drafts=settings.drafts,
        )
        job = Job(
            request,
            wanted,
            settings.processors,
            0 if settings.is_greedy else settings.retries,
            settings.retries,
            settings.source,
            self.engine.vocabulary,
        )
        if settings.record is None:
            return job
        asked_for = Asked.of_job(prompt, job, chat=settings.chat, whitespace=settings.whitespace)
        return job.recorded(Recording(settings.record, self, asked_for, request, self.observer), self.observer)

    def prompt_ids(self, prompt: Prompt, *, chat: bool | None = None) -> list[int]:
        """The ids of a prompt, as :meth:`generate` has them."""
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
        return DEFAULT_MAX_TOKENS if asked is None else asked


def _check_prompt(prompt: object, chat: bool | None) -> None:
    if isinstance(prompt, str):
        check_text(prompt, "prompt")
        return
    check_messages(prompt)
    if chat is False:
        raise TypeError("prompt: a list of messages needs the chat template; pass a str with chat=False")


_STREAM_REMEDY = "what a stream has given out cannot be drawn again; generate draws again, up to retries times"
