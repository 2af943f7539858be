"""Incidents of hosts at random sizes, and states of hosts below their thresholds."""

from __future__ import annotations

import random
from pathlib import Path

from incidents.test_clocks import watched
from incidents.test_container_incidents import connections, cpu, files, used
from incidents.test_container_incidents import memory as group_memory
from incidents.test_host_incidents import disks, log, memory, processors, system
from loadcell.incidents.evidence.clocks import ClockStep, TimeServer
from loadcell.incidents.evidence.connections import ListenQueue
from loadcell.incidents.evidence.jvms import ClassGrowth, ClassHistograms
from loadcell.incidents.evidence.mounts import Mounts, RemoteMount
from loadcell.incidents.evidence.numa import NodeMemory, NumaAllocations, NumaMemory

from .case import Build, Example, Replay

GIB = 1 << 30


def _any(*builds: Build) -> Build:
    """An example of one of several kinds."""

    def build(chance: random.Random, directory: Path) -> Example:
        return chance.choice(builds)(chance, directory)

    return build


def _mount(answered: tuple[float, float] | None, waited: tuple[float, float] = (0, 0)) -> Build:
    def build(chance: random.Random, _: Path) -> Example:
        others = tuple(
            RemoteMount((f"/m{number}",), "nfs4", f"s{number}:/x", chance.uniform(0, 0.5))
            for number in range(chance.randint(0, 5))
        )
        answer = None if answered is None else chance.uniform(*answered)
        waited_s = chance.uniform(*waited)
        mount = RemoteMount(
            ("/data",), chance.choice(["nfs4", "cifs", "fuse.glusterfs"]), "a:/x", answer, waited_s
        )
        return Example(
            Mounts("host", (*others, mount)), f"{answer if answer is not None else waited_s:.1f} s"
        )

    return build


def _fight(sizes: tuple[float, float], difference: tuple[float, float], apart: tuple[int, int]) -> Build:
    """Steps forth and back: their sizes, the share by which they differ, and the seconds between them."""

    def build(chance: random.Random, _: Path) -> Example:
        forth = chance.uniform(*sizes)
        back = forth * (1 - chance.uniform(*difference))
        seconds = chance.randint(*apart)
        offsets: list[float] = [0.0] * chance.randint(2, 60)
        offsets += [forth] * seconds
        offsets += [forth - back] * chance.randint(1, 59)
        return Example(watched(*offsets), f"{forth:.1f} s and {back:.1f} s, {seconds} s apart", 59.0)

    return build


def _step(sizes: tuple[float, float]) -> Build:
    def build(chance: random.Random, _: Path) -> Example:
        size = chance.uniform(*sizes) * chance.choice([-1, 1])
        offsets = [0.0] * chance.randint(2, 60) + [size] * chance.randint(1, 59)
        return Example(watched(*offsets), f"{size:+.2f} s", 59.0)

    return build


def _logged(sizes: tuple[float, float]) -> Build:
    """Steps forth and back that only the log states."""

    def build(chance: random.Random, _: Path) -> Example:
        size, apart_ns = chance.uniform(*sizes), chance.randint(1, 590) * 10**9
        logged = tuple(
            ClockStep(index * apart_ns, size * chance.uniform(0.85, 1.0) * (-1) ** index)
            for index in range(chance.randint(2, 20))
        )
        return Example(watched(0, 0, logged=logged), f"{size:.2f} s, {apart_ns // 10**9} s apart")

    return build


def _slewing(chance: random.Random, _: Path) -> Example:
    rate = chance.uniform(-0.0005, 0.0005)
    return Example(
        watched(*(rate * index for index in range(chance.randint(100, 900)))), f"{rate * 1e3:+.2f} ms/s"
    )


def _servers(outlier: tuple[float, float], services: tuple[str, ...] = ("chronyd",)) -> Build:
    def build(chance: random.Random, _: Path) -> Example:
        offsets = [chance.uniform(-0.02, 0.02) for _ in range(chance.randint(3, 5))]
        offsets[0] += chance.uniform(*outlier) * chance.choice([-1, 1])
        servers = tuple(TimeServer(f"s{number}", "chronyd", value) for number, value in enumerate(offsets))
        seen = watched(0, 0, services=services, servers=servers)
        return Example(seen, f"{offsets[0]:+.2f} s of {len(offsets)} servers")

    return build


def _synchronised(*, is_so: bool) -> Build:
    """A clock that the kernel regards as synchronised or not, with and without a service."""

    def build(chance: random.Random, _: Path) -> Example:
        services = chance.choice([(), ("chronyd",), ("ntpd",), ("systemd-timesyncd",)])
        seen = watched(0, 0, services=services, is_synchronised=is_so)
        return Example(seen, ", ".join(services) or "no service")

    return build


