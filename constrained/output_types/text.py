"""Plain text as an output: a regular expression, or one of several texts."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, TypeVar, get_args

from ..errors import UnsupportedOutputType
from .base import InvalidText, OutputType, digest_of
from .regular import RegularType

if TYPE_CHECKING:
    from grammars.ir import IR
    from grammars.ir.regular import Dfa

__all__ = ["ChoiceType", "RegexType", "choice", "regex", "require_unicode"]

T = TypeVar("T")

ChoiceScore = Literal["token", "sequence"]


class RegexType(RegularType):
    """Text that a regular expression matches from end to end."""

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern

    @cached_property
    def digest(self) -> str:
        return digest_of("regex", self.pattern)

    @property
    def schema_text(self) -> None:
        return None

    def lower(self, *, whitespace: str) -> IR:
        from grammars.frontends.regex import lower_regex
        from grammars.ir import Builder

        builder = Builder()
        return builder.finish(lower_regex(self.pattern, builder))

    def automaton(self) -> Dfa:
        from grammars.frontends.regex import regex_automaton

        return regex_automaton(self.pattern)

    def parse(self, text: str) -> str:
        return text

    def __repr__(self) -> str:
        return f"regex({self.pattern!r})"


class ChoiceType(OutputType[T]):
    """Exactly one of several texts, unquoted; the value is the option whose text was written."""

    def __init__(self, options: dict[str, T], *, score: ChoiceScore = "token") -> None:
        self.options = dict(options)
        self.score = score

    @cached_property
    def digest(self) -> str:
        return digest_of("choice", *self.options)

    @property
    def schema_text(self) -> None:
        return None

    def lower(self, *, whitespace: str) -> IR:
        from grammars.ir import Builder

        builder = Builder()
        return builder.finish(builder.literals(text.encode() for text in self.options))

    def parse(self, text: str) -> T:
        try:
            return self.options[text]
        except KeyError:
            raise InvalidText([f"{text!r} is none of the options {list(self.options)!r}"]) from None

    def __repr__(self) -> str:
        return f"choice({list(self.options.values())!r})"


def regex(pattern: str) -> RegexType:
    r"""Text that ``pattern`` (Python's syntax, its regular part) matches from end to end. The value is the text.

    The pattern is checked when it is used: :class:`grammars.errors.RegexError` names the place of a fault. Regexes
    combine: ``a & b``, ``a | b``, ``a - b`` and ``~a`` (see :class:`~constrained.output_types.RegularType`).

    >>> regex(r"[A-Z]{2}-\d{4}")
    regex('[A-Z]{2}-\\d{4}')
    >>> regex(r"[a-z]+") - regex(r"if|else")
    (regex('[a-z]+') - regex('if|else'))
    """
    if not isinstance(pattern, str):
        raise UnsupportedOutputType(f"regex: expected the pattern as a str, got {type(pattern).__name__}")
    require_unicode(pattern, "regex: the pattern")
    return RegexType(pattern)


def choice(options: Iterable[T], *, score: ChoiceScore = "token") -> ChoiceType[T]:
    """Exactly one of ``options``, which may be an Enum class. The value is the option itself.

    ``score="token"``: the model chooses token by token. ``"sequence"``: the probability of each option as a whole
    counts, which takes a pass for each (what they share is read once); ``result.choice_logprobs`` has them all.

    What is written is the option as text: a ``str`` as it is, an Enum member as its value, anything else by ``str``.
    Two options with the same text, or none at all, raise :class:`~constrained.errors.UnsupportedOutputType`.

    >>> choice(["yes", "no"]).parse("no")
    'no'
    >>> choice([1, 20]).parse("20")
    20
    """
    if isinstance(options, str | bytes):
        raise UnsupportedOutputType(f"choice: expected several options, got the single {options!r}; put it in a list")
    if not isinstance(options, Iterable):
        raise UnsupportedOutputType(f"choice: expected a list of options, got {type(options).__name__}")
    by_text: dict[str, T] = {}
    for index, option in enumerate(options):
        text = _text_of(option, index)
        if text in by_text:
            raise UnsupportedOutputType(
                f"choice: the options {by_text[text]!r} and {option!r} are both written {text!r}"
            )
        by_text[text] = option
    if not by_text:
        raise UnsupportedOutputType("choice: expected at least one option, got none")
    if score not in get_args(ChoiceScore):
        raise UnsupportedOutputType(f"choice: expected score to be 'token' or 'sequence', got {score!r}")
    return ChoiceType(by_text, score=score)


def _text_of(option: Any, index: int) -> str:
    value = option.value if isinstance(option, Enum) else option
    try:
        text = str(value)
    except Exception as error:  # of the user's own: whatever it raises is told
        raise UnsupportedOutputType(
            f"choice: option {index} ({type(value).__name__}) cannot be written as text: "
            f"{type(error).__name__}: {error}"
        ) from error
    require_unicode(text, f"choice: option {index}")
    return text


def require_unicode(text: str, what: str) -> None:
    """Raise :class:`~constrained.errors.UnsupportedOutputType` for half of a surrogate pair."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise UnsupportedOutputType(
            f"{what} holds half of a surrogate pair at index {error.start}, which no text can hold; leave it out"
        ) from None
