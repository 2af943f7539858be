"""Processors: their kind, their layout and availability, and limits of their clock.

The layout is the base of placements in plans.
"""

from __future__ import annotations

import os
import platform
from collections import Counter
from functools import cache
from pathlib import Path

from loadcell.linux.procfs import chosen, line, numbers, read_number, text
from loadcell.linux.time_limits import NO_CPUFREQ, NO_TURBO, UnavailableError
from loadcell.model.json import JsonObject
from loadcell.plan.affinity import Topology, ranges

_CPUS = "sys/devices/system/cpu"
_NODES = "sys/devices/system/node"

#: Arm cores by implementer and part, which /proc/cpuinfo has instead of a name (Arm's MIDR_EL1; Linux'
#: asm/cputype.h).
_ARM = {
    ("0x41", "0xd08"): "Arm Cortex-A72",
    ("0x41", "0xd0c"): "Arm Neoverse-N1",
    ("0x41", "0xd40"): "Arm Neoverse-V1",
    ("0x41", "0xd49"): "Arm Neoverse-N2",
    ("0x41", "0xd4f"): "Arm Neoverse-V2",
    ("0x48", "0xd01"): "HiSilicon Kunpeng-920 (TSV110)",
    ("0x70", "0x662"): "Phytium FTC662",
    ("0x70", "0x663"): "Phytium FTC663",
    ("0xc0", "0xac3"): "Ampere-1",
}

#: Instructions whose presence has explained a difference between machines; of many more flags.
_SIMD = (
    "sse4_2", "avx", "avx2", "fma", "avx512f", "avx512vl", "avx512_vnni", "amx_tile", "aes", "sha_ni",
    "asimd", "sve", "sve2", "sha2", "crc32", "atomics",
)  # fmt: skip


def cpu(root: Path) -> JsonObject:
    """Model, sockets, cores, threads, the nominal or present clock (MHz), and what this process may use."""
    about = _first_of_cpuinfo(root)
    online = numbers(line(root / _CPUS / "online"))
    layout = [_place(root, number) for number in online]
    located = [position for position in layout if None not in position]
    threads = len(online) or text(root / "proc/cpuinfo").count("processor\t") or os.cpu_count()
    cores = len(set(located)) if len(located) == len(layout) and located else None
    offline = numbers(line(root / _CPUS / "offline"))
    clock = root / _CPUS / "cpu0/cpufreq"
    top, bottom = read_number(clock / "cpuinfo_max_freq"), read_number(clock / "cpuinfo_min_freq")
    model = about.get("model name") or _ARM.get((about.get("CPU implementer", ""), about.get("CPU part", "")))
    mhz = about.get("cpu MHz")
    return {
        "model": model or platform.processor() or None,
        "architecture": platform.machine(),
        "sockets": len({socket for socket, _ in located}) or None,
        "cores": cores or threads,
        "threads": threads,
        "mhz": float(mhz) if mhz else None,
        **({"max_mhz": top / 1000} if top else {}),
        **({"min_mhz": bottom / 1000} if bottom else {}),
        **({"online": ranges(online)} if offline else {}),
        **({"offline": ranges(offline)} if offline else {}),
        "usable_threads": len(os.sched_getaffinity(0)),
    }


def _first_of_cpuinfo(root: Path) -> dict[str, str]:
    """Fields of /proc/cpuinfo of the first processor, by key; of later ones only what the first lacks."""
    fields: dict[str, str] = {}
    for row in text(root / "proc/cpuinfo").splitlines():
        key, _, value = row.partition(":")
        if value.strip():
            fields.setdefault(key.strip(), value.strip())
    return fields


def _place(root: Path, number: int) -> tuple[int | None, int | None]:
    """Socket and core of a thread.

    Arm's firmware may number cores per cluster: then the core is its siblings' first thread.
    """
    topology = root / _CPUS / f"cpu{number}/topology"
    siblings = numbers(line(topology / "thread_siblings_list") or line(topology / "core_cpus_list"))
    return read_number(topology / "physical_package_id"), siblings[0] if siblings else read_number(
        topology / "core_id"
    )


def caches(root: Path) -> list[JsonObject] | None:
    """Each kind of cache: level, type, size of one, how many of them there are, and by how many threads one
    is shared.
    """
    counts: Counter[tuple[int, str, int, int]] = Counter()
    #: By the index of a cache, the threads whose cache is known already: of a thousand few are left to be
    #: read.
    sharing_cpus: dict[str, set[int]] = {}
    for number in numbers(line(root / _CPUS / "online")):
        if sharing_cpus and all(number in threads for threads in sharing_cpus.values()):
            continue
        for index in sorted((root / _CPUS / f"cpu{number}/cache").glob("index[0-9]*")):
            threads = sharing_cpus.setdefault(index.name, set())
            if number in threads:
                continue
            level, kind, size = read_number(index / "level"), line(index / "type"), line(index / "size")
            if level is None or kind is None or size is None:
                continue
            sharing = numbers(line(index / "shared_cpu_list")) or [number]
            threads.update(sharing)
            counts[level, kind, _bytes(size), len(sharing)] += 1
    return [
        {"level": level, "type": kind.lower(), "size_bytes": size, "count": count, "threads": threads}
        for (level, kind, size, threads), count in sorted(counts.items())
    ] or None


