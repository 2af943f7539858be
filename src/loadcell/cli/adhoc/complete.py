"""What a shell completes of a load without a plan file."""

from __future__ import annotations

from collections.abc import Callable

import click
from click.shell_completion import CompletionItem

from loadcell import parts
from loadcell.plan import paths as plan_paths

Complete = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]

#: Target and workload of the commands that have one; that of `sql` depends on what is still to be typed.
_PARTS = {"http": ("http", "http"), "redis": ("redis", "kv")}


def words(*known: str) -> Complete:
    """Completes some words that are known, where others may be given as well."""

    def complete(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG001
        return [CompletionItem(word) for word in known if word.lower().startswith(incomplete.lower())]

    return complete


def several(*known: str) -> Complete:
    """Completes the last of some words with commas between them, each once."""

    def complete(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG001
        before, comma, last = incomplete.rpartition(",")
        given = before.split(",")
        return [
            CompletionItem(f"{before}{comma}{word}")
            for word in known
            if word.startswith(last.lower()) and word not in given
        ]

    return complete


def paths(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG001
    """Completes `--set`: paths of settings, those of the command's own target and workload."""
    target, workload = _PARTS.get(ctx.info_name or "", (None, None))
    known = plan_paths.settings(parts.installed(), target, workload)
    return [CompletionItem(f"{path}=") for path in known if path.startswith(incomplete)]
