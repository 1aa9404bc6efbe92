"""Mask engines behind one small interface, each by its fastest public path, for benchmarks that compare them.

An engine compiles a JSON Schema (some also a regular expression or a context-free grammar) to a session; a session
computes the token bitmask of its state and consumes a token. What an engine refuses raises :class:`Refused`; how it
says so differs, so each adapter translates.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

import grammars
from grammars import Vocabulary
from grammars.ir import IR

from .llama3_vocabulary import llama3_ranks, llama3_vocabulary

END_OF_TEXT = 128_001
PATTERN = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
    r"|\s+(?!\S)|\s+"
)


class Refused(Exception):
    """The engine does not take this grammar."""


@dataclass(frozen=True)
class Grammar:
    """One context-free language in the three forms that the engines read."""

    ir: Callable[[], IR]
    lark: str
    ebnf: str


class Session(ABC):
    """One sequence on one compiled grammar."""

    @abstractmethod
    def fill(self) -> None:
        """Compute the bitmask of the current state into the engine's preallocated row."""

    @abstractmethod
    def consume(self, token_id: int) -> bool:
        """Append a token; False when it is not allowed."""

    @abstractmethod
    def accepts_end(self) -> bool:
        """Whether the text may end here."""

    @abstractmethod
    def again(self) -> Session:
        """A second sequence on the same compiled grammar."""


class Engine(ABC):
    """A way to compile JSON Schemas for the Llama 3 vocabulary."""

    name: str

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.bitmask: npt.NDArray[np.int32] = grammars.allocate_token_bitmask(1, vocabulary.size)

    @abstractmethod
    def compile(self, schema: Any) -> Session:
        """Compile afresh. Raises :class:`Refused`."""

    def compile_regex(self, pattern: str) -> Session:
        """Compile a regular expression that the whole text matches. Raises :class:`Refused`."""
        raise Refused(f"{self.name} is not measured with regular expressions")

    def compile_grammar(self, grammar: Grammar) -> Session:
        """Compile a context-free grammar. Raises :class:`Refused`."""
        raise Refused(f"{self.name} takes no context-free grammars")


class Ours(Engine):
    """`grammars.compile_json_schema` with every JSON spelling allowed."""

    name = "constrained"
    property_order: Literal["schema", "any"] = "schema"

    def __init__(self, vocabulary: Vocabulary) -> None:
        super().__init__(vocabulary)
        self.vocabulary = vocabulary

    def compile(self, schema: Any) -> Session:
        return self._session(
            lambda: grammars.compile_json_schema(
                schema, self.vocabulary, whitespace="any", property_order=self.property_order
            )
        )

    def compile_regex(self, pattern: str) -> Session:
        return self._session(lambda: grammars.compile_regex(pattern, self.vocabulary))

    def compile_grammar(self, grammar: Grammar) -> Session:
        return self._session(lambda: grammars.compile_ir(grammar.ir(), self.vocabulary))

    def _session(self, compile_it: Callable[[], grammars.CompiledGrammar]) -> Session:
        try:
            compiled = compile_it()
        except grammars.GrammarError as error:
            raise Refused(str(error)) from error
        return OurSession(compiled, self.bitmask)


class OursInAnyOrder(Ours):
    """The same, with the properties of an object in any order."""

    name = "constrained-any"
    property_order = "any"


class OurSession(Session):
    """A :class:`grammars.Matcher`."""

    def __init__(self, compiled: grammars.CompiledGrammar, bitmask: npt.NDArray[np.int32]) -> None:
        self.compiled = compiled
        self.bitmask = bitmask
        self.matcher = compiled.matcher()

    def fill(self) -> None:
        self.matcher.fill_next_token_bitmask(self.bitmask)

    def consume(self, token_id: int) -> bool:
        return self.matcher.try_consume((token_id,)) == 1

    def accepts_end(self) -> bool:
        return self.matcher.is_accepting

    def again(self) -> Session:
        return OurSession(self.compiled, self.bitmask)


class LLGuidance(Engine):
    """`llguidance.LLMatcher`, its bitmask written through a plain pointer."""

    name = "llguidance"

    def __init__(self, vocabulary: Vocabulary) -> None:
        from llguidance.tiktoken import lltokenizer_from_encoding

        super().__init__(vocabulary)
        self.tokenizer = lltokenizer_from_encoding(llama3_encoding(), n_vocab=vocabulary.size, eos_token=END_OF_TEXT)

    def compile(self, schema: Any) -> Session:
        from llguidance import LLMatcher

        return self._session(LLMatcher.grammar_from_json_schema(json.dumps(schema)))

    def compile_regex(self, pattern: str) -> Session:
        from llguidance import LLMatcher

        return self._session(LLMatcher.grammar_from_regex(pattern))

    def compile_grammar(self, grammar: Grammar) -> Session:
        from llguidance import LLMatcher

        return self._session(LLMatcher.grammar_from_lark(grammar.lark))

    def _session(self, grammar: str) -> Session:
        from llguidance import LLMatcher

        matcher = LLMatcher(self.tokenizer, grammar)
        if matcher.is_error():
            raise Refused(matcher.get_error())
        return LLGuidanceSession(matcher, self.bitmask)


