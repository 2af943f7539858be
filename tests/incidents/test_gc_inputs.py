"""GC logs as they lie on disks: with holes, damage, ends of lines of Windows, and still being written."""

from __future__ import annotations

import gzip
import os
import random
import threading
import time
from pathlib import Path

import pytest

from loadcell.incidents.gc_logs import GcLogs, read
from loadcell.ingest import log_files
from loadcell.ingest.base import ImportProblemError

from .gc_texts import Log


def healthy(count: int = 200, begin_s: float = 1) -> str:
    log = Log()
    for index in range(count):
        log.young(begin_s + index, 500, 100)
    return "".join(log.lines)


def written(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


def logs_of(*paths: Path) -> GcLogs:
    return read([(path, path.name) for path in paths])


def pauses_of(logs: GcLogs) -> list[int]:
    return [jvm.log.totals.all.count for jvm in logs.jvms]


def test_a_gigabyte_of_zeros_after_a_log_is_skipped(tmp_path: Path) -> None:
    path = written(tmp_path / "gc.log", healthy().encode())
    with path.open("r+b") as file:
        file.truncate(10**9)
    begin = time.monotonic()
    assert pauses_of(logs_of(path)) == [200]
    assert time.monotonic() - begin < 20


@pytest.mark.parametrize(
    ("zeros_at", "size_bytes", "lost"),
    [
        (0, 10_000, 0), (5_000, 10_000, 1), (5_000, 5 << 20, 1), (0, 5 << 20, 0), (-1, 5_000, 0),
        ("line", 10_000, 0), ("line", 5 << 20, 0),
    ],
)  # fmt: skip
@pytest.mark.parametrize("is_packed", [False, True])
def test_zeros_in_a_log_are_passed_over(
    tmp_path: Path, zeros_at: int | str, size_bytes: int, lost: int, is_packed: bool
) -> None:
    """The line that is cut is lost; the text behind the zeros is read, as are all later lines."""
    text = healthy().encode()
    position = text.index(b"\n", 5_000) + 1 if isinstance(zeros_at, str) else zeros_at % len(text)
    content = text[:position] + bytes(size_bytes) + text[position:]
    path = written(tmp_path / "gc.log", gzip.compress(content) if is_packed else content)
    logs = logs_of(path)
    assert pauses_of(logs) == [200 - lost]
    [remark] = [item for item in logs.reading.remarks if item.code == "log-file.zeros"]
    assert (remark.arguments["count"], remark.arguments["size_bytes"]) == (1, size_bytes)
    assert logs.reading.unread >= 1
    assert logs.reading.unread_share > 0


def test_single_zeros_are_no_stretch(tmp_path: Path) -> None:
    lines = healthy().splitlines(keepends=True)
    lines[50] = lines[50].replace("Pause", "Pau\0se")
    logs = logs_of(written(tmp_path / "gc.log", "".join(lines).encode()))
    assert (pauses_of(logs), logs.reading.unread, logs.reading.remarks) == ([200], 0, ())


def test_a_log_behind_a_large_hole_is_read_at_once(tmp_path: Path) -> None:
    """`copytruncate` leaves a writer at its old place in the file."""
    path = tmp_path / "gc.log"
    with path.open("wb") as file:
        file.seek(20 * 10**9)
        file.write(healthy().encode())
    begin = time.monotonic()
    assert pauses_of(logs_of(path)) == [200]
    assert time.monotonic() - begin < 10


def test_holes_behind_text_are_passed_over_at_once(tmp_path: Path) -> None:
    path = tmp_path / "gc.log"
    lines = healthy().encode().splitlines(keepends=True)
    parts = [b"".join(lines[begin : begin + 70]) for begin in range(0, len(lines), 70)]
    with path.open("wb") as file:
        for part in parts:
            file.write(part)
            file.seek(20 * 10**9, os.SEEK_CUR)
        file.truncate()
    begin = time.monotonic()
    logs = logs_of(path)
    assert time.monotonic() - begin < 10
    assert pauses_of(logs) == [200]
    [remark] = [item for item in logs.reading.remarks if item.code == "log-file.zeros"]
    count = len(parts)
    assert (remark.arguments["count"], remark.arguments["size_bytes"]) == (count, count * 20 * 10**9)


def test_a_packed_log_behind_many_zeros_is_read(tmp_path: Path) -> None:
    """`copytruncate`, and then `compress`."""
    content = gzip.compress(bytes(4 << 20)) * 65 + gzip.compress(healthy().encode())
    assert pauses_of(logs_of(written(tmp_path / "gc.log.1.gz", content))) == [200]


def test_zeros_without_any_text_have_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_files, "MOST_ZEROS", 20 << 20)
    path = written(tmp_path / "gc.log", bytes(25 << 20) + healthy().encode())
    with pytest.raises(
        ImportProblemError, match=r"no text in its first 2\d(\.\d+)? MiB, which are zero bytes"
    ):
        logs_of(path)


