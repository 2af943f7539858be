"""Printed text of BenchmarkSQL: the rates, session and count at its end, after the properties at its start.

The transactions themselves are in result.csv, which its reader prefers; many keep the printed text only.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime

from loadcell.ingest.base import OUTPUT_CUT_SHORT, Measured, Reading, Unread, understood
from loadcell.ingest.printed_numbers import integer, number
from loadcell.ingest.totals import counted_rate

#: Part of every line that the benchmark prints of itself, from version 3 on.
SIGN = b"Measured tpmTOTAL = "
_LINE = re.compile(r".*?Term-00, ?(?P<text>.*)$")
_RESULT = re.compile(
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
        if (match := _RESULT.match(text)) is not None:
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
