"""Runs the plan that a command line stands for, and says what people look for who have not written one."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from loadcell import parts
from loadcell.cli import language, messages
from loadcell.cli import run as run_command
from loadcell.cli.adhoc.plan import Line, text
from loadcell.cli.arguments import beginning
from loadcell.cli.streams import echo, echo_json
from loadcell.execution import runner as execution
from loadcell.model import trial_record
from loadcell.model.message import MessageCode
from loadcell.plan import load as plan_loader
from loadcell.plan import secrets as plan_secrets
from loadcell.report import adhoc_summary
from loadcell.report.render import terminal
from loadcell.store import layout
from loadcell.store import read as stored_runs
from loadcell.systems.base import TargetError

if TYPE_CHECKING:
    from loadcell.cli.adhoc.options import LineOptions
    from loadcell.execution.runner import Ended

RUN_RESUMABLE = MessageCode("run.resumable", "info", resume=str)


def act(line: Line, options: LineOptions, env: Mapping[str, str] | None = None) -> int:
    """Save the plan, or run it: the exit status.

    `env` holds the secrets (default: the process's environment).
    """
    written = text(line, options)
    secrets = os.environ if env is None else env
    with beginning():
        plan = plan_loader.load_text(written, Path(line.name), parts.installed(), env=secrets, placed=False)
    if options.save_plan is not None:
        return _save(written, options.save_plan)

    how = execution.Options(out=options.out, seed=options.seed, command=line.command)
    runner = execution.Runner(
        plan,
        parts.installed(),
        how,
        run_command.progress(options.quiet),
        secrets=plan_secrets.Secrets(secrets),
    )
    try:
        ended = runner.run()
    except (layout.StoreError, TargetError) as error:
        language.show(error)
        return 3 if runner.begun else 2
    return _results(ended, options)


def _save(plan: str, path: Path) -> int:
    """Write the plan, over nothing that is there already."""
    if str(path) == "-":
        echo(plan, nl=False)
        return 0
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(plan)
    except OSError as error:
        exists = isinstance(error, FileExistsError)
        code = messages.CALL_UNWRITABLE_EXISTING if exists else messages.CALL_UNWRITABLE
        message = code(path=path, reason=error.strerror or error)
        raise click.ClickException(language.written(message)) from None
    message = messages.PLAN_SAVED(path=path, run=f"loadcell run {layout.quoted(path)}")
    echo(language.written(message), err=True)
    return 0


def _results(ended: Ended, options: LineOptions) -> int:
    """Results on standard output, reports into the run's directory."""
    stored = stored_runs.read_run(ended.path)
    run_command.say_abandoned(ended)
    reports: list[Path] = []
    # Who presses Ctrl-C does not wait for pictures of half a trial.
    drawn = [
        finished
        for finished in stored.trials
        if ended.state != "interrupted" or finished.status is trial_record.Status.OK
    ]
    if options.write_report and any(trial.totals for trial in drawn):
        reports, ended = run_command.written_report(ended, options.lang)
    if options.as_json:
        echo_json(run_command.as_document(ended, stored.trials, reports))
    elif stored.trials:
        terminal.render(adhoc_summary.of_run(stored, options.lang))
    if ended.exit_status == 130:
        message = RUN_RESUMABLE(resume=layout.resume_command(ended.path, stored.run.resumed_by))
        echo(language.written(message), err=True)
    return ended.exit_status
