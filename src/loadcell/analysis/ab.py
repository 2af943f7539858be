"""A trial of HTTP in the metrics of ApacheBench (ab), under its names and by its definitions, where those are
sound.

Complete requests are those whose response arrived whole, also with a status that is no success: what ab
counts. Requests per second = complete / T. Time per request (mean) = concurrency x T / complete, which is no
measured mean; the measured one stands beside it. Connect is the time from a request's beginning to its
connection, and 0 where it had one already; Waiting goes from the request being sent to the first byte;
Processing = Total - Connect, of which the mean is known, and every quantile where no connection was made.
Failed requests by what failed; statuses other than 2xx apart. A body that differs in length from the first
one is no failure, as it is in ab 2.4.

Pure functions of records and of histograms.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from statistics import median

import numpy as np
import numpy.typing as npt

from loadcell.analysis.trials import SCENARIO, in_flight
from loadcell.model.latency import Latency
from loadcell.model.trial_record import OperationStats, Totals, TrialRecord

#: The percentages of requests whose longest time ab tells.
SERVED = (50, 66, 75, 80, 90, 95, 98, 99, 100)
#: Which failures ab would count under which heading; all others are exceptions. A status is none.
_HEADINGS = {
    "refused": "connect", "ports": "connect", "descriptors": "connect", "tls": "connect",
    "reset": "receive", "connection": "receive", "timeout": "receive", "length": "length",
}  # fmt: skip
_STATUS = "http-"


@dataclass(frozen=True)
class Times:
    """Milliseconds, of all requests; None where unknown."""

    min_ms: float | None = None
    mean_ms: float | None = None
    stdev_ms: float | None = None
    median_ms: float | None = None
    max_ms: float | None = None


@dataclass(frozen=True)
class Ab:
    """Output that ab would print. Counts are of the measured window; rates are per second."""

    complete: float
    failed: float
    connect: float
    receive: float
    length: float
    exceptions: float
    non_2xx: float
    requests_per_s: float
    time_per_request_ms: float | None
    received_bytes_per_s: float
    times: Mapping[str, Times]


def of_record(record: TrialRecord) -> Ab | None:
    """Values that ab would print of a trial; None of one that is not HTTP or has no totals."""
    totals, window = record.totals, record.measure
    if totals is None or window is None or not window.duration_s:
        return None
    if "first_byte" not in record.operations or totals.statuses is None or record.unit == SCENARIO:
        return None  # the transactions of scenarios are several requests
    counts = {"connect": 0, "receive": 0, "length": 0, "exceptions": 0}
    for error in record.errors:
        if not error.code.startswith(_STATUS):
            counts[_HEADINGS.get(error.code, "exceptions")] += error.count
    complete, seconds = sum(totals.statuses.values()), window.duration_s
    # In an open loop connections rest between arrivals: that is no time of a request.
    clients = None if record.schedule else _clients(record)
    return Ab(
        complete=complete,
        failed=sum(counts.values()),
        **counts,
        non_2xx=complete - totals.statuses.get("2xx", 0),
        requests_per_s=complete / seconds,
        time_per_request_ms=clients * seconds * 1e3 / complete if clients and complete else None,
        received_bytes_per_s=totals.received_bytes_per_s or 0.0,
        times=_times(totals, record.operations),
    )


def _clients(record: TrialRecord) -> int | None:
    """Requests in progress at once: of all connections, with HTTP/2 several on each."""
    threads = record.client.threads if record.client else ()
    return sum(thread.connections or 0 for thread in threads) * in_flight(record) or None


def _times(totals: Totals, operations: Mapping[str, OperationStats]) -> dict[str, Times]:
    """The four rows of ab's table, of requests that succeeded."""
    total = _of(totals.service)
    connects = operations["connect"].service if "connect" in operations else None
    requests = (totals.service.count or 0) if totals.service else 0
    connect = _with_zeros(connects or Latency(), requests)
    processing = Times()
    if requests and not (connects and connects.count):
        processing = total  # no request waited for a connection
    elif total.mean_ms is not None and connect.mean_ms is not None:
        processing = Times(mean_ms=max(total.mean_ms - connect.mean_ms, 0.0))
    first_byte = operations["first_byte"].service if "first_byte" in operations else None
    return {"connect": connect, "processing": processing, "waiting": _of(first_byte), "total": total}


def _of(latency: Latency | None) -> Times:
    if latency is None:
        return Times()
    return Times(
        latency.min_ms, latency.mean_ms, latency.stdev_ms, latency.percentile_ms("50"), latency.max_ms
    )


def _with_zeros(connects: Latency, requests: int) -> Times:
    """Connect times over all requests; a request that needed no connection counts as 0."""
    count = min(connects.count or 0, requests)
    if not requests:
        return Times()
    if not count:
        return Times(0.0, 0.0, 0.0, 0.0, 0.0)
    share, mean, deviation = count / requests, connects.mean_ms or 0.0, connects.stdev_ms or 0.0
    all_of_them = share * mean
    spread = math.sqrt(max(share * (deviation**2 + mean**2) - all_of_them**2, 0.0))
    middle = connects.percentile_ms("50") if count == requests else (0.0 if share < 0.5 else None)
    lowest = connects.min_ms if count == requests else 0.0
    return Times(lowest, all_of_them, spread, middle, connects.max_ms)


def served(
    values: npt.NDArray[np.float64], counts: npt.NDArray[np.int64], longest: float = math.inf
) -> dict[int, float]:
    """Within which time each percentage of the requests was served: `values` rise, `counts` belong to them.

    Values are the upper ends of a histogram's cells, and none was served later than the `longest`.
    """
    if not counts.size:
        return {}
    reached = np.cumsum(counts)
    total = int(reached[-1])
    places = {percent: int(np.searchsorted(reached, math.ceil(total * percent / 100))) for percent in SERVED}
    return {
        percent: min(float(values[min(position, values.size - 1)]), longest)
        for percent, position in places.items()
    }


def middle(records: Sequence[Ab]) -> Ab:
    """The median over repeats of every figure."""
    plain = {
        field.name: _median(getattr(ab, field.name) for ab in records)
        for field in fields(Ab)
        if field.name != "times"
    }
    times = {
        row: Times(
            *(_median(getattr(ab.times[row], field.name) for ab in records) for field in fields(Times))
        )
        for row in records[0].times
    }
    return Ab(**plain, times=times)  # type: ignore[arg-type]


def middle_served(records: Sequence[Mapping[int, float]]) -> dict[int, float]:
    """The same of the times within which requests were served."""
    nonempty = [record for record in records if record]
    return {percent: median(record[percent] for record in nonempty) for percent in SERVED} if nonempty else {}


def _median(values: Iterable[float | None]) -> float | None:
    numbers = [value for value in values if value is not None]
    return median(numbers) if numbers else None
