"""Disk probes as a person runs them: what they count and say, and that nothing of them is left, however they
end.
"""

from __future__ import annotations

import ctypes
import html
import json
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from execution.live import Live, descendants, living, loadcell, until
from linux.fuse import mounted
from loadcell import report

PLAN = """
target: {host: {directory: disk}}
workload: {probe: {disk: {size: 1MiB, direct: false, OPTIONS}}}
load: {clients: 2, warmup: 0s, LOAD}
repeats: 1
monitors: [target]
expect: [errors == 0, iops > 0/s]
"""
SHORT = "duration: 500ms, interval: 100ms"


def plan(options: str, load: str = SHORT) -> str:
    return PLAN.replace("OPTIONS", options).replace("LOAD", load)


def run(home: Path, text: str) -> tuple[int, str, list[dict[str, Any]]]:
    """Exit status, what was said on standard error, and the trials."""
    (home / "disk").mkdir(exist_ok=True)
    (home / "plan.yaml").write_text(text)
    done = loadcell(home, "run", "plan.yaml", "--out", "run", "--no-report")
    trials = [json.loads(path.read_text()) for path in sorted((home / "run" / "trials").glob("*/trial.json"))]
    return done.returncode, done.stderr, trials


def test_a_mix_with_a_flush_after_each_write_from_plan_to_report(tmp_path: Path) -> None:
    status, message, [trial] = run(tmp_path, plan("access: randrw, fdatasync: 1"))
    assert status == 0, message
    counts = {name: item["succeeded"] for name, item in trial["operations"].items()}
    assert counts["read"] + counts["fdatasync"] == trial["totals"]["transactions"]["succeeded"] > 0
    # of each client one write may be done whose flush is not, at either end of the measurement
    assert abs(counts["fdatasync"] - counts["write"]) <= 2
    assert counts["fdatasync"] > 0
    assert all(trial["operations"][name]["response"]["p99_ms"] > 0 for name in counts)
    values = trial["totals"]["figures"]
    assert set(values) == {"iops", "read_mib_per_s", "write_mib_per_s"}
    assert values["iops"] == pytest.approx(trial["totals"]["throughput_per_s"])
    assert values["write_mib_per_s"] == pytest.approx(
        trial["operations"]["write"]["throughput_per_s"] * 4096 / 2**20
    )
    verdicts = {check["name"]: check["verdict"] for check in trial["checks"]}
    assert verdicts["littles-law"] == verdicts["counting-identity"] == verdicts["client-limit"] == "ok"
    assert not {"direct-io", "in-memory"} & set(verdicts)
    assert loadcell(tmp_path, "report", "run", "--format", "html").returncode == 0
    page = (tmp_path / "run" / "report.html").read_text()
    assert "as defined by fio" in html.unescape(page)
    assert "fdatasync" in page
    assert list((tmp_path / "disk").iterdir()) == []


def test_many_blocks_at_once_are_held_to_littles_law_too(tmp_path: Path) -> None:
    options = "access: randread, engine: io_uring, depth: 8"
    status, message, [trial] = run(tmp_path, plan(options))
    if trial["status"] == "failed":  # a container may forbid it, and says so
        assert trial["reason"].startswith("the kernel refuses io_uring")
        assert "psync" in trial["advice"]
        return
    assert status == 0, message
    [law] = [check for check in trial["checks"] if check["name"] == "littles-law"]
    assert (law["verdict"], law["detail"]["pipeline"]) == ("ok", 8)


