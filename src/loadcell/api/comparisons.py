"""`loadcell.compare`: runs, or levels of one run, with a verdict for each metric."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from loadcell.analysis.compare import compare as comparing
from loadcell.analysis.compare.metrics import LeastEffects
from loadcell.api import pages
from loadcell.api.errors import explained
from loadcell.api.findings import Statement, statements
from loadcell.api.runs import Run
from loadcell.api.tables import Columns
from loadcell.model import languages
from loadcell.report import FORMATS
from loadcell.report.comparison import build as page
from loadcell.report.comparison import gather as gathering
from loadcell.report.render import html
from loadcell.store import find
from loadcell.store.layout import ColumnType

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

    from loadcell.report.publish import ComparisonDocument

#: A run, its directory, the beginning of its id, or `"last"`.
SomeRun: TypeAlias = Run | str | Path

_COLUMNS: Mapping[str, ColumnType] = {
    "side": "text",
    "context": "text",
    "metric": "text",
    "verdict": "text",
    "base": "number",
    "new": "number",
    "ratio": "number",
    "low": "number",
    "high": "number",
    "p": "number",
    "values": "integer",
}


@dataclass(frozen=True)
class Comparison:
    """A comparison of sides (runs, or levels of a factor), each with the first one.

    `gathered` has the runs and the statistics behind it; `lang` is the language of its page and texts.
    """

    gathered: gathering.Gathered = field(repr=False)
    lang: str = languages.DEFAULT

    @property
    def sides(self) -> tuple[str, ...]:
        """Names of the sides, the one that others are compared with first."""
        return tuple(side.label for side in self.gathered.comparison.sides.sides)

    @property
    def rows(self) -> tuple[comparing.Row, ...]:
        """A row for each side, context and metric, with effect, interval and verdict."""
        return self.gathered.comparison.rows

    @property
    def verdicts(self) -> frozenset[str]:
        """The words of all verdicts, as `loadcell compare --fail-on` judges them: `slower` and `faster` only
        where a false one among all rows has a probability of at most 5%.
        """
        return self._document.verdicts

    @property
    def verdict(self) -> str:
        """The verdict on the first metric over all contexts; `ambiguous` where sides have different ones."""
        words = {row.verdict.word for row in self.gathered.comparison.headline}
        return str(words.pop()) if len(words) == 1 else "ambiguous"

    @cached_property
    def findings(self) -> tuple[Statement, ...]:
        """Differences of the runs, then the findings, in both languages."""
        return statements(gathering.all_findings(self.gathered), self.gathered.unit)

    @cached_property
    def _document(self) -> ComparisonDocument:
        return page.document(self.gathered, self.lang)

    def table(self) -> pa.Table:
        """The rows in Arrow. Raises CallError without pyarrow."""
        with explained(self.lang):
            return self._columns().arrow()

    def frame(self) -> pd.DataFrame:
        """The rows as a pandas frame: medians of both sides, the ratio with its interval, the verdict.

        Raises CallError without pandas.
        """
        with explained(self.lang):
            return self._columns().pandas()

    def _columns(self) -> Columns:
        return Columns.of_rows([self._row(row) for row in self.rows], _COLUMNS)

    def _row(self, row: comparing.Row) -> Mapping[str, object]:
        effect = row.effect
        return {
            "side": self.sides[row.side],
            "context": None if row.context == comparing.OVERALL else row.context,
            "metric": row.metric.name,
            "verdict": row.verdict.word,
            "base": row.medians[0],
            "new": row.medians[1],
            "ratio": effect and effect.ratio,
            "low": effect and effect.low,
            "high": effect and effect.high,
            "p": row.adjusted_p,
            "values": 0 if effect is None else effect.n,
        }

    def report(self, out: Path | str) -> Path:
        """Write the page of the comparison to a directory (HTML and Markdown) or a file; return its path."""
        where = Path(out)
        formats = FORMATS if not where.suffix else ("md",) if where.suffix == ".md" else ("html",)
        with explained(self.lang), pages.collectable():
            return self._document.publish(formats, where)[0]

    @cached_property
    def _page(self) -> str:
        with pages.collectable():
            return html.render(self._document.page(True))

    def _repr_html_(self) -> str:
        return pages.framed(self._page, " / ".join(self.sides), self.lang)

    def __repr__(self) -> str:
        return f"<loadcell comparison of {', '.join(self.sides)}: {self.verdict}>"


def compare(
    base: SomeRun,
    *new: SomeRun,
    factor: str | None = None,
    levels: Sequence[object] = (),
    metrics: Sequence[str] = (),
    least_effect: float | Mapping[str, float] | None = None,
    noise: SomeRun | None = None,
    anyway: bool = False,
    lang: str | None = None,
) -> Comparison:
    """Compare runs with the first one, or levels of a factor of one run, as `loadcell compare` does.

    Of a single run, `factor` (needed with several factors) and `levels` select the sides. `metrics` replace
    the usual ones. `least_effect` is the smallest change that matters as a fraction, of all metrics or by
    metric. `noise` is a run with identical arms. `anyway` compares runs of different plans. Raises StoreError
    and CannotCompareError.
    """
    lang = lang or languages.of_environment()
    effects = LeastEffects(
        least_effect if isinstance(least_effect, float | int) else None,
        least_effect if isinstance(least_effect, Mapping) else {},
    )
    with explained(lang):
        wanted = gathering.Wanted(
            runs=[(_path(run), None) for run in (base, *new)],
            factor=factor,
            levels=tuple(map(str, levels)),
            metrics=tuple(metrics),
            least_effects=effects,
            noise=None if noise is None else _path(noise),
            anyway=anyway,
        )
        return Comparison(gathering.gather(wanted), lang)


def _path(run: SomeRun) -> Path:
    return run.path if isinstance(run, Run) else find.find_run(str(run))
