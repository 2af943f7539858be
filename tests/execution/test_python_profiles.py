"""Profiles of Python functions in real interpreters, by real profilers, with known answers."""

from __future__ import annotations

import csv
import json
import pstats
import venv
from pathlib import Path

import pytest

from execution.live import loadcell
from loadcell.model import python_metrics
from loadcell.model.python_profile import ALLOCATIONS_FILE, CALLS_FILE, FINDINGS, TRACE_FILE
from loadcell.model.trial_record import TrialRecord
from loadcell.report.build import build
from loadcell.report.render import markdown
from loadcell.store.read import StoredRun, read_run

FUNCTIONS = """
import time
def square(x):
    return x * x
def hot(n):
    total = 0
    for number in range(n):
        total += number * number % 7
    return total
def cold(n):
    return sum(range(n))
def work(n=20_000):
    cold(n // 10)
    for number in range(10):
        square(number)
    return hot(n)
def sleeps():
    time.sleep(0.03)
def allocates():
    numbers = b"x" * 40_000_000
    more = b"y" * 60_000_000
    del numbers
    return len(more)
def waits():
    short()
    sleeps()
def short():
    return 1
"""
PLAN = """
target: {host: {}}
workload: {python: {call: "functions:%s"}}
load: {warmup: 100ms, duration: %s, interval: 100ms}
limits: {prepare: 1s}
repeats: 1
monitors: []
profile: %s
"""


def profiled(tmp_path: Path, profile: str, *sets: str, call: str = "work", duration: str = "1s") -> StoredRun:
    """The run of a plan that profiles a function."""
    (tmp_path / "functions.py").write_text(FUNCTIONS)
    (tmp_path / "plan.yaml").write_text(PLAN % (call, duration, profile))
    words = [word for setting in sets for word in ("--set", setting)]
    done = loadcell(tmp_path, "run", "plan.yaml", "--out", "run", "--no-report", *words)
    assert done.returncode == 0, done.stderr
    return read_run(tmp_path / "run")


def profile_of(stored: StoredRun, kind: str) -> TrialRecord:
    [record] = [record for record in stored.unscored if record.name == f"profile-{kind}-baseline"]
    assert (record.status, record.reason) == ("ok", None)
    return record


def widths(stored: StoredRun, record: TrialRecord) -> dict[str, int]:
    """Width of each stack by its innermost frame."""
    sums: dict[str, int] = {}
    for line in (stored.directory(record.name) / "profile.folded").read_text().splitlines():
        stack, _, width = line.rpartition(" ")
        name = stack.rpartition(";")[2].partition(" (")[0]
        sums[name] = sums.get(name, 0) + int(width)
    return sums


@pytest.mark.parametrize("tool", ["py-spy", "interpreter"])
def test_a_hot_function_is_the_widest_by_samples(tmp_path: Path, tool: str) -> None:
    stored = profiled(tmp_path, f"{{python: {{tool: {tool}}}}}", "load.clients=2")
    record = profile_of(stored, "python")
    by_function = widths(stored, record)
    assert record.profile is not None
    assert record.profile.samples == sum(by_function.values()) > 50
    assert max(by_function, key=lambda name: by_function[name]) == "hot"
    assert by_function["hot"] > 0.8 * record.profile.samples
    # `functions:work` is the loop around the calls
    assert by_function.keys() <= {"hot", "cold", "work", "square", "functions:work"}


@pytest.mark.parametrize("tool", ["py-spy", "interpreter"])
def test_samples_of_several_processes_have_their_waits(tmp_path: Path, tool: str) -> None:
    stored = profiled(
        tmp_path,
        f"{{python: {{tool: {tool}}}}}",
        "load.clients=2",
        "workload.python.clients=processes",
        call="waits",
    )
    record = profile_of(stored, "python")
    by_function = widths(stored, record)
    assert record.profile is not None
    assert by_function["sleeps"] > 0.9 * record.profile.samples
    # 99 samples of each client in its second, and a margin for a busy machine
    assert 99 < record.profile.samples <= 230


