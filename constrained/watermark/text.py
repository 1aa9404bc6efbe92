"""From a text to the token ids that a detector follows, as far as they can be told from the text."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol, Self

from grammars.vocabulary import Vocabulary

from ..errors import WatermarkError

__all__ = ["TextReader", "laid_out"]

_PIECE = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[][{},:]|[^][{},:"\s]+')


class _Encoder(Protocol):
    def __call__(self, text: str) -> list[int]: ...


@dataclass(frozen=True, slots=True)
class TextReader:
    """A vocabulary, and what cuts text into its ids."""

    vocabulary: Vocabulary
    encode: _Encoder | None

    @classmethod
    def from_any(cls, tokenizer: Any) -> Self:
        """From a vocabulary, a ``tokenizers.Tokenizer``, the path of a ``tokenizer.json``, or a tokenizer of ours."""
        if isinstance(tokenizer, TextReader):
            return cls(tokenizer.vocabulary, tokenizer.encode)
        if isinstance(tokenizer, Vocabulary):
            return cls(tokenizer, None)
        if isinstance(tokenizer, str | Path):
            return cls(*_from_file(str(tokenizer)))
        if hasattr(tokenizer, "tokenize") and hasattr(tokenizer, "vocabulary"):
            return cls(tokenizer.vocabulary(tokenizer.size), tokenizer.tokenize)
        if hasattr(tokenizer, "encode") and hasattr(tokenizer, "to_str"):
            return cls(
                Vocabulary.from_tokenizer(tokenizer),
                lambda text: list(tokenizer.encode(text, add_special_tokens=False).ids),
            )
        raise WatermarkError(
            "tokenizer: expected a grammars.Vocabulary, a tokenizers.Tokenizer, the path of a tokenizer.json, or a "
            f"model's tokenizer, got {type(tokenizer).__name__}"
        )

    def ids(self, text: str | Sequence[int], *, whitespace: str | None) -> list[int]:
        """The ids of a text; token ids stay as they are. ``whitespace``: of JSON, the style to lay it out in."""
        if not isinstance(text, str):
            return [int(token_id) for token_id in text]
        if self.encode is None:
            raise WatermarkError("tokenizer: expected one that cuts text into tokens, got a vocabulary; pass token ids")
        return self.encode(text if whitespace is None else laid_out(text, whitespace))


@lru_cache(maxsize=4)
def _from_file(path: str) -> tuple[Vocabulary, _Encoder]:
    import tokenizers

    try:
        tokenizer = tokenizers.Tokenizer.from_file(path)
    except Exception as error:  # the library raises bare Exception
        raise WatermarkError(f"tokenizer: {path!r} is no tokenizer.json that can be read: {error}") from error
    encode: _Encoder = lambda text: list(tokenizer.encode(text, add_special_tokens=False).ids)  # noqa: E731
    return Vocabulary.from_tokenizer_json(path), encode


def laid_out(text: str, whitespace: str) -> str:
    """JSON in a style of white space (``"indent=2"``, ``"spaced"``, ``"compact"``), every string and number as it is.

    Text that is no JSON, and styles that leave the choice to the model, stay as they are.

    >>> laid_out('{"a":[1.50,{}],"b":"x"}', "spaced")
    '{"a": [1.50, {}], "b": "x"}'
    >>> laid_out('[1,2]', "indent=1")
    '[\\n 1,\\n 2\\n]'
    """
    indent = int(whitespace.removeprefix("indent=")) if whitespace.startswith("indent=") else None
    if indent is None and whitespace not in ("spaced", "compact"):
        return text
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return text
    pieces = _PIECE.findall(text)
    written: list[str] = []
    depth = 0
    for place, piece in enumerate(pieces):
        before = pieces[place - 1] if place else ""
        if piece in "}]" and piece:
            depth -= 1
            if indent is not None and before not in ("{", "["):
                written.append("\n" + " " * (indent * depth))
        elif before in ("{", "[") and before and indent is not None:
            written.append("\n" + " " * (indent * depth))
        elif before == ",":
            written.append(
                "\n" + " " * (indent * depth) if indent is not None else " " if whitespace == "spaced" else ""
            )
        elif before == ":" and whitespace != "compact":
            written.append(" ")
        written.append(piece)
        if piece in ("{", "["):
            depth += 1
    return "".join(written)
