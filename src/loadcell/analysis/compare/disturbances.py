"""Disturbances of the machine in the trials that a comparison rests on, by side."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from loadcell.analysis.compare.sides import Side, Sides, name
from loadcell.analysis.finding import Finding, FindingCode, Subject
from loadcell.analysis.validity import doubts
from loadcell.model.message import Count, Message, MessageCode

#: Checks of a trial that notice something of the machine, rather than of the load or of the client's limits.
KINDS: Mapping[str, MessageCode] = {
    check: MessageCode(f"compare.disturbance.{check}")
    for check in (
        "steal", "neighbour", "other-processes", "client-waiting", "client-paused", "sampling-gap",
        "throttled", "swap", "clock-step",
    )
}  # fmt: skip
DISTURBED = FindingCode("compare.disturbed", Subject.VERDICT, "caution", kinds=list, sides=list)
DISTURBED_SIDE = MessageCode("compare.disturbed.side", count=Count, of=Count, side=str)


@dataclass(frozen=True)
class Disturbed:
    """Number of trials of a side that count and were disturbed, and the number by each check."""

    side: Side
    count: int
    of: int
    kinds: Mapping[str, int]


def of_sides(sides: Sides) -> tuple[Disturbed, ...]:
    """The disturbances of each side, of trials whose values are compared."""
    return tuple(_of_side(side, sides) for side in sides.sides)


def find(sides: Sides) -> Iterator[Finding]:
    """One finding on all sides with the kinds, the most frequent first; none where nothing was noticed."""
    disturbed = of_sides(sides)
    kinds = sum((Counter(item.kinds) for item in disturbed), Counter())
    if not kinds:
        return
    counts: list[Message] = [
        DISTURBED_SIDE(count=item.count, of=item.of, side=name(sides, item.side)) for item in disturbed
    ]
    yield DISTURBED.finding(sides=counts, kinds=[KINDS[check]() for check, _ in kinds.most_common()])


def _of_side(side: Side, sides: Sides) -> Disturbed:
    counting = [trial for context in sides.contexts for trial in side.trials.get(context, ()) if trial.counts]
    noticed = [{doubt.name for doubt in doubts(trial)} & KINDS.keys() for trial in counting]
    kinds = Counter(check for checks in noticed for check in checks)
    return Disturbed(side, sum(map(bool, noticed)), len(counting), dict(kinds))
