"""Every error of `grammars`: what was expected, what came, where, and what to do.

All of them derive from :class:`GrammarError`, which is a :class:`ValueError`: the caller gave something that
cannot be done as given. A fault of our own is never one of these.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

__all__ = [
    "CfgError",
    "GrammarError",
    "LimitExceeded",
    "NoShortestCompletion",
    "Note",
    "Problem",
    "RegexError",
    "SchemaError",
    "SchemaWarning",
    "SourceError",
    "TokenRefused",
    "UnsatisfiableGrammar",
    "UnsupportedSchema",
    "VocabularyError",
]


class GrammarError(ValueError):
    """Base of all errors of this package."""


class LimitExceeded(GrammarError):
    """A ceiling of :class:`grammars.Limits` was reached.

    ``limit`` is the name of the field of ``Limits``, ``value`` its value.
    """

    def __init__(self, limit: str, value: int, what: str) -> None:
        self.limit = limit
        self.value = value
        super().__init__(
            f"{what}: more than {limit}={value:,}; simplify the grammar "
            f"(the library `grammars` takes a higher Limits({limit}=...))"
        )


class VocabularyError(GrammarError):
    """The tokenizer or list of tokens cannot be used as a vocabulary."""


class UnsatisfiableGrammar(GrammarError):
    """No text at all is in the language."""


class TokenRefused(GrammarError):
    """A token was consumed that the grammar does not allow here; the matcher is unchanged."""

    def __init__(self, token_id: int, reason: str) -> None:
        self.token_id = token_id
        super().__init__(f"token {token_id} refused: {reason}")


def excerpt(text: str, position: int, *, width: int = 72) -> str:
    """The line of ``text`` around ``position`` (an index into it) with a caret below, at most ``width`` wide.

    >>> print(excerpt("a(b", 1))
    a(b
     ^
    """
    start = text.rfind("\n", 0, position) + 1
    end = text.find("\n", position)
    line = text[start:] if end < 0 else text[start:end]
    column = position - start
    if len(line) > width:
        left = max(0, min(column - width // 2, len(line) - width))
        cut_left, cut_right = left > 0, left + width < len(line)
        line = ("…" if cut_left else "") + line[left : left + width] + ("…" if cut_right else "")
        column -= left - cut_left
    return f"{line}\n{' ' * column}^"


class RegexError(GrammarError):
    """The regular expression is malformed or uses what is not supported; ``position`` is an index into ``pattern``."""

    def __init__(self, message: str, pattern: str, position: int) -> None:
        self.pattern = pattern
        self.position = position
        super().__init__(f"{message} at position {position}\n{excerpt(pattern, position)}")


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong with a schema: where (a JSON pointer), which keyword, and why."""

    pointer: str
    keyword: str
    reason: str

    def __str__(self) -> str:
        return f"{self.pointer or '#'}: {self.keyword}: {self.reason}"


class Note(NamedTuple):
    """Something of a schema that is not enforced as written: where (a JSON pointer), which keyword, and what."""

    pointer: str
    keyword: str
    message: str

    def __str__(self) -> str:
        return f"{self.pointer or '#'}: {self.keyword}: {self.message}"


class SchemaError(GrammarError):
    """The schema is not a valid JSON Schema. ``problems`` lists every fault found."""

    headline = "not a valid JSON Schema"

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__(self.headline + "".join(f"\n  {problem}" for problem in self.problems))


class UnsupportedSchema(SchemaError):
    """The schema asserts what cannot be enforced. ``problems`` lists *all* such keywords, not just the first."""

    headline = "the schema uses what is not supported"


class SchemaWarning(UserWarning):
    """The schema is enforced, but for what ``notes`` names: each has ``pointer``, ``keyword`` and ``message``."""

    def __init__(self, notes: Sequence[Note]) -> None:
        self.notes = tuple(notes)
        super().__init__("not all of the schema is enforced" + "".join(f"\n  {note}" for note in self.notes))


class SourceError(GrammarError):
    """Verbatim text has no source to be taken from, or one that holds nothing."""


class CfgError(GrammarError):
    """A grammar text (GBNF, Lark) is malformed or uses what is not supported.

    ``position`` is an index into ``text``; ``line`` and ``column`` count from 1.
    """

    def __init__(self, message: str, text: str, position: int) -> None:
        self.text = text
        self.position = position
        self.line = text.count("\n", 0, position) + 1
        self.column = position - text.rfind("\n", 0, position)
        super().__init__(f"{message}, at {self.line}:{self.column}\n{excerpt(text, position)}")


class NoShortestCompletion(GrammarError):
    """It is not known how few tokens bring a text of the grammar to its end; ``questions`` stand in the way."""

    def __init__(self, questions: Sequence[str]) -> None:
        self.questions = tuple(questions)
        super().__init__(
            "how few tokens complete a text is not known where a grammar asks: "
            + "; ".join(self.questions)
            + '. Leave that out of the schema (close its objects, take properties in order), or use on_budget="cut"'
        )
