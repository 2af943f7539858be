"""Incidents of GlusterFS from recorded volumes, by the readers of the live examination.

`gluster_recording.py` made and recorded the volumes of gluster_recorded.json, with GlusterFS 10.3. Names,
hosts, and the number of damaged names are random. Only the rebalance is no recording: an estimate of weeks
takes hours. Its answer has the format of gf_cli_print_rebalance_status.
"""

from __future__ import annotations

import errno
import json
import os
import random
import re
import time
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

from loadcell.incidents.evidence.gluster import GlusterNames, GlusterVolume
from loadcell.incidents.live.directory_tree import DirectoryTree
from loadcell.incidents.live.gluster import Brick, Volume, state_of
from loadcell.incidents.live.gluster_names import Bricks, Walk
from loadcell.linux.mount_table import Mount

from .case import Build, Example, Replay
from .gluster_recording import RECORDED

_DAMAGED: Final = re.compile(r"file-\d+|directory-\d+|closed-\d+|renamed-file-\d+")
_COUNTER: Final = re.compile(r"(?<=Current open fds: )\d+")
_HOST: Final = re.compile(r"10\.91\.0\.(\d)")
_DIRECTORY: Final = "data"
_COPIES: Final = 2
_REBALANCE: Final = """\
                               Node Rebalanced-files          size       scanned      failures       skipped               status  run time in h:m:s
                          ---------      -----------   -----------   -----------   -----------   -----------         ------------     --------------
                          localhost {files:16} {size:>13} {scanned:13} {failures:13} {skipped:13} {status:>20} {running:>14}
{estimate}volume rebalance: data: success
"""  # noqa: E501


@cache
def recorded() -> dict[str, Any]:
    """Recorded volumes by their states."""
    states: dict[str, Any] = json.loads(RECORDED.read_text())
    return states


class RecordedTree(DirectoryTree):
    """A mount and bricks as they were recorded: absolute paths with their names, states and attributes."""

    def __init__(
        self,
        listings: Mapping[str, list[str]],
        states: Mapping[str, Mapping[str, int]],
        attributes: Mapping[str, Mapping[str, str]],
    ) -> None:
        self._listings = {os.path.normpath(path): names for path, names in listings.items()}
        self._states = {os.path.normpath(path): state for path, state in states.items()}
        self._attributes = {os.path.normpath(path): values for path, values in attributes.items()}

    def names(self, path: str) -> Iterator[str]:
        yield from self._listings[os.path.normpath(path)]

    def status(self, path: str) -> os.stat_result:
        state = self._states[os.path.normpath(path)]
        if "error" in state:
            raise OSError(state["error"], os.strerror(state["error"]))
        return os.stat_result((state["mode"], 0, 0, 1, state["owner"], 0, 0, 0, 0, 0))

    def exists(self, path: str) -> bool:
        return os.path.normpath(path) in self._attributes

    def attribute(self, path: str, name: str) -> bytes:
        value = self._attributes.get(os.path.normpath(path), {}).get(name)
        if value is None:
            raise OSError(errno.ENODATA, os.strerror(errno.ENODATA))
        return bytes.fromhex(value)