def test_bytes_with_zeros_that_are_no_text_are_binary(tmp_path: Path) -> None:
    path = written(tmp_path / "gc.log", bytes(range(256)) * 40)
    with pytest.raises(ImportProblemError, match="binary"):
        logs_of(path)


def test_text_of_two_bytes_a_character_is_named(tmp_path: Path) -> None:
    with pytest.raises(ImportProblemError, match="UTF-16"):
        logs_of(written(tmp_path / "gc.log", healthy().encode("utf-16")))


def test_ends_of_lines_of_windows(tmp_path: Path) -> None:
    text = healthy()
    logs = logs_of(written(tmp_path / "gc.log", text.replace("\n", "\r\n").encode()))
    assert (pauses_of(logs), logs.reading.unread) == ([200], 0)


def test_damage_costs_the_lines_that_it_hits(tmp_path: Path) -> None:
    chance = random.Random(3)
    lines = healthy().encode().splitlines(keepends=True)
    for number in (50, 100, 150):
        lines[number] = bytes(chance.choices(range(1, 256), k=60)).replace(b"\n", b"") + b"\n"
    logs = logs_of(written(tmp_path / "gc.log", b"".join(lines)))
    assert sum(pauses_of(logs)) == 197
    assert logs.reading.unread >= 3


def test_a_log_is_read_while_it_is_written(tmp_path: Path) -> None:
    path = written(tmp_path / "gc.log", healthy(50_000).encode())
    is_over = threading.Event()

    def write() -> None:
        with path.open("a") as file:
            for number in range(10**6):
                if is_over.is_set():
                    return
                file.write(f"[{60_000 + number}.000s][info][gc] GC({number}) Pause Young (Normal) (G1 Evac")
                file.flush()
                file.write("uation Pause) 500M->100M(1000M) 10.000ms\n")

    writer = threading.Thread(target=write)
    writer.start()
    try:
        [count] = pauses_of(logs_of(path))
    finally:
        is_over.set()
        writer.join()
    assert count >= 50_000


def test_jvms_are_named_by_their_files_and_lines(tmp_path: Path) -> None:
    """Two JVMs in a file, and one whose log is rotated."""
    both = written(tmp_path / "a.log", (healthy(10) + healthy(20)).encode())
    lines = healthy(60).splitlines(keepends=True)
    first = written(tmp_path / "b.log.0", "".join(lines[:30]).encode())
    second = written(tmp_path / "b.log.1", "".join(lines[30:]).encode())
    logs = logs_of(both, first, second)
    assert [jvm.source for jvm in logs.jvms] == ["a.log:1-11", "a.log:12-32", "b.log.0:1 … b.log.1:31"]
    assert [jvm.source for jvm in logs_of(both, first).jvms] == ["a.log:1-11", "a.log:12-32", "b.log.0"]
    assert [jvm.source for jvm in logs_of(first, second).jvms] == ["b.log.0, b.log.1"]


def test_a_file_that_is_named_twice_is_read_once(tmp_path: Path) -> None:
    path = written(tmp_path / "gc.log", healthy(10).encode())
    (tmp_path / "link.log").symlink_to(path)
    logs = logs_of(path, path, tmp_path / "link.log")
    assert pauses_of(logs) == [10]
    assert logs.reading.files == ("gc.log",)
    [remark] = logs.reading.remarks
    assert (remark.code, remark.arguments["files"]) == ("log-file.repeated", ["gc.log", "link.log"])


def test_two_logs_of_one_jvm_in_the_wrong_order(tmp_path: Path) -> None:
    first = written(tmp_path / "gc.log.0", healthy(10).encode())
    second = written(tmp_path / "gc.log.1", healthy(10, 100).partition("\n")[2].encode())
    logs = logs_of(second, first)
    assert pauses_of(logs) == [20]
    assert logs.reading.files == ("gc.log.0", "gc.log.1")
