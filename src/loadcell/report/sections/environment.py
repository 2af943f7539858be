"""Where it ran: the main facts of every host and system under test, and folded all others.

The commands that do it again stand last.
"""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from loadcell.analysis.systems import System
from loadcell.model.json import JsonObject
from loadcell.model.message import Labels
from loadcell.model.numbers import seconds, size
from loadcell.model.panels import fact_units, machine_targets
from loadcell.model.run_record import RUN_COMMAND, RunRecord
from loadcell.report import charts
from loadcell.report.blocks import Block, Cell, Code, Column, Definitions, Details, Paragraph, Section, Table
from loadcell.report.context import ReportContext
from loadcell.report.host import in_words, part_rows, time_rows, unavailable
from loadcell.report.sections import provenance
from loadcell.report.texts import Texts
from loadcell.report.values import fact, plain
from loadcell.store import layout
from loadcell.store.layout import quoted, resume_command

#: More settings than this are folded away.
MOST_OPEN = 12
#: More systems under test than this are counted and folded away.
MOST_SYSTEMS = 8
#: Maximum number of listed values of one fact; further ones are counted.
MOST_VALUES = 4
#: How the data of a trial came to be, as targets call it.
_WAY = Labels("data-set", ("loaded", "reused", "restored"))
#: Where a server comes from.
SERVER_KIND = Labels("server-kind", ("embedded", "local", "external", "command"))
#: Facts of a target that stand elsewhere: settings in a table, and the version in words.
_NOT_LISTED = frozenset({"settings", "version_number"})
#: Facts of a host that stand open.
_MAIN = ("cpu", "memory_bytes", "kernel", "disks", "virtualisation")
#: The role of a host that made the load and ran the system under test.
CLIENT_AND_TARGET = "client+target"
#: State of a network interface that carries nothing.
DOWN = "down"
#: What a host has several of, each with so much to say that it is folded away.
_MANY = ("caches", "dimms", "numa", "filesystems", "network")
_NOTHING: tuple[Any, ...] = (None, "", [], {})
#: What a disk has besides, which is folded away.
_DISK_DETAILS = frozenset(
    {
        "logical_sector_bytes",
        "physical_sector_bytes",
        "minimum_io_bytes",
        "optimal_io_bytes",
        "numa_node",
        "partitions",
    }
)


def section(context: ReportContext) -> Section | None:
    """A few lines on each host and system under test, and what the author states; the rest is folded.

    None when nothing is known of the environment.
    """
    texts = context.texts
    open_blocks, folded = provenance.blocks(context.stored.run, texts)
    hosts = context.stored.environment.get("hosts") or ()
    systems = [
        (
            texts("mark.detail", text=texts("env.target"), detail=system.label)
            if system.label
            else texts("env.target"),
            line,
        )
        for system in context.systems[:MOST_SYSTEMS]
        if (line := _brief(system, texts))
    ]
    if len(context.systems) > MOST_SYSTEMS:
        remaining = texts("table.more", count=len(context.systems) - MOST_SYSTEMS)
        systems.append((texts("env.target"), remaining))
    for number, host in enumerate(hosts, 1):
        shared = [*systems] if number == len(hosts) else []
        open_blocks.append(
            Definitions([*_main_facts(host, texts), *shared], _title(host, _measured(context), texts))
        )
        folded += _host(host, number, texts)
    if systems and not hosts:
        open_blocks.append(Definitions(systems))
    folded += charts.drawn_in("environment", context)
    for number, system in enumerate(context.systems, 1):
        described = _system(system, number, texts)
        many = described and len(context.systems) > MOST_SYSTEMS
        folded += [Details(system.label, described)] if many else described
    if folded:
        open_blocks.append(Details(texts("env.more"), folded, instead=texts("env.instead")))
    return Section("environment", texts("section.environment"), open_blocks) if open_blocks else None


