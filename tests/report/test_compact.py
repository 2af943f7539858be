"""The output of a load without a plan file: metrics first, in 80 columns, in both languages."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len
from rich.console import Console

from fake_runs import Shape, write_run
from loadcell.analysis import ranking
from loadcell.analysis.finding import Finding, Subject
from loadcell.analysis.validity import CHECK, check_advice, check_name
from loadcell.execution.record import explained
from loadcell.model import numbers
from loadcell.model.message import Message
from loadcell.model.trial_record import ErrorRecord, OperationStats, Status
from loadcell.report import adhoc_summary
from loadcell.report.adhoc_summary import MOST_FINDINGS
from loadcell.report.blocks import Report, Sentences
from loadcell.report.context import ReportContext
from loadcell.report.render import terminal
from loadcell.report.sections import summary
from loadcell.store.read import StoredRun, read_run
from records import latency

Stored = Callable[[str], StoredRun]
RUNS = (
    "two",
    "sweep",
    "trouble",
    "rates",
    "many factors",
    "hostile",
    "nothing measured",
    "nothing varied",
    "one repeat, no series",
)


def printed(run: StoredRun, lang: str = "en", width: int = 80) -> str:
    out = io.StringIO()
    terminal.render(
        adhoc_summary.of_run(run, lang),
        Console(file=out, width=width, highlight=False, color_system=None, force_terminal=True),
    )
    return out.getvalue()


def only(run: StoredRun, **changes: Any) -> StoredRun:
    """The same run with its first trial alone, changed."""
    trial = replace(run.trials[0], **changes)
    record = replace(
        run.run,
        treatments=tuple(entry for entry in run.run.treatments if entry.id == trial.treatment),
        trials=tuple(entry for entry in run.run.trials if entry.name == trial.name),
        repeats=1,
    )
    return replace(run, run=record, trials=[trial])


def of_http(run: StoredRun) -> StoredRun:
    """The same run, as if its load had received responses of HTTP."""
    trials = [
        replace(trial, totals=replace(trial.totals, statuses={"2xx": 9}, received_bytes_per_s=1.5 * 2**20))
        for trial in run.trials
        if trial.totals
    ]
    return replace(run, trials=trials)


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize("name", RUNS)
def test_it_fits_80_columns(stored: Stored, name: str, lang: str) -> None:
    """But for paths and commands, which are never broken so that they can be copied."""
    run = stored(name)
    for line in printed(run, lang).splitlines():
        assert cell_len(line) <= 80 or str(run.path) in line, line


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_a_single_load_has_its_values_below_each_other(stored: Stored, lang: str) -> None:
    run = only(stored("two"))
    output = printed(run, lang)
    totals = run.trials[0].totals
    assert f"{totals.transactions.succeeded:,}" in output
    for name in ("p50", "p90", "p95", "p99", "p99.9"):
        assert (name.upper() if lang == "zh" else name) in output
    assert ("吞吐量" if lang == "zh" else "Throughput") in output
    assert all(cell_len(line) <= 80 or str(run.path) in line for line in output.splitlines())


def test_errors_are_counted_by_code_with_what_the_server_said(stored: Stored) -> None:
    errors = (
        ErrorRecord("40001", 1200, message="could not serialize"),
        ErrorRecord("X9", 3, message="odd\n[thing]" + "y" * 999, meaning="X9"),
    )
    output = printed(only(stored("two"), errors=errors))
    assert "1,200  40001  serialisation failure: could not serialize" in output
    assert "another prefix" not in output
    assert re.search(r"3 +X9 .*odd\s+\[thing\]yyy", output)
    assert output.count("y") < 300


@pytest.mark.parametrize(
    ("lang", "helps"), [("en", "with another prefix"), ("zh", "使用带另一前缀的单独的键")]
)
def test_what_helps_stands_below_an_error(stored: Stored, lang: str, helps: str) -> None:
    error = explained(ErrorRecord("WRONGTYPE", 7, message="no"), "resp")
    assert helps in " ".join(printed(only(stored("two"), errors=(error,)), lang).split())


def test_the_time_is_of_as_many_trials_as_the_counts(stored: Stored) -> None:
    run = only(stored("two"))
    [source] = run.trials
    again = replace(run, trials=[source, replace(source, name="again", number=2, repeat=2)])
    seconds = source.measure.duration_s
    assert f"in {numbers.seconds(2 * seconds)}" in " ".join(printed(again).split())


def test_what_did_not_end_well_says_why_and_what_to_do(stored: Stored) -> None:
    changes = {"status": Status.TIMED_OUT, "reason": "7 of 9 requests ended", "advice": "raise [it]"}
    output = printed(only(stored("two"), **changes))
    assert "✕ timed out: 7 of 9 requests ended" in output
    assert "  raise [it]" in output
    assert "Throughput" in output  # of the measurement until then
    assert printed(stored("nothing measured")).count("no server there") == 1, "of four trials"


def test_parts_of_a_request_stand_under_it(stored: Stored) -> None:
    run = stored("two")
    times = latency(mean_ms=0.125, p50_ms=0.125, p99_ms=0.125, max_ms=0.125)
    operations = {
        "connect": OperationStats("other", response=times),
        "first_byte": OperationStats("other"),
    }
    output = printed(only(run, unit="request", operations=operations))
    assert "connect " in output
    assert "0.125" in output
    assert "first byte" not in output
    assert "requests/s" in output


def test_several_loads_have_a_row_each_and_repeats_a_median(stored: Stored) -> None:
    output = printed(stored("sweep"), width=68)
    assert "Medians of" in output
    head = next(line for line in output.splitlines() if "p99" in line)
    assert head.split()[:4] == ["clients", "tx/s", "range", "p50"]


def test_without_repeats_the_mean_has_its_place_before_what_was_received(tmp_path: Path) -> None:
    run = read_run(
        write_run(tmp_path / "run", Shape(factors={"load.clients": [1, 8]}, repeats=1, pace=600.0))
    )
    output = printed(of_http(run), width=64)
    assert "mean" in output
    assert "MiB" not in output


@pytest.mark.parametrize(("repeats", "title"), [(6, "95% CI"), (3, "range")])
def test_repeats_say_how_surely(tmp_path: Path, repeats: int, title: str) -> None:
    """Six of them have an interval, as the help of --repeats says; fewer are reported by how far they lie
    apart.
    """
    for factors in ({"load.clients": [1, 8]}, {"load.clients": [8]}):
        run = read_run(
            write_run(tmp_path / str(len(factors["load.clients"])), Shape(factors=factors, repeats=repeats))
        )
        output = printed(run)
        assert title in output
        for treatment in ReportContext.of(run, "en").analysis.treatments:
            reach = treatment.throughput.reach
            assert reach is not None
            low, high = reach
            assert (low, high) == (min(values := treatment.throughput.values), max(values)) or repeats == 6
            assert f"{numbers.rate(low)}–{numbers.rate(high)}" in output


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_bytes_a_second_stand_beside_the_rate_where_work_is_http(stored: Stored, lang: str) -> None:
    several = of_http(stored("two"))
    assert printed(several, lang).count("1.50 MiB") == 2
    assert all(
        cell_len(line) <= 80 or str(several.path) in line for line in printed(several, lang).splitlines()
    )
    assert "1.50 MiB" not in printed(stored("two"), lang)
    single = printed(of_http(only(stored("two"))), lang)
    received = {"en": r"Received +1\.50 MiB +/s, headers included", "zh": r"接收 +1\.50 MiB +/秒，含头部"}[
        lang
    ]
    assert re.search(received, single), single


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_columns_give_way_where_a_terminal_is_narrow_and_no_figure_is_cut(stored: Stored, lang: str) -> None:
    output = printed(of_http(stored("sweep")), lang, width=58)
    assert "…" not in output
    assert "MiB" not in output
    names = ("P50", "P90", "P99") if lang == "zh" else ("p50", "p90", "p99")
    assert all(name in output for name in names)


def findings(report: Report) -> list[Finding]:
    return [
        finding
        for section in report.sections
        for block in section.blocks
        if isinstance(block, Sentences)
        for finding in block.findings
    ]


@pytest.mark.parametrize("name", ["sweep", "trouble", "watched", "two hundred"])
def test_main_findings_are_those_of_run_in_a_few_lines(stored: Stored, name: str) -> None:
    run = stored(name)
    here = findings(adhoc_summary.of_run(run, "en"))
    everything = ranking.condensed(summary.everything(ReportContext.of(run, "en")))
    assert here
    assert len(here) <= MOST_FINDINGS
    assert all(finding in everything for finding in here)


def test_the_limiting_resource_is_named_and_several_checks_are_one_sentence(
    stored: Stored, monkeypatch: pytest.MonkeyPatch
) -> None:
    limit = Finding(Subject.LIMIT, Message("found.limit", {}).rated("info"))
    doubts = [
        CHECK.finding(("t",), "caution", count=1, of=1, check=check_name(name), advice=check_advice(name))
        for name in ("neighbour", "steal")
    ]
    monkeypatch.setattr(summary, "everything", lambda _: [limit, *doubts])
    subjects = [finding.subject for finding in findings(adhoc_summary.of_run(stored("two"), "en"))]
    assert subjects == [Subject.LIMIT, Subject.CHECKS]
