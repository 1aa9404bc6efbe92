"""From output types to compiled grammars, kept for the next request.

What is the same for every document, the grammar of a type, is lowered once. With a source it is compiled for that text;
only the last few of these are kept, in a cache of their own, so that a thousand documents do not push out the others.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, Any, Final

from .grammar_cache import GrammarCache
from .output_types import OutputType
from .output_types.base import digest_of

if TYPE_CHECKING:
    from grammars import CompiledGrammar, Vocabulary
    from grammars.ir import IR

__all__ = ["Grammars"]

_MOST_LOWERED: Final = 16
_SHARE_OF_SOURCES: Final = 4


class Grammars:
    """The compiled grammars of one model, up to ``max_bytes`` in all, a quarter of it for those of sources."""

    def __init__(self, *, max_bytes: int) -> None:
        self._kept = GrammarCache(max_bytes=max_bytes)
        self._of_sources = GrammarCache(max_bytes=max_bytes // _SHARE_OF_SOURCES)
        self._lowered: OrderedDict[tuple[str, str], IR] = OrderedDict()
        self._lock = threading.Lock()

    def get(
        self, wanted: OutputType[Any], *, whitespace: str, vocabulary: Vocabulary, source: str | None = None
    ) -> CompiledGrammar:
        """The grammar of a type, for a source if it takes one.

        Raises :class:`grammars.errors.GrammarError` (:class:`~grammars.errors.SourceError` where a source is needed and
        missing, or holds nothing), and ValueError for a source that nothing asks for.
        """
        from grammars import compile_ir

        if not wanted.takes_source:
            if source is not None:
                raise ValueError(
                    "source: nothing of the output type is taken from it; mark strings by Annotated[str, Verbatim()] "
                    'or "x-verbatim": true, pass json_schema(..., verbatim="words"), or leave source out'
                )
            return self._kept.get(
                (wanted.digest, whitespace, vocabulary.digest),
                lambda: compile_ir(wanted.lower(whitespace=whitespace), vocabulary),
            )
        lowered = self._lowered_of(wanted, whitespace)
        if source is None or not lowered.verbatims:  # it only looked as if it asked
            key = (wanted.digest, whitespace, vocabulary.digest)
            return self._kept.get(key, lambda: compile_ir(lowered, vocabulary))
        return self._of_sources.get(
            (digest_of("source", wanted.digest, source), whitespace, vocabulary.digest),
            lambda: compile_ir(lowered, vocabulary, source=source),
        )

    def _lowered_of(self, wanted: OutputType[Any], whitespace: str) -> IR:
        key = (wanted.digest, whitespace)
        with self._lock:
            found = self._lowered.get(key)
        if found is None:
            found = wanted.lower(whitespace=whitespace)
        with self._lock:
            self._lowered[key] = found
            self._lowered.move_to_end(key)
            if len(self._lowered) > _MOST_LOWERED:
                self._lowered.popitem(last=False)
        return found
