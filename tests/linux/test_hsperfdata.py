"""Reading hsperfdata: files of all kinds, and those that are none."""

from __future__ import annotations

import os
import random
import struct
from collections.abc import Mapping
from pathlib import Path

import pytest

from loadcell.linux.hsperfdata import PerfDataFile, UnknownFormatError, entries, opened

OWNERS = (os.getuid(),)


def file_of(
    values: Mapping[str, int | str],
    *,
    order: str = "<",
    version: tuple[int, int] = (2, 0),
    accessible: int = 1,
) -> bytes:
    """A file with these counters."""
    written = bytearray()
    for name, value in values.items():
        text = name.encode() + b"\0"
        data_at = -(-(20 + len(text)) // 8) * 8
        data = struct.pack(f"{order}q", value) if isinstance(value, int) else value.encode().ljust(16, b"\0")
        kind, vector = (ord("J"), 0) if isinstance(value, int) else (ord("B"), 16)
        head = struct.pack(f"{order}iiiBBBBi", data_at + len(data), 20, vector, kind, 0, 1, 3, data_at)
        written += (head + text).ljust(data_at, b"\0") + data
    head = b"\xca\xfe\xc0\xc0" + bytes([order == "<", *version, accessible])
    head += struct.pack(f"{order}iiqii", 32 + len(written), 0, len(values), 32, len(values))
    return head + bytes(written)


@pytest.mark.parametrize("order", ["<", ">"])
def test_numbers_and_texts_in_the_order_asked_for(tmp_path: Path, order: str) -> None:
    path = tmp_path / "1"
    path.write_bytes(file_of({"a.b": 7, "cause": "No GC", "c": -1}, order=order))
    file = PerfDataFile(str(path), OWNERS, ("c", "none", "a.b"), ("cause",))
    reading = file.read()
    assert reading is not None
    assert (*reading[:3], file.text(reading[3])) == (-1, None, 7, "No GC")
    file.close()
    file = PerfDataFile(str(path), OWNERS, ("cause", "c"), ("a.b",))
    assert file.read() == (None, -1, None), "a text is no number, and a number no text"
    file.close()


def test_a_change_of_the_entries_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "1"
    path.write_bytes(file_of({"a": 1}))
    file = PerfDataFile(str(path), OWNERS, ("a", "b"))
    assert file.read() == (1, None)
    with path.open("r+b") as written:
        written.write(file_of({"c": 5, "a": 2, "b": 3}))
    assert file.read() == (2, 3)
    file.close()


def test_a_file_that_the_jvm_still_makes_has_no_values(tmp_path: Path) -> None:
    path = tmp_path / "1"
    path.write_bytes(file_of({"a": 1}, accessible=0))
    file = PerfDataFile(str(path), OWNERS, ("a", "b"))
    assert file.read() is None
    with path.open("r+b") as written:
        written.write(file_of({"a": 1}))
    assert file.read() == (1, None)
    file.close()


def test_an_unknown_version_is_named(tmp_path: Path) -> None:
    path = tmp_path / "1"
    path.write_bytes(file_of({"a": 1}, version=(3, 1)))
    file = PerfDataFile(str(path), OWNERS, ("a",))
    with pytest.raises(UnknownFormatError) as caught:
        file.read()
    assert caught.value.version == "3.1"
    file.close()


@pytest.mark.parametrize("content", [b"", b"\xca\xfe", b"no counters at all" * 10])
def test_another_file_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "1"
    path.write_bytes(content)
    file = PerfDataFile(str(path), OWNERS, ("a",))
    with pytest.raises(UnknownFormatError):
        file.read()
    file.close()


def test_a_file_that_became_shorter_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "1"
    path.write_bytes(file_of({"a": 1, "b": 2}))
    file = PerfDataFile(str(path), OWNERS, ("a", "b"))
    file.read()
    with path.open("r+b") as written:
        written.truncate(40)
    with pytest.raises(UnknownFormatError):
        file.read()
    file.close()


def test_damage_never_does_more_than_hide_values() -> None:
    chance = random.Random(7)
    sound = file_of({f"counter.{number}": number for number in range(20)} | {"cause": "x"})
    for _ in range(3_000):
        damaged = bytearray(sound[: chance.randrange(33, len(sound) + 1)])
        for _ in range(chance.randrange(1, 6)):
            damaged[chance.randrange(8, len(damaged))] = chance.randrange(256)
        for entry in entries(bytes(damaged)).values():
            assert entry.offset + (entry.length or 8) <= len(damaged)


def test_only_a_regular_file_of_the_right_user_is_opened(tmp_path: Path) -> None:
    regular, link, fifo = (tmp_path / name for name in ("regular", "link", "fifo"))
    regular.write_bytes(file_of({"a": 1}))
    link.symlink_to(regular)
    os.mkfifo(fifo)
    os.close(opened(str(regular), OWNERS))
    for path in (link, fifo, tmp_path):
        with pytest.raises(OSError, match=path.name):
            opened(str(path), OWNERS)
    with pytest.raises(PermissionError):
        opened(str(regular), [os.getuid() + 1])
