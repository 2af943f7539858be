"""`import loadcell` in a program: check, run, load, compare, and their errors."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import loadcell
from loadcell.api import pages
from loadcell.api.findings import Statement
from loadcell.api.tables import Columns
from loadcell.model.trial_record import TrialRecord
from loadcell.store.frames import Frame

PLAN: dict[str, object] = {
    "title": "Sum of a range",
    "target": {"host": {}},
    "workload": {"python": {"call": "work:total", "arguments": {"n": 10}}},
    "load": {"warmup": "0s", "duration": "2s", "interval": "1s"},
    "factors": {"workload.python.arguments.n": [10, 1000]},
    "repeats": 3,
    "monitors": ["host"],
}
ROOT = Path(__file__).parents[2]
#: What makes a run of it short.
SHORT: dict[str, object] = {"load.duration": "1.2s", "load.interval": "100ms"}
FUNCTIONS = "def total(n):\n    return sum(range(n))\n"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The current directory, with the module that the plan calls."""
    home = tmp_path_factory.mktemp("home")
    (home / "work.py").write_text(FUNCTIONS)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(home)
        patch.setenv("LOADCELL_LANG", "en")
        yield home


@pytest.fixture(scope="module")
def run(home: Path) -> loadcell.Run:
    return loadcell.run(PLAN, name="sums", overrides=SHORT, repeats=1, labels={"by": "test"}, seed=3)


def test_check_has_the_treatments_of_a_plan(home: Path) -> None:
    checked = loadcell.check(PLAN, repeats=2, only={"workload.python.arguments.n": [10]})
    assert (checked.ok, checked.trials, checked.title) == (True, 2, "Sum of a range")
    assert [treatment.id for treatment in checked.treatments] == ["n=10"]
    assert str(checked).startswith("Sum of a range: 2 trials")
    checked.raise_problems()


def test_check_has_all_mistakes_of_a_plan(home: Path) -> None:
    checked = loadcell.check({"target": {"host": {}}, "load": {"clients": "many", "colour": "red"}})
    assert not checked.ok
    assert {problem.path for problem in checked.problems} >= {"workload", "load.clients", "load.colour"}
    with pytest.raises(loadcell.PlanError, match="many"):
        checked.raise_problems()


def test_check_takes_names_and_paths_of_plans(home: Path) -> None:
    assert loadcell.check("quickstart").ok
    (home / "short.yaml").write_text("target: {host: {}}\nworkload: {python: {call: 'work:total'}}\n")
    assert loadcell.check(home / "short.yaml").name == "short"
    unknown = loadcell.check("quickstrat")
    assert [problem.nearest for problem in unknown.problems] == ["quickstart"]


def test_values_of_python_become_those_of_a_plan(home: Path) -> None:
    levels = {"workload.python.arguments.n": np.arange(2, 4).tolist()}
    plan = {**PLAN, "factors": levels, "repeats": np.int64(2), "load": {"clients": 1, "duration": "1s"}}
    assert loadcell.check(plan).trials == 4
    assert loadcell.check({**PLAN, "factors": {"load.clients": range(1, 4)}}, repeats=1).trials == 3
    (problem,) = loadcell.check({**PLAN, "repeats": object()}).problems
    assert (problem.path, problem.message.code) == ("repeats", "api.value-type")


def test_a_run_has_typed_records(run: loadcell.Run, home: Path) -> None:
    assert (run.state, run.ok, run.remaining, run.reason) == ("finished", True, (), None)
    assert run.path.parent == (home / "results/sums").resolve()
    assert all(isinstance(trial, TrialRecord) for trial in run.trials)
    assert {trial.treatment for trial in run.trials} == {"n=10", "n=1000"}
    fast, slow = run.treatments
    assert (fast.throughput.median or 0) > (slow.throughput.median or 0)
    assert (run.record.seed, run.record.labels) == (3, {"by": "test"})
    assert repr(run) == f"<loadcell run {run.id}: Sum of a range, finished, 2 of 2 trials ok>"


def test_findings_have_both_languages(run: loadcell.Run) -> None:
    assert set(run.summary) <= {*run.findings, *run.summary}
    (highest,) = [item for item in run.findings if item.code == "found.highest"]
    assert isinstance(highest, Statement)
    assert highest.en.startswith("Of the treatments tested, n = 10 had the highest")
    assert highest.text("zh").startswith("已测的参数组合中，n = 10 的吞吐量")


