"""Which tokens end a generation, and which names mark a token as control."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping

__all__ = ["END_TOKEN_NAMES", "end_token_ids", "is_control_name"]

END_TOKEN_NAMES = (
    "</s>",
    "<eos>",
    "<|endoftext|>",
    "<|end_of_text|>",
    "<|im_end|>",
    "<|eot_id|>",
    "<|eom_id|>",
    "<|eot|>",
    "<|eom|>",
    "<|end|>",
    "<|return|>",
    "<|call|>",
    "<end_of_turn>",
    "<|end_of_turn|>",
    "<|END_OF_TURN_TOKEN|>",
    "<｜end▁of▁sentence｜>",
)
"""Special tokens by which model families end a text, a message or a turn."""

_CONTROL_NAME = re.compile(
    r"<[|｜].*[|｜]>"
    r"|[<\[](?:unused|reserved|control|special|placeholder|dummy|extra)(?:[_-]?(?:special|token|id))*[_-]?\d*[>\]]",
    re.IGNORECASE | re.DOTALL,
)


def is_control_name(text: str) -> bool:
    """Whether an added token is control or reserved by its name: fenced by bars, or called unused, reserved or so.

    Only for entries of ``added_tokens`` that are not flagged special. Masking one of these never narrows what can be
    written, since the ordinary pieces spell the same text.

    >>> is_control_name("<|fim_prefix|>"), is_control_name("<unused12>"), is_control_name("<tool_call>")
    (True, True, False)
    """
    return _CONTROL_NAME.fullmatch(text) is not None


def end_token_ids(
    ids_by_name: Mapping[str, int], special_ids: Collection[int], named: Iterable[int]
) -> tuple[int, ...]:
    """Ids that end a generation: those in ``named`` first, then the special tokens among :data:`END_TOKEN_NAMES`.

    >>> end_token_ids({"<s>": 1, "</s>": 2, "<|im_end|>": 7}, {1, 2, 7}, [7])
    (7, 2)
    """
    known = (ids_by_name[name] for name in END_TOKEN_NAMES if name in ids_by_name)
    return tuple(dict.fromkeys([*named, *(token_id for token_id in known if token_id in special_ids)]))
