"""The laws of whatever computes token masks, on random walks that Hypothesis draws and shrinks."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, NoReturn, TypeVar

import numpy as np
import numpy.typing as npt
from hypothesis import HealthCheck, given, settings
from hypothesis import seed as seeded
from hypothesis import strategies as st
from hypothesis.errors import Flaky

from grammars import Matcher
from grammars.vocabulary import Vocabulary

from .adapters.base import Session
from .adapters.ours import OurSession
from .budget import TimeUp, examples_of, seed_of
from .faults import Fault, LawBroken, shown
from .records import note_check

__all__ = ["Checked", "check_matcher", "walk_faults"]

T = TypeVar("T")
Mask = npt.NDArray[np.bool_]
_ENDS_SOON = (b"}", b"]", b'"', b"0", b",", b":")
_FEW_PROBES = 10
_MOST_PROBES = 512


@dataclass(slots=True)
class Checked:
    """What was tried, where nothing was wrong."""

    walks: int = 0
    tokens: int = 0
    finished: int = 0
    """Walks that came to an end of their own."""
    dead_ends: int = 0
    """Walks that came to where nothing is allowed, in an implementation that goes back then."""
    mask_seconds_max: float = 0.0


def check_matcher(
    factory: Callable[[], Session | Matcher],
    *,
    is_member: Callable[[bytes], bool] | None = None,
    examples: int | None = None,
    seed: int | None = None,
    max_tokens: int = 60,
    max_mask_seconds: float | None = None,
    max_seconds: float | None = None,
    about: Fault | None = None,
) -> Checked:
    """Hold an implementation of token masks to the laws. Raises :class:`~.faults.LawBroken`, with a small walk.

    ``factory`` makes a fresh :class:`~.adapters.Session` (or a :class:`grammars.Matcher`) at the beginning of a text:

    - a mask is (V,), and ids without a text (special, unused, beyond the tokenizer, empty) are masked;
    - an id that the mask allows can be consumed, and no other;
    - a mask is never empty before the end (unless the session says that it may come to a dead end);
    - an end token is allowed only where ``is_member`` says that the text is complete, and so finished text is valid;
    - the same ids give the same masks, whatever other sessions of the factory do meanwhile;
    - after a roll-back the masks are what they were, and after an end token only end tokens are set, and none is taken;
    - no mask takes longer than ``max_mask_seconds``.

    ``examples`` walks of up to ``max_tokens`` ids are drawn (as many as :func:`~.budget.examples_of` says by default),
    the same for the same ``seed`` (:func:`~.budget.seed_of` by default). After ``max_seconds`` no more are tried.

    >>> import grammars
    >>> from constrained.testing.walks import walking_vocabulary
    >>> compiled = grammars.compile_regex("(ab|c)+", walking_vocabulary())
    >>> check_matcher(compiled.matcher, is_member=lambda text: bool(text), examples=20).walks
    20
    """
    checked = Checked()
    seed = seed_of(seed)
    told = about or Fault(law="", expected="", got="", seed=seed)

    def fresh() -> Session:
        made = factory()
        return OurSession(made) if isinstance(made, Matcher) else made

    def judged(text: bytes) -> bool:
        return True if is_member is None else is_member(text)

    seen: list[Fault] = []
    until = math.inf if max_seconds is None else time.monotonic() + max_seconds

    @st.composite
    def walks(draw: st.DrawFn) -> None:
        if time.monotonic() > until:
            raise TimeUp
        walk = _Walk(draw, fresh, judged, told, max_tokens, max_mask_seconds)
        try:
            walk.run()
        except LawBroken as broken:
            seen.append(broken.fault)
            raise
        checked.walks += 1
        checked.tokens += len(walk.ids)
        checked.finished += walk.is_finished
        checked.dead_ends += walk.is_dead
        checked.mask_seconds_max = max(checked.mask_seconds_max, walk.mask_seconds_max)

    @seeded(seed)
    @settings(max_examples=examples_of(examples), database=None, deadline=None, suppress_health_check=list(HealthCheck))
    @given(walks())
    def check(walked: None) -> None:
        """All is done while drawing, so that only the fault is reported."""

    try:
        check()
    except (LawBroken, Flaky, TimeUp):  # Flaky: it answers in another way the second time, or the time is up
        if seen:
            raise LawBroken(min(seen, key=lambda fault: (len(fault.token_ids), len(fault.text)))) from None
        if time.monotonic() <= until:
            raise
    note_check("check_matcher", walks=checked.walks, tokens=checked.tokens)
    return checked


def walk_faults(factory: Callable[[], Session], **options: Any) -> tuple[Fault | None, Checked | None]:
    """As :func:`check_matcher`, but the fault is given back; what the implementation raises is one too."""
    try:
        return None, check_matcher(factory, **options)
    except LawBroken as broken:
        return broken.fault, None


@dataclass(slots=True)
class _Walk:
    """One walk, and the checks along it."""

    draw: st.DrawFn
    fresh: Callable[[], Session]
    is_member: Callable[[bytes], bool]
    about: Fault
    max_tokens: int
    max_mask_seconds: float | None
    ids: list[int] = field(default_factory=list)
    text: bytes = b""
    masks: list[Mask] = field(default_factory=list)
    is_finished: bool = False
    is_dead: bool = False
    mask_seconds_max: float = 0.0

    def run(self) -> None:
        session = self.of(self.fresh)
        ends = set(session.vocabulary.eos_token_ids)
        eagerness = self.draw(st.sampled_from((2, 1, 0)))
        while len(self.ids) < self.max_tokens:
            mask = self.mask_of(session)
            self.check_mask(session.vocabulary, mask)
            self.masks.append(mask)
            allowed = np.flatnonzero(mask).tolist()
            if not allowed:
                self.is_dead = True
                if not session.may_dead_end:
                    self.broken("a mask is never empty before the end", "some id that may come next", "none")
                break
            self.check_probes(session, mask)
            token_id = self.choose(session.vocabulary, allowed, eagerness)
            if not self.of(session.consume, token_id):
                self.refused(token_id)
            if token_id in ends:
                self.is_finished = True
                self.check_after_end(session)
                break
            self.ids.append(token_id)
            self.text += session.vocabulary.tokens[token_id] or b""
        self.check_again(session.vocabulary)
        if session.can_roll_back:
            self.check_roll_back(session)

    def choose(self, vocabulary: Vocabulary, allowed: list[int], eagerness: int) -> int:
        """An id: what ends things first, now and then or mostly; any other otherwise."""
        soon = min(allowed, key=lambda token_id: _rank(vocabulary, token_id))
        late = len(self.ids) > self.max_tokens // 2
        if len(allowed) == 1 or late or self.draw(st.integers(0, 2)) < eagerness:
            return soon
        return self.draw(st.sampled_from(allowed))

    # -- laws ---------------------------------------------------------------------------------------------------

    def mask_of(self, session: Session) -> Mask:
        started = time.perf_counter()
        mask: Mask = self.of(session.allowed)
        seconds = time.perf_counter() - started
        self.mask_seconds_max = max(self.mask_seconds_max, seconds)
        if self.max_mask_seconds is not None and seconds > self.max_mask_seconds:
            self.broken("a mask takes no longer than its budget", f"{self.max_mask_seconds} s", f"{seconds:.3f} s")
        return mask.copy()

    def check_mask(self, vocabulary: Vocabulary, mask: Mask) -> None:
        if mask.shape != (vocabulary.size,):
            self.broken("a mask is as wide as the vocabulary", f"({vocabulary.size},)", str(mask.shape))
        for token_id in np.flatnonzero(mask).tolist():
            if not vocabulary.tokens[token_id] and token_id not in vocabulary.eos_token_ids:
                self.broken("ids without a text are masked", "0", f"id {token_id} is allowed")
        ends = [token_id for token_id in vocabulary.eos_token_ids if mask[token_id]]
        if ends and not self.is_member(self.text):
            self.broken(
                "an end token is allowed only where the text is complete and valid",
                "no end token: the text is not in the language",
                f"id {ends[0]}, an end token, is allowed",
            )

    def check_probes(self, session: Session, mask: Mask) -> None:
        """Some ids are tried, now and then many: on the session itself where it can go back, else on a fresh one."""
        size = session.vocabulary.size
        match self.draw(st.integers(0, 7)):
            case 7 if session.can_roll_back:
                probes = list(range(self.draw(st.integers(0, size // _MOST_PROBES)), size, 1 + size // _MOST_PROBES))
            case 6 | 7:
                probes = self.draw(st.lists(st.integers(0, size - 1), max_size=_FEW_PROBES, unique=True))
            case _:
                probes = []
        for token_id in probes:
            probed = session if session.can_roll_back else self.replayed(len(self.ids))
            taken = self.of(probed.consume, token_id)
            if taken and not mask[token_id]:
                what = session.vocabulary.tokens[token_id]
                self.broken("no id is consumed that the mask forbids", f"id {token_id} ({what!r}) refused", "taken")
            if not taken and mask[token_id]:
                self.refused(token_id)
            if taken and session.can_roll_back:
                self.of(session.roll_back, 1)

    def check_after_end(self, session: Session) -> None:
        if not session.knows_end:
            return
        ends = sorted(session.vocabulary.eos_token_ids)
        after = np.flatnonzero(self.mask_of(session)).tolist()
        if after != ends:
            self.broken("after the end only end tokens are set", str(ends), str(after[:10]))
        likely = np.flatnonzero(self.masks[-1]).tolist()  # what could have come instead of the end
        for tried in (self.draw(st.integers(0, session.vocabulary.size - 1)), *likely[:_FEW_PROBES], *ends):
            if self.of(session.consume, tried):
                self.broken("after the end nothing is consumed", f"id {tried} refused", "taken")

    def check_again(self, vocabulary: Vocabulary) -> None:
        """The same ids once more, while another session takes steps of its own, up to where it could end."""
        other, again = self.of(self.fresh), self.of(self.fresh)
        steps = min(len(self.masks), self.draw(st.integers(0, len(self.masks))))
        for place in range(steps):
            allowed = np.flatnonzero(self.of(other.allowed)).tolist()
            if allowed and not set(allowed) & set(vocabulary.eos_token_ids):
                self.of(other.consume, allowed[-1 - place % len(allowed)])
            self.check_same("the same ids give the same mask, whatever other sessions do", again, place)
            if place < len(self.ids):
                self.of(again.consume, self.ids[place])

    def check_roll_back(self, session: Session) -> None:
        consumed = len(self.ids) + self.is_finished
        if not consumed:
            return
        count = self.draw(st.integers(1, consumed))
        self.of(session.roll_back, count)
        place = consumed - count
        if place < len(self.masks):
            self.check_same(f"after a roll-back of {count} the mask is what it was", session, place)

    def check_same(self, law: str, session: Session, place: int) -> None:
        mask = self.of(session.allowed)
        wrong = np.flatnonzero(mask != self.masks[place]).tolist()
        if wrong:
            was, now = ("allowed" if value else "forbidden" for value in (self.masks[place][wrong[0]], mask[wrong[0]]))
            self.broken(law, f"id {wrong[0]} {was} after {place} ids", f"{now} ({len(wrong)} ids differ)")

    # -- reports ------------------------------------------------------------------------------------------------

    def replayed(self, count: int) -> Session:
        session = self.of(self.fresh)
        for token_id in self.ids[:count]:
            session.consume(token_id)
        return session

    def of(self, action: Callable[..., T], *arguments: Any) -> T:
        """What an action gives; what it raises is a fault of the implementation."""
        try:
            return action(*arguments)
        except (KeyboardInterrupt, SystemExit, GeneratorExit):
            raise
        except BaseException as error:  # some bindings panic with what is no Exception
            self.broken("an implementation does not crash", "an answer", f"{type(error).__name__}: {error}")

    def refused(self, token_id: int) -> None:
        self.broken("an id that the mask allows can be consumed", f"id {token_id} taken", "refused")

    def broken(self, law: str, expected: str, got: str) -> NoReturn:
        raise LawBroken(
            replace(
                self.about,
                law=law,
                expected=expected,
                got=got,
                token_ids=tuple(self.ids),
                text=shown(self.text),
            )
        )


def _rank(vocabulary: Vocabulary, token_id: int) -> tuple[int, int, int]:
    """Less for what brings a text to its end sooner."""
    token = vocabulary.tokens[token_id] or b""
    if token_id in vocabulary.eos_token_ids:
        return (0, 0, token_id)
    place = _ENDS_SOON.index(token[:1]) if token[:1] in _ENDS_SOON else len(_ENDS_SOON)
    return (1 + place, len(token), token_id)
