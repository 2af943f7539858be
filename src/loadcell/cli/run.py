"""`loadcell run PLAN`: run a plan, or resume a run."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from loadcell import parts, report
from loadcell.analysis import expectations
from loadcell.analysis.limits import judge
from loadcell.analysis.trials import from_record
from loadcell.api import progress as api_progress
from loadcell.api.again import Again
from loadcell.cli import again, call, display, language, locales, messages
from loadcell.cli.arguments import (
    Seed,
    beginning,
    change_options,
    label_option,
    load,
    plan_argument,
    run_directory_option,
    runs,
)
from loadcell.cli.command import command, option
from loadcell.cli.streams import echo, echo_json
from loadcell.design import estimate as estimates
from loadcell.design import order as trial_order
from loadcell.execution import outcome
from loadcell.execution import progress as run_progress
from loadcell.execution import resume as resumption
from loadcell.execution import runner as execution
from loadcell.model import json as model_json
from loadcell.plan.profile import profile_kinds
from loadcell.report import brief
from loadcell.report.render import json, terminal
from loadcell.store import find as run_finder
from loadcell.store import layout
from loadcell.store import read as stored_runs
from loadcell.systems.base import TargetError

if TYPE_CHECKING:
    from loadcell.execution.runner import Ended
    from loadcell.plan.load import LoadedPlan
    from loadcell.store.read import StoredRun

#: Kinds of profiles, as a plan names them (`plan/profile.py` is slow to load).
PROFILES = tuple(sorted(profile_kinds()))


@command("run")
@plan_argument(required=False)
@change_options
@label_option
@option("--seed", type=Seed(), metavar="N", group="plan")
@run_directory_option
@option("--resume", type=str, metavar="RUN", shell_complete=runs, group="execution")
@option("--retry-failed", is_flag=True, group="execution")
@option("--aa", is_flag=True, group="execution")
@option("--profile", type=click.Choice(PROFILES), metavar="KIND", group="execution")
@option("--yes", "-y", is_flag=True, group="execution")
@option("--report/--no-report", "write_report", default=True, show_default=True, group="output")
@option("--json", "as_json", is_flag=True, group="output")
def run(
    plan: str | None,
    sets: tuple[str, ...],
    only: tuple[str, ...],
    labels: tuple[str, ...],
    seed: int | None,
    out: Path | None,
    resume: str | None,
    retry_failed: bool,
    aa: bool,
    profile: str | None,
    yes: bool,
    write_report: bool,
    as_json: bool,
) -> int:
    """Run a plan, or resume a run."""
    if aa and resume is not None:
        raise language.CallError(messages.CALL_AA_RESUME())
    with beginning():
        repeated = again.of(plan)
        if repeated is None:
            loaded, resumed = _plan(plan, sets, only, labels, out, resume, retry_failed, profile)
        else:
            if resume is not None or retry_failed:
                raise language.CallError(messages.CALL_AGAIN_RESUME(path=plan))
            loaded, resumed = _profiled(lambda sets: repeated.load(sets, only, labels), sets, profile), None
            seed = repeated.seed(sets) if seed is None else seed
            aa = aa or repeated.stored.run.aa
    if aa and loaded.search is not None:
        raise language.CallError(messages.CALL_AA_SEARCH())
    if retry_failed and loaded.search is not None:
        raise language.CallError(messages.CALL_RETRY_SEARCH())
    _consent(loaded, yes, aa)

    options = execution.Options(
        out=out,
        seed=seed,
        resume=resumed,
        retry_failed=retry_failed,
        aa=aa,
        command=call.command_line(),
        repeats_run=None if repeated is None else repeated.record,
    )
    runner = execution.Runner(loaded, parts.installed(), options, progress())
    try:
        ended = runner.run()
    except resumption.PlanChangedError as error:
        lines = "".join(f"\n  {language.written(difference)}" for difference in error.differences[:20])
        raise click.ClickException(language.written(messages.CALL_PLAN_CHANGED(differences=lines))) from None
    except (layout.StoreError, TargetError) as error:
        language.show(error)
        return 3 if runner.begun else 2
    return _results(ended, write_report, as_json)


def _plan(
    plan: str | None,
    sets: tuple[str, ...],
    only: tuple[str, ...],
    labels: tuple[str, ...],
    out: Path | None,
    resume: str | None,
    retry_failed: bool,
    profile: str | None,
) -> tuple[LoadedPlan, Path | None]:
    """The plan to run, and the run to resume. A resumed run has its plan, --set and --only."""
    if resume is None:
        if plan is None:
            raise language.CallError(messages.CALL_NO_PLAN())
        if retry_failed:
            raise language.CallError(messages.CALL_RETRY_WITHOUT_RESUME())
        return _profiled(lambda sets: load(plan, sets, only, labels=labels), sets, profile), None
    if out is not None:
        raise language.CallError(messages.CALL_OUT_RESUME())

    path = run_finder.find_run(resume)
    stored = stored_runs.read_run(path)
    sets = sets or stored.run.sets
    only = only or stored.run.only
    if plan is not None:
        return _profiled(lambda sets: load(plan, sets, only, labels=labels), sets, profile), path
    of_run = Again(stored)
    return _profiled(lambda sets: of_run.load_to_resume(sets, only, labels), sets, profile), path


def _profiled(
    load_with: Callable[[tuple[str, ...]], LoadedPlan], sets: tuple[str, ...], profile: str | None
) -> LoadedPlan:
    """The plan with this profile, as with --set; a plan with settings of this profile keeps them."""
    loaded = load_with(sets)
    if profile is None or loaded.profiles:
        return loaded
    return load_with((*sets, f"profile={profile}"))


def _consent(plan: LoadedPlan, yes: bool, aa: bool) -> None:
    """Ask before a very large number of trials."""
    expected = estimates.estimate(plan, len(trial_order.ARMS) if aa else 1)
    if yes or expected.trials <= estimates.NEEDS_CONSENT:
        return
    interactive = sys.stdin.isatty()
    code = messages.CALL_CONSENT if interactive else messages.CALL_CONSENT_WITHOUT_TERMINAL
    message = code(trials=expected.trials, duration=run_progress.duration(expected.total_s))
    if not interactive:
        raise language.CallError(message)
    click.confirm(language.written(message), abort=True, err=True)


def progress() -> run_progress.Progress:
    """The progress display on standard error: live on a terminal, else a line per trial."""
    return api_progress.display(language.writer(), quiet=display.is_quiet(), verbose=display.is_verbose())


def _results(ended: Ended, write_report: bool, as_json: bool) -> int:
    """Results on standard output, reports into the run's directory."""
    stored = stored_runs.read_run(ended.path)
    if as_json or any(trial.totals for trial in stored.trials):  # else the results are that reason
        say_abandoned(ended)
    reports: list[Path] = []
    if stored.trials and write_report:
        reports, ended = written_report(ended)
    if as_json:
        echo_json(as_document(ended, stored, reports))
        return ended.exit_status
    if stored.trials:
        terminal.render(brief.of_run(stored, locales.current()))

    remaining = stored.remaining
    if remaining:
        planned = len(stored.planned) + len(stored.run.unscored or ())
        message = messages.TRIALS_LEFT(
            count=len(remaining),
            planned=planned,
            resume=layout.resume_command(ended.path, stored.run.resumed_by),
        )
        echo(language.written(message), err=True)
    return ended.exit_status


