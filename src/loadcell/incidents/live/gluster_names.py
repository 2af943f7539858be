"""Names on mounts of GlusterFS: a walk that is bounded in time and number."""

from __future__ import annotations

import os
import stat
import time
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from loadcell.incidents.evidence.base import Missing
from loadcell.incidents.evidence.gluster import GlusterNames, LostName
from loadcell.incidents.live.base import Gatherer, Host
from loadcell.incidents.live.directory_tree import DirectoryTree
from loadcell.incidents.live.gluster import Brick, host_id, is_used, volumes
from loadcell.linux import mount_answers, mount_table
from loadcell.linux.mount_table import Mount
from loadcell.linux.time_limits import UnavailableError
from loadcell.model.message import MessageCode
from loadcell.systems.gluster import name_hash

SKIPPED = MessageCode("doctor.live.gluster-mounts-skipped", "info", points=list)
_ANSWER_S: Final = 1.5
_WALK_S: Final = 1.2
_MOST_NAMES: Final = 50_000
#: Lost names whose bricks are looked for.
_MOST_LOCATED: Final = 50
#: Least time for the second reading of a directory.
_CONFIRM_S: Final = 0.2
_LAYOUT: Final = "trusted.glusterfs.dht"


class GlusterNamesGatherer(Gatherer):
    name = "gluster-names"
    gathers = (GlusterNames,)
    is_optional = True
    limit_s = 6.0

    def gather(self, host: Host) -> Iterable[GlusterNames | Missing]:
        mounts = [
            mount for mount in mount_table.read(host.root) if mount.type in ("fuse.glusterfs", "glusterfs")
        ]
        if not mounts:
            return
        answers = mount_answers.ask_after_others(mounts, _ANSWER_S)
        bricks = _bricks(host)
        skipped: list[str] = []
        for mount in mounts:
            answer = answers.by_point.get(mount.point)
            if answer is not None and not answer.error:
                walk = Walk(mount, bricks.get(_volume(mount), Bricks()))
                walk.run(time.monotonic() + _WALK_S / len(mounts))
                yield walk.evidence()
            else:
                skipped.append(mount.point)
        if skipped:
            yield Missing(GlusterNames, SKIPPED(points=skipped))


def _volume(mount: Mount) -> str:
    """`server:/volume` or `server:volume`."""
    return mount.source.rpartition(":")[2].strip("/").partition("/")[0]


@dataclass(frozen=True)
class Bricks:
    """Bricks of a volume: those whose directories are on this host, and others."""

    local: tuple[Brick, ...] = ()
    others: tuple[Brick, ...] = ()


def _bricks(host: Host) -> dict[str, Bricks]:
    """Bricks by volume."""
    if not is_used(host):
        return {}
    with ThreadPoolExecutor(1) as pool:
        host_answer = pool.submit(_host_id)
        try:
            all_volumes = volumes()
        except UnavailableError:
            all_volumes = []
        this_host = host_answer.result()
    return {volume.name: divided(volume.bricks, this_host) for volume in all_volumes}


def _host_id() -> str:
    try:
        return host_id()
    except UnavailableError:
        return ""


def divided(bricks: Iterable[Brick], this_host: str) -> Bricks:
    """Bricks of this host by its UUID in the pool: another host may have a directory of the same path."""
    local: list[Brick] = []
    others: list[Brick] = []
    for brick in bricks:
        is_local = bool(this_host) and brick.host_id == this_host and (brick.path / ".glusterfs").is_dir()
        (local if is_local else others).append(brick)
    return Bricks(tuple(local), tuple(others))


@dataclass
class Walk:
    """A walk over the tree of a mount, those above first."""

    mount: Mount
    bricks: Bricks = Bricks()
    tree: DirectoryTree = field(default_factory=DirectoryTree)
    names: int = 0
    directories: int = 0
    doubled: list[str] = field(default_factory=list)
    without_mode: list[str] = field(default_factory=list)
    lost: list[LostName] = field(default_factory=list)
    is_all: bool = True

    def run(self, deadline: float) -> None:
        """Walk until the deadline, or until there are many names."""
        waiting = deque([""])
        while waiting:
            if self._is_over(deadline):
                return
            waiting.extend(self._directory(waiting.popleft(), deadline))

    def evidence(self) -> GlusterNames:
        """The names so far."""
        return GlusterNames(
            self.mount.point,
            self.names,
            self.directories,
            tuple(self.doubled),
            tuple(self.without_mode),
            tuple(self.lost),
            self.is_all,
        )

    def _is_over(self, deadline: float) -> bool:
        """True after the deadline, or when there are many names: the tree is then not complete."""
        if time.monotonic() <= deadline and self.names < _MOST_NAMES:
            return False
        self.is_all = False
        return True

    def _directory(self, path: str, deadline: float) -> list[str]:
        """Look at the names of a directory; those that are directories."""
        self.directories += 1
        counts: Counter[str] = Counter()
        errors: dict[str, OSError] = {}
        below: list[str] = []
        try:
            for name in self._names(path):
                if self._is_over(deadline):
                    break
                self.names += 1
                counts[name] += 1
                if counts[name] > 1:
                    continue
                try:
                    status = self.tree.status(f"{self.mount.point}/{_joined(path, name)}")
                except OSError as error:
                    errors[name] = error
                    continue
                if stat.S_ISDIR(status.st_mode):
                    below.append(_joined(path, name))
                    if not stat.S_IMODE(status.st_mode) and status.st_uid == 0:
                        self.without_mode.append(below[-1])
        except FileNotFoundError:  # another client removed it meanwhile
            pass
        except OSError:
            self.is_all = False
        if errors or len(counts) < counts.total():
            self._confirm(path, counts, errors, max(deadline, time.monotonic() + _CONFIRM_S))
        return below

    def _confirm(self, path: str, counts: Counter[str], errors: dict[str, OSError], deadline: float) -> None:
        """Add doubled and lost names that a second reading shows, too: other clients may rename files."""
        again: Counter[str] = Counter()
        try:
            for name in self._names(path):
                if time.monotonic() > deadline or again.total() > _MOST_NAMES:
                    self.is_all = False
                    break
                again[name] += 1
        except OSError:
            self.is_all = False
        self.doubled += [_joined(path, name) for name, count in counts.items() if min(count, again[name]) > 1]
        for name, error in errors.items():
            if name in again:
                self.lost.append(self._lost(path, name, error))

    def _names(self, path: str) -> Iterator[str]:
        """Names of a directory, as it is read. Raises OSError."""
        return self.tree.names(f"{self.mount.point}/{path}")

    def _lost(self, path: str, name: str, error: OSError) -> LostName:
        below = _joined(path, name)
        if len(self.lost) >= _MOST_LOCATED:
            return LostName(below, error.strerror or str(error))
        number = name_hash.name_hash(os.fsencode(name))
        local = self.bricks.local
        return LostName(
            below,
            error.strerror or str(error),
            tuple(brick.location for brick in local if self.tree.exists(str(brick.path / below))),
            tuple(brick.location for brick in local if self._is_hashed(brick.path / path, number)),
            tuple(brick.location for brick in self.bricks.others),
        )

    def _is_hashed(self, directory: Path, number: int) -> bool:
        """True if a brick has the range of hashes of a directory in which the number is."""
        try:
            span = name_hash.layout(self.tree.attribute(str(directory), _LAYOUT))
        except OSError:
            return False
        return span is not None and span[0] <= number <= span[1]


def _joined(path: str, name: str) -> str:
    return f"{path}/{name}" if path else name


PART = GlusterNamesGatherer
