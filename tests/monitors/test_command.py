"""The command monitor with real programs that behave, and with others that do not."""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from loadcell.monitors.base import MonitorContext, Row
from loadcell.monitors.command import Command, CommandOptions
from loadcell.monitors.command.output import LONGEST_LINE, OutputReader
from monitors import hostile

#: How long a busy machine may take for what an idle one does at once.
PATIENCE_S = 30.0

SECRET = "s3cr3t-of-a-test"

Make = Callable[..., Command]


def without_secret(text: str) -> str:
    return text.replace(SECRET, "${env:SECRET}")


@pytest.fixture
def monitor_of(tmp_path: Path) -> Iterator[Make]:
    made: list[Command] = []

    def make(*run: str, **options: Any) -> Command:
        model = CommandOptions.model_validate({"run": run, **options}, context={"directory": tmp_path})
        made.append(Command(model, MonitorContext(roots=list, key="command", redact=without_secret)))
        return made[-1]

    yield make
    for monitor in made:
        monitor.close()


def python(code: str) -> tuple[str, ...]:
    return (sys.executable, "-c", code)


def remarks(monitor: Command) -> dict[str, int]:
    return {message.code: count for message, count in monitor.remarks()}


def text_of(monitor: Command) -> str:
    return " ".join(f"{message.text}: {message.advice}" for message, _ in monitor.remarks())


def rows_until(monitor: Command, enough: Callable[[list[Row]], bool]) -> list[Row]:
    """Sample until there is enough."""
    rows: list[Row] = []
    deadline_s = time.monotonic() + PATIENCE_S
    while not enough(rows):
        assert time.monotonic() < deadline_s, (rows, text_of(monitor))
        rows += monitor.sample(1)
        time.sleep(0.01)
    return rows


def until(condition: Callable[[], bool]) -> None:
    deadline_s = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline_s
        time.sleep(0.01)


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (["queue 3"], {"queue": 3}),
        (["queue=3 lag=0.5"], {"queue": 3, "lag": 0.5}),
        (["queue: 3, lag: -5e-1"], {"queue": 3, "lag": -0.5}),
        (['queue{shard="a"} 3'], {'queue{shard="a"}': 3}),
        (["42"], {"value": 42}),
        (
            ['{"queue": 3, "pool": {"busy": 2, "name": "x"}, "up": true}'],
            {"queue": 3, "pool.busy": 2, "up": 1},
        ),
        (["time,queue,lag", "12:00:01,3,0.5"], {"queue": 3, "lag": 0.5}),
        (["queue,lag", "1,2", "3,"], {"queue": 3, "lag": 2}),
        (["队列 3"], {"队列": 3}),
    ],
)
def test_forms_of_output(lines: list[str], expected: dict[str, float]) -> None:
    reader = OutputReader()
    values: dict[str, float] = {}
    for line in lines:
        for series, value in reader.read(line):
            values[f"{series.name}{{{series.labels}}}" if series.labels else series.name] = value
    assert values == expected
    assert reader.unread == 0


@pytest.mark.parametrize(
    "line", ["hello", "hello, world, 3 and", "{broken", '{"a": "b"}', "a,b,c,", "1,2,3", "queue 3 apples"]
)
def test_other_text_is_counted(line: str) -> None:
    reader = OutputReader()
    assert reader.read(line) == []
    assert (reader.unread, reader.first_unread) == (1, line)


def test_numbers_that_are_too_large_are_infinite() -> None:
    reader = OutputReader()
    [(_, value), (_, other)] = reader.read('{"a": 1' + "0" * 400 + ', "b": 2}')
    assert (value, other) == (float("inf"), 2.0)


@pytest.mark.parametrize("kind", hostile.LINES)
def test_time_grows_with_the_length_of_a_line(kind: str) -> None:
    hostile.assert_linear(lambda line: OutputReader().read(line), hostile.LINES[kind])


def test_lines_that_are_too_long_are_not_read(monitor_of: Make) -> None:
    code = f"print('queue=' + '1' * {LONGEST_LINE}), print('lag 3')"
    monitor = monitor_of(*python(code), start="each-interval", timeout="3s")
    assert [(row["name"], row["value"]) for row in monitor.sample(1)] == [("lag", 3.0)]
    assert remarks(monitor) == {"command-monitor.long-line": 1}
    assert "lines above 64 KiB, which were not read" in text_of(monitor)


