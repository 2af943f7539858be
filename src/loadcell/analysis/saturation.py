"""Where a system saturates as its load rises: peak, knee, power, and the level past which only waiting grows.

All four are read from the levels that were measured, and name no level between them; the Universal
Scalability Law (`usl`) describes the loads between. Each comes with the levels it might as well be, given how
far repeats lie apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from loadcell.analysis import usl
from loadcell.analysis.best import NEARLY
from loadcell.analysis.sweep import Sweep, sweeps
from loadcell.analysis.treatments import Treatment
from loadcell.analysis.usl import Usl
from loadcell.stats import additive
from loadcell.stats.additive import Floats, Indices

#: A curve needs three levels to bend.
FEWEST_LEVELS = 3
#: Curves that stay within this share of a straight line have no knee: half the bend of a 1 : 2 : 4 curve.
LEAST_BEND = 0.10
#: Throughput that changes by less than this over all loads does not depend on the load (the minimum practical
#: effect).
LEAST_CHANGE = 0.02
#: The ranges of levels that marks are given leave out this share at each end.
TAIL = 0.025
RESAMPLES = 1000


@dataclass(frozen=True)
class Mark:
    """A level of a sweep, by index, and the first and last it might be; these are None where repeats do not
    tell.
    """

    at: int
    first: int | None = None
    last: int | None = None


@dataclass(frozen=True, eq=False)
class Saturation:
    """Saturation of a sweep.

    `peak` is the level of highest throughput. `enough` is the lowest that reaches `best.NEARLY` of it: past
    it clients add waiting, not work. `knee` is where the curve bends most (Kneedle), None where it does not
    bend; `power` where throughput per response time is highest (Kleinrock). `flat` says that throughput does
    not depend on the load.
    """

    sweep: Sweep
    law: Usl
    peak: Mark
    enough: Mark
    knee: Mark | None
    power: Mark | None
    flat: bool

    @property
    def at_edge(self) -> bool:
        """True if the highest throughput was, or might as well have been, at the highest load tried."""
        last = len(self.sweep.loads) - 1
        return self.peak.at == last or self.peak.last == last

    @property
    def between(self) -> tuple[float | None, float | None]:
        """The loads that the peak lies between: neighbours of the levels that might be the highest.

        None where there is no
        neighbour: below the lowest load tried, and beyond the highest, nothing was measured."""
        loads = self.sweep.loads
        first = self.peak.at if self.peak.first is None else self.peak.first
        last = self.peak.at if self.peak.last is None else self.peak.last
        above = float(loads[last + 1]) if last + 1 < len(loads) else None
        return float(loads[first - 1]) if first > 0 else None, above

    def load(self, mark: Mark) -> float:
        """The clients at a mark."""
        return float(self.sweep.loads[mark.at])

    def reach(self, mark: Mark) -> tuple[float, float] | None:
        """The lowest and highest number of clients a mark might stand at."""
        if mark.first is None or mark.last is None:
            return None
        return float(self.sweep.loads[mark.first]), float(self.sweep.loads[mark.last])


def find(treatments: Sequence[Treatment]) -> tuple[Saturation | Sweep, ...]:
    """Every line of rising load: judged, or the bare line if fewer than `FEWEST_LEVELS` levels have a value.

    None at all where nothing was measured: another finding reports that.
    """
    if not any(treatment.measured for treatment in treatments):
        return ()
    return tuple(
        judge(line, seed) if len(line.loads) >= FEWEST_LEVELS else line
        for seed, line in enumerate(sweeps(treatments))
    )


def judge(sweep: Sweep, seed: int = 0) -> Saturation:
    """Judge a line of at least `FEWEST_LEVELS` usable loads. `seed` makes the resampling repeatable."""
    speed, response = sweep.speed, sweep.response
    assert speed is not None
    chance = np.random.default_rng(seed)
    rows = speed.rows[None]
    again = speed.rows + additive.draws(speed, RESAMPLES, chance) if sweep.repeated else None
    power = None
    if response is not None:
        powers = (speed.rows - response.rows)[None]
        drawn = None
        if again is not None and response.variance is not None:
            drawn = again - response.rows - additive.draws(response, RESAMPLES, chance)
        power = _mark(powers.argmax(axis=1), None if drawn is None else drawn.argmax(axis=1))
    return Saturation(
        sweep=sweep,
        law=usl.judge(sweep, seed),
        peak=_mark(rows.argmax(axis=1), None if again is None else again.argmax(axis=1)),
        enough=_mark(enough(rows), None if again is None else enough(again)),
        knee=_knee(sweep, again),
        power=power,
        flat=bool(speed.rows.max() - speed.rows.min() < LEAST_CHANGE),
    )


def _mark(values: Indices | NDArray[np.intp], resampled: Indices | NDArray[np.intp] | None) -> Mark:
    if resampled is None:
        return Mark(int(values[0]))
    first, last = np.quantile(resampled, (TAIL, 1 - TAIL), method="nearest")
    return Mark(int(values[0]), min(int(first), int(values[0])), max(int(last), int(values[0])))


def enough(speeds: Floats) -> NDArray[np.intp]:
    """For log throughputs (B, L): the first level with `NEARLY` of the highest (B,)."""
    near = speeds >= speeds.max(axis=1, keepdims=True) + np.log(NEARLY)
    return np.asarray(near.argmax(axis=1))


def bend(loads: Floats, speeds: Floats) -> tuple[NDArray[np.intp], Floats]:
    """Kneedle: where curves (B, L) lie highest above the line from their first level to their highest, and
    how high.

    Loads and throughputs are scaled to 0..1 up to the highest throughput; the knee is the level with the
    largest y - x, one that was measured (Satopaa, Albrecht, Irwin and Raghavan 2011, offline, concave and
    increasing).
    """
    top = speeds.argmax(axis=1)
    floor = speeds[:, :1]
    height = np.take_along_axis(speeds, top[:, None], axis=1) - floor
    width = (loads[top] - loads[0])[:, None]
    up = np.divide(speeds - floor, height, out=np.zeros_like(speeds), where=height > 0)
    across = np.divide(loads - loads[0], width, out=np.zeros_like(speeds), where=width > 0)
    above = np.where(np.arange(len(loads)) <= top[:, None], up - across, 0.0)
    at = above.argmax(axis=1)
    return at, above[np.arange(len(speeds)), at]


def _knee(sweep: Sweep, again: Floats | None) -> Mark | None:
    at, height = bend(sweep.loads, sweep.throughput[None])
    if height[0] < LEAST_BEND:
        return None
    if again is None:
        return Mark(int(at[0]))
    knee, heights = bend(sweep.loads, np.exp(again))
    bent = knee[heights >= LEAST_BEND]
    if len(bent) < (1 - 2 * TAIL) * len(knee):
        return None
    return _mark(at, bent)


def rebound(line: Saturation) -> float | None:
    """For loads measured once, the share by which throughput rises again after it fell: None where repeats
    tell more.

    No law of scalability rises again. So this much, at least, lies between measurements for other reasons
    than load.
    """
    if line.sweep.repeated:
        return None
    after = line.sweep.throughput[line.peak.at :]
    lowest = np.minimum.accumulate(after)
    most = float((after / lowest).max()) - 1
    return most if most > LEAST_CHANGE else None
