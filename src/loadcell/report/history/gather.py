"""Reads every run of one plan in a results directory."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from pathlib import Path

from loadcell.analysis import comparability
from loadcell.analysis.history import METRICS, History, Metric, Options, Run, history, run_of
from loadcell.model.message import Labels, Message
from loadcell.report.messages import (
    HISTORY_NO_RUNS,
    HISTORY_NO_RUNS_LISTED,
    HISTORY_NO_RUNS_NEAR,
    RESULTS_NO_DIRECTORY,
)
from loadcell.store.find import runs_under
from loadcell.store.layout import StoreError
from loadcell.store.read import read_run

#: Names of metrics.
METRIC = Labels("history.metric", METRICS)
#: How many plans a message lists.
MOST_LISTED = 8


@dataclass(frozen=True)
class Gathered:
    """A plan's history, where it was read, its title, and what could not be read."""

    plan: str
    title: str
    results: Path
    history: History
    left_out: tuple[str, ...]

    @property
    def unit(self) -> str:
        """Unit of throughput in these runs."""
        return comparability.unit_of(record for run in self.history.runs for record in run.records)


def plan_name(named: str) -> str:
    """The name that runs of a plan go by, from the plan's file or the name itself."""
    path = Path(named)
    return path.stem if path.suffix in {".yaml", ".yml"} else path.name


def gather(named: str, results: Path, metric: Metric, options: Options, last: int | None = None) -> Gathered:
    """The history of a plan; of its `last` runs only, if given.

    Raises StoreError when there is no results directory, or no run of this plan in it.
    """
    if not results.is_dir():
        raise StoreError(RESULTS_NO_DIRECTORY(path=results))
    name = plan_name(named)
    runs: list[Run] = []
    titles: list[str] = []
    others: set[str] = set()
    left_out = []
    for path in runs_under(results):
        try:
            stored = read_run(path)
        except StoreError as error:
            left_out.append(f"{path.name}: {error.finding}")
            continue
        plan = str(stored.run.plan_name or path.parent.name)
        if plan.lower() != name.lower():
            others.add(plan)
            continue
        runs.append(run_of(stored.id, stored.state, stored.run, stored.trials, stored.environment, metric))
        titles.append(str(stored.run.title or plan))
    if not runs:
        raise StoreError(_no_runs(name, results, others))
    runs.sort(key=lambda run: (run.started_utc, run.name))
    chosen = runs if last is None else runs[-last:]
    return Gathered(name, titles[-1], results, history(chosen, metric, options), tuple(left_out))


def _no_runs(name: str, results: Path, others: set[str]) -> Message:
    """The message that no run of this plan exists, with the nearest name of those that have runs."""
    if not others:
        return HISTORY_NO_RUNS(name=repr(name), results=results)
    plans = sorted(others)[:MOST_LISTED]
    if near := difflib.get_close_matches(name, others, n=1):
        return HISTORY_NO_RUNS_NEAR(name=repr(name), results=results, near=near[0], plans=plans)
    return HISTORY_NO_RUNS_LISTED(name=repr(name), results=results, plans=plans)
