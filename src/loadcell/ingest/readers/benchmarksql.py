"""BenchmarkSQL: of version 5 result.csv with every transaction, and the files beside it; or the printed text.

Settings are in runInfo.csv and run.properties; its collector samples the machine of the database in
sys_info.csv, and in a file for each disk and network interface. The printed text has the properties at its
start, and rates, session and count at its end; many users have nothing else.
"""

from __future__ import annotations

import csv
import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from loadcell import _engine
from loadcell.ingest.base import (
    MOST_SHOWN,
    OUTPUT_CUT_SHORT,
    Measured,
    NotItsOutputError,
    Part,
    Reading,
    Samples,
    Source,
    TooManyError,
    Unread,
    understood,
)
from loadcell.ingest.checks import counted_rate
from loadcell.ingest.printed_numbers import integer, number, real
from loadcell.ingest.readers import Reader
from loadcell.ingest.series import Intervals, SecondSeries
from loadcell.ingest.text import Output, java_properties
from loadcell.linux.host_counters import NOT_DISKS, names_virtual_link
from loadcell.model.message import Count, MessageCode
from loadcell.monitors import host

if TYPE_CHECKING:
    from loadcell.model.json import JsonObject

OUTPUT_BENCHMARKSQL = MessageCode("output.benchmarksql", head=str)
COLLECTED_AMBIGUOUS = MessageCode("collected.ambiguous", file=str, count=Count)

#: Part of every line that the benchmark prints of itself, from version 3 on.
SIGN = b"Measured tpmTOTAL = "
_LINE = re.compile(r".*?Term-00, ?(?P<text>.*)$")
_PRINTED_RESULT = re.compile(
    r"(?P<name>Measured tpmC \(NewOrders\)|Measured tpmTOTAL|Transaction Count)\s*= (?P<value>\S+)"
)
_SESSION = re.compile(r"Session (?P<name>Start|End)\s*= (?P<value>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)\s*$")
_PROPERTY = re.compile(r"(?P<name>\w+)=(?P<value>.*)$")
#: Ends of a session are printed in whole seconds.
_TIME_ROUNDING_S = 1.0
_LAST = "Transaction Count"
_TERMINALS = "terminals"
_SETTINGS = {
    "db": "db",
    "warehouses": "warehouses",
    "runMins": "run_minutes",
    "runTxnsPerTerminal": "transactions_per_terminal",
    "limitTxnsPerMin": "limit_txns_per_min",
}


def read(lines: Iterable[str]) -> Reading:
    """Each execution: that of a text without a count ends where the next one begins, or the text."""
    unread = Unread()
    measured: list[Measured] = []
    current = _Execution()
    for line in lines:
        match = _LINE.match(line)
        text = match["text"].strip() if match else line.strip()
        if current.counted or (current.rates and _PROPERTY.match(text)):
            measured.append(current.measured())
            current = _Execution()
        if not understood(current.take, text) and match is None:
            unread.add(line)
    if current.rates:
        measured.append(current.measured())
    elif current.settings:
        unread.add(OUTPUT_CUT_SHORT(execution="benchmarksql"))
    return unread.reading(measured)


class _Execution:
    def __init__(self) -> None:
        self.rates: dict[str, float] = {}
        self.session: dict[str, datetime] = {}
        self.settings: dict[str, str | int | float] = {}
        self.clients: int | None = None
        self.count: int | None = None

    @property
    def counted(self) -> bool:
        """True after the last line of a summary."""
        return self.count is not None and bool(self.rates)

    def take(self, text: str) -> bool:
        """True if the text of a line was understood. Raises ValueError."""
        if (match := _PRINTED_RESULT.match(text)) is not None:
            if match["name"] == _LAST:
                self.count = integer(match["value"])
            else:
                name = "tpmC" if "tpmC" in match["name"] else "tpmTotal"
                self.rates[name] = number(match["value"])
        elif (match := _SESSION.match(text)) is not None:
            self.session[match["name"]] = datetime.fromisoformat(match["value"])
        elif (match := _PROPERTY.match(text)) is not None:
            if match["name"] == _TERMINALS:
                self.clients = integer(match["value"])
            elif match["name"] in _SETTINGS:
                value = match["value"].strip()
                self.settings[_SETTINGS[match["name"]]] = integer(value) if value.isdecimal() else value
        else:
            return False
        return True

    def measured(self) -> Measured:
        """The time is that between start and end of the session, in the clock of its machine."""
        start, end = self.session.get("Start"), self.session.get("End")
        length_s = (end - start).total_seconds() if start and end else None
        total = self.rates.get("tpmTotal")
        per_min = (
            ()
            if total is None
            else counted_rate("Transaction Count/session", self.count, length_s, _TIME_ROUNDING_S)
        )
        return Measured(
            "tpcc",
            "transaction",
            None if total is None else total / 60,
            self.count,
            None,
            length_s or None,
            self.clients,
            figures=self.rates,
            settings=self.settings,
            began_s=start.timestamp() if start else None,
            printed=per_min,
        )


