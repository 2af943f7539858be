"""The documents and rows of a run directory, from what was measured; what a tool did not say stays empty."""

from __future__ import annotations

from collections.abc import Mapping

from loadcell.analysis.error_codes import meaning
from loadcell.ingest.arrange import Arranged, Execution
from loadcell.ingest.base import Part
from loadcell.model.instants import utc_text
from loadcell.model.json import JsonObject
from loadcell.model.latency import Latency
from loadcell.model.run_record import TreatmentRecord
from loadcell.model.trial_record import (
    Counts,
    ErrorRecord,
    ImportedFrom,
    MonitorRecord,
    OperationStats,
    Status,
    ToolRecord,
    Totals,
    TrialRecord,
    Window,
)
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


def settings(execution: Execution) -> JsonObject:
    """Settings as the tool reported them."""
    load = {"clients": execution.measured.clients} if execution.measured.clients is not None else {}
    return {"tool": {execution.source.tool: dict(execution.measured.settings)}, "load": load}


def trial(
    number: int,
    execution: Execution,
    when_utc: str,
    monitors: Mapping[str, MonitorRecord],
    joined: int = 1,
) -> TrialRecord:
    """Record of an imported trial; `when_utc` is when the output was written, for tools that do not report
    when they began.

    `joined` is the number of printed intervals that one of its intervals stands for.
    """
    measured, tool = execution.measured, execution.source.tool
    if measured.began_s is not None:
        when_utc = at_utc(measured.began_s)
    succeeded, failed = measured.succeeded or 0, measured.failed or 0
    attempted = succeeded + failed
    totals = Totals(
        Counts(attempted=attempted, succeeded=succeeded, failed=failed),
        throughput_per_s=measured.throughput_per_s,
        queries_per_s=measured.figures.get("queries_per_s"),
        errors=failed,
        error_rate=failed / attempted if attempted else None,
        response=_latency(measured.response, succeeded),
        figures={name: value for name, value in measured.figures.items() if name != "queries_per_s"},
    )
    version = measured.settings.get("version")
    return TrialRecord(
        number,
        trial_name(number, execution),
        execution.treatment,
        execution.repeat,
        Status.OK,
        schema=SCHEMA,
        levels={key: str(level) for key, level in execution.levels.items()},
        values=dict(execution.levels),
        block=execution.repeat,
        unit=measured.unit,
        started_utc=when_utc,
        ended_utc=when_utc,
        settings=settings(execution),
        measure=None if measured.duration_s is None else Window(measured.duration_s, 0, when_utc),
        totals=totals,
        operations={name: _operation(part, measured.duration_s) for name, part in measured.parts.items()},
        monitors=monitors,
        errors=tuple(
            ErrorRecord(code, count, message="", meaning=meaning(code))
            for code, count in measured.errors.items()
        ),
        # Values that a tool printed are rounded, and its clients may have paused: what follows from the
        # engine's exact ones does not.
        tool=ToolRecord(tool, None if version is None else str(version)),
        imported=ImportedFrom(
            tool, execution.source.path.name, measured.title, joined if joined > 1 else None
        ),
    )


def _operation(part: Part, duration_s: float | None) -> OperationStats:
    return OperationStats(
        part.kind,
        attempted=part.succeeded + part.failed,
        succeeded=part.succeeded,
        failed=part.failed,
        throughput_per_s=part.succeeded / duration_s if duration_s else None,
        response=_latency(part.response, part.succeeded),
    )


def _latency(response: Mapping[str, float], count: int) -> Latency | None:
    """A distribution, with its count where the tool prints it: redis-benchmark's table has percentiles and no
    count.
    """
    return Latency.from_values({"count": count or None, **response}) if response else None
