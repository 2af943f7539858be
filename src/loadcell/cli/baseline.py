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
    """Name runs that others are compared with: `loadcell compare --baseline NAME RUN`.

    The names are in results/baselines.json, and can be kept under version control with the runs.
    """


@baseline.command("set")
@click.argument("name", shell_complete=baselines)
@click.argument("run", default="last", shell_complete=runs)
def set_(name: str, run: str) -> None:
    """Give RUN (default: the last one) the name NAME, in place of the run that had it."""
    path = run_finder.find_run(run)
    run_finder.keep_baseline(name, path)
    echo(f"{name}: {path}")


@baseline.command("list")
@language_option("the list", expose_value=False)
@click.option("--json", "as_json", is_flag=True, help="Print plain JSON instead.")
def list_(as_json: bool) -> None:
    """List the baselines, and say which of them are gone."""
    names = run_finder.baselines()
    if as_json:
        rows = [
            {"name": name, "run": str(path), "there": layout.is_run(path)} for name, path in names.items()
        ]
        echo_json(json.render(rows))
        return
    for name, path in names.items():
        gone = "" if layout.is_run(path) else f"  {language.written(messages.BASELINE_GONE())}"
        echo(f"{name}: {path}{gone}")
    if not names:
        echo(language.written(messages.NO_BASELINES()))


@baseline.command("remove")
@click.argument("name", shell_complete=baselines)
def remove(name: str) -> None:
    """Forget NAME; the run itself stays."""
    run_finder.remove_baseline(name)
