"""A measured suite as a run directory: a treatment is a test, a block is a repeat of all tests."""

from __future__ import annotations

import os
import platform
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from statistics import fmean, median, stdev
from typing import TYPE_CHECKING

import pytest

from loadcell import __version__, _engine
from loadcell.cli import locales
from loadcell.execution.context import environment
from loadcell.ingest.base import TreatmentIds
from loadcell.linux.checkout import checkout_of
from loadcell.model import profile_trials, tools
from loadcell.model.latency import Latency
from loadcell.model.metrics import facts
from loadcell.model.numbers import utc_text
from loadcell.model.profile_record import ProfileRecord
from loadcell.model.pytest_metrics import MEMORY_GROWTH, PEAK_ALLOCATION
from loadcell.model.python_metrics import CALL_TIME
from loadcell.model.run_record import (
    Execution,
    FactorRecord,
    LevelRecord,
    PlannedTrial,
    RunRecord,
    TreatmentRecord,
)
from loadcell.model.trial_record import Counts, Status, Totals, TrialRecord, Window
from loadcell.plan import labels as plan_labels
from loadcell.plan.problems import PlanError
from loadcell.pytest_plugin import coverage, messages, sampling
from loadcell.pytest_plugin.results import Outcome, TestResult
from loadcell.pytest_plugin.sampling import Stacks
from loadcell.report import FORMATS
from loadcell.report import publish as publishing
from loadcell.store.layout import FLAMES, FOLDED, SCHEMA, new_run_directory
from loadcell.store.write import RunWriter

if TYPE_CHECKING:
    from loadcell.model.json import JsonObject
    from loadcell.pytest_plugin.settings import Settings

_NANOSECONDS_PER_MS = 1e6
#: Kind of the profiles.
_PROFILE = "test-cpu"


@dataclass(frozen=True)
class Recorded:
    """All that is written of one run."""

    settings: Settings
    config: pytest.Config
    results: Sequence[TestResult]
    started_ns: int
    ended_ns: int
    state: str
    command: Sequence[str]
    stacks: Mapping[str, Stacks]


@dataclass(frozen=True)
class _Trial:
    """A repeat of a test with its place in the run."""

    planned: PlannedTrial
    result: TestResult
    outcome: Outcome


def check(settings: Settings) -> None:
    """Raise PlanError for labels that a run cannot have."""
    mistakes = list(plan_labels.problems_of_options(settings.labels))
    if mistakes:
        raise PlanError(mistakes)


def write(recorded: Recorded) -> Path:
    """Write a new run directory. Raises StoreError."""
    settings = recorded.settings
    began = datetime.fromtimestamp(recorded.started_ns / 1e9, UTC)
    path = new_run_directory(settings.results, settings.name, began, secrets.token_hex(3))
    ids = TreatmentIds()
    treatments = {result.node_id: ids.of({tools.TEST: result.node_id}) for result in recorded.results}
    trials = _trials(recorded.results, treatments)
    writer = RunWriter(path)
    try:
        writer.write_environment(environment("client+target"))
        run = replace(_run(recorded, treatments, trials), coverage=coverage.write(recorded.config, path))
        writer.write_run(run)
        for trial in trials:
            writer.trial(trial.planned.name).finish(_record(trial))
        for planned in run.unscored or ():
            _write_profile(writer, planned, recorded, treatments)
    except BaseException:
        writer.discard()
        raise
    finally:
        writer.close()
    return path


def publish(run: Path) -> None:
    """Write the report into the run directory. Raises StoreError."""
    publishing.publish(run, locales.current(), FORMATS, None)


def _trials(results: Sequence[TestResult], treatments: Mapping[str, str]) -> list[_Trial]:
    """All repeats in the order in which they ran; a test that failed before has a single one."""
    repeats = [
        (outcome.started_utc_ns, repeat, result, outcome)
        for result in results
        for repeat, outcome in (result.outcomes or {1: Outcome(failure=result.failure)}).items()
    ]
    repeats.sort(key=lambda item: item[0])
    trials = []
    for number, (_, repeat, result, outcome) in enumerate(repeats, 1):
        treatment = treatments[result.node_id]
        planned = PlannedTrial(number, f"{number:03d}-{treatment}-r{repeat}", treatment, repeat, repeat)
        trials.append(_Trial(planned, result, outcome))
    return trials


def _run(recorded: Recorded, treatments: Mapping[str, str], trials: Sequence[_Trial]) -> RunRecord:
    settings = recorded.settings
    started, ended = utc_text(recorded.started_ns), utc_text(recorded.ended_ns)
    directory = Path(recorded.config.rootpath)
    levels = tuple(LevelRecord(node_id, node_id) for node_id in treatments)
    return RunRecord(
        schema=SCHEMA,
        plan_name=settings.name,
        plan_directory=str(directory),
        title=settings.name,
        question="",
        seed=settings.seed,
        order="blocks",
        design="full",
        repeats=settings.repeats,
        factors=(FactorRecord(tools.TEST, levels),),
        treatments=tuple(
            TreatmentRecord(
                treatments[result.node_id],
                {tools.TEST: result.node_id},
                {tools.TEST: result.node_id},
                _settings(result),
            )
            for result in recorded.results
        ),
        trials=tuple(trial.planned for trial in trials),
        unscored=_unscored(recorded, treatments, trials),
        loadcell_version=__version__,
        python=platform.python_version(),
        started_utc=started,
        ended_utc=ended,
        state=recorded.state,
        executions=(
            Execution(os.getpid(), started, ended, "first", len(trials), loadcell_version=__version__),
        ),
        command=tuple(recorded.command),
        labels=plan_labels.of_options(settings.labels),
        checkout=checkout_of(directory),
    )


