"""Reading a fast tokenizer's own JSON description (``tokenizer.json``) into the bytes of each id.

The fields used are ``model`` (the pieces), ``decoder`` (what a piece means, see :mod:`.decoder`), ``added_tokens``,
and, for one rule below, ``normalizer``. When the file lies in a model's folder, the files beside it name the special
and end tokens: ``tokenizer_config.json``, ``generation_config.json`` and ``config.json``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from grammars.errors import VocabularyError

from .decoder import PieceDecoder
from .end_tokens import is_control_name

__all__ = ["SpecialTokens", "TokenizerTokens", "read_special_tokens", "read_tokenizer_json"]


@dataclass(frozen=True, slots=True)
class SpecialTokens:
    """What a model's configuration says of special tokens beyond ``tokenizer.json``: names, ids, and which end a text.

    ``added`` has the form of ``added_tokens`` in ``tokenizer.json``.
    """

    names: frozenset[str] = frozenset()
    ids: frozenset[int] = frozenset()
    end_names: tuple[str, ...] = ()
    end_ids: tuple[int, ...] = ()
    added: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class TokenizerTokens:
    """The tokens of a tokenizer: ``tokens[id]`` (``None``: no text), ids by name, and which are special or added."""

    tokens: list[bytes | None]
    ids_by_name: Mapping[str, int]
    special_ids: frozenset[int]
    added_ids: frozenset[int]


def read_tokenizer_json(text: str | bytes, *, special: SpecialTokens = SpecialTokens()) -> TokenizerTokens:
    """The tokens of a fast tokenizer, from the text of its JSON description.

    ``tokens`` is as long as the highest id + 1. An id has no text when nothing has it, when it is special (flagged so,
    or named by ``special``), the unknown token, or control by name (see :func:`~.end_tokens.is_control_name`).
    Raises :class:`~grammars.errors.VocabularyError` for what is not such a description, and for decoders that have no
    bytes for a piece alone.
    """
    document = _load(text, "tokenizer.json")
    model = document.get("model")
    if not isinstance(model, Mapping):
        raise VocabularyError(f"model: expected an object with the vocabulary, got {type(model).__name__}")
    decoder = PieceDecoder.from_description(document.get("decoder"))
    entries = _AddedTokens.from_entries([*_added_entries(document), *special.added])
    of_model = _model_pieces(model)
    ids_by_name = dict(of_model)
    pieces = _pieces(of_model, entries.contents)
    tokens: list[bytes | None] = list(decoder.decode(["" if piece is None else piece for piece in pieces]))
    special_ids = _special_ids(pieces, entries, special, model)
    without_text = {index for index, piece in enumerate(pieces) if piece is None} | special_ids | entries.control
    if decoder.is_byte_level:
        without_text |= _read_otherwise(entries, tokens, ids_by_name, _has_byte_level(document.get("normalizer")))
    for token_id in without_text:
        tokens[token_id] = None
    ids_by_name.update((content, token_id) for token_id, content in entries.contents.items())
    return TokenizerTokens(tokens, ids_by_name, special_ids, frozenset(entries.contents))


def _load(text: str | bytes, what: str) -> Mapping[str, Any]:
    try:
        document = json.loads(text)
    except RecursionError as error:
        raise VocabularyError(f"{what}: nested too deeply to be a tokenizer") from error
    except ValueError as error:
        raise VocabularyError(f"{what}: expected JSON, got a fault: {error}") from error
    if not isinstance(document, Mapping):
        raise VocabularyError(f"{what}: expected an object, got {type(document).__name__}")
    return document


# -- the model's own pieces -----------------------------------------------------------------------------------------


def _model_pieces(model: Mapping[str, Any]) -> list[tuple[str, int]]:
    """Pieces with their ids: from a map for BPE, WordLevel and WordPiece, a list of (piece, score) for Unigram."""
    vocabulary = model.get("vocab")
    if isinstance(vocabulary, Mapping):
        if not all(type(token_id) is int and token_id >= 0 for token_id in vocabulary.values()):
            raise VocabularyError("model.vocab: expected ids that are whole numbers from 0 on")
        return list(vocabulary.items())
    if isinstance(vocabulary, list):
        if not all(isinstance(entry, list) and entry and isinstance(entry[0], str) for entry in vocabulary):
            raise VocabularyError("model.vocab: expected a list of [piece, score]")
        return [(entry[0], token_id) for token_id, entry in enumerate(vocabulary)]
    raise VocabularyError(
        f"model.vocab: expected a map from piece to id or a list of [piece, score], got {type(vocabulary).__name__}"
    )


def _pieces(of_model: list[tuple[str, int]], added: Mapping[int, str]) -> list[str | None]:
    """The piece of each id, the added tokens' first; ``None`` where an id has none."""
    size = 1 + max(max((token_id for _, token_id in of_model), default=-1), max(added, default=-1))
    # A file cannot make us allocate far more than it holds.
    if size > 16 * (len(of_model) + len(added)) + 65_536:
        raise VocabularyError(f"model.vocab: expected ids close to 0 to {len(of_model):,}, got {size - 1:,}")
    pieces: list[str | None] = [None] * size
    for piece, token_id in of_model:
        pieces[token_id] = piece
    for token_id, content in added.items():
        pieces[token_id] = content
    return pieces