def test_nothing_is_left_when_all_of_it_is_killed(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    with Live(tmp_path, plan("access: randwrite", "duration: 60s")) as live:
        live.in_phase("measure")
        worker = live.worker()
        open_files = [
            os.readlink(path)  # noqa: PTH115 - a link to what has no name any more
            for path in Path(f"/proc/{worker}/fd").iterdir()
        ]
        assert sum(str(disk) in file and file.endswith("(deleted)") for file in open_files) == 2
        below = [live.process.pid, *descendants(live.process.pid)]
        live.send(signal.SIGKILL)
        live.end()
        until(lambda: not living(below), "the worker's end")
    [remaining] = disk.iterdir()
    assert [path.name for path in remaining.iterdir()] == ["loadcell.json"], "a mark, and no file"
    (tmp_path / "next").mkdir()
    (tmp_path / "next" / "disk").symlink_to(disk)
    run(tmp_path / "next", plan("access: read"))
    assert list(disk.iterdir()) == [], "the next run puts even that away"


def test_a_disk_is_never_filled(tmp_path: Path) -> None:
    status, _, [trial] = run(tmp_path, plan("access: read").replace("1MiB", "100TiB"))
    assert (status, trial["status"]) == (3, "failed")
    assert trial["reason"].startswith("the files of 2 clients need 200 TiB in ")
    assert "reserved for other programs" in trial["reason"]
    assert "target.host.directory" in trial["advice"]


@contextmanager
def in_memory(path: Path, kind: bytes) -> Iterator[Path]:
    path.mkdir()
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.mount(b"loadcell-test", bytes(path), kind, 0, None) == 0, os.strerror(ctypes.get_errno())
    try:
        yield path
    finally:
        assert libc.umount2(bytes(path), 2) == 0  # MNT_DETACH


@pytest.fixture
def ramfs(tmp_path: Path) -> Iterator[Path]:
    """A file system in memory: nothing goes past the page cache there, and it names no size."""
    with in_memory(tmp_path / "disk", b"ramfs") as path:
        yield path


@pytest.fixture
def tmpfs(tmp_path: Path) -> Iterator[Path]:
    """A file system in memory that newer kernels let direct I/O be asked of."""
    with in_memory(tmp_path / "disk", b"tmpfs") as path:
        yield path


@pytest.fixture
def files(tmp_path: Path) -> Iterator[Path]:
    """A file system of our own: it lets files be opened for direct I/O, and refuses it when it comes."""
    path = tmp_path / "disk"
    with mounted("fuse_files", path):
        yield path


@pytest.mark.parametrize("kind", ["ramfs", "files"])
def test_a_file_system_without_direct_io_is_measured_through_the_page_cache_and_that_is_reported(
    tmp_path: Path, kind: str, request: pytest.FixtureRequest
) -> None:
    request.getfixturevalue(kind)
    text = plan("access: randrw, fdatasync: 1").replace("direct: false", "direct: true")
    status, message, [trial] = run(tmp_path, text)
    assert (status, trial["status"]) == (0, "ok"), message
    [direct] = [check for check in trial["checks"] if check["name"] == "direct-io"]
    assert direct == {"name": "direct-io", "verdict": "noticed", "detail": {"asked_for": True, "done": False}}
    assert trial["target"]["data"]["type"] == {"ramfs": "ramfs", "files": "fuse"}[kind]
    assert trial["totals"]["figures"]["iops"] > 0
    [page] = report.write(tmp_path / "run", formats=("html",))
    assert "the file system does not support direct I/O" in page.read_text()
    assert list((tmp_path / "disk").iterdir()) == []


@pytest.mark.usefixtures("tmpfs")
def test_a_disk_that_is_memory_is_reported_to_be_memory_before_and_after(tmp_path: Path) -> None:
    text = plan("access: randwrite, fdatasync: 1").replace("direct: false", "direct: true")
    (tmp_path / "plan.yaml").write_text(text)
    checked = json.loads(loadcell(tmp_path, "check", "plan.yaml", "--json").stdout)
    [remark] = [item for item in checked["remarks"] if item["path"] == "target.host.directory"]
    assert remark["text"].startswith("the directory is in memory (tmpfs), so blocks reach no device")
    status, message, [trial] = run(tmp_path, text)
    assert (status, trial["status"]) == (0, "ok"), message
    [noticed] = [check for check in trial["checks"] if check["name"] == "in-memory"]
    assert noticed == {"name": "in-memory", "verdict": "noticed", "detail": {"held_by": "tmpfs"}}
    assert trial["target"]["data"]["memory"] == "tmpfs"
    for lang, words in (
        ("en", "The files were in memory, not on a disk"),
        ("zh", "文件位于内存中，而不在磁盘上"),
    ):
        [page] = report.write(tmp_path / "run", formats=("html",), lang=lang)
        assert words in page.read_text()


@pytest.mark.usefixtures("ramfs")
def test_memory_is_not_filled_by_a_file_system_without_a_size(tmp_path: Path) -> None:
    status, _, [trial] = run(tmp_path, plan("access: read").replace("1MiB", "100TiB"))
    assert (status, trial["status"]) == (3, "failed")
    assert "the files of 2 clients need 200 TiB in " in trial["reason"]
    assert "Its file system reports no size" in trial["reason"]
    assert "smaller `size`" in trial["advice"]


def test_a_directory_that_takes_no_files(tmp_path: Path) -> None:
    text = plan("access: read").replace("directory: disk", "directory: /proc")
    status, _, [trial] = run(tmp_path, text)
    assert (status, trial["status"]) == (3, "failed")
    assert "/proc" in trial["reason"]
    assert "target.host.directory" in trial["advice"]
