"""Runs each bottleneck at random sizes and counts the limits that were named: the confusion matrix.

`python -m truth.bottlenecks.driver --state FILE --repeats 10`, in the folder `tests`, on a quiet machine, as
root. It resumes where it stopped: every result is one line of FILE. `--only NAME` runs one bottleneck.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from loadcell.analysis.limits.candidate import Evidence
from loadcell.analysis.limits.judge import judged, supported
from loadcell.model.json import convert, document
from truth.bottlenecks.case import Bottleneck, outcome
from truth.bottlenecks.cases import ALL


def results(state: Path) -> list[dict[str, Any]]:
    """Results that exist."""
    return [json.loads(line) for line in state.read_text().splitlines()] if state.exists() else []


def judged_again(row: Mapping[str, Any]) -> str:
    """The limit that the evidence of a result shows today."""
    items = supported(judged(convert(Evidence, row["evidence"])))
    return items[0].candidate.name if len(items) == 1 else "not known"


def without_nulls(value: Any) -> Any:
    """Plain JSON without keys of unknown values, which are those of a record by default."""
    if isinstance(value, dict):
        return {key: without_nulls(item) for key, item in value.items() if item is not None}
    return [without_nulls(item) for item in value] if isinstance(value, list) else value


def matrix(rows: list[dict[str, Any]]) -> str:
    """A table in Markdown: a row a bottleneck, a column a named limit."""
    limits = list(dict.fromkeys(item.limit for item in ALL if item.limit != "not known"))
    extra = sorted({row["named"] for row in rows} - {*limits, "not known"})
    columns = [*limits, *extra, "not known"]
    counts = Counter((row["bottleneck"], row["named"]) for row in rows)
    lines = [f"| bottleneck | {' | '.join(columns)} |", f"| --- |{' ---: |' * len(columns)}"]
    for bottleneck in ALL:
        cells = [str(counts[bottleneck.name, column] or "") for column in columns]
        lines.append(f"| {bottleneck.name} | {' | '.join(cells)} |")
    right = sum(row["named"] == row["limit"] for row in rows)
    unknown = sum(row["named"] == "not known" != row["limit"] for row in rows)
    lines.append(f"\n{right} of {len(rows)} right, {unknown} not known, {len(rows) - right - unknown} wrong")
    return "\n".join(lines)


def run(bottleneck: Bottleneck, number: int) -> dict[str, object]:
    """One case; its seed is its number."""
    chance = random.Random(f"{bottleneck.name} {number}")
    began = time.monotonic()
    with bottleneck.build(chance) as case:
        result = outcome(case)
    return {
        "bottleneck": bottleneck.name, "limit": bottleneck.limit, "number": number, "size": case.size,
        "named": result.limit or "not known", "seconds": round(time.monotonic() - began, 1),
        "evidence": without_nulls(document(result.evidence)),
    }  # fmt: skip


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--state", type=Path, required=True)
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    done = {(row["bottleneck"], row["number"]) for row in results(options.state)}
    for number in range(options.repeats):
        for bottleneck in ALL:
            if options.only not in bottleneck.name or (bottleneck.name, number) in done:
                continue
            result = run(bottleneck, number)
            with options.state.open("a") as state:
                state.write(json.dumps(result, ensure_ascii=False, separators=(",", ":")) + "\n")
            brief = {name: result[name] for name in ("bottleneck", "size", "named", "seconds")}
            sys.stdout.write(f"{json.dumps(brief)}\n")
            sys.stdout.flush()
    sys.stdout.write(matrix(results(options.state)) + "\n")


if __name__ == "__main__":
    main()
