"""Completions of a measurement on a grid of slots, as arrays: all client groups together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
import numpy.typing as npt

from loadcell.model.timeline import SLOT_NS, Slots, Timeline

Numbers = npt.NDArray[np.float64]
Counts = npt.NDArray[np.int64]

SLOT_S = SLOT_NS / 1e9


@dataclass(frozen=True, eq=False)
class SlowRequests:
    """Requests with a long service time; a number for each client of the load."""

    client: Counts
    start_s: Numbers
    end_s: Numbers


@dataclass(frozen=True, eq=False)
class Completions:
    """Completions of a measurement of `duration_s`, a value per slot; slot 0 begins with it.

    `first_s` and `last_s` are instants of successes, NaN without one. `response_*` are response times: upper
    limits with the number of successes and their slot, by slot. `errors` are codes with a number of failures,
    by slot.
    """

    duration_s: float
    succeeded: Counts
    first_s: Numbers
    last_s: Numbers
    response_slot: Counts
    response_s: Numbers
    response_count: Counts
    error_slot: Counts
    errors: Sequence[tuple[str, int]]
    slow: SlowRequests

    @staticmethod
    def of(timelines: Sequence[Timeline], duration_s: float) -> Completions:
        """Merge the timelines of a measurement's groups, without the warm-up."""
        size = max(0, int(np.ceil(duration_s / SLOT_S - 1e-9)))
        succeeded = np.zeros(size, np.int64)
        first, last = np.full(size, np.nan), np.full(size, np.nan)
        responses: list[Counts] = [np.zeros((0, 3), np.int64)]
        errors: list[tuple[int, str, int]] = []
        for timeline in timelines:
            slots = timeline.slots
            index = np.array(slots.start_ns, np.int64) // SLOT_NS
            inside = (index >= 0) & (index < size)
            at = index[inside]
            np.add.at(succeeded, at, np.array(slots.succeeded, np.int64)[inside])
            np.fmin.at(first, at, _instants(slots.first_ns)[inside])
            np.fmax.at(last, at, _instants(slots.last_ns)[inside])
            responses.append(_responses(index, inside, slots))
            errors += (
                (number, code, count)
                for number, failures in zip(index.tolist(), slots.errors, strict=True)
                if 0 <= number < size
                for code, count in failures
            )
        table = np.concatenate(responses)
        table = table[np.argsort(table[:, 0], kind="stable")]
        errors.sort()
        return Completions(
            duration_s, succeeded, first, last, table[:, 0], table[:, 1] / 1e9, table[:, 2],
            np.array([slot for slot, _, _ in errors], np.int64), [error[1:] for error in errors],
            _slow(timelines),
        )  # fmt: skip

    def slot(self, at_s: float) -> int:
        """The slot of an instant, within the measurement."""
        return min(max(0, int(at_s / SLOT_S + 1e-9)), len(self.succeeded))

    def responses(self, begin: int, end: int) -> tuple[Counts, Numbers, Counts]:
        """Slots, upper limits and counts of response times within slots [begin, end)."""
        low, high = np.searchsorted(self.response_slot, (begin, end))
        return self.response_slot[low:high], self.response_s[low:high], self.response_count[low:high]

    def slower(self, limit_s: float, begin: int, end: int) -> Counts:
        """Number of successes with a longer response time in each slot of [begin, end)."""
        slot, response_s, count = self.responses(begin, end)
        beyond = response_s > limit_s
        weights = np.bincount(slot[beyond] - begin, count[beyond], minlength=max(0, end - begin))
        return weights.astype(np.int64)

    def failed(self, begin: int, end: int) -> Counts:
        """Number of failures in each slot of [begin, end)."""
        low, high = np.searchsorted(self.error_slot, (begin, end))
        counts = np.array([count for _, count in self.errors[low:high]], np.int64)
        failures = np.bincount(self.error_slot[low:high] - begin, counts, minlength=max(0, end - begin))
        return failures.astype(np.int64)

    def errors_between(self, begin: int, end: int) -> dict[str, int]:
        """Failures within slots [begin, end) by code, the commonest first."""
        low, high = np.searchsorted(self.error_slot, (begin, end))
        counts: Counter[str] = Counter()
        for code, count in self.errors[low:high]:
            counts[code] += count
        return dict(counts.most_common())


def _responses(index: Counts, inside: npt.NDArray[np.bool_], slots: Slots) -> Counts:
    """Rows of a slot, a limit and a count for the response times of the slots that are inside."""
    sizes = np.fromiter(map(len, slots.response_ns), np.int64, len(slots.response_ns))
    flat = chain.from_iterable(chain.from_iterable(slots.response_ns))
    pairs = np.fromiter(flat, np.int64, 2 * int(sizes.sum())).reshape(-1, 2)
    rows = np.column_stack((np.repeat(index, sizes), pairs))
    chosen: Counts = rows[np.repeat(inside, sizes)]
    return chosen


def _instants(instants: Sequence[int | None]) -> Numbers:
    return np.array([np.nan if instant is None else instant / 1e9 for instant in instants], np.float64)


def _slow(timelines: Sequence[Timeline]) -> SlowRequests:
    rows = [
        ((number, request.client), request.start_ns / 1e9, request.end_ns / 1e9)
        for number, timeline in enumerate(timelines)
        for request in timeline.slow
    ]
    clients = {client: number for number, client in enumerate(dict.fromkeys(row[0] for row in rows))}
    return SlowRequests(
        np.array([clients[row[0]] for row in rows], np.int64),
        np.array([row[1] for row in rows], np.float64),
        np.array([row[2] for row in rows], np.float64),
    )


def rolling(counts: Counts, width: int) -> Counts:
    """Sums over `width` consecutive values, from each possible start."""
    sums = np.concatenate(([0], np.cumsum(counts)))
    return sums[width:] - sums[:-width] if len(counts) >= width else np.zeros(0, np.int64)
