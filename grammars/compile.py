"""From a source (regular expression, schema, grammar) and a vocabulary to a compiled grammar."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import fields
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from .automaton.machine import Machine
from .automaton.memory import (
    CLOSURE_WORDS,
    CONFIGURATION_TABLE_SIZE,
    CONFIGURATION_WORDS,
    HEADER_WORDS,
    NUM_CONFIGURATIONS,
    NUM_ITEMS,
    NUM_MASKS,
    NUM_STACK_EDGES,
    NUM_STACKS,
    NUM_WORDS,
    STACK_TABLE_SIZE,
    STACK_WORDS,
    UNION_SLOTS,
    UNION_WORDS,
    Memory,
    wrap,
)
from .automaton.network import Network, build_network
from .completions import Completions
from .errors import GrammarError, Note, SchemaWarning, UnsatisfiableGrammar
from .ir import IR, Builder, Kind
from .ir.private import is_private, limits_of, make_private
from .ir.verbatim import Unit, bind_source
from .limits import DEFAULT_LIMITS, Limits
from .masks.limited import Limited
from .masks.narrow import Narrower
from .masks.open_guards import OpenGuards
from .masks.spelling import Spelling
from .masks.walk import forget_masks
from .matcher import Matcher
from .vocabulary import Vocabulary

if TYPE_CHECKING:
    from .frontends.json_schema.resources import Registry

__all__ = ["CompiledGrammar", "compile_gbnf", "compile_ir", "compile_json_schema", "compile_lark", "compile_regex"]


class CompiledGrammar:
    """A grammar made ready for one vocabulary: immutable to its users, shared by any number of matchers.

    Its tables fill as matchers run, so a second sequence finds its masks computed.
    """

    def __init__(self, ir: IR, vocabulary: Vocabulary, limits: Limits) -> None:
        self.vocabulary = vocabulary
        self.num_words = (vocabulary.size + 31) // 32
        self.tokens, tables = vocabulary.tokens, None
        self.special_ids: frozenset[int] = frozenset()
        token_limits: tuple[int, ...] = ()
        if is_private(ir):
            ids = [vocabulary.special_id(token) for token in ir.specials]
            self.special_ids, token_limits = frozenset(ids), limits_of(ir)
            self.tokens, tables = vocabulary.private(self.special_ids)
            ir = make_private(ir, ids)
        self.ir = ir
        self.tables: Memory = wrap(vocabulary.tables if tables is None else tables)
        self.machine = Machine(build_network(ir, limits=limits), self.num_words, limits)
        self.limited = Limited(self.machine, token_limits) if token_limits else None
        has_guards = bool((self.machine.network.steps[:, 0] == Kind.GUARD).any())
        self.narrower = Narrower(self.machine, self.tables, ir.guards) if has_guards else None
        self._open_guards: OpenGuards | None = None
        self.spelling = Spelling.needed(self.machine, self.tables, vocabulary)
        if self.limited is not None and self.spelling is not None:
            raise GrammarError(
                "max_tokens: expected a vocabulary with a token for every byte that the grammar may need, so that text "
                "can be ended anywhere; this one lacks some"
            )
        if self.spelling is not None and not self.spelling.is_live(self.machine.start):
            raise UnsatisfiableGrammar("the tokens of this vocabulary cannot write any text of the grammar")

    def matcher(self) -> Matcher:
        """A matcher at the beginning of a text."""
        return Matcher(self)

    @cached_property
    def completions(self) -> Completions:
        """How few tokens complete a text. Raises :class:`~grammars.errors.NoShortestCompletion` under guards."""
        return Completions(self)

    @property
    def open_guards(self) -> OpenGuards | None:
        """Tells where a guard is still to be asked about what was begun; ``None`` without guards."""
        if self._open_guards is None and self.narrower is not None:
            self._open_guards = OpenGuards(self.machine, self.ir.guards)
        return self._open_guards

    @property
    def notes(self) -> tuple[Note, ...]:
        """What of its schema is not enforced as written, such as formats that nobody knows."""
        notes: tuple[Note, ...] = getattr(self.ir, "notes", ())  # of a lowered schema
        return notes

    @property
    def nbytes(self) -> int:
        """Bytes that the grammar holds now: its intermediate form, its network, and the machine's tables as far as
        they are filled, in whole pages each. It grows while matchers run; the vocabulary's tables are not counted."""
        with self.machine.lock:
            return _bytes_of_arrays(self.ir) + _bytes_of_arrays(self.machine.network) + _bytes_in_use(self.machine)

    def forget_bitmasks(self) -> None:
        """Drop the cached token bitmasks (to give memory back, or to measure); they are computed again when needed."""
        with self.machine.lock:
            forget_masks(self.machine.memory)
            self.machine.epoch += 1


_PAGE = 4096


def _bytes_of_arrays(frozen: IR | Network) -> int:
    values = (getattr(frozen, field.name) for field in fields(frozen))
    return sum(value.nbytes for value in values if isinstance(value, np.ndarray))


