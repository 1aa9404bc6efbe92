"""Implementations behind one small interface, so that the same laws hold them all to account.

An :class:`Engine` compiles a :class:`Language` for a vocabulary; what comes out makes :class:`Session` objects, one a
sequence. Peers are imported when they are asked for; the extra ``peers`` installs them.
"""

from __future__ import annotations

from importlib import import_module

from grammars.vocabulary import Vocabulary

from .base import Engine, Language, LanguageKind, Refused, Session

__all__ = ["ENGINE_NAMES", "Engine", "Language", "LanguageKind", "Refused", "Session", "engine_of"]

_HOMES = {
    "ours": ("ours", "Ours"),
    "xgrammar": ("xgrammar", "XGrammar"),
    "llguidance": ("llguidance", "LLGuidance"),
    "outlines": ("outlines", "Outlines"),
    "lmfe": ("lmfe", "LMFormatEnforcer"),
}
ENGINE_NAMES = tuple(_HOMES)
"""What :func:`engine_of` knows."""


def engine_of(name: str, vocabulary: Vocabulary) -> Engine:
    """The engine of a name. ValueError for a name that there is not, ImportError where its package is missing.

    >>> from constrained.testing.walks import walking_vocabulary
    >>> engine = engine_of("ours", walking_vocabulary())
    >>> session = engine.compile(Language("regex", "a+"))()
    >>> session.consume(97), session.consume(98), session.can_end()
    (True, False, True)
    """
    if name not in _HOMES:
        raise ValueError(f"engine: expected one of {', '.join(ENGINE_NAMES)}, got {name!r}")
    module, class_name = _HOMES[name]
    made = getattr(import_module(f".{module}", __name__), class_name)
    try:
        engine: Engine = made(vocabulary)
    except ImportError as error:
        raise ImportError(
            f"engine {name}: {error}; it comes with the extra 'peers': in a checkout, pip install -e '.[peers]'"
        ) from error
    return engine
