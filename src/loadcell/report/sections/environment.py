"""Where it ran: every host, the system under test as it describes itself, and its data."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from statistics import median
from typing import Any

from loadcell.report import numbers
from loadcell.report.blocks import Block, Cell, Column, Definitions, Details, Paragraph, Section, Table
from loadcell.report.scene import Scene
from loadcell.report.texts import Texts

#: More settings of the target than this are folded away.
MOST_OPEN = 12


def section(scene: Scene) -> Section | None:
    """None when nothing is known of the environment."""
    texts = scene.texts
    blocks: list[Block] = []
    for host in scene.stored.environment.get("hosts") or ():
        blocks.append(Definitions(_host(host, texts), _role(str(host.get("role", "")), texts)))
        if host.get("role") == "client+target":
            blocks.append(Paragraph(texts("host.note"), quiet=True))
    described = _described(record.get("target") for record in scene.stored.trials)
    settings = {key: value for key, value in described.items() if key.startswith("settings.")}
    plain = {key: value for key, value in described.items() if key not in settings}
    if plain:
        blocks.append(
            Definitions([(key, _said(values, texts)) for key, values in plain.items()], texts("env.target"))
        )
    if settings:
        blocks.append(_settings(settings, texts))
    data = _data_set(scene)
    if data:
        blocks.append(Definitions(data, texts("env.data-set")))
    return Section("environment", texts("section.environment"), blocks) if blocks else None


def _role(role: str, texts: Texts) -> str:
    known = {"client": "host.client", "target": "host.target", "client+target": "host.client-target"}
    return texts(known[role]) if role in known else role


def _host(host: Mapping[str, Any], texts: Texts) -> list[tuple[str, str]]:
    entries = []
    for key, value in host.items():
        if key != "role" and value not in (None, "", [], {}):
            entries.append((texts.or_none(f"env.{key}") or key, _host_value(key, value, texts)))
    return entries


def _host_value(key: str, value: Any, texts: Texts) -> str:
    if key == "cpu" and isinstance(value, Mapping) and {"model", "cores", "threads"} <= value.keys():
        return texts(
            "env.cpu.value", model=str(value["model"]), cores=value["cores"], threads=value["threads"]
        )
    if key == "disks" and isinstance(value, list):
        return texts("mark.list").join(_disk(disk, texts) for disk in value)
    return plain(key, value, texts)


def _disk(disk: Any, texts: Texts) -> str:
    if not isinstance(disk, Mapping):
        return str(disk)
    return " ".join(plain(key, value, texts) for key, value in disk.items() if value not in (None, ""))


def plain(key: str, value: Any, texts: Texts) -> str:
    """A value of a record as people read it; its unit is the end of its name."""
    if isinstance(value, bool):
        return texts("mark.yes" if value else "mark.no")
    if isinstance(value, int | float):
        for suffix, write in (
            ("_bytes", numbers.size),
            ("_ms", numbers.milliseconds),
            ("_s", numbers.seconds),
        ):
            if key.endswith(suffix):
                return write(value)
        return numbers.whole(value) if isinstance(value, int) else numbers.significant(value)
    if isinstance(value, list | tuple) and all(isinstance(item, str | int | float) for item in value):
        return texts("mark.list").join(plain(key, item, texts) for item in value)
    if value is None:
        return texts("mark.none")
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _described(documents: Iterable[Any]) -> dict[str, list[Any]]:
    """Every path of the documents with the values it takes in them."""
    found: dict[str, list[Any]] = {}
    for document in documents:
        for key, value in _flat("", document if isinstance(document, Mapping) else {}):
            values = found.setdefault(key, [])
            if value not in values:
                values.append(value)
    return found


def _flat(prefix: str, document: Mapping[str, Any]) -> Iterable[tuple[str, Any]]:
    for key, value in document.items():
        if isinstance(value, Mapping):
            yield from _flat(f"{prefix}{key}.", value)
        else:
            yield f"{prefix}{key}", value


def _said(values: list[Any], texts: Texts, key: str = "") -> str:
    said = [plain(key, value, texts) for value in values]
    if len(said) == 1:
        return said[0]
    return texts("env.varies", values=tuple(said[:8]))


def _settings(settings: Mapping[str, list[Any]], texts: Texts) -> Block:
    rows = [
        [Cell(key.removeprefix("settings.")), Cell(_said(values, texts))]
        for key, values in sorted(settings.items())
    ]
    columns = [Column(texts("column.setting"), code=True), Column(texts("column.value"), code=True)]
    table = Table("table-settings", texts("table.settings"), columns, rows)
    return table if len(rows) <= MOST_OPEN else Details(texts("table.settings"), [table])


def _data_set(scene: Scene) -> list[tuple[str, str]]:
    texts = scene.texts
    sets = [record["data_set"] for record in scene.stored.trials if record.get("data_set")]
    if not sets:
        return []
    sizes = [found["size_bytes"] for found in sets if found.get("size_bytes")]
    times = [found["duration_s"] for found in sets if found.get("duration_s") is not None]
    ways = Counter(str(found.get("how")) for found in sets)
    entries = []
    if sizes:
        entries.append((texts("env.data-set.size_bytes"), numbers.size(median(sizes))))
    said = [
        texts(f"data-set.{how}", count=count)
        if how in {"loaded", "reused", "restored"}
        else texts("data-set.other", how=how, count=count)
        for how, count in ways.items()
    ]
    entries.append((texts("env.data-set.how"), texts("mark.list").join(said)))
    if times:
        entries.append((texts("env.data-set.duration_s"), numbers.seconds(median(times))))
    return entries
