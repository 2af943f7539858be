"""Reads a run and writes its report files, each by rename."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path

from loadcell import lazy
from loadcell.report import FORMATS, build, charts
from loadcell.report.blocks import Report
from loadcell.report.context import ReportContext
from loadcell.report.messages import OUT_WRONG_SUFFIX
from loadcell.report.pictures import VEGA_LITE, Painter
from loadcell.report.render import html, json, markdown
from loadcell.report.texts import Texts
from loadcell.store.layout import StoreError, cannot_write
from loadcell.store.read import read_run
from loadcell.store.write import write_text

_ENDINGS = {"html": (".html", ".htm"), "md": (".md", ".markdown")}


def publish(run_dir: Path, lang: str, formats: Sequence[str], out: Path | None) -> list[Path]:
    """Write the report of a run in these formats; see `loadcell.report.write`."""
    unknown = [name for name in formats if name not in FORMATS]
    if unknown:
        raise ValueError(f"no format {unknown[0]!r}: there are {', '.join(FORMATS)}")
    where = {name: _place(run_dir, name, out) for name in formats}
    return write_report(lambda: _of_run(run_dir, lang), where, run_dir, run_dir)


def _of_run(run_dir: Path, lang: str) -> Report:
    context = ReportContext.of(read_run(run_dir), lang)
    keep_loaded()
    return build.of_context(context)


@dataclass(frozen=True)
class ComparisonPages:
    """A comparison in every form: a page (with pictures or without), the brief report of a terminal, and
    JSON.

    `stem` names its files; `brief` takes the command that writes the page, None where the page was written.
    """

    stem: str
    page: Callable[[bool], Report]
    brief: Callable[[str | None], Report]
    document: Callable[[], Mapping[str, object]]
    texts: Texts | None
    verdicts: frozenset[str]
    incomplete: bool

    def publish(self, formats: Sequence[str], out: Path) -> list[Path]:
        """Write `stem.html` and `stem.md` (with its pictures) to a directory, or one file.

        Raises StoreError when the place cannot be written.
        """
        return write_report(lambda: self.page(True), places(out, self.stem, formats), out)

    def markdown(self) -> str:
        """Markdown without pictures, for the comment of a pull request."""
        return markdown.render(self.page(False))

    def json(self) -> str:
        """All of it for scripts."""
        return json.render(self.document(), self.texts)


def places(out: Path, stem: str, formats: Sequence[str]) -> dict[str, Path]:
    """Where each format goes: to `stem.html` and `stem.md` in a directory, or to the one file that `out`
    names.
    """
    single = bool(out.suffix) and not out.is_dir()
    return {name: out if single else out / f"{stem}.{name}" for name in formats}


def write_report(
    make: Callable[[], Report],
    where: Mapping[str, Path],
    out: Path,
    run_dir: Path | None = None,
    ready: Painter | None = None,
) -> list[Path]:
    """Write a report (of a run, if it is one's own) in each format to its place; `ready` is a painter that
    has started before.

    Raises StoreError when one cannot be written.
    """
    with uncollected(), (ready or Painter(VEGA_LITE)) if "md" in where else nullcontext() as painter:
        charts.load()  # after the painter has started: charts and renderers take a second to load
        lazy.load(html)
        keep_loaded()
        report = make()
        if painter is not None:
            painter.hand_over([markdown.drawing(chart) for chart in report.charts()])
        try:
            if "html" in where:
                write(where["html"], html.render(report))
            if painter is not None:
                write_pictures(where["md"].parent / markdown.PICTURES, report, painter)
                write(where["md"], markdown.render(report))
        except OSError as error:
            raise cannot_write(Path(error.filename or out), error, run_dir) from None
    return list(where.values())


def _place(run_dir: Path, name: str, out: Path | None) -> Path:
    if out is None:
        return run_dir / f"report.{name}"
    if out.is_dir() or not out.suffix:
        return out / f"report.{name}"
    if out.suffix not in _ENDINGS[name]:
        raise StoreError(OUT_WRONG_SUFFIX(path=out, suffix=name))
    return out


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, text)


def write_pictures(home: Path, report: Report, painter: Painter) -> None:
    for chart, picture in zip(report.charts(), painter.pictures(), strict=True):
        write(home / f"{chart.id}.svg", markdown.lettered(picture))


@contextmanager
def uncollected() -> Iterator[None]:
    """Switch the garbage collector off, which takes a seventh of the time that loading altair takes."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def keep_loaded() -> None:
    """Exclude all loaded objects from later garbage collections.

    With altair loaded, the last collection, at exit, takes a third of a second. DuckDB warns about
    its objects that an exclusion keeps alive, so nothing is excluded once it is loaded.
    """
    if "duckdb" not in sys.modules:
        gc.freeze()
