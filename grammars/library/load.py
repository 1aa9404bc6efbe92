"""Reading the library's data files: ``name.gbnf``, ``name.lark`` and ``name.regex`` (verbose Python syntax)."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Literal, cast

from ..errors import GrammarError
from ..frontends.cfg import lower_gbnf, lower_lark
from ..frontends.regex import lower_regex
from ..ir import Builder, NodeId

__all__ = ["LibraryGrammar", "grammar", "names"]

_KINDS = ("gbnf", "lark", "regex")
_COMMENT = re.compile(r"(?:#|//) ?(.*)")


@dataclass(frozen=True, slots=True)
class LibraryGrammar:
    """One grammar: its text, and texts that it takes (``accept``) and does not (``reject``)."""

    name: str
    kind: Literal["gbnf", "lark", "regex"]
    text: str
    accept: tuple[str, ...]
    reject: tuple[str, ...]

    @property
    def description(self) -> str:
        """What it takes: the comment at its top, as one line."""
        lines = []
        for line in self.text.removeprefix("(?x)\n").splitlines():
            match = _COMMENT.fullmatch(line)
            if match is None:
                break
            lines.append(match[1])
        return " ".join(lines)

    def lower(self, builder: Builder) -> NodeId:
        """The node that matches it.

        >>> builder = Builder()
        >>> ir = builder.finish(grammar("semantic_version").lower(builder))
        """
        if self.kind == "regex":
            return lower_regex(self.text, builder)
        return lower_gbnf(self.text, builder) if self.kind == "gbnf" else lower_lark(self.text, builder)


@lru_cache(maxsize=1)
def _files() -> dict[str, str]:
    """The kind of each grammar by its name."""
    found = (entry.name.rpartition(".") for entry in files(__package__).joinpath("data").iterdir())
    return dict(sorted((name, kind) for name, _, kind in found if kind in _KINDS))


def names() -> list[str]:
    """All grammars of the library, sorted."""
    return list(_files())


@lru_cache(maxsize=64)
def grammar(name: str) -> LibraryGrammar:
    """The grammar of that name. Raises :class:`~grammars.errors.GrammarError` where there is none."""
    kind = _files().get(name)
    if kind is None:
        raise GrammarError(f"no grammar {name!r} in the library; expected one of {', '.join(names())}")
    folder = files(__package__).joinpath("data")
    cases = json.loads(folder.joinpath("cases.json").read_text("utf-8"))[name]
    text = folder.joinpath(f"{name}.{kind}").read_text("utf-8")
    known = cast(Literal["gbnf", "lark", "regex"], kind)
    return LibraryGrammar(name, known, text, tuple(cases["accept"]), tuple(cases["reject"]))
