"""Settings of a machine that hurt measurements, each with what to do about it.

Pure: an inventory in, findings out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from loadcell.analysis.finding import Finding
from loadcell.linux.system import UNKNOWN
from loadcell.model.message import Argument, Message, Severity

Host = Mapping[str, Any]

#: Fewer open files than this do not carry a load of some thousand connections and a server's own files.
FEWEST_FILES = 10_000
#: Clock sources that are read without a system call, or nearly so.
_QUICK_CLOCKS = ("tsc", "arch_sys_counter", "kvm-clock", "hyperv_clocksource_tsc_page")
#: Governors under which the clock does not wander with the load of the last milliseconds.
_STEADY_GOVERNORS = ("performance",)
#: As many names stand in a sentence.
_MOST_NAMED = 4


def findings(host: Host) -> list[Finding]:
    """Everything worth a word, the gravest first."""
    remarks = [finding for look in LOOKS for finding in look(host)]
    order = ("problem", "caution", "info", "good")
    return sorted(remarks, key=lambda finding: order.index(finding.severity))


def _remark(severity: Severity, key: str, **params: Argument) -> Finding:
    return Finding("host", Message(key, params).rated(severity))


def _governor(host: Host) -> Iterator[Finding]:
    name = host.get("governor")
    if name and name not in _STEADY_GOVERNORS:
        yield _remark("caution", "host-found.governor", name=name)


def _quota(host: Host) -> Iterator[Finding]:
    limits, threads = host.get("container") or {}, (host.get("cpu") or {}).get("threads")
    cpus = limits.get("cpus")
    if cpus and threads and cpus < threads:
        yield _remark("problem", "host-found.quota", cpus=float(cpus), threads=threads)
    memory, total = limits.get("memory_bytes"), host.get("memory_bytes")
    if memory and total and memory < total:
        yield _remark("caution", "host-found.memory-limit", limit_bytes=memory, total_bytes=total)


def _swap(host: Host) -> Iterator[Finding]:
    used = host.get("swap_used_bytes")
    if used:
        yield _remark("problem", "host-found.swapped", used_bytes=used)
    elif host.get("swap_bytes"):
        yield _remark("info", "host-found.swap", swap_bytes=host["swap_bytes"])


def _thp(host: Host) -> Iterator[Finding]:
    if host.get("thp") == "always":
        yield _remark("caution", "host-found.thp")


def _clock(host: Host) -> Iterator[Finding]:
    source = host.get("clocksource")
    if source and source not in _QUICK_CLOCKS:
        yield _remark("caution", "host-found.clocksource", name=source)
    sync = host.get("time_sync") or {}
    daemons = sync.get("daemons") or []
    if len(daemons) > 1 and "phc2sys" not in daemons:
        yield _remark("problem", "host-found.two-clocks", daemons=tuple(daemons))
    elif not daemons and sync.get("synchronised") is False:
        yield _remark("info", "host-found.no-time-sync")


def _files(host: Host) -> Iterator[Finding]:
    limits = host.get("limits") or {}
    soft, hard = limits.get("open_files"), limits.get("open_files_hard")
    if soft is not None and soft < FEWEST_FILES and (hard is None or hard < FEWEST_FILES):
        yield _remark("caution", "host-found.open-files", count=soft, least=FEWEST_FILES)


def _modules(host: Host) -> Iterator[Finding]:
    slow: dict[tuple[int, int], list[str]] = {}
    for module in host.get("dimms") or ():
        rated, configured = module.get("speed_mts"), module.get("configured_mts")
        if rated and configured and configured < rated:
            slow.setdefault((rated, configured), []).append(module.get("locator") or "?")
    for (rated, configured), names in slow.items():
        named = (*names[:_MOST_NAMED], *(("...",) if len(names) > _MOST_NAMED else ()))
        yield _remark("caution", "host-found.slow-memory", count=len(names), names=named, rated=rated, configured=configured)  # fmt: skip


def _mitigations(host: Host) -> Iterator[Finding]:
    acting = [name for name, text in (host.get("mitigations") or {}).items() if text.startswith("Mitigation")]
    if acting:
        yield _remark("info", "host-found.mitigations", count=len(acting), names=tuple(acting[:_MOST_NAMED]))


def _mounts(host: Host) -> Iterator[Finding]:
    for filesystem in host.get("filesystems") or ():
        if filesystem.get("answers") is False:
            yield _remark(
                "problem",
                "host-found.dead-mount",
                mount=filesystem.get("mount") or filesystem["type"],
                type=filesystem["type"],
            )


def _offline(host: Host) -> Iterator[Finding]:
    offline = (host.get("cpu") or {}).get("offline")
    if offline:
        yield _remark("caution", "host-found.offline", cpus=offline)


def _virtual(host: Host) -> Iterator[Finding]:
    name = host.get("virtualisation")
    if name == UNKNOWN:
        yield _remark("info", "host-found.virtual.unknown")
    elif name and name != "none":
        yield _remark("info", "host-found.virtual", name=name)


#: One function a subject; the order is that within one severity.
LOOKS: tuple[Callable[[Host], Iterator[Finding]], ...] = (
    _quota, _swap, _mounts, _clock, _governor, _modules, _offline, _files, _thp, _virtual, _mitigations,
)  # fmt: skip
