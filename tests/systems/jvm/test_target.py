"""A service on a real JVM: its start, what is recorded of it, its GC log, and the reasons of its end."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from jvms import running
from loadcell.model.json import document
from loadcell.model.message import Message
from loadcell.systems.base import TargetError
from loadcell.systems.jvm.gc_log import heads
from loadcell.systems.jvm.target import Jvm
from systems.jvm.conftest import Log, Make
from systems.test_command import gone


def ask(target: Jvm, times: int = 1) -> int:
    """Number of requests that were answered."""
    answers = 0
    for _ in range(times):
        try:
            with urllib.request.urlopen(f"http://{target.address}/", timeout=5) as answer:
                answers += answer.status == 200
        except OSError:
            break
    return answers


def end_of(target: Jvm) -> Message:
    """Why the service ended, while requests went on."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        if ask(target, 20) < 20 and (cause := target.exit_cause()) is not None:
            return cause
    raise AssertionError("the service still runs")


@pytest.mark.parametrize(
    ("collector", "options"),
    [
        ("Serial", {}),
        ("Parallel", {}),
        ("G1", {"flags": {"MaxGCPauseMillis": 50}}),
        ("ZGC", {}),
        ("Shenandoah", {}),
    ],
)
def test_memory_collector_and_flags_take_effect(
    make: Make, log: Log, collector: str, options: dict[str, object]
) -> None:
    target = make(
        collector=collector, heap="128MiB", direct="16MiB", properties={"mode": "fast", "on": True}, **options
    )
    target.up()
    assert ask(target) == 1
    facts = document(target.describe())
    settings = {setting["name"]: setting for setting in facts["settings"]}
    assert any("mode fast" in line for line in log)
    assert facts["collector"] == collector
    assert facts["heap_max_bytes"] == 128 * 2**20
    assert facts["compressed_oops"] is (collector != "ZGC")
    assert facts["version"].split(".")[0].isdigit()
    assert settings["MaxDirectMemorySize"]["value"] == str(16 * 2**20)
    assert settings["InitialHeapSize"]["value"] == str(128 * 2**20)
    if options:
        assert settings["MaxGCPauseMillis"]["given"] == 50


def test_compressed_object_pointers_can_be_off(make: Make) -> None:
    target = make(flags={"UseCompressedOops": False})
    target.up()
    assert document(target.describe())["compressed_oops"] is False


def test_it_starts_from_a_jar_beside_the_plan(make: Make, tmp_path: Path, compiled: Path) -> None:
    subprocess.run(
        [
            "jar",
            "--create",
            "--file",
            tmp_path / "service.jar",
            "--main-class",
            "Service",
            "-C",
            compiled,
            ".",
        ],
        check=True,
    )
    target = make(main=None, classpath=None, jar="service.jar", ready={"log": "listening"})
    target.up()
    assert ask(target) == 1
    files = document(target.describe())["files"]
    assert any(entry["path"] == str(tmp_path / "service.jar") for entry in files.values())


def test_each_trial_has_its_part_of_the_gc_log(make: Make) -> None:
    target = make(heap="8MiB")
    before_ns = time.monotonic_ns()
    target.up()
    ask(target, 300)
    first = list(target.trial_files(before_ns)["gc.log"])
    assert any("Pause Young" in line for line in first)
    assert any("Safepoint" in line for line in first)
    since_ns = time.monotonic_ns()
    target.up()  # another trial
    ask(target, 2000)
    second = list(target.trial_files(since_ns)["gc.log"])
    assert second
    assert not set(second) & {line for line in first if "Pause" in line}
    assert any("Using Serial" in line for line in second), "a reader must know the collector"


