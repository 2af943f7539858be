"""Block devices and the disks below them: of partitions, of device mapper and MD, and files of loop devices.

Linux, Documentation/ABI/stable/sysfs-block and Documentation/ABI/testing/sysfs-block-loop.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from loadcell.linux import procfs

#: Names of partitions (Linux, block/partitions/core.c: `p` behind a disk whose name ends in a digit).
_PARTITION: Final = re.compile(r"((?:[hsv]|xv)d[a-z]+)\d+|((?:nvme\d+n|mmcblk|loop|md|nbd|rbd)\d+)p\d+")
#: Port of a SATA disk, address of a SCSI disk, controllers of others.
_ADDRESS: Final = re.compile(r"ata\d+|\d+:\d+:\d+:\d+|virtio\d+|nvme\d+|mmc\d+")
_CONTROLLER: Final = re.compile(r"(nvme\d+)n\d+$")
#: A path to a namespace of NVMe (Linux, drivers/nvme/host/multipath.c: subsystem, controller, namespace).
_PATH: Final = re.compile(r"(nvme\d+)c\d+(n\d+)")
_LAYERS: Final = ("dm-", "md", "bcache", "drbd")


@dataclass(frozen=True, slots=True)
class BlockDevice:
    """A block device with its number (`8:16`), the disks below it, and the file of a loop device.

    A disk is below itself. `addresses` are its controller, port and address, by which drivers name it.
    `is_layer` is True for a device of other devices, such as those of device mapper and MD.
    """

    name: str
    number: str = ""
    disks: tuple[str, ...] = ()
    file: str = ""
    addresses: tuple[str, ...] = ()
    is_layer: bool = False


class BlockDevices:
    """Block devices by the names that messages of the kernel have for them."""

    def __init__(self, devices: Iterable[BlockDevice] = ()) -> None:
        self._by_name: dict[str, BlockDevice] = {}
        by_address: dict[str, dict[str, BlockDevice]] = {}
        present = tuple(devices)
        names = {device.name for device in present}
        for device in present:
            disk = _namespace(device.name)
            is_path = disk != device.name and disk in names
            self._by_name[device.name] = replace(device, disks=(disk,)) if is_path else device
        for device in self._by_name.values():
            if device.disks == (_namespace(device.name),):
                disk = device.disks[0]
                for address in device.addresses:
                    by_address.setdefault(address, {})[disk] = self._by_name[disk]
        numbers = {device.number: device for device in self._by_name.values() if device.number}
        addresses = {
            address: device
            for address, disks in by_address.items()
            if len(disks) == 1
            for device in disks.values()
        }
        self._by_any_name: Mapping[str, BlockDevice] = {**addresses, **numbers, **self._by_name}

    def disks_of(self, name: str) -> tuple[str, ...]:
        """Disks below a device, by its name, number or the address of its disk; a name that is not known for
        itself.
        """
        device = self._by_any_name.get(name)
        if device is not None:
            return device.disks or (device.name,)
        partition = _PARTITION.fullmatch(name)
        return (partition[1] or partition[2],) if partition else (_namespace(name),)

    def is_layer(self, name: str) -> bool:
        """True for a device of other devices."""
        device = self._by_any_name.get(name)
        return name.startswith(_LAYERS) if device is None else device.is_layer

    def name_of(self, name: str) -> str:
        """The name of a device by its number or address."""
        device = self._by_any_name.get(name)
        return name if device is None else device.name

    def file_of(self, name: str) -> str:
        """The file of a loop device; empty of others."""
        device = self._by_name.get(name)
        return "" if device is None else device.file

    def above(self, disk: str) -> list[str]:
        """Names and numbers of all devices on a disk."""
        devices = [device for device in self._by_name.values() if disk in device.disks]
        return [name for device in devices for name in (device.name, device.number) if name]


def _namespace(name: str) -> str:
    """The disk of a path to a namespace of NVMe; any other name itself."""
    path = _PATH.fullmatch(name)
    return f"{path[1]}{path[2]}" if path else name


def read(root: Path = procfs.ROOT) -> tuple[BlockDevice, ...]:
    """All block devices and partitions of a host."""
    paths = {path.name: path for path in sorted((root / "sys/class/block").glob("*"))}
    return tuple(_device(path, paths) for path in paths.values())


def _device(path: Path, paths: Mapping[str, Path]) -> BlockDevice:
    below = _disks(path.name, paths, frozenset())
    file = procfs.line(path / "loop/backing_file") or ""
    addresses = {part: None for part in path.resolve().parts[:-1] if _ADDRESS.fullmatch(part)}
    has_paths = any(_namespace(name) == path.name != name for name in paths)
    if (controller := _CONTROLLER.match(path.name)) and not has_paths:
        addresses[controller[1]] = None
    return BlockDevice(
        path.name.replace("!", "/"),
        procfs.line(path / "dev") or "",
        below,
        file,
        tuple(addresses),
        any((path / "slaves").glob("*")),
    )


def _disks(name: str, paths: Mapping[str, Path], seen: frozenset[str]) -> tuple[str, ...]:
    """Disks below a device, each once."""
    path = paths.get(name)
    if path is None or name in seen:
        return ()
    if (path / "partition").exists():
        lower = [path.resolve().parent.name]
    else:
        lower = sorted(item.name for item in (path / "slaves").glob("*"))
    if not lower:
        return (name.replace("!", "/"),)
    return tuple(dict.fromkeys(disk for item in lower for disk in _disks(item, paths, seen | {name})))
