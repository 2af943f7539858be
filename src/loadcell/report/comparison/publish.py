"""Writes a comparison's page and Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from loadcell.report.blocks import Report
from loadcell.report.comparison.gather import Gathered

#: The files' name, where a directory is given.
STEM = "comparison"


def publish(
    gathered: Gathered, lang: str, formats: Sequence[str], out: Path, command: Sequence[str]
) -> list[Path]:
    """Write `comparison.html` and `comparison.md` (with its pictures) to a directory, or one of them to a file.

    Raises StoreError when the place cannot be written.
    """
    from loadcell.report.publish import places, write_report

    def made() -> Report:
        from loadcell.report.comparison.build import build

        return build(gathered, lang, command)

    return write_report(made, places(out, STEM, formats), out)


def text(gathered: Gathered, lang: str, command: Sequence[str]) -> str:
    """Markdown without pictures, as a pull request's comment takes it."""
    from loadcell.report import markdown
    from loadcell.report.comparison.build import build

    return markdown.render(build(gathered, lang, command, charts=False))
