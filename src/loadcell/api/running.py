"""`loadcell.run`: run a plan, or resume a run."""

from __future__ import annotations

import signal
from collections.abc import Mapping
from pathlib import Path

from loadcell import parts
from loadcell import report as reports
from loadcell.api import pages, plans, progress
from loadcell.api.again import Again
from loadcell.api.errors import (
    INTERRUPTED,
    CallError,
    RunInterrupted,
    explained,
    require_main_thread,
)
from loadcell.api.runs import Run
from loadcell.design.estimate import NEEDS_CONSENT, estimate
from loadcell.design.order import ARMS
from loadcell.execution import runner as execution
from loadcell.model import languages
from loadcell.model.message import Count, MessageCode
from loadcell.plan.load import LoadedPlan
from loadcell.plan.problems import Writer, in_english
from loadcell.report.texts import Texts
from loadcell.store import find
from loadcell.store.layout import StoreError
from loadcell.store.read import read_run

NO_PLAN = MessageCode("api.no-plan")
PLAN_AND_RESUME = MessageCode("api.plan-and-resume")
MANY_TRIALS = MessageCode("api.many-trials", trials=Count)


def run(
    plan: plans.Plan | None = None,
    *,
    resume: Run | str | Path | None = None,
    out: str | Path | None = None,
    name: str | None = None,
    overrides: Mapping[str, object] | None = None,
    only: Mapping[str, object] | None = None,
    repeats: int | None = None,
    seed: int | None = None,
    labels: Mapping[str, str] | None = None,
    aa: bool = False,
    retry_failed: bool = False,
    many: bool = False,
    report: bool = True,
    show_progress: bool = True,
    lang: str | None = None,
) -> Run:
    """Run a plan and return its results, as `loadcell run` does.

    `plan` is the path of a plan, the name of a built-in one, or a dictionary with its content. `overrides`
    changes settings by their paths (`{"load.duration": "5s"}`), `only` selects levels by factor, `repeats`
    and `seed` replace those of the plan. `resume` completes a run instead; with `retry_failed` its failed
    trials are made again. `aa` runs each treatment as two identical arms.

    The run is stored in `out`, or under `results/<name>`; `report` writes its pages there. `many` permits
    more than 1,000 trials. `lang` is the language of texts: `en` or `zh`, by default that of the environment.

    Failed trials are results: nothing is raised for them. Raises PlanError with all mistakes of the plan,
    CallError outside of the main thread, StoreError, TargetError, and PlanChangedError for a plan that is not
    the one of the resumed run. Ctrl-C, or an interrupt of the kernel, ends the run in order and raises
    RunInterrupted, a KeyboardInterrupt.
    """
    lang = lang or languages.of_environment()
    write: Writer = in_english if lang == languages.DEFAULT else Texts(lang).message
    with explained(lang):
        require_main_thread()
        resumed: Path | None = None
        if resume is not None:
            if plan is not None or out is not None:
                raise CallError(PLAN_AND_RESUME())
            resumed = resume.path if isinstance(resume, Run) else find.find_run(str(resume))
            loaded = _resumed_plan(resumed, overrides, only, labels)
        elif plan is None:
            raise CallError(NO_PLAN())
        else:
            loaded = plans.load_plan(
                plan, overrides=overrides, only=only, repeats=repeats, labels=labels, name=name
            )
        trials = estimate(loaded, len(ARMS) if aa else 1).trials
        if trials > NEEDS_CONSENT and not many:
            raise CallError(MANY_TRIALS(trials=trials))
        options = execution.Options(
            out=None if out is None else Path(out),
            seed=seed,
            resume=resumed,
            retry_failed=retry_failed,
            aa=aa,
            command=() if plan is None else _command(plan, loaded),
            ends_process=False,
        )
        shown = progress.display(write, quiet=not show_progress)
        runner = execution.Runner(loaded, parts.installed(), options, shown)
        ended = runner.run()
        if report:
            _write_report(ended, lang, runner)
    result = Run(read_run(ended.path), lang)
    if ended.signal is not None:
        _raise_interruption(result, ended.signal)
    return result


def _resumed_plan(
    path: Path,
    overrides: Mapping[str, object] | None,
    only: Mapping[str, object] | None,
    labels: Mapping[str, str] | None,
) -> LoadedPlan:
    """The plan of a run to resume, with its own changes unless others replace them."""
    stored = read_run(path)
    return Again(stored).load_to_resume(
        plans.assignments(overrides) or stored.run.sets,
        plans.selections(only) or stored.run.only,
        tuple(f"{key}={value}" for key, value in (labels or {}).items()),
    )


def _command(plan: plans.Plan, loaded: LoadedPlan) -> tuple[str, ...]:
    """The command that does the same; none for a dictionary, which is no file."""
    if isinstance(plan, Mapping):
        return ()
    changes = [word for text in loaded.sets for word in ("--set", text)]
    chosen = [word for text in loaded.only for word in ("--only", text)]
    return ("loadcell", "run", str(plan), *changes, *chosen)


def _write_report(ended: execution.Ended, lang: str, runner: execution.Runner) -> None:
    """Write the pages of a run with trials; a disk that is full costs the pages, not the results."""
    if not read_run(ended.path).trials:
        return
    try:
        with pages.collectable():
            reports.write(ended.path, lang)
    except StoreError as error:
        runner.progress.note(error.message)


def _raise_interruption(result: Run, number: int) -> None:
    """Raise the interruption, after signals other than that of Ctrl-C had their usual effect."""
    if number != signal.SIGINT:
        signal.raise_signal(number)
    planned = len(result.stored.planned)
    again = f"loadcell.run(resume={str(result.path)!r})"
    message = INTERRUPTED(done=planned - len(result.remaining), planned=planned, resume=again)
    raise RunInterrupted(result, message)
