"""Validates whole texts under a schema of which the grammar leaves something out."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Literal

from ...errors import GrammarError, Note, Problem, UnsupportedSchema
from ...guards.reading import parse
from ...limits import DEFAULT_LIMITS, Limits
from .load import load_schema
from .lower import lower_json_schema
from .normalise import Normaliser
from .relax import UNKNOWN
from .resources import Registry
from .shapes import Goal
from .string_languages import follows_pattern
from .validity import Validity, children_of

__all__ = ["FinalCheck"]

_PARTS = re.compile(r"\\k<|\\.|\[(?:\\.|[^\]\\])*\]|\(\?<(?![=!])|\$", re.DOTALL)
_IN_PYTHON = {"\\k<": "(?P=", "(?<": "(?P<", "$": r"\Z"}
_NAMED = re.compile(r"\(\?P=(\w+)>")


class FinalCheck:
    """Tells whether a text is valid under a schema, also by what ``on_unsupported="relax"`` leaves out of its grammar.

    Patterns that no automaton can follow are searched by Python's ``re``; what a reference that leads nowhere would ask
    for is not known, and holds. ``notes`` is what the grammar leaves out. Everything else means what it means in the
    grammar.

    Raises :class:`~grammars.errors.UnsupportedSchema` for patterns that ``re`` cannot read either.

    >>> check = FinalCheck({"type": "string", "pattern": r"^(.)\\1$"})
    >>> [check.holds(text) for text in ('"aa"', '"ab"', '1')]
    [True, False, False]
    """

    def __init__(
        self,
        schema: Mapping[str, Any] | bool | str,
        *,
        formats: Literal["assert", "annotate"] = "assert",
        registry: Registry | None = None,
        limits: Limits = DEFAULT_LIMITS,
    ) -> None:
        asserted = formats == "assert"
        ir = lower_json_schema(schema, formats=formats, registry=registry, on_unsupported="relax", limits=limits)
        self.notes: tuple[Note, ...] = tuple(note for note in ir.notes if note.message.startswith("left out"))
        document = load_schema(schema, limits=limits, registry=registry)
        normaliser = Normaliser(document, assert_formats=asserted, relax=True)
        self._validity = _Thorough(document, normaliser.targets, assert_formats=asserted)
        self._goal = normaliser.goal(normaliser.references.start)
        self._validity.require_readable(self._goal)

    def holds(self, text: str) -> bool:
        """Whether a JSON text is valid."""
        return self._validity.holds(self._goal, parse(text.encode("utf-8", "surrogatepass")))


class _Thorough(Validity):
    def valid(self, schema: Any, value: Any) -> bool:
        return schema is UNKNOWN or super().valid(schema, value)

    def follows_pattern(self, text: str, pattern: str) -> bool:
        try:
            return follows_pattern(text, pattern)
        except GrammarError:
            return _in_python(pattern).search(text) is not None

    def require_readable(self, goal: Goal) -> None:
        """Raise unless every pattern can be followed in one way or the other."""
        problems: list[Problem] = []
        pending: list[Any] = list(goal or ())
        seen: set[int] = set()
        while pending:
            schema = pending.pop()
            if not isinstance(schema, dict) or schema is UNKNOWN or id(schema) in seen:
                continue
            seen.add(id(schema))
            patterns = [("patternProperties", one) for one in schema.get("patternProperties", ())]
            patterns += [("pattern", schema["pattern"])] if "pattern" in schema else []
            for keyword, pattern in patterns:
                try:
                    self.follows_pattern("", pattern)
                except re.error as error:
                    reason = f"nothing here can read the pattern {pattern!r}, so it cannot be checked: {error}"
                    problems.append(Problem(self.document.pointers.get(id(schema), ""), keyword, reason))
            pending += [*self.targets(schema), *children_of(schema, self.document.dialect(schema).table)]
        if problems:
            raise UnsupportedSchema(problems)


@lru_cache(maxsize=256)
def _in_python(pattern: str) -> re.Pattern[str]:
    """A pattern of ECMA-262 as Python's: named groups, and an end that is the end. Raises ``re.error``."""
    return re.compile(_NAMED.sub(r"(?P=\1)", _PARTS.sub(lambda part: _IN_PYTHON.get(part[0], part[0]), pattern)))
