"""Profiles of CPU time by perf."""

from __future__ import annotations

from loadcell.report.profiles import sampled
from loadcell.report.profiles.presentation import Presentation, Title

PRESENTATION = Presentation(
    kind="cpu",
    findings=sampled.findings,
    title=Title.CPU,
    meaning="profile.meaning",
    flame="flame.title",
    functions="table.functions",
    note="table.functions.note",
    processes="table.processes",
    outermost="column.process",
    next_step="terminal.profile",
    is_sampled=True,
)
