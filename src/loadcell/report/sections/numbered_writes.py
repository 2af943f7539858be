"""Numbered writes of the monitor `writes`: how many acknowledged ones a read at the end did not find."""

from __future__ import annotations

from collections.abc import Mapping

from loadcell.analysis.treatments import Treatment
from loadcell.model import numbers
from loadcell.model.message import Labels
from loadcell.model.write_metrics import KEYS, LOST, RECOVERED, UNCERTAIN, UNEXPECTED
from loadcell.report.blocks import Cell, Column, Table
from loadcell.report.context import ReportContext

_HEADING = Labels("column.writes", KEYS)
#: Columns that a narrow terminal leaves out, in this order.
_YIELDING: Mapping[str, int] = {UNEXPECTED: 1, RECOVERED: 2, UNCERTAIN: 3}
#: Metrics that are a problem if they are not 0.
_PROBLEMS = (LOST, UNEXPECTED)


def table(context: ReportContext) -> Table | None:
    """A row for each treatment: totals of its trials; None of a run without such writes."""
    treatments = [
        treatment
        for treatment in context.analysis.treatments
        if any(KEYS[0] in trial.figures for trial in treatment.trials)
    ]
    if not treatments:
        return None
    texts = context.texts
    several = len(context.analysis.treatments) > 1
    columns = [
        *([Column(texts("column.treatment"))] if several else []),
        *(
            Column(texts(_HEADING(key)), figure=True, yields=_YIELDING.get(key, 0))
            for key in KEYS
        ),
        Column(texts("column.writes.trials"), figure=True),
    ]  # fmt: skip
    rows = [
        [
            *([Cell(treatment.label, sort=treatment.index)] if several else []),
            *(_total(treatment, key) for key in KEYS),
            _trials(treatment, context),
        ]
        for treatment in treatments
    ]
    return Table("table-writes", texts("table.writes"), columns, rows, texts("table.writes.meaning"))


def _total(treatment: Treatment, key: str) -> Cell:
    total = round(sum(trial.figures.get(key) or 0 for trial in treatment.trials))
    return Cell(numbers.whole(total), sort=total, tone="problem" if key in _PROBLEMS and total else "")


def _trials(treatment: Treatment, context: ReportContext) -> Cell:
    """The number of trials with lost writes, of those that could read back."""
    read = [trial.figures[LOST] for trial in treatment.trials if LOST in trial.figures]
    lost = sum(bool(value) for value in read)
    return Cell(context.texts("mark.of", part=numbers.whole(lost), whole=numbers.whole(len(read))), sort=lost)
