"""Tables of published reports as runs: what their authors saw is on the page, and what they could not
see, too.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from analysis.reported import RECORDS, STORAGES, STREAM
from fake_runs import Fate, Shape, write_run
from lines import CliRunner
from loadcell.cli import main
from loadcell.report.build import build
from loadcell.report.render.html import render
from loadcell.store.read import read_run

#: Response times of a key-value service in ms by operation and share of memory: p90, p99, max, mean, p50,
#: failed requests; None where it timed out. Of `get` and `mget` p90 lies above p99 in two rows.
HEAP: Mapping[tuple[str, int], tuple[float, float, float, float, float, int] | None] = {
    ("get", 5): (32, 29, 1030, 24, 24, 2), ("get", 10): (26, 29, 1038, 23, 24, 2),
    ("get", 20): (27, 29, 1218, 22, 21, 5), ("get", 30): None,
    ("set", 5): (122, 316, 1461, 85, 73, 0), ("set", 10): (128, 352, 1708, 87, 75, 0),
    ("set", 20): (125, 365, 3354, 88, 75, 0), ("set", 30): None,
}  # fmt: skip


def page_of(run: Path, lang: str = "en") -> tuple[str, str]:
    """The page's summary and all of its text."""
    page = render(build(read_run(run), lang))
    summary = re.search(r'<section id="summary".*?</section>', page, re.DOTALL)
    assert summary is not None
    return _text(summary[0]), _text(page)


def _text(html: str) -> str:
    return " ".join(re.sub(r"<[^>]*>", "", re.sub(r"<script.*?</script>", "", html, flags=re.DOTALL)).split())


def imported(home: Path, rows: list[str], *mapped: str) -> Path:
    """A table as `loadcell import csv` makes a run of it."""
    (home / "table.csv").write_text("\n".join(rows) + "\n")
    columns = [argument for column in mapped for argument in ("--column", column)]
    done = CliRunner().invoke(
        main,
        ["import", "csv", str(home / "table.csv"), *columns, "--results", str(home / "results")],
        prog_name="loadcell",
    )
    assert done.exit_code == 0, done.output
    (run,) = (home / "results").glob("*/*")
    return run


def test_three_storages_each_get_their_statement_and_what_five_levels_cannot_support(tmp_path: Path) -> None:
    rows = [
        f"{storage},{clients},{mean},{tps}"
        for storage, line in STORAGES.items()
        for clients, (mean, tps) in line.items()
    ]
    mapped = ("throughput=tps", "latency.mean=mean", "factor=storage", "clients=clients")
    run = imported(tmp_path, ["storage,clients,mean,tps", *rows], *mapped)
    summary, page = page_of(run)
    assert (
        "Saturation at storage = curve and storage = curve-striped: 128 clients gave the highest" in summary
    )
    assert "Saturation at storage = ceph: 64 clients gave the highest" in summary
    assert "If these single measurements are typical, the peak lies between 32 and 128 clients" in summary
    assert "5 loads are too few to test its three parameters (6 needed)" in summary
    assert "Descriptive only: 1 repeat per treatment" in summary
    assert "from 64 to 256 clients, throughput changes by ×0.971 and mean response time by ×4.12" in page
    assert "只有 5 个负载点，不足以检验三参数模型（至少需要 6 个）" in page_of(run, "zh")[0]


def test_the_interaction_of_a_stream_is_described_from_single_repeats(tmp_path: Path) -> None:
    rows = [
        f"{retained},{rules},{threads},{RECORDS / seconds}"
        for (retained, rules, threads), seconds in STREAM.items()
    ]
    factors = ("retained_records", "rules", "threads")
    columns = ("throughput=per_s", *(f"factor={name}" for name in factors))
    summary, page = page_of(imported(tmp_path, [f"{','.join(factors)},per_s", *rows], *columns))
    assert summary.index("rules and threads interact") < summary.index("Of the treatments tested")
    assert "changes throughput by ×0.357 at threads = 1, but by ×1.11 at threads = 4" in summary
    assert "(×0.856, 3.1% of its variance), but by ×0.582 at rules = 10 and threads = 1" in summary
    assert "Descriptive only: 1 repeat per treatment" in summary
    assert "operations/s" in summary
    assert "Effects of factors are descriptive only: without repeats" in page


def test_percentiles_that_cannot_be_stand_before_any_answer(tmp_path: Path) -> None:
    levels = {"operation": ["get", "set"], "memory_percent": [5, 10, 20, 30]}
    lost = Fate("timed-out", "the load did not end within its limit")
    # One trial a treatment, in whatever order: which of them timed out is known once they are written.
    shape = Shape(factors=levels, repeats=1, monitors=False, intervals=False)
    first = write_run(tmp_path / "order", shape)
    fates = {
        trial["number"]: lost
        for trial in (json.loads(file.read_text()) for file in first.glob("trials/*/trial.json"))
        if trial["levels"]["memory_percent"] == "30"
    }
    run = write_run(
        tmp_path / "run", Shape(factors=levels, repeats=1, monitors=False, intervals=False, fates=fates)
    )
    for file in run.glob("trials/*/trial.json"):
        document: dict[str, Any] = json.loads(file.read_text())
        row = HEAP[document["levels"]["operation"], int(document["levels"]["memory_percent"])]
        if row is not None:
            p90, p99, most, mean, p50, failed = row
            document["totals"]["response"] = {
                "count": 1000, "p50_ms": p50, "p90_ms": p90, "p99_ms": p99, "max_ms": most, "mean_ms": mean,
            }  # fmt: skip
            document["totals"]["transactions"]["failed"] = failed
            document["checks"] = []
            document["unit"] = "request"
            file.write_text(json.dumps(document))
    summary, page = page_of(run)
    position = summary.index("Impossible percentiles")
    assert position < summary.index("had the highest median throughput")
    assert "6 of 8 trials succeeded; 2 timed out." in summary
    assert "p90: 32.0 ms" in page
    assert "p99: 29.0 ms" in page
