"""A baseline on one terminal page: what the machine is in a few lines, what hurts, and every score with its spread."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from loadcell.analysis.hosts.facts import cache_sizes, clock_mhz, memory_mts
from loadcell.analysis.hosts.scores import Score
from loadcell.model import numbers
from loadcell.report.host import Host, in_words
from loadcell.report.hosts import words
from loadcell.report.hosts.read import Source
from loadcell.report.hosts.remarks import findings
from loadcell.report.sections.reproduce import shown
from loadcell.report.terminal import WIDTH, print_findings
from loadcell.report.texts import Texts

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

#: More findings than this are on the page, and would scroll the scores away.
MOST_FINDINGS = 4
#: Steps of the latency staircase that are shown: as many as there are layers, and the ends.
MOST_STEPS = 6


def print_baseline(
    source: Source, lang: str, files: Sequence[str] = (), console: Console | None = None
) -> None:
    """Print it to `console` (standard output by default); `files` are the pages that were written."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    texts = Texts(lang)
    out = console or Console(width=None if Console().is_terminal else WIDTH, highlight=False)
    out.print()
    out.print(Text(source.machine.label, style="bold"))
    lines = Table.grid(padding=(0, 2))
    lines.add_column(style="dim", no_wrap=True)
    lines.add_column(overflow="fold")
    for name, value in head(source.machine.host, texts):
        lines.add_row(name, Text(value))
    out.print(lines)
    out.print()
    if source.machine.scores:
        out.print(_table(source.machine.distinct, texts))
        out.print()
    said = findings(source, texts)
    print_findings(said[:MOST_FINDINGS], texts, out)
    if len(said) > MOST_FINDINGS:
        out.print(Text(texts("hosts.terminal.more", count=len(said) - MOST_FINDINGS), style="dim"))
    if files:
        out.print()
        for file in files:
            out.print(Text(file), soft_wrap=True)
    if source.run is not None and source.machine.scores:
        own = shlex.quote(str(shown(source.path)))
        out.print(Text(texts("hosts.terminal.compare"), style="dim"))
        out.print(Text(f"  loadcell compare {own} {texts('hosts.terminal.other')}"), soft_wrap=True)


def head(host: Host, texts: Texts) -> Iterator[tuple[str, str]]:
    """The machine in a few lines: what most explains its figures."""
    cpu = host.get("cpu") or {}
    clock, caches = clock_mhz(host), cache_sizes(host)
    counts = texts(
        "host-page.cpu", cores=cpu.get("cores") or 0, threads=cpu.get("threads") or 0, sockets=cpu.get("sockets") or 1
    )  # fmt: skip
    yield (
        texts("host-page.processor"),
        words.joined([str(one) for one in (cpu.get("model"), counts) if one], texts),
    )
    sizes = [f"L{level} {numbers.size(size)}" for level, size in caches.items()]
    told = [*([f"{numbers.whole(clock)} MHz"] if clock else []), *sizes]
    if told:
        yield texts("hosts.head.clock"), words.joined(told, texts)
    memory, speed = host.get("memory_bytes"), memory_mts(host)
    if memory:
        told = [numbers.size(memory), *([f"{numbers.whole(speed)} MT/s"] if speed else [])]
        nodes = host.get("numa_nodes") or 1
        yield texts("host-page.memory"), words.joined([*told, texts("hosts.head.nodes", count=nodes)], texts)
    disks = [
        " ".join(filter(None, (disk.get("name"), disk.get("model"), numbers.size(disk.get("size_bytes") or 0), disk.get("scheduler"))))
        for disk in (host.get("disks") or ())[:2]
    ]  # fmt: skip
    if disks:
        yield texts("hosts.head.disks"), words.joined(disks, texts)
    system = [in_words(key, host[key], texts) for key in ("os", "kernel", "virtualisation") if host.get(key)]
    if system:
        yield texts("hosts.head.system"), words.joined(system, texts)


def _table(scores: Sequence[Score], texts: Texts) -> Table:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), show_edge=False)
    table.add_column(texts("hosts.column.score"), overflow="fold")
    table.add_column(texts("axis.median"), justify="right", no_wrap=True)
    table.add_column(texts("hosts.column.unit"), no_wrap=True)
    table.add_column(texts("hosts.column.spread"), justify="right", no_wrap=True)
    before = ""
    for one in _shown(scores):
        if before and one.section != before:
            table.add_section()
        before = one.section
        table.add_row(
            Text(words.name(one, texts)), words.figure(one.median), words.unit(one, texts), words.spread(one, texts)
        )  # fmt: skip
    return table


def _shown(scores: Sequence[Score]) -> list[Score]:
    """All, but of a long staircase of latencies only so many steps, its ends among them."""
    steps = [one for one in scores if one.section == "latency"]
    if len(steps) <= MOST_STEPS:
        return list(scores)
    kept = {steps[round(n * (len(steps) - 1) / (MOST_STEPS - 1))].id for n in range(MOST_STEPS)}
    return [one for one in scores if one.section != "latency" or one.id in kept]
