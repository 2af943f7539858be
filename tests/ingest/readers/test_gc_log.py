"""GC logs as imports: alone, rotated, damaged, next to a load, and of JVMs whose format is another."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from frame_values import values
from ingest.made import made
from jvms import running
from loadcell.ingest.base import NotItsOutputError
from loadcell.ingest.read import read as read_files
from loadcell.ingest.readers import gc_log
from loadcell.ingest.text import Output
from loadcell.model import gc_pauses
from loadcell.report import brief
from loadcell.report.build import build
from loadcell.report.render import markdown

OUTPUTS = Path(__file__).parent / "outputs"
MIB = 1 << 20
UTC = "[2026-11-28T17:48:{at:06.3f}+0000][{at:.3f}s][info][gc] "
UPTIME = "[{at:.3f}s][info][gc] "
#: From 1 s to 11 s: pauses of 4 ms at 3 s, of 40 ms at 7 s, with 10 MiB allocated between and 2 MiB promoted.
EVENTS = (
    (1, "Using Parallel"),
    (3, "GC(0) Pause Young (Allocation Failure) 6M->2M(64M) 4.000ms"),
    (7, "GC(1) ParOldGen: 1024K(4096K)->3072K(4096K)"),
    (7, "GC(1) Pause Young (Allocation Failure) 12M->3M(64M) 40.000ms"),
    (11, "Heap"),
)
JDK_8 = """\
2026-06-28T10:00:00.123+0800: 0.123: [GC (Allocation Failure) [PSYoungGen: 65536K->10720K(76288K)] \
65536K->13088K(251392K), 0.0100000 secs] [Times: user=0.02 sys=0.00, real=0.01 secs]
"""
JDK_8_HEAD = (
    "OpenJDK 64-Bit Server VM (25.292-b10) for linux-amd64 JRE (1.8.0_292-b10), built on Apr 21 2021\n"
)


def text(head: str = UTC, events: tuple[tuple[int, str], ...] = EVENTS) -> str:
    return "".join(f"{head.format(at=float(at))}{event}\n" for at, event in events)


def written(path: Path, content: str) -> Path:
    path.write_text(content)
    return path


def test_a_log_alone_is_a_run_with_its_pauses_and_metrics(tmp_path: Path) -> None:
    run = made(tmp_path / "runs", "auto", written(tmp_path / "gc.log", text()))
    [trial] = run.trials
    assert trial.totals is not None
    assert trial.totals.figures == {
        gc_pauses.COUNT: 2,
        gc_pauses.TOTAL: 44,
        gc_pauses.LONGEST: 40,
        gc_pauses.SHARE: pytest.approx(0.0044),
        gc_pauses.ALLOCATION: 10 * MIB / 4,
        gc_pauses.PROMOTION: 2 * MIB / 10,
    }
    assert trial.started_utc == "2026-11-28T17:48:01.000000Z"
    assert trial.settings["tool"] == {"gc-log": {"collector": "Parallel"}}
    pauses = run.samples("gc.pauses")
    assert values(pauses, "duration_ms") == [4, 40]
    assert values(pauses, "t_s") == pytest.approx([1.996, 5.96])
    seconds = run.samples("gc")
    assert values(seconds, "pauses") == [0, 0, 1, 0, 0, 0, 1, 0, 0, 0]
    report = build(run, "en")
    page = markdown.render(report)
    assert "**Pauses of the garbage collector**" in page
    assert "slowest 1%" not in page, "there are no requests"
    assert "JVM: pauses" in str([chart.spec for chart in report.charts()])
    assert "40.0 ms" in markdown.render(brief.of_run(run, "zh"))


@pytest.mark.parametrize("names", [("gc.log", "gc.log.0", "gc.log.1"), ("gc.log.1", "gc.log", "gc.log.0")])
def test_rotated_files_in_any_order_are_one_log(tmp_path: Path, names: tuple[str, ...]) -> None:
    written(tmp_path / "gc.log.1", text(events=EVENTS[:2]))
    written(tmp_path / "gc.log.0", text(events=EVENTS[2:3]))
    written(tmp_path / "gc.log", text(events=EVENTS[3:]))
    run = made(tmp_path / "runs", "auto", *(tmp_path / name for name in names))
    [trial] = run.trials
    assert trial.totals is not None
    assert trial.totals.figures[gc_pauses.PROMOTION] == 2 * MIB / 10


def test_rotated_files_are_ordered_by_date_where_the_machine_was_started_again(tmp_path: Path) -> None:
    head = "[2026-11-28T17:48:{at:06.3f}+0000][{at:.3f}s][%dns][info][gc] "
    written(tmp_path / "gc.log.0", text(head % 9_000_000_000_000, EVENTS[:2]))
    written(tmp_path / "gc.log.1", text(head % 20_000_000_000, EVENTS[2:4]))
    written(tmp_path / "gc.log", text(head % 30_000_000_000, EVENTS[4:]))
    run = made(tmp_path / "runs", "gc-log", *(tmp_path / name for name in ("gc.log", "gc.log.1", "gc.log.0")))
    assert values(run.samples("gc.pauses"), "t_s") == pytest.approx([1.996, 5.96])


def test_the_time_after_the_last_of_too_many_pauses_does_not_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("loadcell.ingest.gc_gathering.MOST_PAUSES", 1)
    log = written(tmp_path / "gc.log", text())
    assert gc_log.read(Output([log])).examples == (
        "1 pause after the first 2 s left out; import fewer rotated files at once",
    )
    [trial] = made(tmp_path / "runs", "gc-log", log).trials
    assert trial.totals is not None
    assert trial.totals.figures[gc_pauses.SHARE] == pytest.approx(0.004 / 2.001)


def test_lines_that_were_not_understood_are_named_by_file_and_number(tmp_path: Path) -> None:
    cut = UTC.format(at=9) + "GC(2) Pause Young (Allocation Failure) 12M->3M(64M) 40\n"
    log = written(tmp_path / "gc.log", text() + "\n" + cut)
    reading = gc_log.read(Output([log]))
    assert (reading.unread, reading.examples) == (1, (f"line 7: {cut.strip()}",))
    older = written(tmp_path / "gc.log.0", text(events=((0, "Using Parallel"),)) + "of another program\n")
    reading = gc_log.read(Output([log, older]))
    assert reading.examples == ("line 2 of gc.log.0: of another program", f"line 7 of gc.log: {cut.strip()}")


def test_a_log_without_dates_counts_from_its_first_line(tmp_path: Path) -> None:
    run = made(tmp_path / "runs", "gc-log", written(tmp_path / "gc.log", text(UPTIME)))
    assert values(run.samples("gc.pauses"), "t_s") == pytest.approx([1.996, 5.96])
    [trial] = run.trials
    assert trial.measure is not None
    assert trial.measure.duration_s == 10


def test_logs_of_several_jvms_without_dates_are_refused(tmp_path: Path) -> None:
    log = written(tmp_path / "gc.log", text(UPTIME) * 2)
    with pytest.raises(NotItsOutputError, match=r"begins again in line 7 of gc.log.*utctime"):
        gc_log.read(Output([log]))


def test_lines_without_times_are_refused_with_the_option_that_writes_them(tmp_path: Path) -> None:
    with pytest.raises(NotItsOutputError, match=r"no time.*-Xlog:gc\*"):
        gc_log.read(Output([written(tmp_path / "a.log", text("[info][gc] "))]))
    with pytest.raises(NotItsOutputError, match=r"no time.*-Xlog:gc\*"):
        gc_log.read(Output([written(tmp_path / "b.log", text(""))]))


@pytest.mark.parametrize("tool", ["auto", "gc-log"])
def test_the_format_of_jdk_8_is_read(tmp_path: Path, tool: str) -> None:
    [source] = read_files([written(tmp_path / "gc.log", JDK_8_HEAD + JDK_8)], tool)
    assert (source.tool, source.reading.unread) == ("gc-log", 0)
    assert source.reading.samples is not None
    figures = source.reading.samples.figures(*[source.reading.samples.first_s, source.reading.samples.last_s])
    assert figures[gc_pauses.COUNT] == 1
    assert figures[gc_pauses.LONGEST] == 10


def test_a_collection_of_jdk_8_without_time_is_refused_with_the_option_that_writes_it(tmp_path: Path) -> None:
    log = written(tmp_path / "gc.log", "[GC (Allocation Failure)  512K->440K(1536K), 0.001 secs]\n")
    with pytest.raises(NotItsOutputError, match=r"no time.*PrintGCTimeStamps"):
        gc_log.read(Output([log]))


def test_an_output_that_contains_collections_of_jdk_8_is_read_by_its_tool(tmp_path: Path) -> None:
    mixed = written(tmp_path / "wrk.txt", (OUTPUTS / "wrk.txt").read_text() + JDK_8)
    assert [source.tool for source in read_files([mixed], "auto")] == ["wrk"]


@pytest.mark.parametrize("name", ["wrk.txt", "jstat-gcutil.txt", "sysbench-oltp.txt"])
def test_outputs_of_other_tools_are_none(name: str) -> None:
    with pytest.raises(NotItsOutputError, match="neither a pause nor the name of a collector"):
        gc_log.read(Output([OUTPUTS / name]))


def test_a_log_next_to_a_load_has_the_pauses_of_its_time(tmp_path: Path) -> None:
    """pgbench's log states the beginning; its last transaction ends 5 s later."""
    began_s = 1_795_888_086  # 2026-11-28T17:48:06Z
    rows = "".join(f"0 {number} 1000 0 {began_s + number} 0\n" for number in range(6))
    load = written(tmp_path / "pgbench_log.1", rows)
    run = made(tmp_path / "runs", "auto", load, written(tmp_path / "gc.log", text()))
    [trial] = run.trials
    assert trial.totals is not None
    assert trial.totals.throughput_per_s
    assert trial.totals.figures[gc_pauses.COUNT] == 1
    assert trial.totals.figures[gc_pauses.LONGEST] == 40


def test_the_rotated_log_of_a_real_jvm_is_imported(tmp_path: Path) -> None:
    file = f"file={tmp_path}/gc.log:utctime,uptime,level,tags:filecount=9,filesize=16k"
    with running("-XX:+UseG1GC", "-Xmx64m", "-Drate=300", f"-Xlog:gc*,safepoint:{file}"):
        for _ in range(100):
            if (tmp_path / "gc.log.2").exists() and (tmp_path / "gc.log").stat().st_size:
                break
            time.sleep(0.1)
    logs = sorted(tmp_path.glob("gc.log*"))
    run = made(tmp_path / "runs", "auto", *logs)
    [trial] = run.trials
    assert trial.totals is not None
    lines = [line for log in logs for line in log.read_text().splitlines()]
    counted = sum(line.endswith("ms") and "] GC(" in line and " Pause " in line for line in lines)
    assert trial.totals.figures[gc_pauses.COUNT] == counted > 5
    assert run.run.imported is not None
    assert [file.unread for file in run.run.imported] == [0]
