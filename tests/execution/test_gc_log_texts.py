"""Records of trials with GC logs that are texts: metrics and remarks, whatever lines the log has."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from loadcell.execution.gc_record import with_gc_log
from loadcell.ingest import gc_gathering
from loadcell.model import gc_pauses
from loadcell.model.load_result import LoadResult, MeasuredWindow
from loadcell.model.trial_record import Totals, TrialRecord
from loadcell.store.write import RunWriter, TrialWriter
from records import trial

SECOND = 10**9
#: The measurement lasts ten seconds.
START_S = 5_000
WINDOW = MeasuredWindow(START_S * SECOND, 1_795_888_080 * SECOND, 10 * SECOND)
PAUSE = "GC(1) Pause Full (System.gc()) 8M->4M(16M) 5.000ms"


@pytest.fixture
def writer(tmp_path: Path) -> Iterator[TrialWriter]:
    run = RunWriter(tmp_path / "run")
    trial_writer = run.trial("001")
    yield trial_writer
    trial_writer.finish(trial())
    run.close()


def line(at_s: float, text: str) -> str:
    """A line with all decorators, this time after the start of the measurement."""
    return f"[{(START_S + at_s) * SECOND:.0f}ns][{100 + at_s:.3f}s][info][gc] {text}\n"


def recorded(writer: TrialWriter, path: Path, *, required: bool = False) -> TrialRecord:
    result = LoadResult(outcome="completed", window=WINDOW)
    return with_gc_log(trial(totals=Totals()), result, path, 1.0, writer, required=required)


def figure(record: TrialRecord, key: str) -> float | None:
    """A metric of the record."""
    assert record.totals is not None
    return record.totals.figures.get(key)


def remarks(record: TrialRecord) -> list[str]:
    """Codes of the remarks on the log."""
    return [str(note["code"]) for note in record.monitors[gc_pauses.SOURCE].notes or ()]


@pytest.mark.parametrize(
    "text",
    [
        line(-50, "Using G1"),
        line(3, 'Safepoint "Cleanup", Time since last: 1000 ns, Total: 900 ns'),
        line(3, "GC(4) Concurrent Mark Cycle"),
    ],
)
def test_a_trial_without_a_pause_has_zeros(tmp_path: Path, writer: TrialWriter, text: str) -> None:
    (tmp_path / "gc.log").write_text(text)
    record = recorded(writer, tmp_path / "gc.log")
    assert record.totals is not None
    assert record.totals.figures == {
        gc_pauses.COUNT: 0, gc_pauses.TOTAL: 0, gc_pauses.LONGEST: 0, gc_pauses.SHARE: 0,
    }  # fmt: skip
    assert record.monitors[gc_pauses.SOURCE].samples == 11
    assert remarks(record) == []


def test_a_log_without_a_pause_and_a_clock_is_remarked_on(tmp_path: Path, writer: TrialWriter) -> None:
    (tmp_path / "gc.log").write_text("[100.000s][info][gc] Using G1\n")
    record = recorded(writer, tmp_path / "gc.log")
    assert record.totals == Totals()
    assert remarks(record) == ["gc-log.clock"]


@pytest.mark.parametrize(
    ("line_s", "written_s", "pauses", "codes"),
    [
        (START_S + 3, 3, 1, []),
        # a copy
        (START_S + 3, 90_000, 1, []),
        # no collection since
        (START_S - 900, -900, 0, []),
        # of a JVM that started 500 s after the machine
        (START_S - 500 + 3, 3, None, ["gc-log.clock"]),
    ],
)
def test_a_single_time_in_nanoseconds_is_one_of_two_clocks(
    tmp_path: Path, writer: TrialWriter, line_s: int, written_s: int, pauses: int | None, codes: list[str]
) -> None:
    log = tmp_path / "gc.log"
    log.write_text(f"[{line_s * SECOND}ns][info][gc] {PAUSE}\n")
    os.utime(log, ns=(0, WINDOW.start_utc_ns + written_s * SECOND))
    record = recorded(writer, log)
    assert (figure(record, gc_pauses.COUNT), remarks(record)) == (pauses, codes)


@pytest.mark.parametrize("content", ["missing", "empty", "directory"])
def test_a_given_log_of_which_nothing_is_read_is_remarked_on(
    tmp_path: Path, writer: TrialWriter, content: str
) -> None:
    log = tmp_path / "gc.log"
    if content == "empty":
        log.touch()
    elif content == "directory":
        log.mkdir()
    assert remarks(recorded(writer, log, required=True)) == ["gc-log.nothing-read"]


def test_a_trial_without_a_log_has_no_remark(tmp_path: Path, writer: TrialWriter) -> None:
    assert recorded(writer, tmp_path / "gc.log").monitors == {}


def test_a_name_is_no_pattern(tmp_path: Path, writer: TrialWriter) -> None:
    log = tmp_path / "gc[1].log"
    log.write_text(line(3, PAUSE))
    assert figure(recorded(writer, log, required=True), gc_pauses.COUNT) == 1


def test_pauses_before_the_trial_do_not_count_towards_the_limit(
    tmp_path: Path, writer: TrialWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gc_gathering, "MOST_PAUSES", 12)
    (tmp_path / "gc.log").write_text("".join(line(at_s, PAUSE) for at_s in range(-50, 9)))
    record = recorded(writer, tmp_path / "gc.log")
    assert (figure(record, gc_pauses.COUNT), remarks(record)) == (9, [])
