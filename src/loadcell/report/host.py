"""A machine on a terminal page: what may hurt measurements first, then what it is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from loadcell.analysis.finding import Finding, Subject
from loadcell.analysis.hosts.facts import Host, cache_sizes, clock_mhz, memory_mts
from loadcell.linux import inventory
from loadcell.model import numbers
from loadcell.model.json import JsonObject
from loadcell.model.message import Labels, Message, MessageCode
from loadcell.report.blocks import Definitions, Report, Section, Sentences
from loadcell.report.texts import Texts
from loadcell.report.values import name, plain

HOST_NOTHING_NOTICED = MessageCode("host-found.none", "good")()

Row = tuple[str, str]

#: What stands in which part of the page; what is in none is shown with the machine.
_PROCESSOR = ("governor", "turbo", "smt", "simd", "numa_nodes")
_MEMORY = ("memory_bytes", "swap_bytes", "swap_used_bytes", "thp")
_KERNEL = ("clocksource", "limits", "settings", "kernel_command_line")
_WEAKNESSES = ("mitigations",)
_WRITERS = (
    "cpu",
    "caches",
    "numa",
    "dimms",
    "disks",
    "filesystems",
    "network",
    "time_sync",
    "unavailable",
    "unavailable_codes",
    "role",
)
_NOTHING: tuple[Any, ...] = (None, "", [], {})
#: What else than a product's name the kernel and the inventory say, in the reader's words.
DESCRIBED = {
    "smt": ("on", "off", "forceoff", "notsupported", "notimplemented"),
    "virtualisation": ("none", "unknown hypervisor"),
}


_DESCRIBED = Labels(
    "host-page", (f"{key}.{word.partition(' ')[0]}" for key, words in DESCRIBED.items() for word in words)
)


@dataclass(frozen=True)
class Part:
    """A headed part of the page: names and values."""

    title: str
    rows: tuple[Row, ...]


def parts(host: Host, texts: Texts) -> list[Part]:
    """Everything that is known of a machine, in the order people look for it."""
    taken = {*_PROCESSOR, *_MEMORY, *_KERNEL, *_WEAKNESSES, *_WRITERS}
    others = [key for key in host if key not in taken]
    sections = {
        "host-page.machine": [*_plain(host, others, texts), *time_rows(host, texts)],
        "host-page.processor": [*_cpu(host, texts), *_plain(host, _PROCESSOR, texts), *_nodes(host, texts)],
        "host-page.memory": [*_plain(host, _MEMORY, texts), *_modules(host, texts)],
        "host-page.storage": [*_disks(host, texts), *_filesystems(host, texts)],
        "host-page.network": list(_network(host, texts)),
        "host-page.kernel": list(_plain(host, _KERNEL, texts)),
        "host-page.weaknesses": list(_plain(host, _WEAKNESSES, texts)),
        "host-page.unavailable": list(unavailable(host, texts)),
    }
    return [Part(texts(key), tuple(rows)) for key, rows in sections.items() if rows]


def _name(key: str, texts: Texts) -> str:
    return texts.or_none(f"env.{key}") or key


def unavailable(host: Host, texts: Texts) -> Iterator[Row]:
    """The properties that the host does not state, with the reasons; as recorded where the record has no
    code.
    """
    codes = host.get("unavailable_codes") or {}
    for key, recorded in (host.get("unavailable") or {}).items():
        entry = codes.get(key) or {}
        message = Message(entry.get("code", ""), entry.get("args", {}), recorded=(recorded, ""))
        yield _name(key, texts), texts.recorded(message)


def in_words(path: str, value: Any, texts: Texts) -> str:
    """The value at a path of the inventory for people: terms of the kernel in the reader's words."""
    if value in DESCRIBED.get(path, ()):
        return texts(_DESCRIBED(f"{path}.{str(value).partition(' ')[0]}"))
    return plain(path, value, inventory.UNITS, texts)


def part_rows(key: str, parts: JsonObject, texts: Texts) -> Iterator[Row]:
    """Parts of a fact, each with its name."""
    return ((name(part, texts), in_words(f"{key}.{part}", item, texts)) for part, item in parts.items())


def _plain(host: Host, keys: Any, texts: Texts) -> Iterator[Row]:
    for key in keys:
        value = host.get(key)
        if value in _NOTHING:
            continue
        if key == "container" and isinstance(value, dict):
            yield _name(key, texts), in_words(key, value, texts)
        elif isinstance(value, dict):
            yield from part_rows(key, value, texts)
        else:
            yield _name(key, texts), in_words(key, value, texts)


def _cpu(host: Host, texts: Texts) -> Iterator[Row]:
    cpu = host.get("cpu") or {}
    if not cpu:
        return
    model = filter(None, (cpu.get("model"), _counts(cpu, texts)))
    yield _name("cpu", texts), texts("mark.list").join(model)
    for key, value in cpu.items():
        if key not in ("model", "cores", "threads", "sockets", "architecture") and value not in _NOTHING:
            yield name(key, texts), in_words(f"cpu.{key}", value, texts)
    for cache in host.get("caches") or ():
        kind = {"data": "d", "instruction": "i"}.get(cache["type"], "")
        yield f"L{cache['level']}{kind}", texts("host-page.cache", **cache)


