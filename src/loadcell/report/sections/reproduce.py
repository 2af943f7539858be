"""The commands that do it again."""

from __future__ import annotations

import shlex
from pathlib import Path

from loadcell.report.blocks import Block, Code, Section
from loadcell.report.context import ReportContext
from loadcell.store.layout import quoted, resume_command


def section(context: ReportContext) -> Section:
    """Always there."""
    texts = context.texts
    blocks: list[Block] = [
        Code(texts(title), command) for title, command in commands(context.stored.path, context).items()
    ]
    return Section("reproduce", texts("section.reproduce"), blocks)


def commands(path: Path, context: ReportContext) -> dict[str, str]:
    """Title key -> command."""
    run = context.stored.run
    if context.imported:
        return _of_imported(path, context)
    here = quoted(shown(path))
    again = f"loadcell run {quoted(shown(path) / 'plan.yaml')}"
    command = list(run.command)
    again += "".join(f" {shlex.quote(word)}" for word in _settings(command))
    if run.seed is not None and "seed=" not in again:
        again += f" --set seed={run.seed}"
    commands = {"table.command": again}
    if command:
        commands["table.command.as-was"] = shlex.join(command)
    if any(trial.status == "not-run" for trial in context.analysis.trials):
        commands["table.command.resume"] = resume_command(shown(path), run.resumed_by)
    commands["table.command.report"] = f"loadcell report {here}"
    return commands


def _of_imported(path: Path, context: ReportContext) -> dict[str, str]:
    """There is no plan that could be run: only its files can be read again."""
    command = context.stored.run.command
    commands = {"table.command.as-was": shlex.join(command)} if command else {}
    return {**commands, "table.command.report": f"loadcell report {quoted(shown(path))}"}


def _settings(command: list[str]) -> list[str]:
    """The `--set`, `--only` and `--aa` of the command that made the run: the plan file alone is not all of
    it.
    """
    words: list[str] = []
    for position, word in enumerate(command):
        if word in {"--set", "--only"} and position + 1 < len(command):
            words += [word, command[position + 1]]
        elif word == "--aa" or word.startswith(("--set=", "--only=")):
            words.append(word)
    return words


def shown(path: Path) -> Path:
    """The path as one would type it from the current directory."""
    try:
        return path.relative_to(Path.cwd())
    except ValueError:
        return path
