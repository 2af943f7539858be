"""Where a system saturates as its load rises: peak, knee, power, and the level past which only waiting grows.

All four are read from the levels that were measured, and name no level between them; the Universal
Scalability Law (`usl`) describes the loads between. Each comes with the levels it might as well be, given how
far repeats lie apart. Findings are a statement per line, and the reason if no curve supports it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from loadcell.analysis import usl
from loadcell.analysis.finding import Concern, Finding, FindingCode, Statement, Subject
from loadcell.analysis.recommend import NEARLY
from loadcell.analysis.sweep import Sweep, sweeps
from loadcell.analysis.treatments import Treatment
from loadcell.analysis.tukey import TukeyTest
from loadcell.analysis.usl import FEWEST_LOADS, Usl
from loadcell.model.message import (
    Argument,
    Count,
    Factor,
    Message,
    MessageCode,
    Milliseconds,
    Rate,
    Severity,
    Share,
)
from loadcell.stats import additive
from loadcell.stats.additive import Additive, Floats, Indices

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

    `peak` is the level of highest throughput, with the levels that do not differ significantly from it.
    `enough` is the lowest that reaches `best.NEARLY` of it: past it clients add waiting, not work. `knee` is
    where the curve bends most (Kneedle), None where it does not bend; `power` where throughput per response
    time is highest (Kleinrock). `flat` says that throughput does not depend on the load.
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
    def highest(self) -> int:
        """The level of highest throughput as results show it: by medians, if that is one of those that do not
        differ significantly from the peak.
        """
        medians = [treatment.throughput.median or 0.0 for treatment in self.sweep.treatments]
        at = self.peak.at if medians[self.peak.at] == max(medians) else medians.index(max(medians))
        first, last = self.peak.first, self.peak.last
        return at if first is not None and last is not None and first <= at <= last else self.peak.at

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
        peak=_peak(speed),
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


def _peak(speed: Additive) -> Mark:
    """The level of highest throughput, and the range of levels not significantly lower by Tukey's test."""
    at = int(speed.rows.argmax())
    test = TukeyTest(speed)
    if test.least_difference is None or speed.variance is None:
        return Mark(at)
    alike = [row for row in range(len(speed.rows)) if not test.differ(row, at)]
    return Mark(at, min(alike), max(alike))


def enough(speeds: Floats) -> NDArray[np.intp]:
    """For log throughputs (B, L): the first level with `NEARLY` of the highest (B,)."""
    near = speeds >= speeds.max(axis=1, keepdims=True) + np.log(NEARLY)
    return np.asarray(near.argmax(axis=1))


def bend(loads: Floats, speeds: Floats) -> tuple[NDArray[np.intp], Floats]:
    """Kneedle: position and height of the maximum of curves (B, L) above the line from their first to their
    last level.

    Loads and throughputs are scaled to 0..1, throughput by its highest; the knee is the level with the
    largest y - x, one that was measured (Satopaa, Albrecht, Irwin and Raghavan 2011, offline, concave and
    increasing). Levels past the highest throughput belong to the curve: a sharp bend is that level itself.
    """
    floor = speeds[:, :1]
    height = speeds.max(axis=1, keepdims=True) - floor
    up = np.divide(speeds - floor, height, out=np.zeros_like(speeds), where=height > 0)
    above = up - (loads - loads[0]) / (loads[-1] - loads[0])
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


#: Lines that a summary speaks of one by one; of more, only the one with the highest throughput.
MOST_LINES = 4

LINE_OF = MessageCode("saturation.of", where=str)
LINE_ALONE = MessageCode("saturation.alone")

_WHAT: dict[str, dict[str, type]] = {
    "identified": {"high": str, "low": str, "peak": str, "throughput_per_s": Rate},
    "identified.apart": {"best": str, "high": str, "low": str, "peak": str, "throughput_per_s": Rate},
    "measured": {"best": str, "high": str, "low": str},
    "once": {"best": str, "high": str, "low": str},
    "below": {"best": str, "high": str},
    "level": {"last": str, "low": str},
    "untold": {"last": str, "low": str},
    "edge": {"last": str},
    "edge.alike": {"last": str, "low": str},
    "falls": {"high": str, "low": str},
    "falls.once": {"high": str, "low": str},
    "flat": {"high": str, "low": str},
}
#: Statements that may add from which load on clients only wait.
_WITH_WAITING = ("identified", "identified.apart", "measured", "once", "below", "level")


