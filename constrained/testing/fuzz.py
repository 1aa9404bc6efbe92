"""One language through one engine: what it should take and does not, what it takes and should not, and crashes."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import seed as seeded
from hypothesis import strategies as st
from hypothesis.errors import Flaky, Unsatisfiable
from jsonschema import SchemaError
from jsonschema.validators import validator_for
from referencing.exceptions import Unresolvable

from grammars.ir import IR

from .adapters.base import Engine, Language, Refused, Session
from .budget import TimeUp, examples_of
from .faults import Fault, command_for, shown
from .judge import AGREED_FORMATS, JsonschemaJudge, formats_of
from .laws import walk_faults
from .minimise import minimise
from .recogniser import Recogniser
from .spellings_of_values import texts_of
from .strategies import instances, invalid_instances, near_misses, sentences

__all__ = ["Outcome", "fuzz"]

VALID_REJECTED = "what is valid is taken"
INVALID_ACCEPTED = "what is not valid is refused"
_CRASH = "an implementation does not crash"
_MOST_REPORTED = 3


@dataclass(slots=True, kw_only=True)
class Outcome:
    """What came of one language and one engine."""

    subject: str
    engine: str
    version: str
    seconds: float = 0.0
    tried: int = 0
    """Texts and walks."""
    valid_rejected: int = 0
    invalid_accepted: int = 0
    crashes: int = 0
    laws_broken: int = 0
    """Others: masks that do not agree with consumption, dead ends, ends that come too soon ..."""
    refused: str = ""
    """Why the engine does not read it, in its own words: no fault."""
    faults: list[Fault] = field(default_factory=list)
    """Some of them, as small as they could be made."""

    @property
    def num_faults(self) -> int:
        """All of them."""
        return self.valid_rejected + self.invalid_accepted + self.crashes + self.laws_broken


def fuzz(
    language: Language,
    engine: Engine,
    *,
    subject: str = "",
    examples: int | None = None,
    seed: int = 0,
    max_seconds: float = 60.0,
) -> Outcome:
    """Draw valid and invalid texts and walks over the masks, and compare verdicts; the same for the same ``seed``.

    The judge of a schema is `jsonschema`, that of a regular expression :mod:`re`, that of a grammar a plain recogniser.
    A valid value counts as rejected if the engine takes it in no order of names. What is drawn ends after about
    ``max_seconds``. ValueError for a schema that is none, GrammarError for a grammar that we cannot read.

    >>> from constrained.testing.adapters import engine_of
    >>> from constrained.testing.walks import walking_vocabulary
    >>> outcome = fuzz(Language("regex", "[ab]{2}"), engine_of("ours", walking_vocabulary()), examples=10)
    >>> outcome.num_faults, outcome.faults
    (0, [])
    """
    started = time.monotonic()
    run = _Run(language, engine, subject or language.text, examples_of(examples), seed, started + max_seconds)
    try:
        run.all()
    except Refused as error:
        run.outcome.refused = str(error) or type(error).__name__
    run.outcome.seconds = time.monotonic() - started
    return run.outcome


class _Crash(Exception):
    """What an engine raised."""


class _Run:
    def __init__(
        self, language: Language, engine: Engine, subject: str, examples: int, seed: int, until: float
    ) -> None:
        self.language, self.engine, self.examples, self.seed, self.until = language, engine, examples, seed, until
        self.outcome = Outcome(subject=subject, engine=engine.name, version=engine.version())
        self.cases = _cases_of(language)

    def all(self) -> None:
        try:
            make = self.compiled(self.language)
        except _Crash as crash:
            self.note(_CRASH, "a grammar, or a refusal by name", str(crash), self.language, b"")
            return
        self.texts(make, self.cases.valid, VALID_REJECTED)
        self.texts(make, self.cases.invalid, INVALID_ACCEPTED)
        self.walks(make)

    # -- texts --------------------------------------------------------------------------------------------------

    def texts(self, make: Callable[[], Session], values: st.SearchStrategy[Any] | None, law: str) -> None:
        """Feed texts; one for each value that should be taken, or none."""
        wrong: list[Any] = []
        for value in [] if values is None else self.drawn(values):
            if time.monotonic() > self.until:
                break
            self.outcome.tried += 1
            try:
                if self.takes(make, value, self.language) is (law == INVALID_ACCEPTED):
                    wrong.append(value)
            except _Crash as crash:
                self.note(_CRASH, "an answer", str(crash), self.language, self.cases.texts(value, self.language)[0])
        if law == VALID_REJECTED:
            self.outcome.valid_rejected += len(wrong)
        else:
            self.outcome.invalid_accepted += len(wrong)
        if wrong:
            self.report(min(wrong, key=lambda value: len(repr(value))), law)

    def drawn(self, values: st.SearchStrategy[Any]) -> list[Any]:
        found: list[Any] = []
        until = min(self.until, time.monotonic() + max(5.0, (self.until - time.monotonic()) / 3))

        @seeded(self.seed)
        @settings(
            max_examples=self.examples,
            database=None,
            deadline=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(st.data())
        def each(data: st.DataObject) -> None:
            if time.monotonic() > until:
                raise TimeUp
            found.append(data.draw(values))

        try:
            each()
        except Unsatisfiable:
            return found  # hardly any or none: a schema that allows nothing has no valid value
        except (TimeUp, Flaky):  # Flaky: what Hypothesis makes of a test that ends before it draws
            if time.monotonic() <= until:
                raise
        return found

    def takes(self, make: Callable[[], Session], value: Any, language: Language) -> bool | None:
        """Whether the engine takes a value in some way of writing it; ``None`` where its tokens cannot write it."""
        spelled = [ids for text in self.cases.texts(value, language) if (ids := self.engine.spell(text)) is not None]
        if not spelled:
            return None
        return any(self.reads(make, ids) for ids in spelled)

    def reads(self, make: Callable[[], Session], ids: list[int]) -> bool:
        def read() -> bool:
            session = make()
            return all(session.consume(token_id) for token_id in ids) and session.can_end()

        return bool(_calmly(read))

    def report(self, value: Any, law: str) -> None:
        """The fault, made small where it is one of a schema."""
        language = self.language
        if language.kind == "schema":
            schema, value = minimise(
                language.schema,
                value,
                lambda schema, value: self.shows(schema, value, law),
                max_seconds=max(3.0, min(30.0, self.until - time.monotonic())),
            )
            language = Language.from_schema(schema)
        texts = self.cases.texts(value, language)
        text = next((one for one in texts if self.is_shown_by(one, language, law)), texts[0])
        verdict = "valid" if law == VALID_REJECTED else "not valid"
        got = "refused, in every order of names" if law == VALID_REJECTED else "taken as complete"
        self.note(law, f"{'taken' if law == VALID_REJECTED else 'refused'}: it is {verdict}", got, language, text)

    def is_shown_by(self, text: bytes, language: Language, law: str) -> bool:
        ids = self.engine.spell(text)
        return ids is not None and self.reads(self.compiled(language), ids) is (law == INVALID_ACCEPTED)

    def shows(self, schema: Any, value: Any, law: str) -> bool:
        """Whether a smaller schema and value show the same fault."""
        if isinstance(schema, dict) and not isinstance(schema.get("$schema", ""), str):
            return False
        try:
            validator_for(schema).check_schema(schema)
            verdicts = {JsonschemaJudge(schema, formats=formats).allows(value) for formats in (False, True)}
            if verdicts != {law == VALID_REJECTED}:
                return False
            language = Language.from_schema(schema)
            return self.takes(self.compiled(language), value, language) is (law == INVALID_ACCEPTED)
        except (Refused, _Crash, SchemaError, re.error, RecursionError, Unresolvable):
            return False  # another fault, or no schema any more

    # -- walks --------------------------------------------------------------------------------------------------

    def walks(self, make: Callable[[], Session]) -> None:
        if time.monotonic() > self.until:
            return
        fault, checked = walk_faults(
            make,
            is_member=self.cases.is_member,
            examples=self.examples,
            seed=self.seed,
            max_seconds=self.until - time.monotonic(),
        )
        self.outcome.tried += self.examples if checked is None else checked.walks
        if fault is not None:
            self.note(fault.law, fault.expected, fault.got, self.language, fault.text.encode(), fault.token_ids)

    def compiled(self, language: Language) -> Callable[[], Session]:
        make: Callable[[], Session] = _calmly(lambda: self.engine.compile(language))
        return make

    def note(
        self, law: str, expected: str, got: str, language: Language, text: bytes, token_ids: tuple[int, ...] = ()
    ) -> None:
        if law == _CRASH:
            self.outcome.crashes += 1
        elif law not in (VALID_REJECTED, INVALID_ACCEPTED):
            self.outcome.laws_broken += 1
        if sum(fault.law == law for fault in self.outcome.faults) >= _MOST_REPORTED:
            return
        self.outcome.faults.append(
            Fault(
                law=law,
                expected=expected,
                got=got,
                engine=f"{self.engine.name} {self.outcome.version}",
                language=language.text,
                token_ids=token_ids or tuple(self.engine.spell(text) or ()),
                text=shown(text),
                seed=self.seed,
                command=command_for(
                    self.engine.name,
                    self.language.kind,
                    self.language.text,
                    subject=self.outcome.subject,
                    seed=self.seed,
                    examples=self.examples,
                ),
            )
        )


def _calmly(action: Callable[[], Any]) -> Any:
    """What an engine's code gives; what it raises, panics included, is a crash."""
    try:
        return action()
    except (Refused, KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException as error:
        raise _Crash(f"{type(error).__name__}: {error}") from error


# -- what is drawn for a language ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Cases:
    valid: st.SearchStrategy[Any] | None
    """``None`` where no verdict is certain."""
    invalid: st.SearchStrategy[Any]
    texts: Callable[[Any, Language], list[bytes]]
    """The ways to write what was drawn."""
    is_member: Callable[[bytes], bool]
    """Whether a text that an engine ends is right; it may be too kind, never too strict."""


def _cases_of(language: Language) -> _Cases:
    return _of_schema(language.schema) if language.kind == "schema" else _of_grammar(language)


def _of_schema(schema: Any) -> _Cases:
    """Verdicts that hold whether ``format`` is a constraint or an annotation: engines differ in what they assert."""
    try:
        validator_for(schema).check_schema(schema)
    except SchemaError as error:
        raise ValueError(f"expected a JSON Schema; {error.message} at {error.json_path}") from error
    agreed = formats_of(schema) <= AGREED_FORMATS
    plain, asserting = JsonschemaJudge(schema), JsonschemaJudge(schema, formats=True)
    return _Cases(
        valid=instances(schema, formats=True).filter(plain.allows) if agreed else None,
        invalid=invalid_instances(schema, formats=False).filter(lambda value: not asserting.allows(value)),
        texts=lambda value, language: list(texts_of(value, language.schema)),
        is_member=lambda text: any(judge.takes(text, repeated_names=True) for judge in (plain, asserting)),
    )


def _of_grammar(language: Language) -> _Cases:
    ir = _lowered(language)
    if language.kind == "regex":
        pattern = re.compile(language.text)

        def is_member(text: bytes) -> bool:
            try:
                return pattern.fullmatch(text.decode()) is not None
            except UnicodeDecodeError:
                return False
    else:
        start = Recogniser(ir).chart()

        def is_member(text: bytes) -> bool:
            return start.read_all(text).is_accepting

    return _Cases(
        valid=sentences(ir).filter(is_member),
        invalid=near_misses(ir, is_member=is_member),
        texts=lambda text, _: [text],
        is_member=is_member,
    )


def _lowered(language: Language) -> IR:
    from constrained import OutputType, gbnf, lark, regex

    makers: dict[str, Callable[[str], OutputType[Any]]] = {"regex": regex, "gbnf": gbnf, "lark": lark}
    return makers[language.kind](language.text).lower(whitespace="any")
