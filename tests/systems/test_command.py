"""A server that a command starts: from its start to the end of all that it left behind."""

from __future__ import annotations

import hashlib
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from pydantic import ValidationError

from hostile import Hostile, response, says
from loadcell.model.json import document
from loadcell.plan.model import Load
from loadcell.systems.base import TargetContext, TargetError
from loadcell.systems.command.options import CommandOptions
from loadcell.systems.command.target import Command

#: A server with a child; it prints that it listens, or does something else as its arguments say.
SERVER = """
import http.server, os, subprocess, sys, time
print("variables", sorted(os.environ), os.environ.get("TOKEN"), flush=True)
subprocess.Popen(["sleep", "300"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
address = ("127.0.0.1", int(sys.argv[1]))
print("now listening", flush=True)
server = http.server.ThreadingHTTPServer(address, http.server.SimpleHTTPRequestHandler)
server.serve_forever()
"""

Make = Callable[..., Command]


class Log(list[str]):
    """Lines that the target logged."""


@pytest.fixture
def log() -> Log:
    return Log()


@pytest.fixture
def make(tmp_path: Path, log: Log) -> Iterator[Make]:
    """Targets that are removed at the end."""
    made: list[Command] = []

    def make_target(**options: Any) -> Command:
        base = {
            "command": [sys.executable, "{work}/server.py", "{port}"],
            "url": "http://127.0.0.1:{port}",
            "files": {"server.py": SERVER},
        }
        parsed = CommandOptions.model_validate({**base, **options}, context={"directory": tmp_path})
        work = tmp_path / "work"
        work.mkdir(exist_ok=True)
        context = TargetContext(work, log.append, lambda text: text.replace("${env:TOKEN}", "hush"))
        made.append(Command(parsed, context))
        return made[-1]

    yield make_target
    for target in made:
        target.destroy()


def gone(pid: int) -> bool:
    """True if a process has ended, within a while: its first thread may be a zombie before the others end."""
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
            threads = len(list(Path(f"/proc/{pid}/task").iterdir()))
        except OSError:
            return True
        if state == "Z" and threads <= 1:
            return True
        time.sleep(0.02)
    return False


def children(pid: int) -> list[int]:
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def test_directory_is_recorded_without_dots(tmp_path: Path) -> None:
    """A plan in `perf/` that names the directory above."""
    (tmp_path / "perf").mkdir()
    options = CommandOptions.model_validate(
        {"command": "./serve.sh", "url": "http://127.0.0.1:1", "directory": ".."},
        context={"directory": tmp_path / "perf"},
    )
    assert options.path == tmp_path.resolve()


@pytest.mark.parametrize(
    "ready", [{}, {"log": "now listen"}, {"url": "http://127.0.0.1:{port}/"}], ids=["port", "log", "url"]
)
def test_it_is_ready_when_it_says_so(make: Make, log: Log, ready: dict[str, Any]) -> None:
    target = make(ready=ready)
    target.up()
    assert target.alive()
    [pid] = target.processes()
    assert target.endpoint().port > 0
    target.up()  # another trial: nothing to do
    assert target.processes() == [pid]
    [child] = children(pid)
    target.down()
    assert gone(pid)
    assert gone(child), "what it started ends with it"
    assert not target.alive()
    assert any("now listening" in line for line in log)


def test_it_sees_what_the_plan_gives_and_nothing_else(
    make: Make, log: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET_OF_LOADCELL", "x")
    target = make(env={"TOKEN": "${env:TOKEN}", "PLACE": "{work}"}, ready={"log": "listening"})
    target.up()
    [message] = [line for line in log if "variables" in line]
    assert message.endswith("hush")
    assert "SECRET_OF_LOADCELL" not in message
    assert "hush" not in str(target.describe())


def test_a_fresh_one_for_each_trial_where_the_plan_says_so(make: Make) -> None:
    target = make(fresh=True)
    target.up()
    first = target.processes()
    target.up()
    assert target.processes() != first
    assert target.alive()


def test_one_that_died_is_started_again(make: Make) -> None:
    target = make()
    target.up()
    [pid] = target.processes()
    os.kill(pid, 9)
    assert gone(pid)
    assert not target.alive()
    target.down()
    target.up()
    assert target.alive()


def test_children_of_one_that_was_killed_end_too(make: Make) -> None:
    target = make()
    target.up()
    [pid] = target.processes()
    [child] = psutil.Process(pid).children()
    os.kill(pid, 9)
    assert gone(pid)
    assert child.is_running()
    target.down()
    assert gone(child.pid)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"command": "no-such-program-at-all"}, "no program 'no-such-program-at-all'"),
        ({"command": "./missing"}, "no program './missing'"),
        ({"command": [sys.executable, "-c", "print('no port left'); raise SystemExit(3)"]}, "status 3"),
        ({"command": [sys.executable, "-c", "import os; os.kill(os.getpid(), 9)"]}, "was killed by SIGKILL"),
        ({"command": "sleep 60", "ready": {"within": "200ms"}}, "was not ready within 0.20 s"),
        ({"command": "sleep 60", "ready": {"log": "never", "within": "200ms"}}, "no line of its output"),
        ({"directory": "nowhere"}, "there is no directory"),
    ],
)
def test_what_does_not_come_up_is_reported(make: Make, options: dict[str, Any], message: str) -> None:
    target = make(**options)
    with pytest.raises(TargetError) as caught:
        target.up()
    assert message in caught.value.finding
    assert caught.value.advice
    assert target.processes() == []


