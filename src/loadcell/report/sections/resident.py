"""Resident memory of Python functions over time."""

from __future__ import annotations

from loadcell.report import charts
from loadcell.report.blocks import Section
from loadcell.report.context import ReportContext


def section(context: ReportContext) -> Section | None:
    """None where no trial has a curve of its memory."""
    blocks = charts.drawn_in("resident", context)
    return Section("resident", context.texts("section.resident"), [*blocks]) if blocks else None
