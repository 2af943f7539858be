"""Incidents of whole runs at random sizes: batches that do not fit into memory, and placements."""

from __future__ import annotations

import random
from pathlib import Path

from incidents.test_batches import level
from loadcell.incidents.evidence.batches import Batches
from loadcell.incidents.evidence.placements import Placements

from .case import Build, Example, Replay

MIB = 1 << 20
_COUNT = 6


def _batches(row_bytes: tuple[int, int], *, fits: bool = False, grows: bool = True) -> Build:
    """A batch in tenths, halves and as one; with `fits` none of them lacks memory."""

    def build(chance: random.Random, _: Path) -> Example:
        rows, size = chance.randint(20_000, 500_000), chance.randint(*row_bytes)
        need_mib = rows * size / MIB
        limit_mib = need_mib * (2 if fits else chance.uniform(0.6, 0.9))
        fixed_mib = chance.uniform(1, 4)
        levels = []
        for share in (0.1, 0.5, 1.0):
            peak = fixed_mib + (need_mib * share if grows else need_mib)
            peaks = [min(peak, limit_mib) * chance.uniform(0.98, 1.0) for _number in range(2)]
            levels.append(level(rows * share, peaks, is_short=not fits and peak > limit_mib))
        seen = Batches("rows", "rows", levels, round(fixed_mib * MIB), round(limit_mib * MIB))
        return Example(seen, f"{rows} rows of {size} bytes, limit {limit_mib:.0f} MiB")

    return build


def _placed(ratio: tuple[float, float], noise: float = 0.01) -> Build:
    def build(chance: random.Random, _: Path) -> Example:
        factor, rate = chance.uniform(*ratio), chance.uniform(100, 100_000)

        def rates(part: float) -> tuple[float, ...]:
            return tuple(rate * part * chance.uniform(1 - noise, 1 + noise) for _number in range(_COUNT))

        seen = Placements("", "affinity.target", 2, rates(1.0), rates(factor), chance.uniform(0.65, 0.9))
        return Example(seen, f"x {factor:.2f}")

    return build


REPLAYS = (
    Replay("oversized-batch", _batches((300, 5_000)), (
        _batches((300, 5_000), fits=True),
        _batches((300, 5_000), fits=True, grows=False),
    )),
    Replay("slower-on-all-nodes", _placed((0.4, 0.93)), (_placed((0.96, 2.0)),)),
)  # fmt: skip
