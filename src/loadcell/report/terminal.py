"""What a terminal shows of a run: the result table, the findings in sentences, and what to look at next."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from loadcell.analysis.best import reach
from loadcell.analysis.import_findings import samples_alone
from loadcell.analysis.open_loop_capacity import all_kept, kept
from loadcell.analysis.phrase import Finding
from loadcell.analysis.treatments import Treatment
from loadcell.analysis.trials import Trial, lack
from loadcell.model import numbers
from loadcell.report import blocks, evidence, figures, spans
from loadcell.report.context import Scene
from loadcell.report.sections import memory, reproduce, summary
from loadcell.report.sections.levels import factor_columns
from loadcell.report.texts import Texts
from loadcell.store.commands import quoted, resume
from loadcell.store.layout import FLAMES, OUTPUT

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from loadcell.store.read import StoredRun

#: What fits beside most terminals' edges.
WIDTH = 80
#: More rows than this scroll the sentences below them away.
MOST_ROWS = 40
#: Between two columns.
GAP = 3

#: Trials that do not count of which the reasons are shown; the report has all of them.
MOST_REASONS = 3

_BROKEN = ("failed", "timed-out", "invalid")
_TONES = {"caution": "yellow", "problem": "red"}
_SIGNS = {"good": ("✓", "green"), "info": ("·", "dim"), "caution": ("!", "yellow"), "problem": ("✕", "red")}


def print_run(stored: StoredRun, lang: str = "en", console: Console | None = None) -> None:
    """Print a run to `console` (standard output by default). It needs neither charts nor frames."""
    print_scene(Scene.of(stored, lang), console)


def print_scene(scene: Scene, console: Console | None = None) -> None:
    """The same of a run that was looked at already."""
    from rich.console import Console
    from rich.text import Text

    stored = scene.stored
    out = console or Console(width=None if Console().is_terminal else WIDTH, highlight=False)
    out.print()
    out.print(Text(str(stored.run.get("title") or stored.id), style="bold"))
    if stored.run.get("question"):
        out.print(Text(str(stored.run["question"]), style="dim"))
    out.print()
    if scene.analysis.treatments and not samples_alone(stored.run):
        out.print(_table(scene, out.width))
        hidden = len(scene.analysis.treatments) - len(_shown(scene))
        if hidden > 0:
            out.print(Text(scene.texts("terminal.more-rows", count=hidden), style="dim"))
        repeated = any(len(treatment.throughput.values) > 1 for treatment in scene.analysis.treatments)
        ranges = repeated and not scene.has_intervals and not _is_open(scene)
        if ranges and _foremost(scene) is None:
            out.print(Text(scene.texts("terminal.descriptive"), style="dim"))
        if lack(scene.analysis.trials, _SHOWN):
            out.print(Text(scene.texts("terminal.left-out"), style="dim"))
        out.print()
    if (lost := memory.summary(scene)) is not None:
        out.print(Text(lost.title, style="bold"))
        out.print(_drawn(lost, out.width))
        out.print()
    said = summary.findings(scene)
    homes = [scene.texts(f"section.{evidence.section(finding)}") for finding in said]
    print_findings(said, scene.texts, out, homes)
    _print_reasons(scene, out)
    steps = next_steps(scene)
    if steps:
        out.print()
        out.print(Text(scene.texts("terminal.next"), style="bold"))
        for why, what in steps:
            out.print(Text(f"  {why}", style="dim"))
            out.print(Text(f"    {what}"), soft_wrap=True)
    out.print()


def print_findings(
    findings: Sequence[Finding], texts: Texts, out: Console, homes: Sequence[str] = ()
) -> None:
    """Findings in sentences, each with its sign, wrapped to the console's width; `homes` are the report's sections that
    hold their evidence."""
    from rich.text import Text

    for place, finding in enumerate(findings):
        sign, style = _SIGNS[finding.severity]
        said = spans.on_terminal(texts.parts(finding.phrase))
        home = f" [{homes[place]}]" if homes else ""
        said.append(home, style="dim")
        for number, line in enumerate(_lines(said, out.width - 2, whole=len(home.strip()))):
            out.print(Text.assemble((f"{sign} " if number == 0 else "  ", style), line), soft_wrap=True)


def _print_reasons(scene: Scene, out: Console) -> None:
    """Why trials do not count, and what to do about it: each reason once, of the first trial that has it."""
    broken = [trial for trial in scene.analysis.trials if trial.status in _BROKEN and trial.why is not None]
    reasons = {scene.texts.recorded(trial.why): trial for trial in reversed(broken)}
    for reason, trial in list(reversed(reasons.items()))[:MOST_REASONS]:
        out.print()
        print_trouble(trial, reason, scene, out)


def print_trouble(trial: Trial, reason: str, scene: Scene, out: Console) -> None:
    """One trial that does not count: its state, the reason, and below it what to do."""
    from rich.text import Text

    named = trial.name if len(scene.analysis.trials) > 1 else ""
    status = scene.texts(f"status.{trial.status}")
    colon = scene.texts("mark.colon")
    why = Text.assemble(colon, spans.on_terminal(reason)) if reason else ""
    head = Text.assemble((f"{named}{colon}{status}" if named else status, "bold"), why)
    advice = scene.texts.recorded(trial.remedy)
    for number, line in enumerate(_lines(head, out.width - 2)):
        out.print(Text.assemble(("✕ " if number == 0 else "  ", "red"), line), soft_wrap=True)
    for line in (
        _lines(Text.assemble(spans.on_terminal(advice), style="dim"), out.width - 2) if advice else ()
    ):
        out.print(Text.assemble("  ", line), soft_wrap=True)


def next_steps(scene: Scene) -> list[tuple[str, str]]:
    """What to do now: why, and the command or file."""
    texts, stored = scene.texts, scene.stored
    path = reproduce.shown(stored.path)
    page = stored.path / "report.html"
    steps = []
    if page.is_file():
        steps.append((texts("terminal.report"), str(path / "report.html")))
    else:
        steps.append((texts("terminal.write-report"), f"loadcell report {quoted(path)}"))
    for record in scene.stored.unscored:
        if FLAMES in (record.get("files") or {}):
            picture = stored.directory(record["name"]) / FLAMES
            steps.append((texts("terminal.profile"), str(reproduce.shown(picture))))
    broken = [trial for trial in scene.analysis.trials if trial.status in _BROKEN]
    for trial in broken[:MOST_REASONS]:
        log = stored.directory(trial.name) / OUTPUT
        if log.is_file():  # what was never started has said nothing
            steps.append((texts("terminal.output", trial=trial.name), str(reproduce.shown(log))))
    if stored.run.get("aa"):
        steps.append((texts("terminal.compare-arms"), f"loadcell compare {quoted(path)}"))
    if any(trial.status in {"not-run", "aborted"} for trial in scene.analysis.trials):
        steps.append((texts("terminal.resume"), resume(path)))
    return steps


def _shown(scene: Scene) -> Sequence[Treatment]:
    """The rows there is room for, the best treatment always among them."""
    treatments = scene.analysis.treatments
    if len(treatments) <= MOST_ROWS:
        return treatments
    first = list(treatments[:MOST_ROWS])
    if scene.best is not None and scene.best not in first:
        first[-1] = scene.best
    return first


def _table(scene: Scene, width: int) -> Table:
    """Figures are never cut short; treatments' names give way where there is no room."""
    from rich import box
    from rich.cells import cell_len
    from rich.table import Table
    from rich.text import Text

    texts = scene.texts
    shown = _shown(scene)
    columns = _OPEN_LOOP if _is_open(scene) else _CLOSED_LOOP
    figures_of = _figures_due if _is_open(scene) else _figures
    rows = [[*figures_of(treatment, scene), *_outcome(treatment)] for treatment in shown]
    known, rows = _known(columns, rows, texts("mark.none"))
    for told, instead in _INSTEAD.items():
        if f"terminal.{instead}" in known and f"terminal.{told}" in known:
            place = known.index(f"terminal.{instead}")
            known, rows = (
                [*known[:place], *known[place + 1 :]],
                [[*row[:place], *row[place + 1 :]] for row in rows],
            )
    if (own := _foremost(scene)) is not None:
        # What was asked for has the place of the interval of what it is made of.
        known, rows = _in_place("terminal.interval", figures.key(own), known, rows, _own(own, scene, shown))
    if scene.mixed:
        known = ["terminal.throughput.mixed" if key == "terminal.throughput" else key for key in known]
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1), show_edge=False)
    needed = [
        max(cell_len(text) for text in [texts(key), *(row[position] for row in rows)])
        for position, key in enumerate(known)
    ]
    left = max(10, width - sum(needed) - GAP * len(needed))
    factors = factor_columns(scene)
    heading = [short for _, short, _ in factors] or [texts("column.treatment")]
    name = texts("mark.list").join(heading)
    if cell_len(name) > left:
        name = ",\n".join(heading)
    table.add_column(name, overflow="ellipsis", no_wrap=True, max_width=left)
    labels = [
        ", ".join(treatment.levels[key] for key, _, _ in factors) or treatment.label for treatment in shown
    ]
    for key, least in zip(known, needed, strict=True):
        table.add_column(texts(key), justify="right", no_wrap=True, min_width=least)
    for treatment, label, cells in zip(shown, told_apart(labels, left), rows, strict=True):
        best = treatment is scene.best and len(shown) > 1
        *before, failed, well = cells
        table.add_row(
            Text(label),
            *before,
            Text(failed, style="red" if treatment.failed else ""),
            Text(well, style="" if set(treatment.statuses) <= {"ok"} else "yellow"),
            style="bold" if best else None,
        )
    return table


