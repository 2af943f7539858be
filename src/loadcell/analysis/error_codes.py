"""Messages for what records name: error codes, reasons of failures, and metrics.

Codes are SQLSTATEs (PostgreSQL's manual, appendix A), numbers of MySQL's and MariaDB's errors that have no
SQLSTATE of their own, statuses of HTTP, codes of HTTP/2, first words of Redis', and loadcell's own.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from loadcell.model import catalogue
from loadcell.model.json import JsonObject
from loadcell.model.message import Message, MessageCode, as_written

if TYPE_CHECKING:
    from collections.abc import Sequence

    from loadcell.model.fault_record import FaultRecord
    from loadcell.model.trial_record import TrialRecord

_LOADCELL_CODES = (
    "connection", "timeout", "protocol", "refused", "reset", "length", "body", "ports", "descriptors",
    "tls", "auth", "script", "open-block", "lost", "stale", "corrupt", "skipped",
    "check-header", "check-json", "not-json", "extract-json", "extract-pattern", "extract-header", "unset",
    "unsafe-value", "body-limit",
)  # fmt: skip
#: Codes of records in streams.
_STREAM = (
    "stream.lost", "stream.duplicate", "stream.late", "stream.unknown", "stream.reordered",
    "stream.acknowledged-too-much", "stream.decreasing", "stream.service", "stream.garbage", "stream.frame",
    "stream.line", "stream.file",
)  # fmt: skip
#: What other tools call the failures that they count.
_TOOLS = (
    "ignored", "reconnect", "fatal", "client", "connect", "receive", "read", "write", "exceptions",
    "error", "non-2xx", "status",
)  # fmt: skip
_SQLSTATE = (
    "08000", "08001", "08003", "08004", "08006", "22001", "22003", "23502", "23503", "23505", "25P02",
    "25P03", "28000", "28P01", "3D000", "40001", "40P01", "42501", "42601", "42703", "42P01", "53100",
    "53200", "53300", "54000", "55P03", "57014", "57P01", "57P02", "57P03", "58030", "XX000", "XX001",
    "XX002",
)  # fmt: skip
_MYSQL = (
    "08S01", "42S01", "42S02", "42S22", "70100", "1020", "1114", "1205", "1290", "1461",
)  # fmt: skip
#: Statuses of HTTP (RFC 9110, section 15).
_HTTP = (
    "http-301", "http-302", "http-400", "http-401", "http-403", "http-404", "http-405", "http-408",
    "http-413", "http-429", "http-500", "http-502", "http-503", "http-504",
)  # fmt: skip
#: Codes with which a server of HTTP/2 ends a request or goes away (RFC 9113, section 7).
_HTTP2 = (
    "NO_ERROR", "INTERNAL_ERROR", "REFUSED_STREAM", "CANCEL", "ENHANCE_YOUR_CALM", "HTTP_1_1_REQUIRED",
)  # fmt: skip
#: First words of the errors of Redis.
_REDIS = (
    "ERR", "WRONGTYPE", "OOM", "NOAUTH", "WRONGPASS", "NOPERM", "MOVED", "CROSSSLOT", "CLUSTERDOWN",
    "READONLY", "LOADING", "BUSY", "MISCONF", "NOSCRIPT", "EXECABORT", "max-clients", "database",
)  # fmt: skip
#: By the first two characters of a SQLSTATE, and the first digit of a status of HTTP, that is not in the
#: list.
CLASSES = {
    kind: MessageCode(f"code.class-{kind}")
    for kind in (
        "http-2", "http-3", "http-4", "http-5", "08", "22", "23", "25", "28", "40", "42", "53", "54", "55",
        "57", "58", "XX",
    )
}  # fmt: skip
#: Every code that has a text.
MEANINGS = {
    code: MessageCode(f"code.{code}")
    for code in (*_LOADCELL_CODES, *_STREAM, *_TOOLS, *_SQLSTATE, *_MYSQL, *_HTTP, *_HTTP2, *_REDIS)
}


def meaning(code: str) -> str | None:
    """In a few words of English; None when the code is not known."""
    message_code = _meaning_of(code)
    return None if message_code is None else message_code().text


def error_meaning(code: str, recorded: str) -> Message:
    """The meaning of an error code or of its class; as recorded where neither is known."""
    message_code = _meaning_of(code)
    return Message(message_code.code if message_code else "", recorded=(recorded, ""))


def _meaning_of(code: str) -> MessageCode | None:
    return MEANINGS.get(code) or CLASSES.get(_class_of(code))


def _class_of(code: str) -> str:
    """The common part of codes of a kind; empty if there are no kinds."""
    if code.startswith("http-"):
        return code[:6]
    return code[:2] if len(code) == 5 else ""


BY_FAULT = MessageCode("errors.by-fault", faults=list)
PERHAPS_BY_FAULT = MessageCode("errors.perhaps-by-fault", faults=list, remedy=Message)
PERHAPS_BY_FAULT_ALONE = MessageCode("errors.perhaps-by-fault.alone", faults=list)


def explained(record: TrialRecord, code: str, count: int, remedy: Message | None) -> Message | None:
    """The remedy for `count` errors of a code, in view of faults of a kind that causes them.

    Errors that all occurred after such faults need none. If their times are unknown, or some occurred at
    other times, the remedy follows the faults. If none occurred after such a fault, it is the remedy alone.
    """
    applied = [fault for fault in record.faults or () if fault.applied is not None]
    faults = [fault for fault in applied if not {code, _class_of(code)}.isdisjoint(fault.expected_errors)]
    if not faults:
        return remedy
    after = _errors_after(faults, applied, code)
    if after == 0:
        return remedy
    names = list(dict.fromkeys(f"`{fault.action} {fault.subject}`" for fault in faults))
    if after is not None and after >= count:
        return BY_FAULT(faults=names)
    if remedy is None:
        return PERHAPS_BY_FAULT_ALONE(faults=names)
    return PERHAPS_BY_FAULT(faults=names, remedy=remedy)


def _errors_after(faults: Sequence[FaultRecord], applied: Sequence[FaultRecord], code: str) -> int | None:
    """Number of errors after these faults, those after another fault that began before their end included.
    None if the times of errors are unknown.
    """
    # faults with one due time are judged until the same instant, and have the same errors
    counts: dict[float | None, int] = {}
    for other in applied:
        if other.judgement is None or other.judgement.unjudged == "no-timeline":
            return None
        began_s = other.applied.began_s if other.applied else 0.0
        if other in faults or any(
            fault.applied is not None and fault.applied.began_s <= began_s < fault.ended_s for fault in faults
        ):
            errors = (other.judgement.errors or {}).get(code, 0)
            until_s = other.judgement.until_s
            counts[until_s] = max(errors, counts.get(until_s, 0))
    return sum(counts.values())


def why(record: TrialRecord) -> Message | None:
    """The reason that a record gives; None where it gives none."""
    reason = record.reason
    if not reason:
        return None
    code, args = _coded(record)
    if not record.died_during:
        return Message(code, args, recorded=(reason, ""))
    phase = {"code": f"phase.{record.died_during}"}
    arguments = {"phase": phase, "why": {"code": code, "args": args}}
    return Message("died", arguments, recorded=(reason, ""))


def remedy(record: TrialRecord) -> Message | None:
    """Remedy of a record; None if it has none."""
    code, args = _coded(record)
    advice = record.advice
    message = Message(f"{code}.advice", args, recorded=(advice, "")) if advice else None
    return explained(record, code.removeprefix("load."), 1, message) if code.startswith("load.") else message


def _coded(record: TrialRecord) -> tuple[str, JsonObject]:
    """Code and arguments of the reason; early records have no arguments, or neither."""
    return record.reason_code or "", record.reason_args or {}


#: A metric of flushes, and one of a part that a tool reports separately.
SYNC = MessageCode("figure.sync", what=Message)
OF_PART = MessageCode("figure.of-part", figure=Message, part=str)
_SYNCED = re.compile(r"sync_(?P<of>\S+_ms)")


def figure_code(metric: str) -> str:
    """The code of a metric's name."""
    return f"figure.{metric}"


def figure_name(metric: str) -> Message:
    """The name of a metric with its unit; its name in the record where the catalogue has none.

    A metric of one part that a tool reports separately (fio's jobs, mbw's methods) is `PART.METRIC`.
    """
    recorded = (metric, "")
    if _has_text(metric):
        return Message(figure_code(metric), recorded=recorded)
    if (sync := _SYNCED.fullmatch(metric)) is not None:
        statistic = sync["of"]
        part = (
            Message(figure_code(f"sync.{statistic}"))
            if _has_text(f"sync.{statistic}")
            else as_written(statistic.removesuffix("_ms"))
        )
        return replace(SYNC(what=part), recorded=recorded)
    part_name, dot, metric_of_part = metric.rpartition(".")
    while dot and not (_has_text(metric_of_part) or _SYNCED.fullmatch(metric_of_part)):
        part_name, dot, before = part_name.rpartition(".")
        metric_of_part = f"{before}.{metric_of_part}"
    if dot and part_name:
        arguments = {"part": part_name, "figure": figure_name(metric_of_part)}
        return replace(OF_PART(**arguments), recorded=recorded)
    return as_written(metric)


def _has_text(metric: str) -> bool:
    return figure_code(metric) in catalogue.texts()
