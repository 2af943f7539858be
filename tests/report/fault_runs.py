"""A run with a judged fault in each trial, variants of it, and the blocks of its report."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.console import Console

from analysis.faults.made import constant, fault, queue, stop, timeline
from fake_runs import Shape, write_run
from loadcell.analysis.faults.completions import Completions
from loadcell.analysis.faults.judge import judge
from loadcell.model.fault_record import FaultRecord
from loadcell.model.json import document
from loadcell.model.trial_record import TrialRecord
from loadcell.report import brief
from loadcell.report.blocks import Chart, Report, Table, unfolded
from loadcell.report.render import terminal
from loadcell.store import timeline_files
from loadcell.store.read import StoredRun, read_run
from loadcell.store.write import TrialWriter

AT_S, FOR_S, UNTIL_S, RATE_PER_S = 10.0, 1.0, 30.0, 200.0
EXPECTED = "pause < 2s"
MISSED = "effect == none"
OF_PLAN = "lost_operations < 100"


class Files(TrialWriter):
    """Writes files into the directory of a finished trial."""

    def __init__(self, path: Path) -> None:
        self.path, self._files = path, {}

    def _field(self, value: object, *, words: bool) -> object:
        return "" if value is None else value


def judged(path: Path) -> FaultRecord:
    """The record of a hang with its judgement, whose timeline is written to the directory."""
    lines = timeline(queue(constant(RATE_PER_S, UNTIL_S), 0.001, stop(AT_S, FOR_S)))
    writer = Files(path)
    timeline_files.write([lines], writer)
    for file in writer._files.values():
        file.close()
    assert timeline_files.read(path)[0].slots == lines.slots
    hang = replace(fault(AT_S, FOR_S), subject="postgres")
    (judgement,) = judge([hang], Completions.of([lines], UNTIL_S), 8)
    return replace(hang, judgement=replace(judgement, errors={"timeout": 3}))


def with_faults(home: Path) -> StoredRun:
    """A run with a fault in each trial, written there."""
    path = write_run(home / "run", Shape(monitors=False, intervals=False))
    for file in path.glob("trials/*/trial.json"):
        record = json.loads(file.read_text(encoding="utf-8"))
        record["faults"] = [document(judged(file.parent))]
        record["measure"]["duration_s"] = UNTIL_S
        record["settings"]["faults"] = [{"hang": {"subject": "postgres"}, "at": "10s", "for": "1s"}]
        record["expect"] = [
            {"expression": EXPECTED, "verdict": "met", "value": 1005.0, "fault": 0},
            {"expression": MISSED, "verdict": "missed", "value": 2.0, "fault": 0},
            {"expression": OF_PLAN, "verdict": "missed", "value": 201.0},
        ]
        file.write_text(json.dumps(record), encoding="utf-8")
    return read_run(path)


def in_terminal(run: StoredRun, lang: str) -> str:
    """The summary of a run on a wide terminal."""
    out = io.StringIO()
    console = Console(file=out, width=160, highlight=False, color_system=None)
    terminal.render(brief.of_run(run, lang), console)
    return out.getvalue()


def judged_as(run: StoredRun, **values: Any) -> StoredRun:
    """The run with these values in the judgement of each fault."""

    def changed(trial: TrialRecord) -> TrialRecord:
        (fault,) = trial.faults or ()
        assert fault.judgement is not None
        return replace(trial, faults=(replace(fault, judgement=replace(fault.judgement, **values)),))

    return replace(run, trials=tuple(map(changed, run.trials)))


def section(report: Report) -> tuple[dict[str, Table], Chart]:
    """The tables by name, and the chart."""
    [of_faults] = [section for section in report.sections if section.id == "faults"]
    blocks = [*unfolded(of_faults.blocks)]
    [chart] = [block for block in blocks if isinstance(block, Chart)]
    return {block.id: block for block in blocks if isinstance(block, Table)}, chart


def first_row(table: Table) -> dict[str, str]:
    """Cells of the first row by heading."""
    titles = [column.title for column in table.columns]
    return dict(zip(titles, (cell.text for cell in table.rows[0]), strict=True))


def repeats(run: StoredRun) -> int:
    """Trials of a treatment."""
    return len(run.trials) // len(run.run.treatments)


def in_groups(run: StoredRun) -> StoredRun:
    """Each fault judged for two client groups: an outage of `write`, and no effect on `read`."""

    def grouped(trial: TrialRecord) -> TrialRecord:
        (fault,) = trial.faults or ()
        assert fault.judgement is not None
        total = replace(fault.judgement, effect="dip", pause_s=0.05)
        groups = {
            "read": replace(total, effect="none"),
            "write": replace(total, effect="outage", pause_s=3.12),
        }
        return replace(trial, faults=(replace(fault, judgement=total, groups=groups),))

    return replace(run, trials=tuple(map(grouped, run.trials)))
