"""Arguments of several commands: a plan, `--set` and `--only`, with their shell completion.

A plan is named by its path or, if it comes with loadcell, by its name: `loadcell run quickstart`.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.shell_completion import CompletionItem

from loadcell import parts
from loadcell.cli import help_texts, language, locales, messages
from loadcell.cli.command import argument, option
from loadcell.execution import interrupts
from loadcell.plan import load as plan_loader
from loadcell.plan import model as plan_model
from loadcell.plan import paths as plan_paths
from loadcell.plan import problems as plan_problems
from loadcell.plan import ready, units
from loadcell.store import find as run_finder
from loadcell.store import layout
from loadcell.store import read as stored_runs

if TYPE_CHECKING:
    from loadcell.plan.load import LoadedPlan

F = TypeVar("F", bound=Callable[..., Any])


class Seed(click.ParamType[int]):
    """The seed of a random order. Its range is not part of the help, where it would be the longest line."""

    name = "N"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        try:
            number = int(value)
        except ValueError:
            number = -1
        if not 0 <= number < 2**63:
            self.fail(language.written(messages.CALL_SEED(value=repr(value), most=2**63 - 1)), param, ctx)
        return number


class Integer(click.ParamType[int]):
    """A whole number within bounds; its error names them."""

    name = "N"

    def __init__(self, least: int = 1, most: int | None = None) -> None:
        self._least = least
        self._most = most

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        try:
            number = int(value)
        except ValueError:
            number = self._least - 1
        if number < self._least or (self._most is not None and number > self._most):
            code = messages.CALL_INTEGER if self._most is not None else messages.CALL_INTEGER_LEAST
            message = code.pick(value=repr(str(value)), least=str(self._least), most=str(self._most))
            self.fail(language.written(message), param, ctx)
        return number


class ProcessId(click.ParamType[int]):
    """The number of a process."""

    name = "PID"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        text = str(value).strip()
        if not (text.isascii() and text.isdigit() and 0 < int(text) < 1 << 31):
            self.fail(language.written(messages.CALL_PROCESS_ID(value=repr(str(value)))), param, ctx)
        return int(text)


class Positive(click.ParamType[float]):
    """A number greater than 0."""

    name = "NUMBER"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        try:
            number = float(value)
        except ValueError:
            number = math.nan
        if not 0 < number < math.inf:
            self.fail(language.written(messages.CALL_POSITIVE(value=repr(str(value)))), param, ctx)
        return number


class Length(click.ParamType[float]):
    """A length of time with its unit, in seconds."""

    name = "TIME"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        try:
            return float(units.Duration.read(str(value)))
        except plan_problems.SettingError as error:
            code = messages.CALL_QUANTITY_NEAR if error.nearest else messages.CALL_QUANTITY
            message = code.pick(finding=error.message, allowed=error.message.remedy, near=error.nearest)
            return self.fail(language.written(message), param, ctx)


class MemorySize(click.ParamType[int]):
    """Memory of a machine with its unit, in bytes, of at least `least`."""

    name = "SIZE"

    def __init__(self, least: int = 0) -> None:
        self._least = least

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        try:
            size = int(units.parse(str(value), units.BYTES, units.ALLOWED_SIZE(), usual="GiB"))
        except plan_problems.SettingError as error:
            code = messages.CALL_QUANTITY_NEAR if error.nearest else messages.CALL_QUANTITY
            message = code.pick(finding=error.message, allowed=error.message.remedy, near=error.nearest)
            return self.fail(language.written(message), param, ctx)
        if size < self._least:
            least = units.Size(self._least).text
            message = messages.CALL_SIZE_LEAST(value=repr(str(value)), least=least)
            return self.fail(language.written(message), param, ctx)
        return size


def percentage(option: str, text: str, most: float, *, zero: bool = False) -> float:
    """`2%` as 0.02. Raises CallError for anything else, and above `most`."""
    try:
        value = float(text.removesuffix("%")) / 100 if text.endswith("%") else float("nan")
    except ValueError:
        value = float("nan")
    if not (0 < value <= most or (zero and value == 0)):
        raise language.CallError(messages.CALL_PERCENTAGE(option=option, text=text, most=f"{most:.0%}"))
    return value


def run_directory_option(command: F) -> F:
    """The option `--out` of a command that writes a run."""
    return option("--out", type=click.Path(path_type=Path), metavar="DIR", group="output")(command)


def plan_argument(*, required: bool = True) -> Callable[[F], F]:
    """The argument PLAN (as `plan`): a path, or the name of a built-in plan; None if it is omitted and may
    be.
    """
    return argument("plan", metavar="PLAN", required=required, shell_complete=_plans)


def change_options(command: F) -> F:
    """The options `--set` and `--only` (as `sets` and `only`, tuples of text)."""
    command = option(
        "--only",
        multiple=True,
        metavar="FACTOR=LEVEL,...",
        shell_complete=_only,
        group="plan",
    )(command)
    return option(
        "--set",
        "sets",
        multiple=True,
        metavar="PATH=VALUE",
        shell_complete=_set,
        group="plan",
    )(command)


def label_option(command: F) -> F:
    """The option `--label` (as `labels`, a tuple of texts)."""
    return option(
        "--label",
        "labels",
        multiple=True,
        metavar="NAME[=VALUE]",
        shell_complete=label_names,
        group="plan",
    )(command)


def load(
    plan: str,
    sets: tuple[str, ...],
    only: tuple[str, ...],
    directory: Path | None = None,
    labels: tuple[str, ...] = (),
) -> LoadedPlan:
    """The plan a command line names; `directory` contains the files that it names (default: its own).

    Raises PlanError, which the root command turns into messages and exit 2.
    """
    return plan_loader.load_plan(
        ready.find_plan(plan),
        parts.installed(),
        sets=sets,
        only=only,
        directory=directory,
        added_labels=labels,
    )


def label_names(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG001
    """Completes labels as runs under `results` have them: a name, then its values, the latest first."""
    labels: dict[str, dict[str, None]] = {}
    for path in reversed(run_finder.runs_under(run_finder.DEFAULT_RESULTS)):
        with contextlib.suppress(layout.StoreError):
            for name, value in (stored_runs.read_record(path).labels or {}).items():
                labels.setdefault(name, {}).setdefault(value)
    name, equals, value = incomplete.partition("=")
    if not equals:
        return [CompletionItem(f"{label}=") for label in labels if label.startswith(name)]
    return [CompletionItem(f"{name}={text}") for text in labels.get(name, ()) if text.startswith(value)]


def runs(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG001
    """Completes runs under `results` by their short ids, newest first, `last`, and directories."""
    items = [CompletionItem(run_finder.LAST, help=help_texts.heading("latest-run")[locales.current()])] + [
        CompletionItem(layout.short_id(path.name), help=f"{path.parent.name}/{path.name}")
        for path in reversed(run_finder.runs_under(run_finder.DEFAULT_RESULTS))
    ]
    return [
        *(item for item in items if item.value.startswith(incomplete)),
        *files(incomplete, ()),
    ]


def files(incomplete: str, suffixes: tuple[str, ...]) -> list[CompletionItem]:
    """Directories, and files with one of the suffixes, that begin with what was typed.

    Left to the shell (`type="file"`), they would take the place of all other items in bash.
    """
    directory, _, begin = incomplete.rpartition("/")
    shown = f"{directory}/" if "/" in incomplete else ""
    try:
        entries = sorted(Path(shown or ".").expanduser().iterdir())
    except OSError:
        return []
    return [
        CompletionItem(f"{shown}{path.name}{'/' if path.is_dir() else ''}")
        for path in entries
        if path.name.startswith(begin)
        and (begin.startswith(".") or not path.name.startswith("."))
        and (path.is_dir() or path.suffix in suffixes)
    ]


def baselines(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG001
    """Completes the names of baselines."""
    try:
        return [
            CompletionItem(name, help=", ".join(map(str, paths)))
            for name, paths in run_finder.baselines().items()
            if name.startswith(incomplete)
        ]
    except layout.StoreError:
        return []


def _plans(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG001
    """Built-in plans by name, and files. The directory of a run is completed like any other."""
    names = [CompletionItem(name) for name in ready.ready_plans() if name.startswith(incomplete)]
    return [*names, *files(incomplete, (".yaml", ".yml"))]


def _set(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG001
    """Paths of settings, those of the plan's own target and workload when it can be read."""
    loaded = _loaded(ctx)
    base = loaded.base if loaded else None
    groups = {group.name: group.workload_name for group in base.groups} if base else {}
    setting_paths = (
        plan_paths.settings(parts.installed(), base.target_name, base.workload_name, groups)
        if base
        else plan_paths.settings(parts.installed())
    )
    paths = [
        *setting_paths,
        *plan_model.Head.model_fields,
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
    """The plan typed so far, if it is one.

    Behind an option without a value, click leaves it among the unparsed words.
    """
    plan = ctx.params.get("plan") or next(iter(ctx.args), None)
    try:
        return load(plan, (), ()) if plan else None
    except plan_problems.PlanError:
        return None


@contextlib.contextmanager
def beginning() -> Iterator[None]:
    """A KeyboardInterrupt in here gets a note that nothing is left; the root command prints it."""
    try:
        yield
    except KeyboardInterrupt as error:
        error.add_note(language.written(interrupts.NOTHING_LEFT()))
        raise