def _unscored(
    recorded: Recorded, treatments: Mapping[str, str], trials: Sequence[_Trial]
) -> tuple[PlannedTrial, ...] | None:
    """The trials that profile."""
    planned = [
        PlannedTrial(
            number,
            profile_trials.name_of(_PROFILE, treatments[node_id]),
            treatments[node_id],
            1,
            role=profile_trials.ROLE,
        )
        for number, node_id in enumerate(recorded.stacks, len(trials) + 1)
    ]
    return tuple(planned) or None


def _write_profile(
    writer: RunWriter, planned: PlannedTrial, recorded: Recorded, treatments: Mapping[str, str]
) -> None:
    """Write the samples of a test and their flame graph."""
    node_id = next(name for name, treatment in treatments.items() if treatment == planned.treatment)
    stacks, trial = recorded.stacks[node_id], writer.trial(planned.name)
    samples, utc = stacks.counts.total(), utc_text(recorded.ended_ns)
    if samples:
        trial.text(FOLDED, stacks.folded)
        trial.text(FLAMES, _engine.flame_graph(stacks.folded, node_id, str(samples)))
    trial.finish(
        TrialRecord(
            planned.number,
            planned.name,
            planned.treatment,
            planned.repeat,
            Status.OK,
            schema=SCHEMA,
            levels={tools.TEST: node_id},
            values={tools.TEST: node_id},
            role=planned.role,
            unit=messages.CALL,
            started_utc=utc,
            ended_utc=utc,
            measure=Window(max(stacks.duration_s, 1e-9), 0, utc),
            profile=ProfileRecord(
                _PROFILE, tools.PYTEST, "SIGPROF", samples, processes=1, frequency=sampling.FREQUENCY
            ),
        )
    )


def _settings(result: TestResult) -> JsonObject:
    """The subject of the timing, and the group of the test."""
    timed: JsonObject = {"timed": result.subject}
    if result.group is not None:
        timed["group"] = result.group
    return {tools.WORKLOAD: {tools.PYTEST: timed}, "load": {"clients": 1}}


def _record(trial: _Trial) -> TrialRecord:
    outcome, planned, result = trial.outcome, trial.planned, trial.result
    call_ms = outcome.call_ms
    reason = None
    if outcome.failure is not None or call_ms is None:
        reason = messages.TEST_FAILED(output=outcome.failure or "")
    started = utc_text(outcome.started_utc_ns) if outcome.started_utc_ns else None
    return TrialRecord(
        planned.number,
        planned.name,
        planned.treatment,
        planned.repeat,
        Status.OK if reason is None else Status.FAILED,
        schema=SCHEMA,
        levels={tools.TEST: result.node_id},
        values={tools.TEST: result.node_id},
        block=planned.block,
        reason=None if reason is None else reason.text,
        reason_code=None if reason is None else reason.code,
        reason_args={} if reason is None else reason.plain_arguments,
        advice=None if reason is None else reason.advice or None,
        unit=messages.CALL,
        started_utc=started,
        ended_utc=utc_text(outcome.ended_utc_ns) if outcome.ended_utc_ns else None,
        settings=_settings(result),
        measure=None if call_ms is None else Window(call_ms * outcome.calls / 1e3, 0, started),
        totals=None if call_ms is None else _totals(trial, call_ms),
    )


def _totals(trial: _Trial, call_ms: float) -> Totals:
    outcome = trial.outcome
    figures: dict[str, float | None] = {CALL_TIME: call_ms}
    if outcome.growth_bytes is not None:
        figures[MEMORY_GROWTH] = max(0, outcome.growth_bytes)
    if trial.planned.repeat == 1 and trial.result.peak_bytes is not None:
        figures[PEAK_ALLOCATION] = trial.result.peak_bytes  # measured once
    return Totals(
        Counts(attempted=outcome.calls, succeeded=outcome.calls),
        throughput_per_s=1e3 / call_ms if call_ms else None,
        errors=0,
        error_rate=0.0,
        response=_latency(outcome, call_ms),
        figures=figures,
        metrics=facts(figures) or None,
    )


def _latency(outcome: Outcome, mean_ms: float) -> Latency:
    """Distribution of the samples, each of which is the mean of its calls."""
    times = [sample.elapsed_ns / sample.calls / _NANOSECONDS_PER_MS for sample in outcome.samples]
    return Latency(
        count=len(times),
        mean_ms=mean_ms if len(times) == 1 else fmean(times),
        stdev_ms=stdev(times) if len(times) > 1 else None,
        min_ms=min(times),
        max_ms=max(times),
        percentiles_ms={"50": median(times)},
    )
