"""What several commands take: a plan, `--set` and `--only`, with what a shell completes for them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.shell_completion import CompletionItem

if TYPE_CHECKING:
    from pathlib import Path

    from loadcell.plan.loaded import LoadedPlan

F = TypeVar("F", bound=Callable[..., Any])


class Seed(click.ParamType[int]):
    """What a random order is drawn from: any whole number that fits. Its range would be the longest line of every help."""

    name = "N"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        try:
            found = int(value)
        except ValueError:
            found = -1
        if not 0 <= found < 2**63:
            self.fail(f"{value!r} is no whole number from 0 to {2**63 - 1}", param, ctx)
        return found


class Whole(click.IntRange):
    """A whole number within bounds, called so where something else was given."""

    name = "whole number"


def language_option(of: str) -> Callable[[F], F]:
    """The option --lang: the language of what is named."""
    return click.option(
        "--lang",
        type=click.Choice(["en", "zh"]),
        default="en",
        show_default=True,
        help=f"The language of {of}.",
    )


def plan_argument(*, required: bool = True) -> Callable[[F], F]:
    """The argument PLAN (as `plan`): a path, or the name of a ready-made plan; None where it may be and is left out."""
    return click.argument("plan", metavar="PLAN", required=required, shell_complete=_plans)


def change_options(command: F) -> F:
    """The options `--set` and `--only` (as `sets` and `only`, tuples of text)."""
    command = click.option(
        "--only",
        multiple=True,
        metavar="FACTOR=LEVEL,...",
        shell_complete=_only,
        help="Run only these levels of a factor. May be given again for another factor.",
    )(command)
    return click.option(
        "--set",
        "sets",
        multiple=True,
        metavar="PATH=VALUE",
        shell_complete=_set,
        help="Change a setting of the plan, such as load.duration=5s. May be given again.",
    )(command)


def load(
    plan: str, sets: tuple[str, ...], only: tuple[str, ...], directory: Path | None = None
) -> LoadedPlan:
    """The plan a command line names; `directory` is where files are that it names (default: its own). Raises PlanError, which the
    root command turns into messages and exit 2."""
    from loadcell.parts import installed
    from loadcell.plan.load import load_plan
    from loadcell.plan.ready import find

    return load_plan(find(plan), installed(), sets=sets, only=only, directory=directory)


def runs(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG001
    """Completes runs under `results` by their short ids, newest first, `last`, and directories."""
    from loadcell.store.find import DEFAULT_RESULTS, LAST, runs_under

    found = [CompletionItem(LAST, help="the latest run")] + [
        CompletionItem(path.name.rpartition("-")[2], help=f"{path.parent.name}/{path.name}")
        for path in reversed(runs_under(DEFAULT_RESULTS))
    ]
    return [
        *(item for item in found if item.value.startswith(incomplete)),
        CompletionItem(incomplete, type="dir"),
    ]


def baselines(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG001
    """Completes the names of baselines."""
    from loadcell.store.baselines import known
    from loadcell.store.errors import StoreError

    try:
        return [
            CompletionItem(name, help=str(path))
            for name, path in known().items()
            if name.startswith(incomplete)
        ]
    except StoreError:
        return []


def _plans(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG001
    """Ready-made plans by name, and files."""
    from loadcell.plan.ready import ready_plans

    names = [CompletionItem(name) for name in ready_plans() if name.startswith(incomplete)]
    return [*names, CompletionItem(incomplete, type="file")]


def _set(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG001
    """Paths of settings, those of the plan's own target and workload when it can be read."""
    from loadcell.parts import installed
    from loadcell.plan.model import Head
    from loadcell.plan.paths import settings

    loaded = _loaded(ctx)
    base = loaded.base if loaded else None
    groups = {group.name: group.workload_name for group in base.groups} if base else {}
    known = (
        settings(installed(), base.target_name, base.workload_name, groups) if base else settings(installed())
    )
    paths = [
        *known,
        *Head.model_fields,
        *(f"factors.{factor.key}" for factor in (loaded.factors if loaded else ())),
    ]
    return [CompletionItem(f"{path}=") for path in paths if path.startswith(incomplete)]


def _only(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG001
    """The plan's factors, then their levels."""
    loaded = _loaded(ctx)
    factors = {factor.key: factor for factor in (loaded.factors if loaded else ())}
    key, equals, labels = incomplete.partition("=")
    if not equals:
        return [CompletionItem(f"{name}=") for name in factors if name.startswith(key)]
    if key not in factors:
        return []
    before, comma, last = labels.rpartition(",")
    return [
        CompletionItem(f"{key}={before}{comma}{level.label}")
        for level in factors[key].levels
        if level.label.startswith(last)
    ]


def _loaded(ctx: click.Context) -> LoadedPlan | None:
    """The plan typed so far, if it is one. Behind an option without a value, click leaves it among the unparsed words."""
    from loadcell.plan.problems import PlanError

    plan = ctx.params.get("plan") or next(iter(ctx.args), None)
    try:
        return load(plan, (), ()) if plan else None
    except PlanError:
        return None