def test_series_with_long_names_or_labels_are_not_recorded(monitor_of: Make) -> None:
    code = """
print("a" * 300, 1)
print("q{" + "x" * 5000 + "}", 2)
print('{"' + "k" * 9000 + '": {"below": 3}}')
print("lag 4")
"""
    monitor = monitor_of(*python(code), start="each-interval", timeout="3s")
    assert [(row["name"], row["value"]) for row in monitor.sample(1)] == [("lag", 4.0)]
    assert remarks(monitor) == {"series.too-long": 3}
    assert f"such as {'a' * 60}:" in text_of(monitor), "the name is cut"


def test_one_program_prints_on(monitor_of: Make) -> None:
    code = "import time\nfor n in range(10**6): print(f'count {n} half={n}', flush=True), time.sleep(0.005)"
    monitor = monitor_of(*python(code), metrics={"most": "max of count"})
    assert monitor.sample(0) == [], "it has just been started"
    rows = rows_until(monitor, lambda rows: len(rows) >= 6)
    counts = [row["value"] for row in rows if row["name"] == "count"]
    assert counts == sorted(set(counts)), "each value once"
    assert {row["name"] for row in rows} == {"count", "half"}
    assert {row["measure"] for row in rows} == {"value"}
    program = monitor._program
    assert program is not None
    pid = program._process.pid
    monitor.close()
    assert not is_alive(pid)
    assert monitor.metrics()["most"] == counts[-1]
    account = monitor.account()
    assert account.program_cpu_s is not None
    assert account.program_cpu_s > 0
    assert account.exit_statuses is None, "it was ended by loadcell"
    assert remarks(monitor) == {}


def test_one_program_for_each_sample(monitor_of: Make, tmp_path: Path) -> None:
    code = (
        "import pathlib as p; f = p.Path('runs'); f.open('a').write('x'); print('runs', len(f.read_text()))"
    )
    monitor = monitor_of(*python(code), start="each-interval", timeout="3s")
    assert [[row["value"] for row in monitor.sample(1)] for _ in range(3)] == [[1.0], [2.0], [3.0]]
    assert (tmp_path / "runs").exists(), "it runs in the plan's directory"
    account = monitor.account()
    assert account.exit_statuses == {"0": 3}
    assert account.program_cpu_s is not None
    assert account.program_cpu_s > 0


def test_a_program_that_prints_text(monitor_of: Make) -> None:
    monitor = monitor_of("echo", "hello world", start="each-interval", timeout="3s")
    assert monitor.sample(1) == []
    assert remarks(monitor) == {"command-monitor.text": 1}
    assert "'hello world'" in text_of(monitor)


@pytest.mark.parametrize("start", ["once", "each-interval"])
def test_a_program_that_prints_nothing(monitor_of: Make, start: str) -> None:
    monitor = monitor_of(*(("sleep", "60") if start == "once" else ("true",)), start=start, timeout="3s")
    assert (monitor.sample(0), monitor.sample(1)) == ([], [])
    monitor.close()
    assert remarks(monitor) == {"command-monitor.silent": 1}
    assert "flush" in text_of(monitor)


@pytest.mark.parametrize("start", ["once", "each-interval"])
def test_endless_output_ends_the_program(monitor_of: Make, tmp_path: Path, start: str) -> None:
    script = "echo $$ > parent; sleep 1000 & echo $! > child; yes queue 3"
    monitor = monitor_of("sh", "-c", script, start=start, timeout="3s")
    monitor.sample(0)
    rows_until(monitor, lambda _: "command-monitor.too-much" in remarks(monitor))
    pids = [int((tmp_path / name).read_text()) for name in ("parent", "child")]
    until(lambda: not any(map(is_alive, pids)))
    assert monitor.account().program_cpu_s, "its CPU time is known before the monitor is closed"
    monitor.close()
    assert "256 KiB" in text_of(monitor)
    assert monitor.sample(1) == [], "it is not started again"


