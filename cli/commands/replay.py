"""``constrained replay``: does a recorded run come again, bit by bit, and if not, where does it part and why?"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from constrained.errors import ConstrainedError
from grammars.errors import GrammarError

from ..failures import without_traceback
from ..options import NameParam, SchemaParam
from ..streams import stdout_to_stderr

if TYPE_CHECKING:
    from constrained.api import Model
    from constrained.determinism import Replay, RunRecord

__all__ = ["replay"]

_MOST_THREADS = 1024
_INCOMPARABLE = 4
_VERDICTS = {0: "identical", 2: "bits differ, every token agrees", 3: "a token differs", 4: "cannot be compared"}


class _WrongUsage(click.UsageError):
    """Wrong usage ends with 4 here, for 2 says something about a run."""

    exit_code = _INCOMPARABLE


class _Replay(click.Command):
    """A command whose wrong usage is told as such."""

    def make_context(self, *args: Any, **kwargs: Any) -> click.Context:
        try:
            return super().make_context(*args, **kwargs)
        except click.UsageError as error:
            raise _WrongUsage(error.format_message(), ctx=error.ctx) from error


@click.command(cls=_Replay)
@click.argument("record", metavar="RECORD|DIR", type=NameParam())
@click.option("--model", "-m", type=NameParam(), metavar="NAME", help="Another model than the one that it names.")
@click.option("--device", type=click.Choice(["cpu", "cuda"]), help="Another device.")
@click.option("--weights", type=click.Choice(["fp32", "bf16", "int8"]), help="Weights held in another way.")
@click.option("--threads", type=click.IntRange(min=1, max=_MOST_THREADS), help="Another number of CPU threads.")
@click.option("--schema", "-s", type=SchemaParam(), metavar="FILE|JSON|MODULE:MODEL", help="Another JSON Schema.")
@click.option("--seed", type=click.IntRange(min=0, max=2**64 - 1), help="Another seed.")
@click.option("--rerun", is_flag=True, help="Generate token by token, even where a few passes would tell.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a record.")
@without_traceback
def replay(record: str, **options: Any) -> None:
    """Run RECORD (or each record of a folder) again, and say whether the same comes.

    Without options the run is as it was recorded; each option changes one input, to see what comes of it. Where a run
    parts from its record, the first step is named, with what was drawn, how close the two best tokens were, and the
    cause: an input that changed, or else the mask, the logits, or the sampler.

    Exit codes: 0 identical; 2 bits differ, but every token agrees; 3 a token differs; 4 it cannot be compared. Of a
    folder: the highest.

    \b
    constrained extract invoices/*.txt --schema invoice.json --record runs > invoices.jsonl
    constrained replay runs
    """
    files = _files(Path(record))
    as_json = options.pop("as_json")
    models: dict[str, Model] = {}
    codes: list[int] = []
    with stdout_to_stderr() as results:
        for file in files:
            code, told = _one(file, models, options, as_json=as_json)
            codes.append(code)
            if not as_json and len(files) > 1:
                told = f"{file.name}  {_VERDICTS[code]}" + ("\n" + told if code else "")
            results.write((told + "\n").encode())
            results.flush()
        if len(files) > 1 and not as_json:
            results.write((_summary(codes) + "\n").encode())
    if max(codes):
        raise click.exceptions.Exit(max(codes))


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    files = sorted(path.glob("*.json"))
    if not files:
        raise _WrongUsage(f"there is no record (*.json) in {str(path)!r}")
    return files


def _one(file: Path, models: dict[str, Model], options: dict[str, Any], *, as_json: bool) -> tuple[int, str]:
    """The exit code of one record, and what to print of it."""
    from constrained.determinism import RunRecord
    from constrained.determinism import replay as replay_record

    try:
        record = RunRecord.from_file(file)
        model = _model_of(record, models, options)
        found = replay_record(
            record,
            model,
            output_type=options["schema"],
            seed=options["seed"],
            mode="rerun" if options["rerun"] else "auto",
        )
    except (ConstrainedError, GrammarError, ValueError) as error:
        if as_json:
            return _INCOMPARABLE, json.dumps({"record": str(file), "exit_code": _INCOMPARABLE, "reason": str(error)})
        return _INCOMPARABLE, f"cannot be compared: {error}"
    if as_json:
        return found.exit_code, json.dumps({"record": str(file), **found.to_dict()}, ensure_ascii=False)
    return found.exit_code, "\n".join(_told(found, model))


def _model_of(record: RunRecord, models: dict[str, Model], options: dict[str, Any]) -> Model:
    from constrained.api import load
    from constrained.determinism.again import load_arguments

    changes = {name: options[name] for name in ("device", "weights", "threads")}
    arguments = load_arguments(record, source=options["model"], **changes)
    key = json.dumps(arguments, sort_keys=True)
    if key not in models:
        models.clear()  # one at a time: models are large
        models[key] = load(progress=lambda line: click.echo(line, err=True), **arguments)
    return models[key]


def _told(found: Replay, model: Model) -> list[str]:
    """What to say of a replay, line by line."""
    how = f"{found.num_passes} passes" if found.mode == "verify" else "token by token"
    lines = [f"{_VERDICTS[found.exit_code]}: {found.num_steps} draws compared, {how}"]
    first = found.first
    if first is not None:
        lines.append(f"  first: draw {first.step}, output position {first.position}")
        lines.append(f"  expected {_token(first.expected_token, model)}, got {_token(first.got_token, model)}")
        lines.append(f"  gap of the two best: {_gap(first.expected_gap)} expected, {_gap(first.got_gap)} got")
        allowed = f"{first.expected_allowed} expected, {first.got_allowed} got"
        lines.append(f"  allowed ids: {allowed}; the mask is {_same(first.same_mask)}")
        close = "" if first.same_logits else f" (the best tokens and their logits to 0.001: {_same(first.same_best)})"
        lines.append(f"  the logits are {_same(first.same_logits)}{close}")
    if found.token is not None and found.bits is not None and found.bits.step < found.token.step:
        lines.append(f"  bits differ since draw {found.bits.step}, by the {found.bits.stage}")
    if found.failure:
        lines.append(f"  it could not go on: {found.failure}")
    if found.output_differs:
        lines.append(f"  of the output differ: {found.output_differs}")
    if found.cause is not None:
        because = ", ".join(change.path for change in found.explained_by)
        lines.append(f"  cause: {found.cause}" + (f" ({because}), seen in the {found.stage}" if because else ""))
    lines += [f"  changed: {change}" for change in found.changes]
    return lines


def _token(token_id: int | None, model: Model) -> str:
    if token_id is None:
        return "no draw"
    return f"{token_id} {model.engine.token_bytes(token_id).decode('utf-8', 'replace')!r}"


def _gap(gap: float | None) -> str:
    return "none" if gap is None else f"{gap:.3f}"


def _same(is_same: bool) -> str:
    return "the same" if is_same else "not the same"


def _summary(codes: Sequence[int]) -> str:
    counts = [f"{codes.count(code)} {verdict}" for code, verdict in _VERDICTS.items() if code in codes]
    return f"{len(codes)} records: {'; '.join(counts)}"
