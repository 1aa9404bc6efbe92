"""The page ``docs/json_schema.md``, written from the tables of keywords and formats.

python -m grammars.frontends.json_schema.document > docs/json_schema.md
"""

from __future__ import annotations

from .formats import FORMATS
from .keywords import KEYWORDS, Draft, Keyword, Role

__all__ = ["page"]

_HEAD = """# JSON Schema: what is enforced

*Written by `python -m grammars.frontends.json_schema.document` from the table of keywords; a test compares the two.*

A schema is enforced whole or refused: `UnsupportedSchema` lists every keyword that would not be enforced, each with its
JSON pointer. What finite automata can settle is settled before the first token; a *guard* is asked where an item, a
name or a value ends, and denies the bytes that would end a wrong one. Drafts 4, 6, 7, 2019-09 and 2020-12 are told
apart by `$schema`; without one it is 2020-12. A keyword that is in no row is an annotation; a metaschema of one's own
(found in the registry) leaves out the keywords of the vocabularies that it does not name. Nothing is ever fetched for
`$ref` or `$schema` unless the caller passes a `referencing.Registry`.

| Keyword | Drafts | How | Limits |
| --- | --- | --- | --- |
"""
_HOW = {Role.ENFORCED: "by automaton", Role.GUARDED: "by guard", Role.ANNOTATION: "read with others"}
_LIMITS = {
    "$ref": "inside the document, to the metaschemas of the drafts, or through the caller's registry",
    "$dynamicRef": "as `$ref`; a schema counts once for each dynamic scope it is used in",
    "$recursiveRef": "as `$dynamicRef`",
    "not": "up to 256 ways not to be valid; beyond that by guard",
    "oneOf": "branches that overlap are cut by each other; as `not`",
    "if": "as `not` for the condition",
    "pattern": "ECMA-262, found anywhere; back-references are refused",
    "minLength": "with a pattern or format: up to 400,000 states together, beyond that by guard",
    "maxLength": "as `minLength`",
    "contains": "up to four different ones in an array, up to 4,096 states to count; beyond that by guard",
    "minProperties": "up to 16,384 states to count; beyond that by guard",
    "maxProperties": "as `minProperties`",
    "multipleOf": "up to the limit of states; beyond that by guard",
    "patternProperties": "up to 64 classes of names",
    "uniqueItems": "given values (up to 512) by automaton; items are compared by value: 1 and 1.0 are equal",
    "additionalProperties": "names are compared unescaped; that undeclared names differ, by guard",
    "format": "see below",
    "unevaluatedItems": "up to 256 ways to evaluate items; beyond that by guard",
    "unevaluatedProperties": "up to 256 ways to evaluate properties; beyond that by guard",
    "then": "with `if`",
    "else": "with `if`",
    "minContains": "with `contains`",
    "x-verbatim": "ours: the string is taken from the source; without lengths, patterns, formats, given values",
    "maxContains": "with `contains`",
}


def _drafts(keyword: Keyword) -> str:
    first = "4" if keyword.since is Draft.DRAFT4 else _name(keyword.since)
    if keyword.until is Draft.DRAFT2020:
        return "all" if keyword.since is Draft.DRAFT4 else f"from {first}"
    return f"{first} to {_name(keyword.until)}" if keyword.since is not keyword.until else first


def _name(draft: Draft) -> str:
    return {Draft.DRAFT2019: "2019-09", Draft.DRAFT2020: "2020-12"}.get(draft, str(int(draft)))


def page() -> str:
    """The whole page."""
    rows = [
        f"| `{keyword.name}` | {_drafts(keyword)} | {_HOW[keyword.role]} | {_LIMITS.get(keyword.name, '')} |\n"
        for keyword in KEYWORDS
    ]
    enforced = ", ".join(f"`{name}`" for name in sorted(FORMATS))
    return (
        f"{_HEAD}{''.join(rows)}\n## Formats\n\n"
        '`format` is a constraint in every draft; `formats="annotate"` makes it an annotation.\n\n'
        f"- enforced: {enforced}\n- any other name is an annotation, and noted\n\n"
        "Real calendar days count (years 0001 to 9999). Mail addresses are written in the dot-atom form; quoted\n"
        'strings and address literals are read with `whitespace="any"`, and so are lower-case t and z and leap\n'
        "seconds (with offsets of whole quarters of an hour, as all have been since there are leap seconds).\n"
        "Host names are written in ASCII and without `xn--` labels; regular expressions (of ECMA-262, without annex\n"
        "B) without back-references, with one named group at most, and with bounds that their first digits put in\n"
        "order.\n\n"
        "## Spellings\n\n"
        "Texts are written in one canonical spelling, that of `json.dumps(..., ensure_ascii=False)`; with\n"
        "`ensure_ascii=True` characters beyond ASCII are written by number.\n"
        '`whitespace="any"` reads every spelling of JSON but these:\n\n'
        "- numbers whose exponent no double can hold (`1e400`), for most readers make infinity of them\n"
        "- a given number (`enum`, `const`) whose exponent moves the point more than three places further than to\n"
        "  where it stands without one (one of more than 16 numbers: at all, as in `10e-1`), and an integer without\n"
        "  bounds with more than 16 digits moved before the point or 9 behind it\n"
        "- zeros before an exponent that make it longer than two digits, in a number with bounds (`1e007`)\n"
        "- half of a surrogate pair, which is no character\n"
        "- values that a guard is asked about and that are nested beyond Python's own limit, about 1,000 levels\n"
    )


if __name__ == "__main__":
    print(page(), end="")