def test_endless_errors_end_the_program(monitor_of: Make, tmp_path: Path) -> None:
    script = "echo $$ > parent; yes no disk >&2"
    monitor = monitor_of("sh", "-c", script, start="each-interval", timeout="3s")
    assert monitor.sample(1) == []
    assert remarks(monitor) == {"command-monitor.too-much": 1}
    assert not is_alive(int((tmp_path / "parent").read_text()))


def test_a_line_without_end_ends_the_program(monitor_of: Make) -> None:
    monitor = monitor_of(*python("import sys\nwhile True: sys.stdout.write('x' * 60000)"))
    monitor.sample(0)
    assert monitor._program is not None
    pid = monitor._program._process.pid
    rows_until(monitor, lambda _: "command-monitor.too-much" in remarks(monitor))
    until(lambda: not is_alive(pid))


@pytest.mark.parametrize("length", [20_000, 200_000])
def test_a_long_line_of_a_failing_program_is_cut(monitor_of: Make, length: int) -> None:
    code = f"import sys; print('z' * {length}); sys.exit(3)"
    monitor = monitor_of(*python(code), start="each-interval", timeout="3s")
    monitor.sample(1)
    assert "ended with 3: zzz" in text_of(monitor)
    assert max(len(message.text) for message, _ in monitor.remarks()) < 500


def test_a_program_that_never_ends_is_killed_each_time(monitor_of: Make) -> None:
    monitor = monitor_of(
        "sh", "-c", "trap '' TERM; echo queue 3; sleep 1000", start="each-interval", timeout="200ms"
    )
    monitor.sample(1)
    monitor.sample(1)
    assert remarks(monitor)["command-monitor.slow"] == 2
    assert "did not end within 0.20 s" in text_of(monitor)


@pytest.mark.parametrize("start", ["once", "each-interval"])
def test_children_are_killed_with_it(monitor_of: Make, tmp_path: Path, start: str) -> None:
    script = "sleep 1000 & echo $! > child; (sleep 1000 & echo $! > grandchild); echo queue 3"
    monitor = monitor_of(
        "sh", "-c", script + ("; wait" if start == "once" else ""), start=start, timeout="3s"
    )
    rows = rows_until(monitor, lambda rows: bool(rows))
    assert rows[0]["value"] == 3.0
    monitor.close()
    pids = [int((tmp_path / name).read_text()) for name in ("child", "grandchild")]
    until(lambda: not any(map(is_alive, pids)))


def test_failing_programs_are_counted_by_status(monitor_of: Make) -> None:
    monitor = monitor_of(
        "sh", "-c", "echo queue 3; echo no disk >&2; exit 1", start="each-interval", timeout="3s"
    )
    assert [row["value"] for _ in range(2) for row in monitor.sample(1)] == [3.0, 3.0]
    assert monitor.account().exit_statuses == {"1": 2}
    assert remarks(monitor) == {"command-monitor.failed": 2}
    assert "ended with 1: no disk" in text_of(monitor)


def test_a_signal_is_named(monitor_of: Make) -> None:
    monitor = monitor_of("sh", "-c", "kill -SEGV $$", start="each-interval", timeout="3s")
    monitor.sample(1)
    assert monitor.account().exit_statuses == {"SIGSEGV": 1}


@pytest.mark.parametrize(("status", "code"), [(0, "command-monitor.ended"), (4, "command-monitor.failed")])
def test_the_one_program_that_ends_early(monitor_of: Make, status: int, code: str) -> None:
    monitor = monitor_of("sh", "-c", f"echo queue 3; exit {status}")
    rows = rows_until(monitor, lambda rows: bool(rows) and monitor._is_over)
    assert [row["value"] for row in rows] == [3.0]
    assert monitor.sample(1) == []
    monitor.close()
    assert monitor.account().exit_statuses == {str(status): 1}
    assert remarks(monitor) == {code: 1}


def test_a_program_that_does_not_exist(monitor_of: Make, tmp_path: Path) -> None:
    monitor = monitor_of("no-such-program-anywhere")
    assert (monitor.sample(0), monitor.sample(1)) == ([], [])
    monitor.close()
    assert remarks(monitor) == {"command-monitor.not-started": 1}
    assert "No such file" in text_of(monitor)
    with pytest.raises(ValueError, match="there is no program"):
        monitor_of("./no-such-script")
    script = tmp_path / "script"
    script.write_text("#!/bin/sh\necho queue 3\n")
    assert remarks_after_sample(monitor_of("./script")) == {"command-monitor.not-started": 1}
    script.chmod(0o755)
    assert rows_until(monitor_of("./script"), lambda rows: bool(rows))


