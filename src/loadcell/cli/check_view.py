"""How `loadcell check` looks in a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from loadcell.plan.expect import metric
from loadcell.store.commands import quoted

T = TypeVar("T")

#: a table or list longer than this is cut in its middle
_ROWS_AT_MOST = 16
_LEVELS_AT_MOST = 12
#: levels that have names are what `--only` takes
_NAMED_AT_MOST = 60
_TRIALS_AT_MOST = 12
_COLUMNS_AT_MOST = 6
_HOUR_S = 3600


def show(document: dict[str, Any]) -> None:
    """Print what `check.describe` found."""
    console = Console(highlight=False, soft_wrap=False)
    console.print(Text(document["title"], style="bold"))
    if document["question"]:
        console.print(Text(document["question"].strip(), style="italic"))
    console.print()
    console.print(_facts(document))
    console.print()
    if document["search"]:
        others = [one for one in document["factors"] if one["key"] != document["search"]["factor"]]
        if others:
            _factors(console, others)
        _search(console, document)
    else:
        if document["factors"]:
            _factors(console, document["factors"])
            _treatments(console, document["treatments"], document["factors"])
        _order(console, document)
    _time(console, document)
    for remark in document["remarks"]:
        others = remark["other_treatments"]
        where = remark["treatment"] + (f" and {others} more" if others else "")
        console.print(
            f"[yellow]Remark[/] {escape(remark['path'])} ({escape(where)}): {escape(remark['text'])}"
        )
    if document["remarks"]:
        console.print()
    for expectation in document["expect"]:
        meaning = metric(expectation["metric"]).meaning
        console.print(f"[bold]Expect[/] {escape(expectation['expression'])}  [dim]{escape(meaning)}[/]")
    console.print(
        f"[green]The plan is right.[/] Nothing was run; [bold]loadcell run {escape(quoted(document['plan']))}[/] runs it."
    )


def _facts(document: dict[str, Any]) -> Table:
    """The settings that the plan gives, one section a row; of the load, all."""
    table = Table.grid(padding=(0, 2))
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    settings = document["settings"]
    for section in ("target", "workload"):
        if section in document["given"]:
            name, options = next(iter(document["given"][section].items()))
            table.add_row(section, escape(f"{name}: {_options(options)}"))
    for group in document["groups"]:
        options = document["given"]["workloads"][group["name"]][group["workload"]]
        table.add_row(group["name"], escape(f"{group['workload']}: {_options(options)}"))
        table.add_row("", escape(_group_load(group)))
    table.add_row("load", escape(_options(_load(settings["load"]))))
    if document["open_loop"]:
        table.add_row("open loop", escape(_open_loop(document["open_loop"])))
    for key, meant in document["placements"].items():
        table.add_row(f"affinity.{key}", escape(_placements(key, meant)))
    table.add_row("monitors", escape(", ".join(settings["monitors"]) or "none"))
    if document["profile"]:
        [(kind, options)] = document["profile"].items()
        table.add_row(
            "profile", escape(f"{kind}: {_options(options)}; its trials come on top, and are not scored")
        )
    return table


def _placements(key: str, meant: dict[str, str]) -> str:
    """`half the cores (CPUs 0-63), all (CPUs 0-127)`."""
    kind = "" if key == "memory" else "CPUs "
    shown = [f"{placement} ({kind}{here})" for placement, here in meant.items()]
    return ", ".join(_cut(shown, _LEVELS_AT_MOST, "..."))


def _group_load(group: dict[str, Any]) -> str:
    """`32 clients, as share 80` or, of an open loop, its rate."""
    if group["open_loop"]:
        said = _open_loop(group["open_loop"])
    else:
        said = f"{group['clients']:,} client{'s' if group['clients'] > 1 else ''}"
    return said if group["share"] is None else f"{said} (share {group['share']:g})"


def _load(load: dict[str, Any]) -> dict[str, Any]:
    """Without the rate and its arrivals, which have a line of their own."""
    return {name: value for name, value in load.items() if name not in ("rate", "arrivals")}


def _open_loop(loop: dict[str, Any]) -> str:
    """`2000/s, evenly spaced, carried by 16 connections: 60,000 requests a trial`."""
    poisson = loop["arrivals"] == "poisson"
    spaced, about = ("at random (Poisson)", "about ") if poisson else ("evenly spaced", "")
    carried = f"carried by {loop['connections']:,} connection{'s' if loop['connections'] > 1 else ''}"
    return f"{loop['rate']}, {spaced}, {carried}: {about}{loop['requests']:,} requests a trial"


def _options(options: dict[str, Any]) -> str:
    """Options in a line, without those that are not set."""
    pieces = []
    for name, value in options.items():
        if value == {}:
            pieces.append(name)
        elif isinstance(value, dict):
            pieces += [f"{name}.{inner} {_plain(given)}".rstrip() for inner, given in value.items()]
        elif value not in (None, [], ""):
            pieces.append(f"{name} {_plain(value)}")
    return ", ".join(pieces) or "as by default"


def _plain(value: Any) -> str:
    if isinstance(value, dict):  # as a plan writes it
        inner = ", ".join(f"{name}: {_plain(given)}" for name, given in value.items())
        return f"{{{inner}}}" if inner else ""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _factors(console: Console, factors: list[dict[str, Any]]) -> None:
    """Each factor on a line of its own, its levels below it."""
    console.print("[bold]Factors[/]")
    for factor in factors:
        console.print(Text(f"  {factor['key']}" + (" (crossed)" if factor["crossed"] else "")))
        levels = factor["levels"]
        if any("sets" in level for level in levels):
            lines = _cut(
                [f"{level['label']}: {_options(level.get('sets', {}))}" for level in levels],
                _NAMED_AT_MOST,
                "...",
            )
        else:
            labels = [level["label"] for level in levels]
            lines = [f"{len(labels)} levels: {', '.join(_cut(labels, _LEVELS_AT_MOST, '...'))}"]
        for line in lines:
            console.print(Padding(Text(line), (0, 0, 0, 4)))
    console.print()


def _treatments(console: Console, treatments: list[dict[str, Any]], factors: list[dict[str, Any]]) -> None:
    """One treatment a row: its number, and its level of each factor."""
    console.print(f"[bold]{len(treatments):,} treatment{'s' if len(treatments) > 1 else ''}[/]")
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    shown = factors[:_COLUMNS_AT_MOST]
    table.add_column("", justify="right", no_wrap=True)
    for factor in shown:
        table.add_column(escape(factor["short"]), overflow="fold")
    if len(factors) > len(shown):
        table.add_column(f"and {len(factors) - len(shown)} more")
    rows = [
        (str(number), *(treatment["levels"][factor["key"]] for factor in shown))
        for number, treatment in enumerate(treatments, start=1)
    ]
    for row in _cut(rows, _ROWS_AT_MOST, ("...",) * (len(shown) + 1)):
        table.add_row(*(Text(cell) for cell in row))
    console.print(table)


def _order(console: Console, document: dict[str, Any]) -> None:
    seed, names = document["seed"], document["trials"]
    blocks = f"{document['repeats']} block{'s' if document['repeats'] > 1 else ''} of every treatment"
    if document["order"] == "as-written":
        console.print(f"[bold]Order[/] as written, {blocks}:")
    elif names is None:
        console.print(
            f"[bold]Order[/] {blocks}, each in random order. The seed is drawn when the run starts and recorded with it; "
            "[bold]--seed[/] shows the order of one, [bold]seed:[/] in the plan fixes it."
        )
    else:
        console.print(f"[bold]Order[/] {blocks}, each in random order by seed {seed}:")
    if names is not None:
        for name in _cut(names, _TRIALS_AT_MOST, "..."):
            console.print(f"  {escape(name)}")
    console.print()


def _search(console: Console, document: dict[str, Any]) -> None:
    """What is searched, for what, and how it goes."""
    search, repeats = document["search"], document["repeats"]
    labels = search["levels"]
    times = (
        f", {search['searches']} times: for each treatment of the other factors"
        if search["searches"] > 1
        else ""
    )
    console.print(f"[bold]Search[/] {escape(search['factor'])}{times}")
    console.print(Text(f"  {len(labels)} levels: {', '.join(_cut(labels, _LEVELS_AT_MOST, '...'))}"))
    bounds = [*search["subject_to"], *(["the rate is kept up with"] if search["keeping_up"] else [])]
    within = f", subject to {', '.join(bounds)}" if bounds else ""
    console.print(Text(f"  for {search['objective']}{within}"))
    beside = "its neighbours" if search["kind"] == "maximum" else "the level above it"
    console.print(
        f"  at most {search['trials']} trials to find it; then it and {beside} {repeats} time{'s' if repeats > 1 else ''} each,\n  "
        "and once more after an overload.\n  Each trial is decided on when those before it have ended."
    )
    console.print()


def _time(console: Console, document: dict[str, Any]) -> None:
    count = document["trial_count"]
    if document["at_most"] is not None:
        console.print(
            f"[bold]Time[/] about {count:,} trials: {duration(document['load_s'])} of load, {duration(document['expected_s'])} "
            f"expected with what is between; at most {document['at_most']:,} trials, should repeats contradict the search. "
            f"Loading data, and restoring what a workload changes, comes on top.{_profiled(document)}"
        )
        console.print()
        return
    if document["counted"]:
        console.print(
            f"[bold]Time[/] {count:,} trial{'s' if count > 1 else ''}: as long as their requests take, and "
            f"{duration(document['expected_s'])} expected for what is between; loading data, and restoring what a workload changes, "
            f"comes on top.{_profiled(document)}"
        )
        console.print()
        return
    console.print(
        f"[bold]Time[/] {count:,} trial{'s' if count > 1 else ''}: {duration(document['load_s'])} of load, "
        f"{duration(document['expected_s'])} expected with what is between; loading data, and restoring what a workload changes, comes on top."
        f"{_profiled(document)}"
    )
    if document["needs_consent"]:
        console.print("[yellow]That is many:[/] [bold]loadcell run[/] asks for [bold]--yes[/].")
    console.print()


def _profiled(document: dict[str, Any]) -> str:
    """What of the expected time goes into trials that only profile."""
    count = document["profiled"]
    if not count:
        return ""
    return f" {duration(document['profile_s'])} of it for {count:,} trial{'s' if count > 1 else ''} more that only profile{'' if count > 1 else 's'}."


def duration(seconds: float) -> str:
    """A length of time for reading: `1 min 20 s`, `6 h 24 min`, `3 d 4 h`."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < _HOUR_S:
        return f"{whole // 60} min {whole % 60} s" if whole % 60 else f"{whole // 60} min"
    if whole < 24 * _HOUR_S:
        return f"{whole // _HOUR_S} h {whole % _HOUR_S // 60} min"
    return f"{whole // (24 * _HOUR_S)} d {whole % (24 * _HOUR_S) // _HOUR_S} h"


def _cut(items: Sequence[T], at_most: int, gap: T) -> list[T]:
    """All items, or those at both ends with a gap between."""
    if len(items) <= at_most:
        return list(items)
    tail = at_most // 4
    return [*items[: at_most - tail - 1], gap, *items[-tail:]]
