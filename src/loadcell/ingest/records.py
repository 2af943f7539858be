"""The documents and rows of a run directory, from what was measured; what a tool did not say stays empty."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from loadcell.analysis.error_codes import meaning
from loadcell.ingest.arrange import Arranged, Execution
from loadcell.ingest.base import Part
from loadcell.model.instants import utc_text
from loadcell.model.json import convert
from loadcell.model.run_record import TreatmentRecord
from loadcell.model.trial_record import TRANSACTION, TrialRecord
from loadcell.store.layout import SCHEMA


def at_utc(instant_s: float) -> str:
    """An instant in seconds since 1970, of which a float has no more than microseconds."""
    return utc_text(round(instant_s * 1e6) * 1000)


def trial_name(number: int, execution: Execution) -> str:
    """As runs name theirs."""
    return f"{number:03d}-{execution.treatment}-r{execution.repeat}"


def treatments(arranged: Arranged) -> tuple[TreatmentRecord, ...]:
    """Treatments in the order of their first executions."""
    records: dict[str, TreatmentRecord] = {}
    for execution in arranged.executions:
        levels = {key: str(level) for key, level in execution.levels.items()}
        records.setdefault(
            execution.treatment,
            TreatmentRecord(execution.treatment, levels, dict(execution.levels), settings(execution)),
        )
    return tuple(records.values())


def settings(execution: Execution) -> dict[str, Any]:
    """Settings as the tool reported them."""
    load = {"clients": execution.measured.clients} if execution.measured.clients is not None else {}
    return {"tool": {execution.source.tool: dict(execution.measured.settings)}, "load": load}


def trial(
    number: int, execution: Execution, when_utc: str, monitors: Mapping[str, Any], joined: int = 1
) -> TrialRecord:
    """Record of an imported trial; `when_utc` is when the output was written, for tools that say nothing of
    when they began.

    `joined` is how many printed intervals one of its intervals stands for.
    """
    measured = execution.measured
    if measured.began_s is not None:
        when_utc = at_utc(measured.began_s)
    succeeded, failed = measured.succeeded or 0, measured.failed or 0
    counts = {
        "attempted": succeeded + failed,
        "carried_in": 0,
        "succeeded": succeeded,
        "failed": failed,
        "in_flight": 0,
        "retried": 0,
    }
    response = _times(measured.response, succeeded)
    totals = {
        "transactions": counts,
        "queries": None,
        "throughput_per_s": measured.throughput_per_s,
        "queries_per_s": measured.figures.get("queries_per_s"),
        "errors": failed,
        "error_rate": failed / (succeeded + failed) if succeeded + failed else None,
        "response": response,
        "service": None,
        "figures": {name: value for name, value in measured.figures.items() if name != "queries_per_s"},
    }  # fmt: skip
    name = trial_name(number, execution)
    document = {
        "schema": SCHEMA, "number": number, "name": name, "treatment": execution.treatment,
        "levels": {key: str(level) for key, level in execution.levels.items()}, "values": dict(execution.levels),
        "repeat": execution.repeat, "block": execution.repeat, "status": "ok", "reason": None, "reason_code": None,
        "advice": None, "unit": measured.unit, "started_utc": when_utc, "ended_utc": when_utc, "phases": [],
        "settings": settings(execution), "notes": [],
        "measure": None if measured.duration_s is None else {"started_mono_ns": 0, "started_utc": when_utc, "duration_s": measured.duration_s},
        "totals": totals, "operations": {name: _part(part, measured.duration_s) for name, part in measured.parts.items()}, "schedule": None, "lifetime": None, "client": None, "checks": [], "target": None,
        "data_set": None, "monitors": dict(monitors), "expect": [],
        "errors": [
            {"code": code, "meaning": meaning(code), "operation": TRANSACTION, "count": count, "message": ""}
            for code, count in measured.errors.items()
        ],
        # Figures that a tool printed are rounded, and its clients may have rested: what follows from the
        # engine's exact ones does not.
        "tool": {"name": execution.source.tool, **({"version": measured.settings["version"]} if "version" in measured.settings else {})},
        "imported": {
            "tool": execution.source.tool, "file": execution.source.path.name, "title": measured.title,
            **({"joined": joined} if joined > 1 else {}),
        },
    }  # fmt: skip
    return convert(TrialRecord, document)


def _part(part: Part, duration_s: float | None) -> dict[str, Any]:
    ended = part.succeeded + part.failed
    return {
        "kind": part.kind, "attempted": ended, "carried_in": 0, "succeeded": part.succeeded, "failed": part.failed,
        "in_flight": 0, "retried": 0, "throughput_per_s": part.succeeded / duration_s if duration_s else None,
        "response": _times(part.response, part.succeeded), "service": None,
        "failed_response": None,
    }  # fmt: skip


def _times(response: Mapping[str, float], count: int) -> dict[str, Any] | None:
    """A distribution, and of how many it is where the tool says so: redis-benchmark's table has percentiles
    and no count.
    """
    return {**({"count": count} if count else {}), **response} if response else None
