"""Summary of a comparison of runs or levels for a pull request: the verdict, what it rests on, and what else
changed, in at most `MOST_LINES` lines.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import get_args

from loadcell.analysis.compare import exclusions, findings, locations, trust
from loadcell.analysis.compare.compare import Comparison, Row
from loadcell.analysis.compare.differences import disturbance_findings
from loadcell.analysis.compare.findings import DIFFERS
from loadcell.analysis.compare.locations import VALUES
from loadcell.analysis.compare.metrics import Word
from loadcell.model import numbers
from loadcell.model.message import Labels
from loadcell.report.blocks import Remark, Sentences, Summary
from loadcell.report.comparison.gather import Gathered
from loadcell.report.comparison.words import Words
from loadcell.report.texts import Texts

#: More do not fit beside the code of a pull request.
MOST_LINES = 10
#: What of them is left to statements: the others are the heading with the blank line below it, the basis and
#: the whole report.
MOST_STATEMENTS = MOST_LINES - 4
#: Sides of several that have a sentence of their own.
MOST_SIDES = 3
#: Differences that are named, and the length of one in characters.
MOST_CHANGES, LONGEST_CHANGE = 3, 160

#: Verdicts in the order in which a gate names them.
_WORST_FIRST: tuple[Word, ...] = (
    "slower", "no-value", "insufficient", "ambiguous", "higher", "lower", "same", "faster",
)  # fmt: skip

_VERDICT = Labels("compare.summary.verdict", get_args(Word))

Statement = Sentences | Remark


def summary(gathered: Gathered, lang: str, location: str) -> Summary:
    """The summary in one language; `location` is that of the whole report: an address, a path, or the command
    that writes it.
    """
    words = Words(gathered.comparison, Texts(lang, gathered.unit))
    statements = list(_statements(gathered, words))
    if len(statements) > MOST_STATEMENTS:
        hidden = len(statements) - MOST_STATEMENTS + 1
        more = Remark("info", words.texts("compare.summary.more", count=hidden))
        statements = [*statements[: MOST_STATEMENTS - 1], more]
    return Summary(
        language=lang,
        title=_title(words),
        statements=[*statements, Remark("info", _basis(words))],
        report=words.texts("compare.summary.report"),
        location=location,
        unit=gathered.unit,
    )


def _title(words: Words) -> str:
    """The verdict with the main metric and its change; of several sides, which ranks first. A metric that is
    slower for a gate precedes a main metric that is not, since it fails the job.
    """
    comparison, texts = words.comparison, words.texts
    slower = _slower_besides(comparison)
    if comparison.ranking:
        *_, ranked = findings.headlines(comparison)
        title = texts.message(ranked.message).rstrip(".。")
        if slower is None:
            return title
        return texts(
            "compare.summary.title.ranked",
            title=title,
            name=words.row(slower),
            change=words.change(slower.effect),
        )
    row, *others = comparison.headline
    if slower is not None:
        return texts(
            "compare.summary.title.slower",
            verdict=texts(_VERDICT("slower")),
            name=words.row(slower),
            change=words.change(slower.effect),
            metric=words.metric(row.metric),
            main=words.verdict(row),
        )
    words_of_sides = dict.fromkeys(item.verdict.word for item in comparison.headline)
    verdict = texts("mark.list").join(texts(_VERDICT(word)) for word in words_of_sides)
    if others or row.effect is None:
        return verdict
    return texts(
        "compare.summary.title",
        verdict=verdict,
        metric=words.metric(row.metric),
        change=row.effect.ratio - 1,
    )


def _slower_besides(comparison: Comparison) -> Row | None:
    """The row with the largest change that a gate takes for slower, of a side whose main metric is not."""
    headline = {row.side: row.verdict.word for row in comparison.headline}
    rows = [row for row in comparison.rows if row.gate_word == "slower" != headline[row.side]]
    return max(rows, key=findings.size, default=None)


def _statements(gathered: Gathered, words: Words) -> Iterator[Statement]:
    """Statements, the most important first."""
    comparison = gathered.comparison
    heads = list(findings.headlines(comparison))[: len(comparison.headline)]
    yield from (Sentences([finding]) for finding in heads[:MOST_SIDES])
    yield from _gate(words)
    exceptions = list(findings.others(comparison))
    yield from (Sentences([finding]) for finding in exceptions)
    if not exceptions:
        yield from _largest(words)
    yield from _differing(gathered, words)
    doubts = (
        *exclusions.losses(comparison),
        *disturbance_findings(comparison.sides),
        *findings.noise(comparison, gathered.noise_from),
        *findings.doubts(comparison),
        *(trust.trust(comparison) if not comparison.undecided else ()),
    )
    yield from (Sentences([item]) for item in doubts if item.severity in {"caution", "problem"})
    yield from (Sentences([finding]) for finding in heads[MOST_SIDES:])


def _gate(words: Words) -> Iterator[Remark]:
    """The verdicts of all rows as a gate reads them, where they differ from each other or from what the rest
    of the summary says.
    """
    rows = words.by_importance(words.comparison.rows)
    alike = len({row.gate_word for row in rows}) == 1
    weaker = any(row.gate_word != row.verdict.word for row in rows)
    if alike and not weaker:
        return
    listed = []
    for word in (word for word in _WORST_FIRST if any(row.gate_word == word for row in rows)):
        names = [words.row(row) for row in rows if row.gate_word == word]
        hidden = len(names) - MOST_CHANGES
        code = "compare.summary.gate.rows" if hidden <= 0 else "compare.summary.gate.rows.many"
        listed.append(
            words.texts(code, verdict=words.word(word), names=names[:MOST_CHANGES], count=max(hidden, 0))
        )
    verdicts = words.texts("mark.semicolon").join(listed)
    yield Remark("caution" if weaker else "info", words.texts("compare.summary.gate", verdicts=verdicts))


def _largest(words: Words) -> Iterator[Remark]:
    """The largest change besides the verdict's own, where none has a verdict."""
    headline = words.comparison.headline
    rows = [row for row in words.comparison.rows if row.effect is not None and row not in headline]
    if rows:
        row = max(rows, key=findings.size)
        code = "compare.summary.largest" if _has_interval(row) else "compare.summary.largest.bare"
        yield Remark(
            "info",
            words.texts(
                code,
                name=words.row(row),
                change=words.change(row.effect),
                interval=words.interval(row.effect),
                verdict=words.verdict(row),
            ),
        )