def _statement(name: str, arguments: dict[str, type], severity: Severity = "info") -> FindingCode:
    """The code of a statement on a line; it says where the best level is and what is tied with it."""
    rank = (Concern.ANSWER, 130)
    code = FindingCode(
        f"found.saturation.{name}", Subject.SATURATION, severity, rank, line=Message, **arguments
    )
    return code.marked(states=Statement.SATURATION)


#: What can be said of a line of rising load.
STATEMENTS = {name: _statement(name, arguments) for name, arguments in _WHAT.items()} | {
    f"{name}.waiting": _statement(f"{name}.waiting", {**_WHAT[name], "enough": str}) for name in _WITH_WAITING
}
UNUSABLE = _statement("unusable", {"count": Count, "treatments": list}, "caution")
COST = _statement("cost", {
    "changed_times": Factor, "enough": str, "from_ms": Milliseconds, "grew_times": Factor, "last": str,
    "to_ms": Milliseconds,
})  # fmt: skip
FEW = FindingCode(
    "found.saturation.few", Subject.SATURATION, "caution", (Concern.TRUST, 40),
    count=Count, line=Message, planned=Count,
)  # fmt: skip
MORE = FindingCode("found.saturation.more", Subject.SATURATION, "info", (Concern.ANSWER, 140), count=Count)
REBOUND = FindingCode(
    "found.saturation.rebound", Subject.SATURATION, "caution", (Concern.TRUST, 220),
    line=Message, rose_share=Share,
)  # fmt: skip


def _why(reason: str, /, **arguments: type) -> FindingCode:
    rank = (Concern.TRUST, 150)
    code = FindingCode(f"found.saturation.why.{reason}", Subject.SATURATION, "caution", rank, **arguments)
    return code.marked(unworded=("loads", "needed", "missed_share"))


#: Why the law supports no peak.
WHY: dict[usl.Reason, FindingCode] = {
    "few-loads": _why("few-loads", loads=Count, needed=Count),
    "one-repeat": _why("one-repeat").marked(
        implied_by=(Statement.NO_REPEATS,), imported=_why("one-repeat.imported")
    ),
    "no-spread": _why("no-spread"),
    "misfit": _why("misfit", missed_share=Share),
    "no-fall": _why("no-fall"),
    "straight": _why("straight"),
    "mixed": _why("mixed"),
    "no-peak": _why("no-peak"),
    "beyond": _why("beyond"),
    "falling": _why("falling"),
}
NO_PEAK_BELOW_CEILING = _why("no-peak.ceiling", ceiling_per_s=Rate)


def summary(lines: Sequence[Saturation | Sweep]) -> Iterator[Finding]:
    """The statements of all lines where they are few, else the best line's; then why curves are not
    identified.
    """
    lines_left = list(lines)
    if len(lines) > MOST_LINES:
        best = max(lines, key=lambda line: max(_sweep(line).throughput, default=0.0))
        lines_left = [best]
    for line in lines_left:
        yield statement(line)
    if len(lines) > len(lines_left):
        yield MORE.finding(count=len(lines) - len(lines_left))
    yield from reasons(lines_left)


def _sweep(line: Saturation | Sweep) -> Sweep:
    return line.sweep if isinstance(line, Saturation) else line


def _name(line: Saturation | Sweep) -> Message:
    where = _sweep(line).where
    return LINE_OF(where=where) if where else LINE_ALONE()


def _number(load: float) -> str:
    return f"{load:g}"


def _round(load: float) -> str:
    """A number of clients that was worked out, not measured."""
    return f"{load:.0f}" if load >= 10 else f"{load:.1f}"


def _with_reach(line: Saturation, mark: Mark, level: int | None = None) -> str:
    """A mark (or another level within its range), and in brackets where it might be."""
    at, ends = _number(line.sweep.loads[mark.at if level is None else level]), line.reach(mark)
    return at if ends is None or ends[0] == ends[1] else f"{at} ({ends[0]:g}–{ends[1]:g})"


def _evidence(line: Saturation | Sweep) -> tuple[str, ...]:
    return tuple(treatment.id for treatment in _sweep(line).treatments)


def statement(line: Saturation | Sweep) -> Finding:
    """The one sentence on where this line saturates."""
    if isinstance(line, Sweep):
        return FEW.finding(_evidence(line), line=_name(line), count=len(line.loads), planned=line.planned)
    key, arguments = _what(line)
    if key in _WITH_WAITING and _only_wait(line):
        key += ".waiting"
        arguments["enough"] = _with_reach(line, line.enough)
    severity: Severity = "good" if line.law.identified else "info"
    return STATEMENTS[key].finding(_evidence(line), severity, line=_name(line), **arguments)