def walked(state: Mapping[str, Any], chance: random.Random) -> GlusterNames:
    """Names of a recorded mount, of which a random number is there, on a host with half of the bricks."""
    point, home = f"/mnt/{chance.randrange(10**6)}", f"data-{chance.randrange(10**6)}"
    names = sorted({name for listing in state["listings"].values() for name in listing} - {_DIRECTORY})
    chosen = set(chance.sample(names, chance.randint(len(names) // 2, len(names))))
    damaged = _damaged(state)
    if damaged:
        chosen |= {chance.choice(sorted(damaged))}

    def renamed(path: str) -> str:
        return re.sub(rf"^{_DIRECTORY}(?=/|$)", home, path)

    def is_there(path: str) -> bool:
        name = path.rpartition("/")[2]
        return not _DAMAGED.fullmatch(name) or name in chosen

    listings = {
        f"{point}/{renamed(path)}": [renamed(name) for name in listing if is_there(name)]
        for path, listing in state["listings"].items()
    }
    states = {f"{point}/{renamed(path)}": values for path, values in state["states"].items()}
    bricks = {
        f"{location.partition(':')[2]}/{renamed(path)}": attributes
        for location, paths in state["bricks"].items()
        for path, attributes in paths.items()
        if is_there(path)
    }
    locations = [Brick(location) for location in state["bricks"]]
    local = Bricks(tuple(locations[::_COPIES]), tuple(locations[1::_COPIES]))
    walk = Walk(
        Mount(point, "fuse.glusterfs", "h:/data", "0:1"), local, RecordedTree(listings, states, bricks)
    )
    walk.run(time.monotonic() + 60)
    return walk.evidence()


def _damaged(state: Mapping[str, Any]) -> set[str]:
    """Names of a recorded mount that are there twice, without a file, or without mode."""
    doubled = {name for listing in state["listings"].values() for name in listing if listing.count(name) > 1}
    return doubled | {
        path.rpartition("/")[2]
        for path, values in state["states"].items()
        if "error" in values or not (values["mode"] & 0o7777 or values["owner"])
    }


def answered(state: Mapping[str, Any], chance: random.Random, **changed: str) -> GlusterVolume:
    """A recorded volume by the answers of its commands, with random names of hosts and files."""
    number, mark = chance.randrange(10**6), chance.randrange(10**6)

    def renamed(text: str) -> str:
        text = _HOST.sub(rf"n\1-{number}", text)
        return re.sub(r"(?<=file-)\d+", rf"{mark}-\g<0>", text)

    answers = {name: renamed(text) for name, text in state["answers"].items()}
    answers.setdefault("rebalance", "")
    volume = Volume("data", tuple(map(Brick, state["bricks"])), _COPIES)
    return state_of(volume, answers | changed)


def _names(state: str) -> Build:
    def build(chance: random.Random, _: Path) -> Example:
        seen = walked(recorded()[state], chance)
        damaged = len(seen.doubled) + len(seen.without_mode) + len(seen.lost)
        return Example(seen, f"{damaged} of {seen.names} names")

    return build


def _split_brain(state: str, answer: str = "heal") -> Build:
    def build(chance: random.Random, _: Path) -> Example:
        of_volume = recorded()[state]
        seen = answered(of_volume, chance, heal=_fewer(of_volume["answers"][answer], chance))
        return Example(seen, f"{len(seen.split_brain or ())} entries")

    return build


def _fewer(text: str, chance: random.Random) -> str:
    """The answer with the entries of a random number of files, at least one of each brick that has some."""
    lines, entries = text.splitlines(), [row for row in text.splitlines() if row.startswith(("/", "<gfid:"))]
    chosen = set(chance.sample(entries, chance.randint(1, len(entries)))) if entries else set()
    return "\n".join(row for row in lines if row in chosen or row not in entries)


def _counter(state: str, count: tuple[int, int] | None = None) -> Build:
    """Recorded counters; a part of them is another one in the range."""

    def build(chance: random.Random, _: Path) -> Example:
        text = recorded()[state]["answers"]["open"]
        if count is not None:
            text = _COUNTER.sub(
                lambda match: str(chance.randint(*count)) if _is_large(match[0]) else match[0], text
            )
        seen = answered(recorded()[state], chance, open=text)
        assert isinstance(seen.open_files, tuple)
        return Example(seen, f"{max(number for _, number in seen.open_files)} open files")

    return build


def _is_large(number: str) -> bool:
    return int(number) >= 1 << 63


def _rebalance(days: tuple[float, float], status: str = "in progress") -> Build:
    def build(chance: random.Random, _: Path) -> Example:
        hours, estimate = round(chance.uniform(*days) * 24), ""
        if status == "in progress":
            estimate = f"Estimated time left for rebalance to complete :{hours:>9}:00:00\n"
        text = _REBALANCE.format(
            files=chance.randint(10**3, 10**6), size=f"{chance.uniform(1, 900):.1f}GB",
            scanned=chance.randint(10**4, 10**7), failures=0, skipped=chance.randint(0, 99), status=status,
            running=f"{chance.randint(1, 240)}:{chance.randint(0, 59):02}:{chance.randint(0, 59):02}",
            estimate=estimate,
        )  # fmt: skip
        return Example(answered(recorded()["none"], chance, rebalance=text), f"{hours} hours, {status}")

    return build


REPLAYS = (
    Replay("gluster-doubled-names", _names("doubled-names"), (_names("links"), _names("none"))),
    Replay("gluster-lost-modes", _names("lost-modes"), (_names("closed"), _names("none"))),
    Replay("gluster-lost-names", _names("lost-names"), (_names("links"), _names("heal"))),
    Replay("gluster-split-brain", _split_brain("split-brain"), (_split_brain("heal"), _split_brain("none"))),
    Replay(
        "gluster-negative-counter",
        _counter("negative-counter", (2**64 - 10**6, 2**64 - 1)),
        (_counter("open"), _counter("none"), _counter("negative-counter", (0, 2**63 - 1))),
    ),
    Replay(
        "gluster-slow-rebalance",
        _rebalance((7.1, 60)),
        (_rebalance((0.1, 6.9)), _rebalance((0, 1), "completed")),
    ),
)