def test_a_run_is_loaded_by_its_path_id_or_as_the_last_one(run: loadcell.Run) -> None:
    for name in (run.path, str(run.path), run.id, "last"):
        assert loadcell.load(name).path == run.path
    with pytest.raises(loadcell.MessageError, match="nothing"):
        loadcell.load("nothing")


def test_tables_in_arrow_have_typed_columns(run: loadcell.Run) -> None:
    table = run.table("trials")
    types = {name: str(table.schema.field(name).type) for name in table.column_names}
    assert types["trial"] == "string"
    assert (types["number"], types["succeeded"], types["throughput_per_s"]) == ("int64", "int64", "double")
    assert table.column("status").to_pylist() == ["ok", "ok"]
    assert set(run.tables) >= {"trials", "intervals", "events", "host"}
    assert run.table("intervals").num_rows >= 4
    assert "cpu_user_percent" in run.table("host").column_names
    assert "begin" not in types


def test_frames_of_pandas_have_the_same_rows(run: loadcell.Run) -> None:
    frame = run.frame()
    assert list(frame["treatment"]) == run.table().column("treatment").to_pylist()
    assert str(frame["number"].dtype) == "int64"
    median = frame.groupby("factor.workload.python.arguments.n")["throughput_per_s"].median()
    assert median["10"] > median["1000"]
    assert {"t_s", "event"} <= set(run.frame("events").columns)


def test_missing_values_are_missing_in_both() -> None:
    rows = [{"name": "a", "size": 3, "share": None}, {"size": None, "share": 0.5}]
    columns = Columns.of_rows(rows, {"name": "text", "size": "integer", "share": "number"})
    assert columns.arrow().to_pylist() == [
        {"name": "a", "size": 3, "share": None},
        {"name": None, "size": None, "share": 0.5},
    ]
    frame = columns.pandas()
    assert str(frame["size"].dtype) == "Int64"
    assert frame.isna().to_numpy().tolist() == [[False, False, True], [True, True, False]]
    assert Columns(Frame({}), {}).arrow().num_rows == 0


def test_an_unknown_table_is_an_error_with_the_names(run: loadcell.Run) -> None:
    with pytest.raises(loadcell.CallError, match="nearest name is intervals") as error:
        run.frame("interval")
    assert "trials, intervals, events, host" in error.value.__notes__[0]


def test_without_the_library_the_error_has_the_command(
    run: loadcell.Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setitem(sys.modules, "pandas", None)
    for read, package in ((run.table, "pyarrow"), (run.frame, "pandas")):
        with pytest.raises(loadcell.CallError, match=f"package {package} is not installed") as error:
            read()
        assert f"{sys.executable} -m pip install {package}" in error.value.__notes__[0]


def test_errors_have_notes_in_the_language(home: Path) -> None:
    with pytest.raises(loadcell.CallError) as error:
        loadcell.run(lang="zh")
    assert error.value.__notes__[0] == "运行需要一个计划"
    with pytest.raises(loadcell.PlanError) as mistakes:
        loadcell.run({}, lang="zh")
    assert "未填写" in mistakes.value.__notes__[0]


def test_many_trials_need_consent(home: Path) -> None:
    with pytest.raises(loadcell.CallError, match="2,000 trials"):
        loadcell.run(PLAN, repeats=1000)


def test_reports_are_written(run: loadcell.Run, tmp_path: Path) -> None:
    assert (run.path / "report.html").is_file()
    page = run.report(tmp_path / "page.html", lang="zh")
    assert 'lang="zh' in page.read_text(encoding="utf-8")


def test_two_runs_are_compared(run: loadcell.Run, home: Path) -> None:
    again = loadcell.run(PLAN, name="sums", overrides=SHORT, repeats=1, report=False, show_progress=False)
    assert not (again.path / "report.html").exists()
    comparison = loadcell.compare(run, again.path, metrics=["throughput"], least_effect=0.02)
    assert (len(comparison.sides), comparison.verdict) == (2, "insufficient")
    assert comparison.verdicts == {"insufficient"}
    frame = comparison.frame()
    assert list(frame["metric"].unique()) == ["throughput"]
    assert comparison.table().num_rows == len(comparison.rows) == len(frame)
    assert all(item.zh != item.en for item in comparison.findings)
    assert "<iframe" in comparison._repr_html_()
    assert "insufficient" in repr(comparison)


def test_levels_of_one_run_are_compared(run: loadcell.Run, tmp_path: Path) -> None:
    comparison = loadcell.compare(run, levels=[1000, 10])
    assert comparison.sides == ("1000", "10")
    call_time = comparison.rows[0]
    assert call_time.metric.name == "python.call_time"
    assert call_time.effect is not None
    assert call_time.effect.ratio < 0.5
    assert comparison.report(tmp_path / "levels.html").stat().st_size > 10_000


def test_a_page_too_large_for_a_notebook_is_a_sentence() -> None:
    shown = pages.framed("x" * (pages.MOST_BYTES + 1), "A <title>", "en")
    assert "<iframe" not in shown
    assert "A &lt;title&gt;" in shown


def test_a_run_outside_of_the_main_thread_is_refused(home: Path) -> None:
    errors: list[BaseException] = []

    def call() -> None:
        try:
            loadcell.run(PLAN)
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=call, name="worker-7")
    thread.start()
    thread.join()
    (error,) = errors
    assert isinstance(error, loadcell.CallError)
    assert "worker-7" in str(error)


