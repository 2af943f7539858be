"""Makes each incident for real, replays it at random sizes, examines healthy controls: recall and precision.

`python -m truth.incidents.driver --state FILE`, in the folder `tests`, as root, prints the table of
docs/reference/incidents.md. It resumes where it stopped: every result is one line of FILE. A rehearsal that
fails is a result, too: the incident counts as neither recognised nor gone, and is not made again.
With `--only INCIDENT... --renew` it writes the new rows of these incidents into table.md.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from truth.incidents.case import LATEST_S, judged
from truth.incidents.gluster_rehearsals import REHEARSALS as VOLUMES
from truth.incidents.gluster_replays import REPLAYS as OF_VOLUMES
from truth.incidents.host_replays import REPLAYS as OF_HOSTS
from truth.incidents.jvm_replays import REPLAYS as OF_JVMS
from truth.incidents.log_replays import REPLAYS as OF_LOGS
from truth.incidents.rehearsal import Rehearsal
from truth.incidents.rehearsals import REHEARSALS as HOSTS
from truth.incidents.run_replays import REPLAYS as OF_RUNS

REHEARSALS = (*HOSTS, *VOLUMES)
REPLAYS = (*OF_JVMS, *OF_HOSTS, *OF_LOGS, *OF_RUNS, *OF_VOLUMES)
TABLE = Path(__file__).parent / "table.md"
REAL, REPLAYED, CONTROLS = 3, 10, 10


def results(state: Path) -> list[dict[str, Any]]:
    """Results that exist."""
    return [json.loads(line) for line in state.read_text().splitlines()] if state.exists() else []


def cases(only: Collection[str], times: int) -> Iterator[tuple[str, str, int]]:
    """Kind, incident and number of all cases; a control has the number of its threshold in its kind."""
    for number in range(times):
        for item in REHEARSALS:
            if not only or item.incident in only:
                yield "real", item.incident, number
    for replay in REPLAYS:
        if not only or replay.incident in only:
            yield from (("replayed", replay.incident, number) for number in range(REPLAYED))
            for near in range(len(replay.near)):
                yield from ((f"control {near}", replay.incident, number) for number in range(CONTROLS))


def run(kind: str, incident: str, number: int) -> dict[str, Any]:
    """One case; its seed is its name."""
    chance = random.Random(f"{incident} {kind} {number}")
    began = time.monotonic()
    row: dict[str, Any] = {"kind": kind, "incident": incident, "number": number}
    with tempfile.TemporaryDirectory(prefix="loadcell-test-", dir="/var/tmp") as home:
        directory = Path(home)
        if kind == "real":
            [rehearsal] = [item for item in REHEARSALS if item.incident == incident]
            row |= made(rehearsal, chance, directory)
        else:
            [replay] = [item for item in REPLAYS if item.incident == incident]
            build = replay.seen if kind == "replayed" else replay.near[int(kind.split()[1])]
            example = build(chance, directory)
            result = judged(example.evidence)
            row |= {"size": example.size, "seen": incident in result.all, "critical": result.critical}
    return {**row, "seconds": round(time.monotonic() - began, 1)}


def made(rehearsal: Rehearsal, chance: random.Random, directory: Path) -> dict[str, Any]:
    """The result of a rehearsal; what is recognised late is not recognised."""
    try:
        outcome = rehearsal.run(chance, directory)
    except (AssertionError, OSError, ValueError, subprocess.SubprocessError) as error:
        return {"size": "", "seen": False, "gone": False, "failed": str(error)}
    return {
        "size": outcome.size,
        "seen": outcome.is_seen and outcome.delay_s <= LATEST_S,
        "gone": outcome.is_gone,
        "delay_s": round(outcome.delay_s, 1),
        "repeated": outcome.repeated,
        "not_judged": outcome.not_judged,
    }


def table(rows: list[dict[str, Any]]) -> str:
    """A table in Markdown: a row for each incident."""
    counts: Counter[tuple[str, str]] = Counter()
    delays: dict[str, list[float]] = {}
    for row in rows:
        if row["kind"] == "real" and row["seen"]:
            delays.setdefault(row["incident"], []).append(row.get("delay_s", math.nan))
        kind = row["kind"].split()[0]
        counts[row["incident"], kind] += 1
        counts[row["incident"], f"{kind} seen"] += bool(row["seen"])
        counts[row["incident"], f"{kind} gone"] += bool(row.get("gone"))
        counts[row["incident"], "failed"] += "failed" in row
        counts[row["incident"], "not judged"] += bool(row.get("not_judged"))
        counts[row["incident"], "repeated"] += row.get("repeated", 0)
        counts[row["incident"], f"{kind} critical"] += bool(row.get("critical")) and kind == "control"
    lines = [
        "| incident | made by | real: recognised within 60 s | longest delay | healthy after the remedy | "
        "failed, not judged, repeated | replayed: recognised | healthy controls | of them with a finding | "
        "with a critical one of any incident |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    made = {item.incident: f"{item.made}; remedy: {item.remedy}" for item in REHEARSALS}
    for name in dict.fromkeys((*made, *(replay.incident for replay in REPLAYS))):
        real, replayed = counts[name, "real"], counts[name, "replayed"]
        cells = [
            f"`{name}`",
            made.get(name, "replayed only"),
            f"{counts[name, 'real seen']} of {real}" if real else "–",
            delay(delays.get(name, [])),
            f"{counts[name, 'real gone']} of {real}" if real else "–",
            ", ".join(str(counts[name, part]) for part in ("failed", "not judged", "repeated"))
            if real
            else "–",
            f"{counts[name, 'replayed seen']} of {replayed}" if replayed else "–",
            str(counts[name, "control"]),
            str(counts[name, "control seen"]),
            str(counts[name, "control critical"]),
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join([*lines, "", _sum(lines)])


def renewed(old: str, new: str, incidents: Collection[str]) -> str:
    """A table with the rows of these incidents from another one, which has all, and the sum of its controls.

    Raises ValueError for incidents that it does not have.
    """
    rows, present = _rows(new), _rows(old)
    if missing := [name for name in incidents if name not in rows]:
        raise ValueError(f"neither rehearsals nor replays: {', '.join(missing)}")
    if missing := [name for name in rows if name not in incidents and name not in present]:
        sys.stdout.write(f"without a row, as they were not examined: {', '.join(missing)}\n")
    head = new.splitlines()[:2]
    chosen = [
        rows[name] if name in incidents else present[name]
        for name in rows
        if name in incidents or name in present
    ]
    return "\n".join([*head, *chosen, "", _sum(chosen)]) + "\n"


def _rows(table: str) -> dict[str, str]:
    """Rows of a table by incident."""
    return {line.split()[1].strip("`"): line for line in table.splitlines() if line.startswith("| `")}


def _sum(rows: list[str]) -> str:
    """The number of healthy controls of these rows, and of those with a critical finding."""
    cells = [line.split("|") for line in rows if line.startswith("| `")]
    total, critical = (sum(int(row[column]) for row in cells) for column in (8, 10))
    return f"{total} healthy controls, {critical} with a critical finding of any incident"


def delay(delays_s: list[float]) -> str:
    """The longest time from the last sign to the recognition, and of how many where not all were measured."""
    measured_s = [delay_s for delay_s in delays_s if not math.isnan(delay_s)]
    if not measured_s:
        return "–"
    of = "" if len(measured_s) == len(delays_s) else f" (of {len(measured_s)})"
    return f"{max(measured_s):.1f} s{of}"


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--state", type=Path, required=True)
    parser.add_argument("--only", nargs="*", default=(), metavar="INCIDENT")
    parser.add_argument("--renew", action="store_true", help="rows of table.md")
    parser.add_argument("--times", type=int, default=REAL, help="rehearsals of each incident")
    options = parser.parse_args()
    done = {(row["kind"], row["incident"], row["number"]) for row in results(options.state)}
    for case in cases(options.only, options.times):
        if case in done:
            continue
        row = run(*case)
        with options.state.open("a") as state:
            state.write(json.dumps(row, ensure_ascii=False, separators=(",", ":")) + "\n")
        if row["kind"] == "real" or row["seen"] != (row["kind"] == "replayed") or row.get("critical"):
            sys.stdout.write(f"{json.dumps(row, ensure_ascii=False)}\n")
            sys.stdout.flush()
    new = table(results(options.state))
    sys.stdout.write(new + "\n")
    if options.renew:
        incidents = {row["incident"] for row in results(options.state)}
        TABLE.write_text(renewed(TABLE.read_text(), new, incidents))


if __name__ == "__main__":
    main()