def _spread(difference: tuple[float, float], count: tuple[int, int]) -> Build:
    """Servers at even distances, by the difference of the first and the last."""

    def build(chance: random.Random, _: Path) -> Example:
        number, spread_s = chance.randint(*count), chance.uniform(*difference)
        offsets = [spread_s * index / (number - 1) - spread_s / 2 for index in range(number)]
        servers = tuple(TimeServer(f"s{index}", "chronyd", value) for index, value in enumerate(offsets))
        seen = watched(0, 0, services=("chronyd",), servers=servers)
        return Example(seen, f"{spread_s:.2f} s between {number} servers")

    return build


def _swap(rate: tuple[float, float], full: tuple[float, float]) -> Build:
    def build(chance: random.Random, _: Path) -> Example:
        into, out, share = chance.uniform(*rate), chance.uniform(*rate), chance.uniform(*full)
        return Example(memory(into, out, share), f"{into:.0f} and {out:.0f} MiB/s, {share:.0%} stalled")

    return build


def _processors(
    busy: tuple[float, float], waited: tuple[float, float], per_core: tuple[float, float]
) -> Build:
    """Processors with a queue, some on kernels without a measurement of pressure."""

    def build(chance: random.Random, _: Path) -> Example:
        cores, share, wait = chance.choice([1, 2, 8, 64]), chance.uniform(*busy), chance.uniform(*waited)
        queue = round(cores * chance.uniform(*per_core))
        return Example(
            processors(share, wait, queue, cores=cores),
            f"{share:.0%} busy, {wait:.0%} waited, {queue} threads",
        )

    return build


def _kernel(*texts: str) -> Build:
    def build(chance: random.Random, _: Path) -> Example:
        pid = chance.randint(2, 99_999)
        lines = [text.replace("PID", str(pid)) for text in texts]
        return Example(log(*lines, age_s=chance.uniform(5, 59)), f"process {pid}", 59.0)

    return build


def _disk(busy: tuple[float, float], wait: tuple[float, float]) -> Build:
    def build(chance: random.Random, _: Path) -> Example:
        share, wait_ms = chance.uniform(*busy), chance.uniform(*wait)
        return Example(disks(share, wait_ms), f"{share:.0%} busy, {wait_ms:.0f} ms")

    return build


def _full(free: tuple[float, float], inodes: tuple[float, float] = (0.3, 0.9)) -> Build:
    def build(chance: random.Random, _: Path) -> Example:
        share, nodes = chance.uniform(*free), chance.uniform(*inodes)
        return Example(system(share, nodes, chance.randint(10, 150) * GIB), f"{share:.1%} free")

    return build


def _read_only(should_write: bool) -> Build:
    def build(chance: random.Random, _: Path) -> Example:
        return Example(system(chance.uniform(0.2, 0.9), is_read_only=True, should_write=should_write), "")

    return build


def _throttled(share: tuple[int, int]) -> Build:
    def build(chance: random.Random, _: Path) -> Example:
        periods = chance.randint(*share)
        return Example(cpu(periods), f"{periods}% of the periods")

    return build


def _group_memory(kills: tuple[int, int], reached: tuple[int, int]) -> Build:
    def build(chance: random.Random, _: Path) -> Example:
        count, times = chance.randint(*kills), chance.randint(*reached)
        return Example(group_memory(count, times), f"{count} kills, {times} times at the limit")

    return build


def _ports(count: tuple[int, int]) -> Build:
    def build(chance: random.Random, _: Path) -> Example:
        number = chance.randint(*count)
        return Example(used(number), f"{number} of 1000 ports")

    return build


def _dropped(count: tuple[int, int]) -> Build:
    def build(chance: random.Random, _: Path) -> Example:
        number = chance.randint(*count)
        queues = (ListenQueue(80, 129, 128),) if number else (ListenQueue(80, 128, 128),)
        return Example(connections(dropped=number, queues=queues), f"{number} dropped")

    return build


def _tracked(share: tuple[float, float]) -> Build:
    def build(chance: random.Random, _: Path) -> Example:
        part = chance.uniform(*share)
        return Example(
            connections(tracked=round(65536 * part), most_tracked=65536), f"{part:.0%} of the table"
        )

    return build


def _files(count: tuple[int, int]) -> Build:
    def build(chance: random.Random, _: Path) -> Example:
        number = chance.randint(*count)
        return Example(files(number), f"{number} of 1000 files")

    return build


def _numa(share: tuple[float, float]) -> Build:
    def build(chance: random.Random, _: Path) -> Example:
        total, part = chance.randint(1, 64) * GIB, chance.uniform(*share)
        process = NodeMemory(7, "java", 0, total, round(total * part))
        return Example(NumaMemory("host", chance.choice([2, 4, 8]), (process,)), f"{part:.0%} on other nodes")

    return build


