"""Compare DuckDB's CSV reader with the engine's log readers on transaction logs of gigabytes.

Contenders run in turn, each in its own process. `columns` does the work of the engine's reader: typed
columns, damaged lines stored as rejects, counts and sums grouped by second, kind and latency bucket. `lines`
reads each line as one text and only counts them:
a lower bound for any query that splits lines itself. A short damaged log shows whether DuckDB counts unread
lines exactly.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import duckdb

from bench.import_speed import MAKERS, MIB, Cost, read_apart, write_text
from bench.paired import keep, note, ratios, spread
from loadcell.ingest.read import read_file

TOOLS = ("pgbench-log", "benchmarksql")
READER = "engine's reader"
#: 64 buckets for each doubling of the latency, as the engine's reader has.
_BUCKET = "CASE WHEN took < 64 THEN took ELSE cast(log2(took) * 64 AS integer) END"
_COLUMNS = {
    "pgbench-log": {
        "client": "UINTEGER", "number": "VARCHAR", "took": "UBIGINT", "script": "VARCHAR",
        "second": "UBIGINT", "us": "UBIGINT",
    },
    "benchmarksql": {
        "run": "BIGINT", "elapsed": "UBIGINT", "took": "UBIGINT", "dblatency": "VARCHAR", "ttype": "VARCHAR",
        "rbk": "BIGINT",
        "dskipped": "VARCHAR", "error": "BIGINT",
    },
}  # fmt: skip
_GROUPS = {
    "pgbench-log": "second + us // 1000000, client",
    "benchmarksql": "run, elapsed // 1000, ttype, rbk <> 0, error <> 0",
}
#: Each line but the first is damaged in its own way; a line feed ends each.
_DAMAGED = {
    "pgbench-log": (
        b"0 1 55 0 1795270066 1", b"\xff\xfe rubbish", b'"1 2 3', b"1 2 -5 0 1 1", b"0 1 1,234 0 1 1",
        b"0 1 5.5 0 1 1",
        b"NOTICE: x", b" 0 1 55 0 1 1", b"0 12 55",
    ),
    "benchmarksql": (
        b"7,1,1,1,PAYMENT,0,0,0", b'7,1,1,1,"PAYMENT",0,0,0', b"7,1", b"7;1;1;1;PAYMENT;0;0;0",
        b"\xff\xfe rubbish", b"7,5,1.234,5",
    ),
}  # fmt: skip
_DAMAGED_ROUNDS = 1_000


def main() -> None:
    """Make each log, run the contenders on it in turn, print medians and keep them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mib", type=int, default=2048, help="size of each log")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--home", type=Path, default=Path("/var/tmp"), help="where the logs are made")
    parser.add_argument(
        "--query", nargs=3, metavar=("TOOL", "FORM", "FILE"), help="run one query and print its cost"
    )
    args = parser.parse_args()
    if args.query:
        print(json.dumps(_query(*args.query)))
        return
    results: dict[str, Any] = {}
    with TemporaryDirectory(prefix="loadcell-bench-", dir=args.home) as home:
        for tool in TOOLS:
            log = Path(home) / tool
            write_text(log, args.mib, MAKERS[tool])
            results[tool] = {**_compare(tool, log, args.rounds), **_damaged(tool, Path(home) / "damaged")}
            log.unlink()
    command = f"python -m bench.import_duckdb --mib {args.mib} --rounds {args.rounds}"
    keep("import_duckdb", command, results)
    print(json.dumps(results, indent=2))


def _compare(tool: str, log: Path, rounds: int) -> dict[str, Any]:
    size = log.stat().st_size
    costs: dict[str, list[Cost]] = {READER: [], "columns": [], "lines": []}
    for number in range(rounds):
        for name, runs in costs.items():
            runs.append(read_apart(tool, log) if name == READER else _cost(_apart(tool, name, log)))
            note(f"  {tool}, round {number + 1}/{rounds}: {name} {size / runs[-1].s / 1e6:.0f} MB/s")
    return {
        "bytes": size,
        "mb_per_s": {name: spread([size / cost.s / 1e6 for cost in runs]) for name, runs in costs.items()},
        "mb_per_cpu_s": {
            name: spread([size / cost.cpu_s / 1e6 for cost in runs]) for name, runs in costs.items()
        },
        "columns_peak_mib": max(cost.peak_bytes for cost in costs["columns"]) / MIB,
        "speed_to_reader": {
            name: ratios([cost.s for cost in costs[READER]], [cost.s for cost in costs[name]])
            for name in ("columns", "lines")
        },
    }


def _damaged(tool: str, path: Path) -> dict[str, Any]:
    """Unread lines of a damaged log: of the text, as the engine counts them, and as DuckDB does (or its
    error).
    """
    good, *bad = _DAMAGED[tool]
    head = [b",".join(name.encode() for name in _HEAD)] if tool == "benchmarksql" else []
    lines = [good, good, *bad] * _DAMAGED_ROUNDS
    path.write_bytes(b"\n".join([*head, *lines]) + b"\n")
    try:
        of_duckdb: int | str = _apart(tool, "columns", path)["rejected"]
    except subprocess.CalledProcessError as error:
        of_duckdb = error.stderr.strip().splitlines()[-1][:200]
    engine = read_file(path, tool).reading.unread
    return {"unread": {"text": len(bad) * _DAMAGED_ROUNDS, "engine": engine, "duckdb": of_duckdb}}


_HEAD = ("run", "elapsed", "latency", "dblatency", "ttype", "rbk", "dskipped", "error")


def _apart(tool: str, form: str, path: Path) -> dict[str, Any]:
    command = [sys.executable, "-m", "bench.import_duckdb", "--query", tool, form, str(path)]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    answer: dict[str, Any] = json.loads(output)
    return answer


def _cost(answer: dict[str, Any]) -> Cost:
    return Cost(answer["s"], answer["cpu_s"], answer["peak_bytes"])


def _query(tool: str, form: str, path: str) -> dict[str, Any]:
    """Cost of one query, with the number of distinct rejected lines."""
    connection = duckdb.connect(config={"preserve_insertion_order": "false", "threads": str(os.cpu_count())})
    columns = _COLUMNS[tool] if form == "columns" else {"line": "VARCHAR"}
    delimiter = "\1" if form == "lines" else " " if tool == "pgbench-log" else ","
    source = (
        f"read_csv($path, delim='{delimiter}', header={tool == 'benchmarksql'}, columns={columns}, "
        "auto_detect=false, "
        "quote='', escape='', store_rejects=true, rejects_limit=0)"
    )
    groups = f"{_GROUPS[tool]}, {_BUCKET}"
    select = f"SELECT {groups}, count(*), sum(took) FROM {source} GROUP BY ALL"
    if form == "lines":
        select = f"SELECT count(*) FROM {source}"
    begin_s, begin_cpu_s = time.perf_counter(), time.process_time()
    connection.execute(select, {"path": path}).fetchnumpy()
    row = connection.execute("SELECT count(DISTINCT (file_id, line)) FROM reject_errors").fetchone()
    assert row is not None
    cost = Cost(
        time.perf_counter() - begin_s,
        time.process_time() - begin_cpu_s,
        resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
    )
    return {**asdict(cost), "rejected": row[0]}


if __name__ == "__main__":
    main()
