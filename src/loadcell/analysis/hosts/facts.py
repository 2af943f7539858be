"""What two machines are, fact by fact, those that bear most on performance first."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Host = Mapping[str, Any]


@dataclass(frozen=True)
class Fact:
    """One thing that is known of at least one of two machines: `values` are theirs (None: not known).

    `key` ends in the unit of its numbers.
    """

    key: str
    values: tuple[Any, Any]

    @property
    def differs(self) -> bool:
        """Whether both are known, and not the same."""
        return None not in self.values and self.values[0] != self.values[1]

    @property
    def known(self) -> bool:
        """Whether it is known of both."""
        return None not in self.values

    @property
    def times(self) -> float | None:
        """The second as a multiple of the first, where both are numbers above 0 and differ."""
        first, second = self.values
        numbers = all(isinstance(one, int | float) and not isinstance(one, bool) for one in self.values)
        return second / first if self.differs and numbers and first > 0 and second > 0 else None


#: Limits that an inventory names only where there are any.
_LIMITS = ("quota_cpus", "quota_bytes")


def _answers(key: str, ask: Callable[[Host], Any], first: Host, second: Host) -> tuple[Any, Any]:
    """Both values. Where one machine has a limit, another whose groups were looked at has none: that differs."""
    one, other = ask(first), ask(second)
    if key in _LIMITS and (one is None) != (other is None):
        one, other = (
            ""
            if value is None and host.get("cpu") and "container" not in _map(host.get("unavailable"))
            else value
            for value, host in ((one, first), (other, second))
        )
    return one, other


def facts(first: Host, second: Host) -> list[Fact]:
    """All that is known: what differs, then what only one says, then what is the same; each by importance."""
    found = [Fact(key, _answers(key, ask, first, second)) for key, ask in FACTS.items()]
    settings = [_map(host.get("settings")) for host in (first, second)]
    found += [
        Fact(key, (settings[0].get(key), settings[1].get(key)))
        for key in dict.fromkeys(name for one in settings for name in one)
    ]
    told = [fact for fact in found if fact.values != (None, None)]
    return sorted(told, key=lambda fact: 0 if fact.differs else 1 if not fact.known else 2)


def clock_mhz(host: Host) -> float | None:
    """The highest clock its processors can have; where nobody says so, the one they are known by."""
    cpu = _map(host.get("cpu"))
    value = cpu.get("max_mhz") or cpu.get("mhz")
    return float(value) if isinstance(value, int | float) and value > 0 else None


def memory_mts(host: Host) -> float | None:
    """The transfer rate its memory modules are set to: that of the slowest."""
    speeds = [_positive(one.get("configured_mts") or one.get("speed_mts")) for one in _list(host, "dimms")]
    known = [speed for speed in speeds if speed is not None]
    return min(known, default=None)


def _of_cpu(key: str) -> Callable[[Host], Any]:
    return lambda host: _map(host.get("cpu")).get(key)


def _plain(key: str) -> Callable[[Host], Any]:
    return lambda host: host.get(key)


def _cache(level: int) -> Callable[[Host], Any]:
    """Size of one cache of a level that holds data; the whole machine's number of them is `cores` and `sockets`."""

    def size(host: Host) -> int | None:
        return cache_sizes(host).get(level)

    return size


def cache_sizes(host: Host) -> dict[int, int]:
    """Level -> size in bytes of one cache that holds data."""
    found: dict[int, int] = {}
    for one in _list(host, "caches"):
        level, size = one.get("level"), one.get("size_bytes")
        if isinstance(level, int) and isinstance(size, int) and one.get("type") != "instruction":
            found[level] = max(found.get(level, 0), size)
    return dict(sorted(found.items()))


def _modules(key: str) -> Callable[[Host], Any]:
    """What the memory modules say, each thing once."""
    return lambda host: _listed(one.get(key) for one in _list(host, "dimms"))


def _module_count(host: Host) -> int | None:
    return len(_list(host, "dimms")) or None


def _rated(host: Host) -> float | None:
    speeds = [_positive(one.get("speed_mts")) for one in _list(host, "dimms")]
    return min((speed for speed in speeds if speed is not None), default=None)


def _disks(key: str) -> Callable[[Host], Any]:
    return lambda host: _listed(one.get(key) for one in _list(host, "disks"))


#: What disks that a hypervisor makes are called: virtio's, Xen's.
VIRTUAL = ("vd", "xvd")


def _kinds_of_disk(host: Host) -> str | None:
    """As the disks say; a virtual one says what its driver was made to (virtio: rotating), whatever lies below it."""
    kinds = {True: "HDD", False: "SSD"}
    own = [one for one in _list(host, "disks") if not str(one.get("name")).startswith(VIRTUAL)]
    return _listed(kinds.get(one.get("rotational", "")) for one in own)


def _filesystems(host: Host) -> str | None:
    return _listed(one.get("type") for one in _list(host, "filesystems"))


def _acting(host: Host) -> str | None:
    found = host.get("mitigations")
    if found is None:
        return None
    return ", ".join(sorted(name for name, text in _map(found).items() if str(text).startswith("Mitigation")))


def _interfaces(key: str) -> Callable[[Host], Any]:
    return lambda host: _listed(one.get(key) for one in _list(host, "network"))


def _limit(section: str, key: str) -> Callable[[Host], Any]:
    return lambda host: _map(host.get(section)).get(key)


def _simd(host: Host) -> str | None:
    found = host.get("simd")
    return " ".join(map(str, found)) if isinstance(found, list) else None


def _map(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _list(host: Host, key: str) -> Sequence[Mapping[str, Any]]:
    found = host.get(key)
    return [one for one in found if isinstance(one, Mapping)] if isinstance(found, list) else []


def _positive(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and value > 0 else None


def _listed(values: Iterator[Any]) -> str | None:
    return ", ".join(dict.fromkeys(str(value) for value in values if value not in (None, ""))) or None


#: What is looked at, in the order of what it usually does to performance: name -> how it is asked of an inventory.
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
