"""An error whose share of the log rises at some time, and stays there for a while."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from loadcell.incidents.base import Incident, Judgement
from loadcell.incidents.evidence.application_log import ApplicationLog
from loadcell.model.application_log import ApplicationLogs, LogMessage
from loadcell.model.message import Count, Factor, ForeignText, MessageCode, Share
from loadcell.stats import change_points

SIGNS = MessageCode(
    "incident.error-growth.signs", "info",
    growth_times=Factor, least_share=Share, fewest=Count, chance_share=Share,
)  # fmt: skip
_SEEN = MessageCode(
    "incident.error-growth.seen", "info",
    message=ForeignText, before_share=Share, after_share=Share, count=Count,
)  # fmt: skip
_SEVERAL = MessageCode(
    "incident.error-growth.several", "info",
    message=ForeignText, before_share=Share, after_share=Share, count=Count, others=Count,
)  # fmt: skip
_HEALTHY = MessageCode("incident.error-growth.healthy", "info", errors=Count, error_share=Share)
_FEW = MessageCode("incident.error-growth.few", "info", blocks=Count, fewest=Count)
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
#: Messages that are tested, the most frequent ones.
MOST_TESTED: Final = 20
_SHOWN: Final = 160


@dataclass(frozen=True)
class Growth:
    """The rise of a message; the first instant of the higher level is within `begin_ns` and `latest_ns`."""

    message: LogMessage
    before: float
    after: float
    begin_ns: int
    latest_ns: int
    end_ns: int
    count: int


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
        blocks = _blocks(evidence.logs)
        if len(blocks) < FEWEST_BLOCKS:
            yield self.unseen(_FEW(blocks=len(blocks), fewest=FEWEST_BLOCKS))
            return
        rises = growths(evidence.logs, errors)
        if not rises:
            count = sum(message.count for message in errors)
            yield self.healthy(_HEALTHY(errors=count, error_share=count / max(1, evidence.entries)))
            return
        largest = rises[0]
        text = largest.message.text
        others = len(rises) - 1
        summary = (_SEVERAL if others else _SEEN).pick(
            message=repr(text if len(text) <= _SHOWN else text[:_SHOWN] + "…"),
            before_share=largest.before,
            after_share=largest.after,
            count=largest.count,
            others=others,
        )
        quotes = evidence.quotes(rise.message.first for rise in rises[:4])
        yield self.diagnosis("warning", "high", summary, (largest.begin_ns, largest.end_ns), quotes)


def growths(logs: ApplicationLogs, errors: Sequence[LogMessage]) -> list[Growth]:
    """Rises of the shares of errors, the largest first."""
    blocks = _blocks(logs)
    tested = [message for message in errors if message.count >= FEWEST][:MOST_TESTED]
    rises = [rise for message in tested if (rise := _growth(message, blocks, logs, len(tested))) is not None]
    return sorted(rises, key=lambda rise: -rise.after)


@dataclass(frozen=True)
class _Block:
    """Successive slots with their entries."""

    slots: tuple[int, ...]
    entries: int


def _blocks(logs: ApplicationLogs) -> list[_Block]:
    """Blocks of about as many entries, so that shares of all of them are as exact."""
    least = max(_LEAST_BLOCK, sum(logs.entries.values()) / BLOCKS)
    blocks: list[_Block] = []
    slots: list[int] = []
    entries = 0
    for slot in sorted(logs.entries):
        slots.append(slot)
        entries += logs.entries[slot]
        if entries >= least:
            blocks.append(_Block(tuple(slots), entries))
            slots, entries = [], 0
    if slots and blocks:
        blocks[-1] = _Block((*blocks[-1].slots, *slots), blocks[-1].entries + entries)
    return blocks


def _growth(
    message: LogMessage, blocks: Sequence[_Block], logs: ApplicationLogs, tests: int
) -> Growth | None:
    counts = [sum(message.slots.get(slot, 0) for slot in block.slots) for block in blocks]
    shares = [count / block.entries for count, block in zip(counts, blocks, strict=True)]
    changes = change_points.by_permutation(shares, LEVEL / tests, _LASTING)
    best: Growth | None = None
    for index, change in enumerate(changes):
        end = changes[index + 1].at if index + 1 < len(changes) else len(blocks)
        count = sum(counts[change.at : end])
        is_notable = (
            change.after >= GROWTH * change.before and change.after >= LEAST_SHARE and count >= FEWEST
        )
        if is_notable and (best is None or change.after - change.before > best.after - best.before):
            slot_ns = logs.slot_ns
            best = Growth(
                message,
                change.before,
                change.after,
                blocks[change.earliest].slots[0] * slot_ns,
                blocks[change.latest].slots[0] * slot_ns,
                (blocks[end - 1].slots[-1] + 1) * slot_ns,
                count,
            )
    return best


PART = ErrorGrowth