def _main_facts(host: JsonObject, texts: Texts) -> list[tuple[str, str]]:
    """The lines that a reader of a result needs: processor, memory, kernel, disks, virtualisation."""
    entries = []
    for key in _MAIN:
        value = host.get(key)
        if value in _NOTHING:
            continue
        text = _host_value(key, value, texts)
        if key == "kernel" and host.get("os"):
            text = texts("mark.detail", text=text, detail=str(host["os"]))
        entries.append((texts(f"env.{key}"), text))
    return entries


def _brief(system: System, texts: Texts) -> str:
    """`PostgreSQL 18.4 (embedded), data set 18 MiB`: a system in a line; empty of one without facts."""
    described = [text for facts in system.described if (text := in_line(facts, texts))]
    sizes = [
        data["size_bytes"]
        for record in system.records
        if (data := record.data_set) is not None and data.get("size_bytes")
    ]
    names = texts("mark.list").join(dict.fromkeys(described))
    if not names or not sizes:
        return names
    return texts("env.target.with-data", target=names, size=_range(sizes, size))


def in_line(facts: JsonObject, texts: Texts) -> str:
    """`PostgreSQL 16.4 (embedded)`: a system by its facts; empty where they do not name it."""
    product = facts.get("product") or facts.get("software") or facts.get("command")
    name = " ".join(str(part) for part in (product, facts.get("version")) if part)
    server = facts.get("server")
    if not name or not server:
        return name
    kind = texts(SERVER_KIND(server)) if server in SERVER_KIND else str(server)
    return texts("mark.detail", text=name, detail=kind)


def _system(system: System, number: int, texts: Texts) -> list[Block]:
    """A system under test as it describes itself, and its data; of several, with the levels that have it."""
    blocks: list[Block] = []

    def titled(code: str) -> str:
        return texts("mark.detail", text=texts(code), detail=system.label) if system.label else texts(code)

    target_facts = facts(
        {key: value for key, value in target.items() if key not in _NOT_LISTED} for target in system.described
    )
    if target_facts:
        entries = [(texts("method.target"), system.target)] if system.label and system.target else []
        entries += [
            (fact(key, texts), summarised(key, values, texts)) for key, values in target_facts.items()
        ]
        blocks.append(Definitions(entries, titled("env.target")))
    id_ = f"table-settings-{number}" if system.label else "table-settings"
    settings = _settings(system.described, id_, titled("table.settings"), texts)
    if settings is not None:
        blocks.append(settings)
    data = _data_set(system, texts)
    if data:
        blocks.append(Definitions(data, titled("env.data-set")))
    return blocks


def _measured(context: ReportContext) -> bool:
    """True if the machine itself is what was measured: there is no target beside it, and nothing to share."""
    targets = [record.target for record in context.stored.trials if record.target is not None]
    return bool(targets) and all(target.get("server") in machine_targets() for target in targets)


def _title(host: JsonObject, measured: bool, texts: Texts) -> str:
    """Role of a host in the run."""
    role = "machine" if measured else str(host.get("role", ""))
    groups = {
        "client": "host.client", "target": "host.target", CLIENT_AND_TARGET: "host.client-target",
        "machine": "host.machine",
    }  # fmt: skip
    return texts(groups[role]) if role in groups else role


def _host(host: JsonObject, number: int, texts: Texts) -> list[Block]:
    """A table of all other facts of a host."""
    entries: list[tuple[str, str]] = []
    more: list[tuple[str, str]] = []
    for key, value in host.items():
        if key in ("role", "unavailable_codes") or (key in _MAIN and key != "disks") or value in _NOTHING:
            continue
        name = texts.or_none(f"env.{key}") or key
        if key == "unavailable":
            more += unavailable(host, texts)
        elif key == "time_sync":
            more += time_rows(host, texts)
        elif isinstance(value, dict):
            more += part_rows(key, value, texts)
        elif key in _MANY:
            members = [
                member for member in value if not (isinstance(member, dict) and member.get("state") == DOWN)
            ]
            more += [
                (f"{name} {number}", in_words(key, member, texts)) for number, member in enumerate(members, 1)
            ]
        elif key == "disks":
            more += [(f"{name} {disk['name']}", in_words(key, disk, texts)) for disk in _described(value)]
        else:
            entries.append((name, _host_value(key, value, texts)))
    rows = [[Cell(name), Cell(value)] for name, value in (*entries, *sorted(more)) if value]
    columns = [Column(texts("column.setting"), code=True), Column(texts("column.value"), code=True)]
    title = texts("env.host", name=str(host.get("hostname") or number))
    return [Table(f"table-host-{number}", title, columns, rows)] if rows else []