@pytest.mark.parametrize(
    ("options", "paths"),
    [
        ({"command": "./serve.sh {port}"}, ["command"]),
        ({"command": "bin/serve {port}"}, ["command"]),
        ({"command": "./serve.sh", "files": {"serve.sh": "#!/bin/sh"}}, []),
        ({"command": "{work}/serve.sh"}, []),
        ({"command": "serve"}, []),
        ({"command": "/usr/bin/serve"}, []),
        ({"command": "./serve.sh", "directory": "."}, []),
    ],
)
def test_a_relative_program_needs_a_directory(options: dict[str, Any], paths: list[str]) -> None:
    """Without one it would be looked for in the directory of the run's own, which nobody can have filled."""
    complete = CommandOptions.model_validate({"url": "http://127.0.0.1:{port}", **options})
    misfits = list(Command.misfits(complete))
    assert [misfit.path for misfit in misfits] == paths
    assert all("`directory: .`" in misfit.message.advice for misfit in misfits)


def test_an_argument_that_names_a_file_beside_the_plan_is_remarked_on(tmp_path: Path) -> None:
    (tmp_path / "server.py").touch()
    (tmp_path / "elsewhere").mkdir()

    def remarks(**options: Any) -> list[str]:
        values = {"command": "python3 server.py", "url": "http://127.0.0.1:1", **options}
        read = CommandOptions.model_validate(values, context={"directory": tmp_path})
        return [remark.message.text for remark in Command.advice(read, Load(clients=1, duration="1s"))]

    [remark] = remarks()
    assert "server.py is not in the directory in which the program runs" in remark
    assert len(remarks(directory="elsewhere")) == 1
    assert remarks(directory=".") == []
    assert remarks(files={"server.py": ""}) == []
    assert remarks(command=["sh", "-c", "x" * 5000]) == []


def test_last_words_are_in_the_reason(make: Make) -> None:
    target = make(command=[sys.executable, "-c", "print('no licence found'); raise SystemExit(3)"])
    with pytest.raises(TargetError, match="no licence found"):
        target.up()


def test_one_that_does_not_get_ready_is_quoted(make: Make) -> None:
    code = "import time; print('waiting for the database', flush=True); time.sleep(60)"
    target = make(command=[sys.executable, "-c", code], ready={"within": "1s"})
    with pytest.raises(TargetError) as caught:
        target.up()
    assert "(last output “waiting for the database”)" in caught.value.finding
    assert "target.command.ready" in caught.value.advice


def test_why_it_ended_under_load(make: Make) -> None:
    target = make()
    assert target.exit_cause() is None
    target.up()
    assert target.exit_cause() is None
    [pid] = target.processes()
    os.kill(pid, 9)
    assert gone(pid)
    cause = target.exit_cause()
    assert cause is not None
    assert "was killed by SIGKILL: now listening" in cause.text


def test_somebody_else_s_server_is_not_loaded_by_mistake(make: Make) -> None:
    with Hostile(says(response())) as stranger:
        target = make(command="sleep 60", url=f"http://127.0.0.1:{stranger.port}")
        with pytest.raises(TargetError) as caught:
            target.up()
    assert "was in use before the service started" in caught.value.finding
    assert "{port}" in caught.value.advice


def test_one_that_does_not_want_to_end_is_killed(make: Make, log: Log) -> None:
    code = "import signal, sys; signal.signal(signal.SIGINT, signal.SIG_IGN); " + (
        "import http.server as h; h.HTTPServer(('127.0.0.1', int(sys.argv[1])), "
        "h.SimpleHTTPRequestHandler).serve_forever()"
    )
    target = make(
        command=[sys.executable, "-c", code, "{port}"], stop={"signal": "SIGINT", "within": "200ms"}
    )
    target.up()
    [pid] = target.processes()
    target.down()
    assert gone(pid)
    assert any("SIGINT" in line for line in log)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"command": ""}, "the command is empty"),
        ({"command": []}, "the command is empty"),
        ({"command": "echo 'x"}, "syntax error"),
        ({"command": "x", "url": "127.0.0.1"}, "not the url of a service"),
        ({"command": "x", "files": {"../x": ""}}, "not the name of a file"),
        ({"command": "x", "files": {"/etc/x": ""}}, "not the name of a file"),
        ({"command": "x", "env": {"A B": ""}}, "not the name of an environment variable"),
        ({"command": "x", "stop": {"signal": "STOPIT"}}, "no signal"),
        ({"command": "x", "ready": {"port": 5, "log": "x"}}, "at most one of `port`, `url` and `log`"),
        ({"command": "x", "ready": {"log": "("}}, "not a regular expression"),
    ],
)
def test_a_mistake_is_named(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError) as caught:
        CommandOptions.model_validate({"url": "http://127.0.0.1:1", **options})
    assert message in str(caught.value)


def test_the_record_has_size_time_and_hash_of_started_files(make: Make, tmp_path: Path) -> None:
    target = make()
    target.up()
    files = document(target.describe())["files"]
    program = Path(sys.executable).resolve()
    assert set(files) == {"program", "argument 1"}, "the port is no file"
    assert files["program"]["path"] == str(program)
    assert files["program"]["sha256"] == hashlib.sha256(program.read_bytes()).hexdigest()
    script = files["argument 1"]
    assert (script["size_bytes"], script["sha256"]) == (
        len(SERVER.encode()), hashlib.sha256(SERVER.encode()).hexdigest(),
    )  # fmt: skip
    assert script["modified_utc"].startswith("20")


def test_another_build_of_the_program_has_another_hash(make: Make, tmp_path: Path) -> None:
    (tmp_path / "server.py").write_text(SERVER)
    target = make(directory=".", command=[sys.executable, "server.py", "{port}"], files={}, fresh=True)
    target.up()
    before = document(target.describe())["files"]["argument 1"]["sha256"]
    (tmp_path / "server.py").write_text(SERVER + "# rebuilt\n")
    target.up()
    assert document(target.describe())["files"]["argument 1"]["sha256"] != before