def test_a_trial_with_a_restart_has_the_collector_of_the_first_jvm(make: Make) -> None:
    target = make()
    target.up()
    since_ns = time.monotonic_ns()
    subject = target.subject("jvm")
    assert subject.start is not None
    [pid] = target.processes()
    os.kill(pid, signal.SIGKILL)
    deadline = time.monotonic() + 10
    while target.processes() and time.monotonic() < deadline:  # a zombie may have threads that still end
        time.sleep(0.02)
    subject.start()
    named = [line for line in target.trial_files(since_ns)["gc.log"] if "Using Serial" in line]
    assert len(named) == 2


@pytest.mark.parametrize("version", [11, 17])
def test_the_size_of_regions_is_in_each_trial(tmp_path: Path, version: int) -> None:
    words = f"-Xlog:gc*,safepoint:file={tmp_path}/gc.log:utctime,uptime,timenanos,level,tags"
    with running("-XX:+UseG1GC", "-Xmx64m", words, version=version):
        lines = heads(tmp_path, 0)
    assert any("Heap Region Size: 1M" in line or "Heap region size: 1M" in line for line in lines)
    assert any("Using G1" in line for line in lines)


def test_the_gc_log_is_bounded(make: Make, tmp_path: Path) -> None:
    target = make("collect", gc_log={"size": "64KiB", "files": 1})
    since_ns = time.monotonic_ns()
    target.up()
    assert ask(target, 300) == 300
    files = list((tmp_path / "work" / "gc-log").iterdir())
    assert sum(file.stat().st_size for file in files) < 2.5 * 64 * 1024
    lines = list(target.trial_files(since_ns)["gc.log"])
    times = [int(line.partition("ns]")[0].rpartition("[")[2]) for line in lines]
    assert times == sorted(times), "rotated files come in their order"
    assert len(lines) > 300


def test_a_service_that_exits_under_load(make: Make) -> None:
    target = make("late")
    target.up()
    assert "`Service` ended with status 7: licence expired" in end_of(target).text


def test_a_heap_that_is_exhausted_under_load(make: Make) -> None:
    target = make("heap", heap="32MiB")
    target.up()
    cause = end_of(target)
    assert cause.code == "jvm.out-of-heap"
    assert "Java heap space" in cause.text
    assert "target.jvm.heap" in cause.advice


@contextmanager
def memory_group(limit_bytes: int) -> Iterator[Path]:
    """A control group of memory, v1 or v2, for processes that enter it by themselves."""
    root = Path("/sys/fs/cgroup")
    is_v1 = (root / "memory").is_dir()
    group = root / ("memory" if is_v1 else "") / f"loadcell-test-{os.getpid()}"
    group.mkdir()
    try:
        (group / ("memory.limit_in_bytes" if is_v1 else "memory.max")).write_text(str(limit_bytes))
        yield group
    finally:
        deadline = time.monotonic() + 5
        while True:
            try:
                group.rmdir()
                break
            except OSError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.05)


@pytest.mark.skipif(os.geteuid() != 0, reason="control groups are made by root")
def test_a_service_that_the_kernel_kills(make: Make, tmp_path: Path) -> None:
    with memory_group(150 * 2**20) as group:
        java = tmp_path / "limited-java"
        java.write_text(f'#!/bin/sh\necho $$ > {group}/cgroup.procs\nexec {shutil.which("java")} "$@"\n')
        java.chmod(0o755)
        target = make("touch", java=str(java), heap="400MiB")
        target.up()
        cause = end_of(target)
        target.down()
    assert "was killed by the kernel, because its control group reached its memory limit of 150" in cause.text


def test_one_that_never_gets_ready_is_quoted(make: Make) -> None:
    target = make("silent", ready={"within": "2s"})
    with pytest.raises(TargetError) as caught:
        target.up()
    assert "waiting for a database" in caught.value.finding
    assert "target.jvm.ready" in caught.value.advice
    assert target.processes() == []