def told_apart(names: Sequence[str], width: int) -> list[str]:
    """Names for a column of this width: cut at their beginning where, cut at their end, some would be the same."""
    from rich.cells import cell_len, set_cell_size

    cut = [name if cell_len(name) <= width else set_cell_size(name, width - 1) for name in names]
    if len(set(cut)) == len(set(names)):
        return list(names)
    return [
        name if cell_len(name) <= width else "…" + set_cell_size(name[::-1], width - 1)[::-1]
        for name in names
    ]


def _drawn(of_page: blocks.Table, width: int) -> Table:
    """A table of the page: names give way where there is no room, headings are broken into lines, figures are whole."""
    from rich import box
    from rich.cells import cell_len
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1), show_edge=False)
    needed = {
        place: max(map(cell_len, (*column.title.split(), *(row[place].text for row in of_page.rows))))
        for place, column in enumerate(of_page.columns)
        if column.figure
    }
    left = max(10, width - sum(needed.values()) - GAP * len(needed))
    for place, column in enumerate(of_page.columns):
        if place in needed:
            table.add_column(column.title, justify="right", width=needed[place])
        else:
            table.add_column(column.title, overflow="ellipsis", no_wrap=True, max_width=left)
    for row in of_page.rows:
        table.add_row(*(Text(cell.text, style=_TONES.get(cell.tone, "")) for cell in row))
    return table