def remarks_after_sample(monitor: Command) -> dict[str, int]:
    monitor.sample(0)
    return remarks(monitor)


def test_nan_and_infinite_values_are_left_out(monitor_of: Make) -> None:
    monitor = monitor_of("echo", "a nan b 3 c inf", start="each-interval", timeout="3s")
    assert [(row["name"], row["value"]) for row in monitor.sample(1)] == [("b", 3.0)]
    assert remarks(monitor) == {"command-monitor.no-numbers": 2}


def test_secrets_reach_the_program_by_its_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTHER_SECRET", "hidden")
    options = CommandOptions.model_validate(
        {
            "run": ("sh", "-c", 'echo "token $TOKEN"; test -z "$OTHER_SECRET" && echo unseen 1'),
            "env": {"TOKEN": "${env:TOKEN}"}, "start": "each-interval", "timeout": "3s",
        },
        context={"directory": tmp_path},
    )  # fmt: skip
    context = MonitorContext(roots=list, secret=lambda text: text.replace("${env:TOKEN}", "4711"))
    monitor = Command(options, context)
    assert {row["name"]: row["value"] for row in monitor.sample(1)} == {"token": 4711.0, "unseen": 1.0}
    with pytest.raises(ValueError, match="visible in the list of processes"):
        CommandOptions.model_validate({"run": ("curl", "${env:TOKEN}")})


def test_without_setpriv_the_launcher_starts_it(monitor_of: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    which = shutil.which
    monkeypatch.setattr(
        shutil, "which", lambda name, **more: None if name == "setpriv" else which(name, **more)
    )
    monitor = monitor_of("echo", "queue 3", start="each-interval", timeout="3s")
    assert [row["value"] for row in monitor.sample(1)] == [3.0]


def test_it_dies_with_loadcell(tmp_path: Path) -> None:
    code = f"""
import pathlib, time
from loadcell.monitors.base import MonitorContext
from loadcell.monitors.command import Command, CommandOptions
directory = pathlib.Path({str(tmp_path)!r})
options = CommandOptions.model_validate({{"run": ("sleep", "1000")}}, context={{"directory": directory}})
monitor = Command(options, MonitorContext(roots=list))
monitor.sample(0)
pathlib.Path({str(tmp_path / "pid")!r}).write_text(str(monitor._program._process.pid))
time.sleep(1000)
"""
    child = os.spawnv(os.P_NOWAIT, sys.executable, [sys.executable, "-c", code])
    try:
        until(lambda: (tmp_path / "pid").exists() and bool((tmp_path / "pid").read_text()))
        pid = int((tmp_path / "pid").read_text())
        assert is_alive(pid)
    finally:
        os.kill(child, 9)
        os.waitpid(child, 0)
    until(lambda: not is_alive(pid))


@pytest.mark.parametrize("before", [40, 55, 59, 285, 299])
def test_secrets_leave_output_before_it_is_cut(monitor_of: Make, before: int) -> None:
    text = "-" * before + SECRET
    failing = monitor_of(*python(f"import sys; sys.exit({text!r})"), start="each-interval", timeout="3s")
    wordy = monitor_of(*python(f"print({text!r})"), start="each-interval", timeout="3s")
    for monitor in (failing, wordy):
        monitor.sample(1)
        assert "---" in text_of(monitor)
        assert "s3c" not in text_of(monitor)


def test_a_setpriv_without_death_signals_is_not_used(
    monitor_of: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = tmp_path / "bin" / "setpriv"
    fake.parent.mkdir()
    fake.write_text("#!/bin/sh\necho \"setpriv: unrecognized option '$1'\" >&2\nexit 1\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{fake.parent}:{os.environ['PATH']}")
    monitor = monitor_of("echo", "queue 3", start="each-interval", timeout="3s")
    assert [row["value"] for row in monitor.sample(1)] == [3]
