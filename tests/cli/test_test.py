"""``constrained test``: the table, the page, and the exit codes."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from constrained_cli.main import cli

from constrained.testing import isolation
from constrained.testing.faults import Fault
from constrained.testing.fuzz import Outcome
from constrained.testing.html_report import html_report

SCHEMA = '{"type": "object", "properties": {"n": {"type": "integer", "minimum": 3}}, "required": ["n"]}'


def call(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["test", *arguments])


def test_a_schema_a_grammar_and_a_folder_through_our_engine(tmp_path: Path) -> None:
    (tmp_path / "n.json").write_text(SCHEMA)
    (tmp_path / "sum.gbnf").write_text('root ::= [0-9]+ ("+" [0-9]+)*')
    (tmp_path / "notes.txt").write_text("not a grammar")
    page = tmp_path / "report.html"
    found = call(str(tmp_path), "--examples", "5", "--report", str(page))
    assert found.exit_code == 0, found.output
    assert "n.json: ours: 0 faults" in found.stderr
    assert "sum.gbnf: ours: 0 faults" in found.stderr
    assert "no fault" in page.read_text()


def test_faults_are_an_exit_code_and_can_be_seen_again(monkeypatch: pytest.MonkeyPatch) -> None:
    fault = Fault(law="what is valid is taken", expected="taken", got="refused", language=SCHEMA, command="again")
    outcome = Outcome(subject="--schema", engine="ours", version="1", tried=3, valid_rejected=1, faults=[fault])
    monkeypatch.setattr(isolation, "run_isolated", lambda tasks: iter([outcome]))
    found = call("--schema", SCHEMA, "--examples", "3")
    assert found.exit_code == 1
    assert "again: again" in found.stdout


USAGE = [
    ([], "expected a schema or grammar"),
    (["nothing.json"], "there is no file"),
    (["schema.txt"], "expected a name that ends with"),
    (["--schema", "{"], "--schema"),
    (["--regex", "("], "("),
    (["--schema", '{"type": "integre"}'], "integre"),
    (["--regex", "a", "--engine", "theirs"], "theirs"),
    (["--regex", "a", "--report", "no/such/folder.html"], "cannot be written"),
]


@pytest.mark.parametrize(("arguments", "said"), USAGE)
def test_wrong_usage_is_told(arguments: list[str], said: str) -> None:
    found = call(*arguments)
    assert found.exit_code == 2, found.output
    assert said in found.stderr


class Page(HTMLParser):
    """Tags must be closed in order, and nothing may be fetched."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.fetched: list[str] = []
        self.tags: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.fetched += [value or "" for name, value in attrs if name in ("src", "href")]
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_page_stands_alone_and_is_made_for_narrow_screens() -> None:
    fault = Fault(law="<law>", expected="&", got='"', language="<script>alert(1)</script>", text="</code>", seed=7)
    outcomes = [
        Outcome(subject="a.json", engine="ours", version="1", tried=3, crashes=1, faults=[fault]),
        Outcome(subject="b.json", engine="xgrammar", version="2", refused="<no>"),
    ]
    text = html_report(outcomes)
    page = Page()
    page.feed(text)
    page.close()
    assert page.open == []
    assert page.fetched == []
    assert "script" not in page.tags
    assert "width=device-width" in text
    assert "@media (max-width" in text
    assert text.count("<tr>") == 3
