"""What a terminal shows of a load without a plan file: the figures that people of ab, wrk, redis-benchmark and pgbench look for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from loadcell.analysis.best import reach
from loadcell.analysis.quantiles import carried
from loadcell.analysis.treatments import Treatment
from loadcell.analysis.trials import lack
from loadcell.model import numbers
from loadcell.report.context import Scene
from loadcell.report.sections import reproduce
from loadcell.report.sections.levels import factor_columns
from loadcell.report.sections.results import adds_nothing
from loadcell.report.terminal import GAP, WIDTH, print_findings, print_trouble
from loadcell.stats.repeats import summarise
from loadcell.store.commands import quoted

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from loadcell.store.read import StoredRun

#: What is said of a single load besides its figures; what many would say together is for the report.
_SAID = ("checks", "expectations", "open-loop")
_SINGLE = ("mean_ms", "stdev_ms", "p50_ms", "p90_ms", "p95_ms", "p99_ms", "p99.9_ms", "max_ms")
_SEVERAL = ("mean_ms", "p50_ms", "p90_ms", "p99_ms", "p99.9_ms", "max_ms")
#: Columns of several loads that give way, in this order, where a terminal has no room for all; the report has them.
_SPARE = ("received", "mean_ms", "p99.9_ms")
#: The same where there are repeats: how far they reach says more than what lies beside their medians.
_SPARE_OF_REPEATS = ("mean_ms", "p99.9_ms", "received", "reach")
#: What a load is called may be cut down to so many characters; figures never are.
_LEAST_NAME = 10
_NAMES = {"mean_ms": "compact.mean", "stdev_ms": "compact.stdev", "max_ms": "compact.max"}
#: Operations that are parts of each request, where the workload times them (HTTP).
_STAGES = {"connect": "compact.connect", "first_byte": "compact.first-byte"}
#: A server's message may be a page.
_MESSAGE = 200


@dataclass(frozen=True)
class Figures:
    """Of one load, or medians of its repeats. Rates per second, times in ms."""

    throughput_per_s: float | None
    statements_per_s: float | None
    #: what services of HTTP sent, headers included
    received_bytes_per_s: float | None
    offered_per_s: float | None
    #: of all trials together, as the counts are
    duration_s: float
    succeeded: int
    failed: int
    retried: int
    response: Mapping[str, float]
    service: Mapping[str, float]
    #: parts of a request that are timed for themselves, by name
    stages: Mapping[str, Mapping[str, float]]


def figures(treatment: Treatment, records: Sequence[Mapping[str, Any]] = ()) -> Figures:
    """Those of the trials that ended well; where none did, of what was measured until then. `records` are their documents."""
    trials = [trial for trial in treatment.trials if trial.counts] or [
        trial for trial in treatment.trials if trial.throughput_per_s is not None
    ]

    def median(values: Iterator[float | None]) -> float | None:
        return summarise(list(values)).median

    def times(kind: str) -> dict[str, float]:
        keys = _SINGLE if len(trials) == 1 else _SEVERAL
        found = {key: median((getattr(trial, kind) or {}).get(key) for trial in trials) for key in keys}
        return {key: value for key, value in found.items() if value is not None}

    loops = [trial.open_loop for trial in trials if trial.open_loop is not None]
    return Figures(
        median(trial.throughput_per_s for trial in trials),
        median(trial.queries_per_s for trial in trials),
        median(trial.received_bytes_per_s for trial in trials),
        median(loop.offered_per_s for loop in loops),
        sum(trial.duration_s or 0.0 for trial in trials),
        sum(trial.succeeded for trial in trials),
        sum(trial.failed for trial in trials),
        sum(trial.retried for trial in trials),
        times("response"),
        times("service") if loops else {},
        _stages(records) if len(trials) == 1 else {},
    )


def _stages(records: Sequence[Mapping[str, Any]]) -> dict[str, Mapping[str, float]]:
    """What was timed of each request besides the whole."""
    found = {}
    for name in _STAGES:
        for record in records:
            operation = (record.get("operations") or {}).get(name) or {}
            if operation.get("response"):
                found[name] = carried(operation["response"]) or {}
    return found


def print_compact(stored: StoredRun, lang: str = "en", console: Console | None = None) -> None:
    """Print a run to `console` (standard output by default). It needs neither charts nor frames."""
    from rich.console import Console
    from rich.text import Text

    scene = Scene.of(stored, lang)
    out = console or Console(width=None if Console().is_terminal else WIDTH, highlight=False)
    out.print()
    out.print(Text(str(stored.run.get("title") or stored.id), style="bold"))
    treatments = scene.analysis.treatments
    if len(treatments) == 1:
        _single(scene, treatments[0], out)
    else:
        out.print()
        out.print(_several(scene, treatments, out.width))
        out.print(Text(scene.texts("compact.in-ms"), style="dim"))
    if lack(scene.analysis.trials, _SINGLE if len(treatments) == 1 else _SEVERAL):
        out.print(Text(scene.texts("table.left-out"), style="dim"))
    repeats = int(stored.run.get("repeats") or 1)
    if repeats > 1:
        out.print(Text(scene.texts("compact.median-of", repeats=repeats), style="dim"))
    _errors(scene, out)
    _trouble(scene, out)
    said = [one for one in scene.findings if one.kind in _SAID and one.severity in ("caution", "problem")]
    if said:
        out.print()
        print_findings(said, scene.texts, out)
    _where(scene, out)


def _single(scene: Scene, treatment: Treatment, out: Console) -> None:
    """One load: rates and counts below each other, times beside each other."""
    from rich.table import Table
    from rich.text import Text

    texts, found = scene.texts, figures(treatment, scene.stored.trials)
    if found.throughput_per_s is None:
        return
    client: Mapping[str, Any] = next(
        (record["client"] for record in scene.stored.trials if record.get("client")), {}
    )
    ended = found.succeeded + found.failed
    out.print(
        Text(
            texts(
                "compact.work",
                connections=next((trial.clients or 0 for trial in treatment.trials), 0),
                threads=len(client.get("threads") or [1]),
                ended=ended,
                duration_s=found.duration_s,
            ),
            style="dim",
        )
    )
    out.print()
    table = Table.grid(padding=(0, 2))
    table.add_column()
    table.add_column(justify="right")
    table.add_column(style="dim")

    def row(key: str, value: str, unit: str = "", style: str = "") -> None:
        table.add_row(Text(f"  {texts(key)}"), Text(value, style=style), Text(unit))

    row("compact.throughput", numbers.rate(found.throughput_per_s), texts("unit.per-second"), "bold")
    if len(treatment.throughput.values) > 1:
        row("column.interval" if scene.has_intervals else "compact.range", _reach(scene, treatment))
    if found.offered_per_s is not None:
        row("compact.offered", numbers.rate(found.offered_per_s), texts("unit.per-second"))
    if found.statements_per_s and abs(found.statements_per_s / (found.throughput_per_s or 1) - 1) > 0.001:
        row("compact.statements", numbers.rate(found.statements_per_s), texts("compact.statements.unit"))
    if found.received_bytes_per_s is not None:
        row("compact.received", numbers.size(found.received_bytes_per_s), texts("compact.received.unit"))
    row("compact.succeeded", numbers.whole(found.succeeded))
    share = texts("compact.failed.of", failed_share=found.failed / ended) if found.failed else ""
    row("compact.failed", numbers.whole(found.failed), share, "red" if found.failed else "")
    if found.retried:
        row("compact.retried", numbers.whole(found.retried))
    if client.get("reconnects"):
        row("compact.reconnected", numbers.whole(client["reconnects"]))
    out.print(table)
    if found.response:
        out.print()
        out.print(_times(scene, found))


def _times(scene: Scene, found: Figures) -> Table:
    from rich.table import Table

    texts = scene.texts
    keys = [key for key in _SINGLE if key in found.response]
    table = Table(box=None, pad_edge=False, padding=(0, 0, 0, 2), show_edge=False, header_style="dim")
    table.add_column(texts("compact.ms"), no_wrap=True)
    for key in keys:
        table.add_column(_name(scene, key), justify="right", no_wrap=True)
    rows = {"compact.response": found.response, "compact.service": found.service}
    rows |= {_STAGES[name]: times for name, times in found.stages.items()}
    for name, times in rows.items():
        if times:
            table.add_row(texts(name), *(_milliseconds(scene, times.get(key)) for key in keys))
    return table


def _several(scene: Scene, treatments: Sequence[Treatment], width: int) -> Table:
    """A row for each load, with as many columns as there is room for."""
    from rich import box
    from rich.cells import cell_len
    from rich.table import Table
    from rich.text import Text

    texts = scene.texts
    factors = factor_columns(scene)
    several = [(treatment, figures(treatment)) for treatment in treatments]
    columns = {"rate": [texts("terminal.throughput"), *(_rate(scene, found) for _, found in several)]}
    if any(len(treatment.throughput.values) > 1 for treatment in treatments):
        title = texts("column.interval" if scene.has_intervals else "compact.range")
        columns["reach"] = [title, *(_reach(scene, treatment) for treatment in treatments)]
    if any(found.received_bytes_per_s is not None for _, found in several):
        columns["received"] = [
            texts("compact.column.received"), *(_received(scene, found) for _, found in several)
        ]  # fmt: skip
    for key in _SEVERAL:
        if any(key in found.response for _, found in several):
            columns[key] = [
                _name(scene, key), *(_milliseconds(scene, found.response.get(key)) for _, found in several)
            ]  # fmt: skip
    columns["errors"] = [texts("column.errors"), *(numbers.whole(found.failed) for _, found in several)]
    names = [", ".join(one.levels.get(key, "") for key, _, _ in factors) or one.label for one in treatments]
    name = texts("mark.list").join(short for _, short, _ in factors)
    _make_room(columns, width - min(_LEAST_NAME, max(map(cell_len, (name, *names)))))
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1), show_edge=False)
    left = max(_LEAST_NAME, width - _needed(columns))
    table.add_column(name, no_wrap=True, overflow="ellipsis", max_width=left)
    for title, *_ in columns.values():
        table.add_column(title, justify="right", no_wrap=True)
    for row, (treatment, found) in enumerate(several, 1):
        well = all(trial.status == "ok" for trial in treatment.trials)
        styles = {
            "rate": "bold" if treatment is scene.best else "" if well else "yellow",
            "errors": "red" if found.failed else "",
        }
        table.add_row(
            Text(names[row - 1]),
            *(Text(cells[row], style=styles.get(key, "")) for key, cells in columns.items()),
        )
    return table


def _make_room(columns: dict[str, list[str]], width: int) -> None:
    """Without those columns that give way, as far as they must."""
    for key in _SPARE_OF_REPEATS if "reach" in columns else _SPARE:
        if _needed(columns) <= width:
            return
        columns.pop(key, None)


def _needed(columns: Mapping[str, Sequence[str]]) -> int:
    """How wide these columns are, with what is left free before each."""
    from rich.cells import cell_len

    return sum(max(map(cell_len, cells)) + GAP for cells in columns.values())


def _rate(scene: Scene, found: Figures) -> str:
    rate = found.throughput_per_s
    return scene.texts("mark.none") if rate is None else numbers.rate(rate)


def _reach(scene: Scene, treatment: Treatment) -> str:
    """Where the median may lie, or with few repeats how far these lie apart."""
    found = reach(treatment.throughput)
    return scene.texts("mark.none") if found is None else "–".join(map(numbers.rate, found))


def _received(scene: Scene, found: Figures) -> str:
    received = found.received_bytes_per_s
    return scene.texts("mark.none") if received is None else numbers.size(received)


def _name(scene: Scene, key: str) -> str:
    """A column of times: `50%`, or a word."""
    return scene.texts(_NAMES[key]) if key in _NAMES else f"{key[1:].removesuffix('_ms')}%"


def _milliseconds(scene: Scene, value: float | None) -> str:
    return scene.texts("mark.none") if value is None else scene.texts.time(value)


def _errors(scene: Scene, out: Console) -> None:
    """Every class of error: how often, its code, what it means, the first message that came with it, and what helps."""
    from rich.table import Table
    from rich.text import Text

    kinds: dict[str, tuple[int, str, str]] = {}
    helps: dict[str, str] = {}
    for trial in scene.analysis.trials:
        for error in trial.errors:
            count, _, _ = kinds.get(error.code, (0, "", ""))
            meaning = scene.texts.value("meaning", error.meaning)
            kinds[error.code] = (count + error.count, meaning, error.message)
            if error.remedy is not None:
                helps[error.code] = scene.texts.recorded(error.remedy)
    if not kinds:
        return
    table = Table.grid(padding=(0, 2))
    table.add_column(justify="right", style="red")
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for code, (count, meaning, message) in sorted(kinds.items(), key=lambda one: -one[1][0]):
        words = [meaning, "" if adds_nothing(code, meaning, message) else message]
        said = scene.texts("mark.colon").join(word for word in words if word)
        table.add_row(Text(f"  {numbers.whole(count)}"), Text(code), Text(" ".join(said[:_MESSAGE].split())))
        if code in helps:
            table.add_row("", "", Text(helps[code], style="dim"))
    out.print()
    out.print(Text(scene.texts("compact.errors"), style="bold"))
    out.print(table)


def _trouble(scene: Scene, out: Console) -> None:
    """Trials that did not end well: why, and what to do."""
    for trial in scene.analysis.trials:
        if trial.status != "ok":
            out.print()
            print_trouble(trial, scene.texts.recorded(trial.why), scene, out)


def _where(scene: Scene, out: Console) -> None:
    """The report, and how to run it again."""
    from rich.cells import cell_len
    from rich.text import Text

    path = reproduce.shown(scene.stored.path)
    page = scene.stored.path / "report.html"
    rows = [(scene.texts("compact.plan"), f"loadcell run {quoted(path / 'plan.yaml')}")]
    if page.is_file():
        rows.insert(0, (scene.texts("compact.report"), str(path / page.name)))
    wide = max(cell_len(name) for name, _ in rows)
    out.print()
    for name, value in rows:
        out.print(Text.assemble((f"{name}{' ' * (wide - cell_len(name))}  ", "dim"), value), soft_wrap=True)
    out.print()
