"""Profiles of the CPU time of tests, by a timer of the process."""

from __future__ import annotations

from loadcell.report.profiles import sampled
from loadcell.report.profiles.presentation import Presentation, Title

PRESENTATION = Presentation(
    kind="test-cpu",
    findings=sampled.findings,
    title=Title.CPU,
    meaning="test-cpu.meaning",
    flame="flame.title",
    functions="table.functions",
    note="table.functions.note",
    processes="test-cpu.outermost",
    outermost="test-cpu.function",
    next_step="terminal.profile",
    is_sampled=True,
)
