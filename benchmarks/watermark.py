"""How well marks are found, how rarely they are found where there are none, and what they cost.

    python -m benchmarks.watermark --folder DIR [--documents 120] [--marked 40] [--keys 60]

Documents of the real model under one JSON Schema are made once and kept in DIR (``watermark_documents.py``; about a
quarter of an hour for 120 unmarked and 60 marked ones on one thread); the statistics run again in minutes. Seeds are
fixed. ``--without-model`` leaves out what needs DIR. The last line is one JSON object.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import grammars
from constrained.philox import gumbel, philox_word
from constrained.watermark import WatermarkConfig, WatermarkKey
from constrained.watermark.contexts import Marker
from constrained.watermark.green import SMALL, threshold_of
from constrained.watermark.lefthash import left_green_ids
from constrained.watermark.replay import FreePosition, Replay, replay
from constrained.watermark.scores import Score, score
from constrained.watermark.statistics import gamma_tail, poisson_binomial_tail, weighted_bits_tail
from constrained.watermark.tournament import layer_weights

DELTA = 2.0
GAMMA = 0.25


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, help="where documents are kept, or made if they are not there")
    parser.add_argument("--documents", type=int, default=120)
    parser.add_argument("--marked", type=int, default=40)
    parser.add_argument("--keys", type=int, default=60)
    parser.add_argument("--without-model", action="store_true")
    options = parser.parse_args()
    figures: dict[str, Any] = {"benchmark": "watermark"}
    figures["distortion"] = distortion(draws=100_000)
    _print("Gumbel: distortion over keys", figures["distortion"])
    if not options.without_model:
        if options.folder is None:
            parser.error("--folder is needed, or --without-model")
        figures |= with_documents(options.folder, options.documents, options.marked, options.keys)
    print(json.dumps(figures))


def with_documents(folder: Path, documents: int, marked: int, keys: int) -> dict[str, Any]:
    """All figures that need the real model's documents."""
    from benchmarks.watermark_documents import make_documents

    made = {}
    for mode, count in (("plain", documents), ("kgw", marked), ("gumbel", max(marked // 2, 1))):
        make_documents(folder, mode=mode, count=count)
        made[mode] = json.loads((folder / f"{mode}.json").read_text())["documents"][:count]
    choices = json.loads((folder / "choices.json").read_text())
    vocabulary, grammar = _vocabulary_and_grammar()
    replays = {
        mode: [replay(ids, vocabulary, grammar.matcher(), context_width=4) for ids in texts]
        for mode, texts in made.items()
    }
    figures: dict[str, Any] = {"documents": {mode: len(texts) for mode, texts in made.items()}}
    for name, found in (
        ("null", null(replays["plain"], keys)),
        ("power", power(choices, trials=1000)),
        ("aware", aware(replays, made)),
        ("nats", nats(choices)),
    ):
        figures[name] = found
        _print(name, found)
    return figures


def _vocabulary_and_grammar() -> tuple[grammars.Vocabulary, grammars.CompiledGrammar]:
    from benchmarks.watermark_documents import SCHEMA
    from constrained.model.embedded import default_model_folder
    from constrained.output_types import output_type_from

    vocabulary = grammars.Vocabulary.from_tokenizer_json(default_model_folder(progress=print) / "tokenizer.json")
    return vocabulary, grammars.compile_ir(output_type_from(SCHEMA).lower(whitespace="indent=2"), vocabulary)


def _key(number: int) -> WatermarkKey:
    return WatermarkKey.from_text(f"{0xFACE:032x}{number:032x}")


def _config(scheme: str) -> WatermarkConfig:
    from benchmarks.watermark_documents import digest_of_schema

    digest = digest_of_schema()
    return WatermarkConfig(scheme=scheme, key_env="UNUSED", nonces=1, schema_digest=digest)  # type: ignore[arg-type]


# -- the null ------------------------------------------------------------------------------------------------------


def null(texts: list[Replay], keys: int) -> dict[str, Any]:
    """Unmarked documents of one schema under many keys: is each key's p-value uniform, and how often is it small?

    Scores of green lists are whole numbers, so their p-value is drawn between those of this score and the next
    (randomised); that of other schemes is used as it is. ``naive`` scores every token after the one before it, by
    transformers' rule (lefthash, no deduplication).
    """
    generator = np.random.Generator(np.random.Philox(11))
    found: dict[str, Any] = {}
    for scheme in ("gumbel", "kgw", "synthid"):
        config = _config(scheme)
        p_values = np.array(
            [
                [
                    _randomised(score(text.free, Marker(config, _key(number), nonce=0)), scheme, generator)
                    for text in texts
                ]
                for number in range(keys)
            ]
        )
        found[scheme] = _uniformity(p_values)
    short = texts[: min(40, len(texts))]  # a list of the whole vocabulary is permuted for each token and key
    naive = np.array([[_naive(text, 1000 + number, generator) for text in short] for number in range(min(keys, 20))])
    found["naive: transformers' rule"] = _uniformity(naive) | {"documents": len(short), "keys": len(naive)}
    return found


def _randomised(found: Score, scheme: str, generator: np.random.Generator) -> float:
    if scheme != "kgw":
        return found.p_value
    chances = [token.expected for token in found.tokens]
    above = poisson_binomial_tail(chances, round(found.statistic) + 1)
    return above + generator.random() * (found.p_value - above)


def _naive(text: Replay, hashing_key: int, generator: np.random.Generator) -> float:
    pairs = zip(text.token_ids[:-1], text.token_ids[1:], strict=True)
    hits = [token_id in _left_set(before, hashing_key) for before, token_id in pairs]
    at_least, above = (poisson_binomial_tail([GAMMA] * len(hits), sum(hits) + more) for more in (0, 1))
    return above + generator.random() * (at_least - above)


_LEFT: dict[tuple[int, int], frozenset[int]] = {}


def _left_set(before: int, hashing_key: int) -> frozenset[int]:
    if (before, hashing_key) not in _LEFT:
        ids = left_green_ids(before, vocab_size=49_152, gamma=GAMMA, hashing_key=hashing_key)
        _LEFT[before, hashing_key] = frozenset(ids.tolist())
    return _LEFT[before, hashing_key]


def _uniformity(p_values: NDArray[np.float64]) -> dict[str, Any]:
    """For (keys, documents): keys that fail KS at 1 %, the spread of keys' mean z, and rates of false positives."""
    failing = sum(_ks_p(row) < 0.01 for row in p_values)
    z_scores = np.array([[_normal_quantile(1 - p) for p in np.clip(row, 1e-12, 1 - 1e-12)] for row in p_values])
    rates = {}
    for level in (1e-2, 1e-3):
        hits, number = int((p_values <= level).sum()), p_values.size
        low, high = _binomial_bounds(number, level)
        rates[f"{level:g}"] = {
            "rate": hits / number,
            "hits": hits,
            "bounds": [low, high],
            "inside": low <= hits <= high,
        }
    return {
        "keys failing KS at 1 %": failing,
        "keys": len(p_values),
        "sd of keys' mean z": float(z_scores.mean(axis=1).std()),
        "ideal sd": 1 / math.sqrt(p_values.shape[1]),
        "false positives": rates,
    }


def _ks_p(values: NDArray[np.float64]) -> float:
    """p-value of the Kolmogorov-Smirnov test against the uniform law (Stephens' approximation of its tail)."""
    ordered, number = np.sort(values), len(values)
    places = np.arange(1, number + 1)
    distance = max(float((places / number - ordered).max()), float((ordered - (places - 1) / number).max()))
    scaled = (math.sqrt(number) + 0.12 + 0.11 / math.sqrt(number)) * distance
    return min(1.0, 2 * sum((-1) ** (k - 1) * math.exp(-2 * (k * scaled) ** 2) for k in range(1, 101)))


def _binomial_bounds(number: int, chance: float) -> tuple[int, int]:
    """The least and most hits that a binomial law has with probability 99 %, half a percent cut off on either side."""
    logs = np.array([math.lgamma(number + 1) - math.lgamma(k + 1) - math.lgamma(number - k + 1) for k in range(400)])
    law = np.exp(logs + np.arange(400) * math.log(chance) + (number - np.arange(400)) * math.log1p(-chance))
    sums = np.cumsum(law)
    return int(np.searchsorted(sums, 0.005)), int(np.searchsorted(sums, 0.995))


def _normal_quantile(p: float) -> float:
    from statistics import NormalDist

    return NormalDist().inv_cdf(p)


# -- power ---------------------------------------------------------------------------------------------------------


def power(choices: list[dict[str, Any]], *, trials: int, level: float = 1e-3) -> dict[str, Any]:
    """Share of marked texts that are found, by the number of their free tokens.

    Each free token's distribution is one of the real model's at a free position of its JSON, drawn with replacement;
    its token is drawn as the pipeline draws it, under a key of its own.
    """
    generator = np.random.Generator(np.random.Philox(12))
    found: dict[str, Any] = {}
    for temperature in (1.0, 0.7):
        for scheme in ("gumbel", "kgw", "synthid"):
            draw, p_value_of = _DRAWS[scheme], _P_VALUES[scheme]
            rates: dict[str, float] = {}
            for length in (16, 25, 50):
                hits = 0
                for _ in range(trials):
                    picked = generator.integers(0, len(choices), length)
                    drawn = [
                        draw(*_distribution(choices[index], temperature), choices[index], generator) for index in picked
                    ]
                    hits += p_value_of(drawn) <= level
                rates[str(length)] = hits / trials
            found[f"{scheme}, temperature {temperature:g}"] = rates
    return found


def _distribution(choice: dict[str, Any], temperature: float) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    logs = np.array(choice["logprobs"]) / temperature
    chances = np.exp(logs - logs.max())
    return np.array(choice["ids"]), chances / chances.sum()


def _words(ids: NDArray[np.int64], generator: np.random.Generator) -> NDArray[np.int64]:
    """Words of these ids under a key and context of their own: that Philox's words are uniform is tested elsewhere."""
    return generator.integers(0, 2**32, len(ids))


def _draw_gumbel(
    ids: NDArray[np.int64], chances: NDArray[np.float64], choice: dict[str, Any], generator: np.random.Generator
) -> float:
    words = _words(ids, generator)
    uniform = (words + 0.5) * 2.0**-32
    place = int(np.argmax(np.log(np.maximum(chances, 1e-300)) - np.log(-np.log(uniform))))
    return -math.log1p(-float(uniform[place]))


def _draw_kgw(
    ids: NDArray[np.int64], chances: NDArray[np.float64], choice: dict[str, Any], generator: np.random.Generator
) -> tuple[bool, float]:
    green, gamma = _green(ids, choice, generator)
    raised = np.where(green, chances * math.exp(DELTA), chances)
    return bool(green[generator.choice(len(ids), p=raised / raised.sum())]), gamma


def _green(
    ids: NDArray[np.int64], choice: dict[str, Any], generator: np.random.Generator
) -> tuple[NDArray[np.bool_], float]:
    words = _words(ids, generator)
    if choice["allowed"] <= SMALL:
        green = np.zeros(len(ids), np.bool_)
        green[np.argsort(words)[: max(1, round(GAMMA * len(ids)))]] = True
        return green, float(green.sum()) / len(ids)
    return words < threshold_of(GAMMA), GAMMA


def _draw_synthid(
    ids: NDArray[np.int64], chances: NDArray[np.float64], choice: dict[str, Any], generator: np.random.Generator
) -> int:
    words = _words(ids, generator)
    weights = chances.copy()
    for layer in range(30):
        bit = (words >> layer) & 1
        weights *= 1.0 + bit - min(float((weights * bit).sum()), 1.0)
    word = int(words[generator.choice(len(ids), p=weights / weights.sum())])
    return int(((word >> np.arange(30)) & 1) @ layer_weights(30))


_DRAWS: dict[str, Callable[..., Any]] = {"gumbel": _draw_gumbel, "kgw": _draw_kgw, "synthid": _draw_synthid}
_P_VALUES: dict[str, Callable[[list[Any]], float]] = {
    "gumbel": lambda drawn: gamma_tail(len(drawn), sum(drawn)),
    "kgw": lambda drawn: poisson_binomial_tail([gamma for _, gamma in drawn], sum(green for green, _ in drawn)),
    "synthid": lambda drawn: weighted_bits_tail(layer_weights(30), len(drawn), sum(drawn)),
}


# -- what knowing the mask is worth ----------------------------------------------------------------------------------


def aware(replays: dict[str, list[Replay]], made: dict[str, list[list[int]]]) -> dict[str, Any]:
    """Mean z of marked documents: scored at their free tokens, and at all tokens of the same text.

    The naive score takes every token, each (context, token) once, with the context that marked it.
    """
    from benchmarks.watermark_documents import key_of

    found: dict[str, Any] = {}
    for mode in ("kgw", "gumbel"):
        config = _config(mode)
        ours, naive, rates = [], [], []
        for number, text in enumerate(replays[mode]):
            marker = Marker(config, key_of(mode, number), nonce=0)
            scored = score(text.free, marker)
            ours.append(scored.z_score)
            rates.append(scored.p_value <= 1e-3)
            naive.append(score(_every_token(text), marker).z_score)
        found[mode] = {
            "documents": len(ours),
            "mean z, mask-aware": float(np.mean(ours)),
            "mean z, naive": float(np.mean(naive)),
            "ratio": float(np.mean(ours) / np.mean(naive)),
            "found at 1e-3": float(np.mean(rates)),
            "tokens": float(np.mean([len(text.token_ids) for text in replays[mode]])),
            "free tokens": float(np.mean([len(text.free) for text in replays[mode]])),
        }
    return found


def _every_token(text: Replay) -> list[FreePosition]:
    """All tokens as if free, where the free ones keep their context and lists."""
    free = {position.index: position for position in text.free}
    listed: list[FreePosition] = []
    last: tuple[int, ...] = ()
    for index, token_id in enumerate(text.token_ids):
        position = free.get(index)
        if position is None:
            listed.append(FreePosition(index, token_id, last, None))
            continue
        listed.append(FreePosition(index, token_id, position.context, None))
        last = (*position.context, token_id)[-4:]
    return listed


# -- what marks cost -------------------------------------------------------------------------------------------------


def nats(choices: list[dict[str, Any]], *, temperature: float = 1.0) -> dict[str, Any]:
    """Mean loss of log-probability per free token: what is drawn with marks against what is drawn without."""
    generator = np.random.Generator(np.random.Philox(13))
    losses: dict[str, list[float]] = {"gumbel": [], "kgw": []}
    for choice in choices:
        ids, chances = _distribution(choice, temperature)
        entropy = -float((chances * np.log(np.maximum(chances, 1e-300))).sum())
        for _ in range(4):
            words = _words(ids, generator)
            noise = -np.log(-np.log((words + 0.5) * 2.0**-32))
            place = int(np.argmax(np.log(np.maximum(chances, 1e-300)) + noise))
            losses["gumbel"].append(-math.log(chances[place]) - entropy)
            green, _gamma = _green(ids, choice, generator)
            raised = np.where(green, chances * math.exp(DELTA), chances)
            raised /= raised.sum()
            losses["kgw"].append(-float((raised * np.log(np.maximum(chances, 1e-300))).sum()) - entropy)
    return {
        scheme: {"nats": float(np.mean(values)), "standard error": float(np.std(values) / math.sqrt(len(values)))}
        for scheme, values in losses.items()
    }


def distortion(*, draws: int) -> dict[str, Any]:
    """Chi-square of tokens drawn under many contexts against the distribution they were drawn from, masked."""
    chances = np.array([0.3, 0.25, 0.2, 0.12, 0.08, 0.04, 0.01])
    ids = np.array([3, 17, 40, 41, 300, 7000, 49_000])
    started = time.perf_counter()
    marker = Marker(WatermarkConfig(key_env="UNUSED"), _key(0), nonce=0)
    counts = np.zeros(len(ids), np.int64)
    logs = np.log(chances)
    for context in range(draws):
        key = marker.words_key(marker.context_of([context, context + 1]))
        noise = np.array([float(gumbel(int(philox_word(int(token_id), key)))) for token_id in ids])
        counts[int(np.argmax(logs + noise))] += 1
    expected = chances * draws
    chi_square = float(((counts - expected) ** 2 / expected).sum())
    # The law of chi-square with 6 degrees of freedom is that of twice a sum of 3 exponential variables.
    return {
        "draws": draws,
        "chi-square": chi_square,
        "degrees of freedom": len(ids) - 1,
        "p-value": gamma_tail((len(ids) - 1) // 2, chi_square / 2),
        "seconds": time.perf_counter() - started,
    }


def _print(title: str, figures: dict[str, Any], indent: int = 0) -> None:
    print("  " * indent + title)
    for name, value in figures.items():
        if isinstance(value, dict):
            _print(str(name), value, indent + 1)
        else:
            shown = f"{value:.4g}" if isinstance(value, float) else str(value)
            print("  " * (indent + 1) + f"{name}: {shown}")


if __name__ == "__main__":
    main()
