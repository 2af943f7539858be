"""Garbage collection within a measurement: shares of time and of slow requests as arithmetic says."""

from __future__ import annotations

import random

import pytest

from loadcell.analysis.faults.completions import Completions
from loadcell.analysis.gc_pauses import metrics, per_second, share_in_pauses, stopped
from loadcell.model import gc_pauses
from loadcell.model.gc_pauses import GcLog, HeapChange, Pause
from loadcell.model.timeline import SLOT_NS, Slots, Timeline

MS = 1_000_000
SECOND = 1000 * MS


def pause(end_ms: float, length_ms: float, **facts: object) -> Pause:
    return Pause(round(end_ms * MS), round(length_ms * MS), facts.pop("kind", "young"), "Young", **facts)  # type: ignore[arg-type]


def limit(time_ns: int) -> int:
    """Upper limit of a class of response times, as in `engine/core/src/record/timeline.rs`."""
    shift = max(0, (time_ns | 1).bit_length() - 5)
    return (time_ns >> shift << shift) | ((1 << shift) - 1)


def timeline(requests: list[tuple[int, int]]) -> Timeline:
    """Requests by the time of their end and their response time."""
    by_slot: dict[int, dict[int, int]] = {}
    for end_ns, time_ns in requests:
        counts = by_slot.setdefault(end_ns // SLOT_NS, {})
        counts[limit(time_ns)] = counts.get(limit(time_ns), 0) + 1
    numbers = sorted(by_slot)
    nothing: tuple[int | None, ...] = (None,) * len(numbers)
    return Timeline(
        "",
        Slots(
            tuple(number * SLOT_NS for number in numbers),
            tuple(sum(by_slot[number].values()) for number in numbers),
            ((),) * len(numbers), nothing, nothing, (0,) * len(numbers),
            tuple(tuple(by_slot[number].items()) for number in numbers),
        ),
    )  # fmt: skip


def test_requests_that_only_wait_for_pauses_all_overlap_one() -> None:
    pauses = [pause(1000 * second + 550, 50) for second in range(60)]
    requests = [(at * MS, MS) for at in range(60_000) if not 500 <= at % 1000 < 551]
    requests += [
        (second * SECOND + 551 * MS, (550 - at) * MS) for second in range(60) for at in range(500, 550)
    ]
    completions = Completions.of([timeline(requests)], 60)
    assert share_in_pauses(completions, pauses, 0.99) == pytest.approx(1.0)
    assert share_in_pauses(completions, [], 0.99) == 0.0


def test_slow_requests_that_pauses_do_not_cause_overlap_them_by_chance() -> None:
    """A pause of 50 ms per second overlaps (100 + 50) / 1000 of the requests of 100 ms at any time."""
    chance = random.Random(3)
    pauses = [pause(1000 * second + 550, 50) for second in range(200)]
    requests = [(at * 2 * MS, MS) for at in range(100_000)]
    requests += [(chance.randrange(100 * MS, 200 * SECOND), 100 * MS) for _ in range(1_500)]
    requests = [(end, time) for end, time in requests if not 500 * MS <= end % SECOND < 550 * MS or time > MS]
    completions = Completions.of([timeline(requests)], 200)
    assert share_in_pauses(completions, pauses, 0.99) == pytest.approx(0.15, abs=0.03)


def test_too_few_slow_requests_have_no_share() -> None:
    completions = Completions.of([timeline([(at * MS, MS) for at in range(900)])], 1)
    assert share_in_pauses(completions, [pause(500, 50)], 0.99) is None
    values = metrics(GcLog(pauses=(pause(500, 50),)), 1.0, completions)
    assert gc_pauses.IN_P99 not in values


def test_time_is_that_of_the_union_within_the_measurement() -> None:
    pauses = (pause(20, 40), pause(500, 100), pause(480, 50), pause(1030, 60), pause(2000, 10))
    log = GcLog(pauses=pauses)
    values = metrics(log, 1.0, None)
    assert values[gc_pauses.COUNT] == 3, "those that end in it"
    assert values[gc_pauses.TOTAL] == pytest.approx(140), "one is within another"
    assert values[gc_pauses.LONGEST] == 100
    assert values[gc_pauses.SHARE] == pytest.approx(0.02 + 0.1 + 0.03)
    begins, ends = stopped(pauses, 1.0)
    assert begins.tolist() == [0.0, 0.4, 0.97]
    assert ends.tolist() == [0.02, 0.5, 1.0]
    assert metrics(log, 0.0, None) == {}


def test_a_measurement_without_a_pause_has_zeros_and_no_rates() -> None:
    assert metrics(GcLog(), 10.0, None) == {
        gc_pauses.COUNT: 0, gc_pauses.TOTAL: 0, gc_pauses.LONGEST: 0, gc_pauses.SHARE: 0,
    }  # fmt: skip


def test_allocation_is_the_growth_between_collections() -> None:
    changes = (
        HeapChange(-1 * SECOND, 500, 100),
        HeapChange(1 * SECOND, 300, 50, promoted_bytes=5),
        HeapChange(2 * SECOND, 250, 60, allocated_bytes=40, promoted_bytes=15),
        HeapChange(3 * SECOND, 160, 70),
    )
    values = metrics(GcLog(changes=changes), 4.0, None)
    assert values[gc_pauses.ALLOCATION] == pytest.approx((200 + 40 + 100) / 2)
    assert values[gc_pauses.PROMOTION] == pytest.approx(20 / 4)


def test_rows_by_second() -> None:
    log = GcLog(
        pauses=(pause(-100, 5), pause(300, 20), pause(900, 30)),
        changes=(HeapChange(300 * MS, 100, 10), HeapChange(900 * MS, 60, 20)),
    )
    rows = dict(per_second(log, -1, 2))
    assert rows[0.0]["pause_ms"] == 5
    assert rows[1.0] == {
        "pauses": 2, "pause_ms": 50, "longest_pause_ms": 30, "heap_after_bytes": 20, "allocated_bytes": 50,
    }  # fmt: skip
    assert (rows[2.0]["pauses"], rows[2.0]["heap_after_bytes"]) == (0, None)


def test_a_full_collection_within_a_young_one_frees_the_memory_once() -> None:
    log = GcLog(
        pauses=(pause(500, 10), pause(1190, 80, kind="full"), pause(1200, 100), pause(1900, 10)),
        changes=(
            HeapChange(500 * MS, 300, 100, duration_ns=10 * MS),
            HeapChange(1190 * MS, 240, 50, duration_ns=80 * MS),
            HeapChange(1200 * MS, 240, 50, duration_ns=100 * MS),
            HeapChange(1900 * MS, 130, 60, duration_ns=10 * MS),
        ),
    )
    values = metrics(log, 2.0, None)
    assert values[gc_pauses.ALLOCATION] == pytest.approx((140 + 80) / 1.4)
    [_, second] = dict(per_second(log, 0, 2)).values()
    assert second["allocated_bytes"] == 140 + 80
    assert (second["pauses"], second["pause_ms"], second["longest_pause_ms"]) == (3, 110, 100)


def test_changes_without_pauses_enclose_none() -> None:
    changes = tuple(HeapChange(at * SECOND, 200, 100) for at in (1, 1, 3))
    assert metrics(GcLog(changes=changes), 4.0, None)[gc_pauses.ALLOCATION] == pytest.approx(100)
