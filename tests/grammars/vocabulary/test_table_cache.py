"""Tables on disk: the same words, and never a damaged file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from grammars import Vocabulary
from grammars.vocabulary.table_cache import cache_folder, load_tables, store_tables
from grammars.vocabulary.tables import build_tables


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CONSTRAINED_CACHE", str(tmp_path))
    return cache_folder()


def large() -> Vocabulary:
    return Vocabulary.from_bytes(
        [*(f"token {index}".encode() for index in range(10_000)), None], eos_token_ids=[10_000]
    )


def test_a_large_vocabulary_is_stored_and_read(folder: Path) -> None:
    first = large().tables
    assert [path.name for path in folder.iterdir()] == [large().digest]
    second = large().tables
    np.testing.assert_array_equal(first, second)
    np.testing.assert_array_equal(second, build_tables(large().tokens, large().eos_token_ids))


def test_small_vocabularies_are_not_stored(folder: Path) -> None:
    assert len(Vocabulary.from_bytes([b"a", None], eos_token_ids=[1]).tables)
    assert not folder.exists()


@pytest.mark.parametrize("damage", ["cut", "flipped", "other version", "empty"])
def test_a_damaged_file_is_not_used(folder: Path, damage: str) -> None:
    words = np.arange(100, dtype=np.int32)
    store_tables("name", words)
    stored = load_tables("name")
    assert stored is not None
    np.testing.assert_array_equal(stored, words)
    data = bytearray((folder / "name").read_bytes())
    match damage:
        case "cut":
            data = data[:-4]
        case "flipped":
            data[-1] ^= 1
        case "other version":
            data[len("constrained-tables-")] ^= 1
        case "empty":
            data = bytearray()
    (folder / "name").write_bytes(data)
    assert load_tables("name") is None


def test_a_folder_that_cannot_be_written_only_costs_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("CONSTRAINED_CACHE", str(tmp_path / "file"))
    assert len(large().tables)
