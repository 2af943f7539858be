"""iperf3's JSON (`-J`), also event by event (`--json-stream`)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from loadcell.ingest import checks
from loadcell.ingest.base import (
    OUTPUT_CUT_SHORT,
    Interval,
    Measured,
    NotItsOutputError,
    PrintedTotal,
    Reading,
    Unread,
)
from loadcell.ingest.readers import PrintedForPeople, Reader, by_text
from loadcell.ingest.text import documents
from loadcell.model.message import NO_OUTPUT, ForeignText, Message, MessageCode

if TYPE_CHECKING:
    from loadcell.model.json import JsonObject

OUTPUT_IPERF3 = MessageCode("output.iperf3", said=ForeignText)

OUTPUT_IPERF3_FAILED = MessageCode("output.iperf3.failed", said=ForeignText)

NAME = "iperf3"

_MIB = 2**20
_EVENT = re.compile(r'\s*\{\s*"event"\s*:')
#: Suffixes of the sums of both directions.
_WAYS = ("", "_bidir_reverse")


def read(lines: Iterable[str]) -> Reading:
    """Received bits, in 10^6 bit/s (as iperf3 has it) and MiB/s; intervals as the program counted them,
    without those that `-O` omits.

    The other direction of `--bidir` is a separate part. Several documents are several executions.
    """
    unread = Unread()
    measured: list[Measured] = []
    trouble: Message = NO_OUTPUT
    for document in _documents(list(lines), unread):
        try:
            turn = 1 + max((previous.turn for previous in measured), default=-1)
            measured += _directions(document, turn)
        except NotItsOutputError as error:
            trouble = error.message
            unread.add(trouble)
        except (KeyError, TypeError, ValueError, AttributeError, ZeroDivisionError) as error:
            trouble = OUTPUT_IPERF3(said=f"{type(error).__name__}: {error}")
            unread.add(trouble)
    if not measured:
        raise NotItsOutputError(trouble)
    return unread.reading(measured)


def _documents(texts: list[str], unread: Unread) -> Iterable[JsonObject]:
    if not texts or _EVENT.match(texts[0]) is None:
        return documents(texts, "start", "`iperf3 -J`", unread)
    return _of_events(documents(texts, "event", "`iperf3 --json-stream`", unread), unread)


def _of_events(events: Iterable[JsonObject], unread: Unread) -> Iterator[JsonObject]:
    """The documents that `-J` writes: of a start, its intervals, and an end or an error."""
    current: JsonObject | None = None
    for event in events:
        kind, data = event["event"], event.get("data")
        if kind == "start":
            if current is not None:
                unread.add(OUTPUT_CUT_SHORT(execution=NAME))
            current = {"start": data, "intervals": []}
        elif kind == "interval" and current is not None:
            current["intervals"].append(data)
        elif kind in ("end", "error"):
            yield {**(current or {}), kind: data}
            current = None
    if current is not None:
        unread.add(OUTPUT_CUT_SHORT(execution=NAME))


def _directions(document: JsonObject, turn: int) -> list[Measured]:
    if document.get("error"):
        raise NotItsOutputError(OUTPUT_IPERF3_FAILED(said=document["error"]))
    ways = [
        way for way in _WAYS if any(f"{name}{way}" in document["end"] for name in ("sum", "sum_received"))
    ]
    return [_measured(document, way, turn) for way in ways or _WAYS[:1]]


def _measured(document: JsonObject, way: str, turn: int) -> Measured:
    start, end = document["start"], document["end"]
    test = start.get("test_start", {})
    protocol = str(test.get("protocol", "TCP")).lower()
    sent = end.get(f"sum_sent{way}") or end[f"sum{way}"]
    received = _received(end, way)
    rate = received["bytes"] / _MIB / received["seconds"]
    figures = {"mbits_per_s": rate * _MIB * 8 / 1e6}
    if "retransmits" in sent:
        figures["retransmits"] = sent["retransmits"]
    figures |= _loss(end, way)
    if end.get("cpu_utilization_percent"):
        figures["client_cpu_percent"] = end["cpu_utilization_percent"]["host_total"]
    sums = [interval[f"sum{way}"] for interval in document.get("intervals", []) if f"sum{way}" in interval]
    counted = [part for part in sums if part["seconds"] > 0 and not part.get("omitted")]
    receives = bool(way) != bool(test.get("reverse"))
    began_s = (start.get("timestamp") or {}).get("timesecs")
    return Measured(
        f"{protocol} reverse" if way else protocol,
        "MiB",
        rate,
        duration_s=received["seconds"],
        clients=test.get("num_streams"),
        figures=figures,
        settings=_settings(start, test),
        intervals=tuple(
            Interval(part["start"], part["seconds"], part["bytes"] / _MIB / part["seconds"])
            for part in counted
        ),
        began_s=None if began_s is None else began_s + test.get("omit", 0),
        turn=turn,
        printed=_totals(received, received if receives else sent),
    )


def _settings(start: JsonObject, test: JsonObject) -> dict[str, str | int | float]:
    """The options of the client, its server and the direction."""
    settings: dict[str, str | int | float] = {
        "version": start.get("version", ""),
        "block_bytes": test.get("blksize", 0),
        "reverse": "yes" if test.get("reverse") else "no",
    }
    for key, value in (
        ("host", (start.get("connecting_to") or {}).get("host")),
        ("target_bits_per_s", test.get("target_bitrate")),
        ("tos", test.get("tos")),
    ):
        if value:
            settings[key] = value
    return settings


def _received(end: JsonObject, way: str) -> JsonObject:
    """Bytes that arrived, and the time they took.

    iperf 3.1 prints of datagrams only what was sent, and the share that was lost. A server does not know
    what its client received.
    """
    received: JsonObject | None = end.get(f"sum_received{way}")
    sent: JsonObject = end.get(f"sum_sent{way}") or end[f"sum{way}"]
    if received is None:
        lost_share = sent.get("lost_packets", 0) / sent["packets"] if sent.get("packets") else 0.0
        return {
            "bytes": sent["bytes"] * (1 - min(1.0, max(0.0, lost_share))),
            "seconds": sent["seconds"],
        }
    return received if received["bytes"] or "lost_percent" in received else sent


def _loss(end: JsonObject, way: str) -> dict[str, float]:
    """Datagrams that were lost, and their jitter at the receiver."""
    parts = [end.get(f"{name}{way}") or {} for name in ("sum_received", "sum")]
    part = next((part for part in parts if "lost_packets" in part), {})
    names = {"lost_packets": "lost_packets", "lost_percent": "lost_percent", "jitter_ms": "jitter_ms"}
    return {name: float(part[key]) for key, name in names.items() if part.get(key) is not None}


def _totals(received: JsonObject, of_intervals: JsonObject) -> tuple[PrintedTotal, ...]:
    rates = ((received, "throughput_per_s"), (of_intervals, checks.INTERVALS))
    return tuple(
        PrintedTotal(f"bits_per_second ({figure})", part["bits_per_second"] / 8 / _MIB, figure)
        for part, figure in rates
        if part.get("bits_per_second")
    )


READER = Reader(
    NAME,
    by_text(read),
    anywhere=(b'"test_start"',),
    for_people=PrintedForPeople(re.compile(rb"^\[ *ID\](?:\[Role\])? Interval", re.MULTILINE), "iperf3 -J"),
)
