"""pgbench's logs: of every transaction (`-l`), and of intervals (`--aggregate-interval`). They have gigabytes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from loadcell.tools.base import Interval, Measured, NotItsOutputError, Reading, Unread
from loadcell.tools.blocks import batches, lines
from loadcell.tools.columns import columns, lines_of
from loadcell.tools.series import Intervals

NAME = "pgbench-log"

_TRANSACTION = re.compile(rb"\d{1,8} \d+ (?:\d+|[a-z]+) \d+ \d+ \d+(?: \d+)*\r?\n?")
_AGGREGATED = re.compile(rb"\d{9,} \d+ \d+ \d+ \d+ \d+")
_NAMES = ("client", "number", "time", "script", "second", "microsecond")
_USED = ("client", "time", "second", "microsecond")
#: A run has no more clients than this; a larger number is no client.
_MOST_CLIENTS = 2**20


def read(text: Iterable[str]) -> Reading:
    """Either log from its lines."""
    return read_blocks(batches(text))


def read_blocks(parts: Iterable[bytes]) -> Reading:
    """Either log from blocks of whole lines. Lines that are none of the log are unread."""
    given = iter(parts)
    first = next(given, b"")
    if _AGGREGATED.match(first):
        return _aggregated(lines(_again(first, given)))
    if not _TRANSACTION.match(first):
        raise NotItsOutputError("no line of six numbers, as `pgbench -l` writes")
    return _transactions(_again(first, given), wide=len(first.partition(b"\n")[0].split()))


def _again(first: bytes, rest: Iterable[bytes]) -> Iterable[bytes]:
    yield first
    yield from rest


def _transactions(parts: Iterable[bytes], wide: int) -> Reading:
    """client, number, time (us, or a word), script, second, microsecond [, lag [, retries]]."""
    import numpy as np
    import polars as pl

    from loadcell.tools.ledger import Ledger

    ledger, words, unread = Ledger(ticks_per_ms=1000), Counter[str](), Unread()
    clients = np.zeros(1, dtype=bool)
    names = [*_NAMES, *(f"more{number}" for number in range(wide - len(_NAMES)))]
    for part in parts:
        frame = columns(part, dict.fromkeys(names, pl.Int64), _USED, " ")
        odd = frame.select(pl.any_horizontal(pl.all().is_null())).to_series()
        if odd.any():
            _odd_lines(lines_of(part, odd), words, unread)
            frame = frame.filter(~odd)
        if frame.is_empty():
            continue
        ticks = frame["time"].to_numpy()
        who = frame["client"].to_numpy()
        well = (ticks >= 0) & (who >= 0) & (who < _MOST_CLIENTS)
        ends = frame["second"].to_numpy() + frame["microsecond"].to_numpy() * 1e-6
        if not well.all():
            unread.more(int((~well).sum()))
            ticks, who, ends = ticks[well], who[well], ends[well]
        if not len(ticks):
            continue
        seen = np.bincount(who) > 0
        if len(seen) > len(clients):
            seen[: len(clients)] |= clients
            clients = seen
        else:
            clients[: len(seen)] |= seen
        ledger.add(ends, ticks)
    if not ledger.times.count:
        raise NotItsOutputError("no transaction in the log ended")
    length_s, count = ledger.length_s, ledger.times.count
    measured = Measured(
        "pgbench -l", "transaction", count / length_s if length_s else None, count, words.total(), length_s,
        int(clients.sum()), ledger.times.response(), {}, {}, dict(words), ledger.intervals(), began_s=ledger.begun_s,
    )  # fmt: skip
    return unread.reading([measured])


def _odd_lines(rows: Iterable[bytes], words: Counter[str], unread: Unread) -> None:
    """Those of transactions that failed or were skipped, by the word in place of their time; others are unread."""
    for row in rows:
        fields = row.split()
        if _TRANSACTION.fullmatch(row.strip()) is None:
            unread.add(row.decode("utf-8", "replace"))
        elif not fields[2].isdigit():
            words[fields[2].decode()] += 1


def _aggregated(text: Iterable[str]) -> Reading:
    """start, transactions, sum and sum of squares of their times, least and most (us) [, of the lag] ..."""
    rows: list[list[int]] = []
    intervals, unread = Intervals(), Unread()
    count, total, squares, least, most = 0, 0, 0, None, 0
    began_s = ended_s = 0
    for line in text:
        fields = line.split()
        if len(fields) < 6 or not all(field.isdecimal() for field in fields[:6]):
            unread.add(line)
            continue
        start, done, own, own_squares, low, high = map(int, fields[:6])
        began_s = began_s or start
        rows = [*rows[-1:], [start, done, own]]
        if len(rows) == 2 and rows[1][0] > rows[0][0]:
            intervals.append(_interval(rows[0], began_s, rows[1][0]))
        count, total, squares, most = count + done, total + own, squares + own_squares, max(most, high)
        least = low if least is None else min(least, low)
        width_s = rows[1][0] - rows[0][0] if len(rows) == 2 else 1
        ended_s = start + width_s
    if not count or least is None:
        raise NotItsOutputError("no interval of the log has a transaction")
    mean = total / count
    response = {
        "mean_ms": mean / 1e3, "min_ms": least / 1e3, "max_ms": most / 1e3,
        "stdev_ms": max(0.0, squares / count - mean**2) ** 0.5 / 1e3,
    }  # fmt: skip
    length_s = float(ended_s - began_s)
    measured = Measured(
        "pgbench --aggregate-interval", "transaction", count / length_s, count, None, length_s, None, response, {}, {}, {},
        intervals, began_s=float(began_s),
    )  # fmt: skip
    return unread.reading([measured])


def _interval(row: list[int], began_s: int, until_s: int) -> Interval:
    start, done, total = row
    width_s = until_s - start
    response = {"mean_ms": total / done / 1e3} if done else {}
    return Interval(float(start - began_s), float(width_s), done / width_s, None, response)
