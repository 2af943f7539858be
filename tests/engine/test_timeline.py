"""Timeline of a load, on request: completions in slots of 10 ms, and slow requests."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

from loadcell import _engine
from loadcell.model.json import convert
from loadcell.model.load_result import LoadResult
from loadcell.model.timeline import SLOT_NS, Timeline
from specifications import complete

MS = 1_000_000


def timelines(
    client: Callable[[int, _engine.Recording], Callable[[], object]], **load: Any
) -> tuple[tuple[Timeline, ...], LoadResult]:
    """The timelines of a load of calls, and its result."""
    specification = complete(
        {
            "version": 1,
            "seed": 1,
            "target": {"protocol": "calls"},
            "workload": {"calls": {"operations": []}},
            "load": {"clients": 2, "warmup_ns": 105 * MS, "duration_ns": 400 * MS, **load},
        }
    )
    text = _engine.run_calls(json.dumps(specification), lambda _: None, client)
    result = convert(LoadResult, json.loads(text))
    return result.timelines, result


def test_a_load_has_no_timeline_unless_it_is_asked_for() -> None:
    lines, _ = timelines(lambda _number, _recording: lambda: time.sleep(0.002))
    assert lines == ()


def test_slots_have_every_completion() -> None:
    def client(number: int, _: _engine.Recording) -> Callable[[], object]:
        def call() -> None:
            time.sleep(0.003)
            if number == 1:
                raise ValueError("no")

        return call

    [line], result = timelines(client, timeline=True)
    slots = line.slots
    measured = [number for number, start_ns in enumerate(slots.start_ns) if start_ns >= 0]
    transaction = result.transaction
    assert transaction is not None
    assert sum(slots.succeeded[number] for number in measured) == transaction.succeeded
    failed = sum(count for number in measured for _, count in slots.errors[number])
    assert failed == transaction.failed
    assert {code for errors in slots.errors for code, _ in errors} == {"ValueError"}
    assert all(slots.start_ns[number] % SLOT_NS == 0 for number in measured)
    assert min(slots.start_ns) < 0, "the warm-up, too"
    for number, start_ns in enumerate(slots.start_ns):
        first_ns, last_ns = slots.first_ns[number], slots.last_ns[number]
        assert sum(count for _, count in slots.response_ns[number]) == slots.succeeded[number]
        if first_ns is not None and last_ns is not None:
            assert start_ns <= first_ns <= last_ns < start_ns + SLOT_NS
            assert max(limit for limit, _ in slots.response_ns[number]) >= slots.slowest_ns[number]
    assert line.slow == ()


def test_slow_requests_are_listed_by_their_service_time() -> None:
    def client(number: int, _: _engine.Recording) -> Callable[[], object]:
        return lambda: time.sleep(1.05 if number == 1 else 0.01)

    [line], _ = timelines(client, timeline=True, warmup_ns=0, duration_ns=1500 * MS)
    [first, *_] = line.slow
    assert (first.client, first.outcome) == (1, "ok")
    assert 1000 * MS <= first.end_ns - first.start_ns < 1500 * MS
    assert {request.client for request in line.slow} == {1}