@pytest.mark.parametrize(
    ("options", "code", "text"),
    [
        ({"main": "Missing"}, "jvm.not-loaded", "Could not find or load main class Missing"),
        (
            {"main": None, "classpath": None, "jar": "/missing.jar"},
            "jvm.not-loaded",
            "Unable to access jarfile",
        ),
        ({"options": "-Xnonsense"}, "jvm.refused", "Unrecognized option: -Xnonsense"),
        ({"flags": {"NoSuchFlag": True}}, "jvm.refused", "Unrecognized VM option 'NoSuchFlag'"),
        ({"heap": "2TiB"}, "jvm.no-memory", "failed to map"),
    ],
)
def test_what_does_not_start_has_the_message_of_the_jvm(
    make: Make, options: dict[str, object], code: str, text: str
) -> None:
    with pytest.raises(TargetError) as caught:
        make(**options).up()
    assert caught.value.message.code == code
    assert text in caught.value.finding
    assert caught.value.advice


@pytest.mark.parametrize(
    ("way", "text", "foreground"),
    [
        ("throw", "`Service` ended with status 1 before it was ready: Caused by: java.io.File", False),
        ("done", "`Service` ended with status 0 before it was ready: mode null", True),
    ],
)
def test_a_program_that_ends_before_it_is_ready(make: Make, way: str, text: str, foreground: bool) -> None:
    with pytest.raises(TargetError, match=text) as caught:
        make(way).up()
    assert ("foreground" in caught.value.advice) is foreground


@pytest.mark.parametrize("named", [False, True])
def test_details_of_a_crash_are_files_of_the_trial(make: Make, tmp_path: Path, named: bool) -> None:
    target = make(flags={"ErrorFile": str(tmp_path / "mine.log")} if named else {}, directory=".")
    target.up()
    [pid] = target.processes()
    os.kill(pid, signal.SIGSEGV)
    assert gone(pid)
    cause = target.exit_cause()
    assert cause is not None
    assert cause.code == "jvm.crashed"
    name = f"hs_err_pid{pid}.log"
    files = target.trial_files(0)
    assert (name in files) is not named
    assert (tmp_path / "mine.log").exists() is named
    assert not (tmp_path / name).exists()
    assert "hs_err" not in json.dumps(document(target.describe()))
    if not named:
        [details] = files[name]  # one text, in which secrets of several lines are found
        assert "SIGSEGV" in details
        assert name not in target.trial_files(0), "of one trial"


def test_a_running_jvm_is_measured_and_left_alone(make: Make) -> None:
    started = make(properties={"db.password": "hunter2"})
    started.up()
    [pid] = started.processes()
    values = dict.fromkeys(("main", "classpath", "arguments", "heap", "collector"))
    target = make(**values, attach=pid, url=f"http://{started.address}")
    target.up()
    facts = document(target.describe())
    assert (facts["server"], facts["collector"], facts["pid"]) == ("external", "Serial", pid)
    assert facts["compressed_oops"] is True
    assert "-Xmx67108864" in facts["command"]
    assert facts["command"].endswith(" Service")
    assert "hunter2" not in json.dumps(facts), "its properties may be secrets"
    assert target.processes() == [pid]
    assert target.trial_files(0) == {}
    target.destroy()
    assert ask(started) == 1
    os.kill(pid, signal.SIGKILL)
    assert gone(pid)
    assert not target.alive()
    assert document(target.describe()) == facts, "what is read of a process is read once"
    cause = target.exit_cause()
    assert cause is not None
    assert cause.code == "jvm.gone"
    with pytest.raises(TargetError, match="has ended"):
        target.up()


def test_a_process_that_never_existed_has_not_ended(make: Make) -> None:
    values = dict.fromkeys(("main", "classpath", "arguments", "heap", "collector"))
    with pytest.raises(TargetError, match="there is no process 4194305"):
        make(**values, attach=2**22 + 1, url="http://127.0.0.1:1").up()


def test_another_process_is_no_jvm(make: Make) -> None:
    values = dict.fromkeys(("main", "classpath", "arguments", "heap", "collector"))
    with pytest.raises(TargetError, match="is not a JVM"):
        make(**values, attach=os.getpid(), url="http://127.0.0.1:1").up()