def _known(columns: Sequence[str], rows: list[list[str]], none: str) -> tuple[list[str], list[list[str]]]:
    """Without columns that no row has a figure for: not every tool tells response times, and what is measured once has no range."""
    kept = [
        place
        for place, key in enumerate(columns)
        if key not in _SPARE or any(row[place] != none for row in rows)
    ]
    return [columns[place] for place in kept], [[row[place] for place in kept] for row in rows]


def _foremost(scene: Scene) -> str | None:
    """The figure of its own that the whole run is about."""
    return figures.foremost([treatment for treatment in scene.analysis.treatments if treatment.measured])


def _own(name: str, scene: Scene, shown: Sequence[Treatment]) -> list[str]:
    """A figure of the workload's own for each row."""
    found = [treatment.figures.get(name) for treatment in shown]
    return [
        scene.texts("mark.none")
        if own is None or own.median is None
        else figures.write(own.median, own.values)
        for own in found
    ]


def _in_place(
    old: str, new: str, known: list[str], rows: list[list[str]], cells: list[str]
) -> tuple[list[str], list[list[str]]]:
    """The columns and rows with a new column where an old one is or would be: behind the first."""
    place = known.index(old) if old in known else 1
    after = place + (old in known)
    return (
        [*known[:place], new, *known[after:]],
        [[*row[:place], cell, *row[after:]] for row, cell in zip(rows, cells, strict=True)],
    )