def _host_value(key: str, value: Any, texts: Texts) -> str:
    if (
        key == "cpu"
        and isinstance(value, dict)
        and all(value.get(name) for name in ("model", "cores", "threads"))
    ):
        return texts(
            "env.cpu.value", model=str(value["model"]), cores=value["cores"], threads=value["threads"]
        )
    if key == "disks" and isinstance(value, list):
        return texts("mark.list").join(_disk(disk, texts) for disk in value)
    return in_words(key, value, texts)


def _described(disks: Any) -> Iterable[JsonObject]:
    """Disks with details, without what they do not state."""
    for disk in disks if isinstance(disks, list) else ():
        if isinstance(disk, dict) and disk.get("name") and _DISK_DETAILS & disk.keys():
            yield {key: value for key, value in disk.items() if value not in _NOTHING}


def _disk(disk: Any, texts: Texts) -> str:
    """`nvme0n1 Samsung PM9A3 894 GiB (scheduler none)`."""
    if not isinstance(disk, dict):
        return str(disk)
    first = ("name", "model", "size_bytes")
    disk = {key: value for key, value in disk.items() if key not in _DISK_DETAILS}
    head = " ".join(
        in_words(f"disks.{key}", disk[key], texts) for key in first if disk.get(key) not in _NOTHING
    )
    others = {key: value for key, value in disk.items() if key not in first and value not in _NOTHING}
    return f"{head} ({in_words('disks', others, texts)})" if others else head


def facts(documents: Iterable[JsonObject]) -> dict[str, list[Any]]:
    """Every path of the documents with the values it takes in them."""
    facts: dict[str, list[Any]] = {}
    for document in documents:
        for key, value in _flat("", document):
            values = facts.setdefault(key, [])
            if value not in values and value not in _NOTHING:
                values.append(value)
    return {key: values for key, values in facts.items() if values}


def _flat(prefix: str, document: JsonObject) -> Iterable[tuple[str, Any]]:
    for key, value in document.items():
        if isinstance(value, dict):
            yield from _flat(f"{prefix}{key}.", value)
        else:
            yield f"{prefix}{key}", value


def summarised(path: str, values: list[Any], texts: Texts) -> str:
    """One value; the range of numbers that differ between trials; or some of several values.

    `path` is that of a fact of the target; empty for a setting.
    """
    units = fact_units()
    if len(values) > 1 and all(
        isinstance(value, int | float) and not isinstance(value, bool) for value in values
    ):
        return _range(values, lambda end: plain(path, end, units, texts))
    lines = [plain(path, value, units, texts) for value in values]
    if len(lines) == 1:
        return lines[0]
    if len(lines) > MOST_VALUES:
        lines = [*lines[:MOST_VALUES], texts("table.more", count=len(lines) - MOST_VALUES)]
    return texts("env.varies", values=tuple(lines))


def _range(values: Sequence[float], write: Callable[[float], str]) -> str:
    """The lowest and the highest; once where both are written alike."""
    return " – ".join(dict.fromkeys(write(end) for end in (min(values), max(values))))


