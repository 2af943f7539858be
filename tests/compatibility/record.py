"""Record what methods of judgement say of the run directories of schema 1, after a method was changed.

`python -m compatibility.record` (from tests/) writes the values that differ into tests/data/schema-1/expected
and prints each. A measured value, a state or a stored text among them is a defect, and must not be committed.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from compatibility.test_schema_1 import (
    DATA,
    RUNS,
    WORDED,
    differences,
    expected,
    finding_numbers,
    is_path_of,
    output,
    run_id,
)

#: Keys of a finding in the documents.
FINDING = ("kind", "severity", "key", "params", "evidence")


def merged(expected: Any, actual: Any) -> Any:
    """The actual value, with the keys of the expected one and no others."""
    if isinstance(expected, Mapping) and isinstance(actual, Mapping):
        return {
            key: [{part: item[part] for part in FINDING} for item in actual[key]]
            if key in WORDED
            else merged(value, actual[key])
            for key, value in expected.items()
            if key in actual
        }
    if isinstance(expected, list) and isinstance(actual, list):
        if len(actual) == len(expected):
            return [merged(value, other) for value, other in zip(expected, actual, strict=True)]
        return [merged(expected[0], other) for other in actual] if expected else actual
    return expected if is_path_of(expected, actual) else actual


def documents(results: Path) -> Iterator[tuple[str, Any]]:
    """Name and present content of each expected document."""
    for run in RUNS:
        yield f"report-{run_id(run)}", output("report", results / run)
    yield "compare-runs", output("compare", *sorted(results.glob("redis/*")))
    [levels] = results.glob("redis/*-140b")
    yield "compare-levels", output("compare", levels, "--factor", "workload.kv.reads")
    yield "compare-hosts", output("compare", *sorted(results.glob("host-baseline/*")))
    yield "history", output("history", "redis", "--results", results)


def record(results: Path) -> None:
    """Write and print what differs."""
    for name, document in documents(results):
        before = expected(name)
        lines = list(differences(before, document))
        if name.startswith("report") and finding_numbers(before) != finding_numbers(document):
            lines.append("findings")
        if lines:
            after = merged(before, document)
            rows = (
                f"{json.dumps(key)}:{json.dumps(value, separators=(',', ':'))}"
                for key, value in after.items()
            )
            text = "{\n" + ",\n".join(rows) + "\n}\n"
            (DATA / "expected" / f"{name}.json").write_text(text, encoding="utf-8")
            print(name, *lines, sep="\n  ")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as directory:
        record(Path(shutil.copytree(DATA / "results", Path(directory) / "results")))
