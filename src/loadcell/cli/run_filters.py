"""Options that select runs, of `list` and `clean`: labels, state and age."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click
from click.shell_completion import CompletionItem

from loadcell.cli import language, messages
from loadcell.cli.arguments import label_names
from loadcell.cli.command import option
from loadcell.plan import problems, units
from loadcell.store import find as run_finder
from loadcell.store.selection import STATES, Selection, records_under

F = TypeVar("F", bound=Callable[..., Any])


class Age(click.ParamType[float]):
    """A duration with its unit, in seconds."""

    name = "age"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        try:
            return float(units.Duration.read(str(value)))
        except problems.SettingError as error:
            message = messages.CALL_QUANTITY(finding=error.message, allowed=error.message.remedy)
            return self.fail(language.written(message), param, ctx)


def filter_options(command: F) -> F:
    """The options `--label`, `--status` and `--older-than` (as `labels`, `states`, `older_than_s`)."""
    for decorate in (
        option(
            "--older-than",
            "older_than_s",
            type=Age(),
            metavar="AGE",
            group="selection",
        ),
        option(
            "--status",
            "states",
            multiple=True,
            type=click.Choice(STATES),
            group="selection",
        ),
        option(
            "--label",
            "labels",
            multiple=True,
            metavar="NAME[=VALUE]",
            shell_complete=label_names,
            group="selection",
        ),
    ):
        command = decorate(command)
    return command


def selection(
    plan: str | None,
    labels: tuple[str, ...],
    states: tuple[str, ...],
    older_than_s: float | None,
    younger_than_s: float | None = None,
) -> Selection:
    """The conditions of the options."""
    wanted = {
        name: value if equals else None for name, equals, value in (text.partition("=") for text in labels)
    }
    return Selection(plan, wanted, states, older_than_s, younger_than_s)


def plans_with_runs(
    ctx: click.Context,  # noqa: ARG001
    param: click.Parameter,  # noqa: ARG001
    incomplete: str,
) -> list[CompletionItem]:
    """Completes names of plans that have runs under `results`."""
    plans = dict.fromkeys(run.plan for run in records_under(run_finder.DEFAULT_RESULTS))
    return [CompletionItem(plan) for plan in plans if plan.startswith(incomplete)]


def results_option(command: F) -> F:
    """The option `--results`."""
    return option(
        "--results",
        type=click.Path(path_type=Path),
        default=run_finder.DEFAULT_RESULTS,
        show_default=True,
        metavar="DIR",
        group="selection",
    )(command)
