"""Two machines held against each other: what `loadcell compare` does with baselines and inventories."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


def are_machines(named: Sequence[str]) -> bool:
    """Whether these are machines rather than runs of a target: JSON of `loadcell host`, or two baselines."""
    from loadcell.report.hosts.read import is_baseline, is_document
    from loadcell.store.find import find_run

    if any(is_document(name) for name in named):
        return True
    return len(named) == 2 and all(is_baseline(find_run(name)) for name in named)


def compare_machines(
    named: Sequence[str],
    workloads: Sequence[tuple[str, str]],
    *,
    least_effect: float,
    anyway: bool,
    fail_on: Sequence[str],
    formats: tuple[str, ...],
    place: Path | None,
    lang: str,
    command: tuple[str, ...],
    as_json: bool,
) -> int:
    """Compare, show and write; the exit status. Raises StoreError and CannotCompareError."""
    from loadcell.cli.compare_output import show
    from loadcell.report.hosts import publish
    from loadcell.report.hosts.compared import compared
    from loadcell.report.hosts.terminal_comparison import print_machines

    if len(named) != 2:
        raise click.UsageError(
            f"Machines are compared two at a time, and {len(named)} {'is' if len(named) == 1 else 'are'} named."
        )
    found = compared(named[0], named[1], workloads, least_effect=least_effect, anyway=anyway)
    if as_json:
        import json

        from loadcell.report.hosts.document import document

        click.echo(json.dumps(document(found, lang), indent=2, ensure_ascii=False))
    show(
        found, publish, print_machines, lang=lang, formats=formats, place=place, command=command, quiet=as_json
    )  # fmt: skip
    if any(row.verdict.word in fail_on for row in found.machines.rows):
        return 1
    return 3 if found.incomplete else 0
