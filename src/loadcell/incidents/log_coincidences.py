"""Silences and errors of a log that coincide with collections, clock steps, trials or faults."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np

from loadcell.incidents.base import Confidence, Incident, Judgement, Level
from loadcell.incidents.evidence.application_log import SPAN_KINDS, ApplicationLog
from loadcell.incidents.evidence.log_silences import Silence
from loadcell.model.application_log import LogLine
from loadcell.model.message import Count, Labels, Message, MessageCode, Number, Probability, Seconds, Share
from loadcell.model.numbers import utc_second
from loadcell.stats import coincidence

SIGNS = MessageCode(
    "incident.log-coincidences.signs", "info", after_s=Seconds, part_share=Share, chance_share=Share
)
_SEEN = MessageCode(
    "incident.log-coincidences.seen", "info",
    events=Message, spans=Message, count=Count, of=Count, expected=Number,
    chance_probability=Probability, source=str,
)  # fmt: skip
_FEW = MessageCode(
    "incident.log-coincidences.few", "info",
    events=Message, spans=Message, count=Count, of=Count, expected=Number,
    chance_probability=Probability, source=str,
)  # fmt: skip
_HEALTHY = MessageCode(
    "incident.log-coincidences.healthy", "info",
    events=Message, spans=Message, count=Count, of=Count, expected=Number,
)  # fmt: skip
_NOTHING = MessageCode("incident.log-coincidences.nothing", "info")
_NO_EVENTS = MessageCode("incident.log-coincidences.no-events", "info")
_SHORT = MessageCode("incident.log-coincidences.short", "info", duration_s=Seconds, least_s=Seconds)
_NO_DATE = MessageCode("incident.log-coincidences.no-date", "info")
_NO_GC_DATE = MessageCode("incident.log-coincidences.no-gc-date", "info", source=str)
_APART = MessageCode(
    "incident.log-coincidences.apart", "info", begin=str, end=str, source=str, other_begin=str, other_end=str
)
EVENTS = Labels("log-events", ("silences", "errors"))
SPANS = Labels("log-spans", (*SPAN_KINDS, "clock-step"))

#: Kind and source of spans, their begins and ends in ns since 1970, and the time that the source covers.
_Source: TypeAlias = tuple[str, str, Sequence[tuple[int, int]], tuple[int, int] | None]

#: Errors follow their cause so closely.
AFTER_NS: Final = 2 * 10**9
#: Chance that independent events coincide so often, for all pairs of kinds.
LEVEL: Final = 0.001
#: A silence begins and ends with its cause, give or take the usual time between two lines.
_EXACT_NS: Final = 100_000_000
_EXACT_GAPS: Final = 2
#: Span of a log that has room for events besides those that coincide.
LEAST_NS: Final = 10 * AFTER_NS
#: Of the events: less explains nothing.
LEAST_SHARE: Final = 0.1
#: Of the number by chance: silences within spans, each of which the span explains, though few show no cause.
_EXCESS: Final = 2.0


@dataclass(frozen=True)
class Coincidence:
    """Events of the log within spans of another kind; `chance` is that of at least as many."""

    events: str
    spans: str
    source: str
    count: int
    of: int
    expected: float
    chance: float
    instants: tuple[int, ...]
    lines: tuple[LogLine, ...] = ()
    silences: tuple[Silence, ...] = ()


class LogCoincidences(Incident[ApplicationLog]):
    name = "log-coincidences"
    needs = ApplicationLog
    source = "Y. Hong: On computing the distribution function for the Poisson binomial distribution, 2013"
    signs = SIGNS(after_s=AFTER_NS / 1e9, part_share=LEAST_SHARE, chance_share=LEVEL)

    def examine(self, evidence: ApplicationLog) -> Iterator[Judgement]:
        if not evidence.has_date and evidence.others:
            yield self.unseen(_NO_DATE())
            return
        if not evidence.others and not evidence.clock_steps:
            yield self.unseen(_NOTHING())
            return
        longest_ns = _longest_ns(evidence)
        if longest_ns < LEAST_NS:
            yield self.unseen(_SHORT(duration_s=longest_ns / 1e9, least_s=LEAST_NS / 1e9))
            return
        pairs = coincidences(evidence)
        reasons = list(_reasons(evidence))
        for reason in reasons:
            yield self.unseen(reason)
        if not pairs:
            if not reasons:
                yield self.unseen(_NO_EVENTS())
            return
        notable = _notable(pairs)
        for pair in notable:
            is_certain = is_notable(pair, len(pairs))
            is_warning = is_certain and pair.spans not in ("trial", "fault")
            level: Level = "warning" if is_warning else "note"
            summary = (_SEEN if is_certain else _FEW)(
                events=Message(EVENTS(pair.events)),
                spans=Message(SPANS(pair.spans)),
                count=pair.count,
                of=pair.of,
                expected=pair.expected,
                chance_probability=pair.chance,
                source=pair.source,
            )
            span = pair.instants[0], pair.instants[-1]
            confidence: Confidence = "low" if not is_certain else "high" if pair.count > 1 else "medium"
            yield self.diagnosis(level, confidence, summary, span, evidence.quotes(pair.lines))
        for pair in pairs:
            if pair not in notable:
                yield self.healthy(
                    _HEALTHY(
                        events=Message(EVENTS(pair.events)),
                        spans=Message(SPANS(pair.spans)),
                        count=pair.count,
                        of=pair.of,
                        expected=pair.expected,
                    )
                )


def _reasons(evidence: ApplicationLog) -> Iterator[Message]:
    """Why sources cannot be compared with the log: they have no date, or no common time with it."""
    for item in evidence.others:
        if not item.has_date:
            yield _NO_GC_DATE(source=item.source)
        elif item.covered is not None and item.is_apart(evidence.begin_ns, evidence.end_ns):
            of_log = (evidence.begin_ns, evidence.end_ns)
            begin, end, other_begin, other_end = map(utc_second, (*of_log, *item.covered))
            yield _APART(
                begin=begin, end=end, source=item.source, other_begin=other_begin, other_end=other_end
            )


def is_notable(pair: Coincidence, tests: int) -> bool:
    """True if events coincide more often than by chance, and often enough to explain some of them."""
    return pair.chance * tests <= LEVEL and pair.count >= LEAST_SHARE * pair.of


def explained(evidence: ApplicationLog) -> list[Silence]:
    """Silences that long pauses of a collector explain; these are a diagnosis of coincidences alone."""
    if not (evidence.has_date and evidence.others) or _longest_ns(evidence) < LEAST_NS:
        return []
    notable = _notable(coincidences(evidence))
    return [silence for pair in notable if pair.spans == "gc-pause" for silence in pair.silences]


def _longest_ns(evidence: ApplicationLog) -> int:
    return max((service.end_ns - service.begin_ns for service in evidence.logs.services), default=0)


def _notable(pairs: Sequence[Coincidence]) -> list[Coincidence]:
    return [pair for pair in pairs if is_notable(pair, len(pairs)) or _may_explain(pair)]


def _may_explain(pair: Coincidence) -> bool:
    """True if silences lie within spans, and chance does not explain most of them."""
    return pair.events == "silences" and pair.count >= max(1.0, _EXCESS * pair.expected)


def coincidences(evidence: ApplicationLog) -> list[Coincidence]:
    """All pairs of kinds of events, and kinds of spans."""
    silences = sorted(
        (silence for silence in evidence.silences if not silence.may_lack_work),
        key=lambda silence: silence.gap.begin_ns,
    )
    errors = sorted(
        (begin, number)
        for number, service in enumerate(evidence.logs.services)
        for begin in service.error_begins
    )
    # A step repeats the time that it takes back.
    changes = tuple(
        (min(leap.before_ns, leap.after_ns) - AFTER_NS, max(leap.before_ns, leap.after_ns))
        for step in evidence.clock_steps
        for leap in (step.leap, *step.leaps)
    )
    # A GC log of the same time without a long pause states that none coincides.
    sources: list[_Source] = [
        (item.kind, item.source, item.spans, item.covered)
        for item in evidence.others
        if not item.is_apart(evidence.begin_ns, evidence.end_ns)
        and (item.spans or item.covers(evidence.begin_ns, evidence.end_ns))
    ]
    pairs = [
        _of_silences(evidence, common, source)
        for source in sources
        if (common := [item for item in silences if _is_common(item.gap.begin_ns, source)])
    ]
    if changes:
        sources.append(("clock-step", evidence.source, changes, None))
    return pairs + [
        _of_errors(evidence, common_errors, source)
        for source in sources
        if (common_errors := [item for item in errors if _is_common(item[0], source)])
    ]


def _is_common(instant_ns: int, source: _Source) -> bool:
    """True if an event begins in the time that a source covers, or shortly before or after it."""
    covered = source[3]
    return covered is None or covered[0] - AFTER_NS <= instant_ns <= covered[1] + AFTER_NS


def _common(begin_ns: int, end_ns: int, source: _Source) -> tuple[int, int]:
    """The part of the time of a service that a source covers."""
    if (covered := source[3]) is None:
        return begin_ns, end_ns
    return max(begin_ns, covered[0] - AFTER_NS), min(end_ns, covered[1] + AFTER_NS)


def _of_silences(evidence: ApplicationLog, silences: Sequence[Silence], source: _Source) -> Coincidence:
    """Silences that begin and end with a span, or else those that a span makes half of.

    The first is rare by chance where a log is dense, the second also shows delayed effects; the less probable
    of both counts, with twice its chance. Chance is that of the time of the silence's service.
    """
    origin = evidence.begin_ns  # of floats, which have 53 bits
    times = {
        service.name: (float(begin_ns - origin), float(end_ns - origin))
        for service in evidence.logs.services
        for begin_ns, end_ns in [_common(service.begin_ns, service.end_ns, source)]
    }
    spans = np.array(source[2], float).reshape(-1, 2) - origin
    lengths = spans[:, 1] - spans[:, 0]
    masks: tuple[list[bool], list[bool]] = ([], [])
    probabilities: tuple[list[float], list[float]] = ([], [])
    for silence in silences:
        begin, end = times[silence.service]
        begin_ns, duration_ns = silence.gap.begin_ns - origin, silence.duration_ns
        within_ns = max(_EXACT_NS, _EXACT_GAPS * silence.usual_ns)
        alike = spans[np.abs(lengths - duration_ns) <= within_ns]
        edges = np.abs(alike - (begin_ns, begin_ns + duration_ns)) <= within_ns
        masks[0].append(bool(edges.all(axis=1).any()))
        begins = np.column_stack((alike[:, 0] - within_ns, alike[:, 0] + within_ns))
        probabilities[0].append(coincidence.share_covered(begins, begin, end))
        long = spans[lengths >= duration_ns / 2]
        middle = np.array([begin_ns + duration_ns / 2])
        masks[1].append(bool(coincidence.within(middle, long)[0]))
        probabilities[1].append(coincidence.share_covered(long, begin, end))
    chances = [coincidence.tail(sum(mask), shares) for mask, shares in zip(masks, probabilities, strict=True)]
    index = chances.index(min(chances))
    inside = [silence for silence, is_inside in zip(silences, masks[index], strict=True) if is_inside]
    return Coincidence(
        "silences",
        source[0],
        source[1],
        len(inside),
        len(silences),
        sum(probabilities[index]),
        min(1.0, len(chances) * chances[index]),
        tuple(silence.gap.begin_ns for silence in inside) or (origin,),
        tuple(line for silence in inside for line in (silence.gap.before, silence.gap.after)),
        tuple(inside),
    )


def _of_errors(evidence: ApplicationLog, errors: Sequence[tuple[int, int]], source: _Source) -> Coincidence:
    """Episodes of errors (begins and numbers of services) that begin within a span, or shortly after it."""
    begins = [begin for begin, _ in errors]
    origin = evidence.begin_ns
    spans = np.array([(begin - origin, end - origin + AFTER_NS) for begin, end in source[2]], float)
    spans = spans.reshape(-1, 2)
    is_within = coincidence.within(np.array(begins, float) - origin, spans)
    shares = [
        coincidence.share_covered(spans, float(begin_ns - origin), float(end_ns - origin))
        for service in evidence.logs.services
        for begin_ns, end_ns in [_common(service.begin_ns, service.end_ns, source)]
    ]
    probabilities = [shares[number] for _, number in errors]
    count = int(is_within.sum())
    return Coincidence(
        "errors",
        source[0],
        source[1],
        count,
        len(begins),
        sum(probabilities),
        coincidence.tail(count, probabilities),
        tuple(begin for begin, is_inside in zip(begins, is_within, strict=True) if is_inside) or (origin,),
    )


PART = LogCoincidences
