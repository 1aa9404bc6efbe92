"""The `lark` package is the judge: our sentences parse there, and changed sentences get the same verdict."""

from __future__ import annotations

import random
from itertools import islice

import pytest

from grammars.ir.sentences import sample
from tests.reference.recogniser import Recogniser

from .matching import GRAMMARS, changed, lark_ir, our_verdict, their_verdict

SMALL = sorted(GRAMMARS.keys() - {"python"})


@pytest.mark.parametrize("name", SMALL)
def test_sentences_and_changed_sentences(name: str) -> None:
    ir = lark_ir(GRAMMARS[name])
    ours, theirs = our_verdict(ir), their_verdict(GRAMMARS[name])
    generator = random.Random(name)
    verdicts = []
    for sentence in islice(sample(ir, seed=5, soft_length=40), 60):
        text = sentence.decode()
        assert ours(text), text
        assert theirs(text), text
        for other in changed(text, generator):
            verdicts.append(theirs(other))
            assert ours(other) == verdicts[-1], other
    assert 0.1 < sum(verdicts) / len(verdicts) < 0.95


def test_a_python_subset_by_the_slow_recogniser() -> None:
    ir = lark_ir(GRAMMARS["python"])
    theirs = their_verdict(GRAMMARS["python"])
    recogniser = Recogniser(ir)
    generator = random.Random(0)
    for sentence in islice(sample(ir, seed=2, soft_length=15), 3):
        text = sentence.decode()
        assert theirs(text), text
        for other in [text, *changed(text, generator)]:
            assert recogniser.chart().read_all(other.encode()).is_accepting == theirs(other), other


CASES = [
    # an identifier is never cut where a keyword would match, nor a keyword where an identifier goes on
    ("keywords", ["if a then b=1;", "iffy=1;", "if=1;", "ifa then b=1;", "print notx;", "printx;", "print not x;"]),
    ("keywords", ["a=1.5;", "a=1 .5;", "a=1.;", "a=1.then;", "a=1<=2;", "a=1< =2;", "if 1then b=2;"]),
    ("lazy", ["/* a */", "/* a */ */", "/* a */ abc */", '"a" "b"', '"a\\"b"', '"a\\" b', "ab", "aab", "bbc"]),
    ("priorities", ["ab", "abc", "abab", "a.c", "axc", "acb", "bca"]),
    (
        "sql",
        ["select a from b", "selecta from b", "select a fromb", "select a from b where a=1and b=2", "select 1from b"],
    ),
    ("sql", ["SELECT a b FROM t", "select a as from from t", "select * from a left join b on a.x=b.y limit 3;"]),
    (
        "lookaround",
        ["if", "iffy", "in1", "if in", "ifin", "00", "0", "01", "12a", "12 a", "<=", "<", "<<=", "->", "-", "=="],
    ),
    ("lookaround", ['""', '"""', '""""""', '"" ""', '"""a"""', '"a""b"', "#!", "a#b", "# !", 'r"\\"', 'r""', '"a"b"']),
    ("configuration", ["a = 1", "a=1 b=2", "[a]\n\nb = [1, 2,]\n", "true=true", "1=1", "a=1.5.2", "a = tru"]),
]


@pytest.mark.parametrize(("name", "texts"), CASES)
def test_cuts(name: str, texts: list[str]) -> None:
    ours, theirs = our_verdict(lark_ir(GRAMMARS[name])), their_verdict(GRAMMARS[name])
    for text in texts:
        assert ours(text) == theirs(text), text


SETTLED = [
    # conflicts that Lark settles by shifting, or by priority
    'start: "if" start | "if" start "else" start | "x"\n%ignore " "',
    'start: x "b" | "a" "b" "c"\nx: "a" | "a" "b"',
    'start: a | b\na.2: "x" c?\nb.1: "x" c\nc: "y"',
    'start: e\ne: e "+" e | e "*" e | "n"',
    'start: "a"* b\nb: "a" "c" | "d"',
    'start: x* y*\nx: A\ny: B | "ab"\nA: "a"\nB: /b+/',
]


@pytest.mark.parametrize("grammar", SETTLED)
def test_settled_conflicts(grammar: str) -> None:
    ours, theirs = our_verdict(lark_ir(grammar)), their_verdict(grammar)
    generator = random.Random(0)
    letters = [letter for letter in grammar if letter in "abcdxyn+*"] + ["if ", "else "]
    for _ in range(300):
        text = "".join(generator.choice(letters) for _ in range(generator.randint(0, 6)))
        assert ours(text) == theirs(text), text
