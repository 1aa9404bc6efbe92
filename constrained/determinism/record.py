"""The run record: one JSON file that says what a generation was made from, and what came at each step.

Its form is ``record.schema.json``, beside this file. It is canonical (:mod:`~constrained.determinism.canonical`) and
closed by a digest of all the rest, so that a damaged or edited one is told from a whole one. It holds no time of day:
the same run makes the same record.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, Self

from constrained.errors import RecordRefused

from .canonical import canonical_text, digest_of_value, write_atomically

__all__ = ["FORMAT", "VERSION", "RunRecord", "record_schema"]

FORMAT = "constrained run record"
VERSION = 1
_MOST_BYTES = 2**28
_MOST_SHOWN = 200


@dataclass(frozen=True)
class RunRecord:
    """A record whose form is known to be right. ``document`` is not to be changed.

    Made by :meth:`seal` of its sections, or read by :meth:`from_file`.
    """

    document: Mapping[str, Any]

    @classmethod
    def seal(cls, sections: Mapping[str, Any]) -> Self:
        """Of all sections but format, version and digest, which are added."""
        document = {"format": FORMAT, "version": VERSION, **sections}
        document.pop("digest", None)
        return cls({**document, "digest": digest_of_value(document)})

    @classmethod
    def from_file(cls, path: str | Path) -> Self:
        """Raises :class:`~constrained.errors.RecordRefused`, saying why, for a file that is no whole record."""
        path = Path(path)
        try:
            if path.stat().st_size > _MOST_BYTES:
                raise RecordRefused(f"{path}: expected at most {_MOST_BYTES:,} bytes, got {path.stat().st_size:,}")
            text = path.read_text(encoding="utf-8")
        except OSError as error:
            raise RecordRefused(f"{path}: it cannot be read: {error.strerror or error}") from error
        except UnicodeDecodeError as error:
            raise RecordRefused(f"{path}: foreign: a run record is JSON in UTF-8, and this is not text") from error
        return cls.from_text(text, where=str(path))

    @classmethod
    def from_text(cls, text: str, *, where: str = "the record") -> Self:
        """As :meth:`from_file`, of a text."""
        document = _parsed(text, where)
        if not isinstance(document, dict) or document.get("format") != FORMAT:
            raise RecordRefused(
                f"{where}: foreign: expected a JSON object with format {FORMAT!r}, as `--record` and `record=` write it"
            )
        if document.get("version") != VERSION:
            raise RecordRefused(
                f"{where}: expected version {VERSION}, got {document.get('version')!r}; another release of constrained "
                "wrote it: use that one to replay it"
            )
        _require_form(document, where)
        stated = document["digest"]
        actual = digest_of_value({name: part for name, part in document.items() if name != "digest"})
        if stated != actual:
            raise RecordRefused(
                f"{where}: edited: its digest says {stated[:16]}…, its contents {actual[:16]}…; use the record as it "
                "was written"
            )
        return cls(document)

    @property
    def text(self) -> str:
        """What the file holds."""
        return canonical_text(self.document) + "\n"

    @property
    def digest(self) -> str:
        """Of all of it; 64 hexadecimal digits."""
        return str(self.document["digest"])

    def write(self, path: str | Path) -> None:
        """Write it whole, or not at all."""
        write_atomically(Path(path), self.text)


@cache
def record_schema() -> dict[str, Any]:
    """The JSON Schema of a record.

    >>> record_schema()["properties"]["version"]
    {'const': 1}
    """
    text = resources.files(__package__).joinpath("record.schema.json").read_text(encoding="utf-8")
    schema: dict[str, Any] = json.loads(text)
    return schema


def _parsed(text: str, where: str) -> Any:
    try:
        return json.loads(text)
    except RecursionError:
        raise RecordRefused(f"{where}: foreign: nested too deeply for a run record") from None
    except ValueError as error:
        is_cut = text.lstrip().startswith("{") and not text.rstrip().endswith("}")
        if is_cut:
            raise RecordRefused(f"{where}: truncated: it ends after {len(text):,} characters, in the middle") from error
        raise RecordRefused(f"{where}: foreign or damaged: it is not JSON: {error}") from error


def _require_form(document: Any, where: str) -> None:
    from jsonschema import Draft202012Validator

    fault = next(Draft202012Validator(record_schema()).iter_errors(document), None)
    if fault is not None:
        place = "".join(f"[{part!r}]" for part in fault.absolute_path) or "the whole"
        message = fault.message if len(fault.message) <= _MOST_SHOWN else fault.message[:_MOST_SHOWN] + "…"
        raise RecordRefused(f"{where}: edited or damaged: {place}: {message}")
