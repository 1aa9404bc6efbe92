"""From a marked text back to its key: what is scored, what is not, and that nothing else is found."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import lru_cache
from typing import Any

import numpy as np
import pytest

from constrained.api import Model
from constrained.errors import WatermarkError
from constrained.model import LoadedModel
from constrained.result import GenerationResult
from constrained.testing.tiny import tiny_llama, tiny_tokenizer
from constrained.watermark import Detection, WatermarkConfig, WatermarkKey, detect
from constrained.watermark.page import page
from constrained.watermark.replay import replay
from constrained.watermark.text import laid_out
from grammars import Vocabulary

KEY = WatermarkKey.from_text("5a" * 32)
SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string", "maxLength": 60}, "kind": {"enum": ["x", "yy", "z"]}},
    "required": ["name", "kind"],
    "additionalProperties": False,
}


@lru_cache(maxsize=1)
def model() -> Model:
    return Model(LoadedModel(tiny_llama(), tiny_tokenizer(), "tiny"))


def config(scheme: str = "gumbel", **settings: Any) -> WatermarkConfig:
    return WatermarkConfig(scheme=scheme, key_env="MARK", **settings)  # type: ignore[arg-type]


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MARK", KEY.text)


def marked(scheme: str = "gumbel", *, seed: int = 0, schema: Any = SCHEMA, **options: Any) -> GenerationResult:
    settings = {"temperature": 1.0, "max_tokens": 120, **options}
    return model().generate("hi", schema, watermark=config(scheme), seed=seed, **settings)


def found(text: Any, scheme: str = "gumbel", *, key: WatermarkKey = KEY, **settings: Any) -> Detection:
    tokenizer = model().tokenizer if isinstance(text, str) else model().engine.vocabulary
    return detect(text, tokenizer, key=key, config=config(scheme), **({"schema": SCHEMA} | settings))


@pytest.mark.parametrize("scheme", ["gumbel", "kgw", "synthid"])
@pytest.mark.parametrize("schema", [SCHEMA, None])
def test_what_is_marked_is_found(scheme: str, schema: Any) -> None:
    result = marked(scheme, schema=schema)
    assert result.watermark is not None
    detection = found(
        result.token_ids, scheme, schema=schema, nonce=result.watermark.nonce, fingerprint=result.watermark.fingerprint
    )
    assert detection.is_marked
    assert detection.nonce == result.watermark.nonce
    blind = found(result.token_ids, scheme, schema=schema)
    assert (blind.is_marked, blind.nonce) == (True, result.watermark.nonce)
    assert blind.p_value >= detection.p_value


def test_green_lists_mark_greedy_text_too() -> None:
    result = model().generate("hi", SCHEMA, watermark=config("kgw"), max_tokens=120)
    assert found(result.token_ids, "kgw").is_marked


@pytest.mark.parametrize("forced", ["canonical", "exact", "off"])
def test_a_detector_scores_the_draws_that_were_marked(forced: str) -> None:
    """The same positions, contexts and words: the record of the draws against the replay of the text."""
    engine, seen = model().engine, []

    class Spy:
        def __call__(self, context: Any, logits: Any) -> Any:
            seen.append(context.records[0])
            return logits

    result = marked(forced=forced, processors=[Spy()])
    notes = seen[-1].of_output(result.token_ids, ended=False)
    played = replay(result.token_ids, engine.vocabulary, model().compile(SCHEMA).matcher(), context_width=4)
    assert [note.position for note in notes if note.is_free] == [position.index for position in played.free]
    detection = found(result.token_ids)
    assert [token.index for token in detection.tokens] == [note.position for note in notes if note.is_first]
    assert played.refused_at is None


def test_forced_text_is_not_scored() -> None:
    result = marked()
    text = "".join(model().tokenizer.detokenize([token_id]) for token_id in result.token_ids)
    detection = found(result.token_ids)
    free = "".join(model().tokenizer.detokenize([result.token_ids[index]]) for index in sorted(detection.free))
    assert '"name"' in text
    assert '"name"' not in free
    assert detection.num_scored <= detection.num_free < detection.num_tokens


def test_a_repeated_array_adds_few_scored_tokens() -> None:
    schema = {"type": "array", "items": {"enum": ["alpha", "beta"]}, "maxItems": 40}
    once, often = (json.dumps(["beta"] * count, indent=2) for count in (6, 36))
    scored = [found(text, schema=schema).num_scored for text in (once, often)]
    assert scored[1] - scored[0] <= 4


def test_wrong_key_schema_and_tokenizer_find_nothing() -> None:
    result = marked()
    other = {**SCHEMA, "properties": {**SCHEMA["properties"], "kind": {"enum": ["x", "yy", "z", "w"]}}}  # type: ignore[dict-item]
    shuffled = [*model().engine.vocabulary.tokens]
    shuffled[40:200] = shuffled[41:200] + shuffled[40:41]
    wrong = Vocabulary.from_bytes(shuffled, eos_token_ids=[2])
    p_values = [
        found(result.token_ids, key=WatermarkKey.from_text("11" * 16)).p_value,
        found(result.token_ids, schema=other).p_value,
        found(result.token_ids, schema=None).p_value,
        detect(result.token_ids, wrong, key=KEY, config=config(), schema=None).p_value,
    ]
    assert min(p_values) > 1e-4


def test_unmarked_text_has_uniform_p_values() -> None:
    """Many keys over unmarked texts; the share of small p-values is bounded by its exact law (fixed seeds)."""
    texts = [model().generate("hi", SCHEMA, temperature=1.0, seed=seed, max_tokens=60).token_ids for seed in range(4)]
    p_values = np.array(
        [
            found(text, scheme, key=WatermarkKey.from_text(f"{number:032x}"), nonce=0).p_value
            for text in texts
            for scheme in ("gumbel", "synthid")
            for number in range(60)
        ]
    )
    assert 0.4 < p_values.mean() < 0.6
    assert 20 <= (p_values < 0.1).sum() <= 80  # 480 p-values, 48 expected; outside with probability below 1e-5
    blind = np.array([found(texts[0], key=WatermarkKey.from_text(f"{number:032x}")).p_value for number in range(60)])
    assert 0.3 < blind.mean() < 0.7  # the 16 nonces are counted


def test_text_is_found_after_it_is_laid_out_anew_and_cut_into_tokens_again() -> None:
    result = marked("gumbel", max_tokens=400)
    assert result.complete
    assert found(result.text).is_marked
    compact = laid_out(result.text, "compact")
    assert "\n" not in compact
    assert laid_out(compact, "indent=2") == result.text
    assert found(compact).is_marked


def test_what_leaves_the_schema_is_told_and_not_scored() -> None:
    result = marked()
    detection = found([*result.token_ids[:20], 5, *result.token_ids[20:]])
    assert detection.refused_at is not None
    assert detection.refused_at <= 20
    assert "the schema does not allow token" in detection.reason


def test_short_text_cannot_be_told() -> None:
    detection = found(list(marked().token_ids[:14]), key=WatermarkKey.from_text("22" * 16))
    assert detection.is_marked is None
    assert detection.reason.startswith("too short to tell")
    nothing = found([], schema=None)
    assert (nothing.is_marked, nothing.p_value) == (None, 1.0)
    assert "nothing can be scored" in nothing.reason


def test_another_fingerprint_is_an_error() -> None:
    result = marked()
    with pytest.raises(WatermarkError, match=r"fingerprint: expected [0-9a-f]{16} .*, got 0000"):
        found(result.token_ids, fingerprint="0000")
    with pytest.raises(WatermarkError, match="got a vocabulary; pass token ids"):
        detect(result.text, model().engine.vocabulary, key=KEY, config=config())
    with pytest.raises(WatermarkError, match=r"expected a grammars\.Vocabulary"):
        detect(result.text, 7, key=KEY, config=config())
    with pytest.raises(ValueError, match="level: expected"):
        found(result.token_ids, level=2.0)
    with pytest.raises(WatermarkError, match="weights: expected one for each of"):
        found(result.token_ids, weights=[1.0])


@pytest.mark.parametrize("scheme", ["gumbel", "kgw", "synthid"])
def test_weights_choose_what_counts(scheme: str) -> None:
    result = marked(scheme)
    plain = found(result.token_ids, scheme)
    size = plain.num_free
    same = found(result.token_ids, scheme, weights=[1.0] * size)
    assert same.p_value == pytest.approx(plain.p_value)
    half = found(result.token_ids, scheme, weights=[1.0 if place % 2 else 0.0 for place in range(size)])
    assert 0 < half.num_scored < plain.num_scored
    if scheme == "kgw":
        graded = found(result.token_ids, scheme, weights=[1.0 if place % 2 else 0.5 for place in range(size)])
        assert graded.p_value < 1e-3


def test_the_same_prompt_has_other_texts_under_other_seeds_and_the_same_under_the_same() -> None:
    texts = [marked(seed=seed, max_tokens=40).token_ids for seed in range(8)]
    assert len(set(texts)) > 4
    assert texts[3] == marked(seed=3, max_tokens=40).token_ids
    samples = model().generate("hi", SCHEMA, temperature=1.0, max_tokens=40, watermark=config(), n=4).samples
    assert len({sample.token_ids for sample in samples}) == 4


def test_the_page_stands_alone_and_shows_every_token() -> None:
    result = marked()
    html = page([("<one>", found(result.token_ids))], model().engine.vocabulary)
    assert "&lt;one&gt;" in html
    assert "<script" not in html
    assert "http" not in html
    assert all(f'class="{kind}"' in html for kind in ("forced", "for", "against"))


def test_detection_needs_no_torch() -> None:
    result = marked()
    program = f"""
