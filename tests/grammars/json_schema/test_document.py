"""The page of keywords says what the tables say."""

from __future__ import annotations

from pathlib import Path

from grammars.frontends.json_schema.document import page


def test_the_page_is_up_to_date() -> None:
    written = (Path(__file__).parents[3] / "docs" / "json_schema.md").read_text(encoding="utf-8")
    assert written == page()