def _only_wait(line: Saturation) -> bool:
    """True if there is a load past which nothing more is done, as surely as repeats tell."""
    last = len(line.sweep.loads) - 1
    return line.enough.at < last and line.enough.last != last


def _what(line: Saturation) -> tuple[str, dict[str, Argument]]:
    law, loads = line.law, line.sweep.loads
    first, last = _number(loads[0]), _number(loads[-1])
    top = line.highest
    best = _number(loads[top])
    if law.identified and law.peak_load is not None and law.peak_throughput is not None:
        low, high = law.peak_load.low, law.peak_load.high
        assert low is not None
        assert high is not None
        apart = not low <= loads[top] <= high
        return "identified.apart" if apart else "identified", {
            "peak": _round(law.peak_load.value), "low": _round(low), "high": _round(high),
            "throughput_per_s": law.peak_throughput.value, **({"best": best} if apart else {}),
        }  # fmt: skip
    if line.flat:
        return "flat", {"low": first, "high": last}
    low_end, high_end = line.between
    if low_end is None and high_end is None:  # any load might be the highest
        if _only_wait(line):
            return "level", {"low": first, "last": last}
        return "untold", {"low": first, "last": last}
    if top == len(loads) - 1:
        reached = line.reach(line.peak)
        if reached is not None and reached[0] < loads[-1]:
            return "edge.alike", {"last": last, "low": _number(reached[0])}
        return "edge", {"last": last}
    if line.peak.at == 0 and not line.peak.last:
        key = "falls" if line.peak.last is not None else "falls.once"
        return key, {"low": first, "high": _number(loads[1])}
    if high_end is None:
        start = line.reach(line.peak)
        return "level", {"low": _number(start[0]) if start else best, "last": last}
    highest: dict[str, Argument] = {"best": _with_reach(line, line.peak, top), "high": _number(high_end)}
    if low_end is None:
        return "below", highest
    key = "measured" if line.peak.first is not None else "once"
    return key, {**highest, "low": _number(low_end)}


def reasons(lines: Sequence[Saturation | Sweep]) -> Iterator[Finding]:
    """Why no peak is identified, once for all lines with the same reason."""
    judged = [line for line in lines if isinstance(line, Saturation) and not line.law.identified]
    for reason in dict.fromkeys(line.law.reason for line in judged):
        affected = [line for line in judged if line.law.reason == reason]
        code, ceiling = WHY[reason], 0.0
        if reason == "no-peak":
            ceilings = [line.law.ceiling.value for line in affected if line.law.ceiling is not None]
            highest = max(float(line.sweep.throughput.max()) for line in affected)
            if len(ceilings) == 1 and ceilings[0] >= highest:  # else what was measured is above it already
                code, ceiling = NO_PEAK_BELOW_CEILING, ceilings[0]
        yield code.finding(
            tuple(name for line in affected for name in _evidence(line)),
            loads=max(line.law.loads for line in affected),
            needed=FEWEST_LOADS,
            missed_share=max(line.law.missed or 0.0 for line in affected),
            ceiling_per_s=ceiling,
        )
    for line in judged:
        if share := rebound(line):
            yield REBOUND.finding(_evidence(line), line=_name(line), rose_share=share)


def details(line: Saturation | Sweep) -> Iterator[Finding]:
    """Cost of load beyond the sufficient level, and treatments without a value."""
    sweep = _sweep(line)
    if sweep.unusable:
        names = tuple(treatment.label for treatment in sweep.unusable)
        ids = tuple(treatment.id for treatment in sweep.unusable)
        yield UNUSABLE.finding(ids, line=_name(line), treatments=names, count=len(names))
    if not isinstance(line, Saturation) or sweep.response is None or sweep.speed is None:
        return
    here, last = line.enough.at, len(sweep.loads) - 1
    if here == last:
        return
    waits, done = np.exp(sweep.response.rows), np.exp(sweep.speed.rows)
    yield COST.finding(
        (sweep.treatments[here].id, sweep.treatments[last].id),
        line=_name(line), enough=_number(sweep.loads[here]), last=_number(sweep.loads[last]),
        changed_times=float(done[last] / done[here]), grew_times=float(waits[last] / waits[here]),
        from_ms=float(waits[here]), to_ms=float(waits[last]),
    )  # fmt: skip
