"""Volumes of GlusterFS by the command line, each command under a time limit."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import threading
import time
import uuid
import xml.etree.ElementTree as ET
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Final

from loadcell.incidents.evidence.base import Missing
from loadcell.incidents.evidence.gluster import GlusterVolume, Rebalance
from loadcell.incidents.live.base import Gatherer, Host
from loadcell.linux import procfs
from loadcell.linux.time_limits import UnavailableError
from loadcell.model.message import Count, ForeignText, Message, MessageCode, Seconds
from loadcell.systems.gluster import text_answers

SILENT = MessageCode("doctor.live.gluster-silent", "info", command=str, limit_s=Seconds)
REFUSED = MessageCode("doctor.live.gluster-refused", "info", command=str, output=ForeignText)

NOT_ASKED = MessageCode("doctor.live.gluster-not-asked", "info", count=Count, volumes=list)

LIMIT_S: Final = 2.0
#: For the start and end of commands.
_GRACE_S: Final = 0.5
_PATH: Final = "/usr/sbin:/usr/bin:/sbin:/bin"
_MOST_VOLUMES: Final = 8
_MOST_NAMED: Final = 4
#: Status of a volume whose rebalance nobody started, or that has nothing to distribute.
_NOT_STARTED: Final = re.compile(r"Rebalance not started|is not a distribute", re.IGNORECASE)
_LOCKED: Final = "Another transaction is in progress"
_PAUSE_S: Final = 0.1
_GFID: Final = "trusted.gfid"
_VOLUME_ID: Final = "trusted.glusterfs.volume-id"
_DAEMONS: Final = frozenset({"glusterd", "glusterfsd", "glusterfs"})


@dataclass(frozen=True)
class Brick:
    """A brick (`host:/path`), and the UUID of its host in the pool; empty where it is not stated."""

    location: str
    host_id: str = ""

    @property
    def path(self) -> Path:
        """Its directory on its host."""
        return Path(self.location[self.location.find(":/") + 1 :])


@dataclass(frozen=True)
class Volume:
    """A started volume with its bricks, the number of copies of a file, and its UUID."""

    name: str
    bricks: tuple[Brick, ...]
    copies: int
    id: str = ""

    def gfids_of(self, path: str) -> set[str]:
        """GFIDs of a path on the bricks of this host, which differ where the split-brain is one of GFIDs."""
        return {gfid for brick in self._local for gfid in _attribute(f"{brick}{path}", _GFID)}

    @property
    def is_local(self) -> bool:
        """True if all bricks are on this host."""
        return len(self._local) == len(self.bricks)

    @cached_property
    def _local(self) -> tuple[Path, ...]:
        """Directories of this host that are bricks of the volume, whichever of its bricks they are."""
        paths = dict.fromkeys(brick.path for brick in self.bricks)
        return tuple(path for path in paths if self.id in _attribute(str(path), _VOLUME_ID))


def _attribute(path: str, name: str) -> list[str]:
    """The UUID in an attribute of a file of a brick; empty without one."""
    try:
        return [str(uuid.UUID(bytes=os.getxattr(path, name, follow_symlinks=False)))]
    except (OSError, ValueError):
        return []


class GlusterGatherer(Gatherer):
    name = "gluster"
    gathers = (GlusterVolume,)
    is_optional = True
    limit_s = 2 * LIMIT_S + 3 * _GRACE_S

    def gather(self, host: Host) -> Iterable[GlusterVolume | Missing]:
        if not is_used(host):
            return
        last_begin = time.monotonic() + self.limit_s - LIMIT_S - 2 * _GRACE_S
        waiting = volumes()
        for _ in range(_MOST_VOLUMES):
            if not waiting or time.monotonic() > last_begin:
                break
            yield _state(waiting.pop(0))
        if waiting:
            names = [volume.name for volume in waiting]
            yield Missing(GlusterVolume, NOT_ASKED(count=len(names), volumes=names[:_MOST_NAMED]))


def is_used(host: Host) -> bool:
    """True if a process of GlusterFS runs here, and its command line is installed."""
    names = {stat.name for stat in procfs.all_stats(host.root)}
    return bool(names & _DAEMONS) and shutil.which("gluster", path=_PATH) is not None


def volumes() -> list[Volume]:
    """Started volumes. Raises UnavailableError."""
    return [
        Volume(
            item.findtext("name") or "",
            tuple(
                Brick(brick.findtext("name") or brick.text or "", brick.findtext("hostUuid") or "")
                for brick in item.iterfind("bricks/brick")
            ),
            int(item.findtext("replicaCount") or 1),
            item.findtext("id") or "",
        )
        for item in _document("volume", "info").iterfind(".//volume")
        if item.findtext("statusStr") == "Started"
    ]


def host_id() -> str:
    """UUID of this host in its pool; empty where the answer does not state it. Raises UnavailableError."""
    peers = _document("pool", "list").iterfind(".//peer")
    return next(
        (peer.findtext("uuid") or "" for peer in peers if peer.findtext("hostname") == "localhost"), ""
    )


def _document(*words: str) -> ET.Element:
    """Answer of a command in XML. Raises UnavailableError."""
    title = " ".join(["gluster", *words])
    try:
        document = ET.fromstring(answer("--xml", *words))  # noqa: S314 - of a program of this machine
    except ET.ParseError as error:
        raise UnavailableError(REFUSED(command=title, output=str(error))) from None
    if document.findtext("opRet") not in ("0", None):
        raise UnavailableError(REFUSED(command=title, output=document.findtext("opErrstr") or "-"))
    return document


def answer(*words: str) -> str:
    """Output of a command. Raises UnavailableError."""
    command = ["gluster", "--mode=script", *words]
    title = " ".join(["gluster", *words])
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False,
                              stdin=subprocess.DEVNULL, timeout=LIMIT_S,
                              env={"PATH": _PATH, "LC_ALL": "C"})  # fmt: skip
    except subprocess.TimeoutExpired:
        raise UnavailableError(SILENT(command=title, limit_s=LIMIT_S)) from None
    except OSError as error:
        raise UnavailableError(REFUSED(command=title, output=str(error))) from None
    if done.returncode != 0:
        output = " ".join((done.stdout + done.stderr).split()) or str(done.returncode)
        raise UnavailableError(REFUSED(command=title, output=output))
    return done.stdout


def _state(volume: Volume) -> GlusterVolume:
    """State of a volume by three commands at the same time."""
    commands = {
        "heal": ("volume", "heal", volume.name, "info", "split-brain"),
        "open": ("volume", "top", volume.name, "open"),
        "rebalance": ("volume", "rebalance", volume.name, "status"),
    }
    if volume.copies == 1:
        del commands["heal"]
    answers: dict[str, str | Message] = {
        name: SILENT(command=" ".join(["gluster", *words]), limit_s=LIMIT_S)
        for name, words in commands.items()
    }

    deadline = time.monotonic() + LIMIT_S

    def ask(name: str, words: tuple[str, ...]) -> None:
        while True:
            try:
                answers[name] = answer(*words)
            except UnavailableError as error:
                answers[name] = error.message
                if is_locked(error.message) and time.monotonic() + _PAUSE_S < deadline:
                    time.sleep(_PAUSE_S)
                    continue
            return

    threads = [threading.Thread(target=ask, args=item, daemon=True) for item in commands.items()]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(max(0.0, deadline + _GRACE_S - time.monotonic()))
    return state_of(volume, answers)


def state_of(volume: Volume, answers: Mapping[str, str | Message]) -> GlusterVolume:
    """State of a volume by the answers of its commands, or the reasons for none."""
    state = GlusterVolume(volume.name, len(volume.bricks), rebalance=_rebalance(answers["rebalance"]))
    opened = answers["open"]
    state = replace(state, open_files=text_answers.open_files(opened) if isinstance(opened, str) else opened)
    healing = answers.get("heal")
    if isinstance(healing, str):
        split_brain = text_answers.split_brain(
            healing, volume.copies, volume.gfids_of, of_all_bricks=volume.is_local
        )
        return replace(
            state,
            split_brain=split_brain.entries,
            connected=split_brain.connected,
            has_more=split_brain.has_more,
        )
    return replace(state, split_brain=healing)


def is_locked(refusal: Message) -> bool:
    """True where another command on the volume was executed at that moment, such as one of these."""
    return _LOCKED in str(refusal.arguments.get("output", ""))


def _rebalance(status: str | Message) -> Rebalance | Message | None:
    """The running rebalance by the status of a volume, or why it is not known."""
    if isinstance(status, Message):
        return None if _NOT_STARTED.search(str(status.arguments.get("output", ""))) else status
    running = text_answers.rebalance(status)
    return None if running is None else Rebalance(running.running_s, running.scanned, running.left_s)


PART = GlusterGatherer
