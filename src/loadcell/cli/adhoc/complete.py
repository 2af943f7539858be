"""Shell completion of a load without a plan file."""

from __future__ import annotations

from collections.abc import Callable

import click
from click.shell_completion import CompletionItem

from loadcell import parts
from loadcell.plan import paths as plan_paths

Complete = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]

#: Target and workload of the commands that have one; that of `sql` depends on what is still to be typed.
_PARTS = {"http": ("http", "http"), "redis": ("redis", "kv")}


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


def paths(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG001
    """Completes `--set`: paths of settings, those of the command's own target and workload."""
    target, workload = _PARTS.get(ctx.info_name or "", (None, None))
    paths = plan_paths.settings(parts.installed(), target, workload)
    return [CompletionItem(f"{path}=") for path in paths if path.startswith(incomplete)]
