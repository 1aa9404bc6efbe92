"""Text to token ids and back, with one promise: text never becomes a special token.

The usual tokenizers look for the names of added tokens (``<|im_end|>``) in whatever they are given, so a document can
end its own turn. Here the added tokens are renamed, when the tokenizer is loaded, to names that no text holds; where a
chat template writes one of them itself, that place is renamed too, and nothing else can match. All other work (splits,
normalisation, merges, the blanks that an added token swallows) stays with the `tokenizers` library, so the ids are the
usual ones wherever the text holds no such name.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import tokenizers

from constrained.errors import ChatTemplateError, ModelFilesError
from constrained.model.chat import ChatTemplate
from constrained.model.detokenize import StreamDetokenizer
from grammars.vocabulary.decoder import PieceDecoder

if TYPE_CHECKING:
    from grammars import Vocabulary

__all__ = ["StreamDetokenizer", "Tokenizer"]

# Noncharacters (never assigned, not for interchange): they open and close the private name of an added token, and mark
# the place of something taken out of a message. A text that holds them all the same is cut behind `_OPEN`.
_OPEN, _CLOSE, _HIDDEN = "\ufdd0", "\ufdd1", "\ufdd2"
_MESSAGE_DEPTH = 32


class Tokenizer:
    """A `tokenizers` tokenizer, its end tokens and its chat template.

    Make one by :meth:`from_folder` or :meth:`from_json`.
    """

    def __init__(self, text: str, *, chat_template: ChatTemplate | None, eos_token_ids: Sequence[int]) -> None:
        document = _parse(text)
        self._text = text
        self._decoder = document.get("decoder")
        self._template = chat_template
        self.eos_token_ids = tuple(dict.fromkeys(eos_token_ids))
        merged = _merge_results(document)
        self._added = {
            int(entry["id"]): entry for entry in document.get("added_tokens", ()) if entry["content"] not in merged
        }
        self._id_of_added = {str(entry["content"]): token_id for token_id, entry in self._added.items()}
        self._name_pattern = _any_of(self._id_of_added)
        self._hide_pattern = _any_of([*self._id_of_added, _OPEN, _CLOSE, _HIDDEN])
        self._tokenizer = _with_private_names(document, self._added)

    @classmethod
    def from_json(
        cls,
        text: str,
        *,
        chat_template: str | None = None,
        special_tokens: Mapping[str, str] | None = None,
        eos_token_ids: Sequence[int] = (),
    ) -> Tokenizer:
        """From the text of a ``tokenizer.json``.

        ``special_tokens`` are what the template may write by name, such as ``{"bos_token": "<s>"}``.
        Raises :class:`ModelFilesError` if the text is no such file.
        """
        template = ChatTemplate(chat_template, special_tokens or {}) if chat_template is not None else None
        return cls(text, chat_template=template, eos_token_ids=eos_token_ids)

    @classmethod
    def from_folder(cls, folder: Path, *, eos_token_ids: Sequence[int] = ()) -> Tokenizer:
        """From ``tokenizer.json``, ``tokenizer_config.json`` and ``chat_template.jinja`` of a model's folder.

        ``eos_token_ids`` are those that the model's configuration names; the tokenizer's own is added.
        """
        path = folder / "tokenizer.json"
        if not path.is_file():
            raise ModelFilesError(
                f"{folder}: tokenizer.json is missing; a tokenizer in another form is converted by transformers: "
                "AutoTokenizer.from_pretrained(folder).save_pretrained(folder)"
            )
        config_path = folder / "tokenizer_config.json"
        config = json.loads(config_path.read_text(encoding="utf-8")) if config_path.is_file() else {}
        template_path = folder / "chat_template.jinja"
        template = template_path.read_text(encoding="utf-8") if template_path.is_file() else _template_of(config)
        special_tokens = _special_tokens_of(config)
        tokenizer = cls.from_json(
            path.read_text(encoding="utf-8"),
            chat_template=template,
            special_tokens=special_tokens,
            eos_token_ids=eos_token_ids,
        )
        own_eos = tokenizer.token_id(special_tokens.get("eos_token", ""))
        if own_eos is not None and own_eos not in tokenizer.eos_token_ids:
            tokenizer.eos_token_ids = (*tokenizer.eos_token_ids, own_eos)
        return tokenizer

    @property
    def description(self) -> str:
        """The text of its ``tokenizer.json``."""
        return self._text

    @property
    def chat_template(self) -> ChatTemplate | None:
        """What :meth:`chat_prompt` uses."""
        return self._template

    @property
    def has_chat_template(self) -> bool:
        """Whether :meth:`chat_prompt` can be used."""
        return self._template is not None

    @property
    def size(self) -> int:
        """One more than the highest id; the model's logits may be wider."""
        return max(self._tokenizer.get_vocab(with_added_tokens=True).values()) + 1

    def token_id(self, name: str) -> int | None:
        """Id of the added (special) token of that name, e.g. ``"<|im_end|>"``; None if there is none."""
        return self._id_of_added.get(name)

    def tokenize(self, text: str) -> list[int]:
        """Ids of ``text`` and nothing else: no start token is added, and no special token comes out."""
        return self._encode(_cut_after_open(text))

    def text_prompt(self, text: str) -> list[int]:
        """Ids of a plain prompt: as :meth:`tokenize`, with what the tokenizer puts around a text (a start token)."""
        return self._encode(_cut_after_open(text), around=True)

    def chat_prompt(
        self, messages: Sequence[Mapping[str, Any]], *, add_generation_prompt: bool = True, **variables: Any
    ) -> list[int]:
        """Ids of ``messages`` (mappings with ``role`` and ``content``) in the model's chat template.

        Special tokens are those that the template itself writes; their names within the messages stay text.
        ``variables`` are passed on to the template. Raises :class:`ChatTemplateError` without a template.
        """
        if self._template is None:
            raise ChatTemplateError("this model has no chat template; give it a plain text prompt")
        hidden: list[str] = []
        safe = [_map_strings(message, functools.partial(self._hide, hidden=hidden)) for message in messages]
        text = self._template.render(safe, add_generation_prompt=add_generation_prompt, **variables)
        parts = re.split(f"{_HIDDEN}([0-9]+){_HIDDEN}", text)  # template text, index, template text, index, ...
        segments = [""]
        for index, part in enumerate(parts):
            first, *others = [self._name_privately(part)] if index % 2 == 0 else _cut_after_open(hidden[int(part)])
            segments[-1] += first
            segments += others
        return self._encode(segments)

    def detokenize(self, ids: Sequence[int]) -> str:
        """Text of ``ids``: special tokens are left out, bytes that are no UTF-8 become U+FFFD."""
        return b"".join(map(self.token_bytes, ids)).decode("utf-8", "replace")

    def token_bytes(self, token_id: int) -> bytes:
        """The bytes that a token writes; none for special tokens and for ids without a token.

        >>> from constrained.testing.tiny import tiny_tokenizer
        >>> tokenizer = tiny_tokenizer()
        >>> tokenizer.token_bytes(tokenizer.tokenize(" the")[0]), tokenizer.token_bytes(2)
        (b' the', b'')
        """
        return self._bytes_of.get(token_id, b"")

    def vocabulary(self, size: int) -> Vocabulary:
        """What grammars need to know of it; ``size`` is the width of the model's logits."""
        from grammars import Vocabulary  # imported when asked for: it brings in numba

        return Vocabulary.from_tokenizer(_Described(self._text), size=size, eos_token_ids=self.eos_token_ids or None)

    @functools.cached_property
    def _bytes_of(self) -> dict[int, bytes]:
        pieces = {
            token_id: piece
            for piece, token_id in self._tokenizer.get_vocab(with_added_tokens=False).items()
            if token_id not in self._added
        }
        decoder = PieceDecoder.from_description(self._decoder)
        table = dict(zip(pieces, decoder.decode(list(pieces.values())), strict=True))
        for token_id, entry in self._added.items():
            if not entry.get("special", False):
                table[token_id] = str(entry["content"]).encode()
        return table

    def _encode(self, segments: Sequence[str], *, around: bool = False) -> list[int]:
        """Ids of segments that are tokenised apart; ``around``: with what the post-processor adds to a text."""
        parts = [self._tokenizer.encode(segment, add_special_tokens=False) for segment in segments]
        if around:
            whole = tokenizers.Encoding.merge(parts, growing_offsets=True)
            return list(self._tokenizer.post_process(whole, add_special_tokens=True).ids)
        return [token_id for part in parts for token_id in part.ids]

    def _hide(self, text: str, *, hidden: list[str]) -> str:
        """``text`` with names of added tokens, whole or cut at either end, replaced by marks that stand for them."""
        head = max((size for name in self._id_of_added if (size := _overlap(name, text))), default=0)
        tail = max((size for name in self._id_of_added if (size := _overlap(text, name))), default=0)
        inside = text[head : max(head, len(text) - tail)]

        def mark(taken: str) -> str:
            if not taken:
                return ""
            hidden.append(taken)
            return f"{_HIDDEN}{len(hidden) - 1}{_HIDDEN}"

        middle = self._hide_pattern.sub(lambda match: mark(match[0]), inside)
        return mark(text[:head]) + middle + mark(text[head + len(inside) :])

    def _name_privately(self, text: str) -> str:
        """Text of the template with the names of added tokens replaced by their private ones."""
        return self._name_pattern.sub(lambda match: _private_name(self._id_of_added[match[0]]), text)


