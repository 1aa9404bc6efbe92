"""Reading documents: what is text, what is not, and how each fault is named."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest
from constrained_cli.documents import Document, Unreadable, read_documents


def read(*paths: Path | str, text_field: str | None = None) -> list[Document | Unreadable]:
    return list(read_documents([str(path) for path in paths], text_field=text_field))


def test_text_files_come_in_order_and_whole(tmp_path: Path) -> None:
    for name in ("b", "a"):
        (tmp_path / name).write_text(f"text of {name}\n", encoding="utf-8")
    found = read(tmp_path / "b", tmp_path / "a")
    assert found == [Document(str(tmp_path / "b"), "text of b\n"), Document(str(tmp_path / "a"), "text of a\n")]


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ("Ünïcode".encode(), "Ünïcode"),
        ("\ufeffmark".encode(), "mark"),
        ("wide ü".encode("utf-16"), "wide ü"),
        ("\ufeffwide ü".encode("utf-16-be"), "wide ü"),
        ("wide ü".encode("utf-32"), "wide ü"),
    ],
)
def test_marks_of_encodings_are_understood(tmp_path: Path, data: bytes, text: str) -> None:
    (tmp_path / "a.txt").write_bytes(data)
    assert read(tmp_path / "a.txt") == [Document(str(tmp_path / "a.txt"), text)]


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "empty"),
        (b" \n\t\n", "empty"),
        (b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", "binary file"),
        ("Gebühr".encode("latin-1"), "not UTF-8 text (byte 3 is 0xfc)"),
        (b"\xff\xfe\x00", "not UTF-16 text, though it begins with its byte order mark"),
        ("no mark".encode("utf-16-le"), "UTF-16 text without its byte order mark"),
        ("a\0b".encode("utf-16"), "binary file"),
    ],
)
def test_what_is_no_text_is_named_with_the_reason(tmp_path: Path, data: bytes, reason: str) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(data)
    (found,) = read(path)
    assert isinstance(found, Unreadable)
    assert found.name == str(path)
    assert reason in found.reason


def test_a_missing_file_and_a_folder_do_not_stop_the_others(tmp_path: Path) -> None:
    (tmp_path / "there.txt").write_text("text", encoding="utf-8")
    missing, folder, there = read(tmp_path / "gone.txt", tmp_path, tmp_path / "there.txt")
    assert isinstance(missing, Unreadable)
    assert missing.reason == "No such file or directory"
    assert isinstance(folder, Unreadable)
    assert folder.reason == "Is a directory"
    assert isinstance(there, Document)


def test_json_lines_name_file_and_line(tmp_path: Path) -> None:
    path = tmp_path / "mail.jsonl"
    lines = [
        '{"text": "one"}',
        "",
        '{"text": "two\\n2"}',
        "{oops",
        '{"body": "x"}',
        '{"text": 5}',
        "[1]",
        '{"text": " "}',
        '{"text": "\\ud800"}',
    ]
    path.write_text("\n".join(lines), encoding="utf-8")
    found = read(path)
    assert found[:2] == [Document(f"{path}:1", "one"), Document(f"{path}:3", "two\n2")]
    reasons = {item.name.rpartition(":")[2]: item.reason for item in found[2:] if isinstance(item, Unreadable)}
    assert list(reasons) == ["4", "5", "6", "7", "8", "9"]
    assert "not valid JSON: Expecting property name" in reasons["4"]
    assert "at column 2" in reasons["4"]
    assert "no field 'text' (fields here: 'body')" in reasons["5"]
    assert "--text-field" in reasons["5"]
    assert "is a number, not a string" in reasons["6"]
    assert "got an array" in reasons["7"]
    assert "is empty" in reasons["8"]
    assert "half of a surrogate pair" in reasons["9"]


def test_a_named_field_makes_every_source_json_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.txt").write_text('{"body": "a"}\n', encoding="utf-8")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b'{"body": "b"}\n{"body": "c"}')))
    found = read(tmp_path / "a.txt", "-", text_field="body")
    assert [item.text for item in found if isinstance(item, Document)] == ["a", "b", "c"]
    assert found[2].name == "standard input:2"


def test_broken_bytes_and_deep_nesting_fail_for_their_line_only(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"text": "\xff"}\n' + b"[" * 100_000 + b'\n{"text": "good"}\n')
    broken, deep, good = read(path)
    assert isinstance(broken, Unreadable)
    assert isinstance(deep, Unreadable)
    assert good == Document(f"{path}:3", "good")


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be", "utf-32", "utf-8-sig"])
def test_json_lines_of_wide_characters_are_read_by_their_mark(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "a.jsonl"
    texts = ["ünï", "Ċ ਊ 日本 😀", "last"]  # the first two of these hold a byte 0A
    lines = "\n".join(json.dumps({"text": text}, ensure_ascii=False) for text in texts)
    path.write_bytes((("\ufeff" if encoding == "utf-16-be" else "") + lines).encode(encoding))
    assert read(path) == [Document(f"{path}:{number}", text) for number, text in enumerate(texts, 1)]


def test_a_fault_in_wide_json_lines_is_told_and_the_lines_before_it_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes('{"text": "good"}\n{"text": "bad'.encode("utf-16") + b"\x00\xd8\x0a\x00")
    good, bad = read(path)
    assert good == Document(f"{path}:1", "good")
    assert isinstance(bad, Unreadable)
    assert "not UTF-16 text" in bad.reason


def test_json_lines_without_a_line_are_named(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(b"\n\n")
    assert read(tmp_path / "a.jsonl") == [Unreadable(str(tmp_path / "a.jsonl"), "the file has no lines")]


def test_a_closed_standard_input_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    for text_field in (None, "text"):
        (found,) = read_documents(["-"], text_field=text_field)
        assert isinstance(found, Unreadable)
        assert "standard input is closed" in found.reason