def interrupted(number: int) -> loadcell.RunInterrupted:
    """A run that gets a signal in its first trial."""
    ended = threading.Event()

    def send() -> None:
        time.sleep(0.5)
        while not [*Path("results/long").glob("*/trials/*")]:
            if ended.wait(0.05):
                return
        time.sleep(0.5)
        os.kill(os.getpid(), number)

    thread = threading.Thread(target=send)
    thread.start()
    try:
        with pytest.raises(loadcell.RunInterrupted) as error:
            loadcell.run(PLAN, name="long", overrides={"load.duration": "20s"}, show_progress=False)
    finally:
        ended.set()
        thread.join()
    return error.value


def test_an_interrupt_ends_the_run_in_order_and_it_can_be_resumed(home: Path) -> None:
    handlers = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGALRM)]
    error = interrupted(signal.SIGINT)
    assert isinstance(error, KeyboardInterrupt)
    assert f"loadcell.run(resume={str(error.run.path)!r})" in str(error)
    assert error.run.state == "interrupted"
    assert len(error.run.remaining) == 6
    now = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGALRM)]
    assert now == handlers

    with pytest.raises(loadcell.MessageError) as changed:
        loadcell.run(resume=error.run, overrides={"load.duration": "1s"})
    assert any("load.duration" in note for note in changed.value.__notes__)


def test_a_resumed_run_does_the_remaining_trials(home: Path) -> None:
    first = loadcell.run(PLAN, name="cut", overrides=SHORT, repeats=1, report=False, show_progress=False)
    trial = first.path / "trials" / first.trials[-1].name
    (trial / "trial.json").unlink()
    for file in trial.iterdir():
        file.unlink()
    trial.rmdir()
    assert loadcell.load(first.path).remaining == (trial.name,)
    resumed = loadcell.run(resume=first, show_progress=False)
    assert resumed.path == first.path
    assert [item.name for item in resumed.trials] == [item.name for item in first.trials]
    assert resumed.trials[0] == first.trials[0]
    assert resumed.ok


IMPORTS = """
import sys
before = set(sys.modules)
import loadcell
print(*sorted(set(sys.modules) - before))
assert "run" in dir(loadcell) and loadcell.__version__
"""


def test_the_import_loads_nothing_else() -> None:
    completed = subprocess.run(
        [sys.executable, "-c", IMPORTS], capture_output=True, text=True, check=True, timeout=60
    )
    loaded = {name for name in completed.stdout.split() if name.startswith("loadcell")}
    assert loaded == {"loadcell", "loadcell.lazy"}
    assert not {"IPython", "pandas", "pyarrow", "numpy", "pydantic"} & set(completed.stdout.split())


TYPED = """
import loadcell

run: loadcell.Run = loadcell.run("quickstart", overrides={"load.duration": "5s"}, repeats=2)
names: list[str] = [trial.name for trial in run.trials]
medians: list[float | None] = [treatment.throughput.median for treatment in run.treatments]
texts: list[str] = [finding.zh for finding in loadcell.load("last").findings]
verdict: str = loadcell.compare(run, "last", factor="load.clients").verdict
checked: bool = loadcell.check({"load": {}}).ok
"""


def test_callers_are_checked_by_mypy(tmp_path: Path) -> None:
    right, wrong = tmp_path / "right.py", tmp_path / "wrong.py"
    right.write_text(TYPED)
    wrong.write_text("import loadcell\nloadcell.run(3)\nnumber: int = loadcell.load('last').state\n")
    command = [sys.executable, "-m", "mypy", str(right), str(wrong)]  # with the repository's configuration
    completed = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, cwd=ROOT)
    errors = [line for line in completed.stdout.splitlines() if ": error:" in line]
    assert len(errors) == 2, completed.stdout
    assert all("wrong.py" in line for line in errors)