def test_calls_have_their_counts_and_a_file_for_snakeviz(tmp_path: Path) -> None:
    stored = profiled(tmp_path, "calls", "load.warmup=0s")
    record = profile_of(stored, "calls")
    assert record.profile is not None
    assert record.profile.python is not None
    calls = record.profile.python.calls
    assert record.totals is not None
    assert calls is not None
    count = record.totals.transactions.succeeded
    by_name = {function.name: function for function in calls.largest}
    assert calls.largest[0].name == "hot"
    for name, times in (("work", 1), ("hot", 1), ("cold", 1), ("square", 10)):
        assert by_name[name].calls == times * (count or 0), name
    assert by_name["<built-in method builtins.sum>"].calls == count
    assert calls.functions == len(by_name) == 5
    work = by_name["work"]
    assert work.cumulative_s == pytest.approx(calls.total_s, rel=0.01)
    assert work.self_s < 0.05 * work.cumulative_s
    statistics = pstats.Stats(str(stored.directory(record.name) / CALLS_FILE))
    counts = {name: entry[0] for (_, _, name), entry in statistics.stats.items()}  # type: ignore[attr-defined]
    assert counts["square"] == 10 * (count or 0)


def test_the_peak_of_a_known_allocation_is_exact_and_stands_with_its_treatment(tmp_path: Path) -> None:
    stored = profiled(tmp_path, "memory", call="allocates")
    record = profile_of(stored, "memory")
    assert record.profile is not None
    assert record.profile.python is not None
    assert record.profile.python.allocations is not None
    assert record.profile.python.allocations.peak_bytes == pytest.approx(100_000_000, rel=0.01)
    assert widths(stored, record)["allocates"] == pytest.approx(100_000_000, rel=0.01)
    assert (stored.directory(record.name) / ALLOCATIONS_FILE).stat().st_size > 0
    [scored] = stored.trials
    assert scored.totals is not None
    assert python_metrics.ALLOCATED_PEAK not in scored.totals.figures
    page = markdown.render(build(stored, "en"))
    assert "peak of allocated memory (profile)" in page
    assert "95.4 MiB at the peak" in page


def test_lines_show_the_growth_of_known_allocations(tmp_path: Path) -> None:
    stored = profiled(tmp_path, "lines", call="allocates")
    record = profile_of(stored, "lines")
    assert record.profile is not None
    assert record.profile.python is not None
    [function] = record.profile.python.lines or ()
    growth = {line.text.strip(): line.increment_bytes for line in function.lines}
    assert growth['numbers = b"x" * 40_000_000'] == pytest.approx(40_000_000, rel=0.01)
    assert growth['more = b"y" * 60_000_000'] == pytest.approx(60_000_000, rel=0.01)
    assert growth["del numbers"] == pytest.approx(-40_000_000, rel=0.01)
    assert abs(growth["return len(more)"]) < 400_000
    assert {line.executions for line in function.lines} == {function.calls}
    first = FUNCTIONS.splitlines().index("def allocates():") + 2
    assert [line.number for line in function.lines] == [first, first + 1, first + 2, first + 3]


def test_lines_of_named_functions_and_of_statements(tmp_path: Path) -> None:
    stored = profiled(
        tmp_path, '{lines: {functions: ["functions:square", "functions:hot"]}}', duration="200ms"
    )
    record = profile_of(stored, "lines")
    assert record.profile is not None
    assert record.profile.python is not None
    square, hot = record.profile.python.lines or ()
    assert (square.name, hot.name) == ("functions:square", "functions:hot")
    assert square.calls == 10 * hot.calls > 0
    assert [line.text.strip() for line in square.lines] == ["return x * x"]

    (tmp_path / "code").mkdir()
    code = "numbers = b'x' * 40_000_000\\nmore = len(numbers)\\ndel numbers"
    stored = profiled(tmp_path / "code", "lines", f'workload.python={{"code": "{code}"}}', duration="200ms")
    record = profile_of(stored, "lines")
    assert record.profile is not None
    assert record.profile.python is not None
    [lines] = record.profile.python.lines or ()
    assert [line.number for line in lines.lines] == [1, 2, 3]
    assert lines.lines[0].increment_bytes == pytest.approx(40_000_000, rel=0.01)
    assert lines.lines[0].text == "numbers = b'x' * 40_000_000"


def test_a_trace_has_the_long_calls_only(tmp_path: Path) -> None:
    stored = profiled(tmp_path, "{trace: {least: 10ms}}", call="waits")
    record = profile_of(stored, "trace")
    assert record.profile is not None
    assert record.profile.python is not None
    assert record.profile.python.trace is not None
    document = json.loads((stored.directory(record.name) / TRACE_FILE).read_text())
    events = [event for event in document["traceEvents"] if event["ph"] == "X"]
    assert len(events) == record.profile.python.trace.events > 10
    assert all(event["dur"] >= 10_000 for event in events)
    names = {event["name"].partition(" (")[0] for event in events}
    assert {"waits", "sleeps", "time.sleep"} <= names
    assert "short" not in names
    by_function = widths(stored, record)
    assert max(by_function, key=lambda name: by_function[name]) == "time.sleep"
    assert "calls of at least 10.0 ms" in markdown.render(build(stored, "en")).replace("*", "")


