"""Client groups in the report: a table, and a line for each in the time series."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

from fake_runs import two_treatments, write_run
from loadcell.report.build import build
from loadcell.report.charts import series
from loadcell.report.context import ReportContext
from loadcell.report.render.markdown import render
from loadcell.store.read import StoredRun, read_run


def operation(count: int) -> dict[str, Any]:
    return {
        "kind": "type", "succeeded": count, "failed": 0, "throughput_per_s": count / 30,
        "response": {
            "mean_ms": 5.0, "p50_ms": 4.0, "p90_ms": 8.0,
            "p95_ms": 9.0, "p99_ms": 12.5, "max_ms": 99.0,
        },
    }  # fmt: skip


def run(home: Path, *, paced: bool = False) -> StoredRun:
    """A run whose trials had two groups, one with twice the throughput of the other."""
    path = write_run(home / "run", two_treatments())
    schedule = {"arrivals": "constant", "offered_per_s": 77.0, "backlog": {"peak": 41}} if paced else None
    for file in path.glob("trials/*/trial.json"):
        document = json.loads(file.read_text())
        document["operations"] = {"writers": operation(3_000), "readers": operation(6_000)}
        document["groups"] = {
            "writers": {"workload": "tpcc", "clients": 6, "schedule": None, "client": {}},
            "readers": {"workload": "sysbench", "clients": 2, "schedule": schedule, "client": {}},
        }
        file.write_text(json.dumps(document))
    for file in path.glob("trials/*/intervals.csv"):
        with file.open(newline="") as lines:
            rows = list(csv.DictReader(lines))
        with file.open("w", newline="") as out:
            writer = csv.DictWriter(out, rows[0].keys())
            writer.writeheader()
            for row in rows:
                writer.writerow(row)
                if row["operation"] == "transaction":
                    for name, rate in (("writers", "100"), ("readers", "200")):
                        intervals = {
                            "operation": name,
                            "kind": "type",
                            "throughput_per_s": rate,
                            "response_p99_ms": "7",
                        }
                        writer.writerow({**row, **intervals})
    return read_run(path)


def page(stored: StoredRun, lang: str = "en") -> str:
    return render(build(stored, lang)).replace("\\", "")


def row(text: str, name: str) -> list[str]:
    table_row = next(line for line in text.splitlines() if line.startswith(f"| clients = 4 | `{name}` |"))
    return [cell.strip() for cell in table_row.strip("|").split("|")]


def test_a_row_for_each_group_of_each_treatment(tmp_path: Path) -> None:
    text = page(run(tmp_path))
    cells = row(text, "writers")
    assert cells[1:5] == ["`writers`", "tpcc", "6", "100.0"]
    assert cells[6:] == ["4.00", "9.00", "12.5", "99.0", "0"]
    assert "Types of transaction" not in text
    assert "Offered (/s)" not in text


def test_what_was_due_has_a_column_where_a_group_is_an_open_loop(tmp_path: Path) -> None:
    text = page(run(tmp_path, paced=True))
    assert row(text, "readers")[3:6] == ["2", "77.00", "200.0"]
    assert row(text, "readers")[-2:] == ["41", "0"]


def test_the_time_series_has_a_line_for_each_group(tmp_path: Path) -> None:
    for lang, title in (("en", "Client groups: transactions/s"), ("zh", "各客户端组：事务/秒")):
        context = ReportContext.of(run(tmp_path / lang), lang)
        chart = series.draw(context)
        assert chart is not None
        assert title in json.dumps(chart.spec, ensure_ascii=False)
        rows = series.rows(chart, chart.choices[0][0])["load"]
        measured = [row for row in rows if row["t"] > 0]
        assert measured
        for row in measured:
            assert (row["throughput_per_s:writers"], row["throughput_per_s:readers"]) == (100, 200)
            assert row["response_p99_ms:writers"] == 7


def test_a_run_without_groups_has_none_of_it(tmp_path: Path) -> None:
    stored = read_run(write_run(tmp_path / "run", two_treatments()))
    assert "Client groups" not in page(stored)
    chart = series.draw(ReportContext.of(stored, "en"))
    assert chart is not None
    assert "Client groups" not in json.dumps(chart.spec)


def test_the_caption_states_the_beginning_of_response_times_of_open_and_closed_groups(tmp_path: Path) -> None:
    assert "in an open loop at the scheduled send time" in page(run(tmp_path, paced=True))
    assert "in an open loop" not in page(run(tmp_path / "closed"))
