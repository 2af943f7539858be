"""An error whose share of the log rises at some time, and stays there for a while."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from loadcell.incidents.base import Incident, Judgement
from loadcell.incidents.evidence.application_log import ApplicationLog
from loadcell.model.application_log import ApplicationLogs, ErrorMessage, LogLine, Service
from loadcell.model.message import Count, Factor, ForeignText, Message, MessageCode, Seconds, Share
from loadcell.stats import change_points

SIGNS = MessageCode(
    "incident.error-growth.signs", "info",
    growth_times=Factor, least_share=Share, fewest=Count, chance_share=Share,
)  # fmt: skip
_SEEN = MessageCode(
    "incident.error-growth.seen", "info",
    message=ForeignText, service=str, begin_s=Seconds, before_share=Share, after_share=Share, count=Count,
    duration=Message,
)  # fmt: skip
_SEVERAL = MessageCode(
    "incident.error-growth.several", "info",
    message=ForeignText, service=str, begin_s=Seconds, before_share=Share, after_share=Share, count=Count,
    duration=Message, others=Count,
)  # fmt: skip
_TOTAL = MessageCode(
    "incident.error-growth.total", "info",
    messages=Count, service=str, begin_s=Seconds, before_share=Share, after_share=Share, count=Count,
    duration=Message,
)  # fmt: skip
_TO_END = MessageCode("incident.error-growth.to-end", "info", last_share=Share)
_UNTIL = MessageCode("incident.error-growth.until", "info", end_s=Seconds, last_share=Share)
_HEALTHY = MessageCode("incident.error-growth.healthy", "info", errors=Count, error_share=Share)
_FEW = MessageCode("incident.error-growth.few", "info", service=str, blocks=Count, fewest=Count)
_NONE = MessageCode("incident.error-growth.none", "info", entries=Count)

#: Of the share before: less is not notable.
GROWTH: Final = 2.0
#: Of the entries after the begin.
LEAST_SHARE: Final = 0.01
#: Errors after the begin.
FEWEST: Final = 20
#: Chance that a log without growth shows one, for all messages.
LEVEL: Final = 0.01
#: Blocks of time with about as many entries, and the fewest that show a change.
BLOCKS: Final = 60
FEWEST_BLOCKS: Final = 10
_LEAST_BLOCK: Final = 20
#: Blocks of a level, at least.
_LASTING: Final = 3
#: Messages that are tested, the most frequent ones: of a service, and of all services.
MOST_TESTED: Final = 20
MOST_OF_ALL: Final = 60
#: Lines of evidence, each of another message.
_MOST_LINES: Final = 4
_SHOWN: Final = 160


@dataclass(frozen=True)
class Growth:
    """The rise of a message in a service.

    The share was `before`, `after` is that of all entries from the begin to the end, and `last` that of the
    last tenth of them. `lines` are the first and the last of the message in this time that are retained.
    """

    service: Service
    message: ErrorMessage
    before: float
    after: float
    last: float
    begin_ns: int
    end_ns: int
    lasts: bool
    count: int
    lines: tuple[LogLine, ...]

    @property
    def added(self) -> float:
        """Errors in addition to those of the share before."""
        return self.count * (1 - self.before / self.after)


class ErrorGrowth(Incident[ApplicationLog]):
    name = "error-growth"
    needs = ApplicationLog
    source = (
        "D. S. Matteson, N. A. James: A nonparametric approach for multiple change point analysis, 2014, "
        "with a permutation test"
    )
    signs = SIGNS(growth_times=GROWTH, least_share=LEAST_SHARE, fewest=FEWEST, chance_share=LEVEL)

    def examine(self, evidence: ApplicationLog) -> Iterator[Judgement]:
        errors = evidence.errors
        if not errors:
            yield self.unseen(_NONE(entries=evidence.entries))
            return
        services = [service for service in evidence.logs.services if service.errors]
        short = [(service, count) for service in services if (count := len(_blocks(service))) < FEWEST_BLOCKS]
        rises = growths(evidence.logs)
        for service in services:
            of_service = [rise for rise in rises if rise.service is service]
            if of_service:
                yield self._diagnosis(evidence, of_service)
        if not rises and len(short) < len(services):
            count = sum(message.count for message in errors)
            yield self.healthy(_HEALTHY(errors=count, error_share=count / max(1, evidence.entries)))
        for service, count in short:
            yield self.unseen(_FEW(service=service.name, blocks=count, fewest=FEWEST_BLOCKS))

    def _diagnosis(self, evidence: ApplicationLog, rises: Sequence[Growth]) -> Judgement:
        largest, others = rises[0], len(rises) - 1
        text = largest.message.text
        begin_s, end_s = ((at - evidence.begin_ns) / 1e9 for at in (largest.begin_ns, largest.end_ns))
        is_total = largest.message not in largest.service.errors
        summary = (_TOTAL if is_total else _SEVERAL if others else _SEEN).pick(
            messages=len(largest.service.errors),
            message=repr(text if len(text) <= _SHOWN else text[:_SHOWN] + "…"),
            service=largest.service.name,
            begin_s=begin_s,
            before_share=largest.before,
            after_share=largest.after,
            count=largest.count,
            duration=_TO_END(last_share=largest.last)
            if largest.lasts
            else _UNTIL(end_s=end_s, last_share=largest.last),
            others=others,
        )
        lines = [line for rise in rises for line in rise.lines]
        quotes = evidence.quotes(lines[:_MOST_LINES])
        return self.diagnosis("warning", "high", summary, (largest.begin_ns, largest.end_ns), quotes)


def growths(logs: ApplicationLogs) -> list[Growth]:
    """Rises of the shares of errors in each service, the largest first.

    The sum of all errors of a service is one where none of its messages rises: of a service with many routes
    none has many errors.
    """
    services = [service for service in logs.services if len(_blocks(service)) >= FEWEST_BLOCKS]
    ranked = sorted(
        (rank, -message.count, number)
        for number, service in enumerate(services)
        for rank, message in enumerate(service.errors[:MOST_TESTED])
        if message.count >= FEWEST
    )[:MOST_OF_ALL]
    sums = [(service, _sum(service.errors)) for service in services if len(service.errors) > 1]
    tests = len(ranked) + len(sums)
    pairs = [(services[number], services[number].errors[rank]) for rank, _, number in ranked]
    rises = [
        rise
        for service, message in pairs
        if (rise := _growth(service, message, logs.slot_ns, tests)) is not None
    ]
    risen = {id(rise.service) for rise in rises}
    for service, total in sums:
        if id(service) not in risen and (rise := _growth(service, total, logs.slot_ns, tests)) is not None:
            rises.append(rise)
    return sorted(rises, key=lambda rise: -rise.added)


def _sum(messages: Sequence[ErrorMessage]) -> ErrorMessage:
    """All errors of a service as one."""
    slots: dict[int, int] = {}
    for message in messages:
        for slot, count in message.slots.items():
            slots[slot] = slots.get(slot, 0) + count
    lines = sorted(
        (line for message in messages for line in message.lines), key=lambda line: (line[0], line[1].number)
    )
    return ErrorMessage("", sum(slots.values()), slots, tuple(lines))


@dataclass(frozen=True)
class _Block:
    """Successive slots with their entries."""

    slots: tuple[int, ...]
    entries: int


def _blocks(service: Service) -> list[_Block]:
    """Blocks of about as many entries of a service, so that shares of all of them are as exact."""
    least = max(_LEAST_BLOCK, sum(service.slots.values()) / BLOCKS)
    blocks: list[_Block] = []
    slots: list[int] = []
    entries = 0
    for slot in sorted(service.slots):
        slots.append(slot)
        entries += service.slots[slot]
        if entries >= least:
            blocks.append(_Block(tuple(slots), entries))
            slots, entries = [], 0
    if slots and blocks:
        blocks[-1] = _Block((*blocks[-1].slots, *slots), blocks[-1].entries + entries)
    return blocks


def _growth(service: Service, message: ErrorMessage, slot_ns: int, tests: int) -> Growth | None:
    """The rise of an error with the most errors in addition to those of its share before."""
    blocks = _blocks(service)
    counts = [sum(message.slots.get(slot, 0) for slot in block.slots) for block in blocks]
    shares = [count / block.entries for count, block in zip(counts, blocks, strict=True)]
    changes = change_points.by_permutation(shares, LEVEL / tests, _LASTING)
    best: Growth | None = None
    for index, change in enumerate(changes):
        least = max(GROWTH * change.before, LEAST_SHARE)
        # It lasts for as long as the share is notable compared with that before, whatever its further steps.
        end = next((later.at for later in changes[index:] if later.after < least), len(blocks))
        if end <= change.at:
            continue
        count = sum(counts[change.at : end])
        begin_ns = max(service.begin_ns, blocks[change.at].slots[0] * slot_ns)
        end_ns = min(service.end_ns, (blocks[end - 1].slots[-1] + 1) * slot_ns)
        after = count / sum(block.entries for block in blocks[change.at : end])
        tenth = range(end - max(1, (end - change.at) // 10), end)
        last = sum(counts[block] for block in tenth) / sum(blocks[block].entries for block in tenth)
        lines = _lines(message, begin_ns, end_ns)
        lasts = end == len(blocks)
        growth = Growth(service, message, change.before, after, last, begin_ns, end_ns, lasts, count, lines)
        if count >= FEWEST and (best is None or growth.added > best.added):
            best = growth
    return best


def _lines(message: ErrorMessage, begin_ns: int, end_ns: int) -> tuple[LogLine, ...]:
    """The first and the last line in this time, of those that are retained; the last of all without any."""
    inside = [line for at_ns, line in message.lines if begin_ns <= at_ns <= end_ns]
    if len(inside) < 2:
        return (inside[0] if inside else message.lines[-1][1],)
    return inside[0], inside[-1]


PART = ErrorGrowth
