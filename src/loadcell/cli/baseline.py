"""`loadcell baseline set|list|remove`: names for runs that others are compared with."""

from __future__ import annotations

import click

from loadcell.cli import language, messages
from loadcell.cli.arguments import baselines, language_option, runs
from loadcell.cli.streams import echo, echo_json
from loadcell.report.render import json
from loadcell.store import find as run_finder
from loadcell.store import layout


@click.group("baseline")
def baseline() -> None:
    """Name runs that others are compared with: `loadcell compare --baseline NAME RUN...`.

    The names are in results/baselines.json, and can be kept under version control with the runs.
    """


@baseline.command("set")
@click.argument("name", shell_complete=baselines)
@click.argument("named", metavar="[RUN]...", nargs=-1, shell_complete=runs)
def set_(name: str, named: tuple[str, ...]) -> None:
    """Give RUNs (default: the last one) the name NAME, in place of the runs that had it.

    Several runs of one plan are one side of a comparison. A verdict between runs needs 3 a side.
    """
    run_finder.keep_baseline(name, [run_finder.find_run(run) for run in named or ("last",)])
    for path in run_finder.find_baseline(name):
        echo(f"{name}: {path}")


@baseline.command("list")
@language_option("the list", expose_value=False)
@click.option("--json", "as_json", is_flag=True, help="Print plain JSON instead.")
def list_(as_json: bool) -> None:
    """List the baselines, a line for each run, and which runs are gone."""
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
@click.argument("name", shell_complete=baselines)
def remove(name: str) -> None:
    """Forget NAME; its runs stay."""
    run_finder.remove_baseline(name)
