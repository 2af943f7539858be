"""GlusterFS as storage of a run: a volume on hosts in namespaces, mounted in the run's work directory."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from loadcell.linux import mounts
from loadcell.model.message import Message, MessageCode, Seconds
from loadcell.plan.parts import Misfit
from loadcell.systems.base import TargetError
from loadcell.systems.gluster.command_line import CommandError
from loadcell.systems.gluster.hosts import Hosts
from loadcell.systems.gluster.options import GlusterOptions
from loadcell.systems.gluster.probe import ManagementProbe
from loadcell.systems.gluster.subjects import abilities, subject
from loadcell.systems.gluster.volume import NAME, Volume
from loadcell.systems.shared.account import environment
from loadcell.systems.shared.storage import Storage, StorageFacts, StorageKind
from loadcell.systems.subjects import Subject, SubjectAbilities

NEEDS_ROOT = MessageCode("gluster.needs-root")
NO_PROGRAM = MessageCode("gluster.no-program", programs=list)
NO_FUSE = MessageCode("gluster.no-fuse")
MADE_AGAIN = MessageCode("gluster.made-again", "info")
HEALING = MessageCode("gluster.healing", "info", duration_s=Seconds)

_PROGRAMS = ("glusterd", "gluster", "glusterfs", "glusterfsd", "ip", "nsenter")
_PATH = "/usr/sbin:/usr/bin:/sbin:/bin"
_FUSE = Path("/dev/fuse")
#: Waits for a heal that are worth a line for the user.
_LONG_HEAL_S = 2.0


@dataclass(frozen=True)
class GlusterKind(StorageKind):
    """Questions about GlusterFS with these options."""

    options: GlusterOptions

    def misfits(self) -> Iterator[Misfit]:
        if (missing := unmet()) is not None:
            yield Misfit("", missing)

    def subject_abilities(self) -> Mapping[str, SubjectAbilities]:
        return abilities(self.options)


def unmet() -> Message | None:
    """The first need of GlusterFS that this machine does not meet."""
    if os.geteuid() != 0:
        return NEEDS_ROOT()
    missing = [name for name in _PROGRAMS if shutil.which(name, path=_PATH) is None]
    if missing:
        return NO_PROGRAM(programs=missing)
    return None if _FUSE.exists() else NO_FUSE()


class Gluster(Storage):
    """The volume of `options`; everything of it is below `directory`. `note` tells the user something."""

    def __init__(
        self,
        options: GlusterOptions,
        directory: Path,
        log: Callable[[str], None],
        note: Callable[[Message], None],
    ) -> None:
        directory = directory.resolve()
        self.options = options
        self.directory = directory
        self.hosts = Hosts(directory, options.hosts, directory / "mount")
        self.volume = Volume(options, self.hosts, directory / "mount", log)
        self._note = note
        self._facts: StorageFacts | None = None

    @property
    def mount(self) -> Path:
        return self.volume.mount

    def make(self) -> bool:
        if self.volume.changed:
            self._note(MADE_AGAIN())
            self.remove()
        self.volume.rebalanced = False
        try:
            self._make_volume()
        except CommandError:
            if not self.volume.incomplete:
                raise
            self.remove()  # a change of the pool that was not answered blocks all others for minutes
            self._make_volume()
        mounted = self.volume.make_mount()
        self.volume.await_client()
        healed_s = self.volume.await_heal()
        if healed_s > _LONG_HEAL_S:
            self._note(HEALING(duration_s=healed_s))
        return mounted

    def _make_volume(self) -> None:
        """Make the hosts and the volume, where they are not there."""
        if not self.hosts.running:
            if (missing := unmet()) is not None:
                raise TargetError(missing)
            mounts.detach_below(self.directory)
            self.hosts.start()
        self.volume.make()

    def subject(self, name: str) -> Subject:
        return subject(self.volume, name)

    def processes(self) -> list[int]:
        return self.hosts.roots()

    def management(self) -> Mapping[str, Callable[[], None]]:
        return ManagementProbe(self.volume).operations

    def facts(self) -> StorageFacts:
        if self._facts is None:  # a fault may have ended what tells them
            self._facts = self._read_facts()
        return self._facts

    def _read_facts(self) -> StorageFacts:
        info = self.volume.command_line.ask("volume", "info", NAME)
        options = {
            option.findtext("name") or "": option.findtext("value") or "" for option in info.iter("option")
        }
        return StorageFacts(
            "gluster",
            "GlusterFS",
            _version(),
            info.findtext(".//typeStr") or "",
            self.options.hosts,
            int(info.findtext(".//brickCount") or 0),
            int(info.findtext(".//replicaCount") or 0),
            dict(sorted(options.items())),
        )

    def remove(self) -> None:
        mounts.detach_below(self.directory)
        self.hosts.stop()
        mounts.detach_below(self.directory)
        shutil.rmtree(self.directory, ignore_errors=True)
        self.volume.forget()


def _version() -> str:
    """Version of the programs: the second word of `glusterfs 10.3`."""
    done = subprocess.run(
        ["gluster", "--version"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        env={**environment(), "PATH": _PATH},
        timeout=20,
        check=False,
    )
    words = done.stdout.split()
    return words[1] if len(words) > 1 else ""