import sys
sys.modules["torch"] = sys.modules["transformers"] = None
import grammars, json
from constrained.watermark import WatermarkConfig, WatermarkKey, detect
tokens = [None if token is None else bytes.fromhex(token) for token in json.load(sys.stdin)]
vocabulary = grammars.Vocabulary.from_bytes(tokens, eos_token_ids=[2])
found = detect({list(result.token_ids)}, vocabulary, key=WatermarkKey.from_text("{KEY.text}"),
               config=WatermarkConfig(key_env="NONE"), schema={SCHEMA!r})
print(found.p_value)
"""
    tokens = [None if token is None else token.hex() for token in model().engine.vocabulary.tokens]
    done = subprocess.run(
        [sys.executable, "-c", program],
        input=json.dumps(tokens),
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    assert float(done.stdout) == found(result.token_ids).p_value


@pytest.mark.parametrize("schema", [SCHEMA, None])
def test_entropy_weights_are_one_for_each_free_token(schema: Any) -> None:
    from constrained.watermark.entropy import entropy_weights

    prompt_ids = model().tokenizer.chat_prompt([{"role": "user", "content": "hi"}])
    result = marked("kgw", schema=schema)
    plain = found(result.token_ids, "kgw", schema=schema)
    for method in ("sweet", "ewd"):
        weights = entropy_weights(model(), result.token_ids, prompt_ids=prompt_ids, schema=schema, method=method)
        assert len(weights) == plain.num_free
        assert min(weights) >= 0.0
        weighted = found(result.token_ids, "kgw", schema=schema, weights=weights)
        assert weighted.is_marked
        assert 0 < weighted.num_scored <= plain.num_scored
    with pytest.raises(ValueError, match="expected 'sweet' or 'ewd'"):
        entropy_weights(model(), result.token_ids, prompt_ids=prompt_ids, method="none")
