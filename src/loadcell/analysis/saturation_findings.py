"""Findings on saturation: a statement per line, and the reason if no curve supports it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from loadcell.analysis.finding import Finding
from loadcell.analysis.saturation import Mark, Saturation, rebound
from loadcell.analysis.sweep import Sweep
from loadcell.analysis.usl import FEWEST_LOADS
from loadcell.model.message import Argument, Message

#: Lines that a summary speaks of one by one; of more, only the one with the highest throughput.
MOST_LINES = 4


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
        yield Finding(
            "saturation",
            Message("found.saturation.more", {"count": len(lines) - len(lines_left)}).rated("info"),
        )
    yield from reasons(lines_left)


def _sweep(line: Saturation | Sweep) -> Sweep:
    return line.sweep if isinstance(line, Saturation) else line


def _name(line: Saturation | Sweep) -> Message:
    where = _sweep(line).where
    return Message("saturation.of", {"where": where}) if where else Message("saturation.alone")


def _number(load: float) -> str:
    return f"{load:g}"


def _round(load: float) -> str:
    """A number of clients that was worked out, not measured."""
    return f"{load:.0f}" if load >= 10 else f"{load:.1f}"


def _with_reach(line: Saturation, mark: Mark) -> str:
    """A mark, and in brackets where it might be."""
    at, ends = _number(line.load(mark)), line.reach(mark)
    return at if ends is None or ends[0] == ends[1] else f"{at} ({ends[0]:g}–{ends[1]:g})"


def _evidence(line: Saturation | Sweep) -> tuple[str, ...]:
    return tuple(treatment.id for treatment in _sweep(line).treatments)


def statement(line: Saturation | Sweep) -> Finding:
    """The one sentence on where this line saturates."""
    if isinstance(line, Sweep):
        params: dict[str, Argument] = {"line": _name(line), "count": len(line.loads), "planned": line.planned}
        return Finding(
            "saturation", Message("found.saturation.few", params).rated("caution"), _evidence(line)
        )
    key, more = _what(line)
    params = {"line": _name(line), **more}
    if key in _WITH_WAITING and _only_wait(line):
        key += ".waiting"
        params["enough"] = _with_reach(line, line.enough)
    severity = "good" if line.law.identified else "info"
    return Finding("saturation", Message(key, params).rated(severity), _evidence(line))  # type: ignore[arg-type]


_WITH_WAITING = {
    "found.saturation.identified", "found.saturation.measured", "found.saturation.below", "found.saturation.once",
    "found.saturation.level",
}  # fmt: skip


def _only_wait(line: Saturation) -> bool:
    """True if there is a load past which nothing more is done, as surely as repeats tell."""
    last = len(line.sweep.loads) - 1
    return line.enough.at < last and line.enough.last != last


def _what(line: Saturation) -> tuple[str, dict[str, Argument]]:
    law, loads = line.law, line.sweep.loads
    first, last = _number(loads[0]), _number(loads[-1])
    if law.identified and law.peak_load is not None and law.peak_throughput is not None:
        low, high = law.peak_load.low, law.peak_load.high
        assert low is not None
        assert high is not None
        return "found.saturation.identified", {
            "peak": _round(law.peak_load.value), "low": _round(low), "high": _round(high),
            "throughput_per_s": law.peak_throughput.value,
        }  # fmt: skip
    if line.flat:
        return "found.saturation.flat", {"low": first, "high": last}
    best = _number(line.load(line.peak))
    low_end, high_end = line.between
    if low_end is None and high_end is None:  # any load might be the highest
        if _only_wait(line):
            return "found.saturation.level", {"low": first, "last": last}
        return "found.saturation.untold", {"low": first, "last": last}
    if line.peak.at == len(loads) - 1:
        reached = line.reach(line.peak)
        if reached is not None and reached[0] < loads[-1]:
            return "found.saturation.edge.alike", {"last": last, "low": _number(reached[0])}
        return "found.saturation.edge", {"last": last}
    if line.peak.at == 0 and not line.peak.last:
        key = "found.saturation.falls" if line.peak.last is not None else "found.saturation.falls.once"
        return key, {"low": first, "high": _number(loads[1])}
    if high_end is None:
        start = line.reach(line.peak)
        return "found.saturation.level", {"low": _number(start[0]) if start else best, "last": last}
    highest: dict[str, Argument] = {"best": _with_reach(line, line.peak), "high": _number(high_end)}
    if low_end is None:
        return "found.saturation.below", highest
    key = "found.saturation.measured" if line.peak.first is not None else "found.saturation.once"
    return key, {**highest, "low": _number(low_end)}


def reasons(lines: Sequence[Saturation | Sweep]) -> Iterator[Finding]:
    """Why no peak is identified, once for all lines with the same reason."""
    judged = [line for line in lines if isinstance(line, Saturation) and not line.law.identified]
    for reason in dict.fromkeys(line.law.reason for line in judged):
        affected = [line for line in judged if line.law.reason == reason]
        params: dict[str, Argument] = {
            "loads": max(line.law.loads for line in affected), "needed": FEWEST_LOADS,
            "missed_share": max(line.law.missed or 0.0 for line in affected),
        }  # fmt: skip
        key = f"found.saturation.why.{reason}"
        if reason == "no-peak":
            ceilings = [line.law.ceiling.value for line in affected if line.law.ceiling is not None]
            highest = max(float(line.sweep.throughput.max()) for line in affected)
            if len(ceilings) == 1 and ceilings[0] >= highest:  # else what was measured is above it already
                key = "found.saturation.why.no-peak.ceiling"
                params["ceiling_per_s"] = ceilings[0]
        evidence = tuple(name for line in affected for name in _evidence(line))
        yield Finding("saturation", Message(key, params).rated("caution"), evidence)
    for line in judged:
        share = rebound(line)
        if share:
            arguments: dict[str, Argument] = {"line": _name(line), "rose_share": share}
            yield Finding(
                "saturation", Message("found.saturation.rebound", arguments).rated("caution"), _evidence(line)
            )


def details(line: Saturation | Sweep) -> Iterator[Finding]:
    """Cost of load beyond the sufficient level, and treatments without a value."""
    sweep = _sweep(line)
    if sweep.unusable:
        names = tuple(treatment.label for treatment in sweep.unusable)
        params: dict[str, Argument] = {"line": _name(line), "treatments": names, "count": len(names)}
        ids = tuple(treatment.id for treatment in sweep.unusable)
        yield Finding("saturation", Message("found.saturation.unusable", params).rated("caution"), ids)
    if not isinstance(line, Saturation) or sweep.response is None or sweep.speed is None:
        return
    here, last = line.enough.at, len(sweep.loads) - 1
    if here == last:
        return
    waits, done = np.exp(sweep.response.rows), np.exp(sweep.speed.rows)
    params = {
        "line": _name(line), "enough": _number(sweep.loads[here]), "last": _number(sweep.loads[last]),
        "changed_times": float(done[last] / done[here]), "grew_times": float(waits[last] / waits[here]),
        "from_ms": float(waits[here]), "to_ms": float(waits[last]),
    }  # fmt: skip
    ids = (sweep.treatments[here].id, sweep.treatments[last].id)
    yield Finding("saturation", Message("found.saturation.cost", params).rated("info"), ids)
