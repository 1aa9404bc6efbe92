"""The arguments of the API, checked before any work: what was expected, what came, in which argument, what to do."""

from __future__ import annotations

import operator
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast, get_args

from .result import BudgetPolicy, ForcedMode
from .sampling_config import SamplingConfig

if TYPE_CHECKING:
    from .processors import LogitsProcessor

__all__ = [
    "budget_policy",
    "check_chat",
    "check_messages",
    "check_source",
    "check_text",
    "check_whitespace",
    "file_to_write",
    "forced_mode",
    "optional_count",
    "processors_of",
    "sampling_of",
    "seconds",
    "shown",
    "stop_texts",
]


_NOT_GIVEN = object()


def shown(value: object) -> str:
    """A value for an error message: its type, and the value itself where that is short and can be shown."""
    name = type(value).__name__
    if value is None or not isinstance(value, bool | int | float | str | bytes):
        return "None" if value is None else name
    text = repr(value)
    return f"{name} {text}" if len(text) <= 60 else f"{name} {text[:59]}…"


def check_text(value: object, argument: str, *, remedy: str = "") -> None:
    """Raise TypeError unless it is a str, ValueError where it holds half of a surrogate pair."""
    if not isinstance(value, str):
        if isinstance(value, bytes):
            remedy = "decode it first"
        elif isinstance(value, os.PathLike):
            remedy = "read the file and pass its text"
        raise TypeError(f"{argument}: expected a str, got {shown(value)}" + (f"; {remedy}" if remedy else ""))
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise ValueError(
            f"{argument}: half of a surrogate pair at index {error.start}, which no text can hold; "
            'read the text anew, or replace it: text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")'
        ) from None


def check_messages(prompt: object) -> None:
    """Raise unless ``prompt`` is turns with ``role`` and ``content``, both text."""
    if isinstance(prompt, Mapping):
        raise TypeError("prompt: expected a str or a list of messages, got one message; put it in a list")
    if not isinstance(prompt, Sequence) or isinstance(prompt, bytes | bytearray):
        remedy = "; decode it first" if isinstance(prompt, bytes | bytearray) else ""
        raise TypeError(f"prompt: expected a str or a list of messages, got {shown(prompt)}{remedy}")
    if not prompt:
        raise ValueError("prompt: expected at least one message, got an empty list")
    for index, message in enumerate(prompt):
        if not isinstance(message, Mapping):
            raise TypeError(
                f"prompt[{index}]: expected a message (a mapping with 'role' and 'content') in the list of messages, "
                f"got {shown(message)}"
            )
        for key in ("role", "content"):
            if key not in message:
                raise ValueError(
                    f"prompt[{index}]: expected a message with 'role' and 'content', got the keys "
                    f"{', '.join(map(repr, message)) or 'none'}"
                )
            check_text(message[key], f"prompt[{index}][{key!r}]", remedy="models here read text only")


def check_whitespace(whitespace: object) -> None:
    """Raise TypeError unless it is a str, :class:`grammars.errors.GrammarError` for no style of white space."""
    from grammars.frontends.json_schema import Layout

    if not isinstance(whitespace, str):
        raise TypeError(f"whitespace: expected a str such as 'indent=2' or 'compact', got {shown(whitespace)}")
    Layout.from_text(whitespace)


def check_chat(chat: object) -> None:
    """Raise TypeError unless it is True, False or None."""
    if chat is not None and not isinstance(chat, bool):
        raise TypeError(f"chat: expected True, False, or None (as the model has it), got {shown(chat)}")


def check_source(source: object, progress: object) -> None:
    """Raise for what names no model, and for a ``progress`` that cannot be called."""
    if source is not None and not isinstance(source, str | Path):
        raise TypeError(
            f"source: expected a folder, a file or a hub id (str or Path), or None for the default, got {shown(source)}"
        )
    if source is not None and not str(source).strip():
        raise ValueError("source: expected the name of a model, got an empty text; pass None for the default model")
    if progress is not None and not callable(progress):
        raise TypeError(f"progress: expected a function that takes a line of text, or None, got {shown(progress)}")


