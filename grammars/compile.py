"""From a source (regular expression, schema, grammar) and a vocabulary to a compiled grammar."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from .automaton.machine import Machine
from .automaton.memory import Memory, wrap
from .automaton.network import build_network
from .errors import UnsatisfiableGrammar
from .ir import IR, Builder
from .limits import DEFAULT_LIMITS, Limits
from .masks.narrow import Narrower
from .masks.spelling import Spelling
from .masks.walk import forget_masks
from .matcher import Matcher
from .vocabulary import Vocabulary

__all__ = ["CompiledGrammar", "compile_gbnf", "compile_ir", "compile_json_schema", "compile_regex"]


class CompiledGrammar:
    """A grammar made ready for one vocabulary: immutable to its users, shared by any number of matchers.

    Its tables fill as matchers run, so a second sequence finds its masks computed.
    """

    def __init__(self, ir: IR, vocabulary: Vocabulary, limits: Limits) -> None:
        self.ir = ir
        self.vocabulary = vocabulary
        self.num_words = (vocabulary.size + 31) // 32
        self.tables: Memory = wrap(vocabulary.tables)
        self.machine = Machine(build_network(ir, limits=limits), self.num_words, limits)
        self.narrower = Narrower(self.machine, self.tables) if ir.guards else None
        self.spelling = Spelling.needed(self.machine, self.tables, vocabulary)
        if self.spelling is not None and not self.spelling.is_live(self.machine.start):
            raise UnsatisfiableGrammar("the tokens of this vocabulary cannot write any text of the grammar")

    def matcher(self) -> Matcher:
        """A matcher at the beginning of a text."""
        return Matcher(self)

    def forget_bitmasks(self) -> None:
        """Drop the cached token bitmasks (to give memory back, or to measure); they are computed again when needed."""
        with self.machine.lock:
            forget_masks(self.machine.memory)
            self.machine.epoch += 1


def compile_ir(ir: IR, vocabulary: Vocabulary, *, limits: Limits = DEFAULT_LIMITS) -> CompiledGrammar:
    """Compile the intermediate form. Raises GrammarError: unsatisfiable, or over a limit."""
    return CompiledGrammar(ir, vocabulary, limits)


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


def compile_json_schema(
    schema: Mapping[str, Any] | bool | str,
    vocabulary: Vocabulary,
    *,
    whitespace: str = "indent=2",
    formats: Literal["assert", "annotate"] = "assert",
    limits: Limits = DEFAULT_LIMITS,
) -> CompiledGrammar:
    """JSON texts that are valid under ``schema`` (a dict, a boolean, or JSON text).

    ``whitespace``: ``"indent=2"`` (as ``json.dumps`` writes it with that indent), ``"spaced"`` (as ``json.dumps``),
    ``"compact"``, ``"flexible"`` (bounded runs) or ``"any"`` (whatever JSON allows). ``formats="annotate"`` makes
    ``format`` an annotation; by default it is a constraint.

    Raises :class:`~grammars.SchemaError` for what is no schema, :class:`~grammars.UnsupportedSchema` for keywords
    that would not be enforced (all of them, each with its JSON pointer), :class:`~grammars.UnsatisfiableGrammar`.
    """
    from .frontends.json_schema import lower_json_schema

    return compile_ir(
        lower_json_schema(schema, whitespace=whitespace, formats=formats, limits=limits), vocabulary, limits=limits
    )
