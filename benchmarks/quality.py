"""How many labelled fields a model gets right: by whitespace style, by prompt template, and without a grammar.

    python -m benchmarks.quality                               # every style, then every template; the default model
    python -m benchmarks.quality --styles indent=2,free --templates library,names --limit 8 --show
    python -m benchmarks.quality --valid 50 --bounded          # 50 extractions at temperature 1, each checked

The style `free` generates without a grammar and takes the first JSON object in the text. Decoding is greedy. A document
whose answer is cut off or is no JSON counts all its fields as wrong. `leaked` counts wrong fields that hold a value of
the template's worked example. Progress is on stderr; the last line on stdout is one JSON object.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jsonschema import Draft202012Validator

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # run as a script, only its own folder is there

from benchmarks.quality_documents import ABSENT, LabelledDocument, bounded, first_json_object, load_documents, score
from benchmarks.quality_templates import TEMPLATES, example_values
from benchmarks.quality_validity import measure_validity

if TYPE_CHECKING:
    from constrained.api import Model

STYLES = ("indent=2", "spaced", "compact", "flexible", "free")
DEFAULT_STYLE = "indent=2"
DEFAULT_TEMPLATE = "library"
_COUNTED = (
    "fields_right",
    "fields",
    "fields_leaked",
    "documents_valid",
    "documents",
    "output_tokens",
    "forced_tokens",
)


@dataclass(frozen=True)
class Measurement:
    """One template and style over all documents."""

    template: str
    style: str
    fields_right: int
    fields: int
    fields_leaked: int
    documents_valid: int
    documents: int
    output_tokens: int
    forced_tokens: int
    seconds: float


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark; 0, or 1 where an answer that had to be valid was not."""
    options = _parse(arguments)
    documents = load_documents(limit=options.limit)
    if options.bounded:
        documents = [bounded(document) for document in documents]
    import constrained

    model = constrained.load(options.model, device=options.device, progress=_say)
    head = {"benchmark": "quality", "model": model.name, "documents": len(documents), "bounded": options.bounded}
    if options.valid:
        validity = measure_validity(model, documents, runs=options.valid, top_p=options.top_p, say=_say)
        print(json.dumps(head | asdict(validity)))
        return 0 if validity.valid == validity.runs and validity.repeated_alike == validity.repeated else 1

    rows = []
    for template, style in _combinations(options.templates, options.styles):
        rows.append(measure(model, documents, template, style, max_tokens=options.max_tokens, show=options.show))
        _say(_line(rows[-1]))
    print(table(rows))
    print(json.dumps(head | {"max_tokens": options.max_tokens, "rows": [asdict(row) for row in rows]}))
    return 0


def measure(
    model: Model, documents: Iterable[LabelledDocument], template: str, style: str, *, max_tokens: int, show: bool
) -> Measurement:
    """Extract every document once, greedily, and count."""
    totals = dict.fromkeys(_COUNTED, 0)
    seconds = 0.0
    leaks = example_values(TEMPLATES[template])
    for document in documents:
        prompt = TEMPLATES[template].messages(
            document.text,
            schema_text=json.dumps(document.schema, ensure_ascii=False),
            whitespace=DEFAULT_STYLE if style == "free" else style,
        )
        started = time.perf_counter()
        if style == "free":
            result = model.generate(prompt, max_tokens=max_tokens)
        else:
            result = model.generate(prompt, document.schema, whitespace=style, max_tokens=max_tokens)
        seconds += time.perf_counter() - started
        answer = first_json_object(result.text) if style == "free" else result.value
        scored = score(document, answer)
        totals["fields_right"] += scored.right
        totals["fields"] += scored.total
        totals["fields_leaked"] += sum(any(leak in str(value) for leak in leaks) for value in scored.wrong.values())
        totals["documents_valid"] += Draft202012Validator(document.schema).is_valid(answer)
        totals["documents"] += 1
        totals["output_tokens"] += len(result.token_ids)
        totals["forced_tokens"] += result.usage.forced_tokens
        if show:
            _say(_shown(document, scored.right, scored.wrong, result.text if answer is None else None))
    return Measurement(template=template, style=style, seconds=round(seconds, 2), **totals)


def table(rows: Iterable[Measurement]) -> str:
    """The measurements as lines of text, the most fields right first."""
    columns = f"{'fields right':>14}{'leaked':>8}{'valid':>8}{'tokens':>8}{'forced':>8}{'seconds':>9}"
    head = f"{'template':<18}{'style':<10}{columns}"
    return "\n".join([head, *map(_line, sorted(rows, key=lambda row: -row.fields_right))])


def _line(row: Measurement) -> str:
    right = f"{row.fields_right}/{row.fields}"
    valid = f"{row.documents_valid}/{row.documents}"
    return (
        f"{row.template:<18}{row.style:<10}{right:>14}{row.fields_leaked:>8}{valid:>8}{row.output_tokens:>8}"
        f"{row.forced_tokens:>8}{row.seconds:>9.1f}"
    )


def _shown(document: LabelledDocument, right: int, wrong: Mapping[str, Any], text: str | None) -> str:
    listed = {path: None if value is ABSENT else value for path, value in wrong.items()}
    lost = "" if text is None else f" no answer: {text[:300]!r}"
    return f"  {document.id}: {right}/{len(document.rules)} {json.dumps(listed, ensure_ascii=False)}{lost}"


def _combinations(templates: Sequence[str] | None, styles: Sequence[str] | None) -> list[tuple[str, str]]:
    """What was asked for, crossed; by default every style with one template, every template with one style, and free
    generation that is shown the schema."""
    if templates or styles:
        return [(template, style) for template in templates or [DEFAULT_TEMPLATE] for style in styles or STYLES]
    every_style = [(DEFAULT_TEMPLATE, style) for style in STYLES]
    every_template = [(template, DEFAULT_STYLE) for template in TEMPLATES]
    return list(dict.fromkeys([*every_style, ("schema", "free"), *every_template]))


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--limit", type=_positive, help="use only the first so many documents")
    parser.add_argument("--styles", type=_some_of(STYLES), help=f"some of {','.join(STYLES)}")
    parser.add_argument("--templates", type=_some_of(TEMPLATES), help=f"some of {','.join(TEMPLATES)}")
    parser.add_argument("--model", help="folder, GGUF file or hub id; the embedded default if not given")
    parser.add_argument("--device", default="auto", help="auto, cpu or cuda")
    parser.add_argument("--max-tokens", type=_positive, default=256, help="longest output of a document (256)")
    parser.add_argument("--show", action="store_true", help="list the wrong fields of every document on stderr")
    parser.add_argument(
        "--bounded", action="store_true", help="end strings after 80 characters and lists after 8 items"
    )
    parser.add_argument("--top-p", type=float, default=1.0, help="for --valid: sample from the best tokens only")
    parser.add_argument("--valid", type=_positive, metavar="N", help="instead: N extractions at temperature 1, checked")
    return parser.parse_args(arguments)


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"expected a whole number of at least 1, got {text!r}")
    return int(text)


def _some_of(known: Iterable[str]) -> Any:
    def parse(text: str) -> list[str]:
        names = text.split(",")
        if unknown := [name for name in names if name not in known]:
            raise argparse.ArgumentTypeError(f"unknown: {', '.join(unknown)}; expected some of {', '.join(known)}")
        return names

    return parse


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