class LLGuidanceSession(Session):
    """An LLMatcher and the address of the row it writes to."""

    def __init__(self, matcher: Any, bitmask: npt.NDArray[np.int32]) -> None:
        self.fresh = matcher  # never consumes: an error would stay with it
        self.matcher = matcher.deep_copy()
        self.bitmask = bitmask
        self.address, self.num_bytes = bitmask.ctypes.data, bitmask.nbytes

    def fill(self) -> None:
        self.matcher.unsafe_compute_mask_ptr(self.address, self.num_bytes)

    def consume(self, token_id: int) -> bool:
        # llguidance reports a token that is not allowed as an error of the matcher
        return bool(self.matcher.consume_token(token_id)) and not self.matcher.is_error()

    def accepts_end(self) -> bool:
        return bool(self.matcher.is_accepting())

    def again(self) -> Session:
        return LLGuidanceSession(self.fresh, self.bitmask)


class XGrammar(Engine):
    """`xgrammar` with any white space, not strict, one thread, no cache between schemas."""

    name = "xgrammar"

    def __init__(self, vocabulary: Vocabulary) -> None:
        import torch
        import xgrammar

        super().__init__(vocabulary)
        texts = enumerate(vocabulary.tokens)
        tokens = [f"<|special {token_id}|>".encode() if text is None else text for token_id, text in texts]
        info = xgrammar.TokenizerInfo(
            tokens, vocab_type=xgrammar.VocabType.RAW, vocab_size=vocabulary.size, stop_token_ids=[END_OF_TEXT]
        )
        self.compiler = xgrammar.GrammarCompiler(info, max_threads=1, cache_enabled=False)
        self.row = torch.from_numpy(self.bitmask)

    def compile(self, schema: Any) -> Session:
        text = json.dumps(schema)
        return self._session(lambda: self.compiler.compile_json_schema(text, any_whitespace=True, strict_mode=False))

    def compile_regex(self, pattern: str) -> Session:
        return self._session(lambda: self.compiler.compile_regex(pattern))

    def compile_grammar(self, grammar: Grammar) -> Session:
        return self._session(lambda: self.compiler.compile_grammar(grammar.ebnf))

    def _session(self, compile_it: Callable[[], Any]) -> Session:
        import xgrammar

        try:
            compiled = compile_it()
        except (RuntimeError, ValueError) as error:
            raise Refused(str(error)) from error
        return XGrammarSession(compiled, self.row, xgrammar.GrammarMatcher(compiled))


class XGrammarSession(Session):
    """A GrammarMatcher."""

    def __init__(self, compiled: Any, row: Any, matcher: Any) -> None:
        self.compiled, self.row, self.matcher = compiled, row, matcher

    def fill(self) -> None:
        self.matcher.fill_next_token_bitmask(self.row, 0)

    def consume(self, token_id: int) -> bool:
        return bool(self.matcher.accept_token(token_id))

    def accepts_end(self) -> bool:
        return self.consume(END_OF_TEXT)

    def again(self) -> Session:
        self.matcher.reset()
        return self


class OutlinesCore(Engine):
    """`outlines_core.Index` over the regular expression that it makes of the schema."""

    name = "outlines-core"

    def __init__(self, vocabulary: Vocabulary) -> None:
        import outlines_core

        super().__init__(vocabulary)
        ids: dict[bytes, list[int]] = {}
        for token_id, token in enumerate(vocabulary.tokens):
            if token:
                ids.setdefault(token, []).append(token_id)
        self.vocabulary = outlines_core.Vocabulary(END_OF_TEXT, ids)

    def compile(self, schema: Any) -> Session:
        from outlines_core.json_schema import build_regex_from_schema

        return self._session(lambda: build_regex_from_schema(json.dumps(schema)))

    def compile_regex(self, pattern: str) -> Session:
        return self._session(lambda: pattern)

    def _session(self, pattern: Callable[[], str]) -> Session:
        import outlines_core

        try:
            index = outlines_core.Index(pattern(), self.vocabulary)
        except (ValueError, TypeError, RuntimeError) as error:
            raise Refused(str(error)) from error
        return OutlinesCoreSession(index, self.bitmask)


class OutlinesCoreSession(Session):
    """A Guide over an Index."""

    def __init__(self, index: Any, bitmask: npt.NDArray[np.int32]) -> None:
        import outlines_core

        self.index, self.bitmask = index, bitmask
        self.guide = outlines_core.Guide(index)

    def fill(self) -> None:
        self.guide.write_mask_into(self.bitmask.ctypes.data, self.bitmask.size, self.bitmask.itemsize)

    def consume(self, token_id: int) -> bool:
        try:
            self.guide.advance(token_id, return_tokens=False)
        except ValueError:
            return False
        return True

    def accepts_end(self) -> bool:
        return bool(self.guide.is_finished()) or END_OF_TEXT in self.guide.get_tokens()

    def again(self) -> Session:
        return OutlinesCoreSession(self.index, self.bitmask)


def llama3_encoding() -> Any:
    """Llama 3's tokenizer as a `tiktoken.Encoding`."""
    import tiktoken
    from tiktoken.load import load_tiktoken_bpe

    ranks = load_tiktoken_bpe(str(llama3_ranks()))
    special = {f"<|special {index}|>": len(ranks) + index for index in range(256)}
    del special["<|special 1|>"]
    special["<|endoftext|>"] = END_OF_TEXT
    return tiktoken.Encoding("llama3", pat_str=PATTERN, mergeable_ranks=ranks, special_tokens=special)


ENGINES: dict[str, type[Engine]] = {
    engine.name: engine for engine in (Ours, OursInAnyOrder, LLGuidance, XGrammar, OutlinesCore)
}


def make_engines(names: list[str]) -> list[Engine]:
    """The engines by name, over one vocabulary."""
    vocabulary = llama3_vocabulary()
    return [ENGINES[name](vocabulary) for name in names]