def _special_ids(
    pieces: list[str | None], entries: _AddedTokens, special: SpecialTokens, model: Mapping[str, Any]
) -> frozenset[int]:
    names = {*special.names, *special.end_names}
    if isinstance(model.get("unk_token"), str):
        names.add(model["unk_token"])
    ids = {*special.ids, *special.end_ids}
    if isinstance(model.get("unk_id"), int):
        ids.add(model["unk_id"])
    named = {index for index, piece in enumerate(pieces) if piece in names}
    return frozenset({token_id for token_id in ids if token_id < len(pieces)} | named | entries.special)


# -- added tokens ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _AddedTokens:
    contents: dict[int, str] = field(default_factory=dict)
    special: set[int] = field(default_factory=set)
    control: set[int] = field(default_factory=set)
    normalized: set[int] = field(default_factory=set)

    @classmethod
    def from_entries(cls, entries: Iterable[Mapping[str, Any]]) -> _AddedTokens:
        added = cls()
        for entry in entries:
            token_id, content = entry.get("id"), entry.get("content")
            if type(token_id) is not int or token_id < 0 or not isinstance(content, str):
                raise VocabularyError(f"added_tokens: expected an id and a content, got {dict(entry)!r:.200}")
            added.contents[token_id] = content
            if entry.get("special"):
                added.special.add(token_id)
            elif is_control_name(content):
                added.control.add(token_id)
            if entry.get("normalized"):
                added.normalized.add(token_id)
        return added


def _added_entries(document: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    entries = document.get("added_tokens") or []
    if not isinstance(entries, list) or not all(isinstance(entry, Mapping) for entry in entries):
        raise VocabularyError("added_tokens: expected a list of objects")
    return entries


def _has_byte_level(normalizer: object) -> bool:
    pending = [normalizer]
    while pending:
        part = pending.pop()
        if isinstance(part, Mapping):
            if part.get("type") == "ByteLevel":
                return True
            pending.extend(part.get("normalizers") or [])
    return False


def _read_otherwise(
    entries: _AddedTokens, tokens: list[bytes | None], ids_by_name: Mapping[str, int], normalizes: bool
) -> set[int]:
    """Added tokens of a byte-level tokenizer that are read as one text and written as another: they get no text.

    The tokenizer finds the plain text ``é`` and makes it one token, and ``ByteLevel`` then writes that token as the
    single byte E9. Neither reading can be trusted, and other tokens spell both. Where a ``ByteLevel`` normalizer has
    rewritten the added token beforehand, its text is right. A token that is also the model's own piece keeps the
    decoder's reading: it is how that byte is written.
    """
    doubtful: set[int] = set()
    for token_id, content in entries.contents.items():
        text = content.encode()
        if tokens[token_id] == text or ids_by_name.get(content) == token_id:
            continue
        if normalizes and token_id in entries.normalized:
            tokens[token_id] = text
        else:
            doubtful.add(token_id)
    return doubtful


# -- the files beside it --------------------------------------------------------------------------------------------

_NAMED = ("bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token")
_LISTED = ("additional_special_tokens", "extra_special_tokens")


def read_special_tokens(folder: Path) -> SpecialTokens:
    """What the configuration files in a model's folder say of special tokens; nothing where there are none."""
    config = _read_if_there(folder / "tokenizer_config.json")
    names = frozenset(name for key in (*_NAMED, *_LISTED) for name in _token_names(config.get(key)))
    added = config.get("added_tokens_decoder")
    entries = tuple(_config_entries(added)) if isinstance(added, Mapping) else ()
    end_ids: list[int] = []
    for file_name in ("generation_config.json", "config.json"):
        end_ids.extend(_token_ids(_read_if_there(folder / file_name).get("eos_token_id")))
    return SpecialTokens(names, frozenset(), tuple(_token_names(config.get("eos_token"))), tuple(end_ids), entries)


def _read_if_there(path: Path) -> Mapping[str, Any]:
    return _load(path.read_bytes(), path.name) if path.is_file() else {}


def _token_names(value: object) -> Iterator[str]:
    """Names in ``"<s>"``, ``{"content": "<s>"}``, or a list or map of these."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping) and isinstance(value.get("content"), str):
        yield value["content"]
    elif isinstance(value, list | Mapping):
        for entry in value.values() if isinstance(value, Mapping) else value:
            name = entry.get("content") if isinstance(entry, Mapping) else entry
            if isinstance(name, str):
                yield name


def _token_ids(value: object) -> list[int]:
    ids = value if isinstance(value, list) else [value]
    return [token_id for token_id in ids if type(token_id) is int and token_id >= 0]


def _config_entries(added: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for token_id, entry in added.items():
        if isinstance(entry, Mapping) and token_id.isdecimal():
            yield {**entry, "id": int(token_id)}
