"""What is reported when a law does not hold: small, and enough to see it again."""

from __future__ import annotations

import json
import shlex
from dataclasses import asdict, dataclass, field
from typing import Any

__all__ = ["Fault", "LawBroken"]

_LONGEST = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One broken law: what was tried, what should have come, what came, and how to see it again."""

    law: str
    """In words, such as ``"an id that the mask allows can be consumed"``."""
    expected: str
    got: str
    engine: str = ""
    """With its version, where it is known."""
    language: str = ""
    """The schema, regular expression or grammar."""
    token_ids: tuple[int, ...] = ()
    """What had been written, as ids."""
    text: str = ""
    """The same as text; what are no characters stands there as escapes."""
    seed: int | None = None
    command: str = ""
    """What shows it again, on one line."""
    extra: dict[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """As plain values, ready for JSON."""
        return asdict(self)

    def __str__(self) -> str:
        rows: list[tuple[str, Any]] = [("law", self.law), ("engine", self.engine), ("grammar", self.language)]
        if self.token_ids or self.text:
            rows += [("text so far", json.dumps(self.text, ensure_ascii=False)), ("token ids", list(self.token_ids))]
        rows += [("expected", self.expected), ("got", self.got)]
        rows += [("seed", self.seed), *self.extra.items(), ("again", self.command)]
        return "\n".join(f"{name:>12}: {_short(value)}" for name, value in rows if value not in ("", None))


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}... ({len(text):,} characters)"


class LawBroken(AssertionError):
    """A law does not hold; :attr:`fault` says all of it."""

    def __init__(self, fault: Fault) -> None:
        self.fault = fault
        super().__init__(f"a law is broken\n{fault}")


def shown(text: bytes) -> str:
    """Bytes as text, for people."""
    return text.decode("utf-8", "backslashreplace")


def command_for(engine: str, kind: str, text: str, *, subject: str, seed: int, examples: int) -> str:
    """The command that tests one language through one engine again; ``subject`` is the file that it came from."""
    given = [subject]
    if not subject.endswith(_SUFFIXES.get(kind, ())):
        given = {"schema": ["--schema", text], "regex": ["--regex", text]}.get(kind, [f"GRAMMAR.{kind}"])
    words = ["constrained", "test", *given, "--engine", engine, "--seed", str(seed), "--examples", str(examples)]
    return shlex.join(words)


_SUFFIXES = {"schema": (".json",), "gbnf": (".gbnf", ".ebnf"), "lark": (".lark",)}
