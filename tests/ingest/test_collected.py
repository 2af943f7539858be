"""Files of BenchmarkSQL's collector beside result.csv become samples of the imported trial."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import Result

from frame_values import values
from ingest.made import made
from lines import CliRunner
from loadcell.cli import main
from loadcell.model.trial_record import MonitorRecord
from loadcell.store.query import query

RESULT = "run,elapsed,latency,dblatency,ttype,rbk,dskipped,error\n" + "".join(
    f"7,{number * 10},{5 + number % 7},4,NEW_ORDER,0,0,0\n" for number in range(1, 1_001)
)
INFO = "run,driver,driverVersion,db,sessionStart,runMins\n7,simple,5.0,postgres,2026-06-28 10:00:00.500,5\n"
SYSTEM = (
    "run,elapsed,cpu_user,cpu_nice,cpu_system,cpu_idle,cpu_iowait,cpu_irq,cpu_softirq,cpu_steal,cpu_guest,cpu_guest_nice,vm_nr_dirty\n"
    "7,1000,0.5,0.0,0.125,0.25,0.0625,0.0,0.0625,0.0,0.0,0.0,4242\n"
    "7,2000,0.375,0.0,0.1875,0.1875,0.0,0.0,0.0,0.0,0.25,0.0,4243\n"
    "7,3000,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,4244\n"
)
DISK = (
    "run,elapsed,device,rdiops,rdmerges,rdkbps,wriops,wrmerges,wrkbps\n"
    "7,1000,blk_sda,10.0,1.0,40.0,100.0,50.0,1024.0\n7,2000,blk_sda,0.0,0.0,0.0,1.0,0.0,4.0\n"
)
LINK = "run,elapsed,device,rxpktsps,rxkbps,txpktsps,txkbps\n7,1000,net_eth0,11.0,2.0,13.0,4.0\n"


@pytest.fixture(autouse=True)
def _utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Files that runBenchmark.sh leaves with `osCollectorScript` and two disks, one of them a view of the
    other.
    """
    data = tmp_path / "my_result" / "data"
    data.mkdir(parents=True)
    texts = {
        "result.csv": RESULT,
        "runInfo.csv": INFO,
        "sys_info.csv": SYSTEM,
        "blk_sda.csv": DISK,
        "blk_sdb.csv": DISK.replace("sda", "sdb"),
        "blk_dm-0.csv": DISK.replace("sda", "dm-0"),
        "net_eth0.csv": LINK,
        "net_lo.csv": LINK.replace("eth0", "lo"),
    }
    for name, text in texts.items():
        (data / name).write_text(text)
    return data


def call(home: Path, *arguments: str | Path) -> Result:
    return CliRunner().invoke(main, ["import", "--no-report", *map(str, arguments), "--results", str(home)])


def test_the_collectors_files_are_samples_of_the_trial(tmp_path: Path, data: Path) -> None:
    run = made(tmp_path / "out", "auto", data.parent)
    frame = run.samples("host")
    assert values(frame, "t_s") == [1, 2, 3]
    assert values(frame, "utc")[0].startswith("2026-06-28T10:00:01.5")
    assert values(frame, "cpu_user_percent") == [50, 50, None]  # of 0.75: guests are within users
    assert values(frame, "cpu_system_percent") == [18.75, 25, None]
    assert values(frame, "cpu_busy_percent") == [68.75, 75, None]
    assert values(frame, "cpu_idle_percent") == [25, 25, None]
    assert values(frame, "disk_write_bytes_per_s") == [2 * 1024 * 1024, 2 * 4 * 1024, None]
    assert values(frame, "disk_reads_per_s") == [20, 0, None]
    assert values(frame, "net_tx_bytes_per_s") == [4 * 1024, None, None]
    (monitor,) = (trial.monitors["host"] for trial in run.trials)
    assert monitor == MonitorRecord(
        samples=3,
        imported="benchmarksql",
        file="host.csv",
        tables={"benchmarksql": "host-benchmarksql.csv"},
        text_columns={"host-benchmarksql.csv": ("name", "object")},
    )
    asked = (
        "SELECT value FROM samples WHERE monitor = 'host.benchmarksql' AND coalesce(object, '') = "
        "'{}' AND name = '{}'"
    )
    assert query([run.path], asked.format("", "vm_nr_dirty")).rows == [(4242,), (4243,), (4244,)]
    assert query([run.path], asked.format("dm-0", "wrmerges")).rows == [(50,), (0,)]
    assert query([run.path], asked.format("lo", "rxpktsps")).rows == [(11,)]
    stored = {path.name.partition("-")[2] for path in (run.path / "sources").iterdir()}
    assert {"sys_info.csv", "blk_sda.csv", "net_lo.csv"} < stored
    (source,) = run.run.imported
    assert (source.measured, source.samples, source.unread) == (1, 3, 0)


