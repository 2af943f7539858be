"""`loadcell check PLAN`: what would run, and every mistake, without running anything."""

from __future__ import annotations

import click

from loadcell import parts
from loadcell.cli import check_document, check_report
from loadcell.cli.arguments import Seed, change_options, language_option, load, plan_argument
from loadcell.cli.streams import echo_json
from loadcell.plan import problems as plan_problems
from loadcell.plan import remarks as plan_remarks
from loadcell.report import texts
from loadcell.report.render import json, terminal

#: Mistakes that --json lists; one damaged line may make thousands.
_MOST_PROBLEMS = 200


@click.command("check")
@plan_argument()
@change_options
@language_option("the page")
@click.option("--seed", type=Seed(), metavar="N", help="Show the order that this seed gives.")
@click.option("--json", "as_json", is_flag=True, help="Print plain JSON instead.")
def check(
    plan: str, sets: tuple[str, ...], only: tuple[str, ...], lang: str, seed: int | None, as_json: bool
) -> None:
    """Say what PLAN would run: treatments, order, expected time, remarks.

    PLAN is a file, or the name of a ready-made plan. Every mistake in it is shown at once, with its place;
    then the exit status is 2.
    """
    try:
        loaded = load(plan, sets, only)
        remarks = plan_remarks.remarks(loaded, parts.installed())
        seed = loaded.seed if seed is None else seed
        document = check_document.describe(loaded, seed, remarks, called=plan)
    except plan_problems.PlanError as error:
        if as_json:
            listed = error.problems[:_MOST_PROBLEMS]
            echo_json(json.render({"ok": False, "count": len(error.problems), "problems": listed}))
        raise
    if as_json:
        echo_json(json.render(document))
    else:
        terminal.render(check_report.build(loaded, document, remarks, texts.Texts(lang)))
