"""BenchmarkSQL's printed text: of versions 4 and 5, without the transactions of its result.csv."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import pytest

from loadcell.ingest import checks, read
from loadcell.ingest.base import ImportProblemError, Measured

AT_5 = "09:30:0{second},120 [Thread-7] INFO   jTPCC : Term-00, {text}\n"
AT_4 = " INFO   [2015-05-06 09:30:0{second}.120]       Thread-7        Term-00, {text}  \n"
SUMMARY = (
    "Measured tpmC (NewOrders) = {tpmc}",
    "Measured tpmTOTAL = {total}",
    "Session Start     = 2015-05-06 09:25:00",
    "Session End       = 2015-05-06 09:30:00",
    "Transaction Count = {count}",
)
VALUES = {"tpmc": "450.25", "total": "1000.5", "count": "5003"}


def text(line: str, *more: str, **values: str) -> str:
    lines = (*more, "", *(item.format(**{**VALUES, **values}) for item in SUMMARY))
    return "".join(line.format(second=min(9, second), text=item) for second, item in enumerate(lines))


def measured(path: Path, content: str) -> tuple[Measured, ...]:
    path.write_text(content)
    (source,) = read.read([path], "auto")
    assert (source.tool, source.reading.unread) == ("benchmarksql", 0)
    return source.reading.measured


@pytest.mark.parametrize("line", [AT_4, AT_5])
def test_the_summary_is_one_execution(tmp_path: Path, line: str) -> None:
    (execution,) = measured(tmp_path / "run.log", text(line, "warehouses=20", "terminals=8", "user=me"))
    assert execution.throughput_per_s == pytest.approx(1000.5 / 60)
    assert (execution.succeeded, execution.duration_s, execution.clients) == (5003, 300, 8)
    assert execution.figures == {"tpmC": 450.25, "tpmTotal": 1000.5}
    assert execution.settings == {"warehouses": 20}
    assert execution.began_s == datetime(2015, 5, 6, 9, 25).timestamp()
    assert checks.disagreements(execution) == []


def test_a_count_that_the_rate_contradicts_is_found(tmp_path: Path) -> None:
    (execution,) = measured(tmp_path / "run.log", text(AT_5, count="50030"))
    assert [item.total.label for item in checks.disagreements(execution)] == ["Transaction Count/session"]


def test_each_summary_of_a_text_is_an_execution(tmp_path: Path) -> None:
    both = text(AT_5, "terminals=1") + text(AT_5, "terminals=2", total="2000.0", count="10000")
    executions = measured(tmp_path / "run.log", both)
    assert [(item.clients, item.succeeded) for item in executions] == [(1, 5003), (2, 10000)]


def test_a_text_without_a_summary_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "run.log"
    path.write_text(AT_5.format(second=1, text="warehouses=20"))
    with pytest.raises(ImportProblemError, match="Measured tpmTOTAL"):
        read.read([path], "benchmarksql")
