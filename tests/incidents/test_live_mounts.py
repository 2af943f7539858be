"""Remote mounts of a host: hung ones are recognised, also hundreds, and the examination never hangs."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from jvms import running
from loadcell.incidents.base import Diagnosis, Healthy, Unseen, examine
from loadcell.incidents.evidence.base import Missing, Quote
from loadcell.incidents.evidence.kernel_log import KernelLine, KernelLog
from loadcell.incidents.evidence.mounts import Mounts, RemoteMount
from loadcell.incidents.examination import examination
from loadcell.incidents.live import gathering
from loadcell.incidents.live.base import Host
from loadcell.incidents.live.gluster_names import GlusterNamesGatherer
from loadcell.incidents.live.mounts import MountGatherer
from loadcell.linux import mount_answers, mount_questions, mount_table, procfs

SERVER = Path(__file__).parents[2] / "plans" / "incident" / "fuse_server.py"
LIMIT_S, USUAL_S, MOST_S = 8.0, 2.5, 120.0
needs_fuse = pytest.mark.skipif(
    (os.getuid() != 0 or not os.access("/dev/fuse", os.R_OK)) and "CI" not in os.environ,
    reason="needs root and FUSE",
)


def judged(**values: Any) -> Any:
    mount = RemoteMount(("/data",), "nfs4", "files.example:/data", server="files.example", **values)
    quotes = (Quote("/dev/kmsg", 0, "nfs: server files.example not responding, still trying"),)
    (judgement,) = examine(Mounts("host", (mount,), quotes=quotes))
    return judgement


@pytest.mark.parametrize(
    ("values", "level"),
    [
        ({"answered_s": None, "waited_s": 5.1}, "critical"),
        ({"answered_s": None, "waited_s": 2.1}, "warning"),
        ({"answered_s": 2.1}, "warning"),
        ({"answered_s": 5.05}, "critical"),
        ({"answered_s": 0.1, "error": "Stale file handle"}, "warning"),
    ],
)
def test_a_mount_that_does_not_answer_is_an_incident(values: dict[str, Any], level: str) -> None:
    diagnosis = judged(**values)
    assert isinstance(diagnosis, Diagnosis)
    assert diagnosis.level == level
    assert "not responding" in diagnosis.quotes[0].text


@pytest.mark.parametrize(
    ("kind", "source", "line", "is_quoted"),
    [
        ("cifs", "//nas/share", "CIFS: VFS: \\\\nas has not responded in 180 seconds. Reconnecting...", True),
        ("nfs4", "nas1:/x", "nfs: server nas1 not responding, still trying", True),
        ("nfs4", "nas1:/x", "nfs: server nas10 not responding, still trying", False),
        ("nfs4", "nas1:/x", "nfs: server nas1-b not responding, still trying", False),
        ("nfs4", "nas1:/x", "nfs: server old.nas1 not responding, still trying", False),
        ("nfs4", "10.0.0.1:/x", "nfs: server 10.0.0.1 not responding", True),
        ("nfs4", "10.0.0.1:/x", "nfs: server 10.0.0.1.", True),
        ("nfs4", "10.0.0.1:/x", "nfs: server 10.0.0.12 not responding", False),
        ("ceph", "10.0.0.1:6789:/x", "libceph: mon0 (1)10.0.0.1:6789 session lost", True),
        ("nfs4", "[fd00::1]:/x", "nfs: server fd00::1 not responding", True),
        ("nfs4", "[fd00::1]:/x", "nfs: server fd00::1:2 not responding", False),
    ],
)
def test_lines_about_its_server_are_quoted(kind: str, source: str, line: str, is_quoted: bool) -> None:
    server = mount_table.Mount("/data", kind, source, "0:9").server
    mount = RemoteMount(("/data",), kind, source, None, 5.1, server=server)
    (diagnosis,) = examine(Mounts("host", (mount,), quotes=(Quote("/dev/kmsg", 0, line),)))
    assert isinstance(diagnosis, Diagnosis)
    assert bool(diagnosis.quotes) is is_quoted


@pytest.mark.parametrize(
    ("kind", "source", "server", "is_remote"),
    [
        ("fuse", "https://dav.example/x", "", True),
        ("fuse.mergerfs", "a:b", "", False),
        ("fuse.encfs", "encfs", "", False),
        ("fuse.gocryptfs", "/secret", "", False),
        ("fuse.bindfs", "/x:y", "", False),
        ("fuse.ntfs-3g", "/dev/sdb1", "", False),
        ("fuse.rclone", "drive:x", "", True),
        ("fuse.sshfs", "first.last@far:/x", "far", True),
        ("smb3", "//nas/share", "nas", True),
    ],
)
def test_only_types_with_servers_have_one(kind: str, source: str, server: str, is_remote: bool) -> None:
    mount = mount_table.Mount("/m", kind, source, "0:9")
    assert (mount.server, mount.is_remote) == (server, is_remote)


def test_a_slow_mount_is_healthy() -> None:
    judgement = judged(answered_s=1.6)
    assert isinstance(judgement, Healthy)
    assert "1.6 s" in judgement.value.text


def test_a_mount_of_another_user_is_not_judged() -> None:
    assert isinstance(judged(answered_s=0.0, error="Permission denied"), Unseen)


def test_a_server_with_a_new_address_is_named() -> None:
    diagnosis = judged(
        answered_s=None, waited_s=5.1, mounted_address="10.0.0.1", addresses=("10.0.0.2", "10.0.0.3")
    )
    assert "10.0.0.1" in diagnosis.summary.text
    assert "10.0.0.2 and 10.0.0.3" in diagnosis.summary.text
    unchanged = judged(answered_s=None, waited_s=5.1, mounted_address="10.0.0.1", addresses=("10.0.0.1",))
    assert "now leads" not in unchanged.summary.text


def test_mounts_are_read_from_mountinfo(tmp_path: Path) -> None:
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/mountinfo").write_text(
        "1 0 8:1 / / rw - ext4 /dev/sda rw,errors=remount-ro\n"
        "2 1 0:50 / /old rw - nfs4 old:/x rw,addr=10.0.0.1\n"
        "3 1 0:51 / /old rw - tmpfs tmpfs rw\n"
        "4 1 0:52 / /a\\040b rw,relatime - nfs4 [fd00::1]:/x rw,soft,addr=fd00::1\n"
        "5 1 0:53 / /w rw - cifs //win/share rw\n"
        "6 1 0:54 / /run/doc rw - fuse.portal portal rw\n"
        "7 1 0:55 / /s rw - fuse.sshfs me@far:/x rw\n"
        "8 1 0:56 / /g rw - fuse.glusterfs n1:/vol rw\n"
        "9 1 0:57 / /auto rw - autofs systemd-1 rw\n"
        "damaged line\n"
    )
    mounts = mount_table.read(tmp_path)
    remote = {mount.point: mount for mount in mounts if mount.is_remote}
    assert {point: mount.server for point, mount in remote.items()} == {
        "/a b": "fd00::1", "/w": "win", "/s": "far", "/g": "n1",
    }  # fmt: skip
    assert remote["/a b"].option("addr") == "fd00::1"
    assert [mount.point for mount in mounts if mount.is_local_disk] == ["/"]
    assert mount_table.Mount("/", "overlay", "overlay", "0:9").is_local_disk
    assert not mount_table.Mount("/var/lib/x", "overlay", "overlay", "0:9").is_local_disk
    on = mount_table.mount_of("/s/logs/gc.log", mounts)
    assert on is not None
    assert on.point == "/s"


@pytest.mark.parametrize("name", ["a\u3000b", "a\xa0b", "a\x85b", "a\u2028b", "a\rb", "a\udcffb"])
def test_a_mount_point_may_have_any_white_space(tmp_path: Path, name: str) -> None:
    (tmp_path / "proc/self").mkdir(parents=True)
    row = f"1 0 0:50 / /{name}\\040c rw - nfs4 s:/{name} rw,addr=10.0.0.1\n"
    (tmp_path / "proc/self/mountinfo").write_bytes(os.fsencode(row))
    (mount,) = mount_table.read(tmp_path)
    assert (mount.point, mount.source) == (f"/{name} c", f"s:/{name}")
    assert mount.option("addr") == "10.0.0.1"


@needs_fuse
def test_mount_points_are_listed_with_any_white_space(tmp_path: Path) -> None:
    point = tmp_path / "a\u3000b c\x85d"
    point.mkdir()
    code = "import os, sys; from loadcell.linux import mounts; print(ascii(mounts.mount_points()[-1]))"
    script = 'mount -t tmpfs tmpfs "$1" && "$2" -c "$3"'
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", script, "sh", point, sys.executable, code],
        capture_output=True, text=True, check=True, timeout=30,
    )  # fmt: skip
    assert done.stdout.strip() == ascii(point)


def test_passwords_in_sources_of_mounts_are_not_shown(tmp_path: Path) -> None:
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/mountinfo").write_text(
        f"1 0 77:9 / {tmp_path} rw - fuse https://u:hunter2@dav.example/x rw\n"
    )
    (seen,) = MountGatherer().gather(Host(tmp_path))
    assert isinstance(seen, Mounts)
    assert seen.mounts[0].source.startswith("https://")
    assert "dav.example/x" in seen.mounts[0].source
    assert "hunter2" not in repr(seen)


ROOT = mount_table.Mount("/", "ext4", "/dev/x", "8:1")


def test_a_mount_is_not_silent_where_the_program_that_asks_is_late(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    late = tmp_path / "python"
    late.write_text("#!/bin/sh\nexec sleep 30\n")
    late.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(late))
    assert mount_answers.ask([ROOT], 0.2) == mount_answers.Answers({}, {})


def with_questions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, statvfs: str) -> None:
    """Ask by a program whose `os.statvfs` has another body."""
    program = tmp_path / "questions.py"
    text = Path(mount_questions.__file__).read_text()
    program.write_text(text.replace("def main()", f"def _statvfs(path):\n    {statvfs}\n\n\ndef main()", 1)
                       .replace("os.statvfs(path)", "_statvfs(path)"))  # fmt: skip
    monkeypatch.setattr(mount_questions, "__file__", str(program))


def test_silence_counts_from_the_question(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With two places, mounts that answer after 1.0 s leave the next ones 0.9 s of 1.9 s."""
    with_questions(tmp_path, monkeypatch, "time.sleep(1.0); return os.statvfs_result([1] * 11)")
    monkeypatch.setattr(mount_answers, "AT_ONCE", 2)
    mounts = [mount_table.Mount(f"/{number}", "nfs", "s:/x", f"0:{number}") for number in range(5)]
    answers = mount_answers.ask(mounts, 1.9)
    assert set(answers.by_point) == {"/0", "/1"}
    assert set(answers.silent) == {"/2", "/3"}
    assert all(0.3 < waited_s < 1.0 for waited_s in answers.silent.values())


