"""Monitors' outputs beside those of loads: which belongs to which, what the run then has, and what its report
shows.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import Result

from frame_values import values
from ingest.made import made
from lines import CliRunner
from loadcell.analysis.trials import from_record
from loadcell.analysis.validity import doubts
from loadcell.cli import main
from loadcell.model.run_record import LevelRecord
from loadcell.model.trial_record import MonitorRecord
from loadcell.report.build import build
from loadcell.store.query import query
from loadcell.store.read import read_run

OUTPUTS = Path(__file__).parent / "readers" / "outputs"
LOG_BEGAN = 1_795_270_066
JSTAT = """  S0     S1     E      O      M     CCS    YGC     YGCT    FGC    FGCT     GCT
  5.67   0.00  48.74  70.68  98.24      -     10    1.000    20    2.865    3.865
  5.67   0.00  58.74  71.68  98.24      -     12    1.250    20    2.865    4.115
  5.67   0.00   1.00  72.68  98.24      -     14    1.500    21    3.000    4.500
"""


@pytest.fixture(autouse=True)
def _utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def call(home: Path, *arguments: str | Path) -> Result:
    return CliRunner().invoke(main, ["import", "--no-report", *map(str, arguments), "--results", str(home)])


def sadf(*instants: int) -> str:
    rows = "".join(
        f"db7;1;{time.strftime('%Y-%m-%d %H:%M:%S', time.gmtime(at))} "
        f"UTC;-1;{number + 10};0.00;5.00;1.00;0.00;80.00\n"
        for number, at in enumerate(instants)
    )
    return "# hostname;interval;timestamp;CPU;%user;%nice;%system;%iowait;%steal;%idle\n" + rows


def test_a_jstat_for_each_load_as_a_report_made_them(tmp_path: Path) -> None:
    """`ab ... > A-1` and `jstat -gcutil | tee jstat-A-1`, once for each setting."""
    texts = {"a1.txt": (OUTPUTS / "ab.txt").read_text(), "a2.txt": (OUTPUTS / "ab.txt").read_text()}
    texts |= {"jstat-a1": JSTAT, "jstat-a2": JSTAT.replace("14    1.500", "19    9.500")}
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    result = call(tmp_path / "out", "auto", *(tmp_path / name for name in texts), "--by-file", "--report")
    assert result.exit_code == 0, result.output
    assert "jstat printed no times (-t), so its lines are taken as 1 s apart (--interval)" in result.output
    (path,) = [run.parent for run in (tmp_path / "out").rglob("run.json")]
    run = read_run(path)
    assert [trial.levels["file"] for trial in run.trials] == ["a1", "a2"]
    frame = run.samples("jvm")
    assert values(frame, "young_gcs") == [2, 2, 2, 7]
    assert values(frame, "t_s") == [0, 1, 0, 1]
    assert [trial.monitors["jvm"].assumed_interval_s for trial in run.trials] == [1, 1]
    report = (path / "report.md").read_text()
    assert "The JVM during each trial" in report
    assert "| `001-file=a1-r1` | 4 | 500 | 1 | 135 |" in report
    assert "| `002-file=a2-r1` | 9 | 8,500 | 1 | 135 |" in report
    assert "Full collections (FGC)" in report


def test_samples_fall_to_the_execution_in_whose_time_they_were_taken(tmp_path: Path) -> None:
    first, second = tmp_path / "pgbench_log.1", tmp_path / "pgbench_log.2"
    first.write_text(
        "".join(f"0 {n} 1000 0 {LOG_BEGAN + n // 10} {n % 10 * 100_000}\n" for n in range(1, 50))
    )
    second.write_text(
        "".join(f"0 {n} 1000 0 {LOG_BEGAN + 60 + n // 10} {n % 10 * 100_000}\n" for n in range(1, 50))
    )
    (tmp_path / "sar.txt").write_text(sadf(*range(LOG_BEGAN - 10, LOG_BEGAN + 80)))
    run = made(tmp_path / "out", "auto", first, second, tmp_path / "sar.txt")
    counts = list(Counter(values(run.samples("host"), "number")).values())
    assert counts == [5, 5]
    assert min(values(run.samples("host"), "t_s")) > 0


def test_a_log_of_each_thread_is_one_execution(tmp_path: Path) -> None:
    rows = (OUTPUTS / "pgbench_log.txt").read_text().splitlines(keepends=True)
    files = [
        tmp_path / name
        for name in ("pgbench_log.77", "pgbench_log.77.1", "pgbench_log.77.2", "pgbench_log.88")
    ]
    for number, file in enumerate(files):
        file.write_text("".join(rows[number::4]))
    run = made(tmp_path / "out", "pgbench-log", *files)
    assert [trial.totals.transactions.succeeded for trial in run.trials] == [225, 75]
    assert [len(item.also) for item in run.run.imported] == [2, 0]


def test_samples_alone_are_a_run_whose_report_shows_them(tmp_path: Path) -> None:
    (tmp_path / "sar.txt").write_text(sadf(*range(LOG_BEGAN, LOG_BEGAN + 30)))
    (tmp_path / "gc.txt").write_text(JSTAT)
    run = made(tmp_path / "out", "auto", tmp_path / "sar.txt", tmp_path / "gc.txt")
    assert [trial.totals.throughput_per_s for trial in run.trials] == [None, None]
    assert len(run.samples("host")) == 30
    assert len(run.samples("jvm")) == 2
    for language, words in (("en", "The machine during each trial"), ("zh", "各试验期间的主机")):
        (table,) = [
            block
            for section in build(run, language).sections
            if section.id == "sampled"
            for block in section.blocks
            if words in block.title
        ]
        assert len(table.rows) == 1
    (chart,) = [
        block for section in build(run, "en").sections if section.id == "series" for block in section.blocks
    ][:1]
    assert set(chart.series) == {trial.name for trial in run.trials}


def test_what_has_no_column_is_in_a_table_beside_and_in_sql(tmp_path: Path) -> None:
    text = sadf(LOG_BEGAN, LOG_BEGAN + 1)
    text += "# hostname;interval;timestamp;DEV;tps;rkB/s;wkB/s;areq-sz;aqu-sz;await;%util\n"
    text += f"db7;1;{LOG_BEGAN + 1};sda;2.00;10.00;20.00;0.00;1.00;0.75;40.00\n"
    (tmp_path / "sar.txt").write_text(text)
    run = made(tmp_path / "out", "sar", tmp_path / "sar.txt")
    (monitor,) = (trial.monitors["host"] for trial in run.trials)
    assert monitor == MonitorRecord(
        samples=2, imported="sar", file="host.csv", tables={"sar": "host-sar.csv"},
        text_columns={"host-sar.csv": ("name", "object")},
    )  # fmt: skip
    answer = query(
        [run.path],
        "SELECT value FROM samples WHERE monitor = 'host.sar' AND object = 'sda' AND name = 'await'",
    )
    assert answer.rows == [(0.75,)]


def test_lines_of_jstat_are_as_far_apart_as_one_says(tmp_path: Path) -> None:
    (tmp_path / "gc.txt").write_text(JSTAT)
    run = made(tmp_path / "out", "jstat", tmp_path / "gc.txt", interval_s=0.25)
    assert values(run.samples("jvm"), "t_s") == [0, 0.25]


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (["ab.txt", "wrk.txt", "gc.txt"], "was sampled over several executions"),
        (["sysbench-oltp.txt", "gc.txt"], "was sampled over several executions"),
        (
            ["ab.txt", "gc.txt", "gc.txt"],
            "2 files have samples of jvm, and 1 have executions: their relation is unknown",
        ),
        (["pgbench_log.txt", "old.txt"], "has no sample from the time of"),
    ],
)
def test_what_belongs_to_what_is_never_guessed(tmp_path: Path, names: list[str], words: str) -> None:
    (tmp_path / "gc.txt").write_text(JSTAT)
    (tmp_path / "old.txt").write_text(sadf(LOG_BEGAN - 900, LOG_BEGAN - 899))
    files = [tmp_path / name if (tmp_path / name).exists() else OUTPUTS / name for name in names]
    result = call(tmp_path / "out", "auto", *files)
    assert result.exit_code == 2
    assert words in result.output
    assert not (tmp_path / "out").exists()


TYPES = ("NEW_ORDER", "PAYMENT", "NEW_ORDER", "DELIVERY")
RESULT = "run,elapsed,latency,dblatency,ttype,rbk,dskipped,error\n" + "".join(
    f"7,{number * 10},{5 + number % 7},{4 + number % 7},{TYPES[number % 4]},0,0,0\n"
    for number in range(1, 1_001)
)
PROPERTIES = """db=postgres
conn=jdbc:postgresql://localhost:5432/bench
user=bench
password=hunter2
warehouses=20
loadWorkers=4
terminals=50
runTxnsPerTerminal=0
runMins=5
limitTxnsPerMin=0
newOrderWeight=45
"""
INFO = (
    "run,driver,driverVersion,db,sessionStart,runMins,loadWarehouses,runWarehouses,numSUTThreads,"
    "limitTxnsPerMin,thinkTimeMultiplier,keyingTimeMultiplier\n"
    "7,simple,5.0,postgres,2026-06-28 10:00:00.123,5,20,20,50,300000,0.0,0.0\n"
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Files that runBenchmark.sh leaves."""
    home = tmp_path / "my_result_2026-06-28_100000"
    (home / "data").mkdir(parents=True)
    (home / "run.properties").write_text(PROPERTIES)
    (home / "data/result.csv").write_text(RESULT)
    (home / "data/runInfo.csv").write_text(INFO)
    return home


