"""Evidence of a check in one line: a sentence for the values that decided it, others with their names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

from loadcell.model import latency, numbers
from loadcell.model.fault_record import FaultState
from loadcell.model.json import JsonObject
from loadcell.model.message import Labels, MessageCode, Milliseconds, Share, Unit, with_unit
from loadcell.model.trial_record import EVIDENCE_UNITS
from loadcell.report.texts import Texts
from loadcell.report.values import plain

#: Names of the values that checks were decided on; `loadcell.execution.checks` and its neighbours write them.
EVIDENCE = Labels("evidence", (
    "asked_for", "attempted", "busiest", "client", "client_seconds", "commits", "connections_refused",
    "cores", "corrupt", "counted", "covered_s", "difference", "done", "failed", "failed_total", "faults",
    "figures", "first", "group", "groups", "held_by", "in_flight", "intervals", "kind", "largest_s",
    "late_ms", "latencies", "limit", "limit_s", "lines", "longest_s", "looks", "lost", "max_ms", "mean_ms",
    "min_ms", "name", "not_read_back", "of_its_cores", "operation", "overdue_s", "paused_s", "pauses", "pids",
    "pipeline", "printed", "quota_share", "reconnecting_seconds", "response_ms", "response_seconds",
    "resting_seconds", "rows_changed", "run", "separator", "server", "share", "side", "stale", "stored",
    "succeeded", "succeeded_total", "swapped_bytes", "taken", "threads", "tolerance", "too_hot_times",
    "total_s", "transactions_ended", "under", "unsent", "window_s", "wrong",
))  # fmt: skip


#: Values that are names, although they are numbers.
IDENTIFIERS = ("pids",)


def _code(name: str, *arguments: str) -> MessageCode:
    return MessageCode(f"evidence-of.{name}", **dict.fromkeys(arguments, str))


#: Sentences of a check by its name; the first one whose values are all there is used.
SENTENCES: Mapping[str, tuple[MessageCode, ...]] = {
    "pacing": (
        _code("pacing.both", "share", "limit", "late_ms", "response_ms"),
        _code("pacing", "share", "limit"),
        _code("pacing.tail", "late_ms", "response_ms"),
    ),
    "backlog": (_code("backlog", "unsent", "share", "limit", "overdue_s"),),
    "client-limit": (
        _code("client-limit.cores", "busiest", "limit", "threads", "of_its_cores", "cores"),
        _code("client-limit", "busiest", "limit", "threads"),
    ),
    "client-waiting": (_code("client-waiting", "share", "limit"),),
    "client-paused": (_code("client-paused", "paused_s", "pauses", "longest_s", "share", "limit"),),
    "steal": (_code("steal", "share", "limit"),),
    "clock-step": (_code("clock-step", "largest_s", "limit_s"),),
    "sampling-gap": (_code("sampling-gap", "longest_s", "total_s", "limit_s"),),
    "ports": (_code("ports", "connections_refused", "share", "limit"),),
    "other-processes": (_code("other-processes", "cores", "limit"),),
    "neighbour": (_code("neighbour", "pids"),),
    "swap": (_code("swap", "swapped_bytes"),),
    "littles-law": (_code("littles-law", "client_seconds", "response_seconds", "difference", "tolerance"),),
    "intervals-complete": (_code("intervals-complete", "intervals", "covered_s", "window_s"),),
    "streams": (_code("streams", "asked_for", "taken"),),
    "slowed": (_code("slowed", "under"),),
    "server-lock": (_code("server-lock", "run"),),
}


#: States of faults, and verdicts on client groups.
_STATE = Labels("evidence.fault", get_args(FaultState))
_VERDICT = Labels("evidence.verdict", ("ok", "noticed", "broken", "unknown"))


def written(name: str, detail: JsonObject, texts: Texts) -> str:
    """The evidence of a check in one line."""
    # A limit next to a share is one, too.
    shares = any(EVIDENCE_UNITS.get(key) is Share for key in detail)
    units = {**EVIDENCE_UNITS, "limit": Share} if shares else EVIDENCE_UNITS
    values = {
        key: _value(key, value, units, texts)
        for key, value in detail.items()
        if value is not None and value != {} and value != []
    }
    code = next((code for code in SENTENCES.get(name, ()) if code.arguments.keys() <= values.keys()), None)
    sentences = []
    if code is not None:
        sentences.append(texts(code.code, **{key: values[key] for key in code.arguments}))
    used = () if code is None else code.arguments
    sentences += [
        f"{_called(key, texts)}{texts('mark.colon')}{value}"
        for key, value in values.items()
        if key not in used
    ]
    separator = "mark.list" if code is None else "evidence.separator"
    return texts(separator).join(sentences) or texts("mark.none")


def _called(key: str, texts: Texts) -> str:
    """Name of a check's value; names of processes and conditions stay as they are."""
    if key in EVIDENCE:
        return texts(EVIDENCE(key))
    return key.removesuffix("_ms") if latency.is_time(key) else key


def _value(key: str, value: Any, units: Mapping[str, Unit], texts: Texts) -> str:
    if isinstance(value, str) and key == "faults":
        fault, _, state = value.rpartition(": ")
        return f"{fault}{texts('mark.colon')}{texts(_STATE(state)) if state in _STATE else state}"
    if isinstance(value, dict) and key == "groups":
        verdicts = (f"{name} {texts(_VERDICT(v)) if v in _VERDICT else v}" for name, v in value.items())
        return texts("mark.list").join(verdicts)
    if isinstance(value, dict):
        parts = (f"{_called(part, texts)} {_value(part, item, units, texts)}" for part, item in value.items())
        return texts("mark.list").join(parts)
    if isinstance(value, list | tuple):
        return texts("mark.list").join(_value(key, item, units, texts) for item in value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        unit = Milliseconds if latency.is_time(key) else units.get(key)
        if unit is not None:
            return with_unit(unit, value)
        if isinstance(value, float):
            return numbers.short(value)
        return str(value) if key in IDENTIFIERS else numbers.whole(value)
    return plain(key, value, units, texts)
