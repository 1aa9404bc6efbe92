"""Reading what to extract from: text files, standard input, JSON Lines."""

from __future__ import annotations

import codecs
import itertools
import json
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

__all__ = ["DEFAULT_TEXT_FIELD", "STDIN", "Document", "Unreadable", "decode_text", "is_json_lines", "read_documents"]

STDIN = "-"
DEFAULT_TEXT_FIELD = "text"
_JSON_LINES_SUFFIXES = (".jsonl", ".ndjson")
_WIDE_MARKS = {  # the longer marks first: that of UTF-32 begins with that of UTF-16
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}


_BINARY = "this is a binary file, not text; convert it to a text file first"
_NO_MARK = (
    "this is a binary file, or UTF-16 text without its byte order mark; if it is text, convert it: "
    "iconv -f UTF-16LE -t UTF-8"
)


@dataclass(frozen=True, slots=True)
class Document:
    """One text to extract from; ``name`` is its file, with the line number in JSON Lines."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A document that could not be read, and why."""

    name: str
    reason: str


def is_json_lines(path: str, text_field: str | None) -> bool:
    """Whether a source is read as JSON Lines: all are once a field is named, else those with such a suffix."""
    return text_field is not None or path.lower().endswith(_JSON_LINES_SUFFIXES)


def read_documents(paths: Iterable[str], *, text_field: str | None = None) -> Iterator[Document | Unreadable]:
    """The documents of all sources in order, read one at a time. ``-`` is standard input."""
    for path in paths:
        try:
            if is_json_lines(path, text_field):
                yield from _read_json_lines(path, text_field or DEFAULT_TEXT_FIELD)
            else:
                yield _read_text(path)
        except OSError as error:
            yield Unreadable(_name(path), error.strerror or str(error))


def _name(path: str) -> str:
    return "standard input" if path == STDIN else path


def _read_text(path: str) -> Document | Unreadable:
    data = _standard_input().read() if path == STDIN else Path(path).read_bytes()
    return _document(_name(path), data)


def _standard_input() -> BinaryIO:
    if sys.stdin is None:
        raise OSError("standard input is closed; name files, or give it something to read")
    return sys.stdin.buffer


def _document(name: str, data: bytes) -> Document | Unreadable:
    try:
        text = decode_text(data)
    except ValueError as error:
        return Unreadable(name, str(error))
    if not text.strip():
        return Unreadable(name, "the document is empty")
    return Document(name, text)


def decode_text(data: bytes) -> str:
    """Text of a file, UTF-8 or as its byte order mark says. Raises ValueError, saying why, when it is none."""
    wide = _wide_encoding(data)
    if wide is not None:
        text = _decode_wide(data, wide)
        if "\0" in text:
            raise ValueError(_BINARY)
        return text
    if b"\0" in data:
        raise ValueError(_NO_MARK if _looks_wide(data) else _BINARY)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(
            f"not UTF-8 text (byte {error.start} is 0x{data[error.start]:02x}); if it is text, convert it: "
            "iconv -f ENCODING -t UTF-8"
        ) from None


def _wide_encoding(data: bytes) -> str | None:
    """The encoding that a byte order mark at the start names, if it is one of wider units."""
    return next((encoding for mark, encoding in _WIDE_MARKS.items() if data.startswith(mark)), None)


def _decode_wide(data: bytes, encoding: str) -> str:
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        raise ValueError(
            f"not {encoding.upper()} text, though it begins with its byte order mark ({error.reason} at byte "
            f"{error.start}); if it is text, convert it: iconv -f ENCODING -t UTF-8"
        ) from None


def _looks_wide(data: bytes) -> bool:
    """Whether every other byte is mostly zero: Latin text in UTF-16 without its mark."""
    start = data[:1000]
    return any(part and 2 * part.count(0) > len(part) for part in (start[0::2], start[1::2])) and data[:1] != b"\x7f"


def _read_json_lines(path: str, text_field: str) -> Iterator[Document | Unreadable]:
    if path == STDIN:
        yield from _documents_of_lines(_name(path), _standard_input(), text_field)
        return
    with open(path, "rb") as lines:
        yield from _documents_of_lines(path, lines, text_field)


def _documents_of_lines(name: str, lines: BinaryIO, text_field: str) -> Iterator[Document | Unreadable]:
    found = False
    try:
        for number, line in enumerate(_lines(lines), 1):
            if line.strip():
                found = True
                yield _document_of_line(f"{name}:{number}", line, text_field)
    except ValueError as error:  # a fault in a stream of wide characters: where the next line begins is unknown
        yield Unreadable(name, str(error))
        return
    if not found:
        yield Unreadable(name, "the file has no lines")


def _lines(lines: BinaryIO) -> Iterator[bytes | str]:
    """The lines of a file, one at a time: as bytes, or as text where a byte order mark names UTF-16 or UTF-32."""
    first = lines.readline()
    encoding = _wide_encoding(first)
    if encoding is None:
        yield from itertools.chain([first] if first else [], lines)
        return
    decoder = codecs.getincrementaldecoder(encoding)()
    text = ""
    try:
        for data in itertools.chain([first], lines):  # cut at bytes 0A, which may be half a character
            *whole, text = (text + decoder.decode(data)).split("\n")
            yield from whole
        yield text + decoder.decode(b"", True)
    except UnicodeDecodeError as error:
        raise ValueError(
            f"not {encoding.upper()} text, though it begins with its byte order mark ({error.reason}); "
            "convert it: iconv -f ENCODING -t UTF-8"
        ) from None


def _document_of_line(name: str, line: bytes | str, text_field: str) -> Document | Unreadable:
    try:
        value = json.loads(decode_text(line) if isinstance(line, bytes) else line)
    except json.JSONDecodeError as error:
        return Unreadable(name, f"not valid JSON: {error.msg} at column {error.colno}")
    except (ValueError, RecursionError) as error:
        return Unreadable(name, str(error))
    if not isinstance(value, dict):
        return Unreadable(name, f"expected a JSON object with the field {text_field!r}, got {_json_kind(value)}")
    if text_field not in value:
        fields = ", ".join(repr(key) for key in list(value)[:10]) or "none"
        return Unreadable(name, f"no field {text_field!r} (fields here: {fields}); name the right one by --text-field")
    text = value[text_field]
    if not isinstance(text, str):
        return Unreadable(name, f"the field {text_field!r} is {_json_kind(text)}, not a string")
    if not text.strip():
        return Unreadable(name, f"the field {text_field!r} is empty")
    if not _is_encodable(text):
        return Unreadable(name, f"the field {text_field!r} holds half of a surrogate pair, which no text can hold")
    return Document(name, text)


def _is_encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _json_kind(value: object) -> str:
    if value is None:
        return "null"
    names = {bool: "true or false", int: "a number", float: "a number", str: "a string", list: "an array"}
    return names.get(type(value), "an object")
