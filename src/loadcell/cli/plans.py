"""`loadcell plans`: the plans that come with loadcell, and the plan language as a JSON Schema."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from loadcell import parts
from loadcell.cli import language, messages
from loadcell.design import estimate as estimates
from loadcell.plan import load as plan_loader
from loadcell.plan import problems as plan_problems
from loadcell.plan import ready as ready_made
from loadcell.plan import schema as plan_schema
from loadcell.report.render import json

if TYPE_CHECKING:
    from loadcell.model.json import JsonObject


@click.group("plans", invoke_without_command=True)
@click.option("--json", "as_json", is_flag=True, help="Print plain JSON instead.")
@click.pass_context
def plans(ctx: click.Context, as_json: bool) -> None:
    """List the ready-made plans; `loadcell run NAME` runs one."""
    if ctx.invoked_subcommand is not None:
        return
    listed = _listed()
    if as_json:
        click.echo(json.render(listed))
        return
    from rich.console import Console
    from rich.padding import Padding
    from rich.text import Text

    def below(line: str, style: str = "") -> Padding:
        return Padding(Text(line, style=style), (0, 0, 0, 2))

    console = Console(highlight=False)
    if not listed:
        console.print("No ready-made plans are installed. They are in plans/ of loadcell's source.")
    for plan in listed:
        console.print(Text(plan["name"], style="bold"))
        console.print(below(plan["title"]))
        if plan["question"]:
            console.print(below(plan["question"], "dim"))
        size = (
            f"{plan['treatments']} treatments, {plan['trials']} trials" if plan["trials"] else plan["problem"]
        )
        console.print(below(size))
    if listed:
        console.print("\nloadcell check NAME says more of one, loadcell run NAME runs it.")


def _listed() -> list[JsonObject]:
    """Each ready-made plan's name, path, title, question and size."""
    listed: list[JsonObject] = []
    for name, path in ready_made.ready_plans().items():
        row: JsonObject = {"name": name, "path": str(path), "title": name, "question": ""}
        try:
            plan = plan_loader.load_plan(path, parts.installed())
            row |= {"title": plan.title, "question": " ".join(plan.question.split())}
            row |= {
                "treatments": plan.treatment_count,
                "trials": estimates.estimate(plan).trials,
                "problem": None,
            }
        except plan_problems.PlanError as error:
            row |= {"treatments": None, "trials": None, "problem": str(error.problems[0])}
        listed.append(row)
    return listed


def _complete(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:  # noqa: ARG001

    return [name for name in ready_made.ready_plans() if name.startswith(incomplete)]


@plans.command("show")
@click.argument("name", shell_complete=_complete)
def show(name: str) -> None:
    """Print the text of a ready-made plan, to be copied and changed."""
    ready = ready_made.ready_plans()
    if name not in ready:
        near = plan_problems.nearest(name, ready)
        code = messages.CALL_NO_READY_PLAN_NEAR if near else messages.CALL_NO_READY_PLAN
        raise language.CallError(code.pick(name=repr(name), near=near, names=list(ready)))
    click.echo(ready[name].read_text(encoding="utf-8"), nl=False)


@plans.command("schema", short_help="Print the plan language's JSON Schema, for editors.")
def schema() -> None:
    """Print the JSON Schema of plans with everything installed, for editors to complete and check with.

    \b
    In VS Code (YAML extension), or any editor with yaml-language-server, a plan's first line can name it:
        # yaml-language-server: $schema=loadcell-plan.schema.json
    """
    click.echo(json.render(plan_schema.plan_schema(parts.installed())))
