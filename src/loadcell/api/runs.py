"""`loadcell.load`: a stored run with its trials, findings, tables and pages."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from loadcell import report as reports
from loadcell.api import pages
from loadcell.api.errors import CallError, explained
from loadcell.api.findings import Statement, statements
from loadcell.api.tables import Columns
from loadcell.execution import outcome
from loadcell.model import languages
from loadcell.model.message import MessageCode
from loadcell.plan.problems import nearest
from loadcell.report import build
from loadcell.report import context as contexts
from loadcell.report.render import html
from loadcell.report.sections import summary
from loadcell.store import find, layout, query
from loadcell.store.frames import Frame
from loadcell.store.layout import EVENT_COLUMNS, FRONT
from loadcell.store.read import StoredRun, read_run

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

    from loadcell.analysis.treatments import Treatment
    from loadcell.model.run_record import RunRecord
    from loadcell.model.trial_record import TrialRecord

TABLE_UNKNOWN = MessageCode("api.table-unknown", name=str, tables=list)
TABLE_UNKNOWN_NEAR = MessageCode("api.table-unknown.near", name=str, near=str, tables=list)

TRIALS, INTERVALS, EVENTS = "trials", "intervals", "events"


@dataclass(frozen=True)
class Run:
    """A stored run. Its analysis and tables are read when they are first used.

    `stored` has all records and files; `lang` is the language of its pages and texts (`en` or `zh`).
    """

    stored: StoredRun = field(repr=False)
    lang: str = languages.DEFAULT

    @property
    def path(self) -> Path:
        """The run's directory."""
        return self.stored.path

    @property
    def id(self) -> str:
        """The short id, which commands accept."""
        return self.stored.short_id

    @property
    def record(self) -> RunRecord:
        """The record of the run: plan, order, versions."""
        return self.stored.run

    @property
    def state(self) -> str:
        """`running`, `finished`, `interrupted`, `failed` or `killed`."""
        return self.stored.state

    @property
    def reason(self) -> str | None:
        """The reason in English why the run ended early."""
        return self.stored.run.reason

    @property
    def trials(self) -> tuple[TrialRecord, ...]:
        """The records of finished trials, in run order."""
        return tuple(self.stored.trials)

    @property
    def remaining(self) -> tuple[str, ...]:
        """Names of trials that a resumed run would do."""
        return tuple(self.stored.remaining)

    @property
    def ok(self) -> bool:
        """True if every trial succeeded, and met all expectations."""
        status = outcome.exit_status(self.state, self.stored.planned, self.stored.trials)
        return self.state == "finished" and status == outcome.EXIT_OK

    @cached_property
    def _context(self) -> contexts.ReportContext:
        return contexts.ReportContext.of(self.stored, self.lang)

    @property
    def treatments(self) -> tuple[Treatment, ...]:
        """The treatments with their values over all repeats, in the plan's order."""
        return tuple(self._context.analysis.treatments)

    @cached_property
    def findings(self) -> tuple[Statement, ...]:
        """Everything the analysis noticed; `summary` has the most important ones."""
        return statements(self._context.findings, self._context.texts.unit)

    @cached_property
    def summary(self) -> tuple[Statement, ...]:
        """The findings of the report's summary, the most important first."""
        return statements(summary.findings(self._context), self._context.texts.unit)

    @property
    def tables(self) -> tuple[str, ...]:
        """Names of the tables: `trials`, `intervals`, `events`, and those of monitors."""
        monitors = {name: None for trial in self.stored.trials for name in layout.sample_files(trial)}
        return (TRIALS, INTERVALS, EVENTS, *monitors)

    def table(self, name: str = TRIALS) -> pa.Table:
        """A table in Arrow. Raises CallError for an unknown name, and without pyarrow.

        `trials` has a row for each trial, `intervals` one for each interval and operation. Tables of monitors
        have a row for each sample.
        """
        with explained(self.lang):
            return self._columns(name).arrow()

    def frame(self, name: str = TRIALS) -> pd.DataFrame:
        """A table as a pandas frame. Raises CallError for an unknown name, and without pandas."""
        with explained(self.lang):
            return self._columns(name).pandas()

    def _columns(self, name: str) -> Columns:
        if name == TRIALS:
            rows = query.trial_rows([self.stored])
            types = {key: kind for key, kind in query.trial_types(rows).items() if key != query.DOCUMENT}
            return Columns.of_rows(rows, types)
        if name == EVENTS:
            return Columns(self.stored.events(), {**FRONT, **EVENT_COLUMNS})
        if name not in self.tables:
            code = TABLE_UNKNOWN_NEAR if (near := nearest(name, self.tables)) else TABLE_UNKNOWN
            raise CallError(code.pick(name=repr(name), near=near, tables=self.tables))
        frame: Frame = self.stored.intervals() if name == INTERVALS else self.stored.samples(name)
        return Columns.of_frame(frame)

    def report(self, out: Path | str | None = None, lang: str | None = None) -> Path:
        """Write the report and return the path of its page.

        It goes into the run's directory, as `loadcell report` writes it, or to `out`: a directory or a file.
        """
        where = None if out is None else Path(out)
        formats = reports.FORMATS if where is None or not where.suffix else ("html",)
        with explained(self.lang), pages.collectable():
            return reports.write(self.path, lang or self.lang, formats, where)[0]

    @cached_property
    def _page(self) -> str:
        with pages.collectable():
            return html.render(build.of_context(self._context))

    def _repr_html_(self) -> str:
        return pages.framed(self._page, self._title, self.lang)

    @property
    def _title(self) -> str:
        return self.record.title_in(self.lang) or self.record.plan_name or self.id

    def __repr__(self) -> str:
        done = sum(trial.status == "ok" for trial in self.trials)
        planned = len(self.stored.planned)
        return f"<loadcell run {self.id}: {self._title}, {self.state}, {done} of {planned} trials ok>"


def load(run: str | Path, *, lang: str | None = None) -> Run:
    """Read a stored run.

    `run` is its directory, the beginning of its name or id, or `"last"`, as commands take it; names are those
    of runs under `results`. `lang` is the language of texts and pages: `en` or `zh`, by default that of the
    environment. Raises StoreError if there is no such run.
    """
    lang = lang or languages.of_environment()
    with explained(lang):
        return Run(read_run(find.find_run(str(run))), lang)
