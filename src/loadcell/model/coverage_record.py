"""Coverage of a test suite, measured in a pass that is not timed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from loadcell.model.json import OMITTED


@dataclass(frozen=True, slots=True)
class FileCoverage:
    """Statements of a file, those that no test executed, and the covered share (of branches, too, if they
    were measured).
    """

    file: str
    statements: int
    missing: int
    share: float


@dataclass(frozen=True, slots=True)
class CoverageRecord:
    """Coverage of all files; `page` is the page with all lines, relative to the run directory."""

    statements: int
    missing: int
    share: float
    files: tuple[FileCoverage, ...] = ()
    page: Annotated[str | None, OMITTED] = None


def lowest_first(files: Sequence[FileCoverage]) -> list[FileCoverage]:
    """Files with the lowest coverage first."""
    return sorted(files, key=lambda file: (file.share, -file.missing, file.file))
