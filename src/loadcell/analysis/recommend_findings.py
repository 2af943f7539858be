"""The recommended configuration in sentences: what to choose, what it buys, what it risks."""

from __future__ import annotations

from collections.abc import Iterator

from loadcell.analysis.finding import Concern, Finding, FindingCode, Statement, Subject
from loadcell.analysis.recommend import TAILS, Recommendation
from loadcell.model.message import Count, Factor, Message, MessageCode, Milliseconds, Rate, Severity, Share

MOST_NAMES = 4


def _code(ending: str, severity: Severity, /, **arguments: type) -> FindingCode:
    rank = (Concern.ANSWER, 180)
    return FindingCode(f"found.recommend{ending}", Subject.RECOMMENDATION, severity, rank, **arguments)


_CHOICE: dict[str, type] = {"throughput_per_s": Rate, "treatment": str}
_TAIL: dict[str, type] = {"tail": Message, "tail_ms": Milliseconds}
RECOMMEND = _code("", "good", **_CHOICE, **_TAIL).marked(implied_by=(Statement.HIGHEST,))
NO_LATENCY = _code(".no-latency", "good", **_CHOICE).marked(implied_by=(Statement.HIGHEST,))
TRADE = _code(
    ".trade", "good", best=str, best_tail_ms=Milliseconds, lost_share=Share, **_CHOICE, **_TAIL
).marked(states=Statement.TRADE_OFF)
NONE = _code(".none", "caution", count=Count, treatment=str).marked(states=Statement.NO_CHOICE)
BUYS = _code(".buys", "good", gain_times=Factor, lowest=str)
ALIKE = _code(".alike", "caution", count=Count, treatments=list)
ALIKE_MANY = _code(".alike.many", "caution", count=Count, treatments=list)
NEXT_BROKE = _code(".next-broke", "problem", treatment=str)
UNSOUND = _code(".unsound", "problem", treatment=str)
AT_EDGE = _code(".at-edge", "caution", treatment=str)
FEW = _code(".few", "caution", count=Count)
#: What the tail of response times is called, by its key.
TAIL_NAMES = {key: MessageCode(f"tail.{key}") for key in TAILS}


def choice(recommendation: Recommendation) -> Finding:
    """The choice, or that none is supported: the one sentence of a summary."""
    chosen, best = recommendation.choice, recommendation.best
    if not recommendation.founded:
        evidence = (best.id, *(item.id for item in recommendation.alike))
        return NONE.finding(evidence, treatment=best.label, count=len(recommendation.alike))
    arguments = {"treatment": chosen.label, "throughput_per_s": chosen.throughput.median or 0.0}
    here, there = recommendation.tail_ms(chosen), recommendation.tail_ms(best)
    if recommendation.tail is None or here is None or there is None:
        return NO_LATENCY.finding((chosen.id,), **arguments)
    return (RECOMMEND if chosen is best else TRADE).finding(
        (chosen.id,),
        **arguments,
        tail=TAIL_NAMES[recommendation.tail](),
        tail_ms=here,
        best=best.label,
        best_tail_ms=there,
        lost_share=recommendation.lost_share,
    )


def buys(recommendation: Recommendation) -> Iterator[Finding]:
    """Gain over the lowest throughput measured; nothing if repeats do not show one."""
    lowest = recommendation.lowest
    if not recommendation.founded or lowest in (recommendation.choice, *recommendation.alike):
        return
    if recommendation.gain_times != float("inf"):
        yield BUYS.finding((lowest.id,), lowest=lowest.label, gain_times=recommendation.gain_times)


def risks(recommendation: Recommendation) -> Iterator[Finding]:
    """Reasons that the choice may be wrong; nothing if there are none."""
    if not recommendation.founded:
        return
    chosen, next_broke = recommendation.choice, recommendation.next_broke
    if recommendation.alike:
        names = tuple(item.label for item in recommendation.alike)
        yield (ALIKE if len(names) <= MOST_NAMES else ALIKE_MANY).finding(
            tuple(item.id for item in recommendation.alike), count=len(names), treatments=names[:MOST_NAMES]
        )
    if next_broke is not None:
        yield NEXT_BROKE.finding((next_broke.id,), treatment=next_broke.label)
    if recommendation.unsound:
        yield UNSOUND.finding((chosen.id,), treatment=chosen.label)
    if recommendation.at_edge:
        yield AT_EDGE.finding((chosen.id,), treatment=chosen.label)
    if chosen.throughput.descriptive_only:
        yield FEW.finding((chosen.id,), count=len(chosen.throughput.values))
