"""Reading a tiktoken rank file, such as the ``tokenizer.model`` of Llama 3: lines of base64 bytes and an id."""

from __future__ import annotations

import binascii
from collections.abc import Mapping

from grammars.errors import VocabularyError

__all__ = ["LLAMA3_RANKS", "llama3_special_tokens", "read_tiktoken"]

LLAMA3_RANKS = 128_000
"""How many ordinary tokens Llama 3 has; its special tokens follow."""

_LLAMA3_NAMED = (
    "begin_of_text",
    "end_of_text",
    "reserved_special_token_0",
    "reserved_special_token_1",
    "finetune_right_pad_id",
    "step_id",
    "start_header_id",
    "end_header_id",
    "eom_id",
    "eot_id",
    "python_tag",
    "image",
)


def llama3_special_tokens() -> dict[str, int]:
    """The 256 special tokens of Llama 3, ids 128,000 to 128,255.

    >>> llama3_special_tokens()["<|eot_id|>"], len(llama3_special_tokens())
    (128009, 256)
    """
    reserved = (f"reserved_special_token_{index}" for index in range(2, 2 + 256 - len(_LLAMA3_NAMED)))
    return {f"<|{name}|>": LLAMA3_RANKS + index for index, name in enumerate((*_LLAMA3_NAMED, *reserved))}


def read_tiktoken(
    data: bytes, special_tokens: Mapping[str, int] | None
) -> tuple[list[bytes | None], Mapping[str, int]]:
    """The tokens by id, special ones without text, and the special tokens' ids by name.

    ``special_tokens=None``: those of Llama 3, if the file has its 128,000 ranks. Raises
    :class:`~grammars.errors.VocabularyError` for lines of another form, doubled ids, and when no special tokens are
    known.
    """
    fields = data.split()
    try:
        ranks = list(map(int, fields[1::2]))
        pieces = list(map(binascii.a2b_base64, fields[0::2]))
    except ValueError as error:  # binascii.Error is one
        raise VocabularyError(f"tiktoken file: expected lines of base64 and a rank, got a fault: {error}") from error
    if not ranks or len(ranks) != len(pieces) or len(set(ranks)) != len(ranks) or min(ranks) < 0:
        raise VocabularyError(
            f"tiktoken file: expected lines of base64 and a rank, each rank once, got {len(pieces):,} pieces and "
            f"{len(set(ranks)):,} ranks"
        )
    if special_tokens is None:
        if len(ranks) != LLAMA3_RANKS or max(ranks) != LLAMA3_RANKS - 1:
            raise VocabularyError(
                f"tiktoken file: expected Llama 3's {LLAMA3_RANKS:,} ranks, got {len(ranks):,}; "
                "pass special_tokens={name: id}"
            )
        special_tokens = llama3_special_tokens()
    taken = set(special_tokens.values()) & set(ranks)
    if taken or min(special_tokens.values(), default=0) < 0:
        raise VocabularyError(f"special_tokens: expected ids that no rank of the file has, got {sorted(taken)[:5]}")
    size = 1 + max(*ranks, *special_tokens.values())
    if size > 16 * (len(ranks) + len(special_tokens)) + 65_536:
        raise VocabularyError(f"tiktoken file: expected ids close to 0 to {len(ranks):,}, got {size - 1:,}")
    tokens: list[bytes | None] = [None] * size
    for rank, piece in zip(ranks, pieces, strict=True):
        tokens[rank] = piece
    return tokens, special_tokens