@dataclass(frozen=True, slots=True)
class _Described:
    """What :meth:`grammars.Vocabulary.from_tokenizer` needs of a tokenizer: its description, with the true names."""

    text: str

    def to_str(self) -> str:
        return self.text


def _parse(text: str) -> dict[str, Any]:
    try:
        document = json.loads(text)
    except json.JSONDecodeError as error:
        raise ModelFilesError(f"tokenizer.json: not valid JSON: {error}") from error
    if not isinstance(document, dict) or not isinstance(document.get("model"), dict):
        raise ModelFilesError("tokenizer.json: expected an object with a field 'model'")
    return document


def _cut_after_open(text: str) -> list[str]:
    """``text`` in pieces that end after each ``_OPEN``, so that no piece can hold a private name."""
    return re.split(f"(?<={_OPEN})", text)


def _private_name(token_id: int) -> str:
    return f"{_OPEN}{token_id}{_CLOSE}"


def _any_of(names: Iterable[str]) -> re.Pattern[str]:
    """Matches the longest of ``names`` at the leftmost place; nothing, if there are none."""
    longest_first = sorted(names, key=len, reverse=True)
    return re.compile("|".join(map(re.escape, longest_first)) if longest_first else r"(?!)")


def _overlap(left: str, right: str) -> int:
    """Length of the longest proper, non-empty end of ``left`` that ``right`` begins with; 0 if there is none.

    >>> _overlap("<|im_end|>", "end|> of"), _overlap("it ends <|", "<|im_end|>"), _overlap("<b>", "<b>")
    (5, 2, 0)
    """
    longest = min(len(left), len(right))
    for size in range(longest, 0, -1):
        if left.endswith(right[:size]) and (size < len(left) or size < len(right)):
            return size
    return 0


