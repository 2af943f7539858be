"""iperf3's JSON (`-J`)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from loadcell.ingest.base import Interval, Measured, NotItsOutputError, Reading, Unread
from loadcell.ingest.readers import PrintedForPeople, Reader, by_text
from loadcell.ingest.text import documents
from loadcell.model.message import NO_OUTPUT, ForeignText, Message, MessageCode

if TYPE_CHECKING:
    from loadcell.model.json import JsonObject

OUTPUT_IPERF3 = MessageCode("output.iperf3", said=ForeignText)

OUTPUT_IPERF3_FAILED = MessageCode("output.iperf3.failed", said=ForeignText)

NAME = "iperf3"


def read(lines: Iterable[str]) -> Reading:
    """Received bits, in 10^6 bit/s (as iperf3 has it) and MiB/s; intervals as they were sent.

    Several documents are several executions.
    """
    unread = Unread()
    measured: list[Measured] = []
    trouble: Message = NO_OUTPUT
    for document in documents(lines, "start", "`iperf3 -J`", unread):
        try:
            measured.append(_measured(document))
        except NotItsOutputError as error:
            trouble = error.message
            unread.add(trouble)
        except (KeyError, TypeError, ValueError, AttributeError, ZeroDivisionError) as error:
            trouble = OUTPUT_IPERF3(said=f"{type(error).__name__}: {error}")
            unread.add(trouble)
    if not measured:
        raise NotItsOutputError(trouble)
    return unread.reading(measured)


def _measured(document: JsonObject) -> Measured:
    if document.get("error"):
        raise NotItsOutputError(OUTPUT_IPERF3_FAILED(said=document["error"]))
    start, end = document["start"], document["end"]
    test = start.get("test_start", {})
    received = end.get("sum_received") or end["sum"]
    sent = end.get("sum_sent") or end["sum"]
    figures = {"mbits_per_s": received["bits_per_second"] / 1e6}
    if "retransmits" in sent:
        figures["retransmits"] = sent["retransmits"]
    if end.get("cpu_utilization_percent"):
        figures["client_cpu_percent"] = end["cpu_utilization_percent"]["host_total"]
    intervals = [
        Interval(
            interval["sum"]["start"],
            interval["sum"]["seconds"],
            interval["sum"]["bytes"] / 2**20 / interval["sum"]["seconds"],
        )
        for interval in document.get("intervals", [])
        if interval["sum"]["seconds"] > 0
    ]
    return Measured(
        str(test.get("protocol", "TCP")).lower(),
        "MiB",
        received["bytes"] / 2**20 / received["seconds"],
        duration_s=received["seconds"],
        clients=test.get("num_streams"),
        figures=figures,
        settings={"version": start.get("version", ""), "block_bytes": test.get("blksize", 0)},
        intervals=tuple(intervals),
        began_s=(start.get("timestamp") or {}).get("timesecs"),
    )


READER = Reader(
    NAME,
    by_text(read),
    anywhere=(b'"test_start"',),
    for_people=PrintedForPeople(re.compile(rb"^\[ *ID\](?:\[Role\])? Interval", re.MULTILINE), "iperf3 -J"),
)
