"""Settings of a machine that hurt measurements, each with what to do about it.

Pure: an inventory, and scores of its memory, in; findings out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from loadcell.analysis.finding import Finding, FindingCode, Subject
from loadcell.analysis.hosts.scores import Score
from loadcell.linux.system import UNKNOWN
from loadcell.model.json import JsonObject
from loadcell.model.message import Bytes, Count, Number
from loadcell.model.probes import MEMORY

Host = JsonObject

#: Fewer open files than this do not carry a load of some thousand connections and a server's own files.
FEWEST_FILES = 10_000
#: Clock sources that are read without a system call, or nearly so.
_QUICK_CLOCKS = ("tsc", "arch_sys_counter", "kvm-clock", "hyperv_clocksource_tsc_page")
#: Governors under which the clock does not wander with the load of the last milliseconds.
_STEADY_GOVERNORS = ("performance",)
#: As many names stand in a sentence.
_MOST_NAMED = 4

GOVERNOR = FindingCode("host-found.governor", Subject.HOST, "caution", name=str)
QUOTA = FindingCode("host-found.quota", Subject.HOST, "problem", cpus=Number, threads=Count)
MEMORY_LIMIT = FindingCode(
    "host-found.memory-limit", Subject.HOST, "caution", limit_bytes=Bytes, total_bytes=Bytes
)
SWAPPED = FindingCode("host-found.swapped", Subject.HOST, "problem", used_bytes=Bytes)
SWAP = FindingCode("host-found.swap", Subject.HOST, "info", swap_bytes=Bytes)
THP = FindingCode("host-found.thp", Subject.HOST, "caution")
CLOCKSOURCE = FindingCode("host-found.clocksource", Subject.HOST, "caution", name=str)
TWO_CLOCKS = FindingCode("host-found.two-clocks", Subject.HOST, "problem", daemons=list)
NO_TIME_SYNC = FindingCode("host-found.no-time-sync", Subject.HOST, "info")
OPEN_FILES = FindingCode("host-found.open-files", Subject.HOST, "caution", count=Count, least=Count)
SLOW_MEMORY = FindingCode(
    "host-found.slow-memory", Subject.HOST, "caution", configured=Count, count=Count, names=list, rated=Count
)
MITIGATIONS = FindingCode("host-found.mitigations", Subject.HOST, "info", count=Count, names=list)
DEAD_MOUNT = FindingCode("host-found.dead-mount", Subject.HOST, "problem", mount=str, type=str)
OFFLINE = FindingCode("host-found.offline", Subject.HOST, "caution", cpus=str)
VIRTUAL = FindingCode("host-found.virtual", Subject.HOST, "info", name=str)
VIRTUAL_UNKNOWN = FindingCode("host-found.virtual.unknown", Subject.HOST, "info")
LOAD = FindingCode("host-found.load", Subject.HOST, "caution", load=Number, threads=Count)
CACHED = FindingCode(
    "host-found.cached", Subject.HOST, "caution", array_bytes=Bytes, cache_bytes=Bytes, times=Count
)
#: A load average above this share of the threads: other work takes time that is then measured.
NOTABLE_LOAD = 0.5
#: Multiple of the last-level caches that each array of a memory test must have, or its rate is partly theirs
#: (run rules of STREAM, McCalpin 1995).
ARRAY_TIMES = 4


def findings(host: Host) -> list[Finding]:
    """Everything worth a word, the gravest first."""
    remarks = [finding for look in LOOKS for finding in look(host)]
    order = ("problem", "caution", "info", "good")
    return sorted(remarks, key=lambda finding: order.index(finding.severity))


def cache_findings(host: Host, scores: Sequence[Score]) -> list[Finding]:
    """A remark if the largest arrays of the memory tests partly fit into the last-level caches."""
    caches = [cache for cache in host.get("caches") or () if cache.get("type") != "instruction"]
    level = max((cache.get("level") or 0 for cache in caches), default=0)
    last = [cache for cache in caches if cache.get("level") == level]
    tested = [
        score
        for score in scores
        if score.section == MEMORY.name and score.definition.sized and score.size_bytes
    ]
    if not last or not tested:
        return []
    largest = max(score.size_bytes or 0 for score in tested)
    threads = min(score.threads for score in tested if score.size_bytes == largest)
    cache_bytes = max(
        (cache.get("size_bytes") or 0) * min(cache.get("count") or 1, threads) for cache in last
    )
    if largest * threads >= ARRAY_TIMES * cache_bytes:
        return []
    return [CACHED.finding(array_bytes=largest, cache_bytes=cache_bytes, times=ARRAY_TIMES)]


def _load(host: Host) -> Iterator[Finding]:
    averages, threads = host.get("load_at_start") or (), (host.get("cpu") or {}).get("threads")
    if averages and threads and averages[0] > NOTABLE_LOAD * threads:
        yield LOAD.finding(load=float(averages[0]), threads=threads)


def _governor(host: Host) -> Iterator[Finding]:
    name = host.get("governor")
    if name and name not in _STEADY_GOVERNORS:
        yield GOVERNOR.finding(name=name)


def _quota(host: Host) -> Iterator[Finding]:
    limits, threads = host.get("container") or {}, (host.get("cpu") or {}).get("threads")
    cpus = limits.get("cpus")
    if cpus and threads and cpus < threads:
        yield QUOTA.finding(cpus=float(cpus), threads=threads)
    memory, total = limits.get("memory_bytes"), host.get("memory_bytes")
    if memory and total and memory < total:
        yield MEMORY_LIMIT.finding(limit_bytes=memory, total_bytes=total)


def _swap(host: Host) -> Iterator[Finding]:
    used = host.get("swap_used_bytes")
    if used:
        yield SWAPPED.finding(used_bytes=used)
    elif host.get("swap_bytes"):
        yield SWAP.finding(swap_bytes=host["swap_bytes"])


def _thp(host: Host) -> Iterator[Finding]:
    if host.get("thp") == "always":
        yield THP.finding()


def _clock(host: Host) -> Iterator[Finding]:
    source = host.get("clocksource")
    if source and source not in _QUICK_CLOCKS:
        yield CLOCKSOURCE.finding(name=source)
    sync = host.get("time_sync") or {}
    daemons = sync.get("daemons") or []
    if len(daemons) > 1 and "phc2sys" not in daemons:
        yield TWO_CLOCKS.finding(daemons=tuple(daemons))
    elif not daemons and sync.get("synchronised") is False:
        yield NO_TIME_SYNC.finding()


def _files(host: Host) -> Iterator[Finding]:
    limits = host.get("limits") or {}
    soft, hard = limits.get("open_files"), limits.get("open_files_hard")
    if soft is not None and soft < FEWEST_FILES and (hard is None or hard < FEWEST_FILES):
        yield OPEN_FILES.finding(count=soft, least=FEWEST_FILES)


def _modules(host: Host) -> Iterator[Finding]:
    slow: dict[tuple[int, int], list[str]] = {}
    for module in host.get("dimms") or ():
        rated, configured = module.get("speed_mts"), module.get("configured_mts")
        if rated and configured and configured < rated:
            slow.setdefault((rated, configured), []).append(module.get("locator") or "?")
    for (rated, configured), names in slow.items():
        named = (*names[:_MOST_NAMED], *(("...",) if len(names) > _MOST_NAMED else ()))
        yield SLOW_MEMORY.finding(count=len(names), names=named, rated=rated,
        configured=configured)  # fmt: skip


def _mitigations(host: Host) -> Iterator[Finding]:
    acting = [name for name, text in (host.get("mitigations") or {}).items() if text.startswith("Mitigation")]
    if acting:
        yield MITIGATIONS.finding(count=len(acting), names=tuple(acting[:_MOST_NAMED]))


def _mounts(host: Host) -> Iterator[Finding]:
    for filesystem in host.get("filesystems") or ():
        if filesystem.get("answers") is False:
            yield DEAD_MOUNT.finding(
                mount=filesystem.get("mount") or filesystem["type"], type=filesystem["type"]
            )


def _offline(host: Host) -> Iterator[Finding]:
    offline = (host.get("cpu") or {}).get("offline")
    if offline:
        yield OFFLINE.finding(cpus=offline)


def _virtual(host: Host) -> Iterator[Finding]:
    name = host.get("virtualisation")
    if name == UNKNOWN:
        yield VIRTUAL_UNKNOWN.finding()
    elif name and name != "none":
        yield VIRTUAL.finding(name=name)


#: One function a subject; the order is that within one severity.
LOOKS: tuple[Callable[[Host], Iterator[Finding]], ...] = (
    _load, _quota, _swap, _mounts, _clock, _governor, _modules, _offline, _files, _thp, _virtual,
    _mitigations,
)  # fmt: skip
