"""Our own engine, as the laws see it."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Literal

import numpy as np
import numpy.typing as npt

import grammars
from grammars import CompiledGrammar, GrammarError, Matcher, SchemaWarning
from grammars.vocabulary import Vocabulary

from .base import Engine, Language, Refused, Session, allowed_of_bitmask

__all__ = ["OurSession", "Ours"]


class OurSession(Session):
    """A :class:`grammars.Matcher`."""

    can_roll_back = True
    knows_end = True

    def __init__(self, matcher: Matcher) -> None:
        super().__init__(matcher.grammar.vocabulary)
        self.matcher = matcher
        self.may_dead_end = matcher.grammar.open_guards is not None
        self._bitmask = grammars.allocate_token_bitmask(1, self.vocabulary.size)

    def allowed(self) -> npt.NDArray[np.bool_]:
        self.matcher.fill_next_token_bitmask(self._bitmask)
        return allowed_of_bitmask(self._bitmask[0], self.vocabulary.size)

    def consume(self, token_id: int) -> bool:
        return self.matcher.try_consume((token_id,)) == 1

    def roll_back(self, num_tokens: int) -> None:
        self.matcher.rollback(num_tokens)


class Ours(Engine):
    """`grammars`, with every spelling of JSON, and properties in any order."""

    name = "ours"
    distribution = "constrained"
    kinds = ("schema", "regex", "gbnf", "lark")
    whitespace = "any"
    property_order: Literal["schema", "any"] = "any"

    def __init__(self, vocabulary: Vocabulary) -> None:
        super().__init__(vocabulary)
        if not grammars.is_warm():
            grammars.warm_up()

    def compile(self, language: Language) -> Callable[[], Session]:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", SchemaWarning)
                compiled = self._compile(language)
        except GrammarError as error:
            raise Refused(str(error)) from error
        return lambda: OurSession(compiled.matcher())

    def _compile(self, language: Language) -> CompiledGrammar:
        match language.kind:
            case "schema":
                return grammars.compile_json_schema(
                    language.text,
                    self.vocabulary,
                    whitespace=self.whitespace,
                    property_order=self.property_order,
                    formats="assert",
                )
            case "regex":
                return grammars.compile_regex(language.text, self.vocabulary)
            case "gbnf":
                return grammars.compile_gbnf(language.text, self.vocabulary)
            case "lark":
                return grammars.compile_lark(language.text, self.vocabulary)
