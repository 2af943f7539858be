"""A trial of HTTP in the figures that ApacheBench (ab) prints, under its names and by its definitions, where those are sound.

Complete requests are those whose response arrived whole, also with a status that is no success: what ab counts. Requests per second =
complete / T. Time per request (mean) = concurrency x T / complete, which is no measured mean; the measured one stands
beside it. Connect is the time from a request's beginning to its connection, and 0 where it had one already; Waiting goes from
the request being sent to the first byte; Processing = Total - Connect, of which the mean can be told, and all of it where no connection was made. Failed requests by what
failed; statuses other than 2xx apart. A body that differs in length from the first one is no failure, as it is in ab 2.4.

Pure functions of records and of histograms.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from statistics import median
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

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
    """Milliseconds, of all requests; None where it cannot be told."""

    min_ms: float | None = None
    mean_ms: float | None = None
    stdev_ms: float | None = None
    median_ms: float | None = None
    max_ms: float | None = None


@dataclass(frozen=True)
class Ab:
    """What ab would print. Counts are of the measured window; rates a second."""

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


def of_record(record: Mapping[str, Any]) -> Ab | None:
    """The figures of one trial.json; None where the trial was none of HTTP, or has no figures."""
    totals, operations = record.get("totals") or {}, record.get("operations") or {}
    statuses, seconds = totals.get("statuses"), (record.get("measure") or {}).get("duration_s")
    if "first_byte" not in operations or statuses is None or not seconds:
        return None
    counts = {"connect": 0, "receive": 0, "length": 0, "exceptions": 0}
    for error in record.get("errors") or ():
        code = str(error["code"])
        if not code.startswith(_STATUS):
            counts[_HEADINGS.get(code, "exceptions")] += error["count"]
    complete = sum(statuses.values())
    # In an open loop connections rest between what is due: that is no time of a request.
    clients = None if record.get("schedule") else _clients(record)
    return Ab(
        complete=complete,
        failed=sum(counts.values()),
        **counts,
        non_2xx=complete - statuses.get("2xx", 0),
        requests_per_s=complete / seconds,
        time_per_request_ms=clients * seconds * 1e3 / complete if clients and complete else None,
        received_bytes_per_s=totals.get("received_bytes_per_s") or 0.0,
        times=_times(totals, operations),
    )


def _clients(record: Mapping[str, Any]) -> int | None:
    """How many requests are in progress at once: those of all connections, with HTTP/2 several on each."""
    threads = (record.get("client") or {}).get("threads") or ()
    http = ((record.get("settings") or {}).get("workload") or {}).get("http") or {}
    return sum(thread.get("connections") or 0 for thread in threads) * (http.get("streams") or 1) or None


def _times(totals: Mapping[str, Any], operations: Mapping[str, Any]) -> dict[str, Times]:
    """The four rows of ab's table, of requests that succeeded."""
    total = _of(totals.get("service"))
    made = (operations.get("connect") or {}).get("service") or {}
    requests = (totals.get("service") or {}).get("count", 0)
    connect = _with_zeros(made, requests)
    processing = Times()
    if requests and not made.get("count"):
        processing = total  # no request had to wait for a connection of its own
    elif total.mean_ms is not None and connect.mean_ms is not None:
        processing = Times(mean_ms=max(total.mean_ms - connect.mean_ms, 0.0))
    waiting = _of((operations.get("first_byte") or {}).get("service"))
    return {"connect": connect, "processing": processing, "waiting": waiting, "total": total}


def _of(figures: Mapping[str, Any] | None) -> Times:
    if not figures:
        return Times()
    return Times(
        figures.get("min_ms"),
        figures.get("mean_ms"),
        figures.get("stdev_ms"),
        figures.get("p50_ms"),
        figures.get("max_ms"),
    )


def _with_zeros(made: Mapping[str, Any], requests: int) -> Times:
    """Times of connections that were made, over all requests: those that needed none took 0."""
    count = min(made.get("count", 0), requests)
    if not requests:
        return Times()
    if not count:
        return Times(0.0, 0.0, 0.0, 0.0, 0.0)
    share, mean, deviation = count / requests, made["mean_ms"], made.get("stdev_ms") or 0.0
    all_of_them = share * mean
    spread = math.sqrt(max(share * (deviation**2 + mean**2) - all_of_them**2, 0.0))
    middle = made.get("p50_ms") if count == requests else (0.0 if share < 0.5 else None)
    return Times(made["min_ms"] if count == requests else 0.0, all_of_them, spread, middle, made["max_ms"])


def served(
    values: npt.NDArray[np.float64], counts: npt.NDArray[np.int64], longest: float = math.inf
) -> dict[int, float]:
    """Within which time each percentage of the requests was served: `values` rise, `counts` belong to them.

    Values are the upper ends of a histogram's cells, and none was served later than the `longest`.
    """
    import numpy as np

    if not counts.size:
        return {}
    reached = np.cumsum(counts)
    total = int(reached[-1])
    places = {each: int(np.searchsorted(reached, math.ceil(total * each / 100))) for each in SERVED}
    return {each: min(float(values[min(place, values.size - 1)]), longest) for each, place in places.items()}


def middle(each: Sequence[Ab]) -> Ab:
    """The median over repeats of every figure."""
    plain = {
        one.name: _median(getattr(ab, one.name) for ab in each) for one in fields(Ab) if one.name != "times"
    }
    times = {
        row: Times(*(_median(getattr(ab.times[row], one.name) for ab in each) for one in fields(Times)))
        for row in each[0].times
    }
    return Ab(**plain, times=times)  # type: ignore[arg-type]


def middle_served(each: Sequence[Mapping[int, float]]) -> dict[int, float]:
    """The same of the times within which requests were served."""
    found = [one for one in each if one]
    return {percent: median(one[percent] for one in found) for percent in SERVED} if found else {}


def _median(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return median(known) if known else None
