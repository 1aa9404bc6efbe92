"""Does this text carry the marks of this key? Answered from the text, the key and the schema; no torch, no model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from grammars.compile import CompiledGrammar
from grammars.vocabulary import Vocabulary

from ..errors import WatermarkError
from .config import WatermarkConfig
from .contexts import Marker
from .key import WatermarkKey
from .replay import FreePosition, replay
from .scores import Score, TokenScore, score
from .statistics import any_of
from .text import TextReader

__all__ = ["Detection", "detect"]

_PLAIN = (
    *("is_marked", "p_value", "level", "reason", "num_tokens", "num_free", "num_scored", "statistic", "z_score"),
    *("nonce", "fingerprint", "refused_at"),
)

#: Scored tokens below which a text without marks and a marked one of low entropy are hard to tell apart: at temperature
#: 0.7 and a false-positive rate of 1e-3 about nine in ten marked texts of this length are found.
ENOUGH = {"gumbel": 16, "synthid": 20, "kgw": 60, "lefthash": 60}


@dataclass(frozen=True, slots=True, kw_only=True)
class Detection:
    """What was found."""

    is_marked: bool | None
    """The verdict at ``level``; ``None``: it cannot be told, ``reason`` says why."""
    p_value: float
    """Probability of a score at least this high for a text that knows nothing of the key; exact, all nonces tried."""
    level: float
    """The stated rate of false positives."""
    reason: str
    """The verdict in words."""
    num_tokens: int
    num_free: int
    """Tokens that were chosen; the grammar forced the others."""
    num_scored: int
    """Free tokens that count, repetitions left out."""
    statistic: float
    z_score: float
    nonce: int
    """The variant of the marks with the highest score."""
    fingerprint: str
    refused_at: int | None
    """Index of the first token that the schema does not allow, if there is one; what follows was not scored."""
    token_ids: tuple[int, ...]
    free: frozenset[int]
    """Indices of the free tokens."""
    tokens: tuple[TokenScore, ...]
    """The scored ones."""

    def to_dict(self) -> dict[str, Any]:
        """As plain values, ready for JSON; without the tokens."""
        return {name: getattr(self, name) for name in _PLAIN}


def detect(
    text: str | Sequence[int],
    tokenizer: Any,
    *,
    key: WatermarkKey,
    config: WatermarkConfig,
    schema: Any = None,
    whitespace: str = "indent=2",
    level: float = 1e-3,
    nonce: int | None = None,
    weights: Sequence[float] | None = None,
    fingerprint: str | None = None,
) -> Detection:
    """Look for the marks of ``key`` in an output: its text, or better its token ids.

    ``tokenizer``: a :class:`grammars.Vocabulary` (for ids), a ``tokenizers.Tokenizer``, the path of a
    ``tokenizer.json``, or a :class:`constrained.model.Tokenizer`. ``schema`` and ``whitespace`` are the output type and
    style that it was generated with; JSON text in another style is laid out anew first. ``nonce``: only that variant,
    if it is known. ``weights``: what each free token counts (see :mod:`constrained.watermark.entropy`). ``fingerprint``
    is that of the generator; another one is an error.

    Raises :class:`~constrained.errors.WatermarkError` for another fingerprint, weights that do not fit, and text
    with no tokenizer to cut it.

    >>> from grammars import Vocabulary
    >>> vocabulary = Vocabulary.from_bytes([b"a", b"b", None], eos_token_ids=[2])
    >>> config = WatermarkConfig(key_file="unused", nonces=1)
    >>> found = detect([0, 1, 0, 0], vocabulary, key=WatermarkKey.from_text("00" * 16), config=config)
    >>> found.is_marked, found.num_scored, found.reason
    (None, 4, 'too short to tell: 4 tokens can be scored, of the 16 or so that gumbel takes')
    """
    if not 0.0 < level < 1.0:
        raise ValueError(f"level: expected a rate of false positives between 0 and 1, got {level}")
    if config.scheme == "lefthash":
        raise WatermarkError(
            "detect: lefthash is transformers' scheme; use constrained.watermark.interop.detect_lefthash"
        )
    reader = TextReader.from_any(tokenizer)
    digest, grammar = ("", None) if schema is None else _grammar(_Wanted(schema), whitespace, reader.vocabulary)
    config = config.model_copy(update={"schema_digest": digest})
    own = config.fingerprint(key)
    if fingerprint is not None and fingerprint != own:
        raise WatermarkError(
            f"fingerprint: expected {own} (this key, config and schema), got {fingerprint}; the text was marked with "
            "another key, scheme, context_width, nonces, gamma, layers or schema"
        )
    ids = reader.ids(text, whitespace=whitespace if grammar is not None else None)
    played = replay(
        ids,
        reader.vocabulary,
        None if grammar is None else grammar.matcher(),
        context_width=config.context_width,
    )
    if weights is not None and len(weights) != len(played.free):
        raise WatermarkError(f"weights: expected one for each of {len(played.free)} free tokens, got {len(weights)}")
    best, best_nonce, p_value = _best_score(played.free, config, key, nonce, weights)
    verdict, reason = _verdict(config, len(best.tokens), p_value, level, played.refused_at)
    return Detection(
        is_marked=verdict,
        p_value=p_value,
        level=level,
        reason=reason,
        num_tokens=len(played.token_ids),
        num_free=len(played.free),
        num_scored=len(best.tokens),
        statistic=best.statistic,
        z_score=best.z_score,
        nonce=best_nonce,
        fingerprint=own,
        refused_at=played.refused_at,
        token_ids=played.token_ids,
        free=frozenset(position.index for position in played.free),
        tokens=best.tokens,
    )


class _Wanted:
    """An output type as a key of the cache: equal where the digest is."""

    def __init__(self, schema: Any) -> None:
        from ..output_types import output_type_from

        self.output_type = output_type_from(schema)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Wanted) and other.output_type.digest == self.output_type.digest

    def __hash__(self) -> int:
        return hash(self.output_type.digest)


@lru_cache(maxsize=16)
def _grammar(wanted: _Wanted, whitespace: str, vocabulary: Vocabulary) -> tuple[str, CompiledGrammar]:
    from grammars import compile_ir

    return wanted.output_type.digest, compile_ir(wanted.output_type.lower(whitespace=whitespace), vocabulary)


def _best_score(
    free: Sequence[FreePosition],
    config: WatermarkConfig,
    key: WatermarkKey,
    nonce: int | None,
    weights: Sequence[float] | None,
) -> tuple[Score, int, float]:
    """The score with the smallest p-value, its nonce, and the p-value that counts the tries."""
    if nonce is not None and not 0 <= nonce < config.num_nonces:
        raise ValueError(f"nonce: expected 0 to {config.num_nonces - 1}, got {nonce}")
    nonces = range(config.num_nonces) if nonce is None else (nonce,)
    scores = [(score(free, Marker(config, key, nonce=tried), weights=weights), tried) for tried in nonces]
    best, best_nonce = min(scores, key=lambda pair: (pair[0].p_value, pair[1]))
    return best, best_nonce, any_of(best.p_value, len(scores))


def _verdict(
    config: WatermarkConfig, num_scored: int, p_value: float, level: float, refused_at: int | None
) -> tuple[bool | None, str]:
    note = "" if refused_at is None else f"; the schema does not allow token {refused_at}, and what follows is left out"
    if num_scored == 0:
        return None, f"nothing can be scored: the text has no free token{note}"
    if p_value <= level:
        return True, f"marked: p = {p_value:.3g} is at most {level:g}{note}"
    enough = ENOUGH[config.scheme]
    if num_scored < enough:
        scored = f"{num_scored} tokens can be scored, of the {enough} or so that {config.scheme} takes"
        return None, f"too short to tell: {scored}{note}"
    return False, f"not marked: p = {p_value:.3g} is above {level:g}{note}"