def _allocated(share: tuple[float, float], rate_mib: tuple[float, float]) -> Build:
    """Memory allocated near and far within a window, with any totals since the start of the kernel."""

    def build(chance: random.Random, _: Path) -> Example:
        part, window_s = chance.uniform(*share), chance.uniform(0.5, 60)
        total = chance.uniform(*rate_mib) * window_s * (1 << 20)
        allocations = NumaAllocations(window_s, total * (1 - part), total * part, 0, chance.random())
        seen = NumaMemory("host", chance.choice([2, 4, 8]), (), allocations)
        return Example(seen, f"{part:.0%} of {total / window_s / (1 << 20):.0f} MiB/s")

    return build


def _classes(growth: tuple[int, int], share: tuple[float, float]) -> Build:
    def build(chance: random.Random, _: Path) -> Example:
        before = chance.randint(*growth) << 20
        after = round(before * (1 + chance.uniform(*share)))
        grown = (ClassGrowth("app.Row", before, after),)
        return Example(
            ClassHistograms("jvm", 7, 1.0, 2 * after, grown), f"{before >> 20} to {after >> 20} MiB"
        )

    return build


KILLED = "Out of memory: Killed process PID (java) total-vm:2942936kB, anon-rss:152520kB, UID:0"
REPLAYS = (
    Replay("hung-mount", _mount(None, (5.01, 8)), (_mount((0.5, 1.6)),)),
    Replay("fighting-clocks", _any(_fight((0.6, 30), (0, 0.18), (1, 590)), _logged((0.6, 30))), (
        _fight((0.05, 0.4), (0, 0.18), (1, 590)),
        _slewing,
        _logged((0.128, 0.4)),
    )),
    Replay("clock-step", _step((0.51, 60)), (_step((0.01, 0.4)), _slewing, _logged((0.128, 0.4)))),
    Replay("time-services", _any(_servers((0.6, 30)), _spread((0.51, 1.5), (2, 9))), (
        _servers((0.0, 0.35)),
        _spread((0.0, 0.4), (2, 2)),
        _spread((0.0, 0.4), (3, 9)),
    )),
    Replay("unsynchronised-clock", _synchronised(is_so=False), (_synchronised(is_so=True),)),
    Replay("swap-storm", _swap((1.2, 200), (0.11, 0.9)), (
        _swap((0, 0.8), (0, 0.08)),
        _swap((1.2, 50), (0, 0.08)),
    )),
    Replay("busy-processors", _any(
        _processors((0.92, 1.0), (0.55, 1.0), (1.0, 2.0)), _processors((0.92, 1.0), (0.0, 0.4), (3.1, 9.0))
    ), (
        _processors((0.1, 0.72), (0.55, 1.0), (3.1, 9.0)),
        _processors((0.92, 1.0), (0.0, 0.4), (0.5, 1.6)),
    )),
    Replay("oom-kill", _kernel("x", KILLED), (
        _kernel("oom_reaper: something else", "usb 1-1: new high-speed USB device number PID"),
    )),
    Replay("disk-errors", _any(
        _kernel("blk_update_request: I/O error, dev sda, sector PID op 0x0:(READ)"),
        _kernel("Buffer I/O error on dev dm-0, logical block PID, lost async page write"),
        _kernel("XFS (sdb1): metadata I/O error in \"xfs_buf_ioend\" at daddr 0xPID len 8 error 5"),
        _kernel("nvme nvme0: resetting controller", "I/O error, dev nvme0n1, sector PID op 0x1:(WRITE)"),
    ), (
        _kernel("sd 0:0:0:0: [sda] Attached SCSI disk", "EXT4-fs (sda1): mounted filesystem PID"),
        _kernel("sd 2:0:0:0: Power-on or device reset occurred", "scsi host2: PID requests"),
    )),
    Replay("saturated-disk", _disk((0.96, 1.0), (105, 3000)), (
        _disk((0.1, 0.76), (105, 900)),
        _disk((0.96, 1), (1, 80)),
    )),
    Replay("full-file-system", _full((0.0, 0.045)), (_full((0.065, 0.9)),)),
    Replay("read-only-remount", _read_only(True), (_read_only(False),)),
    Replay("throttled-container", _throttled((26, 100)), (_throttled((0, 20)),)),
    Replay("container-memory", _group_memory((1, 20), (0, 200)), (_group_memory((0, 0), (0, 7)),)),
    Replay("port-exhaustion", _ports((760, 1000)), (_ports((0, 600)),)),
    Replay("listen-overflow", _dropped((1, 400)), (_dropped((0, 0)),)),
    Replay("conntrack-table", _tracked((0.81, 1.0)), (_tracked((0.0, 0.64)),)),
    Replay("open-files", _files((801, 1000)), (_files((0, 640)),)),
    Replay("numa-spread", _any(_numa((0.3, 1.0)), _allocated((0.3, 1.0), (80, 8000))), (
        _numa((0.0, 0.2)),
        _allocated((0.0, 0.2), (80, 8000)),
        _allocated((0.3, 1.0), (0, 50)),
    )),
    Replay("class-growth", _classes((30, 900), (0.06, 3.0)), (_classes((30, 900), (0.0, 0.04)),)),
)  # fmt: skip