def optional_count(value: object, argument: str, *, least: int, most: int | None = None) -> int | None:
    """A whole number, or ``None``. Raises TypeError for what is neither, ValueError out of range."""
    if value is None:
        return None
    try:
        if isinstance(value, bool):
            raise TypeError
        number = operator.index(value)  # type: ignore[arg-type]  # numpy's integers too; it is asked whether it is one
    except TypeError:
        remedy = f"; write {int(value)}" if isinstance(value, float) and value.is_integer() else ""
        raise TypeError(f"{argument}: expected a whole number, got {shown(value)}{remedy}") from None
    if number < least:
        raise ValueError(f"{argument}: expected at least {least}, got {number}")
    if most is not None and number > most:
        raise ValueError(f"{argument}: expected at most {most:,}, got {number:,}")
    return number


def stop_texts(stop: object) -> tuple[str, ...]:
    """One text or several, none of them empty."""
    if isinstance(stop, str):
        stop = (stop,)
    if not isinstance(stop, Sequence | set | frozenset) or isinstance(stop, bytes | bytearray):
        raise TypeError(f"stop: expected a text or a sequence of texts, got {shown(stop)}; () switches it off")
    texts = tuple(stop)
    for text in texts:
        check_text(text, "stop")
        if not text:
            raise ValueError(
                "stop: expected texts of at least one character, got an empty one; it would end everything"
            )
    return texts


def file_to_write(path: Any, argument: str) -> Path | None:
    """A file that may be written, in a folder that is there; ``None`` as it is."""
    if path is None:
        return None
    if not isinstance(path, str | os.PathLike) or not str(path):
        raise TypeError(f"{argument}: expected the path of a file, got {shown(path)}")
    file = Path(path)
    if file.is_dir() or not file.parent.is_dir():
        what = "a folder" if file.is_dir() else "a file in a folder that is not there"
        raise ValueError(f"{argument}: expected the path of a file, got that of {what}: {str(path)!r}")
    return file


def processors_of(processors: object) -> tuple[LogitsProcessor, ...]:
    """Several processors, each of which can be called."""
    if not isinstance(processors, Sequence) or isinstance(processors, str | bytes):
        remedy = "; put it in a list" if callable(processors) else ""
        raise TypeError(f"processors: expected a sequence of processors, got {shown(processors)}{remedy}")
    for index, processor in enumerate(processors):
        if isinstance(processor, type) or not callable(processor):
            remedy = "; make an instance of it" if isinstance(processor, type) else ""
            name = processor.__name__ if isinstance(processor, type) else shown(processor)
            raise TypeError(f"processors[{index}]: expected to be called with (context, logits), got {name}{remedy}")
    return tuple(processors)


def forced_mode(forced: Any) -> ForcedMode:
    """One of the ways to write forced text."""
    if not isinstance(forced, str) or forced not in get_args(ForcedMode):
        raise ValueError(f"forced: expected one of {', '.join(map(repr, get_args(ForcedMode)))}, got {shown(forced)}")
    return cast(ForcedMode, forced)


def budget_policy(on_budget: Any) -> BudgetPolicy:
    """One of the ways to come to the end of a budget."""
    if not isinstance(on_budget, str) or on_budget not in get_args(BudgetPolicy):
        expected = " or ".join(map(repr, get_args(BudgetPolicy)))
        raise ValueError(f"on_budget: expected {expected}, got {shown(on_budget)}")
    return cast(BudgetPolicy, on_budget)


def seconds(value: Any, argument: str) -> float | None:
    """A time above 0, or ``None``. Raises TypeError for what is neither, ValueError out of range."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{argument}: expected a number of seconds, got {shown(value)}")
    if not 0 < value < float("inf"):
        raise ValueError(f"{argument}: expected seconds above 0, got {value}; None for no limit")
    return float(value)


def sampling_of(option: Callable[[str, Any], Any]) -> SamplingConfig:
    """The settings of the draw, by ``option(name, default)``. Raises ``pydantic.ValidationError``, a ValueError."""
    given = {name: option(name, _NOT_GIVEN) for name in SamplingConfig.model_fields}
    return SamplingConfig(**{name: value for name, value in given.items() if value is not _NOT_GIVEN})
