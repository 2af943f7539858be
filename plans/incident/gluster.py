"""Damage a GlusterFS volume, examine it, apply the remedy of the doctor, and examine it again.

Run by root, with GlusterFS and /dev/fuse, by the Python that has loadcell (`loadcell_python.py`), with the
seconds after which it gives up. INCIDENT is a name of the doctor without `gluster-`, or none; DAMAGED is the
number of damaged names.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from gluster_volume import DIRECTORY, DamagedVolume, Examination, link_of, made

from loadcell.systems.gluster.volume import NAME, Brick

FILES = 40
#: Of a reconnection of clients, or of a release of files, beyond what commands show.
_SETTLING_S = 1.0
#: A pair of bricks whose directory has this attribute gives owner and mode to the others.
_SOURCE_OF_MODES = "trusted.glusterfs.dht.mds"
_HEALING = ("cluster.self-heal-daemon", "cluster.data-self-heal", "cluster.metadata-self-heal",
            "cluster.entry-self-heal")  # fmt: skip
_LOST = re.compile(r"(?P<path>.*?): .*; on (?P<holders>.*?); hash: (?P<hashed>[^;]*)")


class Rehearsal:
    """A healthy volume: nothing is damaged."""

    incident = ""
    #: hosts on which the doctor examines the volume
    hosts: Sequence[int] = (1,)

    def __init__(self, volume: DamagedVolume, count: int) -> None:
        self.volume = volume
        self.names = [name for name in volume.contents if volume.pair_of(name) == volume.pairs[1]][:count]
        #: what the doctor saw before the remedy
        self.before: list[Examination] = []

    def damage(self) -> None:
        """Make the incident of the files `names`."""

    def named(self) -> set[str]:
        """Names that the doctor reports as damaged."""
        lines = [line for examination in self.before for line in examination.lines(self.incident)]
        return {Path(line).name for line in lines}

    def remedy(self) -> None:
        """Do what the doctor advises."""

    def restored(self) -> float:
        """The share of other properties than contents that are right after the remedy."""
        return 1.0


class DoubledNames(Rehearsal):
    """Bricks are removed, some files are restored from a backup, and the old bricks are added again."""

    incident = "gluster-doubled-names"

    def damage(self) -> None:
        self._remove()
        for name in self.names:
            self.volume.contents[name] = "restored\n"
            (self.volume.home / name).write_text("restored\n")
        self._add()

    def remedy(self) -> None:
        volume = self.volume
        new, old = (_names(pair[0].path / DIRECTORY) for pair in volume.pairs)
        saved = {name: (volume.home / name).read_text() for name in old - new}
        self._remove()
        for brick in volume.pairs[1]:
            shutil.rmtree(brick.path)  # with `.glusterfs` and the attributes
        self._add()
        for name, text in saved.items():
            (volume.home / name).write_text(text)

    def _remove(self) -> None:
        self.volume.volume("remove-brick", *self._old, "force")
        self.volume.await_connection()

    def _add(self) -> None:
        self.volume.volume("add-brick", *self._old, "force")
        self.volume.await_connection()

    @property
    def _old(self) -> list[str]:
        return [brick.location for brick in self.volume.pairs[1]]


class LostModes(Rehearsal):
    """Directories lose owner and mode on a pair of bricks, and GlusterFS itself gives that to the others."""

    incident = "gluster-lost-modes"

    def damage(self) -> None:
        self.names = [f"directory-{number}" for number in range(len(self.names))]
        self._modes = {}
        for number, name in enumerate(self.names):
            path = self.volume.home / name
            path.mkdir()
            self._modes[name] = (1000 + number, 0o750)
            os.chown(path, 1000 + number, 1000 + number)
            path.chmod(0o750)
            for brick in self._sources(name):
                os.chown(brick.path / DIRECTORY / name, 0, 0)
                (brick.path / DIRECTORY / name).chmod(0)

    def remedy(self) -> None:
        words = ("find", str(self.volume.home), "-type", "d", "-uid", "0", "-perm", "0000", "-print")
        done = subprocess.run(words, capture_output=True, text=True, check=True)
        for path in map(Path, done.stdout.splitlines()):
            owner, mode = self._modes[path.name]
            os.chown(path, owner, owner)
            path.chmod(mode)

    def restored(self) -> float:
        paths = {
            brick.path / DIRECTORY / name: modes
            for name, modes in self._modes.items()
            for brick in self.volume.bricks
        }
        right = sum(
            (path.stat().st_uid, path.stat().st_mode & 0o7777) == expected for path, expected in paths.items()
        )
        return right / len(paths)

    def _sources(self, name: str) -> list[Brick]:
        bricks = self.volume.bricks
        return [brick for brick in bricks if _SOURCE_OF_MODES in os.listxattr(brick.path / DIRECTORY / name)]


class LostNames(Rehearsal):
    """Files were moved by hand to bricks to which the hash of their names does not lead."""

    incident = "gluster-lost-names"
    hosts = (1, 2)

    def damage(self) -> None:
        self._hashed = {name: self.volume.pair_of(name) for name in self.names}
        for name in self.names:
            for holder, other in zip(*reversed(self.volume.pairs), strict=True):
                path = holder.path / DIRECTORY / name
                link = link_of(holder, name)
                subprocess.run(("cp", "-a", path, other.path / DIRECTORY / name), check=True)
                link.unlink()
                path.unlink()
        self._holders = {name: self.volume.pair_of(name) for name in self.names}

    def named(self) -> set[str]:
        """Names whose bricks are stated rightly: those that hold the file, and those of its hash."""
        return {
            name
            for name, places in self._located().items()
            if places == (_locations(self._holders[name]), _locations(self._hashed[name]))
        }

    def remedy(self) -> None:
        bricks = {brick.location: brick for brick in self.volume.bricks}
        for name, (holders, _) in self._located().items():
            named = [bricks[location] for location in sorted(holders)]
            text = (named[0].path / DIRECTORY / name).read_text()
            for brick in named:
                link_of(brick, name).unlink(missing_ok=True)
                (brick.path / DIRECTORY / name).unlink()
            (self.volume.home / name).write_text(text)

    def restored(self) -> float:
        right = sum(self.volume.pair_of(name) == pair for name, pair in self._hashed.items())
        return float(right / len(self._hashed))

    def _located(self) -> dict[str, tuple[set[str], set[str]]]:
        """Bricks that hold a file, and those of its hash, by name: each host knows its own."""
        located: dict[str, tuple[set[str], set[str]]] = {}
        for examination in self.before:
            for line in examination.lines(self.incident):
                if match := _LOST.match(line):
                    parts = located.setdefault(Path(match["path"]).name, (set(), set()))
                    for part, text in zip(parts, (match["holders"], match["hashed"]), strict=True):
                        part |= set(text.split(", ")) - {"?"}
        return located


class SplitBrain(Rehearsal):
    """Each copy of a file is changed while the other brick is down, and nothing heals meanwhile."""

    incident = "gluster-split-brain"

    def damage(self) -> None:
        volume = self.volume
        for option in _HEALING:
            volume.volume("set", option, "off")
        for brick in volume.pairs[1]:
            volume.storage.hosts.end(volume.storage.volume.brick_processes(brick))
            time.sleep(_SETTLING_S)
            for name in self.names:
                volume.contents[name] = f"written without {brick.location}\n"
                (volume.home / name).write_text(volume.contents[name])
            volume.volume("start", "force")
            volume.await_connection()
            time.sleep(_SETTLING_S)
        for option in _HEALING:
            volume.volume("reset", option)

    def named(self) -> set[str]:
        links = {link_of(self.volume.pairs[1][0], name).name: name for name in self.names}
        named = (entry.removeprefix("<gfid:").removesuffix(">") for entry in super().named())
        return {links.get(entry, entry) for entry in named}

    def remedy(self) -> None:
        good = self.volume.pairs[1][0].location  # its copy was written last
        for name in sorted(self.named()):
            path = f"/{DIRECTORY}/{name}"
            self.volume.gluster("volume", "heal", NAME, "split-brain", "source-brick", good, path)
        self.volume.gluster("volume", "heal", NAME)


class NegativeCounter(Rehearsal):
    """Statistics are cleared while files are open, which are closed afterwards."""

    incident = "gluster-negative-counter"

    def damage(self) -> None:
        volume = self.volume
        files = [(volume.home / name).open() for name in self.names]
        time.sleep(_SETTLING_S)
        self.volume.gluster("volume", "top", NAME, "clear")
        for file in files:
            file.close()
        time.sleep(_SETTLING_S)
        self.names = [brick.location for brick in volume.pairs[1]]

    def named(self) -> set[str]:
        diagnoses = [item for examination in self.before for item in examination.diagnoses]
        return {
            brick
            for item in diagnoses
            if item["incident"] == self.incident
            for brick in item["values"]["bricks"]
        }

    def remedy(self) -> None:
        for brick in self.volume.pairs[1]:
            self.volume.storage.hosts.end(self.volume.storage.volume.brick_processes(brick))
        self.volume.volume("start", "force")
        self.volume.await_connection()


REHEARSALS = {kind.incident.removeprefix("gluster-") or "none": kind for kind in (
    Rehearsal, DoubledNames, LostModes, LostNames, SplitBrain, NegativeCounter,
)}  # fmt: skip


def _names(directory: Path) -> set[str]:
    return {path.name for path in directory.iterdir()}


def _locations(bricks: Sequence[Brick]) -> set[str]:
    return {brick.location for brick in bricks}


def rehearse(kind: type[Rehearsal], volume: DamagedVolume, count: int) -> dict[str, float]:
    """Metrics of a rehearsal."""
    begin = time.monotonic()
    rehearsal = kind(volume, count)
    rehearsal.damage()
    damaged_at = time.monotonic()
    rehearsal.before = before = volume.examine(rehearsal.hosts, kind.incident)
    delay_s = time.monotonic() - damaged_at
    rehearsal.remedy()
    after = volume.examine(rehearsal.hosts, kind.incident)
    duration_s = time.monotonic() - begin
    incidents = {item["incident"] for examination in before for item in examination.diagnoses}
    damaged = set(rehearsal.names) if rehearsal.incident else set()
    not_examined = sum(kind.incident not in {"", *examination.examined} for examination in after)
    return {
        "examinations": len(before) + len(after),
        "examinations per second": (len(before) + len(after)) / duration_s,
        "recognised": len(rehearsal.named() & damaged) / max(1, len(damaged)),
        "others": len(incidents - {rehearsal.incident}),
        "gone": float(not any(examination.diagnoses for examination in after) and not not_examined),
        "not examined": not_examined,
        "repeated": sum(examination.tries - 1 for examination in (*before, *after)),
        "intact": min(volume.intact(), rehearsal.restored()),
        "delay": delay_s,
        "examination": max(examination.duration_s for examination in (*before, *after)),
    }


def end_after(limit_s: int) -> None:
    """Exit after this time; the volume is removed."""

    def end(*_: object) -> None:
        sys.exit(f"the rehearsal did not end within {limit_s} s")

    signal.signal(signal.SIGALRM, end)
    signal.alarm(limit_s)


def main() -> None:
    """Print the metrics of the plan."""
    name = os.environ.get("INCIDENT", "none")
    if name not in REHEARSALS:
        sys.exit(f"INCIDENT is {name}: use one of {', '.join(REHEARSALS)}")
    end_after(int(sys.argv[1]))
    with made(Path.cwd() / "volume", FILES) as volume:
        metrics = rehearse(REHEARSALS[name], volume, int(os.environ.get("DAMAGED", "3")))
    for metric, value in metrics.items():
        print(f"{metric}: {value:.4g}")


if __name__ == "__main__":
    main()