def test_a_full_trace_says_that_earlier_calls_are_missing(tmp_path: Path) -> None:
    stored = profiled(tmp_path, "{trace: {least: 0ms, events: 1000}}")
    record = profile_of(stored, "trace")
    assert record.profile is not None
    assert record.profile.python is not None
    assert record.profile.python.trace is not None
    assert record.profile.python.trace.is_cut
    assert record.profile.python.trace.events <= 1000


def test_profiles_leave_the_scored_trials_as_they_are(tmp_path: Path) -> None:
    stored = profiled(tmp_path, "{calls: {}, memory: {}}", duration="200ms")
    [scored] = stored.trials
    assert scored.profile is None
    directory = stored.directory(scored.name)
    assert {path.name for path in directory.iterdir()} == {
        "trial.json", "intervals.csv", "events.jsonl", "python-memory.csv", "python-spans.csv",
    }  # fmt: skip
    resident = list(csv.DictReader((directory / "python-memory.csv").read_text().splitlines()))
    assert resident
    # neither profiler is imported there
    assert max(int(row["rss_bytes"]) for row in resident) < 20_000_000
    assert [record.name for record in stored.unscored] == [
        "profile-calls-baseline",
        "profile-memory-baseline",
    ]


def test_the_report_shows_all_kinds(tmp_path: Path) -> None:
    stored = profiled(tmp_path, "{python: {}, calls: {}, memory: {}, lines: {}, trace: {}}", duration="300ms")
    for kind in ("python", "calls", "memory", "lines", "trace"):
        assert FINDINGS in (profile_of(stored, kind).files or {})
    for language in ("en", "zh"):
        page = markdown.render(build(stored, language))
        for words in ("hot", "functions.py", "trace.json", "profile.prof", "return hot(n)"):
            assert words in page, (language, words)
    assert "Profiles" in markdown.render(build(stored, "en"))


def test_a_missing_package_is_named_with_its_installation(tmp_path: Path) -> None:
    venv.create(tmp_path / "environment", symlinks=True, with_pip=False)
    interpreter = f"workload.python.interpreter={tmp_path}/environment"
    stored = profiled(tmp_path, "{memory: {}, trace: {}, calls: {}}", interpreter, duration="200ms")
    reasons = {record.name: (record.status, record.reason or "") for record in stored.unscored}
    for kind, package in (("memory", "memray"), ("trace", "viztracer")):
        status, reason = reasons[f"profile-{kind}-baseline"]
        assert status == "failed"
        assert f"lacks {package}" in reason
        assert f"-m pip install {package}" in reason
    assert reasons["profile-calls-baseline"][0] == "ok"
    assert [trial.status for trial in stored.trials] == ["ok"]
    page = loadcell(tmp_path, "check", "plan.yaml", "--set", interpreter).stdout
    assert "pip install memray" in " ".join(page.split())


@pytest.mark.parametrize(
    ("plan", "problem"),
    [
        (
            "target: {redis: {}}\nworkload: {kv: {}}\nload: {clients: 1, duration: 1s}\nprofile: calls\n",
            "a profile `calls` is of Python functions",
        ),
        (PLAN % ("work", "1s", "{lines: {functions: [nothing]}}"), "names no function"),
        (PLAN % ("work", "1s", "{trace: {least: 10}}"), "profile.trace.least"),
    ],
)
def test_a_profile_that_cannot_be_taken_is_refused(tmp_path: Path, plan: str, problem: str) -> None:
    (tmp_path / "functions.py").write_text(FUNCTIONS)
    (tmp_path / "plan.yaml").write_text(plan)
    done = loadcell(tmp_path, "check", "plan.yaml")
    assert done.returncode == 2
    assert problem in done.stderr


def test_a_function_without_source_lines_is_refused(tmp_path: Path) -> None:
    stored = profiled(tmp_path, '{lines: {functions: ["math:sqrt"]}}', duration="200ms")
    [record] = stored.unscored
    assert record.status == "failed"
    assert "math:sqrt is no Python function" in (record.reason or "")
