"""`loadcell version`: versions of loadcell, its engine, Python, the kernel and the libraries in use."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version

import click

from loadcell import __version__
from loadcell.cli import language, messages, requirements
from loadcell.cli.command import command, option
from loadcell.cli.streams import echo, echo_json
from loadcell.model.json import document
from loadcell.report.render import json


@dataclass(frozen=True)
class Versions:
    """Versions of the parts that a measurement depends on; None for one that is missing or broken."""

    loadcell: str
    engine: str | None
    python: str
    implementation: str
    kernel: str
    architecture: str
    c_library: str | None
    libraries: Mapping[str, str | None]


def versions() -> Versions:
    """The versions of this installation, on this machine."""
    system = os.uname()
    return Versions(
        __version__,
        _engine_version(),
        platform.python_version(),
        platform.python_implementation(),
        f"{system.sysname} {system.release}",
        system.machine,
        " ".join(part for part in platform.libc_ver() if part) or None,
        {name: _version_of(name) for name in requirements.direct()},
    )


def _engine_version() -> str | None:
    try:
        from loadcell import _engine  # noqa: PLC0415 - a wheel of another machine has none that loads
    except ImportError:
        return None
    return str(_engine.version())


def _version_of(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def text(of: Versions) -> str:
    """A line for each part, and the libraries in alphabetical order."""
    missing = language.written(messages.VERSION_MISSING())
    rows = [
        ("loadcell", of.loadcell),
        (language.written(messages.VERSION_ENGINE()), of.engine or missing),
        ("Python", f"{of.python} ({of.implementation})"),
        (language.written(messages.VERSION_KERNEL()), f"{of.kernel} {of.architecture}"),
        *([(language.written(messages.VERSION_C_LIBRARY()), of.c_library)] if of.c_library else []),
        *((name, number or missing) for name, number in of.libraries.items()),
    ]
    return "\n".join(f"{name} {value}" for name, value in rows)


def show(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    """Callback of the option --version."""
    if wanted and not ctx.resilient_parsing:
        echo(text(versions()))
        ctx.exit()


@command("version")
@option("--json", "as_json", is_flag=True, group="output")
def version_(as_json: bool) -> None:
    """Show versions."""
    present = versions()
    if as_json:
        echo_json(json.render(document(present)))
    else:
        echo(text(present))
