"""`loadcell plans`: the plans that come with loadcell, and the plan language as a JSON Schema."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, get_args

import click
from rich import cells, text

from loadcell import parts
from loadcell.cli import language, locales, messages
from loadcell.cli.command import Group, argument, group, option
from loadcell.cli.streams import echo, echo_json
from loadcell.design import estimate as estimates
from loadcell.model import terminal
from loadcell.model.message import Labels, MessageCode
from loadcell.model.metrics import Kind, declared
from loadcell.plan import load as plan_loader
from loadcell.plan import problems as plan_problems
from loadcell.plan import ready as built_in
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


#: Columns of the list at most, blanks between its parts, and columns of a title at least.
_WIDTH, _GAPS, _LEAST = 110, 6, 20


class Plans(Group):
    """The commands on built-in plans; a name that is none leads to the one that was meant."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command of a name. Raises CallError for the name of a plan, or an unknown one."""
        name = args[0] if args else ""
        if name and not name.startswith("-") and self.get_command(ctx, name) is None:
            ready, commands = built_in.ready_plans(), self.list_commands(ctx)
            plan = name if name in ready else plan_problems.nearest(name, ready)
            if name in ready:
                raise language.CallError(messages.CALL_PLANS_NAME(plan=name))
            if near := plan_problems.nearest(name, commands):
                raise language.CallError(messages.CALL_PLANS_COMMAND(name=repr(name), near=near))
            if plan:
                raise language.CallError(messages.CALL_PLANS_NEAR(name=repr(name), plan=plan))
            raise language.CallError(messages.CALL_NO_READY_PLAN(name=repr(name), names=list(ready)))
        return super().resolve_command(ctx, args)


@group("plans", Plans, invoke_without_command=True)
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

    out = terminal.Terminal(highlight=False)
    if not listed:
        out.print(language.written(messages.NO_READY_PLANS()))
        return
    names = max(len(plan["name"]) for plan in listed)
    for family, members in _families(listed).items():
        heading = family or language.written(messages.OTHER_PLANS())
        out.print(text.Text(heading, style="bold"))
        for plan in members:
            out.print(_line(plan, names, min(out.width, _WIDTH)))
    out.print(f"\n{language.written(messages.PLANS_NEXT())}")


def _families(listed: Sequence[JsonObject]) -> dict[str, list[JsonObject]]:
    """Plans by the first word of their names; those alone with theirs have none, and are the last."""
    counts = Counter(_first_word(plan) for plan in listed)
    families: dict[str, list[JsonObject]] = {}
    for is_alone in (False, True):
        for plan in listed:
            word = _first_word(plan)
            if (counts[word] == 1) is is_alone:
                families.setdefault("" if is_alone else word, []).append(plan)
    return families


def _first_word(plan: JsonObject) -> str:
    return str(plan["name"]).partition("-")[0]


def _line(plan: JsonObject, names: int, width: int) -> text.Text:
    """Name, title, and number of trials of a plan, in one line."""
    trials = language.written(messages.PLAN_TRIALS(trials=plan["trials"])) if plan["trials"] else ""
    title = text.Text(plan["title"] if plan["trials"] else plan["problem"])
    title.truncate(max(_LEAST, width - names - _GAPS - cells.cell_len(trials)), overflow="ellipsis", pad=True)
    return text.Text.assemble("  ", plan["name"].ljust(names), "  ", title, "  ", (trials, "dim"))


def _listed(lang: str) -> list[JsonObject]:
    """Name, path, title and question (in one language), and size of each built-in plan."""
    listed: list[JsonObject] = []
    for name, path in built_in.ready_plans().items():
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

    return [name for name in built_in.ready_plans() if name.startswith(incomplete)]


@plans.command("show")
@argument("name", shell_complete=_complete)
def show(name: str) -> None:
    """Print a built-in plan."""
    ready = built_in.ready_plans()
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
