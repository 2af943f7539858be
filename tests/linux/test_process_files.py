"""Files of processes that chose names for somebody else: links, pipes, files of others, other contents."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from jvms import running
from loadcell.linux import gc_log_files, process_files
from loadcell.linux.java_traces import JavaTraces, traces_of

REFUSED = "not permitted|symbolic links|No such file"
REPORT = "#\n# A fatal error has been detected by the Java Runtime Environment:\n#\n"


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[int]:
    descriptor = os.open(tmp_path, os.O_PATH | os.O_DIRECTORY)
    yield descriptor
    os.close(descriptor)


def test_a_regular_file_of_the_owner_is_opened(tmp_path: Path, folder: int) -> None:
    (tmp_path / "a").write_text("text")
    with os.fdopen(process_files.opened(folder, "a", os.geteuid())) as file:
        assert file.read() == "text"
    assert process_files.status(folder, "a", os.geteuid()).st_size == 4


@pytest.mark.parametrize("kind", ["link", "pipe", "directory", "other owner", "missing"])
def test_anything_else_is_refused_at_once(tmp_path: Path, folder: int, kind: str) -> None:
    path = tmp_path / "a"
    owner = os.geteuid()
    match kind:
        case "link":
            (tmp_path / "b").write_text("secret")
            path.symlink_to("b")
        case "pipe":
            os.mkfifo(path)
        case "directory":
            path.mkdir()
        case "other owner":
            path.write_text("secret")
            owner += 1
    with pytest.raises(OSError, match=REFUSED):
        process_files.opened(folder, "a", owner)
    with pytest.raises(OSError, match=REFUSED):
        process_files.status(folder, "a", owner)


def test_links_on_the_path_of_another_root_stay_below_it(tmp_path: Path) -> None:
    for home in (tmp_path / "outside", tmp_path / "root/outside"):
        home.mkdir(parents=True)
        (home / "name").write_text(home.parent.name)
    (tmp_path / "root/link").symlink_to("/outside")
    (tmp_path / "root/up").symlink_to("../../../outside")
    base = os.open(tmp_path / "root", os.O_PATH | os.O_DIRECTORY)
    try:
        for name in (b"/link", b"link", b"up", b"../../outside"):
            below = process_files._below(base, name)
            with os.fdopen(process_files.opened(below, "name", os.geteuid())) as file:
                assert file.read() == "root"
            os.close(below)
        with pytest.raises(OSError, match="No such file"):
            process_files._below(base, b"/missing")
    finally:
        os.close(base)


@pytest.fixture
def traces(tmp_path: Path) -> Iterator[JavaTraces]:
    """Traces of a JVM whose crash reports and GC log are in a directory with a name for patterns."""
    home = tmp_path / "a[b]*"
    home.mkdir()
    with running(
        f"-XX:ErrorFile={home}/hs[%p].log", f"-XX:HeapDumpPath={home}", f"-Xlog:gc:file={home}/gc.log"
    ) as process:
        jvm = traces_of(process.pid)
        assert jvm is not None
        yield jvm
        jvm.close()


def home_of(traces: JavaTraces) -> Path:
    return Path(traces.log_name).parent


def test_a_crash_report_has_the_exact_name_and_its_first_lines(traces: JavaTraces) -> None:
    home = home_of(traces)
    report = home / f"hs[{traces.pid}].log"
    for path in (home / f"hs[{traces.pid}].log.1", home / f"hs[{traces.pid}].logs", report):
        path.write_text(REPORT)
    assert list(traces.crashes()) == [(str(report), REPORT.encode())]
    report.write_text("root:x:0:0\n")
    assert list(traces.crashes()) == []
    report.unlink()
    (home / "other").write_text(REPORT)
    report.symlink_to("other")
    assert list(traces.crashes()) == []
    report.unlink()
    os.mkfifo(report)
    assert list(traces.crashes()) == []


def test_heap_dumps_of_other_jvms_in_a_shared_directory_are_left_out(traces: JavaTraces) -> None:
    home = home_of(traces)
    names = [f"java_pid{traces.pid}.hprof", f"java_pid{traces.pid}.hprof.1", f"java_pid{traces.pid}.hprof.gz"]
    for name in [*names, f"java_pid{traces.pid + 1}.hprof", f"java_pid{traces.pid}0.hprof"]:
        (home / name).write_text("x")
    assert sorted(path for path, _ in traces.dumps()) == sorted(str(home / name) for name in names)
    for instant_s in (traces.begin_s - 60, time.time() + 60):
        os.utime(home / names[0], (instant_s, instant_s))
        traces.end_s = time.time()
        assert str(home / names[0]) not in dict(traces.dumps()), "written before or after its life"
    traces.owner += 1
    assert traces.dumps() == []


def test_a_gc_log_is_no_link(traces: JavaTraces) -> None:
    home = home_of(traces)
    log = traces.log()
    assert log is not None
    assert b"Using" in gc_log_files.end_of(log).text
    (home / "gc.log").rename(home / "secret")
    (home / "gc.log").symlink_to("secret")
    with pytest.raises(OSError, match="symbolic"):
        traces.log()
