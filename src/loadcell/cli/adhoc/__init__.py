"""Loads without a plan file: what `loadcell sql`, `http` and `redis` have in common.

A command says which target and workload its words mean; its options make a plan of that, which is run as any
other. Here are the options, and the secrets among the words of a command line. Every user of the machine can
read a command line, and the shell's history stores it, so that secrets are hidden there.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from functools import wraps
from pathlib import Path
from typing import Any, TypeAlias

import click
from click.shell_completion import CompletionItem

from loadcell import parts
from loadcell.cli import call, language, messages
from loadcell.cli.arguments import Integer, Seed, label_option
from loadcell.cli.command import option
from loadcell.cli.streams import echo
from loadcell.plan import paths as plan_paths
from loadcell.plan import problems, units


@dataclass(frozen=True)
class Hidden:
    """A secret in a `word` of the command line: the word without it, `clean`, and the variable for its
    `value`.
    """

    word: str
    clean: str
    variable: str
    value: str


def hide(secrets: Sequence[Hidden]) -> dict[str, str]:
    """The environment with these secrets in it, after a warning.

    Where they stand on this process's own command line it starts again without them: only its user can read
    an environment. (It is another's command line in tests, and where loadcell is a library.)
    """
    env = {**os.environ, **{secret.variable: secret.value for secret in secrets}}
    if not secrets:
        return env
    message = messages.SECRET_MOVED(variables=[secret.variable for secret in secrets])
    echo(language.written(message), err=True)
    words = [cleaned(word, secrets) for word in sys.argv[1:]]
    if words != sys.argv[1:]:
        sys.stdout.flush()
        sys.stderr.flush()
        os.execve(  # noqa: S606  (no shell is wanted)
            sys.executable, [sys.executable, "-P", "-m", "loadcell", *words], env
        )
    return env


def cleaned(word: str, secrets: Sequence[Hidden]) -> str:
    """A word of the command line without them, be it `VALUE` or `--option=VALUE`."""
    for secret in secrets:
        word = word.replace(secret.word, secret.clean)
    return word


def typed(name: str, words: Sequence[str], secrets: Sequence[Hidden]) -> tuple[str, ...]:
    """The command line as it was typed, but for secrets; `words` where it is not that of a command."""
    arguments = call.words()
    after = arguments[arguments.index(name) + 1 :] if name in arguments else words
    return ("loadcell", name, *(cleaned(word, secrets) for word in after))


Complete = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]

Decorate: TypeAlias = Callable[[Callable[..., int]], Callable[..., int]]


def words(*names: str) -> Complete:
    """Completes some words that are known, where others may be given as well."""

    def complete(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG001
        return [CompletionItem(word) for word in names if word.lower().startswith(incomplete.lower())]

    return complete


def several(*names: str) -> Complete:
    """Completes the last of some words with commas between them, each once."""

    def complete(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG001
        before, comma, last = incomplete.rpartition(",")
        parts = before.split(",")
        return [
            CompletionItem(f"{before}{comma}{word}")
            for word in names
            if word.startswith(last.lower()) and word not in parts
        ]

    return complete


def settings(target: str | None, workload: str | None) -> Complete:
    """Completes `--set`: paths of settings, those of one target and workload where they are named."""

    def complete(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG001
        paths = plan_paths.settings(parts.installed(), target, workload)
        return [CompletionItem(f"{path}=") for path in paths if path.startswith(incomplete)]

    return complete


#: How long is measured where neither a time nor a number of requests is given.
DURATION = "10s"
WARMUP = "1s"
CLIENTS = "10"


@dataclass(frozen=True)
class LineOptions:
    """Meaning of the options. Quantities are as a plan writes them."""

    clients: tuple[int, ...]
    requests: int | None
    requests_per_client: int | None
    duration: str | None
    rate: tuple[str, ...]
    warmup: str
    timeout: str | None
    threads: int | None
    repeats: int
    sets: tuple[str, ...]
    labels: tuple[str, ...]
    seed: int | None
    out: Path | None
    save_plan: Path | None
    write_report: bool
    as_json: bool


class Quantity(click.ParamType[str]):
    """A quantity with its unit, checked and left as it was written."""

    def __init__(self, kind: str) -> None:
        self.name = kind

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:

        try:
            kind = units.Rate if self.name == "rate" else units.Duration
            return kind.read(str(value)).text
        except problems.SettingError as error:
            code = messages.CALL_QUANTITY_NEAR if error.nearest else messages.CALL_QUANTITY
            message = code.pick(finding=error.message, near=error.nearest, allowed=error.message.remedy)
            self.fail(language.written(message), param, ctx)


class Several(click.ParamType[tuple[Any, ...]]):
    """Values with commas between them, each once."""

    def __init__(self, part: click.ParamType[Any], name: str) -> None:
        self._each = part
        self.name = name

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[Any, ...]:
        if isinstance(value, tuple):
            return value
        parts = [self._each.convert(part.strip(), param, ctx) for part in str(value).split(",")]
        return tuple(dict.fromkeys(parts))


_COUNT = Integer()


def _options(complete_settings: Complete) -> tuple[Decorate, ...]:
    return (
        option(
            "--clients", "-c", type=Several(Integer(1, 100_000), "numbers"), default=CLIENTS,
            show_default=True, metavar="N[,N...]", group="load",
        ),
        option("--requests", "-n", type=_COUNT, metavar="N", group="load"),
        option("--requests-per-client", type=_COUNT, metavar="N", group="load"),
        option("--duration", "-d", type=Quantity("duration"), metavar="TIME", group="load"),
        option(
            "--rate", type=Several(Quantity("rate"), "rates"), default=(), metavar="RATE[,RATE...]",
            group="load",
        ),
        option(
            "--warmup", type=Quantity("duration"), default=WARMUP, show_default=True, metavar="TIME",
            group="load",
        ),
        option("--timeout", type=Quantity("duration"), metavar="TIME", group="load"),
        option("--threads", type=Integer(1, 1024), metavar="N", group="load"),
        option(
            "--repeats", type=Integer(1, 1000), default=1, show_default=True, metavar="N", group="load"
        ),
        option(
            "--set", "sets", multiple=True, metavar="PATH=VALUE", shell_complete=complete_settings,
            group="plan",
        ),
        label_option,
        option("--seed", type=Seed(), metavar="N", group="plan"),
        option(
            "--save-plan", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", group="plan"
        ),
        option("--out", type=click.Path(path_type=Path), metavar="DIR", group="output"),
        option(
            "--report/--no-report", "write_report", default=True, show_default=True, group="output"
        ),
        option("--json", "as_json", is_flag=True, group="output"),
    )  # fmt: skip


def line_options(target: str | None = None, workload: str | None = None) -> Decorate:
    """Give a command all of them; it gets them together, as `options`.

    `target` and `workload` are those of the command, if it always has the same.
    """
    names = [field.name for field in fields(LineOptions)]

    def decorate(command: Callable[..., int]) -> Callable[..., int]:
        @wraps(command)
        def called(**values: Any) -> int:
            options = LineOptions(**{name: values.pop(name) for name in names})
            return command(options=options, **values)

        decorated: Callable[..., int] = called
        for decorate_option in reversed(_options(settings(target, workload))):
            decorated = decorate_option(decorated)
        return decorated

    return decorate
