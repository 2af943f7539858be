"""`loadcell doctor --live`: options, records, both languages, and its time on this machine."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from click.testing import Result

from jvms import running
from lines import CliRunner
from loadcell.cli import main
from loadcell.incidents.live.named_process import NamedProcessError, check
from loadcell.incidents.record import ExaminationRecord
from loadcell.model import json as model_json
from nobody import nobody

#: A healthy host takes 2 s; the machine of the test may be busy with others.
LIMIT_S, BUSY_S = 2.0, 8.0


def doctor(*words: str) -> Result:
    return CliRunner().invoke(main, ["doctor", *words])


def test_a_single_jvm_is_named_by_its_main_class_and_process() -> None:
    with running("-Xmx32m") as process:
        [english, chinese] = [doctor("--pid", str(process.pid), *words) for words in ((), ("--lang", "zh"))]
    name = f"Allocating ({process.pid})"
    for result in (english, chinese):
        rows = "".join(result.stdout.split())
        assert rows.count(name.replace(" ", "")) >= 2, "counters and classes"
    assert "load" in english.stdout
    assert "负载" in chinese.stdout


def test_it_is_a_separate_examination() -> None:
    for words in (("--live", "--gc-log", "x.log"), ("--live", "last"), ("--pid", "1", "--log", "x")):
        result = doctor(*words)
        assert result.exit_code == 2
        assert "separate call" in result.stderr


@pytest.mark.parametrize(
    "words", [("nosuchrun",), ("--gc-log", "x.log"), ("--log", "x.log"), ("--live",), ("--timeout", "2")]
)
def test_a_watch_takes_no_other_evidence(words: tuple[str, ...]) -> None:
    result = doctor("--watch", "host.load1 > 100000", "--for", "1s", *words)
    assert result.exit_code == 2
    assert "separate call" in " ".join(result.stderr.split())


@pytest.mark.parametrize("words", [("--for", "2s"), ("--most", "5")])
def test_options_of_a_watch_need_one(words: tuple[str, ...]) -> None:
    result = doctor("--live", *words)
    assert result.exit_code == 2
    assert f"{words[0]} requires --watch" in " ".join(result.stderr.split())


@pytest.mark.parametrize("pid", ["abc", "0", "-4", "1.5", "4294967296"])
def test_a_process_that_is_no_number_is_refused(pid: str) -> None:
    result = doctor("--live", f"--pid={pid}")
    assert result.exit_code == 2
    assert f"'{pid}' is no process id" in " ".join(result.stderr.split())
    assert "jps" in result.stderr


def test_a_condition_that_is_none_is_refused() -> None:
    result = doctor("--watch", "gc.full", "--pid", "1")
    assert result.exit_code == 2
    assert "gc.full >= 3 in 60s" in result.stderr
    assert doctor("--watch", "gc.full >= 3").exit_code == 2


def refused(*words: str) -> str:
    """The message of a refused call, in one line."""
    result = doctor(*words)
    assert result.exit_code == 2, result.output
    return " ".join(result.stderr.split())


@pytest.mark.parametrize(
    "words", [("--live",), ("--watch", "gc.full >= 3"), ("--watch", "target.cpu_percent > 1")], ids=str
)
def test_a_process_that_does_not_exist_is_an_error_with_the_remedy(words: tuple[str, ...]) -> None:
    ended = subprocess.Popen(["true"])
    zombie = refused(*words, "--pid", str(_zombie(ended)))
    assert f"`--pid {ended.pid}`: the process (true) has ended".replace("`", "'") in zombie.replace("`", "'")
    ended.wait()
    text = refused(*words, "--pid", str(ended.pid))
    assert "no process has this id" in text
    assert "jps -l" in text


def _zombie(process: subprocess.Popen[bytes]) -> int:
    """The id of a process that has ended, and is not waited for."""
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    return process.pid


@pytest.mark.parametrize("words", [("--live",), ("--watch", "gc.full >= 3")], ids=str)
def test_a_process_that_is_no_jvm_is_an_error_with_the_remedy(words: tuple[str, ...]) -> None:
    with subprocess.Popen(["sleep", "60"]) as process:
        text = refused(*words, "--pid", str(process.pid))
        assert "the process (sleep) is no JVM" in text
        assert "jps -l" in text
        process.kill()


def test_of_a_process_that_started_a_jvm_the_jvm_is_named() -> None:
    with running() as process:
        text = refused("--live", "--pid", str(os.getpid()))
        assert f"has started one ({process.pid})" in text
        thread = max(int(name) for name in os.listdir(f"/proc/{process.pid}/task"))  # noqa: PTH208
        assert f"a thread of the process {process.pid}" in refused("--live", "--pid", str(thread))


@pytest.mark.skipif(os.getuid() != 0, reason="needs root to become another user")
def test_a_jvm_of_another_user_is_an_error_with_the_remedy() -> None:
    with running() as process:
        with nobody(), pytest.raises(NamedProcessError, match="belongs to another user") as refusal:
            check(process.pid, needs_jvm=True)
        assert "or as root (`sudo`)" in refusal.value.advice
        check(process.pid, needs_jvm=True)


def test_a_jvm_that_ends_during_the_examination_is_a_remark() -> None:
    with running() as process:
        threading.Timer(0.4, process.kill).start()
        result = doctor("--live", "--pid", str(process.pid), "--json")
    assert result.exit_code in (0, 1), result.stderr
    record = model_json.read(ExaminationRecord, result.stdout)
    reasons = {item.incident: item.text for item in record.unseen}
    assert reasons["class-growth"] == f"the JVM {process.pid} ended during the examination"


def test_the_record_has_all_topics_and_the_page_both_languages(tmp_path: Path) -> None:
    result = doctor("--live", "--json", "--out", str(tmp_path / "doctor.html"))
    assert result.exit_code in (0, 1)
    record = model_json.read(ExaminationRecord, result.stdout)
    kinds = {subject.kind for subject in record.subjects}
    assert {
        "mounts", "clocks", "processors", "memory", "kernel-log", "file-systems", "disks", "control-groups",
        "connections", "open-files", "numa",
    } <= kinds  # fmt: skip
    assert {item.incident for item in record.unseen} >= {"class-growth"}
    assert "Hung remote mount" in (tmp_path / "doctor.html").read_text()
    chinese = doctor("--live", "--lang", "zh")
    assert "远程挂载无响应" in chinese.stdout
    assert "host-reason" not in chinese.stdout


def test_it_is_fast() -> None:
    words = [sys.executable, "-m", "loadcell", "doctor", "--live", "--json"]
    times = []
    for _ in range(3):
        begin = time.monotonic()
        subprocess.run(words, capture_output=True, check=False, timeout=30)
        times.append(time.monotonic() - begin)
    is_busy = os.getloadavg()[0] > os.cpu_count() / 2  # type: ignore[operator]
    assert min(times) < (BUSY_S if is_busy else LIMIT_S)


@pytest.mark.skipif(os.getuid() != 0, reason="needs root to become another user")
def test_without_root_it_lists_what_it_cannot_see() -> None:
    code = (
        "import os\n"
        "from loadcell.incidents.live.base import Host\n"
        "from loadcell.incidents.live import gathering\n"
        "from loadcell.incidents.examination import examination\n"
        "gathering.gatherers(); os.setgroups([]); os.setgid(65534); os.setuid(65534)\n"
        "gathered = gathering.gather(Host())\n"
        "os.write(1, repr([type(item).__name__ for item in gathered.evidence]).encode())\n"
        "files = next(item for item in gathered.evidence if type(item).__name__ == 'OpenFiles')\n"
        "os.write(1, f' hidden {files.hidden > 0}'.encode())\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=30
    )
    assert done.returncode == 0, done.stderr
    assert "KernelLog" in done.stdout
    assert "hidden True" in done.stdout
