"""A GlusterFS volume that rehearsals damage: two hosts in namespaces of this machine, two pairs of bricks.

Each host mounts it, too, and `loadcell doctor --live` examines each host. It uses the hosts of loadcell, and
thus the Python that has loadcell (`loadcell_python.py`).
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from doctor import diagnoses, examination

from loadcell.model.message import MessageError
from loadcell.systems.gluster.options import GlusterOptions
from loadcell.systems.gluster.storage import Gluster, unmet
from loadcell.systems.gluster.volume import NAME, Brick

#: The directory of the volume in which names are damaged.
DIRECTORY = "data"
_LIMIT_S = 60.0
_TRIES = 3


@dataclass(frozen=True)
class Examination:
    """Incidents of GlusterFS that the doctor names on a host, those that it examined, and its duration."""

    host: int
    diagnoses: tuple[dict[str, Any], ...]
    examined: frozenset[str]
    tries: int
    duration_s: float

    def lines(self, incident: str) -> list[str]:
        """Lines of evidence of an incident."""
        return [
            line["text"] for item in self.diagnoses if item["incident"] == incident for line in item["lines"]
        ]


class DamagedVolume:
    """The volume, its files with their contents, and the commands of its operator."""

    def __init__(self, storage: Gluster, files: int) -> None:
        self.storage = storage
        self.bricks = storage.volume.bricks
        self.home = storage.mount / DIRECTORY
        self.contents = {f"file-{number}": f"contents of {number}\n" for number in range(files)}
        self.home.mkdir()
        for name, text in self.contents.items():
            (self.home / name).write_text(text)

    @property
    def pairs(self) -> tuple[Sequence[Brick], Sequence[Brick]]:
        """Bricks with the same files."""
        return self.bricks[:2], self.bricks[2:]

    def pair_of(self, name: str) -> Sequence[Brick]:
        """The bricks that hold a file."""
        (pair,) = (pair for pair in self.pairs if all((path / name).exists() for path in _homes(pair)))
        return pair

    def gluster(self, *words: str) -> str:
        """Output of a command of the volume's management. Exits where it fails."""
        return self.inside(1, "gluster", "--mode=script", *words)

    def volume(self, command: str, *words: str) -> None:
        """A command on the volume, again where another one has its lock."""
        self.storage.volume.command_line.ask_again("volume", command, NAME, *words)

    def inside(self, host: int, *words: str) -> str:
        """Output of a command on a host. Exits where it fails."""
        command = self.storage.hosts.inside(host, words)
        done = subprocess.run(command, capture_output=True, text=True, timeout=_LIMIT_S, check=False)
        if done.returncode:
            sys.exit(f"{' '.join(words)}: {done.stdout}{done.stderr}")
        return done.stdout

    def await_connection(self) -> None:
        """Wait until the client is connected to all bricks."""
        self.storage.volume.await_client()

    def examine(self, hosts: Sequence[int], incident: str) -> list[Examination]:
        """Diagnoses of the doctor on hosts, by a new mount of each: an old one remembers attributes.

        The mount reads names without their attributes, as clients do that ask for each file. An examination
        that reached its limit before the incident is repeated.
        """
        results = []
        for host in hosts:
            with self.mounted(host) as point:
                for tries in range(1, _TRIES + 1):  # noqa: B007 - the last number is used
                    begin = time.monotonic()
                    document = examination("--live", inside=self.storage.hosts.inside(host, []))
                    duration_s = time.monotonic() - begin
                    examined = _examined(document, (point, NAME))
                    if incident in examined or not incident:
                        break
            named = tuple(item for item in diagnoses(document) if _is_of(item, point))
            results.append(Examination(host, named, examined, tries, duration_s))
        return results

    @contextmanager
    def mounted(self, host: int) -> Iterator[str]:
        """A new mount on a host."""
        point = self.storage.directory / f"mount-{host}"
        point.mkdir(exist_ok=True)
        source = f"10.91.0.{host}:/{NAME}"
        self.inside(host, "mount", "-t", "glusterfs", "-o", "use-readdirp=no", source, str(point))
        try:
            yield str(point)
        finally:
            self.inside(host, "umount", "-l", str(point))

    def intact(self) -> float:
        """The share of the files whose names are there once, and whose contents are right."""
        names = [path.name for path in self.home.iterdir()]
        right = sum(
            names.count(name) == 1 and _text(self.home / name) == text for name, text in self.contents.items()
        )
        return right / len(self.contents)


def _is_of(item: dict[str, Any], point: str) -> bool:
    values = item["values"]
    return bool(values.get("mount") == point or values.get("volume") == NAME)


def _examined(document: dict[str, Any], sources: tuple[str, ...]) -> frozenset[str]:
    """Incidents that were diagnosed, or that these sources do not show."""
    return frozenset(
        item["incident"]
        for subject in document["subjects"]
        if subject["source"] in sources
        for part in ("diagnoses", "healthy")
        for item in subject[part]
    )


def _homes(bricks: Sequence[Brick]) -> list[Path]:
    return [brick.path / DIRECTORY for brick in bricks]


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""


def link_of(brick: Brick, name: str) -> Path:
    """The hard link by which GlusterFS finds a file of a brick."""
    number = os.getxattr(brick.path / DIRECTORY / name, "trusted.gfid").hex()
    parts = (number[:8], number[8:12], number[12:16], number[16:20], number[20:])
    return brick.path / ".glusterfs" / number[:2] / number[2:4] / "-".join(parts)


@contextmanager
def made(directory: Path, files: int) -> Iterator[DamagedVolume]:
    """A new volume with files. Exits where this machine cannot have one."""
    if (missing := unmet()) is not None:
        sys.exit(missing.text)
    storage = Gluster(GlusterOptions(hosts=2, bricks=2, replica=2), directory, lambda _: None, lambda _: None)
    try:
        storage.make()
        yield DamagedVolume(storage, files)
    except MessageError as error:
        sys.exit(str(error))
    finally:
        storage.remove()
