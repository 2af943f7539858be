"""Documents of blocks (a run's report, a comparison, a history, a machine) and their files, each written by
rename.
"""

from __future__ import annotations

import errno
import gc
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from loadcell import lazy
from loadcell.model import catalogue
from loadcell.model.message import MessageCode
from loadcell.report import FORMATS, brief, build, charts
from loadcell.report import context as contexts
from loadcell.report.blocks import Report, Summary
from loadcell.report.pictures import VEGA_LITE, Painter
from loadcell.report.render import html, json, markdown, terminal
from loadcell.report.texts import Texts
from loadcell.stats import distributions
from loadcell.store.layout import StoreError, cannot_write, is_run, resume_command
from loadcell.store.read import read_run
from loadcell.store.write import write_text

if TYPE_CHECKING:
    from loadcell.analysis.capacity import Provision

OUT_WRONG_SUFFIX = MessageCode("out.wrong-suffix", path=str, suffix=str)

_ENDINGS = {"html": (".html", ".htm"), "md": (".md", ".markdown")}


def publish(
    run_dir: Path, lang: str, formats: Sequence[str], out: Path | None, provision: Provision | None = None
) -> list[Path]:
    """Write the report of a run in these formats; see `loadcell.report.write`."""
    unknown = [name for name in formats if name not in FORMATS]
    if unknown:
        raise ValueError(f"no format {unknown[0]!r}: there are {', '.join(FORMATS)}")
    where = places(run_dir if out is None else out, "report", formats)
    return write_report(
        lambda: _of_run(run_dir, lang, provision), where, run_dir if out is None else out, run_dir
    )


def _of_run(run_dir: Path, lang: str, provision: Provision | None) -> Report:
    context = contexts.ReportContext.of(read_run(run_dir), lang, provision)
    keep_loaded()
    return build.of_context(context)


#: Errors of a disk without room.
_FULL = (errno.ENOSPC, errno.EDQUOT)


@dataclass(frozen=True)
class Document:
    """A document of blocks in every form: a page (with pictures or without), the brief report of a terminal,
    and JSON.

    `stem` names its files; `brief` takes the command that writes the page, None where the page was written.
    With `texts` each finding has its sentence in the JSON, too. `run_dir` is the directory of the run that it
    is about, where it is about one.
    """

    stem: str
    page: Callable[[bool], Report]
    brief: Callable[[str | None], Report]
    data: Callable[[], Mapping[str, object]]
    texts: Texts | None = None
    run_dir: Path | None = None

    def publish(self, formats: Sequence[str], out: Path) -> list[Path]:
        """Write `stem.html` and `stem.md` (with its pictures) to a directory, or one file.

        Raises StoreError when the place cannot be written.
        """
        return write_report(lambda: self.page(True), places(out, self.stem, formats), out, self.run_dir)

    def markdown(self) -> str:
        """Markdown without pictures, for the comment of a pull request."""
        return markdown.render(self.page(False))

    def json(self) -> str:
        """All of it for scripts."""
        return json.render(self.data(), self.texts)


@dataclass(frozen=True, kw_only=True)
class ComparisonDocument(Document):
    """A comparison of runs, with the words of all `verdicts` that a gate may rely on; or of machines.

    `incomplete` says that something has no value to compare with, `undecided` that the design allows no
    verdict. `summary` takes the place of the whole report; machines have none.
    """

    verdicts: frozenset[str] = frozenset()
    incomplete: bool
    undecided: bool = False
    summary: Callable[[str], Summary] | None = None


def places(out: Path, stem: str, formats: Sequence[str]) -> dict[str, Path]:
    """Where each format goes: to `stem.html` and `stem.md` in a directory, or to the one file that `out`
    names. Raises StoreError for a file of another format.
    """
    if out.is_dir() or not out.suffix:
        return {name: out / f"{stem}.{name}" for name in formats}
    for name in formats:
        if out.suffix not in _ENDINGS[name]:
            raise StoreError(OUT_WRONG_SUFFIX(path=out, suffix=name))
    return dict.fromkeys(formats, out)


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
        try:
            report = make()
        except OSError as error:
            if error.errno not in _FULL:
                raise
            raise cannot_write(Path(error.filename or tempfile.gettempdir()), error) from None
        if painter is not None:
            painter.hand_over([markdown.drawing(chart) for chart in report.pictures()])
        try:
            if "html" in where:
                write(where["html"], html.render(report))
            if painter is not None:
                write_pictures(where["md"].parent / markdown.PICTURES, report, painter)
                write(where["md"], markdown.render(report))
        except OSError as error:
            path = Path(error.filename or out)
            if run_dir is None or not is_run(run_dir):
                raise cannot_write(path, error) from None
            resumed_by = read_run(run_dir).run.resumed_by
            raise cannot_write(path, error, resume_command(run_dir, resumed_by)) from None
    return list(where.values())


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, text)


def write_pictures(home: Path, report: Report, painter: Painter) -> None:
    for chart, picture in zip(report.pictures(), painter.pictures(), strict=True):
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


class Prewarm:
    """Preparation of a report while its run is made: the painter starts at once, the loading of modules with
    `begin`. `publish` once the run exists. With `writes` False, nothing is prepared or written.

    What draws, writes and prints a report takes a second and more of a processor's time, which a long output
    that the engine reads leaves on every core but its own.
    """

    def __init__(self, *, writes: bool = True) -> None:
        self._painter = Painter(VEGA_LITE) if writes else None
        self._loading: threading.Thread | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._painter is not None:
            self._painter.__exit__(kind, error, trace)

    def begin(self) -> None:
        """Start a thread that loads what is still to be loaded; what has begun is not begun again."""
        if self._loading is None and self._painter is not None:
            self._loading = threading.Thread(target=_load, daemon=True)
            self._loading.start()

    def publish(self, run_dir: Path, lang: str) -> contexts.ReportContext:
        """Write report.html and report.md into the run's directory, if so; returns what they are made of.

        Raises StoreError.
        """
        if self._loading is not None:
            self._loading.join()
        context = contexts.ReportContext.of(read_run(run_dir), lang)
        if self._painter is not None:
            where = places(run_dir, "report", FORMATS)
            write_report(lambda: build.of_context(context), where, run_dir, run_dir, self._painter)
        return context


def _load() -> None:
    """Load what `publish` and printing need: modules, texts, templates."""
    with uncollected():
        lazy.load(distributions, brief, build, html, markdown, terminal)
        catalogue.texts()
        for template in html.environment().list_templates(["j2"]):
            html.environment().get_template(template)