def _counts(cpu: Host, texts: Texts) -> str:
    """`8 cores, 16 threads, 1 socket`."""
    cores, threads = cpu.get("cores") or 0, cpu.get("threads") or 0
    return texts("host-page.cpu", cores=cores, threads=threads, sockets=cpu.get("sockets") or 1)


def _nodes(host: Host, texts: Texts) -> Iterator[Row]:
    for node in host.get("numa") or ():
        values = {
            **node,
            "distances": " ".join(map(str, node["distances"])),
            "memory_bytes": node["memory_bytes"] or 0,
        }
        yield f"{name('node', texts)} {node['node']}", texts("host-page.node", **values)


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
        others = {
            key: value
            for key, value in disk.items()
            if key not in ("name", "size_bytes", "partitions") and value not in _NOTHING
        }
        size = numbers.size(disk["size_bytes"])
        yield (
            disk["name"],
            texts("mark.list").join([size, *([in_words("disks", others, texts)] if others else [])]),
        )
        for partition in disk.get("partitions") or ():
            text = texts("host-page.partition", size_bytes=partition["size_bytes"], disk=disk["name"])
            yield partition["name"], text


def _filesystems(host: Host, texts: Texts) -> Iterator[Row]:
    for filesystem in host.get("filesystems") or ():
        source = filesystem.get("source")  # left out for sharing, as the place is
        kind = (
            str(filesystem["type"])
            if source is None
            else texts("host-page.filesystem", type=filesystem["type"], source=source)
        )
        if filesystem.get("answers") is False:
            text = texts("host-page.filesystem.silent")
        elif "size_bytes" in filesystem:
            text = texts(
                "host-page.filesystem.free",
                size_bytes=filesystem["size_bytes"],
                free_bytes=filesystem["free_bytes"],
            )
        else:
            text = texts("host-page.filesystem.unasked")
        mount = filesystem.get("mount") or texts("host-page.filesystem.nameless")
        options = filesystem.get("options")
        remarks = [texts("host-page.filesystem.options", options=options)] if options else []
        yield mount, texts("mark.list").join((kind, text, *remarks))


def _network(host: Host, texts: Texts) -> Iterator[Row]:
    for interface in host.get("network") or ():
        others = {key: value for key, value in interface.items() if key != "name" and value not in _NOTHING}
        yield interface["name"], in_words("network", others, texts)


def time_rows(host: Host, texts: Texts) -> Iterator[Row]:
    sync = host.get("time_sync")
    if sync:
        who = texts("mark.list").join(sync["daemons"]) or texts("host-page.nobody")
        key = "host-page.kept" if sync.get("synchronised") else "host-page.not-kept"
        yield _name("time_sync", texts), texts(key, daemons=who)


def brief(host: Host, findings: Sequence[Finding], language: str) -> Report:
    """Report of `loadcell host`: settings that may hurt measurements first, then the machine."""
    texts = Texts(language)
    sections = [
        Section(
            "findings",
            texts("host-page.findings"),
            [Sentences(findings or [Finding(Subject.HOST, HOST_NOTHING_NOTICED)])],
        ),
        *(Section("part", part.title, [Definitions(part.rows)]) for part in parts(host, texts)),
    ]
    return Report(language, "", "", "", (), sections)


def head(host: Host, texts: Texts) -> Iterator[Row]:
    """The machine in a few lines: what explains most of its results."""
    cpu = host.get("cpu") or {}
    clock, caches = clock_mhz(host), cache_sizes(host)
    joined = texts("mark.list").join
    model = [str(value) for value in (cpu.get("model"), _counts(cpu, texts)) if value]
    yield texts("host-page.processor"), joined(model)
    sizes = [f"L{level} {numbers.size(size)}" for level, size in caches.items()]
    clocks = [*([f"{numbers.whole(clock)} MHz"] if clock else []), *sizes]
    if clocks:
        yield texts("hosts.head.clock"), joined(clocks)
    memory, speed = host.get("memory_bytes"), memory_mts(host)
    if memory:
        memories = [numbers.size(memory), *([f"{numbers.whole(speed)} MT/s"] if speed else [])]
        nodes = host.get("numa_nodes") or 1
        yield texts("host-page.memory"), joined([*memories, texts("hosts.head.nodes", count=nodes)])
    disks = []
    for disk in (host.get("disks") or ())[:2]:
        size = numbers.size(disk.get("size_bytes") or 0)
        disks.append(
            " ".join(filter(None, (disk.get("name"), disk.get("model"), size, disk.get("scheduler"))))
        )
    if disks:
        yield texts("hosts.head.disks"), joined(disks)
    system = [in_words(key, host[key], texts) for key in ("os", "kernel", "virtualisation") if host.get(key)]
    if system:
        yield texts("hosts.head.system"), joined(system)