def test_columns_and_rows_that_are_not_known_are_counted_and_told(tmp_path: Path, data: Path) -> None:
    (data / "sys_info.csv").write_text(
        SYSTEM.replace("vm_nr_dirty", "vm_nr_dirty,mem_total")
        .replace("4242", "4242,9")
        .replace("4243", "many,9")
    )
    (data / "blk_sda.csv").write_text(
        DISK + "7,3000,blk_sda,1.0,-1.0,0,0,0,0\n7,3000,blk_sda,1\n7,3000,raid_1,1,1,1,1,1,1\n"
    )
    (data / "net_eth0.csv").write_text(
        "7,1000,net_eth0,11.0,2.0,13.0,4.0\nWarning: Permanently added 'db7'\n\n"
    )
    result = call(tmp_path / "out", "benchmarksql", data.parent, "--json")
    assert result.exit_code == 0, result.output
    (source,) = json.loads(result.output)["imported"]
    # a column, a word and a row that is too short; a value below zero, a cut row, another device; two lines
    # without a head
    assert source["unread"] == 8
    assert source["examples"][:2] == [
        "sys_info.csv: column mem_total",
        "sys_info.csv: 7,2000,0.375,0.0,0.1875,0.1875,0.0,0.0,0.0,0.0,0.25,0.0,many,9",
    ]
    assert source["samples"] == 2


def test_without_the_sessions_start_elapsed_counts_from_the_executions(tmp_path: Path, data: Path) -> None:
    (data / "runInfo.csv").unlink()
    frame = made(tmp_path / "out", "auto", data.parent).samples("host")
    assert values(frame, "t_s") == [1, 2, 3]
    assert set(values(frame, "utc")) <= {"", None}


def test_of_several_executions_nobody_knows_whose_samples_they_are(tmp_path: Path, data: Path) -> None:
    (data / "result.csv").write_text(RESULT + RESULT.replace("\n7,", "\n8,"))
    run = made(tmp_path / "out", "auto", data / "result.csv")
    (source,) = run.run.imported
    assert (source.measured, source.samples, source.unread) == (2, 0, 6)
    assert source.examples[0] == "sys_info.csv: there are 2 executions, and the file does not name its own"


def test_another_monitor_of_the_same_machine_beside_it_is_refused(tmp_path: Path, data: Path) -> None:
    (tmp_path / "sar.txt").write_text(
        "# hostname;interval;timestamp;CPU;%user;%nice;%system;%iowait;%steal;%idle\n"
        "db7;1;2026-06-28 10:00:01 UTC;-1;10;0.00;5.00;1.00;0.00;80.00\n"
    )
    result = call(tmp_path / "out", "auto", data.parent, tmp_path / "sar.txt")
    assert result.exit_code == 2
    assert f"{data.parent} itself has samples of host, and {tmp_path / 'sar.txt'} has more" in result.output
    assert "Omit sar.txt, or move the samples of benchmarksql away." in result.output
