"""A language model over three letters whose texts can all be listed, and a grammar that takes few of them."""

from __future__ import annotations

import functools
import itertools
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch

from constrained.loop import Engine, Request
from constrained.sampling_config import SamplingConfig
from grammars.errors import TokenRefused
from grammars.vocabulary import Vocabulary

LETTERS = (b"a", b"b", b"c")
END = 3
MOST = 5
VOCABULARY = Vocabulary.from_bytes([*LETTERS, None], eos_token_ids=[END])

Text = tuple[int, ...]


@functools.cache
def chances(text: Text) -> tuple[float, ...]:
    """The model's distribution after a text."""
    number = sum((token_id + 1) * 5**place for place, token_id in enumerate(text))
    generator = np.random.Generator(np.random.Philox(key=np.array([7, number], np.uint64)))
    return tuple(generator.dirichlet([0.7, 0.7, 0.7, 0.5]))


def is_in(text: Sequence[int]) -> bool:
    """The language: as many a as b."""
    return text.count(0) == text.count(1)


def texts() -> list[Text]:
    """All texts of the language."""
    return [text for size in range(MOST + 1) for text in itertools.product(range(3), repeat=size) if is_in(text)]


def probability(text: Text) -> float:
    """That the model writes just this text."""
    return math.prod(chances(text[:place])[token_id] for place, token_id in enumerate(text)) * chances(text)[END]


def target() -> dict[Text, float]:
    """The model's own distribution among the texts of the language."""
    weights = {text: probability(text) for text in texts()}
    total = sum(weights.values())
    return {text: weight / total for text, weight in weights.items()}


def total_probability() -> float:
    """Of all texts of the language."""
    return sum(map(probability, texts()))


class ToyMatcher:
    """Exact masks: a token is allowed if some text of the language goes on with it. ``is_local``: any letter is, and an
    end only where the text is in the language, so that some ways lead nowhere."""

    def __init__(self, ids: Iterable[int] = (), *, is_local: bool = False) -> None:
        self.ids = list(ids)
        self.is_local = is_local

    @property
    def is_accepting(self) -> bool:
        return is_in(self.ids) and END not in self.ids

    @property
    def is_terminated(self) -> bool:
        return END in self.ids

    has_open_guard = False
    allows_special = False

    def denials(self) -> tuple[str, ...]:
        return ()

    def allows(self, token_id: int) -> bool:
        if END in self.ids:
            return False
        if token_id == END:
            return is_in(self.ids)
        if self.is_local:
            return len(self.ids) < MOST
        after = [*self.ids, token_id]
        return abs(after.count(0) - after.count(1)) <= MOST - len(after)

    def fill_next_token_bitmask(self, bitmask: Any, row: int = 0) -> None:
        bitmask[row] = sum(1 << token_id for token_id in range(4) if self.allows(token_id))

    def consume(self, token_id: int) -> None:
        if not self.allows(token_id):
            raise TokenRefused(token_id, "not in the language")
        self.ids.append(token_id)

    def try_consume(self, token_ids: Sequence[int]) -> int:
        for count, token_id in enumerate(token_ids):
            if not self.allows(token_id):
                return count
            self.ids.append(token_id)
        return len(token_ids)

    def consume_bytes(self, data: bytes) -> bool:
        return False

    def forced_bytes(self) -> bytes:
        return b""

    def forced_special(self) -> None:
        return None

    def forced_tokens(self) -> list[int]:
        return []

    def rollback(self, num_tokens: int) -> None:
        del self.ids[len(self.ids) - num_tokens :]

    def fork(self) -> ToyMatcher:
        return ToyMatcher(self.ids, is_local=self.is_local)


class ToyCache:
    def __init__(self) -> None:
        self.ids: list[int] = []

    num_bytes = 0

    @property
    def length(self) -> int:
        return len(self.ids)

    def truncate(self, length: int) -> None:
        del self.ids[length:]


class ToyModel:
    config: Any = SimpleNamespace(max_position_embeddings=64)
    vocab_size = 4
    device = torch.device("cpu")

    def new_cache(self, batch_size: int, capacity: int) -> ToyCache:
        return ToyCache()

    def forward_rows(self, rows: Any, caches: Any, *, all_positions: bool = False) -> torch.Tensor:
        logits = []
        for row, cache in zip(rows, caches, strict=True):
            cache.ids += list(row)
            logits.append(np.log(chances(tuple(cache.ids[1:]))))
        return torch.tensor(np.array(logits), dtype=torch.float32)


ENGINE = Engine(ToyModel(), SimpleNamespace(tokenize=lambda text: []), VOCABULARY, 64)


def request(*, is_local: bool = False, **settings: Any) -> Request:
    """After a prompt of one token."""
    return Request(
        prompt_ids=[0],
        matcher=ToyMatcher(is_local=is_local),
        sampling=SamplingConfig(**({"temperature": 1.0} | settings)),
        max_tokens=MOST,
    )


def total_variation(counts: Counter[Text], law: dict[Text, float]) -> float:
    """Between the shares of what was drawn and a law."""
    number = sum(counts.values())
    return 0.5 * sum(abs(counts[text] / number - law.get(text, 0.0)) for text in {*counts, *law})


def noise_floor(law: dict[Text, float], number: int) -> float:
    """The mean of the total variation for ``number`` draws from the law itself."""
    return 0.5 * math.sqrt(2 / math.pi) * sum(math.sqrt(share * (1 - share) / number) for share in law.values())
