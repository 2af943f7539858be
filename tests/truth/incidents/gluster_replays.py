"""Incidents of GlusterFS at random sizes; a rebalance of weeks can only be replayed."""

from __future__ import annotations

import random
from pathlib import Path

from loadcell.incidents.evidence.gluster import GlusterNames, GlusterVolume, LostName, Rebalance

from .case import Build, Example, Replay

DAY_S = 86_400.0


def _names(kind: str) -> Build:
    """A tree in which some names have a defect; without a kind none has."""

    def build(chance: random.Random, _: Path) -> Example:
        names = chance.randint(100, 100_000)
        paths = tuple(f"dir/{chance.randrange(10**9)}" for _number in range(chance.randint(1, 40)))
        seen = GlusterNames(
            "/data", names, names // 50, paths if kind == "doubled" else (), paths if kind == "modes" else (),
            tuple(LostName(path, "No such file or directory") for path in paths) if kind == "lost" else (),
        )  # fmt: skip
        return Example(seen, f"{len(paths)} of {names} names" if kind else f"{names} names")

    return build


def _split_brain(entries: tuple[int, int]) -> Build:
    def build(chance: random.Random, _: Path) -> Example:
        paths = tuple(f"/dir/{number}" for number in range(chance.randint(*entries)))
        return Example(GlusterVolume("data", 4, paths, 4), f"{len(paths)} entries")

    return build


def _counter(count: tuple[int, int]) -> Build:
    def build(chance: random.Random, _: Path) -> Example:
        number = chance.randint(*count)
        return Example(GlusterVolume("data", 4, (), 4, (("n1:/brick", number),)), f"{number} open files")

    return build


def _rebalance(days: tuple[float, float]) -> Build:
    def build(chance: random.Random, _: Path) -> Example:
        remaining = chance.uniform(*days)
        progress = Rebalance(
            chance.uniform(3600, 10 * DAY_S), chance.randint(10**4, 10**7), remaining * DAY_S
        )
        return Example(GlusterVolume("data", 4, (), 4, None, progress), f"{remaining:.1f} days")

    return build


REPLAYS = (
    Replay("gluster-doubled-names", _names("doubled"), (_names(""),)),
    Replay("gluster-lost-modes", _names("modes"), (_names(""),)),
    Replay("gluster-lost-names", _names("lost"), (_names(""),)),
    Replay("gluster-split-brain", _split_brain((1, 50)), (_split_brain((0, 0)),)),
    Replay("gluster-negative-counter", _counter((2**64 - 10**6, 2**64 - 1)), (_counter((0, 10**6)),)),
    Replay("gluster-slow-rebalance", _rebalance((7.5, 90)), (_rebalance((0.1, 5.6)),)),
)
