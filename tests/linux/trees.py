"""Machines as /proc and /sys show them, written as files: of recorded layouts, and of ones that nobody here
has.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from pathlib import Path

KUNPENG_CPUINFO = """processor\t: {number}
BogoMIPS\t: 200.00
Features\t: fp asimd evtstrm aes pmull sha1 sha2 crc32 atomics fphp asimdhp \
cpuid asimdrdm jscvt fcma dcpop asimddp asimdfhm
CPU implementer\t: 0x48
CPU architecture: 8
CPU variant\t: 0x1
CPU part\t: 0xd01
CPU revision\t: 0

"""


def write(root: Path, path: str, text: str) -> None:
    """One file."""
    file = root / path
    try:
        file.write_text(text + "\n")
    except FileNotFoundError:
        file.parent.mkdir(parents=True)
        file.write_text(text + "\n")


def processors(
    root: Path, count: int, *, sockets: int, nodes: int, threads_per_core: int = 1, offline: str = ""
) -> None:
    """`count` threads over sockets and NUMA nodes, numbered node by node, as by Arm's and AMD's firmware."""
    off = {number for part in offline.split(",") if part for number in [int(part)]}
    on = [number for number in range(count) if number not in off]
    on_set = set(on)
    write(root, "sys/devices/system/cpu/online", _list(on))
    write(root, "sys/devices/system/cpu/offline", offline)
    per_node = count // nodes
    of_node: dict[int, list[int]] = {}
    for number in on:
        of_node.setdefault(number // per_node, []).append(number)
    for number in on:
        core = number // threads_per_core
        siblings = [core * threads_per_core + item for item in range(threads_per_core)]
        base = f"sys/devices/system/cpu/cpu{number}"
        write(root, f"{base}/topology/physical_package_id", str(number * sockets // count))
        write(root, f"{base}/topology/core_id", str(core % 4))  # per cluster: no name of a core by itself
        write(
            root,
            f"{base}/topology/thread_siblings_list",
            _list([sibling for sibling in siblings if sibling in on_set]),
        )
        if number > siblings[0] and siblings[0] in on_set:
            # Threads of a core have the same caches: thousands of files less.
            (root / base / "cache").symlink_to(f"../cpu{siblings[0]}/cache")
            continue
        shared = of_node[number // per_node]
        for index, (level, kind, size, with_) in enumerate(
            [
                (1, "Data", "64K", siblings),
                (1, "Instruction", "64K", siblings),
                (2, "Unified", "512K", siblings),
                (3, "Unified", "32768K", shared),
            ]
        ):
            cache = f"{base}/cache/index{index}"
            write(root, f"{cache}/level", str(level))
            write(root, f"{cache}/type", kind)
            write(root, f"{cache}/size", size)
            write(root, f"{cache}/shared_cpu_list", _list(with_))
    for node in range(nodes):
        base = f"sys/devices/system/node/node{node}"
        write(root, f"{base}/cpulist", _list([number for number in on if number * nodes // count == node]))
        write(root, f"{base}/meminfo", f"Node {node} MemTotal:       {64 * 2**20} kB")
        distances = [10 if other == node else 12 if other // 2 == node // 2 else 20 for other in range(nodes)]
        write(root, f"{base}/distance", " ".join(map(str, distances)))


def kunpeng(root: Path) -> None:
    """The server of a report: Kunpeng 920, 128 cores in 2 sockets and 4 nodes, aarch64."""
    processors(root, 128, sockets=2, nodes=4)
    write(root, "proc/cpuinfo", "".join(KUNPENG_CPUINFO.format(number=number) for number in range(128)))
    write(root, "sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq", "2600000")
    write(root, "proc/meminfo", f"MemTotal:       {256 * 2**20} kB\nSwapTotal: 0 kB\nSwapFree: 0 kB")


def dmi(
    root: Path,
    *modules: tuple[int, int, int],
    banks: Sequence[str] = (),
    locators: Sequence[str] = (),
    kind: int = 0x1A,
    widths: tuple[int, int] = (72, 64),
) -> None:
    """A DMI table with memory modules: size in MiB, rated and configured MT/s; size 0 is an empty slot.

    `banks` and `locators` are their bank and device locators, `widths` the bits of each, in all and of data.
    """
    table = bytes([0, 4, 0, 0]) + b"\0\0"
    for number, (mib, rated, configured) in enumerate(modules):
        body = bytearray(0x28)
        body[0], body[1] = 17, len(body)
        extended = mib >= 0x7FFF
        struct.pack_into("<H", body, 0x0C, 0x7FFF if extended else mib)
        struct.pack_into("<2H", body, 0x08, *widths)
        body[0x10], body[0x12], body[0x17], body[0x1A] = 1, kind, 2, 3
        struct.pack_into("<H", body, 0x15, rated)
        struct.pack_into("<I", body, 0x1C, mib if extended else 0)
        struct.pack_into("<H", body, 0x20, configured)
        body[0x11] = 4 if banks else 0
        locator = locators[number] if locators else f"DIMM{number}"
        bank = f"{banks[number]}\0" if banks else ""
        table += bytes(body) + f"{locator}\0Samsung\0M393A4K40\0{bank}\0".encode()
    table += bytes([127, 4, 0, 0]) + b"\0\0"
    path = root / "sys/firmware/dmi/tables/DMI"
    path.parent.mkdir(parents=True)
    path.write_bytes(table)


def _list(numbers: list[int]) -> str:
    return ",".join(map(str, numbers))


def device(root: Path, path: str, link: str, node: str | None) -> None:
    """A device of /sys at `path` below sys/devices, which the directory `link` names `device`."""
    folder = root / "sys/devices" / path
    folder.mkdir(parents=True, exist_ok=True)
    if node is not None:
        write(root, f"sys/devices/{path}/numa_node", node)
    (root / link).mkdir(parents=True, exist_ok=True)
    (root / link / "device").symlink_to(folder)


def storage_and_network(root: Path) -> None:
    """An NVMe disk with two partitions on node 1, whose controller is attached to a PCI device with a node;
    a SATA disk on a bus without node, a disk that states nothing, and two interfaces.
    """
    sizes = {
        "nvme0n1": (1_875_385_008, 512, 4096, 4096, 131_072),
        "sda": (781_422_768, 512, 512, 512, 0),
    }
    for name, (sectors, logical, physical, minimum, optimal) in sizes.items():
        write(root, f"sys/block/{name}/size", str(sectors))
        write(root, f"sys/block/{name}/queue/logical_block_size", str(logical))
        write(root, f"sys/block/{name}/queue/physical_block_size", str(physical))
        write(root, f"sys/block/{name}/queue/minimum_io_size", str(minimum))
        write(root, f"sys/block/{name}/queue/optimal_io_size", str(optimal))
    for number, sectors in ((10, 1_871_187_968), (2, 4_194_304)):
        write(root, f"sys/block/nvme0n1/nvme0n1p{number}/partition", str(number))
        write(root, f"sys/block/nvme0n1/nvme0n1p{number}/size", str(sectors))
    write(root, "sys/block/pmem0/size", "2048")
    write(root, "sys/devices/pci0000:80/0000:81:00.0/numa_node", "1")
    device(root, "pci0000:80/0000:81:00.0/nvme/nvme0", "sys/block/nvme0n1", None)
    device(root, "pci0000:00/0000:00:17.0/ata1", "sys/block/sda", "-1")
    device(root, "pci0000:00/0000:00:1f.6", "sys/class/net/eth0", "0")
    write(root, "sys/class/net/veth1/mtu", "1500")