def _settings(described: Iterable[JsonObject], id_: str, title: str, texts: Texts) -> Block | None:
    """The target's own settings with where each came from, when the target says so."""
    values: dict[str, list[Any]] = {}
    sources: dict[str, str] = {}
    for target in described:
        for name, value, source in _each_setting(target.get("settings")):
            values_of_name = values.setdefault(name, [])
            if value not in values_of_name:
                values_of_name.append(value)
            sources[name] = source
    if not values:
        return None
    sourced = any(sources.values())
    columns = [
        Column(texts("column.setting"), code=True),
        Column(texts("column.value"), code=True),
        *([Column(texts("column.source"))] if sourced else []),
    ]
    rows = [
        [Cell(name), Cell(summarised("", distinct, texts)), *([Cell(sources[name])] if sourced else [])]
        for name, distinct in sorted(values.items())
    ]
    if len(rows) <= MOST_OPEN:
        return Table(id_, title, columns, rows)
    return Details(title, [Table(id_, title, columns, rows, only=True)])


def _each_setting(settings: Any) -> Iterable[tuple[str, Any, str]]:
    """Name, value and source of settings, which targets give as a mapping or as a list of documents."""
    if isinstance(settings, dict):
        yield from ((str(name), value, "") for name, value in settings.items())
    elif isinstance(settings, list):
        for setting in settings:
            if isinstance(setting, dict) and "name" in setting:
                yield str(setting["name"]), setting.get("value"), str(setting.get("source") or "")


def _data_set(system: System, texts: Texts) -> list[tuple[str, str]]:
    sets = [record.data_set for record in system.records if record.data_set]
    if not sets:
        return []
    sizes = [entry["size_bytes"] for entry in sets if entry.get("size_bytes")]
    times = [entry["duration_s"] for entry in sets if entry.get("duration_s") is not None]
    ways = Counter(str(entry.get("how")) for entry in sets)
    entries = []
    if sizes:
        entries.append((texts("env.data-set.size_bytes"), _range(sizes, size)))
    data_set = [
        texts(_WAY(how), count=count) if how in _WAY else texts("data-set.other", how=how, count=count)
        for how, count in ways.items()
    ]
    entries.append((texts("env.data-set.how"), texts("mark.list").join(data_set)))
    if times:
        entries.append((texts("env.data-set.duration_s"), seconds(median(times))))
    return entries


def reproduce(context: ReportContext) -> Section:
    """Always there."""
    texts = context.texts
    source = context.stored.run.repeats_run
    blocks: list[Block] = []
    if source is not None:
        blocks.append(Paragraph(texts("reproduce.repeats-run", run=source.id, path=source.path)))
    blocks += [
        Code(texts(title), command) for title, command in commands(context.stored.path, context).items()
    ]
    return Section("reproduce", texts("section.reproduce"), blocks)


def commands(path: Path, context: ReportContext) -> dict[str, str]:
    """Title key -> command."""
    run = context.stored.run
    if context.imported:
        return _of_imported(path, context)
    here = quoted(shown(path))
    repeated = run_again(path, run)
    commands = {} if repeated is None else {"table.command": repeated}
    if run.command:
        commands["table.command.as-was"] = shlex.join(run.command)
    if any(trial.status == "not-run" for trial in context.analysis.trials):
        commands["table.command.resume"] = resume_command(shown(path), run.resumed_by)
    commands["table.command.report"] = f"loadcell report {here}"
    return commands


def run_again(path: Path, run: RunRecord) -> str | None:
    """The command that runs the plan again with all options of the run; None where there is no plan.

    An anonymous run does not hold the places that it measured.
    """
    if run.anonymous or run.imported or not (path / layout.PLAN).is_file():
        return None
    return f"{RUN_COMMAND} {quoted(shown(path))}"


def _of_imported(path: Path, context: ReportContext) -> dict[str, str]:
    """There is no plan that could be run: only its files can be read again."""
    command = context.stored.run.command
    commands = {"table.command.as-was": shlex.join(command)} if command else {}
    return {**commands, "table.command.report": f"loadcell report {quoted(shown(path))}"}


def shown(path: Path) -> Path:
    """The path as one would type it from the current directory."""
    try:
        return path.relative_to(Path.cwd())
    except ValueError:
        return path
