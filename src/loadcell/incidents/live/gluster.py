"""Volumes of GlusterFS by the command line, each command under a time limit."""

from __future__ import annotations

import shutil
import subprocess
import threading
import xml.etree.ElementTree as ET
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from loadcell.incidents.evidence.base import Missing
from loadcell.incidents.evidence.gluster import GlusterVolume, Rebalance
from loadcell.incidents.live.base import Gatherer, Host
from loadcell.linux import procfs
from loadcell.linux.time_limits import UnavailableError
from loadcell.model.message import ForeignText, MessageCode, Seconds
from loadcell.systems.gluster import text_answers

SILENT = MessageCode("doctor.live.gluster-silent", "info", command=str, limit_s=Seconds)
REFUSED = MessageCode("doctor.live.gluster-refused", "info", command=str, output=ForeignText)

LIMIT_S: Final = 2.0
_PATH: Final = "/usr/sbin:/usr/bin:/sbin:/bin"
_MOST_VOLUMES: Final = 8
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
    """A started volume with its bricks, and the number of copies of a subvolume."""

    name: str
    bricks: tuple[Brick, ...]
    copies: int


class GlusterGatherer(Gatherer):
    name = "gluster"
    gathers = (GlusterVolume,)
    is_optional = True
    limit_s = 2 * LIMIT_S + 1.5

    def gather(self, host: Host) -> Iterable[GlusterVolume | Missing]:
        if not is_used(host):
            return
        for volume in volumes()[:_MOST_VOLUMES]:
            yield from _state(volume)


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
            max(1, int(item.findtext("replicaCount") or 1), int(item.findtext("disperseCount") or 0)),
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


def _state(volume: Volume) -> Iterator[GlusterVolume | Missing]:
    """State of a volume by three commands at the same time."""
    commands = {
        "heal": ("volume", "heal", volume.name, "info", "split-brain"),
        "open": ("volume", "top", volume.name, "open"),
        "rebalance": ("volume", "rebalance", volume.name, "status"),
    }
    if volume.copies == 1:
        del commands["heal"]
    outputs: dict[str, str] = {}
    refusals: dict[str, UnavailableError] = {}

    def ask(name: str, words: tuple[str, ...]) -> None:
        try:
            outputs[name] = answer(*words)
        except UnavailableError as error:
            refusals[name] = error

    threads = [threading.Thread(target=ask, args=item, daemon=True) for item in commands.items()]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LIMIT_S + 0.5)
    split_brain = text_answers.split_brain(outputs["heal"]) if "heal" in outputs else None
    status = text_answers.rebalance(outputs.get("rebalance", ""))
    if not outputs:
        reason = next(iter(refusals.values())).message if refusals else None
        if reason is not None:
            yield Missing(GlusterVolume, reason)
        return
    yield GlusterVolume(
        volume.name,
        len(volume.bricks),
        None if split_brain is None else split_brain.entries,
        0 if split_brain is None else split_brain.connected,
        text_answers.open_files(outputs["open"]) if "open" in outputs else None,
        None if status is None else Rebalance(status.running_s, status.scanned, status.left_s),
    )


PART = GlusterGatherer
