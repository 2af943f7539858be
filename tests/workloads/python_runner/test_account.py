"""The account of a load of Python: the time of the clients is in their calls, or they rest."""

from __future__ import annotations

import time

import pytest

from loadcell.execution.checks import littles_law
from loadcell.model.json import JsonObject, convert
from loadcell.model.load_result import LoadResult
from loadcell.workloads.python_runner.account import Account, Clock

SAMPLE_NS, CALLS = 10**6, 10_000
#: One sample of each hundred was interrupted, and took this many times as long.
INTERRUPTED = 20
LOAD = {"clients": 1, "schedule": None, "warmup_ns": 0, "interval_ns": 10**8}


def result(overhead_ns: float, *, failed: bool = False) -> LoadResult:
    """The result of samples of 100 ns a call, by a loop that takes `overhead_ns` without the function."""
    account = Account(LOAD, Clock(0), 1)
    ready: JsonObject = {"type": "ready", "process": 1, "calls": CALLS, "overhead_ns": overhead_ns}
    assert account.take(ready, lambda _: None)
    start_ns = time.monotonic_ns()
    account.begin(start_ns)
    begin_ns = start_ns
    for number in range(100):
        took_ns = SAMPLE_NS * (INTERRUPTED if number == 50 else 1)
        fails = failed and number % 2 == 0
        sample = [begin_ns, begin_ns + took_ns, None, CALLS - fails, fails]
        account.take({"type": "samples", "client": 0, "samples": [sample]}, lambda _: None)
        begin_ns += 2 * took_ns  # the harness reports, and measures its overhead
    usage: JsonObject = {"resident_bytes": 1, "peak_bytes": 1, "grown_bytes": 0}
    account.take({"type": "end", **usage}, lambda _: None)
    return convert(LoadResult, account.result(0.1, lambda _: None))


@pytest.mark.parametrize("overhead_ns", [0.0, 60.0, 99.0, 103.0, 130.0])
@pytest.mark.parametrize("failed", [False, True], ids=["succeed", "fail"])
def test_calls_and_rests_add_up_whatever_the_overhead(overhead_ns: float, failed: bool) -> None:
    """Also of an empty function whose overhead was measured while the machine was busy."""
    record = result(overhead_ns, failed=failed)
    check = littles_law(record, record.seconds, clients=1)
    assert check.verdict == "ok", check.detail
