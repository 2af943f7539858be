"""A plan's history as plain JSON: `loadcell history --json` prints it."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from loadcell.analysis.history import findings
from loadcell.report.history.gather import Gathered


def document(gathered: Gathered) -> dict[str, Any]:
    """Everything that terminal and page show."""
    history = gathered.history
    return {
        "plan": gathered.plan, "title": gathered.title, "results": str(gathered.results),
        "unit": gathered.unit,
        "metric": history.metric.name, "method": history.options.method, "level": history.options.level,
        "runs": [
            {
                "run": run.name, "started_utc": run.started_utc, "state": run.state,
                "values": dict(run.values), "repeats": dict(run.repeats),
            }
            for run in history.runs
        ],
        "treatments": [{"id": one.treatment, "label": one.label, "runs": len(one.values)} for one in history.series],
        "changes": [
            {
                "last_before": history.runs[event.last].name, "first_after": history.runs[event.first].name,
                "treatments": [
                    {
                        "treatment": change.series.treatment, "before": change.before, "after": change.after,
                        "change": change.share, "p": change.p,
                    }
                    for change in event.changes
                ],
                "differences": [asdict(one) for one in event.differences],
            }
            for event in history.events
        ],
        "latest": [
            {"treatment": one.series.treatment, "change": one.share, "p": one.p} for one in history.latest
        ],
        "findings": [finding.document() for finding in findings.find(history)],
        "left_out": list(gathered.left_out),
    }  # fmt: skip