def test_benchmarksqls_folder_has_tpmc_terminals_and_types(tmp_path: Path, folder: Path) -> None:
    run = made(tmp_path / "out", "auto", folder)
    (trial,) = run.trials
    assert trial.totals.figures == {"tpmC": pytest.approx(500 * 6), "tpmTotal": pytest.approx(6000)}
    assert trial.settings["load"] == {"clients": 50}
    assert trial.settings["tool"]["benchmarksql"]["warehouses"] == 20
    assert trial.started_utc.startswith("2026-06-28T10:00:00.123")
    assert set(trial.operations) == {"new_order", "payment", "delivery"}
    (table,) = [
        block
        for section in build(run).sections
        for block in section.blocks
        if getattr(block, "id", "") == "table-types"
    ]
    assert [row[2].text for row in table.rows] == ["new_order", "payment", "delivery"]
    stored = {path.name for path in (run.path / "sources").iterdir()}
    assert stored == {"01-result.csv", "02-runInfo.csv"}


def test_no_password_of_a_property_file_gets_into_a_run(tmp_path: Path, folder: Path) -> None:
    run = made(tmp_path / "out", "benchmarksql", folder)
    assert not [path for path in run.path.rglob("*") if path.is_file() and b"hunter2" in path.read_bytes()]


def test_terminals_that_rested_are_no_reason_to_distrust_the_metrics(tmp_path: Path, folder: Path) -> None:
    """50 terminals with a limit, or think time, are busy only part of their time; and its clock has whole
    milliseconds.
    """
    run = made(tmp_path / "out", "benchmarksql", folder)
    trial = from_record(run.trials[0])
    assert trial.reported
    assert doubts(trial) == ()


