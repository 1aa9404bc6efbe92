"""Why two token bitmasks differ: a document that one engine takes and the other does not, judged by third parties.

A differing token is read byte by byte up to the first byte that the refusing engine does not take. From there a whole
document is searched that the other engine accepts; then Python's `json` says whether it is JSON, and the jsonschema
library whether it is valid. What the cause is called follows from that, from whether the refusing engine takes the
same value in its own spelling, and from experiments: which keyword, taken out of the schema, makes the difference go
away.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from .engines import Refused
from .followers import SEPARATORS, Follower, Lab
from .mask_documents import Position, canonical_value, complete, floats_of, judge, repeats_names, where_of

__all__ = ["UNEXPLAINED", "Difference", "Explainer"]

UNEXPLAINED = "UNEXPLAINED"
CANDIDATES = 6  # documents looked at
KEYWORDS = (
    *("multipleOf", "minLength", "maxLength", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minItems"),
    *("maxItems", "uniqueItems", "minProperties", "maxProperties", "propertyNames", "enum"),
    *("const", "oneOf", "not", "allOf", "dependencies"),
)
"""Taken out of a schema to see whether a difference goes away."""


@dataclass
class Difference:
    """One way in which the bitmasks at one position differ, and what was found out about it."""

    schema_name: str
    layout: str
    wider: str  # the engine that allows it
    before: bytes  # the text so far
    added: bytes  # a token's bytes, up to the first that the other engine refuses
    document: bytes | None = None
    errors: tuple[str, ...] = ()  # why the document is not valid: "json", or keywords
    cause: str = UNEXPLAINED
    evidence: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        text = self.before[-60:] + b" >>" + self.added + b"<< "
        return (
            f"{self.schema_name} ({self.layout}): {self.wider} alone allows {text!r}; {self.document!r} {self.errors}"
        )


class Explainer:
    """Finds the causes of differences; keeps what it compiled for experiments."""

    def __init__(self, lab: Lab) -> None:
        self.lab = lab
        self.compiled: dict[tuple[str, str, str], tuple[Follower, Follower] | None] = {}

    def explain(self, position: Position, wider: str, token_ids: list[int]) -> Iterator[Difference]:
        """Each way in which these tokens, which one engine alone allows, differ from what the other takes."""
        groups: dict[bytes, list[int]] = {}
        _, narrower = position.sides(wider)
        for token_id in token_ids:
            token = self.lab.vocabulary.tokens[token_id]
            taken = narrower.count_taken(token) if token else 0
            groups.setdefault(token[: taken + 1] if token else b"", []).append(token_id)
        for added, members in groups.items():
            difference = Difference(position.schema_name, position.layout, wider, position.text, added)
            # a bitmask that contradicts what its engine consumes, and a bit of an id without text, have no excuse
            if added and narrower.count_taken(added) < len(added):
                self._examine(difference, position, members)
            yield difference

    def _examine(self, difference: Difference, position: Position, members: list[int]) -> None:
        allowing, _ = position.sides(difference.wider)
        tokens = self.lab.vocabulary.tokens
        blamed = judge(position.text + position.rest, position.schema)  # the instance itself: not the token's fault
        ours = difference.wider == "constrained"
        for member in sorted(members, key=lambda token_id: len(tokens[token_id] or b""))[:3]:
            found = complete(allowing, position, tokens[member] or b"", self.lab)
            worst = (True, True)
            for document in islice(found, CANDIDATES):
                errors = tuple(error for error in judge(document, position.schema) if error not in blamed)
                rank = (repeats_names(document), bool(errors) and not ours)  # an invalid document of ours is a fault
                if difference.document is None or rank < worst:
                    difference.document, difference.errors, worst = document, errors, rank
                if worst == (False, False):
                    break
            if difference.document is not None:
                break
        if difference.document is None:
            return
        difference.cause = self._cause(difference, position)

    # -- naming -------------------------------------------------------------------------------------------------

    def _cause(self, difference: Difference, position: Position) -> str:
        document = difference.document
        assert document is not None
        if "json" in difference.errors:
            return f"{difference.wider} allows what is no JSON" if difference.wider == "llguidance" else UNEXPLAINED
        if difference.errors:
            return self._too_wide(difference, position)
        if difference.added.endswith(b"\x7f") and difference.wider == "constrained":
            return "llguidance refuses a raw DEL in strings, which JSON allows"
        spelling = self._spelling(difference, position)
        return spelling or self._too_narrow(difference, position)

    def _spelling(self, difference: Difference, position: Position) -> str | None:
        """The name of a difference in spelling: the narrower engine takes the same value as it writes it itself."""
        document = difference.document or b""
        value = json.loads(document)
        separators = SEPARATORS[position.layout]
        shapes = (canonical_value(value), canonical_value(value, floats=floats_of(position.schema)))
        try:
            spelled = [json.dumps(shape, ensure_ascii=False, separators=separators).encode() for shape in shapes]
        except UnicodeEncodeError:
            return f"{difference.wider} allows halves of surrogate pairs"
        pair = self._fresh(position, "")
        if pair is None:
            return None
        narrower = pair[0] if difference.wider == "llguidance" else pair[1]
        repeats = repeats_names(document)
        if repeats and not where_of(difference.before).startswith("names"):
            return None  # what json read is not all that was written
        if not any(text != document and narrower.accepts(text) for text in spelled):
            return None
        refuser = narrower.name
        if _is_space(difference):
            return f"{refuser} takes less white space"
        if repeats:
            return f"{refuser} takes no name twice"
        kind = where_of(difference.before + difference.added)
        return f"{refuser} takes fewer spellings of {kind}"

    def _too_wide(self, difference: Difference, position: Position) -> str:
        """A document that the jsonschema library refuses: the engine that takes it loosens something."""
        name = self._experiment(difference, position)
        if difference.wider == "llguidance" and name:
            return f"llguidance is wider where the schema says {name}"
        return _specific(difference, name) or UNEXPLAINED

    def _too_narrow(self, difference: Difference, position: Position) -> str:
        """A valid document that the other engine refuses however it is spelled."""
        name = self._experiment(difference, position)
        if name is None:
            return UNEXPLAINED
        if difference.wider == "constrained":
            return f"llguidance is narrower where the schema says {name}"
        return _specific(difference, name) or UNEXPLAINED

    # -- experiments --------------------------------------------------------------------------------------------

    def _experiment(self, difference: Difference, position: Position) -> str | None:
        """The keyword without which both engines agree about these bytes."""
        for name, changed in alterations(position.schema):
            pair = self._fresh(position, name, changed)
            if pair is None:
                continue
            ours, theirs = pair[0].fork(), pair[1].fork()
            if not (ours.feed(difference.before) and theirs.feed(difference.before)):
                continue
            length = len(difference.added)
            if (ours.count_taken(difference.added) == length) == (theirs.count_taken(difference.added) == length):
                return name
        return None

    def _fresh(self, position: Position, name: str, changed: Any = None) -> tuple[Follower, Follower] | None:
        """Both engines at the beginning, of the schema or of an altered one; None where one refuses it."""
        key = (position.schema_name, position.layout, name)
        if key not in self.compiled:
            schema = changed if name else position.schema
            try:
                pair = self.lab.ours(schema, position.layout), self.lab.theirs(schema, position.layout)
            except Refused:
                self.compiled[key] = None
            else:
                self.compiled[key] = pair
        return self.compiled[key]

    def forget(self) -> None:
        """Drop what was compiled (before the next schema)."""
        self.compiled.clear()


# -- what the names are made of -----------------------------------------------------------------------------------


def alterations(schema: Any) -> Iterator[tuple[str, Any]]:
    """Names of keywords (of each format and pattern, of others at once), and the schema without."""
    for keyword in ("format", "pattern"):
        for value in sorted(_values_of(schema, keyword)):
            yield f"{keyword} {value}", _without(schema, keyword, value)
    alone = _ref_alone(schema)
    if alone != schema:
        yield "$ref beside other keywords", alone
    open_names = _open_names(schema)
    if open_names != schema:
        yield "patternProperties", open_names
    for keyword in KEYWORDS:
        changed = _without(schema, keyword, None)
        if changed != schema:
            yield keyword, changed


def _values_of(schema: Any, keyword: str) -> set[str]:
    if isinstance(schema, list):
        return {value for part in schema for value in _values_of(part, keyword)}
    if not isinstance(schema, dict):
        return set()
    own = {schema[keyword]} if isinstance(schema.get(keyword), str) else set()
    return own | {value for part in schema.values() for value in _values_of(part, keyword)}


def _without(schema: Any, keyword: str, value: str | None) -> Any:
    """The schema without a keyword (with this value)."""
    if isinstance(schema, list):
        return [_without(part, keyword, value) for part in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        name: _without(part, keyword, value)
        for name, part in schema.items()
        if name != keyword or (value is not None and part != value)
    }


def _open_names(schema: Any) -> Any:
    """The schema with every name allowed where patterns of names were listed."""
    if isinstance(schema, list):
        return [_open_names(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    dropped = {"patternProperties", "additionalProperties"} if "patternProperties" in schema else set()
    return {name: _open_names(part) for name, part in schema.items() if name not in dropped}


def _ref_alone(schema: Any) -> Any:
    """The schema with nothing beside $ref, as drafts before 2019-09 read it."""
    if isinstance(schema, list):
        return [_ref_alone(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    beside = {"$schema", "definitions", "$defs", "id", "$id"} if isinstance(schema.get("$ref"), str) else schema.keys()
    return {name: _ref_alone(part) for name, part in schema.items() if name in beside or name == "$ref"}


def _is_space(difference: Difference) -> bool:
    return difference.added[-1:] in (b" ", b"\t", b"\r", b"\n") and not where_of(difference.before).startswith("string")


SPECIFIC: tuple[tuple[str, re.Pattern[bytes], str], ...] = (
    ("format (date-)?time", re.compile(rb":[0-5][0-9]:60?$"), "constrained writes no leap seconds"),
    ("format (date-)?time", re.compile(rb"[0-9][tz]$"), "constrained writes the T and Z of times in upper case"),
    ("format email", re.compile(rb"@\[$"), "constrained writes mailboxes with the name of a host, not its address"),
    (
        "format email",
        re.compile(rb'([^.@"]{62}-|[^.@"]{64})$'),
        "constrained keeps labels of hosts to 63 characters, as RFC 1035 does",
    ),
    (
        "format ur[il]",
        re.compile(rb"//[^/]*\[V$"),
        "llguidance and rfc3987 know [V1.x] only as [v1.x]; RFC 3986 takes both",
    ),
    (
        "pattern( .*|Properties)",
        re.compile(rb"(\\r|\xe2\x80[\xa8\xa9])$"),
        "constrained reads . as ECMA-262: no line terminator",
    ),
    (
        "pattern( .*|Properties)",
        re.compile(rb"\xef(\xbb\xbf?)?$"),
        "constrained reads \\s as ECMA-262: with U+FEFF, without U+0085",
    ),
    (
        "pattern( .*|Properties)",
        re.compile(rb"\xc2\x85$"),
        "constrained reads \\s as ECMA-262: with U+FEFF, without U+0085",
    ),
)
"""Where standards leave a choice, or the judge errs: what the schema says, what the text ends in, the name."""


def _specific(difference: Difference, name: str | None) -> str | None:
    text = difference.before + difference.added
    return next(
        (
            cause
            for keyword, end, cause in SPECIFIC
            if name and re.fullmatch(keyword, name, re.DOTALL) and end.search(text)
        ),
        None,
    )