def _map_strings(value: Any, function: Callable[[str], str], *, depth: int = 0) -> Any:
    """``value`` with every string in it, keys too, replaced by ``function`` of it."""
    if depth > _MESSAGE_DEPTH:
        raise ChatTemplateError(f"a message is nested deeper than {_MESSAGE_DEPTH} levels")
    if isinstance(value, str):
        return function(value)
    if isinstance(value, Mapping):
        return {
            _map_strings(key, function, depth=depth + 1): _map_strings(item, function, depth=depth + 1)
            for key, item in value.items()
        }
    if isinstance(value, (list, tuple)):
        return [_map_strings(item, function, depth=depth + 1) for item in value]
    return value


def _merge_results(document: Mapping[str, Any]) -> set[str]:
    """Pieces that merges make: an added token of such a name is an ordinary piece as well and stays one."""
    merges = document["model"].get("merges") or ()
    return {"".join(merge.split(" ", 1) if isinstance(merge, str) else merge) for merge in merges}


def _with_private_names(document: Mapping[str, Any], added: Mapping[int, Mapping[str, Any]]) -> tokenizers.Tokenizer:
    """The tokenizer with each added token renamed, in its list of added tokens and in its model's vocabulary."""
    model = dict(document["model"])
    renamed = {str(entry["content"]): _private_name(token_id) for token_id, entry in added.items()}
    if isinstance(model.get("vocab"), dict):
        model["vocab"] = {renamed.get(piece, piece): token_id for piece, token_id in model["vocab"].items()}
    elif isinstance(model.get("vocab"), list):  # Unigram: [piece, score] in order of ids
        model["vocab"] = [[renamed.get(piece, piece), score] for piece, score in model["vocab"]]
    if model.get("unk_token") in renamed:
        model["unk_token"] = renamed[model["unk_token"]]
    entries = [{**entry, "content": _private_name(token_id)} for token_id, entry in sorted(added.items())]
    entries = [{**entry, "normalized": False} for entry in entries]
    try:
        tokenizer = tokenizers.Tokenizer.from_str(json.dumps({**document, "model": model, "added_tokens": entries}))
    except Exception as error:  # the library raises bare Exception, with a message on what it could not read
        raise ModelFilesError(f"tokenizer.json: the tokenizers library cannot read it: {error}") from error
    for token_id, entry in added.items():
        if tokenizer.token_to_id(_private_name(token_id)) != token_id:
            raise ModelFilesError(f"tokenizer.json: added token {entry['content']!r} has no place at id {token_id}")
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def _template_of(config: Mapping[str, Any]) -> str | None:
    """Field ``chat_template``: one template, or several with names, of which ``default`` counts."""
    value = config.get("chat_template")
    if isinstance(value, list):
        value = {entry["name"]: entry["template"] for entry in value}.get("default")
    return value


def _special_tokens_of(config: Mapping[str, Any]) -> dict[str, str]:
    """``bos_token``, ``eos_token`` ... as plain strings; the file has strings or objects with ``content``."""
    result = {}
    for name, value in config.items():
        if name.endswith("_token") and isinstance(value, (str, dict)):
            result[name] = value if isinstance(value, str) else str(value["content"])
    return result
