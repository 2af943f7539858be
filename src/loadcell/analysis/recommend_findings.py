"""The recommended configuration in sentences: what to choose, what it buys, what it risks."""

from __future__ import annotations

from collections.abc import Iterator

from loadcell.analysis.finding import Finding
from loadcell.analysis.recommend import Recommendation
from loadcell.model.message import Argument, Message

MOST_NAMES = 4


def choice(found: Recommendation) -> Finding:
    """What to choose, or that nothing tells what: the one sentence of a summary."""
    if not found.founded:
        best: dict[str, Argument] = {"treatment": found.best.label, "count": len(found.alike)}
        evidence = (found.best.id, *(item.id for item in found.alike))
        return Finding("recommendation", Message("found.recommend.none", best).rated("caution"), evidence)
    params: dict[str, Argument] = {
        "treatment": found.choice.label, "throughput_per_s": found.choice.throughput.median or 0.0,
    }  # fmt: skip
    here, there = found.tail_ms(found.choice), found.tail_ms(found.best)
    key = "found.recommend"
    if here is None or there is None:
        key = "found.recommend.no-latency"
    else:
        params |= {"tail": Message(f"tail.{found.tail}"), "tail_ms": here}
        if found.choice is not found.best:
            key = "found.recommend.trade"
            params |= {"best": found.best.label, "best_tail_ms": there, "lost_share": found.lost_share}
    return Finding("recommendation", Message(key, params).rated("good"), (found.choice.id,))


def buys(found: Recommendation) -> Iterator[Finding]:
    """What there is more of than at the lowest throughput measured; nothing where repeats do not tell that there is more."""
    if not found.founded or found.lowest in (found.choice, *found.alike):
        return
    if found.gain_times != float("inf"):
        params: dict[str, Argument] = {"lowest": found.lowest.label, "gain_times": found.gain_times}
        yield Finding(
            "recommendation", Message("found.recommend.buys", params).rated("good"), (found.lowest.id,)
        )


def risks(found: Recommendation) -> Iterator[Finding]:
    """What may make the choice a wrong one; nothing where there is none."""
    if not found.founded:
        return
    label = found.choice.label
    if found.alike:
        names = tuple(item.label for item in found.alike)
        params: dict[str, Argument] = {"count": len(names), "treatments": names[:MOST_NAMES]}
        key = "found.recommend.alike" + ("" if len(names) <= MOST_NAMES else ".many")
        yield Finding(
            "recommendation", Message(key, params).rated("caution"), tuple(item.id for item in found.alike)
        )
    if found.next_broke is not None:
        params = {"treatment": found.next_broke.label}
        phrase = Message("found.recommend.next-broke", params)
        yield Finding("recommendation", phrase.rated("problem"), (found.next_broke.id,))
    if found.unsound:
        phrase = Message("found.recommend.unsound", {"treatment": label})
        yield Finding("recommendation", phrase.rated("problem"), (found.choice.id,))
    if found.at_edge:
        phrase = Message("found.recommend.at-edge", {"treatment": label})
        yield Finding("recommendation", phrase.rated("caution"), (found.choice.id,))
    if found.choice.throughput.descriptive_only:
        params = {"count": len(found.choice.throughput.values)}
        yield Finding(
            "recommendation", Message("found.recommend.few", params).rated("caution"), (found.choice.id,)
        )
