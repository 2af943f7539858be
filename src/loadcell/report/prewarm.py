"""A report of a run that is still being made: what draws it, writes it and prints it is loaded meanwhile.

That takes a second and more of a processor's time, which a long output that the engine reads leaves on every
core but its own.
"""

from __future__ import annotations

import threading
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from loadcell import lazy
from loadcell.model import catalogue
from loadcell.report import brief, build
from loadcell.report import context as contexts
from loadcell.report.pictures import VEGA_LITE, Painter
from loadcell.report.publish import places, uncollected, write_report
from loadcell.report.render import html, markdown, terminal
from loadcell.store import read

if TYPE_CHECKING:
    from loadcell.report.blocks import Report
    from loadcell.report.context import ReportContext


class Prewarm:
    """Preparation of a report. The painter starts at once, the loading of modules with `begin`, while the
    run is made. `publish` once the run exists.
    """

    def __init__(self) -> None:
        self._painter = Painter(VEGA_LITE)
        self._loading: threading.Thread | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._painter.__exit__(kind, error, trace)

    def begin(self) -> None:
        """Start a thread that loads what is still to be loaded; what has begun is not begun again."""
        if self._loading is None:
            self._loading = threading.Thread(target=_load, daemon=True)
            self._loading.start()

    def publish(self, run_dir: Path, lang: str) -> ReportContext:
        """Write report.html and report.md into the run's directory; returns what they were made of.

        Raises StoreError.
        """
        if self._loading is not None:
            self._loading.join()
        context = contexts.ReportContext.of(read.read_run(run_dir), lang)
        where = places(run_dir, "report", ("html", "md"))
        write_report(lambda: _built(context), where, run_dir, run_dir, self._painter)
        return context


def _built(context: ReportContext) -> Report:
    return build.of_context(context)


def _load() -> None:
    """Load what `publish` and printing need: modules, texts, templates."""
    with uncollected():
        import scipy.special  # noqa: F401 - a tenth of a second, spent here while the run is made

        lazy.load(brief, build, html, markdown, terminal)
        catalogue.texts()
        for template in html.environment().list_templates(["j2"]):
            html.environment().get_template(template)
