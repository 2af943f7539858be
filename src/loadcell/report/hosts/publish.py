"""Writes the page and the Markdown on two machines."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from loadcell.report.blocks import Report
from loadcell.report.hosts.compared import Compared

#: The files' name, where a directory is given.
STEM = "hosts"


def publish(
    found: Compared, lang: str, formats: Sequence[str], out: Path, command: Sequence[str]
) -> list[Path]:
    """Write `hosts.html` and `hosts.md` (with its pictures) to a directory, or one of them to a file. Raises StoreError."""
    from loadcell.report.publish import places, write_report

    def made() -> Report:
        from loadcell.report.hosts.comparison import build

        return build(found, lang, command)

    return write_report(made, places(out, STEM, formats), out)


def text(found: Compared, lang: str, command: Sequence[str]) -> str:
    """Markdown without pictures, as a pull request's comment takes it."""
    from loadcell.report import markdown
    from loadcell.report.hosts.comparison import build

    return markdown.render(build(found, lang, command, charts=False))
