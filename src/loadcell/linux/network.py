"""Network interfaces: what they are, how fast, and what they do instead of the processor."""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import re
import socket
import struct
from pathlib import Path

import psutil

from loadcell.linux.procfs import line, read_number, text
from loadcell.linux.time_limits import NO_NAMES, NO_SPEED, UnavailableError
from loadcell.model.json import JsonObject

_SIOCETHTOOL = 0x8946
#: Offloads by the ethtool command that asks for them (linux/ethtool.h).
_OFFLOADS = {"rx-checksum": 0x14, "tx-checksum": 0x16, "tso": 0x1E, "gso": 0x23, "gro": 0x2B}
#: Where distributions keep the names of PCI devices.
_PCI_IDS = ("usr/share/misc/pci.ids", "usr/share/hwdata/pci.ids")
_NEXT_MAKER = re.compile(r"\n[^\t#\n]")
_NAME_BYTES = 16


def interfaces(root: Path) -> list[JsonObject]:
    """Each but the loopback: state, speed (Mbit/s), MTU, driver, device, queues, offloads, addresses."""
    addresses = psutil.net_if_addrs()
    names = pci_list(root)
    entries = []
    for folder in sorted((root / "sys/class/net").glob("*")):
        if folder.name == "lo" or not folder.is_dir():
            continue
        speed = _speed(folder)
        entries.append(
            {
                "name": folder.name,
                "state": line(folder / "operstate"),
                **({"speed_mbits": speed} if speed else {}),
                "mtu": read_number(folder / "mtu"),
                "driver": _linked(folder / "device/driver"),
                "device": _device(names, folder / "device"),
                "queues": {kind: len(list((folder / "queues").glob(f"{kind}-*"))) for kind in ("rx", "tx")},
                "offloads": _offloads(folder.name),
                "addresses": [
                    address.address.partition("%")[0]
                    for address in addresses.get(folder.name, ())
                    if address.family in (socket.AF_INET, socket.AF_INET6)
                ],
            }
        )
    return entries


def _speed(folder: Path) -> int | None:
    """None where there is no link, or no such thing; a virtual interface says -1."""
    speed = read_number(folder / "speed")
    return speed if speed is not None and speed > 0 else None


def _linked(path: Path) -> str | None:
    return path.resolve().name if path.is_symlink() or path.exists() else None


def speeds(root: Path) -> None:
    """Nothing is asked here but whether links state a speed.

    Raises UnavailableError where some that are up do not.
    """
    silent = [
        folder.name
        for folder in sorted((root / "sys/class/net").glob("*"))
        if folder.name != "lo" and line(folder / "operstate") == "up" and _speed(folder) is None
    ]
    if silent:
        raise UnavailableError(NO_SPEED(names=silent))


def pci_list(root: Path) -> str:
    """The distribution's list of PCI names; empty without one."""
    return next((content for path in _PCI_IDS if (content := text(root / path))), "")


def pci_names(root: Path) -> None:
    """Nothing is asked here but whether devices have names.

    Raises UnavailableError where only numbers are known.
    """
    numbered = [
        folder.name
        for folder in (root / "sys/class/net").glob("*")
        if (line(folder / "device/vendor") or "").startswith("0x")
    ]
    if numbered and not pci_list(root):
        raise UnavailableError(NO_NAMES())


def _device(names: str, device: Path) -> str | None:
    """The PCI device's name, or its numbers where nobody knows a name."""
    maker, kind = line(device / "vendor"), line(device / "device")
    if not maker or not kind or not maker.startswith("0x"):
        return None
    return _pci_name(names, maker[2:], kind[2:]) or f"{maker[2:]}:{kind[2:]}"


def _pci_name(names: str, maker: str, kind: str) -> str | None:
    """Makers begin a line, their devices follow on lines of their own."""
    begin = 0 if names.startswith(f"{maker}  ") else names.find(f"\n{maker}  ") + 1
    suffix = names[begin:]
    if not suffix.startswith(f"{maker}  "):
        return None
    end = _NEXT_MAKER.search(suffix)
    vendor, *devices = suffix[: end.start() if end is not None else None].splitlines()
    device = next((row for row in devices if row.startswith(f"\t{kind}  ")), "")
    return f"{vendor[6:].strip()} {device[7:].strip()}".strip()


def _offloads(name: str) -> list[str]:
    """Those that are on (ethtool's ioctl, which needs no privilege to ask)."""
    on = []
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asker:
        for offload, command in _OFFLOADS.items():
            value = (ctypes.c_uint32 * 2)(command, 0)  # struct ethtool_value
            # struct ifreq: the name, and a pointer to what is asked.
            request = struct.pack(
                f"{_NAME_BYTES}sP16x", name.encode()[: _NAME_BYTES - 1], ctypes.addressof(value)
            )
            with contextlib.suppress(OSError):
                fcntl.ioctl(asker.fileno(), _SIOCETHTOOL, request)
                if value[1]:
                    on.append(offload)
    return on