NAME = "benchmarksql"

HEAD = b"run,elapsed,latency,dblatency,ttype,rbk,dskipped,error"
_BOM = b"\xef\xbb\xbf"
NEW_ORDER = "NEW_ORDER"
#: In the order of the specification.
_TYPES = (NEW_ORDER, "PAYMENT", "ORDER_STATUS", "STOCK_LEVEL", "DELIVERY")


def read_output(output: Output) -> Reading:
    """An execution for each `run` in the table, of which other rows are unread; else the printed ones."""
    if not output.first_line().removeprefix(_BOM).startswith(HEAD):
        if any(SIGN in block for block in output.blocks()):
            return read(output.lines())
        raise NotItsOutputError(OUTPUT_BENCHMARKSQL(head=HEAD.decode()))
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


#: Files of the folder that `runBenchmark.sh` makes; the others lie beside the first.
_RESULT, _INFO, _PROPERTIES = Path("data/result.csv"), "runInfo.csv", "run.properties"
#: What its collector sampled: beside result.csv, where `osCollectorScript` was set.
COLLECTED = ("sys_info.csv", "blk_*.csv", "net_*.csv")
#: Properties that say what was run. Who ran it, with which password, is nobody's business.
_PROPERTY_SETTINGS = {
    "db": "db",
    "warehouses": "warehouses",
    "terminals": "terminals",
    "runMins": "run_minutes",
    "runTxnsPerTerminal": "transactions_per_terminal",
    "loadWorkers": "load_workers",
    "limitTxnsPerMin": "limit_txns_per_min",
    "terminalWarehouseFixed": "terminal_warehouse_fixed",
    "newOrderWeight": "new_order_weight",
    "paymentWeight": "payment_weight",
    "orderStatusWeight": "order_status_weight",
    "deliveryWeight": "delivery_weight",
    "stockLevelWeight": "stock_level_weight",
}
#: The same in runInfo.csv, for a folder without its properties.
_INFO_SETTINGS = {
    "db": "db",
    "runMins": "run_minutes",
    "runWarehouses": "warehouses",
    "driverVersion": "version",
    "limitTxnsPerMin": "limit_txns_per_min",
}
_LARGEST = 2**20
#: Shares of all processors' time, of 1. The time of guests is within that of users, and counted once more in
#: what they are shares of.
_SHARES = (
    "cpu_user",
    "cpu_nice",
    "cpu_system",
    "cpu_idle",
    "cpu_iowait",
    "cpu_irq",
    "cpu_softirq",
    "cpu_steal",
)
_GUESTS = ("cpu_guest", "cpu_guest_nice")
_TOTAL = ("vm_nr_dirty",)
_KIB = 1024
#: Of each disk, but for those that are a view of others: added up to those of the machine.
_DISK = {
    "rdkbps": ("disk_read_bytes_per_s", _KIB),
    "wrkbps": ("disk_write_bytes_per_s", _KIB),
    "rdiops": ("disk_reads_per_s", 1),
    "wriops": ("disk_writes_per_s", 1),
}
_LINK = {"rxkbps": ("net_rx_bytes_per_s", _KIB), "txkbps": ("net_tx_bytes_per_s", _KIB)}
_OTHER_COLUMNS = ("rdmerges", "wrmerges", "rxpktsps", "txpktsps")
_COLUMNS = {*_SHARES, *_GUESTS, *_TOTAL, *_DISK, *_LINK, *_OTHER_COLUMNS}


def complete(source: Source) -> Source:
    """A result.csv or printed text that was read, with the settings and samples in the files beside it."""
    data = source.path.parent
    in_folder = data.name == _RESULT.parent.name
    info = _row(data / _INFO)
    properties = _properties(data.parent / _PROPERTIES) if in_folder else {}
    settings: dict[str, str | int | float] = {
        ours: _number(info[theirs]) for theirs, ours in _INFO_SETTINGS.items() if info.get(theirs)
    }
    settings |= {
        ours: _number(properties[theirs])
        for theirs, ours in _PROPERTY_SETTINGS.items()
        if properties.get(theirs)
    }
    terminals = settings.pop("terminals", None)
    clients = terminals if isinstance(terminals, int) else None
    began_s = _began_s(info.get("sessionStart", ""))
    measured = tuple(
        replace(
            part,
            clients=part.clients if clients is None else clients,
            began_s=part.began_s if began_s is None else began_s,
            settings={**part.settings, **settings},
        )
        for part in source.reading.measured
    )
    # Not the properties, which contain the password.
    stored = (source.path, *(file for file in (data / _INFO, *_collected(data)) if file.is_file()))
    return _with_samples(replace(source, reading=replace(source.reading, measured=measured), stored=stored))


