"""Errors of `constrained`: what was expected, what came, where, and what to do.

All derive from :class:`ConstrainedError`. Faults of grammars and schemas are :class:`grammars.errors.GrammarError`.
"""

from __future__ import annotations

from collections.abc import Sequence

__all__ = [
    "BudgetTooSmall",
    "ChatTemplateError",
    "ConstrainedError",
    "ContextTooLong",
    "DeadEnd",
    "DoesNotFit",
    "FieldsError",
    "LogitsError",
    "ModelFilesError",
    "ModelUnavailable",
    "NoSample",
    "NoTokenAllowed",
    "RecordRefused",
    "UnsupportedModel",
    "UnsupportedOutputType",
    "ValidationFailed",
    "WatermarkError",
    "WatermarkKeyError",
]


class ConstrainedError(Exception):
    """Base of all errors of this package."""


class ModelUnavailable(ConstrainedError):
    """The model's files could not be found or fetched; the message says what was tried and what to do."""


class UnsupportedModel(ConstrainedError):
    """The model exists but is of a kind that we do not compute; the message names it and what is supported."""


class ModelFilesError(ConstrainedError):
    """The model's files contradict each other or are damaged."""


class ChatTemplateError(ConstrainedError):
    """The tokenizer has no chat template, or its template refused the messages."""


class ContextTooLong(ConstrainedError):
    """More tokens than fit. ``needed`` and ``available`` count tokens."""

    def __init__(self, *, needed: int, available: int, what: str) -> None:
        self.needed = needed
        self.available = available
        super().__init__(
            f"{needed:,} tokens are needed and {what} holds {available:,}; shorten the text, ask for fewer tokens, "
            "or use a model with a longer context"
        )


class UnsupportedOutputType(ConstrainedError, TypeError):
    """What was passed as the output type is none; the message names what is accepted."""


class ValidationFailed(ConstrainedError):
    """The model wrote what the grammar allows, and yet the type's own validation refused it, as often as it was tried.

    ``text`` is the last text, ``problems`` say what is wrong with it (one line each), ``attempts`` counts the texts.
    """

    def __init__(self, *, text: str, problems: Sequence[str], attempts: int, remedy: str) -> None:
        self.text = text
        self.problems = tuple(problems)
        self.attempts = attempts
        times = "once" if attempts == 1 else f"{attempts} times"
        listed = "".join(f"\n  {problem}" for problem in self.problems)
        super().__init__(
            f"the output was drawn {times} and its validation failed:{listed}\nthe last text: {text}\n{remedy}"
        )


class FieldsError(ConstrainedError, ValueError):
    """A text in the field language is malformed; ``position`` is an index into ``text``."""

    def __init__(self, message: str, text: str, position: int) -> None:
        from grammars.errors import excerpt

        self.text = text
        self.position = position
        super().__init__(f"{message} at position {position}\n{excerpt(text, position)}")


class LogitsError(ConstrainedError):
    """Logits that no token can be drawn from.

    ``source`` is the step that made them, ``position`` the index of the token within its output, ``row`` that in the
    batch.
    """

    def __init__(self, *, source: str, position: int, row: int, what: str) -> None:
        self.source = source
        self.position = position
        self.row = row
        super().__init__(
            f"{source}: {what}, at output position {position} of row {row}; expected finite logits (or -inf for some): "
            "check the weights and their dtype, and the processors that you added"
        )


class NoTokenAllowed(ConstrainedError):
    """The grammar allows no token here, not even an end: the text so far cannot be completed with this vocabulary."""

    def __init__(self, *, position: int, row: int) -> None:
        self.position = position
        self.row = row
        super().__init__(
            f"no token of the vocabulary is allowed at output position {position} of row {row}; "
            "the grammar cannot be completed with this tokenizer from here"
        )


class DeadEnd(NoTokenAllowed):
    """A text turned out to have no way on, and going back did not help.

    ``questions`` are those that guards denied there, ``text`` is the end of what was kept.
    """

    def __init__(self, *, position: int, row: int, questions: Sequence[str], why: str, text: str) -> None:
        self.questions = tuple(questions)
        self.text = text
        super().__init__(position=position, row=row)
        denied = f"what was denied there: {'; '.join(self.questions)}. " if self.questions else ""
        self.args = (
            f"the text has no way on at output position {position} of row {row}, and going back did not help: {why}. "
            f"{denied}What was kept ends with {text!r}. The grammar may allow hardly anything there: loosen it, say in "
            "the prompt what it asks for, or draw with another seed and a temperature above 0",
        )


class WatermarkKeyError(ConstrainedError, ValueError):
    """There is no key where one was named, or what is there is none; the message never shows it."""


class WatermarkError(ConstrainedError, ValueError):
    """A detector was asked for what it cannot answer; the message says what it needs."""


class BudgetTooSmall(ConstrainedError, ValueError):
    """Under ``on_budget="close"``: no complete output is known that fits the budget.

    ``shortest`` is how many tokens are enough (``None`` where that is not known), ``budget`` how many there are.
    """

    def __init__(self, *, shortest: int | None, budget: int, asked: int) -> None:
        self.shortest = shortest
        self.budget = budget
        what = f"max_tokens={asked:,}" if budget == asked else f"the {budget:,} tokens that the model's context leaves"
        if shortest is None:
            super().__init__(
                f"on_budget: how few tokens complete an output is not known, since this vocabulary has no token for "
                f"some single bytes, so {what} cannot be kept to; pass on_budget='cut'"
            )
            return
        remedy = "raise max_tokens" if budget == asked else "shorten the prompt"
        super().__init__(
            f"on_budget: the shortest complete output that is known needs {shortest:,} tokens, more than {what}; "
            f"{remedy}, or pass on_budget='cut'"
        )


class NoSample(ConstrainedError):
    """Exact sampling found no text of the grammar: the model would hardly write one.

    ``tries`` counts the texts begun, ``log_mass`` is the log of an upper bound of the probability of them all.
    """

    def __init__(self, *, method: str, tries: int, log_mass: float) -> None:
        self.tries = tries
        self.log_mass = log_mass
        bound = "" if log_mass == float("-inf") else f"; all such texts together have at most e**{log_mass:.1f}"
        super().__init__(
            f"sampling={method!r}: none of {tries} texts that the model began became one of the grammar{bound}. Say in "
            "the prompt what is wanted and how it is laid out, raise max_tokens, max_draws or particles, or use "
            "sampling='local'"
        )


class DoesNotFit(ConstrainedError):
    """A plan asks for more memory, or a longer context, than there is."""

    def __init__(self, *, what: str, needed: str, available: str, remedy: str) -> None:
        super().__init__(f"{what} need {needed}, and there is {available}; {remedy}")


class RecordRefused(ConstrainedError, ValueError):
    """A file is no run record, or not whole, or what it tells of cannot be run here; the message says why."""
