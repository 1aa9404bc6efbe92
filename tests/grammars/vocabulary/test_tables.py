"""Tokens that are not text, taken apart into text and rests."""

from __future__ import annotations

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from grammars import Vocabulary, compile_json_schema
from grammars.vocabulary.tables import (
    NUM_RESTS,
    REST_TOKENS,
    RESTS,
    TOKEN_BYTES,
    TOKEN_OFFSETS,
    build_tables,
)

PIECES = ["a", "b", "é", "日", "😀", '"', "\\\\", "\n", ",", "}", '",', '"}', " ", "\u007f"]
tokens = st.lists(st.lists(st.sampled_from(PIECES), max_size=4).map("".join), min_size=1, max_size=30)
SINGLES = [bytes([byte]) for byte in range(256)]


def text_before(data: bytes) -> bytes:
    """The whole characters at the beginning that may stand in a JSON string as they are, one by one."""
    length = 0
    for end in range(1, len(data) + 1):
        try:
            character = data[length:end].decode()
        except UnicodeDecodeError:
            continue
        if character in ('"', "\\") or character < " ":
            break
        length = end
    return data[:length]


@given(tokens, st.integers(0, 3))
@settings(deadline=None, max_examples=60)
def test_each_rest_ends_its_tokens_behind_text(texts: list[str], cut: int) -> None:
    vocabulary = [text.encode()[: -cut or None] for text in texts]
    tables = build_tables(vocabulary, ())
    rests, listed = tables[RESTS], tables[REST_TOKENS]
    seen: list[int] = []
    for rest in range(tables[NUM_RESTS]):
        ids = tables[listed + tables[rests + rest] : listed + tables[rests + rest + 1]].tolist()
        assert ids
        endings = set()
        for token in ids:
            first, end = tables[tables[TOKEN_OFFSETS] + token : tables[TOKEN_OFFSETS] + token + 2].tolist()
            data = bytes(tables[tables[TOKEN_BYTES] + first : tables[TOKEN_BYTES] + end].tolist())
            assert text_before(data)
            endings.add(data[len(text_before(data)) :])
        assert len(endings) == 1
        seen += ids
    assert len(set(seen)) == len(seen)


@given(tokens, st.integers(0, 10**6))
@settings(deadline=None, max_examples=40)
def test_string_masks_are_what_consuming_says(texts: list[str], seed: int) -> None:
    """Inside a string, where rests are walked once for all tokens that have them."""
    more = [text.encode() for text in dict.fromkeys(texts) if text]
    vocabulary = Vocabulary.from_bytes([*SINGLES, *more, None], eos_token_ids=[256 + len(more)])
    schema = {"type": "object", "properties": {"x": {"type": "string"}, "y": {}}, "additionalProperties": False}
    for whitespace in ("any", "compact"):
        matcher = compile_json_schema(schema, vocabulary, whitespace=whitespace).matcher()
        assert matcher.consume_bytes(b'{"x":"')
        random = Random(seed)
        for _ in range(6):
            allowed = set(matcher.allowed_token_ids())
            for token in [*range(256, 256 + len(more)), *random.sample(range(256), 40)]:
                assert bool(matcher.try_consume([token])) == (token in allowed), vocabulary.tokens[token]
                if token in allowed:
                    matcher.rollback(1)
            matcher.consume(random.choice([token for token in allowed if vocabulary.tokens[token] is not None]))
            if matcher.is_accepting:
                break
