"""Provenance of a run: labels, facts that its author states, git checkout, and files that its plan names."""

from __future__ import annotations

from loadcell.model.message import Labels
from loadcell.model.numbers import size
from loadcell.model.run_record import PlanFile, RunRecord
from loadcell.report.blocks import Block, Cell, Column, Definitions, Details, Table
from loadcell.report.texts import Texts
from loadcell.report.values import minute
from loadcell.store.copies import LARGE, PROGRAM, SECRET

#: More files than this are folded away.
MOST_OPEN = 6
#: Digits of a hash that a table shows; the record has all.
_DIGITS = 16
_WHY_NOT = Labels("env.copy", (LARGE, SECRET, PROGRAM))


def blocks(run: RunRecord, texts: Texts) -> tuple[list[Block], list[Block]]:
    """Statements of people (labels, facts), and blocks to fold (checkout, files); nothing of runs that
    recorded nothing.
    """
    result: list[Block] = []
    folded: list[Block] = []
    if run.labels:
        entries = [(name, text or texts("mark.yes")) for name, text in run.labels.items()]
        result.append(Definitions(entries, texts("env.labels")))
    if run.about:
        result.append(Definitions(list(run.about.items()), texts("env.about")))
    if run.checkout is not None:
        git = run.checkout
        entries = [
            (texts("env.git.commit"), git.commit or texts("env.git.no-commit")),
            (texts("env.git.branch"), git.branch or texts("env.git.detached")),
            (texts("env.git.tree"), texts("env.git.dirty" if git.dirty else "env.git.clean")),
        ]
        folded.append(Definitions(entries, texts("env.git")))
    if run.files:
        folded.append(_files(run.files, texts))
    return result, folded


def _files(files: tuple[PlanFile, ...], texts: Texts) -> Block:
    columns = [
        Column(texts("env.file"), code=True),
        Column(texts("env.data-set.size_bytes"), figure=True),
        Column(texts("field.modified_utc"), keep=True),
        Column(texts("field.sha256"), code=True),
        Column(texts("env.copy")),
    ]
    rows = [
        [
            Cell(file.file),
            Cell(size(file.size_bytes), sort=file.size_bytes),
            Cell(minute(file.modified_utc)),
            Cell(file.sha256[:_DIGITS]),
            Cell(texts(_WHY_NOT(file.why_not or "")) if file.why_not in _WHY_NOT else texts("mark.yes")),
        ]
        for file in files
    ]
    title = texts("env.files")
    table = Table("table-files", title, columns, rows, only=len(rows) > MOST_OPEN)
    return Details(title, [table]) if len(rows) > MOST_OPEN else table


def labels(run: RunRecord) -> list[str]:
    """Labels as the command line takes them: `branch=main`, `keep`."""
    return [f"{name}={text}" if text else name for name, text in (run.labels or {}).items()]


def names(run: RunRecord) -> list[str]:
    """Labels and commit: `branch=main`, `keep`, `3f2a9c1d2e-dirty`."""
    commit = None if run.checkout is None else run.checkout.name
    return [*labels(run), *([commit] if commit else [])]
