"""The tokens of a vocabulary as grammars see them that have special tokens, or limits on tokens.

Special tokens are spelled in bytes that no text has (:mod:`grammars.ir.private`), and tokens with such bytes of their
own, which text never needs, are left out. Other grammars never see these tables.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from hashlib import sha256
from typing import NamedTuple

from ..ir.nodes import Int32Array
from ..ir.private import PRIVATE_BYTES, spelling_of
from .table_cache import tables_of

__all__ = ["Private", "make_private_tokens"]

_HAS_PRIVATE = re.compile(b"[%s]" % PRIVATE_BYTES).search


class Private(NamedTuple):
    """Tokens by id, the special ones spelled, and their tables."""

    tokens: tuple[bytes | None, ...]
    tables: Int32Array


def make_private_tokens(
    tokens: Sequence[bytes | None], eos_token_ids: Sequence[int], special_ids: frozenset[int], *, digest: str
) -> Private:
    """Of the tokens that ``digest`` names. A special token that has a text as well is read by its spelling alone.

    >>> make_private_tokens([b"a", b"\\xff", None], [], frozenset([2]), digest="").tokens
    (b'a', None, b'\\xff2\\xff')
    """
    listed = [None if token is None or _HAS_PRIVATE(token) else token for token in tokens]
    for token_id in special_ids:
        listed[token_id] = spelling_of(token_id)
    name = sha256(repr((digest, sorted(special_ids))).encode()).hexdigest()
    return Private(tuple(listed), tables_of(listed, eos_token_ids, name))
