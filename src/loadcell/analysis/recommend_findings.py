"""The recommended configuration in sentences: what to choose, what it buys, what it risks."""

from __future__ import annotations

from collections.abc import Iterator

from loadcell.analysis.finding import Finding
from loadcell.analysis.recommend import Recommendation
from loadcell.model.message import Argument, Message

MOST_NAMES = 4


def choice(recommendation: Recommendation) -> Finding:
    """The choice, or that none is supported: the one sentence of a summary."""
    if not recommendation.founded:
        best: dict[str, Argument] = {
            "treatment": recommendation.best.label,
            "count": len(recommendation.alike),
        }
        evidence = (recommendation.best.id, *(item.id for item in recommendation.alike))
        return Finding("recommendation", Message("found.recommend.none", best).rated("caution"), evidence)
    params: dict[str, Argument] = {
        "treatment": recommendation.choice.label, "throughput_per_s": recommendation.choice.throughput.median or 0.0,
    }  # fmt: skip
    here, there = recommendation.tail_ms(recommendation.choice), recommendation.tail_ms(recommendation.best)
    key = "found.recommend"
    if here is None or there is None:
        key = "found.recommend.no-latency"
    else:
        params |= {"tail": Message(f"tail.{recommendation.tail}"), "tail_ms": here}
        if recommendation.choice is not recommendation.best:
            key = "found.recommend.trade"
            params |= {
                "best": recommendation.best.label,
                "best_tail_ms": there,
                "lost_share": recommendation.lost_share,
            }
    return Finding("recommendation", Message(key, params).rated("good"), (recommendation.choice.id,))


def buys(recommendation: Recommendation) -> Iterator[Finding]:
    """Gain over the lowest throughput measured; nothing if repeats do not show one."""
    if not recommendation.founded or recommendation.lowest in (recommendation.choice, *recommendation.alike):
        return
    if recommendation.gain_times != float("inf"):
        params: dict[str, Argument] = {
            "lowest": recommendation.lowest.label,
            "gain_times": recommendation.gain_times,
        }
        yield Finding(
            "recommendation",
            Message("found.recommend.buys", params).rated("good"),
            (recommendation.lowest.id,),
        )


def risks(recommendation: Recommendation) -> Iterator[Finding]:
    """Reasons that the choice may be wrong; nothing if there are none."""
    if not recommendation.founded:
        return
    label = recommendation.choice.label
    if recommendation.alike:
        names = tuple(item.label for item in recommendation.alike)
        params: dict[str, Argument] = {"count": len(names), "treatments": names[:MOST_NAMES]}
        key = "found.recommend.alike" + ("" if len(names) <= MOST_NAMES else ".many")
        yield Finding(
            "recommendation",
            Message(key, params).rated("caution"),
            tuple(item.id for item in recommendation.alike),
        )
    if recommendation.next_broke is not None:
        params = {"treatment": recommendation.next_broke.label}
        phrase = Message("found.recommend.next-broke", params)
        yield Finding("recommendation", phrase.rated("problem"), (recommendation.next_broke.id,))
    if recommendation.unsound:
        phrase = Message("found.recommend.unsound", {"treatment": label})
        yield Finding("recommendation", phrase.rated("problem"), (recommendation.choice.id,))
    if recommendation.at_edge:
        phrase = Message("found.recommend.at-edge", {"treatment": label})
        yield Finding("recommendation", phrase.rated("caution"), (recommendation.choice.id,))
    if recommendation.choice.throughput.descriptive_only:
        params = {"count": len(recommendation.choice.throughput.values)}
        yield Finding(
            "recommendation",
            Message("found.recommend.few", params).rated("caution"),
            (recommendation.choice.id,),
        )
