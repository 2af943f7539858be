"""Comparison of all files in a directory with what the clients of a load know of them.

The engine's crate `files` writes the files and the lists: a file `f<number>-<generation>` begins with its
number (8 bytes, little-endian), its version (4) and the CRC-32 of these and all later bytes (4).
"""

from __future__ import annotations

import os
import stat
import struct
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

_HEADER = struct.Struct("<QII")
_MODE = stat.S_IFREG | 0o600
#: Least type and permissions of a directory.
_FOLDER_MODE = stat.S_IFDIR | stat.S_IRWXU
_CHUNK = 1 << 20

#: Conditions of the comparison, in the order in which the first violation is reported.
CONDITIONS = (
    "missing == 0",
    "listed_twice == 0",
    "two_names == 0",
    "deleted_but_listed == 0",
    "wrong_mode == 0",
    "wrong_directory_mode == 0",
    "wrong_size == 0",
    "wrong_checksum == 0",
    "old_version == 0",
    "unreadable == 0",
    "clients_without_end == 0",
)
#: Violated by a file system whose files are intact, and measured as planned.
_HARMLESS = frozenset({"wrong_directory_mode == 0"})


@dataclass(frozen=True)
class Expected:
    """State of a file as its client knows it; `state` is a word of the engine's list."""

    generation: int
    version: int
    size: int
    state: str


@dataclass
class _Violations:
    counts: Counter[str] = field(default_factory=Counter)
    examples: dict[str, str] = field(default_factory=dict)

    def add(self, name: str, example: str) -> None:
        self.counts[f"{name} == 0"] += 1
        self.examples.setdefault(f"{name} == 0", example)


def compare(directory: Path, lists: Path) -> list[tuple[str, int, str, bool]]:
    """Each condition with the number of its violations, the first of them, and whether they invalidate the
    trial. Raises OSError.
    """
    violations = _Violations()
    expected = _expected(lists, violations)
    folders = _folders(directory)
    _compare_folders(directory, folders, violations)
    listed = _listed(directory, sorted(folders))
    for number, names in sorted(listed.items()):
        entry = expected.get(number)
        for name, count in sorted(names.items()):
            if count > 1:
                violations.add("listed_twice", f"{name}, {count} times")
        if len(names) > 1 and (entry is None or entry.state != "unknown"):
            violations.add("two_names", " and ".join(sorted(names)))
        if entry is not None and entry.state == "gone":
            violations.add("deleted_but_listed", min(names))
            continue
        for name in sorted(names):
            _compare_file(directory / name, name, number, entry, violations)
    for number, entry in sorted(expected.items()):
        if entry.state in ("there", "changed"):
            name = f"f{number}-{entry.generation}"
            if all(listing.rpartition("/")[2] != name for listing in listed.get(number, ())):
                violations.add("missing", name)
    return [
        (name, violations.counts[name], violations.examples.get(name, ""), name not in _HARMLESS)
        for name in CONDITIONS
    ]


def _expected(lists: Path, violations: _Violations) -> dict[int, Expected]:
    """The files in the lists of all clients by number."""
    files: dict[int, Expected] = {}
    for path in sorted(lists.iterdir()):
        lines = path.read_text().splitlines()
        if not lines or lines[-1] != "end":
            violations.add("clients_without_end", path.name)
            continue
        for line in lines[:-1]:
            number, generation, version, size, state = line.split()
            files[int(number)] = Expected(int(generation), int(version), int(size), state)
    return files


def _folders(directory: Path) -> Counter[str]:
    """Number of times that each directory of files is listed."""
    with os.scandir(directory) as items:
        return Counter(item.name for item in items)


def _compare_folders(directory: Path, folders: Counter[str], violations: _Violations) -> None:
    """Names, owner and permissions of the directories."""
    for folder, count in sorted(folders.items()):
        if count > 1:
            violations.add("listed_twice", f"{folder}, {count} times")
        status = (directory / folder).lstat()
        if status.st_uid != os.geteuid() or status.st_mode & _FOLDER_MODE != _FOLDER_MODE:
            violations.add(
                "wrong_directory_mode", f"{folder}: {stat.filemode(status.st_mode)}, owner {status.st_uid}"
            )


def _listed(directory: Path, folders: list[str]) -> dict[int, Counter[str]]:
    """Number of times that each name is listed, with its directory, by the number of the file."""
    files: defaultdict[int, Counter[str]] = defaultdict(Counter)
    for folder in folders:
        with os.scandir(directory / folder) as entries:
            for item in entries:
                number, _, generation = item.name.removeprefix("f").partition("-")
                if item.name.startswith("f") and number.isdigit() and generation.isdigit():
                    files[int(number)][f"{folder}/{item.name}"] += 1
    return files


def _compare_file(
    path: Path, name: str, number: int, entry: Expected | None, violations: _Violations
) -> None:
    """Mode, size and contents of a listed file."""
    try:
        status = path.lstat()
        if status.st_mode != _MODE:
            violations.add("wrong_mode", f"{name}: {stat.filemode(status.st_mode)}")
        if not stat.S_ISREG(status.st_mode):
            return  # reading a pipe or a device could take forever
        is_certain = entry is not None and entry.state == "there"
        if entry is not None and is_certain and status.st_size != entry.size:
            violations.add("wrong_size", f"{name}: {status.st_size} instead of {entry.size} bytes")
            return
        if entry is not None and not is_certain:
            return  # a failed call may have left anything
        version = _version(path, number)
    except OSError as error:
        violations.add("unreadable", f"{name}: {error.strerror}")
        return
    if version is None:
        violations.add("wrong_checksum", name)
    elif entry is not None and version != entry.version:
        violations.add("old_version", f"{name}: {version} instead of {entry.version}")


def _version(path: Path, number: int) -> int | None:
    """Version of an intact file; None if its contents are not those that were written to it."""
    with path.open("rb") as file:
        header = file.read(_HEADER.size)
        if len(header) < _HEADER.size:
            return None
        stored, version, checksum = _HEADER.unpack(header)
        calculated = zlib.crc32(header[:12])
        for chunk in _chunks(file):
            calculated = zlib.crc32(chunk, calculated)
    return version if stored == number and calculated == checksum else None


def _chunks(file: BinaryIO) -> Iterator[bytes]:
    while chunk := file.read(_CHUNK):
        yield chunk
