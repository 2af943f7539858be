"""`loadcell check PLAN`: what would run, and every mistake, without running anything."""

from __future__ import annotations

import click

from loadcell.cli import check_report
from loadcell.cli.arguments import Seed, change_options, language_option, load, plan_argument
from loadcell.plan import problems as plan_problems
from loadcell.report.render import json, terminal


@click.command("check")
@plan_argument()
@change_options
@language_option("mistakes", expose_value=False)
@click.option("--seed", type=Seed(), metavar="N", help="Show the order that this seed gives.")
@click.option("--json", "as_json", is_flag=True, help="Print plain JSON instead.")
def check(plan: str, sets: tuple[str, ...], only: tuple[str, ...], seed: int | None, as_json: bool) -> None:
    """Say what PLAN would run: treatments, order, expected time, remarks.

    PLAN is a file, or the name of a ready-made plan. Every mistake in it is shown at once, with its place;
    then the exit status is 2.
    """
    try:
        loaded = load(plan, sets, only)
        document = check_report.describe(loaded, loaded.seed if seed is None else seed, called=plan)
    except plan_problems.PlanError as error:
        if as_json:
            click.echo(json.render({"ok": False, "problems": error.problems}))
        raise
    if as_json:
        click.echo(json.render(document))
    else:
        terminal.render(check_report.build(document))
