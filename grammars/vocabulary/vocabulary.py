"""The tokens of a model as bytes: the one view of a tokenizer that masks are made from.

>>> vocabulary = Vocabulary.from_bytes([b"a", b"ab", b"\\xf0\\x9f", None], eos_token_ids=[3])
>>> vocabulary.size, vocabulary.token_bytes(1), vocabulary.eos_token_ids
(4, b'ab', (3,))
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from grammars.errors import VocabularyError

from ..ir.nodes import Int32Array
from .end_tokens import end_token_ids
from .private import Private, make_private_tokens
from .table_cache import tables_of
from .tiktoken import read_tiktoken
from .tokenizer_json import SpecialTokens, TokenizerTokens, read_special_tokens, read_tokenizer_json

__all__ = ["Vocabulary"]

MOST_PRIVATE = 8
"""Sets of special tokens whose tables are kept."""


@dataclass(frozen=True, eq=False, repr=False)
class Vocabulary:
    """What each token id writes, frozen; made by one of the ``from_...`` constructors.

    ``tokens[id]`` is the bytes of a token, or ``None`` where an id has no text of its own: special, control, unused and
    unknown tokens, ids that end a generation, and ids beyond the tokenizer's own (logits may be wider than that).
    A token may be empty, several ids may have the same bytes, and bytes need not be whole UTF-8 characters.
    ``eos_token_ids`` are all ids that end a generation, the tokenizer's own first. ``special_tokens`` are the ids of
    special and added tokens by name: those that a grammar may ask for by :meth:`grammars.ir.builder.Builder.special`.

    What counts as control: tokens flagged special, names and ids that the configuration calls special, the unknown
    token, and those added tokens (never learnt pieces) whose name says so: ``<|...|>``, ``<unused3>``, ``[control_1]``.
    A tokenizer's JSON does not keep SentencePiece's types CONTROL and UNUSED of learnt pieces: where they are known
    from elsewhere (a GGUF file's token types), pass them as ``blocked``.
    """

    tokens: tuple[bytes | None, ...]
    eos_token_ids: tuple[int, ...]
    special_tokens: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for token_id in self.special_tokens.values():
            self._check_id(token_id, "special_tokens")
        for token_id in self.eos_token_ids:
            self._check_id(token_id, "eos_token_ids")
            if self.tokens[token_id] is not None:
                raise VocabularyError(
                    f"token {token_id} ends a generation, so expected no text for it, got {self.tokens[token_id]!r}; "
                    "use Vocabulary.from_bytes, which takes it out"
                )
        if len(set(self.eos_token_ids)) != len(self.eos_token_ids):
            raise VocabularyError(f"eos_token_ids: expected each id once, got {self.eos_token_ids}")

    # -- constructors -----------------------------------------------------------------------------------------------

    @classmethod
    def from_bytes(
        cls,
        tokens: Iterable[bytes | None],
        *,
        eos_token_ids: Iterable[int],
        size: int | None = None,
        special_tokens: Mapping[str, int] | None = None,
    ) -> Self:
        """From the bytes of each id, in order; ``None`` for an id without text.

        ``size``: the width of the logits, if wider. Ids in ``eos_token_ids`` lose their text. ``special_tokens``: ids
        by name, for grammars that ask for them. Raises :class:`~grammars.errors.VocabularyError` when ``size`` is too
        small or an id lies outside.
        """
        listed = list(tokens)
        for token_id, token in enumerate(listed):
            if token is not None and not isinstance(token, bytes):
                raise VocabularyError(f"token {token_id}: expected bytes or None, got {token!r}")
        if size is not None and size < len(listed):
            raise VocabularyError(
                f"size: expected at least {len(listed):,}, as many as there are tokens, got {size:,}; "
                "pass the width of the logits"
            )
        listed.extend([None] * ((size or 0) - len(listed)))
        ends = tuple(dict.fromkeys(int(token_id) for token_id in eos_token_ids))
        for token_id in ends:
            if 0 <= token_id < len(listed):
                listed[token_id] = None
        return cls(tuple(listed), ends, dict(special_tokens or {}))

    @classmethod
    def from_tokenizer(
        cls,
        tokenizer: Any,
        *,
        size: int | None = None,
        eos_token_ids: Iterable[int] | None = None,
        blocked: Iterable[int] = (),
    ) -> Self:
        """From a ``transformers`` fast tokenizer or a ``tokenizers.Tokenizer``.

        ``size``: the width of the model's logits (default: the highest id + 1). ``eos_token_ids`` replaces what the
        tokenizer names (its end token and the well-known special tokens such as ``<|im_end|>``): pass the model's
        ``generation_config.eos_token_id`` where there is one. ``blocked``: further ids that never match.

        Raises :class:`~grammars.errors.VocabularyError` for a tokenizer that does not describe itself as JSON, a
        decoder that is not supported, and when no end token is known.
        """
        backend = getattr(tokenizer, "backend_tokenizer", tokenizer)
        if not callable(getattr(backend, "to_str", None)):
            raise VocabularyError(
                "expected a fast tokenizer (transformers' PreTrainedTokenizerFast or tokenizers.Tokenizer), "
                f"got {type(tokenizer).__name__}; use Vocabulary.from_tiktoken or Vocabulary.from_bytes"
            )
        own_end = getattr(tokenizer, "eos_token_id", None)
        special = SpecialTokens(
            ids=frozenset(getattr(tokenizer, "all_special_ids", ())),
            end_ids=() if own_end is None else tuple(own_end) if isinstance(own_end, Sequence) else (own_end,),
        )
        read = read_tokenizer_json(backend.to_str(), special=special)
        return cls._from_read(read, special, size=size, eos_token_ids=eos_token_ids, blocked=blocked)

    @classmethod
    def from_tokenizer_json(
        cls,
        path: str | Path,
        *,
        size: int | None = None,
        eos_token_ids: Iterable[int] | None = None,
        blocked: Iterable[int] = (),
    ) -> Self:
        """From a ``tokenizer.json``; configuration files beside it name further special and end tokens.

        Beside it are read, where they exist, ``tokenizer_config.json``, ``generation_config.json`` and ``config.json``.
        Arguments and errors are those of :meth:`from_tokenizer`; ``OSError`` when the file cannot be read.
        """
        path = Path(path)
        special = read_special_tokens(path.parent)
        read = read_tokenizer_json(path.read_bytes(), special=special)
        return cls._from_read(read, special, size=size, eos_token_ids=eos_token_ids, blocked=blocked)

    @classmethod
    def from_tiktoken(
        cls,
        path: str | Path,
        *,
        special_tokens: Mapping[str, int] | None = None,
        eos_token_ids: Iterable[int] | None = None,
        size: int | None = None,
    ) -> Self:
        """From a tiktoken rank file, such as the ``tokenizer.model`` of Llama 3 (then ``size`` is 128,256).

        ``special_tokens``: id of each special token by name; default: Llama 3's 256, for a file of its 128,000 ranks.
        ``eos_token_ids``: default the well-known end tokens among these. Raises
        :class:`~grammars.errors.VocabularyError` for a file of another form; ``OSError`` when it cannot be read.
        """
        tokens, names = read_tiktoken(Path(path).read_bytes(), special_tokens)
        read = TokenizerTokens(tokens, names, frozenset(names.values()), frozenset(names.values()))
        return cls._from_read(read, SpecialTokens(), size=size, eos_token_ids=eos_token_ids, blocked=())

    @classmethod
    def _from_read(
        cls,
        read: TokenizerTokens,
        special: SpecialTokens,
        *,
        size: int | None,
        eos_token_ids: Iterable[int] | None,
        blocked: Iterable[int],
    ) -> Self:
        if eos_token_ids is None:
            names = (read.ids_by_name[name] for name in special.end_names if name in read.ids_by_name)
            within = (token_id for token_id in special.end_ids if token_id < (size or len(read.tokens)))
            eos_token_ids = end_token_ids(read.ids_by_name, read.special_ids, [*names, *within])
            if not eos_token_ids:
                raise VocabularyError("the tokenizer names no token that ends a generation; pass eos_token_ids=[...]")
        tokens = read.tokens
        for token_id in blocked:
            if not 0 <= token_id < len(tokens):
                raise VocabularyError(f"blocked: expected ids from 0 to {len(tokens) - 1:,}, got {token_id}")
            tokens[token_id] = None
        named = read.special_ids | read.added_ids
        names_of_special = {name: token_id for name, token_id in read.ids_by_name.items() if token_id in named}
        return cls.from_bytes(tokens, eos_token_ids=eos_token_ids, size=size, special_tokens=names_of_special)

    # -- what it tells ----------------------------------------------------------------------------------------------

    @property
    def size(self) -> int:
        """How many ids there are: the width of the logits and of a token bitmask."""
        return len(self.tokens)

    def token_bytes(self, token_id: int) -> bytes | None:
        """What a token writes, ``None`` if it has no text; an id outside raises ``VocabularyError``."""
        self._check_id(token_id, "token_id")
        return self.tokens[token_id]

    @cached_property
    def digest(self) -> str:
        """Names the vocabulary by its contents (64 hexadecimal digits).

        Equal exactly for equal tokens, end ids, and names of special tokens.
        """
        lengths = np.array([-1 if token is None else len(token) for token in self.tokens], "<i8")
        content = hashlib.sha256(b"grammars.Vocabulary 1\n")
        content.update(np.array([self.size, len(self.eos_token_ids), *sorted(self.eos_token_ids)], "<i8").tobytes())
        content.update(lengths.tobytes())
        content.update(b"".join(filter(None, self.tokens)))
        if self.special_tokens:
            content.update(repr(sorted(self.special_tokens.items())).encode("utf-8", "surrogatepass"))
        return content.hexdigest()

    @cached_property
    def single_bytes(self) -> npt.NDArray[np.bool_]:
        """(256,) which bytes are tokens by themselves; with all of them any text at all can be written."""
        found = np.zeros(256, np.bool_)
        found[[token[0] for token in self.tokens if token is not None and len(token) == 1]] = True
        return found

    @cached_property
    def tables(self) -> Int32Array:
        """All that kernels need (tries, slices, bytes) as one array, computed at first use; large ones kept on disk."""
        return tables_of(self.tokens, self.eos_token_ids, self.digest)

    def special_id(self, token: str | int) -> int:
        """The id of a special token, by its name or id itself.

        Raises :class:`~grammars.errors.VocabularyError` for a name that is not known, with those that are like it, and
        for an id outside.
        """
        if isinstance(token, int):
            self._check_id(token, "a special token")
            return token
        found = self.special_tokens.get(token)
        if found is None:
            raise VocabularyError(f"the vocabulary has no special token {token!r}; {self._names_like(token)}")
        return found

    def _names_like(self, name: str) -> str:
        if not self.special_tokens:
            return "it names none at all: pass the id, or special_tokens={name: id} to Vocabulary.from_bytes"
        close = get_close_matches(name, self.special_tokens, n=4, cutoff=0.5)
        if close:
            return f"there is {' and '.join(map(repr, close))}"
        some = sorted(self.special_tokens)
        return f"expected one of {', '.join(map(repr, some[:8]))}{' ...' if len(some) > 8 else ''}"

    def private(self, special_ids: Iterable[int]) -> Private:
        """What matching needs for grammars with special tokens, namely these, or with limits on tokens."""
        ids = frozenset(special_ids)
        known: dict[frozenset[int], Private] = self._private
        found = known.get(ids)
        if found is None:
            found = make_private_tokens(self.tokens, self.eos_token_ids, ids, digest=self.digest)
            while len(known) >= MOST_PRIVATE:
                known.pop(next(iter(known)), None)
            known[ids] = found
        return found

    @cached_property
    def _private(self) -> dict[frozenset[int], Private]:
        return {}

    def _check_id(self, token_id: int, what: str) -> None:
        if not 0 <= token_id < len(self.tokens):
            raise VocabularyError(f"{what}: expected ids from 0 to {len(self.tokens) - 1:,}, got {token_id}")

    def __repr__(self) -> str:
        written = sum(token is not None for token in self.tokens)
        return f"Vocabulary(size={self.size}, with_text={written}, eos_token_ids={self.eos_token_ids})"
