"""Writes a comparison's page and Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from loadcell.report.comparison.gather import Gathered

#: The files' name, where a directory is given.
STEM = "comparison"


def publish(
    gathered: Gathered, lang: str, formats: Sequence[str], out: Path, command: Sequence[str]
) -> list[Path]:
    """Write `comparison.html` and `comparison.md` (with its pictures) to a directory, or one of them to a file.

    Raises StoreError when the place cannot be written.
    """
    from contextlib import nullcontext

    from loadcell.report.pictures import VEGA_LITE, Painter
    from loadcell.report.publish import write, write_pictures
    from loadcell.store.errors import cannot_write

    single = bool(out.suffix) and not out.is_dir()
    places = {name: out if single else out / f"{STEM}.{name}" for name in formats}
    with Painter(VEGA_LITE) if "md" in formats else nullcontext() as painter:
        from loadcell.report import html, markdown
        from loadcell.report.comparison.build import build

        report = build(gathered, lang, command)
        if painter is not None:
            painter.hand_over([markdown.drawing(chart) for chart in report.charts()])
        try:
            if "html" in places:
                write(places["html"], html.render(report))
            if painter is not None:
                write_pictures(places["md"].parent / markdown.PICTURES, report, painter)
                write(places["md"], markdown.render(report))
        except OSError as error:
            raise cannot_write(Path(error.filename or out), error) from None
    return list(places.values())


def text(gathered: Gathered, lang: str, command: Sequence[str]) -> str:
    """Markdown without pictures, as a pull request's comment takes it."""
    from loadcell.report import markdown
    from loadcell.report.comparison.build import build

    return markdown.render(build(gathered, lang, command, charts=False))
