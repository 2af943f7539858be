"""pgbench's logs: of every transaction (`-l`), and of intervals (`--aggregate-interval`).

They have gigabytes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable

from loadcell import _engine
from loadcell.ingest.base import Interval, Measured, NotItsOutputError, Reading, Unread
from loadcell.ingest.printed_numbers import integer
from loadcell.ingest.readers import Reader
from loadcell.ingest.series import Intervals, SecondSeries
from loadcell.ingest.text import Output
from loadcell.model.message import MessageCode

OUTPUT_PGBENCH_LOG = MessageCode("output.pgbench-log")

OUTPUT_PGBENCH_LOG_NONE_ENDED = MessageCode("output.pgbench-log.none-ended")

OUTPUT_PGBENCH_LOG_ALL_EMPTY = MessageCode("output.pgbench-log.all-empty")

NAME = "pgbench-log"

_TRANSACTION = re.compile(rb"\d{1,8} \d+ (?:\d+|[a-z]+) \d+ \d+ \d+(?: \d+)*\r?\n?")
_AGGREGATED = re.compile(rb"\d{9,} \d+ \d+ \d+ \d+ \d+")


def read_output(output: Output) -> Reading:
    """Either log. Lines that are none of it are unread."""
    first = output.first_line()
    if _AGGREGATED.match(first):
        return _aggregated(output.lines())
    if not _TRANSACTION.match(first):
        raise NotItsOutputError(OUTPUT_PGBENCH_LOG())
    return _transactions(output)


def _transactions(output: Output) -> Reading:
    """Read by the engine: they are counted and forgotten, and those that failed or were skipped by the words
    in place of their times.
    """
    document = json.loads(_engine.import_pgbench_log(list(output.files), output.on_event))
    count, words = document["count"], document["words"]
    if not count:
        raise NotItsOutputError(OUTPUT_PGBENCH_LOG_NONE_ENDED())
    length_s = document["length_s"]
    measured = Measured(
        "pgbench -l",
        "transaction",
        count / length_s if length_s else None,
        count,
        sum(words.values()),
        length_s,
        document["clients"],
        document["response"],
        {},
        {},
        words,
        Intervals.of_seconds(SecondSeries(**document["intervals"])),
        began_s=document["began_s"],
    )
    return Reading((measured,), document["unread"], tuple(document["examples"]))


def _aggregated(text: Iterable[str]) -> Reading:
    """start, transactions, sum and sum of squares of their times, least and most (us) [, of the lag] ..."""
    rows: list[list[int]] = []
    intervals, unread = Intervals(), Unread()
    count, total, squares, least, most = 0, 0, 0, None, 0
    began_s = ended_s = 0
    for line in text:
        fields = line.split()
        try:
            start, done, time_us, squares_us, low, high = map(integer, fields[:6])
        except ValueError:
            unread.add(line)
            continue
        began_s = began_s or start
        rows = [*rows[-1:], [start, done, time_us]]
        if len(rows) == 2 and rows[1][0] > rows[0][0]:
            intervals.append(_interval(rows[0], began_s, rows[1][0]))
        count, total, squares, most = count + done, total + time_us, squares + squares_us, max(most, high)
        least = low if least is None else min(least, low)
        width_s = rows[1][0] - rows[0][0] if len(rows) == 2 else 1
        ended_s = start + width_s
    if not count or least is None:
        raise NotItsOutputError(OUTPUT_PGBENCH_LOG_ALL_EMPTY())
    mean = total / count
    response = {
        "mean_ms": mean / 1e3, "min_ms": least / 1e3, "max_ms": most / 1e3,
        "stdev_ms": max(0.0, squares / count - mean**2) ** 0.5 / 1e3,
    }  # fmt: skip
    length_s = float(ended_s - began_s)
    measured = Measured(
        "pgbench --aggregate-interval",
        "transaction",
        count / length_s if length_s else None,
        count,
        None,
        length_s,
        None,
        response,
        {},
        {},
        {},
        intervals,
        began_s=float(began_s),
    )
    return unread.reading([measured])


def _interval(row: list[int], began_s: int, until_s: int) -> Interval:
    start, done, total = row
    width_s = until_s - start
    response = {"mean_ms": total / done / 1e3} if done else {}
    return Interval(float(start - began_s), float(width_s), done / width_s, None, response)


READER = Reader(
    NAME,
    read_output,
    # With several threads pgbench writes NAME.PID, NAME.PID.1 ...
    continuation=re.compile(r"(?P<first>.+\.\d+)\.\d+"),
    file_start=re.compile(rb"\d+ \d+ \S+ \d+ \d+ \d+"),
)