def test_several_folders_are_levels_of_terminals(tmp_path: Path, folder: Path) -> None:
    other = tmp_path / "my_result_2"
    (other / "data").mkdir(parents=True)
    (other / "run.properties").write_text(PROPERTIES.replace("terminals=50", "terminals=10"))
    (other / "data/result.csv").write_text(RESULT)
    run = made(tmp_path / "out", "benchmarksql", folder, other)
    assert run.run.factors[0].levels == (LevelRecord("50", 50), LevelRecord("10", 10))


def test_a_result_alone_has_what_it_says_itself(tmp_path: Path) -> None:
    (tmp_path / "result.csv").write_text(RESULT)
    run = made(tmp_path / "out", "auto", tmp_path / "result.csv")
    (trial,) = run.trials
    assert trial.settings == {"tool": {"benchmarksql": {}}, "load": {}}
    assert trial.totals.figures["tpmC"] == pytest.approx(3000)


def test_a_host_sampled_meanwhile_is_placed_by_the_sessions_start(tmp_path: Path, folder: Path) -> None:
    began = 1_782_640_800
    (tmp_path / "sar.txt").write_text(sadf(*range(began - 2, began + 12)))
    run = made(tmp_path / "out", "auto", folder, tmp_path / "sar.txt")
    assert values(run.samples("host"), "t_s")[:3] == pytest.approx([-2.123, -1.123, -0.123])


def test_a_factor_that_no_output_has_is_refused(tmp_path: Path) -> None:
    result = call(tmp_path / "out", "ab", OUTPUTS / "ab.txt", "--by", "nonsense")
    assert result.exit_code == 2, result.output
    assert "no output has a setting 'nonsense'" in " ".join(result.output.split())
    assert not list(tmp_path.rglob("run.json"))
