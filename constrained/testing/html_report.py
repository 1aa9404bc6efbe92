"""The outcomes of tests as one HTML page that needs nothing else and can be read on a phone."""

from __future__ import annotations

import html
import json
from collections.abc import Sequence

from .faults import Fault
from .fuzz import Outcome

__all__ = ["html_report"]

_STYLE = """
:root { color-scheme: light dark; --line: #8884; --good: #2a7; --bad: #d43; --dim: #8889; }
* { box-sizing: border-box; }
body { font: 16px/1.5 system-ui, sans-serif; margin: 0 auto; max-width: 64rem; padding: 1rem; }
h1 { font-size: 1.4rem; margin: 0 0 .25rem; } h2 { font-size: 1.15rem; margin: 1.5rem 0 .5rem; }
p { margin: .25rem 0; } .good { color: var(--good); } .bad { color: var(--bad); } .dim { color: var(--dim); }
table { border-collapse: collapse; width: 100%; font-size: .95rem; }
th, td { border-bottom: 1px solid var(--line); padding: .35rem .5rem; text-align: right; vertical-align: top; }
th:first-child, td:first-child { text-align: left; overflow-wrap: anywhere; }
details { border: 1px solid var(--line); border-radius: .5rem; margin: .5rem 0; padding: .5rem .75rem; }
summary { cursor: pointer; overflow-wrap: anywhere; }
dl { margin: .5rem 0 0; } dt { color: var(--dim); font-size: .85rem; } dd { margin: 0 0 .5rem; }
code { font: .9em/1.4 ui-monospace, monospace; white-space: pre-wrap; overflow-wrap: anywhere; }
@media (max-width: 40rem) {
  thead { display: none; }
  tr { display: block; border-bottom: 1px solid var(--line); padding: .5rem 0; }
  td { display: flex; justify-content: space-between; gap: 1rem; border: 0; padding: .1rem 0; text-align: right; }
  td::before { content: attr(data-name); color: var(--dim); text-align: left; }
  td:first-child { font-weight: 600; } td:first-child::before { content: none; }
}
"""
_COLUMNS = ("subject", "engine", "tried", "valid rejected", "invalid accepted", "crashes", "other laws", "seconds")


def html_report(outcomes: Sequence[Outcome], *, title: str = "constrained test") -> str:
    """The page: a line a subject and engine, then every fault with what shows it again.

    >>> page = html_report([Outcome(subject="<a>", engine="ours", version="1", tried=3)])
    >>> "&lt;a&gt;" in page, "<script" in page, page.count("<tr>")
    (True, False, 2)
    """
    num_faults = sum(outcome.num_faults for outcome in outcomes)
    verdict = f"{num_faults} faults" if num_faults else "no fault"
    refused = [outcome for outcome in outcomes if outcome.refused]
    parts = [
        "<!doctype html>",
        f'<html lang="en"><head><meta charset="utf-8"><title>{_text(title)}</title>',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<style>{_STYLE}</style></head><body>",
        f"<h1>{_text(title)}: <span class={'bad' if num_faults else 'good'}>{verdict}</span></h1>",
        f"<p class=dim>{len(outcomes)} runs, {sum(outcome.tried for outcome in outcomes):,} texts and walks</p>",
        f"<table><thead><tr>{''.join(f'<th>{name}</th>' for name in _COLUMNS)}</tr></thead><tbody>",
        *(_row(outcome) for outcome in outcomes),
        "</tbody></table>",
        *(_faults(outcome) for outcome in outcomes if outcome.faults),
    ]
    if refused:
        parts += ["<h2>Refused by name</h2>", *(_refusal(outcome) for outcome in refused)]
    return "\n".join([*parts, "</body></html>", ""])


def _row(outcome: Outcome) -> str:
    engine = f"{outcome.engine} {outcome.version}".strip()
    numbers = (outcome.valid_rejected, outcome.invalid_accepted, outcome.crashes, outcome.laws_broken)
    cells = [_text(outcome.subject), _text(engine)]
    if outcome.refused:
        cells += ["<span class=dim>refused</span>", *[""] * len(numbers)]
    else:
        cells.append(str(outcome.tried))
        cells += [f"<span class=bad>{number}</span>" if number else "0" for number in numbers]
    cells.append(f"{outcome.seconds:.1f}")
    named = [f'<td data-name="{name}">{cell}</td>' for name, cell in zip(_COLUMNS, cells, strict=True)]
    return f"<tr>{''.join(named)}</tr>"


def _faults(outcome: Outcome) -> str:
    heading = f"<h2>{_text(outcome.subject)}, {_text(outcome.engine)} {_text(outcome.version)}</h2>"
    return heading + "".join(_fault(fault) for fault in outcome.faults)


def _fault(fault: Fault) -> str:
    rows = [("grammar", fault.language), ("text", json.dumps(fault.text, ensure_ascii=False))]
    rows += [("token ids", ", ".join(map(str, fault.token_ids))), ("expected", fault.expected), ("got", fault.got)]
    rows += [("seed", "" if fault.seed is None else str(fault.seed)), ("again", fault.command)]
    listed = "".join(f"<dt>{name}</dt><dd><code>{_text(value)}</code></dd>" for name, value in rows if value)
    return f"<details open><summary class=bad>{_text(fault.law)}</summary><dl>{listed}</dl></details>"


def _refusal(outcome: Outcome) -> str:
    return (
        f"<details><summary>{_text(outcome.subject)}, {_text(outcome.engine)}</summary>"
        f"<code>{_text(outcome.refused)}</code></details>"
    )


def _text(value: str) -> str:
    return html.escape(value)
