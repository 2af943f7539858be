"""Reports of a run: an HTML page, Markdown with pictures, and what a terminal shows.

Nothing is imported until it is needed: charts cost half a second that a terminal does not have to wait.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from loadcell.report import publish

if TYPE_CHECKING:
    from pathlib import Path

    from loadcell.analysis.capacity import Provision

FORMATS = ("html", "md")


def write(
    run_dir: Path,
    lang: str = "en",
    formats: Sequence[str] = FORMATS,
    out: Path | None = None,
    provision: Provision | None = None,
) -> list[Path]:
    """Write the reports of a run (`report.html`, `report.md` and its pictures) and return their paths.

    They go into the run's directory, or to `out`: a directory, or with one format the file itself. With a
    `provision` they state the run's capacity for it. Raises CapacityError where that is not possible,
    `loadcell.store.layout.StoreError` when the run cannot be read or the place not written, ValueError for a
    language or format that there is not.
    """
    return publish.publish(run_dir, lang, formats, out, provision)
