"""`loadcell plans`: the plans that come with loadcell, and the plan language as a JSON Schema."""

from __future__ import annotations

from typing import TYPE_CHECKING, get_args

import click
from rich import padding, text

from loadcell import parts
from loadcell.cli import language, locales, messages
from loadcell.cli.arguments import ready_plans
from loadcell.cli.command import argument, group, option
from loadcell.cli.streams import echo, echo_json
from loadcell.design import estimate as estimates
from loadcell.model import terminal
from loadcell.model.message import Labels, MessageCode
from loadcell.model.metrics import Kind, declared
from loadcell.plan import load as plan_loader
from loadcell.plan import problems as plan_problems
from loadcell.plan import schema as plan_schema
from loadcell.report.blocks import Cell, Column, Report, Section, Table
from loadcell.report.render import json
from loadcell.report.render import terminal as report_terminal
from loadcell.report.texts import Texts

if TYPE_CHECKING:
    from loadcell.model.json import JsonObject

METRIC = MessageCode("plans.metric", "info")
UNIT = MessageCode("plans.metric-unit", "info")
MEANING = MessageCode("plans.metric-meaning", "info")
_KINDS = Labels("metric-kind", get_args(Kind))


@group("plans", invoke_without_command=True)
@option("--json", "as_json", is_flag=True, group="output")
@click.pass_context
def plans(ctx: click.Context, as_json: bool) -> None:
    """List the built-in plans."""
    if ctx.invoked_subcommand is not None:
        return
    listed = _listed(locales.DEFAULT if as_json else locales.current())
    if as_json:
        echo_json(json.render(listed))
        return

    def below(line: str, style: str = "") -> padding.Padding:
        return padding.Padding(text.Text(line, style=style), (0, 0, 0, 2), expand=False)

    out = terminal.Terminal(highlight=False)
    if not listed:
        out.print(language.written(messages.NO_READY_PLANS()))
    for plan in listed:
        out.print(text.Text(plan["name"], style="bold"))
        out.print(below(plan["title"]))
        if plan["question"]:
            out.print(below(plan["question"], "dim"))
        if plan["trials"]:
            size = messages.PLAN_SIZE(treatments=plan["treatments"], trials=plan["trials"])
            out.print(below(language.written(size)))
        else:
            out.print(below(plan["problem"]))
    if listed:
        out.print(f"\n{language.written(messages.PLANS_NEXT())}")


def _listed(lang: str) -> list[JsonObject]:
    """Name, path, title and question (in one language), and size of each built-in plan."""
    listed: list[JsonObject] = []
    for name, path in ready_plans().items():
        row: JsonObject = {"name": name, "path": str(path), "title": name, "question": ""}
        try:
            plan = plan_loader.load_plan(path, parts.installed())
            row |= {"title": plan.title_in(lang), "question": " ".join(plan.question_in(lang).split())}
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

    return [name for name in ready_plans() if name.startswith(incomplete)]


@plans.command("show")
@argument("name", shell_complete=_complete)
def show(name: str) -> None:
    """Print a built-in plan."""
    ready = ready_plans()
    if name not in ready:
        near = plan_problems.nearest(name, ready)
        code = messages.CALL_NO_READY_PLAN_NEAR if near else messages.CALL_NO_READY_PLAN
        raise language.CallError(code.pick(name=repr(name), near=near, names=list(ready)))
    echo(ready[name].read_text(encoding="utf-8"), nl=False)


@plans.command("metrics")
@option("--json", "as_json", is_flag=True, group="output")
def metrics(as_json: bool) -> None:
    """List the metrics that expectations may bound."""
    parts.installed()  # which declare metrics of their own
    listed = declared().values()
    if as_json:
        keys = ("key", "kind", "better", "per_group")
        rows = [{key: getattr(item, key) for key in keys} | {"meaning": item.meaning.text} for item in listed]
        echo_json(json.render(rows))
        return
    texts = Texts(locales.current())
    columns = [
        *(Column(texts.message(head())) for head in (METRIC, UNIT)),
        Column(texts.message(MEANING()), sentences=True, many=True),
    ]
    cells = [
        [Cell(item.key), Cell(texts(_KINDS(item.kind))), Cell(texts.message(item.meaning))] for item in listed
    ]
    table = Table("table-metrics", "", columns, cells)
    report_terminal.render(Report(texts.language, "", "", "", (), [Section("metrics", "", [table])]))


@plans.command("schema")
def schema() -> None:
    """Print the JSON Schema of plans."""
    echo_json(json.render(plan_schema.plan_schema(parts.installed())))
