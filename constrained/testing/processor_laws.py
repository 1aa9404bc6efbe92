"""The laws of logits processors as `transformers` calls them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import seed as seeded
from hypothesis import strategies as st
from hypothesis.errors import Flaky
from torch import Tensor

from grammars.vocabulary import Vocabulary

from .adapters.base import Language
from .adapters.processors import ProcessorSession, TransformersProcessor
from .budget import examples_of, seed_of
from .faults import Fault, LawBroken, shown
from .judge import JsonschemaJudge
from .laws import Checked, check_matcher
from .records import note_check
from .strategies.logits import LogitsKind, logits

__all__ = ["check_logits_processor"]

_STEPS = 12


def check_logits_processor(
    factory: Callable[[], TransformersProcessor],
    schema: Any,
    tokenizer: Any,
    *,
    vocab_size: int | None = None,
    prompt_ids: tuple[int, ...] = (0,),
    examples: int | None = None,
    seed: int | None = None,
    max_tokens: int = 60,
    keeps_scores: bool = True,
) -> Checked:
    """Hold a masking processor to the laws. Raises :class:`~.faults.LawBroken`, with a small run.

    ``factory`` makes a fresh processor, ``(input_ids (B, T), scores (B, V)) -> scores``, that masks by a JSON
    ``schema``; with ``schema=None`` texts are not judged. ``tokenizer`` is a fast one of `transformers`, ours, or a
    :class:`grammars.Vocabulary`; ``vocab_size`` is V where it is more than the tokenizer has. To the laws of
    :func:`~.laws.check_matcher`, on what is not -inf, come these, with adversarial scores:

    - no score becomes NaN or inf, and what was -inf stays so;
    - what is masked is so whatever its score: a bias never revives it;
    - the rows of a batch are what they are alone;
    - what is allowed keeps its score (unless not ``keeps_scores``).

    >>> import grammars
    >>> from constrained.integrations.transformers import GrammarProcessor
    >>> from constrained.testing.walks import walking_vocabulary
    >>> grammar = grammars.compile_json_schema({"type": "boolean"}, walking_vocabulary())
    >>> checked = check_logits_processor(lambda: GrammarProcessor(grammar), {"type": "boolean"}, grammar.vocabulary)
    """
    vocabulary = _vocabulary_of(tokenizer, vocab_size)
    number, first = examples_of(examples), seed_of(seed)
    judge = None if schema is None else JsonschemaJudge(schema)
    language = "" if schema is None else Language.from_schema(schema).text
    about = Fault(law="", expected="", got="", language=language, seed=first)
    checked = check_matcher(
        lambda: ProcessorSession(factory(), vocabulary, prompt_ids=prompt_ids),
        is_member=None if judge is None else lambda text: judge.takes(text, repeated_names=True),
        examples=number,
        seed=first,
        max_tokens=max_tokens,
        about=about,
    )

    @st.composite
    def runs(draw: st.DrawFn) -> None:
        _Run(draw, factory, vocabulary, prompt_ids, about, keeps_scores).run()

    @seeded(first)
    @settings(max_examples=number, database=None, deadline=None, suppress_health_check=list(HealthCheck))
    @given(runs())
    def check(ran: None) -> None:
        """All is done while drawing, so that only the fault is reported."""

    try:
        check()
    except LawBroken as broken:
        raise LawBroken(broken.fault) from None
    except Flaky as error:
        raise LawBroken(
            replace(about, law="the same run gives the same scores", expected="the same", got=str(error))
        ) from None
    note_check("check_logits_processor", runs_of_rows=number)
    return checked


def _vocabulary_of(tokenizer: Any, size: int | None) -> Vocabulary:
    from constrained.model.tokenizer import Tokenizer

    if isinstance(tokenizer, Vocabulary):
        return tokenizer
    if isinstance(tokenizer, Tokenizer):
        return tokenizer.vocabulary(tokenizer.size if size is None else size)
    return Vocabulary.from_tokenizer(tokenizer, size=size)


class _Run:
    """Two rows in step, each with a processor of its own beside the one that has both."""

    def __init__(
        self,
        draw: st.DrawFn,
        factory: Callable[[], TransformersProcessor],
        vocabulary: Vocabulary,
        prompt_ids: tuple[int, ...],
        about: Fault,
        keeps_scores: bool,
    ) -> None:
        self.draw, self.vocabulary, self.about, self.keeps_scores = draw, vocabulary, about, keeps_scores
        self.start = len(prompt_ids)
        self.rows = [list(prompt_ids), list(prompt_ids)]
        self.together = factory()
        self.alone = [factory(), factory()]

    def run(self) -> None:
        ends = set(self.vocabulary.eos_token_ids)
        for _ in range(_STEPS):
            given_scores = torch.stack([self.scores(), self.scores()])  # (2, V)
            scores = self.together(torch.tensor(self.rows), given_scores.clone())
            for place in range(2):
                self.check(place, given_scores[place], scores[place])
            for place in range(2):
                allowed = (scores[place] > -torch.inf).nonzero()[:, 0].tolist()
                ways = [token_id for token_id in allowed if token_id not in ends]
                if not ways:
                    return
                self.rows[place].append(self.draw(st.sampled_from(ways)))

    def scores(self) -> Tensor:
        row = torch.from_numpy(self.draw(logits(self.vocabulary, kind=self.draw(_KINDS))))
        return row.clamp(-1e9, 1e9) + torch.where(row > -torch.inf, 0.0, -torch.inf)

    def check(self, place: int, before: Tensor, after: Tensor) -> None:
        if after.shape != before.shape:
            self.broken(place, "scores keep their shape", str(tuple(before.shape)), str(tuple(after.shape)))
        if bool(after.isnan().any()) or bool((after == torch.inf).any()):
            self.broken(place, "no score becomes NaN or inf", "numbers, or -inf", "NaN or inf")
        single = self.alone[place](torch.tensor([self.rows[place]]), torch.zeros(1, len(before)))[0] > -torch.inf
        revived = ((after > -torch.inf) & (before == -torch.inf)).nonzero()[:, 0].tolist()
        if revived:
            self.broken(place, "what was -inf stays so", "-inf", f"id {revived[0]} has {after[revived[0]]}")
        allowed = after > -torch.inf
        wrong = (allowed & ~single).nonzero()[:, 0].tolist()
        if wrong:
            law = "a row of a batch is what it is alone, and no score revives what is masked"
            self.broken(place, law, "-inf", f"id {wrong[0]} with a score of {before[wrong[0]]} is allowed")
        missing = (~allowed & single & (before > -torch.inf)).nonzero()[:, 0].tolist()
        if missing:
            self.broken(place, "a row of a batch is what it is alone", f"id {missing[0]} allowed", "masked")
        if self.keeps_scores:
            changed = (allowed & (after != before)).nonzero()[:, 0].tolist()
            if changed:
                got = f"id {changed[0]}: {after[changed[0]]}"
                self.broken(place, "what is allowed keeps its score", str(before[changed[0]].item()), got)

    def broken(self, place: int, law: str, expected: str, got: str) -> None:
        written = self.rows[place][self.start :]
        text = b"".join(self.vocabulary.tokens[token_id] or b"" for token_id in written)
        raise LawBroken(
            replace(
                self.about,
                law=law,
                expected=expected,
                got=got,
                token_ids=tuple(written),
                text=shown(text),
                extra={"row": f"{place} of 2"},
            )
        )


_EVERY_KIND: tuple[LogitsKind, ...] = ("random", "adversarial", "greedy-trap")
_KINDS = st.sampled_from(_EVERY_KIND)
