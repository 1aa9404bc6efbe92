"""Each grammar of the library: its own cases, and what it writes is taken by those who read such texts."""

from __future__ import annotations

import ast
import csv
import datetime
import io
import json
import keyword
import random
import re
import urllib.parse
import uuid
import warnings
from collections.abc import Callable
from email.headerregistry import Address
from functools import cache
from itertools import islice

import chess
import isoduration
import packaging.version
import pytest
import sqlglot

import grammars
from grammars.errors import GrammarError
from grammars.ir import IR, Builder
from grammars.ir.sentences import sample
from grammars.library import grammar, names

BYTES = grammars.Vocabulary.from_bytes([*(bytes([byte]) for byte in range(256)), None], eos_token_ids=[256])


@cache
def ir_of(name: str) -> IR:
    builder = Builder()
    return builder.finish(grammar(name).lower(builder))


@cache
def acceptor(name: str) -> Callable[[str], bool]:
    compiled = grammars.compile_ir(ir_of(name), BYTES)

    def accepts(text: str) -> bool:
        matcher = compiled.matcher()
        return matcher.consume_bytes(text.encode()) and matcher.is_accepting

    return accepts


@pytest.mark.parametrize("name", names())
def test_cases(name: str) -> None:
    accepts, known = acceptor(name), grammar(name)
    assert known.accept
    assert known.reject
    assert [text for text in known.accept if not accepts(text)] == []
    assert [text for text in known.reject if accepts(text)] == []
    assert known.description.endswith(".")
    assert len(known.description) > 30


def read_csv(text: str) -> None:
    rows = list(csv.reader(io.StringIO(text, newline=""), strict=True))
    assert rows
    assert {len(row) for row in rows} == {len(rows[0])}


def read_arithmetic(text: str) -> None:
    tree = ast.parse(text.strip(), mode="eval")
    operators = (ast.Expression, ast.BinOp, ast.UnaryOp, ast.Constant, ast.operator, ast.unaryop)
    assert all(isinstance(node, operators) for node in ast.walk(tree))


def read_python(text: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)
        ast.parse(text, mode="eval")


def read_sql(text: str) -> None:
    (tree,) = sqlglot.parse(text)
    assert isinstance(tree, sqlglot.exp.Query)


def read_email(text: str) -> None:
    address = Address(addr_spec=text)
    assert address.domain.count(".") >= 1


def read_url(text: str) -> None:
    parts = urllib.parse.urlsplit(text)
    assert parts.scheme in ("http", "https")
    assert parts.hostname
    assert parts.port is None or 0 < parts.port < 65536
    written = urllib.parse.urlunsplit(parts)
    assert re.sub("[?#]", "", written) == re.sub("[?#]", "", text)  # an empty query or fragment is left out


def read_version(text: str) -> None:
    packaging.version.Version(text.partition("-")[0].partition("+")[0])
    numbers = r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)"
    label = r"(?:0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)"
    assert re.fullmatch(rf"{numbers}(-{label}(\.{label})*)?(\+[0-9a-zA-Z-]+(\.[0-9a-zA-Z-]+)*)?", text)


def read_move(text: str) -> None:
    with pytest.raises((chess.IllegalMoveError, chess.AmbiguousMoveError)):  # well-formed, but there is no piece
        chess.Board(None).parse_san(text)


def read_json_lines(text: str) -> None:
    for line in text.split("\n")[:-1]:
        assert isinstance(json.loads(line), dict | list)


READERS: dict[str, Callable[[str], object]] = {
    "arithmetic": read_arithmetic,
    "chess_san": read_move,
    "csv": read_csv,
    "email": read_email,
    "iso_date": datetime.date.fromisoformat,
    "iso_datetime": datetime.datetime.fromisoformat,
    "iso_duration": isoduration.parse_duration,
    "json": json.loads,
    "json_lines": read_json_lines,
    "python_expression": read_python,
    "semantic_version": read_version,
    "sql_select": read_sql,
    "url": read_url,
    "uuid": uuid.UUID,
}


def test_every_grammar_has_a_reader() -> None:
    assert sorted(READERS) == names()


@pytest.mark.parametrize("name", names())
def test_what_is_written_is_read(name: str) -> None:
    accepts, read = acceptor(name), READERS[name]
    for text in grammar(name).accept:
        read(text)
    for sentence in islice(sample(ir_of(name), seed=1, soft_length=60), 150):
        text = sentence.decode()
        assert accepts(text), text
        read(text)


def test_moves_of_real_games() -> None:
    accepts, generator = acceptor("chess_san"), random.Random(7)
    for _ in range(10):
        board = chess.Board()
        while not board.is_game_over() and board.fullmove_number < 60:
            move = generator.choice(list(board.legal_moves))
            assert accepts(board.san(move)), board.san(move)
            board.push(move)


def test_dates_are_exactly_the_days_there_are() -> None:
    accepts = acceptor("iso_date")
    for year in (1, 4, 100, 400, 1900, 2000, 2023, 2024, 9999):
        for month in range(14):
            for day in range(33):
                text = f"{year:04}-{month:02}-{day:02}"
                try:
                    exists = bool(datetime.date(year, month, day))
                except ValueError:
                    exists = False
                assert accepts(text) == exists, text


def test_names_of_python_are_no_keywords() -> None:
    accepts = acceptor("python_expression")
    for word in keyword.kwlist:
        assert accepts(word) == (word in ("None", "True", "False")), word
        assert accepts(word + "x")
        assert accepts(word[:-1]) == (not keyword.iskeyword(word[:-1]))


def test_no_such_grammar() -> None:
    with pytest.raises(GrammarError, match="no grammar 'yaml' in the library; expected one of arithmetic, "):
        grammar("yaml")
