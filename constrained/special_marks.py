"""The text of a result with its special tokens marked, for output types whose value hangs on where they stand."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from .output_types.base import mark_of

if TYPE_CHECKING:
    from grammars import Vocabulary

    from .result import GenerationResult

__all__ = ["marked_text"]


def marked_text(vocabulary: Vocabulary, result: GenerationResult, tokens: Iterable[str | int]) -> str:
    """The text of ``result``, with the mark of each of ``tokens`` where it was written."""
    marks = {vocabulary.special_id(token): mark_of(token) for token in tokens}
    pieces: list[str] = []
    data = b""
    for token_id in result.token_ids:
        if token_id in marks:
            pieces += [data.decode("utf-8", "replace"), marks[token_id]]
            data = b""
        else:
            data += vocabulary.tokens[token_id] or b""
    text = "".join([*pieces, data.decode("utf-8", "replace")])
    shown = {marks[token_id]: vocabulary.tokens[token_id] or b"" for token_id in marks}
    widths = {mark: len(data.decode("utf-8", "replace")) for mark, data in shown.items()}
    return _cut(text, len(result.text), widths)


def _cut(text: str, length: int, widths: dict[str, int]) -> str:
    """The text up to ``length`` characters, a mark counted by its width: where a stop text came, there are more."""
    place = count = 0
    while place < len(text):
        mark = next((mark for mark in widths if text.startswith(mark, place)), None)
        if mark is None and count >= length:
            break
        count += 1 if mark is None else widths[mark]
        place += 1 if mark is None else len(mark)
    return text[:place]
