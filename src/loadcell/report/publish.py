"""Reads a run and writes its report files, each by rename."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from loadcell.report import FORMATS, build, html, markdown
from loadcell.report.blocks import Report
from loadcell.store.durable import write_text
from loadcell.store.errors import StoreError, cannot_write
from loadcell.store.read import read_run


def publish(run_dir: Path, lang: str, formats: Sequence[str], out: Path | None) -> list[Path]:
    """What `loadcell.report.write` says."""
    unknown = [name for name in formats if name not in FORMATS]
    if unknown:
        raise ValueError(f"no format {unknown[0]!r}: there are {', '.join(FORMATS)}")
    report = build.build(read_run(run_dir), lang)
    written = []
    for name in formats:
        place = _place(run_dir, name, out)
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            if name == "html":
                write_text(place, html.render(report))
            else:
                _markdown(place, report)
        except OSError as error:
            raise cannot_write(place, error, run_dir) from None
        written.append(place)
    return written


def _place(run_dir: Path, name: str, out: Path | None) -> Path:
    if out is None:
        return run_dir / f"report.{name}"
    if out.is_dir() or not out.suffix:
        return out / f"report.{name}"
    if out.suffix.lstrip(".") not in {name, *(("htm",) if name == "html" else ("markdown",))}:
        raise StoreError(
            f"{out} does not end in .{name}", advice=f"Name a directory, or a file that ends in .{name}."
        )
    return out


def _markdown(place: Path, report: Report) -> None:
    pictures = place.parent / markdown.PICTURES
    charts = report.charts()
    if charts:
        pictures.mkdir(exist_ok=True)
    for chart in charts:
        write_text(pictures / f"{chart.id}.svg", markdown.picture(chart))
    write_text(place, markdown.render(report))
