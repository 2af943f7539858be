"""A machine on a terminal page: what may hurt measurements first, then what it is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from loadcell.analysis.phrase import Finding
from loadcell.report import numbers
from loadcell.report.texts import Texts
from loadcell.report.values import plain

Host = Mapping[str, Any]
Row = tuple[str, str]

#: What stands in which part of the page; what is in none is shown with the machine.
_PROCESSOR = ("governor", "turbo", "smt", "simd", "numa_nodes")
_MEMORY = ("memory_bytes", "swap_bytes", "swap_used_bytes", "thp")
_KERNEL = ("clocksource", "limits", "settings", "mitigations", "kernel_command_line")
_OWN_WAY = (
    "cpu",
    "caches",
    "numa",
    "dimms",
    "disks",
    "filesystems",
    "network",
    "time_sync",
    "unavailable",
    "role",
)
_NOTHING: tuple[Any, ...] = (None, "", [], {})


@dataclass(frozen=True)
class Part:
    """A headed part of the page: names and values."""

    title: str
    rows: tuple[Row, ...]


def parts(host: Host, texts: Texts) -> list[Part]:
    """Everything that is known of a machine, in the order people look for it."""
    taken = {*_PROCESSOR, *_MEMORY, *_KERNEL, *_OWN_WAY}
    rest = [key for key in host if key not in taken]
    found = {
        "host-page.machine": [*_plain(host, rest, texts), *_time(host, texts)],
        "host-page.processor": [*_cpu(host, texts), *_plain(host, _PROCESSOR, texts), *_nodes(host, texts)],
        "host-page.memory": [*_plain(host, _MEMORY, texts), *_modules(host, texts)],
        "host-page.storage": [*_disks(host, texts), *_filesystems(host, texts)],
        "host-page.network": list(_network(host, texts)),
        "host-page.kernel": list(_plain(host, _KERNEL, texts)),
        "host-page.unavailable": [
            (_name(key, texts), reason) for key, reason in (host.get("unavailable") or {}).items()
        ],
    }
    return [Part(texts(key), tuple(rows)) for key, rows in found.items() if rows]


def _name(key: str, texts: Texts) -> str:
    return texts.or_none(f"env.{key}") or key


def _plain(host: Host, keys: Any, texts: Texts) -> Iterator[Row]:
    for key in keys:
        value = host.get(key)
        if value in _NOTHING:
            continue
        if isinstance(value, Mapping):
            yield from ((name, plain(name, each, texts)) for name, each in value.items())
        else:
            yield _name(key, texts), plain(key, value, texts)


def _cpu(host: Host, texts: Texts) -> Iterator[Row]:
    cpu = host.get("cpu") or {}
    if not cpu:
        return
    counts = texts(
        "host-page.cpu", cores=cpu.get("cores") or 0, threads=cpu.get("threads") or 0, sockets=cpu.get("sockets") or 1
    )  # fmt: skip
    yield _name("cpu", texts), texts("mark.list").join(filter(None, (cpu.get("model"), counts)))
    for key, value in cpu.items():
        if key not in ("model", "cores", "threads", "sockets", "architecture") and value not in _NOTHING:
            yield key, plain(key, value, texts)
    for cache in host.get("caches") or ():
        kind = {"data": "d", "instruction": "i"}.get(cache["type"], "")
        yield f"L{cache['level']}{kind}", texts("host-page.cache", **cache)


def _nodes(host: Host, texts: Texts) -> Iterator[Row]:
    for node in host.get("numa") or ():
        said = {
            **node,
            "distances": " ".join(map(str, node["distances"])),
            "memory_bytes": node["memory_bytes"] or 0,
        }
        yield f"node {node['node']}", texts("host-page.node", **said)


def _modules(host: Host, texts: Texts) -> Iterator[Row]:
    for module in host.get("dimms") or ():
        yield (
            module.get("locator") or "?",
            texts(
                "host-page.dimm", size_bytes=module["size_bytes"], kind=module.get("kind") or "?",
                configured=module.get("configured_mts") or "?", rated=module.get("speed_mts") or "?",
                part=module.get("part") or "?",
            ),
        )  # fmt: skip


def _disks(host: Host, texts: Texts) -> Iterator[Row]:
    for disk in host.get("disks") or ():
        rest = {
            key: value
            for key, value in disk.items()
            if key not in ("name", "size_bytes") and value not in _NOTHING
        }
        size = numbers.size(disk["size_bytes"])
        yield disk["name"], texts("mark.list").join([size, *([plain("", rest, texts)] if rest else [])])


def _filesystems(host: Host, texts: Texts) -> Iterator[Row]:
    for one in host.get("filesystems") or ():
        known = {"source": one.get("source", "?"), "type": one["type"]}
        if one.get("answers") is False:
            said = texts("host-page.filesystem.silent", **known)
        else:
            said = texts(
                "host-page.filesystem", **known, size_bytes=one["size_bytes"], free_bytes=one["free_bytes"]
            )
        yield one.get("mount", "?"), said


def _network(host: Host, texts: Texts) -> Iterator[Row]:
    for one in host.get("network") or ():
        rest = {key: value for key, value in one.items() if key != "name" and value not in _NOTHING}
        yield one["name"], plain("", rest, texts)


def _time(host: Host, texts: Texts) -> Iterator[Row]:
    sync = host.get("time_sync")
    if sync:
        who = texts("mark.list").join(sync["daemons"]) or texts("host-page.nobody")
        key = "host-page.kept" if sync.get("synchronised") else "host-page.not-kept"
        yield _name("time_sync", texts), texts(key, daemons=who)


def print_host(host: Host, findings: list[Finding], language: str) -> None:
    """The whole page, as wide as the terminal."""
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    texts, console = Texts(language), Console()
    styles = {"problem": "red", "caution": "yellow", "info": "cyan", "good": "green"}
    console.print(f"[bold]{escape(texts('host-page.findings'))}[/]")
    for finding in findings:
        told = Table.grid(padding=(0, 1))
        told.add_row(f"[{styles[finding.severity]}]●[/]", escape(texts.say(finding.phrase)))
        console.print(told)
    if not findings:
        console.print(f"[green]●[/] {escape(texts('host-found.none'))}")
    for part in parts(host, texts):
        console.print(f"\n[bold]{escape(part.title)}[/]")
        table = Table.grid(padding=(0, 2))
        table.add_column(style="dim", max_width=32, overflow="fold")
        table.add_column(overflow="fold")
        for name, value in part.rows:
            table.add_row(escape(name), escape(value))
        console.print(table)