def test_a_process_that_is_killed_is_no_silent_mount(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with_questions(tmp_path, monkeypatch, "os.kill(os.getpid(), signal.SIGKILL)")
    begin = time.monotonic()
    assert mount_answers.ask([ROOT], 20.0) == mount_answers.Answers({}, {}, frozenset({"/"}))
    assert time.monotonic() - begin < 10
    (judgement,) = examine(Mounts("host", (), failed=("/",)))
    assert isinstance(judgement, Unseen)


def test_a_short_silence_is_not_judged() -> None:
    judgement = judged(answered_s=None, waited_s=0.9)
    assert isinstance(judgement, Unseen)
    assert "too short" in judgement.reason.text


@contextmanager
def namespace(*setup: list[str]) -> Iterator[int]:
    """A mount namespace with servers of mounts, each stopped by SIGSTOP if its delay is negative."""
    holder = subprocess.Popen(
        ["unshare", "-m", "sh", "-c", "echo ready; exec sleep 1000"], stdout=subprocess.PIPE
    )
    servers = []
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"ready\n"
        for delay, *points in setup:
            server = subprocess.Popen(
                [*entered(holder.pid), sys.executable, str(SERVER), delay.lstrip("-"), *points],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            )  # fmt: skip
            servers.append(server)
            assert server.stdout is not None
            assert server.stdout.readline() == b"mounted\n"
            if delay.startswith("-"):
                server.send_signal(signal.SIGSTOP)
        yield holder.pid
    finally:
        for process in (*servers, holder):
            process.kill()
            process.communicate()


def entered(pid: int) -> list[str]:
    return ["nsenter", "-m", "-t", str(pid), "--"]


def doctor(pid: int) -> tuple[Any, float]:
    begin = time.monotonic()
    done = subprocess.run(
        [*entered(pid), sys.executable, "-m", "loadcell", "doctor", "--live", "--json"],
        capture_output=True, text=True, check=False, timeout=MOST_S,
    )  # fmt: skip
    assert done.returncode in (0, 1), done.stderr
    return json.loads(done.stdout), time.monotonic() - begin


def of_mounts(record: Any) -> Any:
    (subject,) = [subject for subject in record["subjects"] if subject["kind"] == "mounts"]
    return subject


def points(tmp_path: Path, count: int) -> list[str]:
    paths = [tmp_path / f"mount-{number}" for number in range(count)]
    for path in paths:
        path.mkdir()
    return [str(path) for path in paths]


@pytest.fixture
def limit_s() -> float:
    """8 s; more where an examination without dead mounts takes long, on a busy machine."""
    begin = time.monotonic()
    command = [sys.executable, "-m", "loadcell", "doctor", "--live", "--json"]
    subprocess.run(command, capture_output=True, check=False, timeout=MOST_S)
    usual_s = time.monotonic() - begin
    return LIMIT_S if usual_s < USUAL_S else LIMIT_S + 2 * usual_s


@needs_fuse
def test_hung_mounts_are_recognised_once_each_and_a_slow_one_is_not(tmp_path: Path, limit_s: float) -> None:
    """A server that is stopped, with a second mount point, and one that has read the question: nothing ends
    the process that asked it.
    """
    stopped, twin, silent, other, slow = points(tmp_path, 5)
    with namespace(["-0", stopped], ["1000", silent, other], ["0.8", slow]) as pid:
        subprocess.run([*entered(pid), "mount", "--bind", stopped, twin], check=True, timeout=5)
        with hung_process(pid, other):
            subject, first_s = of_mounts_timed(pid)
        assert any(line["text"].startswith("stat: state D") for line in subject["diagnoses"][0]["lines"])
        assert [(item["level"], item["values"]["points"]) for item in subject["diagnoses"]] == [
            ("critical", [stopped, twin]),
            ("critical", [silent]),
            ("critical", [other]),
        ]
        assert subject["healthy"][0]["values"]["count"] >= 1  # other tests may mount volumes, too
        assert first_s < limit_s
        assert len(mount_answers.outstanding()) == 1
        again, _ = of_mounts_timed(pid)
        assert len(again["diagnoses"]) == 3
        assert len(processes()) == 1
    wait_for_end()


@contextmanager
def hung_process(pid: int, point: str) -> Iterator[None]:
    """A process that a signal cannot end, because the mount has its question. It ends with the mount."""
    command = [*entered(pid), "stat", "-f", point]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(0.5)
    process.kill()
    threading.Thread(target=process.wait).start()
    yield


def processes() -> list[str]:
    """Processes that wait for a mount."""
    return [
        stat.name
        for stat in procfs.all_stats(procfs.ROOT)
        if stat.name.startswith(mount_questions.PREFIX) and stat.state != "Z"
    ]


def of_mounts_timed(pid: int) -> tuple[Any, float]:
    record, elapsed_s = doctor(pid)
    return of_mounts(record), elapsed_s


#: A process in uninterruptible sleep: it waits for a child that shares its memory.
STUCK = """
import ctypes, os, sys, time
library = ctypes.PyDLL(None)
if sys.argv[2] != "0":
    os.setgroups([]); os.setgid(int(sys.argv[2])); os.setuid(int(sys.argv[2]))
library.prctl(15, sys.argv[1].encode())
print("ready", flush=True)
library.vfork()
time.sleep(100)
"""


@contextmanager
def stuck(name: str, user: int) -> Iterator[int]:
    command = [sys.executable, "-c", STUCK, name, str(user)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        deadline = time.monotonic() + 10
        while (stat := procfs.process_stat(procfs.ROOT, process.pid)) is not None and stat.state != "D":
            assert time.monotonic() < deadline
            time.sleep(0.01)
        yield process.pid
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


@needs_fuse
def test_processes_of_other_users_prove_nothing() -> None:
    device, name = "77:12345", f"{mount_questions.PREFIX}77:12345"
    with stuck(name, 65534), stuck("lc-clocks", 65534):
        assert device not in mount_answers.outstanding()
        assert "clocks" not in gathering.stalled(Host())
    with stuck(name, 0), stuck("lc-clocks", 0) as pid:
        assert device in mount_answers.outstanding()
        assert gathering.stalled(Host())["clocks"] == pid


@needs_fuse
def test_a_mount_of_gluster_is_asked_once_and_its_silence_reported(tmp_path: Path) -> None:
    (point,) = points(tmp_path, 1)
    device = "77:1"
    mount = mount_table.Mount(point, "fuse.glusterfs", "s:/v", device)
    with stuck(f"{mount_questions.PREFIX}{device}", 0):
        assert mount_answers.ask_after_others([mount], 0.2) == mount_answers.Answers({}, {})
    assert set(mount_answers.ask_after_others([mount], 5.0).by_point) == {point}
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/mountinfo").write_text(f"1 0 {device} / {point} rw - fuse.glusterfs s:/v rw\n")
    with stuck(f"{mount_questions.PREFIX}{device}", 0):
        (missing,) = GlusterNamesGatherer().gather(Host(tmp_path))
    assert isinstance(missing, Missing)
    assert point in missing.reason.text


@needs_fuse
def test_a_dead_mount_does_not_block_a_watch(tmp_path: Path) -> None:
    """The heap dumps of the JVM are on it; only a process that is abandoned asks for them."""
    (point,) = points(tmp_path, 1)
    option = f"-XX:HeapDumpPath={point}/below/heap.hprof"
    with (
        namespace(["-0", point]) as pid,
        running("-Xmx16m", option, prefix=entered(pid)) as process,
    ):
        watch = [
            sys.executable, "-m", "loadcell", "doctor", "--watch", "host.load1 > 100000", "--for", "4s",
            "--pid", str(process.pid), "--out", str(tmp_path / "out"),
        ]  # fmt: skip
        done = subprocess.run(
            [*entered(pid), *watch], capture_output=True, text=True, check=False, timeout=60
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert f"the files of the JVM {process.pid} are on a mount that does not answer" in done.stderr
    assert done.stderr.splitlines()[-1] == "limit of 4 s reached (`--for`): the watch ends"


@needs_fuse
def test_a_namespace_full_of_dead_mounts_is_examined_in_time(tmp_path: Path, limit_s: float) -> None:
    count = mount_answers.AT_ONCE + 72
    with namespace(["-0", *points(tmp_path, count)]) as pid:
        subject, elapsed_s = of_mounts_timed(pid)
        assert len(subject["diagnoses"]) == mount_answers.AT_ONCE
        assert subject["unseen"][0]["values"]["count"] == count - mount_answers.AT_ONCE
        assert elapsed_s < limit_s
    wait_for_end()


def wait_for_end() -> None:
    """The processes that hung end with their mounts."""
    deadline = time.monotonic() + 10
    while mount_answers.outstanding() and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not mount_answers.outstanding()


@pytest.mark.parametrize(
    ("kind", "waited_s", "expected"),
    [
        ("fuse.sshfs", 5.1, ("critical", "fuse")),
        ("nfs4", 4.4, ("critical", "")),
        ("nfs4", 3, ("warning", "")),
    ],
)
def test_remedy_and_level_of_a_mount_that_never_answers(
    kind: str, waited_s: float, expected: tuple[str, str]
) -> None:
    [item] = examine(Mounts("host", (RemoteMount(("/data",), kind, "filer:/export", None, waited_s),)))
    assert isinstance(item, Diagnosis)
    assert (item.level, item.remedy) == expected


def test_the_present_comes_before_the_past() -> None:
    old = KernelLine(10**9, "I/O error, dev sda, sector 2048 op 0x1:(WRITE)")
    mounts = Mounts("host", (RemoteMount(("/data",), "nfs4", "filer:/export", None, 5.1),))
    seen = examination("vm", [KernelLog("host", 2 * 10**9, (old,)), mounts])
    assert [item.incident for _, item in seen.diagnoses] == ["disk-errors", "hung-mount"]
    live = replace(seen, utc_ns=3600 * 10**9)
    assert [item.incident for _, item in live.diagnoses] == ["hung-mount", "disk-errors"]
