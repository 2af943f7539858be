"""Facts of two machines, those that affect performance most first."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from loadcell.model.json import JsonObject

#: Inventory of a machine, as environment.json has it.
Host: TypeAlias = JsonObject


@dataclass(frozen=True)
class Fact:
    """One thing that is known of at least one of two machines: `values` are theirs (None: not known).

    `key` ends in the unit of its numbers.
    """

    key: str
    values: tuple[Any, Any]

    @property
    def differs(self) -> bool:
        """True if both are known, and not the same."""
        return None not in self.values and self.values[0] != self.values[1]

    @property
    def is_complete(self) -> bool:
        """True if it is known of both."""
        return None not in self.values

    @property
    def times(self) -> float | None:
        """The second as a multiple of the first, where both are numbers above 0 and differ."""
        first, second = self.values
        numbers = all(isinstance(value, int | float) and not isinstance(value, bool) for value in self.values)
        return second / first if self.differs and numbers and first > 0 and second > 0 else None


#: Limits that an inventory names only where there are any.
_LIMITS = ("quota_cpus", "quota_bytes")


def _answers(key: str, ask: Callable[[Host], Any], first: Host, second: Host) -> tuple[Any, Any]:
    """Both values.

    Where one machine has a limit, another whose groups were looked at has none: that differs.
    """
    first_answer, other = ask(first), ask(second)
    if key in _LIMITS and (first_answer is None) != (other is None):
        first_answer, other = (
            ""
            if value is None and host.get("cpu") and "container" not in _map(host.get("unavailable"))
            else value
            for value, host in ((first_answer, first), (other, second))
        )
    return first_answer, other


def facts(first: Host, second: Host) -> list[Fact]:
    """All that is known: what differs, then what only one says, then what is the same; each by importance."""
    all_facts = [Fact(key, _answers(key, ask, first, second)) for key, ask in FACTS.items()]
    settings = [_map(host.get("settings")) for host in (first, second)]
    all_facts += [
        Fact(key, (settings[0].get(key), settings[1].get(key)))
        for key in dict.fromkeys(name for setting in settings for name in setting)
    ]
    facts_of_both = [fact for fact in all_facts if fact.values != (None, None)]
    return sorted(facts_of_both, key=lambda fact: 0 if fact.differs else 1 if not fact.is_complete else 2)


def clock_mhz(host: Host) -> float | None:
    """The highest clock its processors can have; where nobody says so, the one they are known by."""
    cpu = _map(host.get("cpu"))
    value = cpu.get("max_mhz") or cpu.get("mhz")
    return float(value) if isinstance(value, int | float) and value > 0 else None


def memory_mts(host: Host) -> float | None:
    """The transfer rate its memory modules are set to: that of the slowest."""
    speeds = [
        _positive(module.get("configured_mts") or module.get("speed_mts")) for module in _list(host, "dimms")
    ]
    positive = [speed for speed in speeds if speed is not None]
    return min(positive, default=None)


def _of_cpu(key: str) -> Callable[[Host], Any]:
    return lambda host: _map(host.get("cpu")).get(key)


def _plain(key: str) -> Callable[[Host], Any]:
    return lambda host: host.get(key)


def _cache(level: int) -> Callable[[Host], Any]:
    """Size of one cache of a level that holds data; the whole machine's number of them is `cores` and
    `sockets`.
    """

    def size(host: Host) -> int | None:
        return cache_sizes(host).get(level)

    return size


def cache_sizes(host: Host) -> dict[int, int]:
    """Level -> size in bytes of one cache that holds data."""
    sizes: dict[int, int] = {}
    for cache in _list(host, "caches"):
        level, size = cache.get("level"), cache.get("size_bytes")
        if isinstance(level, int) and isinstance(size, int) and cache.get("type") != "instruction":
            sizes[level] = max(sizes.get(level, 0), size)
    return dict(sorted(sizes.items()))


def _modules(key: str) -> Callable[[Host], Any]:
    """Reported values of the memory modules without repetition."""
    return lambda host: _listed(module.get(key) for module in _list(host, "dimms"))


def _module_count(host: Host) -> int | None:
    return len(_list(host, "dimms")) or None


def _rated(host: Host) -> float | None:
    speeds = [_positive(module.get("speed_mts")) for module in _list(host, "dimms")]
    return min((speed for speed in speeds if speed is not None), default=None)


def _disks(key: str) -> Callable[[Host], Any]:
    return lambda host: _listed(disk.get(key) for disk in _list(host, "disks"))


#: What disks that a hypervisor makes are called: virtio's, Xen's.
VIRTUAL = ("vd", "xvd")


def _kinds_of_disk(host: Host) -> str | None:
    """As the disks say; a virtual one says what its driver was made to (virtio: rotating), whatever lies
    below it.
    """
    kinds = {True: "HDD", False: "SSD"}
    disks = [disk for disk in _list(host, "disks") if not str(disk.get("name")).startswith(VIRTUAL)]
    return _listed(kinds.get(disk.get("rotational", "")) for disk in disks)


def _filesystems(host: Host) -> str | None:
    return _listed(filesystem.get("type") for filesystem in _list(host, "filesystems"))


def _acting(host: Host) -> str | None:
    mitigations = host.get("mitigations")
    if mitigations is None:
        return None
    return ", ".join(
        sorted(name for name, text in _map(mitigations).items() if str(text).startswith("Mitigation"))
    )


def _interfaces(key: str) -> Callable[[Host], Any]:
    return lambda host: _listed(item.get(key) for item in _list(host, "network"))


def _limit(section: str, key: str) -> Callable[[Host], Any]:
    return lambda host: _map(host.get(section)).get(key)


def _simd(host: Host) -> str | None:
    simd = host.get("simd")
    return " ".join(map(str, simd)) if isinstance(simd, list) else None


def _map(value: Any) -> JsonObject:
    return value if isinstance(value, dict) else {}


def _list(host: Host, key: str) -> Sequence[JsonObject]:
    value = host.get(key)
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _positive(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and value > 0 else None


def _listed(values: Iterator[Any]) -> str | None:
    return ", ".join(dict.fromkeys(str(value) for value in values if value not in (None, ""))) or None


#: Facts that are compared, in the order of their usual effect on performance: name -> how it is asked of an
#: inventory.
FACTS: Mapping[str, Callable[[Host], Any]] = {
    "cpu_model": _of_cpu("model"),
    "cpu_architecture": _of_cpu("architecture"),
    "clock_mhz": clock_mhz,
    "cores": _of_cpu("cores"),
    "threads": _of_cpu("threads"),
    "usable_threads": _of_cpu("usable_threads"),
    "sockets": _of_cpu("sockets"),
    "numa_nodes": _plain("numa_nodes"),
    "l1_bytes": _cache(1),
    "l2_bytes": _cache(2),
    "l3_bytes": _cache(3),
    "simd": _simd,
    "memory_bytes": _plain("memory_bytes"),
    "memory_mts": memory_mts,
    "memory_kind": _modules("kind"),
    "memory_modules": _module_count,
    "memory_rated_mts": _rated,
    "governor": _plain("governor"),
    "turbo": _plain("turbo"),
    "smt": _plain("smt"),
    "thp": _plain("thp"),
    "mitigations": _acting,
    "virtualisation": _plain("virtualisation"),
    "quota_cpus": _limit("container", "cpus"),
    "quota_bytes": _limit("container", "memory_bytes"),
    "disk_model": _disks("model"),
    "disk_kind": _kinds_of_disk,
    "disk_scheduler": _disks("scheduler"),
    "disk_cache": _disks("write_cache"),
    "filesystems": _filesystems,
    "swap_used_bytes": _plain("swap_used_bytes"),
    "network_mbits": _interfaces("speed_mbits"),
    "network_driver": _interfaces("driver"),
    "kernel": _plain("kernel"),
    "os": _plain("os"),
    "clocksource": _plain("clocksource"),
    "open_files": _limit("limits", "open_files"),
}