def _bytes_in_use(machine: Machine) -> int:
    """What a machine's tables occupy: an arena's untouched part has no memory behind it."""
    memory, network = machine.memory, machine.network
    arenas = (
        HEADER_WORDS,
        STACK_WORDS * memory[NUM_STACKS],
        2 * memory[NUM_STACK_EDGES],
        memory[STACK_TABLE_SIZE],
        UNION_WORDS * UNION_SLOTS,
        CONFIGURATION_WORDS * memory[NUM_CONFIGURATIONS],
        2 * memory[NUM_ITEMS],
        memory[CONFIGURATION_TABLE_SIZE],
        256 * memory[NUM_CONFIGURATIONS],
        memory[NUM_WORDS] * memory[NUM_MASKS],
        _bytes_of_arrays(network) // 4 + (CLOSURE_WORDS + 2) * network.num_states,  # of documents little is touched
    )
    return sum(-(-4 * int(words) // _PAGE) * _PAGE for words in arenas)


def compile_ir(
    ir: IR, vocabulary: Vocabulary, *, source: str | None = None, limits: Limits = DEFAULT_LIMITS
) -> CompiledGrammar:
    """Compile the intermediate form. Raises GrammarError: unsatisfiable, or over a limit.

    ``source`` is the text that verbatim pieces are taken from; without one :class:`~grammars.SourceError` is raised
    where some piece needs it.
    """
    return CompiledGrammar(bind_source(ir, source), vocabulary, limits)


def compile_regex(
    pattern: str, vocabulary: Vocabulary, *, dialect: str = "python", limits: Limits = DEFAULT_LIMITS
) -> CompiledGrammar:
    """Texts that match ``pattern`` as a whole. Raises :class:`~grammars.RegexError` with the place of the fault."""
    from .frontends.regex import lower_regex

    builder = Builder(limits=limits)
    return compile_ir(builder.finish(lower_regex(pattern, builder, dialect=dialect)), vocabulary, limits=limits)


def compile_gbnf(
    text: str, vocabulary: Vocabulary, *, start: str = "root", limits: Limits = DEFAULT_LIMITS
) -> CompiledGrammar:
    """Texts of the rule ``start`` of a GBNF grammar, as llama.cpp's users write them.

    Raises :class:`~grammars.CfgError` with line and column of the fault.
    """
    from .frontends.cfg import lower_gbnf

    builder = Builder(limits=limits)
    return compile_ir(builder.finish(lower_gbnf(text, builder, start=start)), vocabulary, limits=limits)


def compile_lark(
    text: str,
    vocabulary: Vocabulary,
    *,
    start: str = "start",
    whitespace: str = "indent=2",
    limits: Limits = DEFAULT_LIMITS,
) -> CompiledGrammar:
    """Texts that Lark, with its LALR parser and contextual lexer, parses from the rule ``start`` of a Lark grammar.

    ``whitespace`` is that of ``%json`` pieces. Raises :class:`~grammars.CfgError` with line and column of the fault.
    """
    from .frontends.cfg import lower_lark

    builder = Builder(limits=limits)
    node = lower_lark(text, builder, start=start, whitespace=whitespace)
    return compile_ir(builder.finish(node), vocabulary, limits=limits)


def compile_json_schema(
    schema: Mapping[str, Any] | bool | str,
    vocabulary: Vocabulary,
    *,
    whitespace: str = "indent=2",
    formats: Literal["assert", "annotate"] = "assert",
    property_order: Literal["schema", "any"] = "schema",
    registry: Registry | None = None,
    on_unsupported: Literal["error", "relax"] = "error",
    ensure_ascii: bool = False,
    source: str | None = None,
    verbatim: Unit | None = None,
    limits: Limits = DEFAULT_LIMITS,
) -> CompiledGrammar:
    """JSON texts that are valid under ``schema`` (a dict, a boolean, or JSON text).

    ``whitespace``: ``"indent=2"`` (as ``json.dumps`` writes it with that indent), ``"spaced"`` (as ``json.dumps``),
    ``"compact"``, ``"flexible"`` (bounded runs) or ``"any"`` (whatever JSON allows). ``formats="annotate"`` makes
    ``format`` an annotation; by default it is a constraint. ``property_order="any"`` takes the declared properties
    of an object in any order, each once; by default they come in the order of the schema. ``registry`` (a
    :class:`referencing.Registry`) has the documents that references outside the schema lead to; without it nothing is
    ever fetched. ``on_unsupported="relax"`` leaves out what would be refused (a pattern with back-references, say), so
    that the grammar allows more: validate the texts. What is left out, and what is left unenforced because nobody knows
    it (a format of one's own), is told by one :class:`~grammars.SchemaWarning`, and by the result's ``notes``.
    ``ensure_ascii`` writes every character beyond ASCII as ``\\uXXXX``, in names and values, as ``json.dumps`` does by
    default.

    ``source`` is the text that strings with ``"x-verbatim": true`` (by words; or ``"words"``, ``"characters"``) are
    taken from; ``verbatim="words"`` or ``"characters"`` asks that of every string without a pattern, format, or given
    values.

    Raises :class:`~grammars.SchemaError` for what is no schema, :class:`~grammars.UnsupportedSchema` for keywords
    that would not be enforced (all of them, each with its JSON pointer), :class:`~grammars.UnsatisfiableGrammar`.
    """
    from .frontends.json_schema import lower_json_schema

    ir = lower_json_schema(
        schema,
        whitespace=whitespace,
        formats=formats,
        property_order=property_order,
        registry=registry,
        on_unsupported=on_unsupported,
        ensure_ascii=ensure_ascii,
        verbatim=verbatim,
        limits=limits,
    )
    if ir.notes:
        warnings.warn(SchemaWarning(ir.notes), stacklevel=2)
    return compile_ir(ir, vocabulary, source=source, limits=limits)
