"""`loadcell baseline set|list|remove`: names for runs that others are compared with."""

from __future__ import annotations

from pathlib import Path

from loadcell.cli import language, messages
from loadcell.cli.arguments import baselines, runs
from loadcell.cli.command import argument, group, option
from loadcell.cli.streams import echo, echo_json
from loadcell.model.message import Message
from loadcell.model.trial_record import Status
from loadcell.report.render import json
from loadcell.store import find as run_finder
from loadcell.store import layout
from loadcell.store.read import read_run


@group("baseline")
def baseline() -> None:
    """Manage named baseline runs."""


@baseline.command("set")
@argument("name", shell_complete=baselines)
@argument("named", metavar="[RUN]...", nargs=-1, shell_complete=runs)
def set_(name: str, named: tuple[str, ...]) -> None:
    """Name runs."""
    run_finder.keep_baseline(name, [run_finder.find_run(run) for run in named or ("last",)])
    for path in run_finder.find_baseline(name):
        echo(f"{name}: {path}")
        if (caution := _caution(path)) is not None:
            echo(language.written(caution), err=True)


def _caution(path: Path) -> Message | None:
    """Caution on a run that has not all the results of its plan; None of a complete one."""
    stored = read_run(path)
    of = max(len(stored.planned), len(stored.trials))
    succeeded = sum(trial.status is Status.OK for trial in stored.trials)
    if succeeded and succeeded == of:
        return None
    code = messages.BASELINE_INCOMPLETE if succeeded else messages.BASELINE_FAILED
    return code.pick(run=str(path), count=succeeded, of=of)


@baseline.command("list")
@option("--json", "as_json", is_flag=True, group="output")
def list_(as_json: bool) -> None:
    """List baselines."""
    named = [(name, path) for name, paths in run_finder.baselines().items() for path in paths]
    if as_json:
        rows = [{"name": name, "run": str(path), "there": layout.is_run(path)} for name, path in named]
        echo_json(json.render(rows))
        return
    for name, path in named:
        gone = "" if layout.is_run(path) else f"  {language.written(messages.BASELINE_GONE())}"
        echo(f"{name}: {path}{gone}")
    if not named:
        echo(language.written(messages.NO_BASELINES()))


@baseline.command("remove")
@argument("name", shell_complete=baselines)
def remove(name: str) -> None:
    """Remove a name."""
    run_finder.remove_baseline(name)
