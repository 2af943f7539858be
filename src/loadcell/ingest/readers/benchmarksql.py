"""BenchmarkSQL 5's result.csv: every transaction of TPC-C, with its end, its time and its type."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import TYPE_CHECKING

from loadcell.ingest.base import Measured, NotItsOutputError, Part, Reading
from loadcell.ingest.messages import OUTPUT_BENCHMARKSQL
from loadcell.ingest.reader import Reader
from loadcell.ingest.series import Intervals, SecondSeries
from loadcell.ingest.text_blocks import Output

if TYPE_CHECKING:
    from loadcell.model.json import JsonObject

NAME = "benchmarksql"

HEAD = b"run,elapsed,latency,dblatency,ttype,rbk,dskipped,error"
_BOM = b"\xef\xbb\xbf"
NEW_ORDER = "NEW_ORDER"
#: In the order of the specification.
_TYPES = (NEW_ORDER, "PAYMENT", "ORDER_STATUS", "STOCK_LEVEL", "DELIVERY")


def read(text: Iterable[str]) -> Reading:
    """From its lines: of a command that has just ended."""
    with NamedTemporaryFile("w", encoding="utf-8") as file:
        file.writelines(text)
        file.flush()
        return read_output(Output((Path(file.name),)))


def read_output(output: Output) -> Reading:
    """An execution for each `run` in the table; rows that are none of it are unread."""
    if not output.first_line().removeprefix(_BOM).startswith(HEAD):
        raise NotItsOutputError(OUTPUT_BENCHMARKSQL(head=HEAD.decode()))
    from loadcell import _engine

    document = json.loads(_engine.import_benchmarksql(list(output.files), output.on_event))
    measured = tuple(_measured(run) for run in document["runs"] if run["count"] and run["ended_s"])
    return Reading(measured, document["unread"], tuple(document["examples"]))


def _measured(run: JsonObject) -> Measured:
    """tpmC: New-Orders that were committed, or rolled back as specified, a minute."""
    seconds, count, failed = run["ended_s"], run["count"], run["failed"]
    figures = {"tpmC": run["types"][NEW_ORDER]["count"] * 60 / seconds, "tpmTotal": count * 60 / seconds}
    parts = {
        name.lower(): Part(stats["count"], stats["failed"], stats["response"])
        for name, stats in ((name, run["types"][name]) for name in _TYPES)
        if stats["count"] or stats["failed"]
    }
    back = run["rolled_back"]
    if back["count"]:
        parts["new_order_rolled_back"] = Part(back["count"], 0, back["response"], kind="outcome")
    return Measured(
        "tpcc", "transaction", count / seconds, count, failed, seconds, None, run["response"], figures, {},
        {"error": failed} if failed else {}, Intervals.of_seconds(SecondSeries(**run["intervals"])), parts,
    )  # fmt: skip


READER = Reader(
    NAME,
    read_output,
    file_start=re.compile(rb"(?:\xef\xbb\xbf)?run,elapsed,latency,dblatency,"),
)
