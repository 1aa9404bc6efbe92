"""What Python types take where JSON Schema has no word for it, as patterns of text.

Formats that only Pydantic knows are annotations to everybody else: a model could write anything, and validation would
refuse it. Each is a pattern here, or refused by name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from ..errors import UnsupportedOutputType

__all__ = ["COMPLEX", "DURATION", "KEY_PATTERNS", "url_pattern", "with_known_formats"]

_NUMBER = r"(?:0|[1-9]\d*)(?:\.\d+)?"
COMPLEX = rf"^-?{_NUMBER}[+-]{_NUMBER}j$"
"""As Python writes complex numbers, without exponents: ``1.5-2j``."""

_SECONDS = r"\d{1,6}(?:\.\d{1,6})?S"
_CLOCK = rf"(?:\d{{1,6}}H(?:\d{{1,6}}M)?(?:{_SECONDS})?|\d{{1,6}}M(?:{_SECONDS})?|{_SECONDS})"
DURATION = rf"^-?P(?:\d{{1,6}}W|\d{{1,8}}D(?:T{_CLOCK})?|T{_CLOCK})$"
"""ISO 8601 without years and months, which are no fixed time; within what ``timedelta`` holds."""

KEY_PATTERNS = {"integer": r"^(?:0|-?[1-9]\d*)$", "number": rf"^-?{_NUMBER}$", "boolean": "^(?:true|false)$"}
"""How a key of an object, which is text, spells a value of another JSON type."""

_IPV4 = r"(?:(?:\d|[1-9]\d|1\d\d|2[0-4]\d|25[0-5])\.){3}(?:\d|[1-9]\d|1\d\d|2[0-4]\d|25[0-5])"
_BASE64 = r"^(?:[{0}]{{4}})*(?:[{0}][AQgw]==|[{0}]{{2}}[AEIMQUYcgkosw048]=)?$"
_PATTERN_OF_FORMAT = {
    "base64": _BASE64.format("A-Za-z0-9+/"),
    "base64url": _BASE64.format("A-Za-z0-9_-"),
    "duration": DURATION,
    "fraction": r"^-?(?:0|[1-9]\d*)/[1-9]\d*$",
    "ipv4interface": rf"^{_IPV4}/(?:\d|[12]\d|3[0-2])$",
    "ipvanyaddress": rf"^{_IPV4}$",
    **{
        f"uuid{version}": rf"^[0-9a-f]{{8}}-[0-9a-f]{{4}}-{version}[0-9a-f]{{3}}-[89ab][0-9a-f]{{3}}-[0-9a-f]{{12}}$"
        for version in range(1, 9)
    },
}
_OF_ANY_TEXT = frozenset({"binary", "password", "path"})
"""They say what a text is for, not what it may be."""
_REFUSED_FORMATS = {
    "directory-path": "which folders exist, no grammar can say; use pathlib.Path",
    "file-path": "which files exist, no grammar can say; use pathlib.Path",
    "ipv4network": "that no bit beyond the prefix is set, no grammar says; use IPv4Interface",
    "ipv6interface": "use IPv6Address",
    "ipv6network": "use IPv6Address",
    "ipvanyinterface": "use IPv4Interface",
    "ipvanynetwork": "use IPv4Interface",
    "multi-host-uri": "use AnyUrl",
    "name-email": "use EmailStr",
}

_LABEL = r"(?![xX][nN]--)[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?"
_LAST_LABEL = r"(?![xX][nN]--)[a-zA-Z](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?"  # a number would be read as an address
_REST = r"[A-Za-z0-9._~:/?#@!$&'()*+,;=%-]*"


def url_pattern(schemes: Sequence[str]) -> str:
    """URLs of these schemes with a host by name, and what may follow it."""
    scheme = "|".join(re.escape(name) for name in schemes)
    return rf"^(?:{scheme})://(?:{_LABEL}\.)*{_LAST_LABEL}(?::\d{{1,4}})?(?:[/?#]{_REST})?$"


def with_known_formats(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema with patterns for the formats that only Pydantic knows.

    Raises :class:`~constrained.errors.UnsupportedOutputType` for those that no pattern says.
    """
    for node in _subschemas(schema):
        name = node.get("format")
        if not isinstance(name, str) or node.get("type", "string") != "string":
            continue
        if name in _REFUSED_FORMATS:
            raise UnsupportedOutputType(f"a text of format {name!r} is not supported: {_REFUSED_FORMATS[name]}")
        if name in _OF_ANY_TEXT:
            del node["format"]
        elif name in _PATTERN_OF_FORMAT and "pattern" not in node:
            del node["format"]
            node["pattern"] = _PATTERN_OF_FORMAT[name]
    return schema


_IN_MAPS = ("properties", "patternProperties", "$defs", "definitions")
_IN_LISTS = ("anyOf", "oneOf", "allOf", "prefixItems")
_INSIDE = ("items", "additionalProperties", "propertyNames", "contains", "not")


def _subschemas(schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The schema and every schema in it; values under ``enum``, ``const``, ``default`` are none."""
    pending: list[Any] = [schema]
    while pending:
        node = pending.pop()
        if not isinstance(node, dict):
            continue
        yield node
        pending.extend(node.get(keyword) for keyword in _INSIDE)
        for keyword in _IN_LISTS:
            if isinstance(node.get(keyword), list):
                pending.extend(node[keyword])
        for keyword in _IN_MAPS:
            if isinstance(node.get(keyword), dict):
                pending.extend(node[keyword].values())
