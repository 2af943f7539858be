"""Comparison of this session's runs with a baseline, and the decision whether the session fails."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from loadcell.analysis.compare.metrics import LeastEffects
from loadcell.cli import locales
from loadcell.model.message import Message
from loadcell.model.python_metrics import CALL_TIME
from loadcell.model.terminal import Terminal
from loadcell.pytest_plugin import messages
from loadcell.pytest_plugin.settings import Gate
from loadcell.report.comparison import build as run_comparison
from loadcell.report.comparison import gather as gathering
from loadcell.report.render import terminal
from loadcell.store import find as run_finder
from loadcell.store.layout import StoreError

_SLOWER = "slower"


@dataclass(frozen=True, slots=True)
class Decision:
    """Remarks on the comparison, and whether the session fails by it."""

    remarks: Sequence[Message] = ()
    fails: bool = False


def check(gate: Gate, results: Path) -> None:
    """Raise StoreError if there is no such baseline."""
    runs_of(gate.baseline, results)


def runs_of(name: str, results: Path) -> tuple[Path, ...]:
    """Runs of a baseline, or the run of this name. Raises StoreError."""
    if name in run_finder.baselines(results):
        return run_finder.find_baseline(name, results)
    try:
        return (run_finder.find_run(name, results),)
    except StoreError:
        return run_finder.find_baseline(name, results)


def compare(gate: Gate, made: Sequence[Path], results: Path, reporter: Any) -> Decision:
    """Print the comparison, and decide. Raises StoreError and CannotCompareError."""
    wanted = gathering.Wanted(
        runs=[(path, None) for path in made],
        against=[(path, None) for path in runs_of(gate.baseline, results)],
        against_label=gate.baseline,
        metrics=(CALL_TIME,),
        least_effects=LeastEffects(gate.least_effect),
        anyway=True,
    )
    gathered = gathering.gather(wanted)
    command = ("loadcell", "compare", "--baseline", gate.baseline, *map(str, made), "--metric", CALL_TIME)
    document = run_comparison.document(gathered, locales.current(), command)
    if reporter is not None:
        reporter.flush()
        terminal.render(document.brief(None), Terminal(highlight=False))
    if gate.least_effect is None:
        return Decision()
    if _SLOWER in document.verdicts:
        return Decision([messages.GATE_SLOWER(baseline=gate.baseline, least_share=gate.least_effect)], True)
    if document.undecided or document.incomplete:
        return Decision([messages.GATE_UNDECIDED(baseline=gate.baseline)], True)
    return Decision()