def written_report(ended: Ended) -> tuple[list[Path], Ended]:
    """Write the report of a run. If this fails, the results stay, but the run is not complete."""
    try:
        return report.write(ended.path, lang=locales.current()), ended
    except layout.StoreError as error:
        language.show(error)
        return [], replace(ended, exit_status=ended.exit_status or outcome.EXIT_INCOMPLETE)


def say_abandoned(ended: Ended) -> None:
    """Print why the run was abandoned, if it was."""
    if ended.reason is not None and ended.state == "failed":
        echo(language.written(messages.RUN_ABANDONED(reason=ended.reason)), err=True)


#: What `--json` has of a trial, out of its record (docs/reference/run-directory.md says what each is).
_OF_A_TRIAL = (
    "number", "name", "treatment", "levels", "repeat", "block",
    "status", "reason", "reason_code", "advice",
    "unit", "measure", "totals", "operations", "errors", "schedule", "groups", "memory", "checks", "expect",
)  # fmt: skip


def as_document(ended: Ended, stored: StoredRun, reports: list[Path]) -> str:
    """The results as JSON."""
    return json.render(
        {
            "run": ended.path,
            "state": ended.state,
            "reason": ended.reason and ended.reason.text,
            "exit_status": ended.exit_status,
            "expectations": [
                result.document() for result in expectations.outcomes([*map(from_record, stored.trials)])
            ],
            "bottlenecks": judge.documents_of_run(stored.run, stored.trials),
            "trials": [_of_a_trial(model_json.document(trial)) for trial in stored.trials],
            "reports": reports,
        }
    )


def _of_a_trial(record: model_json.JsonObject) -> model_json.JsonObject:
    return {key: record.get(key) for key in _OF_A_TRIAL}