def _with_samples(source: Source) -> Source:
    """And what its collector sampled, which is of the one session that the folder is of."""
    files, reading = _collected(source.path.parent), source.reading
    if not files:
        return source
    began_s = reading.measured[0].began_s if reading.measured else None
    collected = _Collected(began_s)
    for file in files:
        if len(reading.measured) > 1:
            collected.unread.add(COLLECTED_AMBIGUOUS(file=file.name, count=len(reading.measured)))
            continue
        try:
            collected.take(file.name, Output((file,)).lines())
        except OSError as error:
            collected.unread.add(f"{file.name}: {error.strerror or error}")
    examples = (*reading.examples, *collected.unread.examples)[:MOST_SHOWN]
    samples = collected.samples if len(collected.samples) else None
    unread = reading.unread + collected.unread.count
    return replace(source, reading=replace(reading, unread=unread, examples=examples, samples=samples))


def _collected(data: Path) -> list[Path]:
    return [file for pattern in COLLECTED for file in sorted(data.glob(pattern)) if file.is_file()]


def _row(path: Path) -> Mapping[str, str]:
    """The only row of runInfo.csv; empty without one."""
    try:
        with path.open(encoding="utf-8", errors="replace", newline="") as file:
            return {key: value for key, value in next(csv.DictReader(file), {}).items() if key and value}
    except (OSError, csv.Error):
        return {}


def _properties(path: Path) -> Mapping[str, str]:
    if not path.is_file() or path.stat().st_size > _LARGEST:
        return {}
    try:
        return java_properties(path.read_text(encoding="utf-8", errors="replace"))
    except (OSError, ValueError):
        return {}


def _number(text: str) -> str | int:
    try:
        return integer(text)
    except ValueError:
        return text


def _began_s(text: str) -> float | None:
    """`2026-06-28 10:00:00.123`, by the clock on the wall of the machine it ran on, taken as this one's."""
    try:
        return datetime.fromisoformat(text).timestamp()
    except ValueError:
        return None


class _Collected:
    """Rows of all its files.

    `began_s`: when elapsed time began, in seconds since 1970, where that is known.
    """

    def __init__(self, began_s: float | None) -> None:
        self.samples = Samples(
            "host", "host.csv", NAME, host.Host.table.columns, absolute=began_s is not None
        )
        self.samples.origin_s = began_s or 0.0
        self.unread = Unread()

    def take(self, file: str, lines: Iterable[str]) -> None:
        """One file. Its head says what is in it; columns of an unknown name are unread, each once, and so is
        a row that is cut.
        """
        head: Sequence[str] = ()
        for line in lines:
            fields = line.strip().split(",")
            if fields[:2] == ["run", "elapsed"]:
                head = fields
                for name in head[2:]:
                    if name not in _COLUMNS and name != "device":
                        self.unread.add(f"{file}: column {name}")
                continue
            try:
                if len(fields) != len(head):
                    raise ValueError(line)
                self._row(dict(zip(head, fields, strict=True)))
            except (ValueError, TooManyError):
                self.unread.add(f"{file}: {line}" if line.strip() else "")

    def _row(self, row: Mapping[str, str]) -> None:
        elapsed_s = integer(row["elapsed"]) / 1e3
        values = {name: _value(name, text) for name, text in row.items() if name in _COLUMNS}
        at_s = self.samples.origin_s + elapsed_s
        device = row.get("device", "")
        if not device:
            self._machine(at_s, values)
            return
        kind, name = device[:4], device[4:]
        devices = {"blk_": (_DISK, name.startswith(NOT_DISKS)), "net_": (_LINK, names_virtual_link(name))}
        if kind not in devices:
            raise ValueError(device)
        columns, is_virtual = devices[kind]
        self.samples.touch(at_s)
        for value_name, value in values.items():
            self.samples.add_other(at_s, name, value_name, value)
            if value_name in columns and not is_virtual:
                column, factor = columns[value_name]
                self.samples.put(at_s, column, value * factor, "sum")

    def _machine(self, at_s: float, values: Mapping[str, float]) -> None:
        self.samples.touch(at_s)
        for name in (*_TOTAL, *_GUESTS):
            if name in values:
                self.samples.add_other(at_s, "", name, values[name])
        shares = {name: max(0.0, values[name]) for name in _SHARES if name in values}
        total = sum(shares.values())
        if len(shares) < len(_SHARES) or not total:
            return
        user, nice, system, idle, iowait, irq, softirq, steal = (
            100 * shares[name] / total for name in _SHARES
        )
        for column, value in (
            ("user", user + nice),
            ("system", system + irq + softirq),
            ("iowait", iowait),
            ("steal", steal),
            ("idle", idle),
            ("busy", user + nice + system + irq + softirq),
        ):
            self.samples.put(at_s, f"cpu_{column}_percent", value)


def _value(name: str, text: str) -> float:
    """Raises ValueError. What a processor waited for disks may become less (proc(5)); nothing else may."""
    value = real(text)
    if not math.isfinite(value) or (value < 0 and name not in _SHARES):
        raise ValueError(text)
    return value


READER = Reader(
    NAME,
    read_output,
    file_start=re.compile(rb"(?:\xef\xbb\xbf)?run,elapsed,latency,dblatency,"),
    anywhere=(SIGN,),
    folder=_RESULT,
    complete=complete,
)
