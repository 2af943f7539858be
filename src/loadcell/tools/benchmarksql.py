"""BenchmarkSQL 5's result.csv: every transaction of TPC-C, with its end, its time and its type."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from loadcell.tools.base import Measured, NotItsOutputError, Part, Reading, Unread
from loadcell.tools.blocks import batches
from loadcell.tools.columns import columns, lines_of

if TYPE_CHECKING:
    import polars as pl

    from loadcell.tools.ledger import Ledger, Times

NAME = "benchmarksql"

HEAD = b"run,elapsed,latency,dblatency,ttype,rbk,dskipped,error"
_BOM = b"\xef\xbb\xbf"
_COLUMNS = ("run", "elapsed", "latency", "dblatency", "ttype", "rbk", "dskipped", "error")
_USED = ("run", "elapsed", "latency", "ttype", "rbk", "error")
NEW_ORDER = "NEW_ORDER"
_TYPES = (NEW_ORDER, "PAYMENT", "ORDER_STATUS", "STOCK_LEVEL", "DELIVERY")
#: The deferred part of a delivery: BenchmarkSQL gives it a row of its own and counts it in nothing.
_DEFERRED = "DELIVERY_BG"


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

    schema = {name: pl.String if name == "ttype" else pl.Int64 for name in _COLUMNS}
    frame = columns(part, schema, _USED, ",")
    known = pl.col("ttype").is_in([*_TYPES, _DEFERRED])
    whole = (
        known
        & pl.all_horizontal(pl.col(name).is_not_null() for name in _USED)
        & (pl.col("elapsed") >= 0)
        & (pl.col("latency") >= 0)
    )
    well = frame.select(whole.fill_null(value=False)).to_series()
    if not well.all():
        for row in lines_of(part, ~well):
            if not row.lstrip(_BOM).startswith(HEAD):  # the head of a further table within the file
                unread.add(row.decode("utf-8", "replace"))
        frame = frame.filter(well)
    numbers = frame["run"].unique(maintain_order=True).to_list()
    for number in numbers:
        own = frame if len(numbers) == 1 else frame.filter(pl.col("run") == number)
        runs.setdefault(number, _Run()).take(own)


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

    def take(self, frame: pl.DataFrame) -> None:
        """More rows of it."""
        import polars as pl

        self.ended_s = max(self.ended_s, float(frame["elapsed"].max()) / 1e3)  # type: ignore[arg-type]
        frame = frame.filter(pl.col("ttype") != _DEFERRED)
        lost = frame["error"] != 0
        if lost.any():
            for name, count in frame.filter(lost)["ttype"].value_counts().iter_rows():
                self.failed[name] += count
            frame = frame.filter(~lost)
        ticks = frame["latency"].to_numpy()
        self.all.add(frame["elapsed"].to_numpy() / 1e3, ticks)
        for name, times in self.types.items():
            times.add(ticks[(frame["ttype"] == name).to_numpy()])
        back = frame["rbk"].to_numpy() != 0
        if back.any():
            self.rolled_back.add(ticks[back])

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