def _bytes(size: str) -> int:
    """`32K` -> 32768."""
    return int(size[:-1]) * {"K": 2**10, "M": 2**20, "G": 2**30}[size[-1]] if size[-1] in "KMG" else int(size)


def simd(root: Path) -> list[str] | None:
    """Which of the instructions that matter to performance there are."""
    about = _first_of_cpuinfo(root)
    flags = (about.get("flags") or about.get("Features") or "").split()
    return [name for name in _SIMD if name in flags] or None


def governor(root: Path) -> str | None:
    """Clock governors of all processors, joined where they differ. Raises UnavailableError."""
    values = {
        line(root / _CPUS / f"cpu{number}/cpufreq/scaling_governor")
        for number in numbers(line(root / _CPUS / "online"))
    }
    names = ", ".join(sorted(name for name in values if name))
    if not names:
        raise UnavailableError(NO_CPUFREQ())
    return names


def turbo(root: Path) -> bool:
    """True if the clock may rise above nominal. Raises UnavailableError where nothing says so."""
    off = line(root / _CPUS / "intel_pstate/no_turbo")
    if off is not None:
        return off == "0"
    boost = line(root / _CPUS / "cpufreq/boost")
    if boost is not None:
        return boost == "1"
    if (root / _CPUS / "cpu0/cpufreq").exists():
        raise UnavailableError(NO_TURBO(driver=_driver(root)))
    raise UnavailableError(NO_CPUFREQ())


def _driver(root: Path) -> str:
    return line(root / _CPUS / "cpu0/cpufreq/scaling_driver") or "cpufreq"


def highest_clock(root: Path) -> None:
    """Nothing is asked here but whether the clock's limits are known.

    Raises UnavailableError where they are not.
    """
    if read_number(root / _CPUS / "cpu0/cpufreq/cpuinfo_max_freq") is None:
        raise UnavailableError(NO_CPUFREQ())


def smt(root: Path) -> str | None:
    """`on`, `off`, `notsupported` ..."""
    return line(root / _CPUS / "smt/control")


def mitigations(root: Path) -> dict[str, str] | None:
    """Kernel mitigations of this processor's vulnerabilities, by name."""
    mitigations = {}
    for file in sorted((root / _CPUS / "vulnerabilities").glob("*")):
        state = line(file)
        if state and state != "Not affected":
            mitigations[file.name] = state
    return mitigations or None


def numa_nodes(root: Path) -> int:
    """Number of there are; one where the kernel knows of none."""
    return len(_nodes(root)) or 1


def numa(root: Path) -> list[JsonObject] | None:
    """Each node: its threads, its memory, and how far the others are; None when there is one only."""
    nodes = _nodes(root)
    if len(nodes) < 2:
        return None
    numa_nodes = []
    for node in nodes:
        total = next((row for row in text(node / "meminfo").splitlines() if "MemTotal:" in row), "")
        size = total.split()[-2:-1]
        numa_nodes.append(
            {
                "node": int(node.name.removeprefix("node")),
                "cpus": line(node / "cpulist") or "",
                "memory_bytes": int(size[0]) * 1024 if size else None,
                "distances": [int(word) for word in (line(node / "distance") or "").split()],
            }
        )
    return numa_nodes


def _nodes(root: Path) -> list[Path]:
    folder = root / "sys/devices/system/node"
    return sorted(folder.glob("node[0-9]*"), key=lambda node: int(node.name.removeprefix("node")))


def thp(root: Path) -> str | None:
    """Transparent huge pages: `always`, `madvise` or `never`."""
    return chosen(line(root / "sys/kernel/mm/transparent_hugepage/enabled"))


@cache
def topology(root: Path = Path("/")) -> Topology:
    """The layout, read once: `root` is `/`, or a recorded tree in tests."""
    online = numbers(line(root / _CPUS / "online"))
    allowed = _allowed(root)
    usable = allowed.get("Cpus_allowed_list") or online
    online = online or usable
    nodes = {
        int(node.name.removeprefix("node")): tuple(numbers(line(node / "cpulist")))
        for node in (root / _NODES).glob("node[0-9]*")
    }
    memory = allowed.get("Mems_allowed_list") or numbers(line(root / _NODES / "has_memory")) or sorted(nodes)
    return Topology(
        online=tuple(online),
        usable=tuple(number for number in usable if number in set(online)),
        cores=_cores(root, online),
        nodes=nodes or {0: tuple(online)},  # a kernel without NUMA
        memory_nodes=tuple(memory) or (0,),
        offline=tuple(numbers(line(root / _CPUS / "offline"))),
    )


def _allowed(root: Path) -> dict[str, list[int]]:
    """Where this process may run and have memory: what its control group and whoever started it leave it."""
    rows = (row.partition(":") for row in text(root / "proc/self/status").splitlines())
    return {key: numbers(value.strip()) for key, _, value in rows if key.endswith("_allowed_list")}


def _cores(root: Path, online: list[int]) -> tuple[tuple[int, ...], ...]:
    """The threads of each core; a processor that says nothing of its siblings is a core by itself."""
    cores: dict[tuple[int, ...], None] = {}
    for number in online:
        siblings = line(root / _CPUS / f"cpu{number}/topology/thread_siblings_list")
        cores[tuple(numbers(siblings)) or (number,)] = None
    return tuple(cores)
