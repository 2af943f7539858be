"""Silences and errors of a log that coincide with collections, clock steps, trials or faults."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np

from loadcell.incidents.base import Confidence, Incident, Judgement, Level
from loadcell.incidents.evidence.application_log import SPAN_KINDS, ApplicationLog
from loadcell.model.application_log import Gap, LogLine
from loadcell.model.message import Count, Labels, Message, MessageCode, Number, Seconds, Share
from loadcell.stats import coincidence

SIGNS = MessageCode(
    "incident.log-coincidences.signs", "info", after_s=Seconds, part_share=Share, chance=Number
)
_SEEN = MessageCode(
    "incident.log-coincidences.seen", "info",
    events=Message, spans=Message, count=Count, of=Count, expected=Number, chance=str, source=str,
)  # fmt: skip
_HEALTHY = MessageCode(
    "incident.log-coincidences.healthy", "info",
    events=Message, spans=Message, count=Count, of=Count, expected=Number,
)  # fmt: skip
_NOTHING = MessageCode("incident.log-coincidences.nothing", "info")
_NO_EVENTS = MessageCode("incident.log-coincidences.no-events", "info")
_NO_DATE = MessageCode("incident.log-coincidences.no-date", "info")
EVENTS = Labels("log-events", ("silences", "errors"))
SPANS = Labels("log-spans", (*SPAN_KINDS, "clock-step"))

#: Begins and ends in ns since 1970.
Spans: TypeAlias = Sequence[tuple[int, int]]

#: Errors follow their cause so closely.
AFTER_NS: Final = 2 * 10**9
#: Chance that independent events coincide so often, for all pairs of kinds.
LEVEL: Final = 0.001
#: Of the events: less explains nothing.
LEAST_SHARE: Final = 0.1


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


class LogCoincidences(Incident[ApplicationLog]):
    name = "log-coincidences"
    needs = ApplicationLog
    source = "Y. Hong: On computing the distribution function for the Poisson binomial distribution, 2013"
    signs = SIGNS(after_s=AFTER_NS / 1e9, part_share=LEAST_SHARE, chance=LEVEL)

    def examine(self, evidence: ApplicationLog) -> Iterator[Judgement]:
        if not evidence.has_date and evidence.others:
            yield self.unseen(_NO_DATE())
            return
        if not evidence.others and not evidence.clock_steps:
            yield self.unseen(_NOTHING())
            return
        pairs = coincidences(evidence)
        if not pairs:
            yield self.unseen(_NO_EVENTS())
            return
        notable = [pair for pair in pairs if is_notable(pair, len(pairs))]
        for pair in notable:
            level: Level = "note" if pair.spans in ("trial", "fault") else "warning"
            summary = _SEEN(
                events=Message(EVENTS(pair.events)),
                spans=Message(SPANS(pair.spans)),
                count=pair.count,
                of=pair.of,
                expected=pair.expected,
                chance=f"{pair.chance:.1g}",
                source=pair.source,
            )
            span = pair.instants[0], pair.instants[-1]
            confidence: Confidence = "high" if pair.count > 1 else "medium"
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


def is_notable(pair: Coincidence, tests: int) -> bool:
    """True if events coincide more often than by chance, and often enough to explain some of them."""
    return pair.chance * tests <= LEVEL and pair.count >= LEAST_SHARE * pair.of


def coincidences(evidence: ApplicationLog) -> list[Coincidence]:
    """All pairs of kinds of events, and kinds of spans."""
    gaps = sorted(
        (silence.gap for silence in evidence.silences if not silence.may_lack_work),
        key=lambda gap: gap.begin_ns,
    )
    silences = [(gap.begin_ns, gap.end_ns) for gap in gaps]
    errors = sorted((begin, begin) for service in evidence.logs.services for begin in service.error_begins)
    # A step repeats the time that it takes back.
    changes = tuple(
        (min(leap.before_ns, leap.after_ns) - AFTER_NS, max(leap.before_ns, leap.after_ns))
        for step in evidence.clock_steps
        for leap in (step.leap, *step.leaps)
    )
    pairs = []
    for name, events in (("silences", silences), ("errors", errors)):
        sources: list[tuple[str, str, Spans]] = [
            (item.kind, item.source, item.spans) for item in evidence.others
        ]
        if name == "errors":
            sources.append(("clock-step", evidence.source, changes))
        for kind, source, spans in sources:
            if spans and events:
                pairs.append(_pair(evidence, name, events, (kind, source), spans, gaps))
    return pairs


def _pair(
    evidence: ApplicationLog,
    name: str,
    events: Spans,
    kind: tuple[str, str],
    items: Spans,
    gaps: Sequence[Gap],
) -> Coincidence:
    """The events whose middle is within a span; one that is shorter than half of an event explains it not."""
    origin = evidence.begin_ns  # of floats, which have 53 bits
    after_ns = AFTER_NS if name == "errors" else 0
    spans = np.array([(begin - origin, end - origin + after_ns) for begin, end in items], float)
    middles = np.array([(begin + end) / 2 - origin for begin, end in events], float)
    durations = np.array([end - begin for begin, end in events], float)
    end = float(evidence.end_ns - origin)
    is_within = np.zeros(len(events), dtype=np.bool_)
    probabilities = np.zeros(len(events))
    for duration in np.unique(durations):
        of_duration = durations == duration
        long = spans[spans[:, 1] - spans[:, 0] >= duration / 2]
        is_within[of_duration] = coincidence.within(middles[of_duration], long)
        probabilities[of_duration] = coincidence.share_covered(long, 0.0, end)
    count = int(is_within.sum())
    instants = tuple(int(middle) + origin for middle in middles[is_within]) or (origin,)
    chance = coincidence.tail(count, probabilities.tolist())
    lines: tuple[LogLine, ...] = ()
    if name == "silences":
        inside = [gap for gap, is_inside in zip(gaps, is_within, strict=True) if is_inside]
        lines = tuple(line for gap in inside for line in (gap.before, gap.after))
    expected = float(probabilities.sum())
    return Coincidence(name, *kind, count, len(events), expected, chance, instants, lines)


PART = LogCoincidences