#: Response times of a row.
_SHOWN = ("p50_ms", "p99_ms")
#: Of them, what is shown only where a tool tells nothing better: what is told -> what it stands for.
_INSTEAD = {"p50": "mean", "p99": "p95"}
#: All of them, as they stand beside each other.
_TIMES = ("mean_ms", "p50_ms", "p95_ms", "p99_ms")
_SPARE = (
    *("terminal.throughput", "terminal.interval", "terminal.offered"),
    *("terminal.mean", "terminal.p50", "terminal.p95", "terminal.p99", "terminal.service-p99"),
)
_OUTCOME = ("column.errors", "terminal.ok")
_CLOSED_LOOP = (
    *("terminal.throughput", "terminal.interval"),
    *("terminal.mean", "terminal.p50", "terminal.p95", "terminal.p99"),
    *_OUTCOME,
)
#: Throughput lies close to what was due; where it does not, the two stand side by side.
_OPEN_LOOP = (
    *("terminal.offered", "terminal.throughput", "terminal.p50", "terminal.p99", "terminal.service-p99"),
    *_OUTCOME,
)


def _is_open(scene: Scene) -> bool:
    return bool(all_kept(scene.analysis.treatments))


def _figures(treatment: Treatment, scene: Scene) -> list[str]:
    ends = reach(treatment.throughput) if len(treatment.throughput.values) > 1 else None
    return [
        scene.throughput(treatment),
        scene.texts("mark.none") if ends is None else f"{numbers.rate(ends[0])}–{numbers.rate(ends[1])}",
        *(_written(treatment.latency_ms(key), scene.texts.time, scene) for key in _TIMES),
    ]


def _figures_due(treatment: Treatment, scene: Scene) -> list[str]:
    """Of an open loop; of a closed one beside it what it has of this."""
    loop = kept(treatment)
    achieved = treatment.throughput if loop is None else loop.achieved
    return [
        _written(loop.offered.median if loop else None, numbers.rate, scene),
        _written(achieved.median, numbers.rate, scene),
        *(_written(treatment.latency_ms(key), scene.texts.time, scene) for key in _SHOWN),
        _written(loop.service["p99_ms"].median if loop else None, scene.texts.time, scene),
    ]


def _outcome(treatment: Treatment) -> list[str]:
    return [numbers.whole(treatment.failed), f"{treatment.statuses.get('ok', 0)}/{len(treatment.trials)}"]


def _written(value: float | None, write: numbers.Write, scene: Scene) -> str:
    return scene.texts("mark.none") if value is None else write(value)


#: Marks that do not begin a line.
_CLOSING = "，。；：、）》”！？,.;:)%"
#: Marks that do not end one.
_OPENING = "（《“(["


def _lines(text: Text, width: int, *, whole: int = 0) -> list[Text]:
    """Wrap at spaces, and between any two Chinese characters, which rich alone does not do; not within the last `whole` characters."""
    from rich.cells import cell_len

    plain = text.plain
    breaks: list[int] = []
    start, used, last = 0, 0, 0
    for position, character in enumerate(plain):
        before = plain[position - 1] if position > start else ""
        between = before == " " or cell_len(before) > 1 or cell_len(character) > 1
        inside = position > len(plain) - whole
        if before and between and not inside and character not in _CLOSING and before not in _OPENING:
            last = position
        used += cell_len(character)
        if used > width and character != " " and last > start:
            breaks.append(last)
            start, used = last, cell_len(plain[last : position + 1])
    lines = text.divide(breaks)
    for line in lines:
        line.rstrip()
    return list(lines)
