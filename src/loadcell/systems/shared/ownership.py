"""Marks: comments by which loadcell knows, later and from elsewhere, what it made on a server."""

from __future__ import annotations

import hashlib
import json
import os
import socket
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

from loadcell.linux import procfs

_HEAD = "loadcell "

State = Literal["loading", "ready", "changed"]


@dataclass(frozen=True)
class Owner:
    """The run that made or last used something: its host, its process, and its work directory as its name."""

    host: str
    pid: int
    started: int
    run: str

    @staticmethod
    def of(work: Path) -> Owner:
        return Owner(socket.gethostname(), os.getpid(), procfs.started(os.getpid()) or 0, str(work))

    @property
    def tag(self) -> str:
        """Six hex digits that keep apart what several runs make at the same time."""
        return hashlib.sha256(f"{self.host}:{self.run}".encode()).hexdigest()[:6]

    def same_run(self, other: Owner) -> bool:
        return (self.host, self.run) == (other.host, other.run)

    def surely_dead(self) -> bool:
        """True if it ran on this host and its process is gone. Of other hosts nothing is known."""
        return self.host == socket.gethostname() and procfs.started(self.pid) != self.started


@dataclass(frozen=True)
class Mark:
    """Contents of the comment.

    `loading`: being made (or aborted half-way); `ready`: as loaded; `changed`: a workload changed it.
    `pristine` tells a loaded data set from a working copy of one. `tables` lists what a schema should hold.
    """

    state: State
    fingerprint: str
    owner: Owner
    pristine: bool = True
    keep: bool = False
    tables: tuple[str, ...] = ()
    loadcell: str = ""

    def text(self) -> str:
        return _HEAD + json.dumps(asdict(self), sort_keys=True)

    def now(self, state: State, **other: Any) -> Mark:
        return replace(self, state=state, **other)


def parse(comment: str | None) -> Mark | None:
    """The mark in a comment; None when it is no mark of loadcell's."""
    if comment is None or not comment.startswith(_HEAD):
        return None
    try:
        words = json.loads(comment[len(_HEAD) :])
        words["owner"] = Owner(**words["owner"])
        words["tables"] = tuple(words["tables"])
        return Mark(**words)
    except (ValueError, TypeError, KeyError):
        return None
