"""What `loadcell compare` writes and shows, of runs as of machines."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol, TypeVar

import click

Found = TypeVar("Found", contravariant=True)


class Publisher(Protocol[Found]):
    """The module that makes pages of a comparison."""

    STEM: str

    def publish(
        self, found: Found, lang: str, formats: Sequence[str], out: Path, command: Sequence[str], /
    ) -> list[Path]: ...

    def text(self, found: Found, lang: str, command: Sequence[str], /) -> str: ...


class Printer(Protocol[Found]):
    """Prints a comparison on the terminal; `page` is what to type for its page, None where that was written."""

    def __call__(self, found: Found, lang: str, page: str | None, /) -> None: ...


def show(
    found: Found,
    publisher: Publisher[Found],
    printer: Printer[Found],
    *,
    lang: str,
    formats: tuple[str, ...],
    place: Path | None,
    command: tuple[str, ...],
    quiet: bool,
) -> None:
    """Write what is wanted, and print the rest; `quiet` where standard output belongs to JSON."""
    if place is None and formats and not quiet:
        click.echo(publisher.text(found, lang, command), nl=False)
        return
    written = publisher.publish(found, lang, formats, place, command) if place is not None else []
    if not quiet:
        printer(found, lang, None if written else f"{shlex.join(command)} --out {publisher.STEM}.html")
    for path in written:
        click.echo(path, err=quiet)
