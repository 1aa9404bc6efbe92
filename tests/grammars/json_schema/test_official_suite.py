"""The official JSON Schema test suite, five drafts, against a baseline that may only improve.

``make test`` gets the suite (:mod:`tests.official_suite`). Required files are judged with formats as annotations,
``optional/format`` with formats enforced; remote documents come through a registry. A schema that is
refused by name counts as refused, once; an instance judged otherwise than the suite says counts as wrong. After an
improvement, write the baseline anew with

    python -m tests.grammars.json_schema.test_official_suite
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from referencing import Registry, Resource
from referencing.jsonschema import specification_with

from grammars.errors import GrammarError, UnsatisfiableGrammar

from ...official_suite import WHY_NOT, find_suite
from .texts import Language, language, orders

DRAFTS = {
    "draft4": "http://json-schema.org/draft-04/schema#",
    "draft6": "http://json-schema.org/draft-06/schema#",
    "draft7": "http://json-schema.org/draft-07/schema#",
    "draft2019-09": "https://json-schema.org/draft/2019-09/schema",
    "draft2020-12": "https://json-schema.org/draft/2020-12/schema",
}
BASELINE = Path(__file__).parents[2] / "data" / "official_suite_baseline.json"
MOST_ORDERS = 120


def suite() -> Path | None:
    """The folder of the suite, where there is one."""
    found = find_suite()
    return None if found is None else found / "tests"


def remotes(root: Path, name: str) -> Registry[Any]:
    """The remote documents of a draft, those that all drafts share included."""
    folder = root.parent / "remotes"
    specification = specification_with(DRAFTS[name])
    found = []
    for path in sorted(folder.rglob("*.json")):
        place = path.relative_to(folder)
        if place.parts[0] in DRAFTS and place.parts[0] != name:
            continue
        contents = json.loads(path.read_text(encoding="utf-8"))
        resource = Resource.from_contents(contents, default_specification=specification)
        found.append((f"http://localhost:1234/{place.as_posix()}", resource))
    return Registry().with_resources(found)


def files(draft: Path) -> Iterator[tuple[Path, str]]:
    """The files of a draft, and what formats mean there."""
    for path in sorted(draft.glob("*.json")):
        yield path, "annotate"
    for path in sorted((draft / "optional" / "format").glob("*.json")):
        yield path, "assert"


def judge(root: Path, name: str) -> dict[str, Any]:
    """What is refused and what is wrong in one draft, by file and description, and how many there are in all."""
    schemas = instances = 0
    refused: list[str] = []
    wrong: list[str] = []
    accepted_wrongly: list[str] = []
    registry = remotes(root, name)
    for path, formats in files(root / name):
        for group in json.loads(path.read_text(encoding="utf-8")):
            schemas += 1
            place = f"{path.relative_to(root / name).with_suffix('')}: {group['description']}"
            schema = group["schema"]
            if isinstance(schema, dict):
                schema = {"$schema": DRAFTS[name], **schema}
            taken: Language | None = None
            try:
                taken = language(schema, "any", formats=formats, registry=registry)
            except UnsatisfiableGrammar:
                pass
            except GrammarError:
                refused.append(place)
                continue
            for test in group["tests"]:
                instances += 1
                accepted = taken is not None and any(map(taken.takes_value, orders(test["data"], MOST_ORDERS)))
                if accepted != test["valid"]:
                    (accepted_wrongly if accepted else wrong).append(f"{place}: {test['description']}")
    return {
        "schemas": schemas,
        "instances": instances,
        "refused": refused,
        "valid_rejected": wrong,
        "invalid_accepted": accepted_wrongly,
    }


@pytest.mark.parametrize("name", DRAFTS)
def test_no_worse_than_the_baseline(name: str) -> None:
    root = suite()
    if root is None:
        pytest.skip(WHY_NOT)
    known = json.loads(BASELINE.read_text(encoding="utf-8"))[name]
    found = judge(root, name)
    for kind in ("invalid_accepted", "valid_rejected", "refused"):
        assert set(found[kind]) - set(known[kind]) == set(), kind


def write_baseline() -> None:
    """Judge all drafts, print the counts, and write them down."""
    root = suite()
    if root is None:
        raise SystemExit(WHY_NOT)
    results = {name: judge(root, name) for name in DRAFTS}
    for name, result in results.items():
        print(name, {key: value if isinstance(value, int) else len(value) for key, value in result.items()})
    BASELINE.write_text(json.dumps(results, indent=0, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    write_baseline()