def _has_interval(row: Row) -> bool:
    return row.effect is not None and row.effect.low is not None


def _differing(gathered: Gathered, words: Words) -> Iterator[Remark]:
    """Differences besides the compared one, those that matter most first."""
    kinds = list(DIFFERS)
    differences = sorted(gathered.all_differences, key=lambda difference: kinds.index(difference.kind))
    changes = dict.fromkeys(_code(words.texts.message(difference.message)) for difference in differences)
    if changes:
        few, _ = DIFFERS[differences[0].kind]
        code = "compare.summary.differs" if len(changes) <= MOST_CHANGES else "compare.summary.differs.many"
        named = list(islice(changes, MOST_CHANGES))
        text = words.texts(code, changes=named, count=len(changes) - len(named))
        yield Remark(few.severity, text)


def _code(text: str) -> str:
    """Text from outside as code, in which a name is no mention and a number no reference."""
    line = " ".join(text.replace("`", "'").split())
    return f"`{line if len(line) <= LONGEST_CHANGE else f'{line[: LONGEST_CHANGE - 1]}…'}`"


def _basis(words: Words) -> str:
    """Number of runs (or blocks) a side, and the least effect that matters."""
    comparison, texts = words.comparison, words.texts
    if comparison.sides.kind == "runs":
        counts = [numbers.whole(len(side.runs)) for side in comparison.sides.sides]
        values = texts("compare.summary.runs", counts=counts)
    else:
        rows = [row for row in comparison.headline if row.effect is not None]
        fewest = min(rows, key=lambda row: row.effect.n if row.effect else 0, default=None)
        unit = VALUES[comparison.sides.unit]
        values = texts.message(unit(n=0) if fewest is None else locations.values(comparison.sides, fewest))
    return texts("compare.summary.basis", values=values, least_share=comparison.least_effect)
