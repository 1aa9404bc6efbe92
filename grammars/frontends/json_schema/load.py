"""From what the caller gave (text, mapping, boolean) to a checked document with its references."""

from __future__ import annotations

import json
from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any

from ...errors import LimitExceeded, Problem, SchemaError
from ...limits import Limits
from .resources import Document, NotPlain, plain_copy

if TYPE_CHECKING:
    from .resources import Registry

__all__ = ["load_schema"]

_MAX_EXPONENT = 4096


def load_schema(
    source: Mapping[str, Any] | bool | str, *, limits: Limits, registry: Registry | None = None
) -> Document:
    """Read and check a schema; every fault of the whole document is reported at once.

    ``registry`` finds what references outside the document lead to; without it nothing is ever fetched.

    Raises :class:`~grammars.errors.SchemaError` where the text is not JSON, a key comes twice, a number is not
    finite or a keyword holds what it may not, and :class:`~grammars.errors.LimitExceeded` where it is too large.
    """
    if isinstance(source, str):
        root = _parse(source, limits)
    elif isinstance(source, bool):
        root = source
    elif isinstance(source, Mapping):
        root = source if type(source) is dict else plain_copy(source)
    else:
        problem = Problem("", "schema", f"expected a mapping, a boolean or JSON text, got {type(source).__name__}")
        raise SchemaError([problem])
    if not isinstance(root, dict | bool):
        problem = Problem("", "schema", f"expected a schema (an object or a boolean), got {type(root).__name__}")
        raise SchemaError([problem])
    try:
        document = Document(root, limits, registry)
    except NotPlain:
        document = Document(plain_copy(root), limits, registry)
    return document


def _parse(text: str, limits: Limits) -> Any:
    if len(text) > limits.max_source_length:
        raise LimitExceeded("max_source_length", limits.max_source_length, "the schema text")
    problems: list[Problem] = []

    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        result = dict(items)
        if len(result) != len(items):
            seen: set[str] = set()
            for name, _ in items:
                if name in seen:
                    problems.append(Problem("", "schema", f"the key {name!r} comes twice in one object"))
                seen.add(name)
        return result

    def constant(name: str) -> float:
        problems.append(Problem("", "schema", f"{name} is not JSON"))
        return 0.0

    def decimal(digits: str) -> Decimal:
        try:
            number = Decimal(digits)
        except InvalidOperation:
            number = Decimal("Infinity")
        if not number.is_finite() or abs(number.adjusted()) > _MAX_EXPONENT:
            problems.append(Problem("", "schema", f"the number {digits[:40]} is beyond 10**{_MAX_EXPONENT}"))
            return Decimal(0)
        return number

    def integer(digits: str) -> int:
        if len(digits) > _MAX_EXPONENT:
            problems.append(Problem("", "schema", f"an integer of {len(digits):,} digits"))
            return 0
        return int(digits)

    try:
        root = json.loads(
            text, object_pairs_hook=pairs, parse_constant=constant, parse_float=decimal, parse_int=integer
        )
    except RecursionError:
        raise LimitExceeded("max_nesting", limits.max_nesting, "the schema text") from None
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise SchemaError([Problem("", "schema", f"not JSON: {error.msg} at {where}")]) from None
    if problems:
        raise SchemaError(problems)
    return root
