"""BenchmarkSQL 5's result.csv: every transaction of TPC-C, with its end, its time and its type."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from loadcell.tools.base import Measured, NotItsOutputError, Part, Reading, Unread
from loadcell.tools.blocks import batches
from loadcell.tools.columns import columns, lines_of

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from loadcell.tools.ledger import Ledger, Times, Whole

NAME = "benchmarksql"

HEAD = b"run,elapsed,latency,dblatency,ttype,rbk,dskipped,error"
_BOM = b"\xef\xbb\xbf"
_COLUMNS = ("run", "elapsed", "latency", "dblatency", "ttype", "rbk", "dskipped", "error")
_USED = ("run", "elapsed", "latency", "ttype", "rbk", "error")
NEW_ORDER = "NEW_ORDER"
_TYPES = (NEW_ORDER, "PAYMENT", "ORDER_STATUS", "STOCK_LEVEL", "DELIVERY")
#: The deferred part of a delivery: BenchmarkSQL gives it a row of its own and counts it in nothing.
_DEFERRED = "DELIVERY_BG"
_NUMBERS = {name: number for number, name in enumerate((*_TYPES, _DEFERRED))}


def read(text: Iterable[str]) -> Reading:
    """From its lines."""
    return read_blocks(batches(text))


def read_blocks(parts: Iterable[bytes]) -> Reading:
    """An execution for each `run` in the table; rows that are none of it are unread."""
    runs: dict[int, _Run] = {}
    unread = Unread()
    begun = False
    for part in parts:
        if not begun:
            begun = True
            if not part.lstrip(_BOM).startswith(HEAD):
                raise NotItsOutputError(f"its first line is not `{HEAD.decode()}`")
        _take(part, runs, unread)
    if not begun:
        raise NotItsOutputError("it is empty")
    return unread.reading([measured for run in runs.values() if (measured := run.measured()) is not None])


def _take(part: bytes, runs: dict[int, _Run], unread: Unread) -> None:
    import polars as pl

    schema = {name: pl.Enum(list(_NUMBERS)) if name == "ttype" else pl.Int64 for name in _COLUMNS}
    body = part[part.find(b"\n") + 1 :] if part.lstrip(_BOM).startswith(HEAD) else part
    if not body.strip():
        return
    frame = columns(body, schema, _USED, ",")
    if sum(frame.null_count().row(0)):
        whole = frame.select(pl.all_horizontal(pl.all().is_not_null())).to_series()
        _odd_lines(lines_of(body, ~whole), unread)
        frame = frame.filter(whole)
        if frame.is_empty():
            return
    table = _Rows(
        run=frame["run"].to_numpy(),
        elapsed=frame["elapsed"].to_numpy(),
        latency=frame["latency"].to_numpy(),
        back=frame["rbk"].to_numpy(),
        error=frame["error"].to_numpy(),
        type=frame["ttype"].to_physical().to_numpy(),
    )
    well = (table.elapsed >= 0) & (table.latency >= 0)
    if not well.all():
        unread.more(int((~well).sum()))
        table = table.only(well)
    first = int(table.run[0]) if len(table.run) else 0
    if (table.run == first).all():
        runs.setdefault(first, _Run()).take(table)
    else:
        for number in dict.fromkeys(table.run.tolist()):
            runs.setdefault(number, _Run()).take(table.only(table.run == number))


def _odd_lines(rows: Iterable[bytes], unread: Unread) -> None:
    for row in rows:
        if not row.lstrip(_BOM).startswith(HEAD):  # the head of a further table within the file
            unread.add(row.decode("utf-8", "replace"))


class _Rows(NamedTuple):
    """Columns of some rows; `type` by its number."""

    run: Whole
    elapsed: Whole
    latency: Whole
    back: Whole
    error: Whole
    type: Whole

    def only(self, which: npt.NDArray[np.bool_]) -> _Rows:
        """Some of them."""
        return _Rows(*(column[which] for column in self))


class _Run:
    """One execution of BenchmarkSQL."""

    def __init__(self) -> None:
        from loadcell.tools.ledger import Ledger, Times

        # Elapsed counts from the session's start, when all terminals began.
        self.all: Ledger = Ledger(ticks_per_ms=1, base_s=0.0)
        self.types: dict[str, Times] = {name: Times(ticks_per_ms=1) for name in _TYPES}
        self.rolled_back: Times = Times(ticks_per_ms=1)
        self.failed: dict[str, int] = dict.fromkeys(_TYPES, 0)
        self.ended_s = 0.0

    def take(self, rows: _Rows) -> None:
        """More rows of it."""
        if not len(rows.run):
            return
        self.ended_s = max(self.ended_s, float(rows.elapsed.max()) / 1e3)
        counted = (rows.type != _NUMBERS[_DEFERRED]) & (rows.error == 0)
        if rows.error.any():
            for number, name in enumerate(_TYPES):
                self.failed[name] += int(((rows.type == number) & (rows.error != 0)).sum())
        ended = rows.only(counted)
        self.all.add(ended.elapsed / 1e3, ended.latency)
        for number, times in enumerate(self.types.values()):
            times.add(ended.latency[ended.type == number])
        self.rolled_back.add(ended.latency[ended.back != 0])

    def measured(self) -> Measured | None:
        """tpmC: New-Orders that were committed, or rolled back as specified, a minute. None where nothing ended."""
        times, seconds = self.all.times, self.ended_s
        if not times.count or not seconds:
            return None
        failed = sum(self.failed.values())
        figures = {
            "tpmC": self.types[NEW_ORDER].count * 60 / seconds, "tpmTotal": times.count * 60 / seconds,
        }  # fmt: skip
        parts: dict[str, Any] = {
            name.lower(): Part(own.count, self.failed[name], own.response())
            for name, own in self.types.items()
            if own.count or self.failed[name]
        }
        if self.rolled_back.count:
            back = self.rolled_back
            parts["new_order_rolled_back"] = Part(back.count, 0, back.response(), kind="outcome")
        return Measured(
            "tpcc", "transaction", times.count / seconds, times.count, failed, seconds, None, times.response(), figures, {},
            {"error": failed} if failed else {}, self.all.intervals(), parts,
        )  # fmt: skip
