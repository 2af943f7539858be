"""Traffic between processors and memory, and the bandwidth that the memory modules have.

Traffic is that of the memory controllers, else of memory bandwidth monitoring by resctrl (Intel RDT, AMD QoS,
Arm MPAM; Documentation/filesystems/resctrl.rst), where it is mounted. `root` is `/`, or a recorded tree.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from loadcell.linux import memory_controllers, system
from loadcell.linux.procfs import ROOT, read_number
from loadcell.linux.time_limits import UnavailableError
from loadcell.model.json import JsonObject

_RESCTRL: Final = "sys/fs/resctrl"
_NOT_GROUPS: Final = ("info", "mon_data", "mon_groups")
#: A module moves 64 bits at each transfer, in one channel of DDR4 or in two halves of DDR5 (JEDEC JESD79).
_TRANSFER_BYTES: Final = 8
#: `P0 CHANNEL A`, `Node1_Channel0_Dimm0`, `ChannelA-DIMM0`.
_CHANNEL: Final = re.compile(r".*channel[ _-]?([a-z]|\d+)(?![a-z])", re.IGNORECASE)
_WRAP: Final = 1 << 64

#: Bytes so far by counter; None of one that cannot be read.
Traffic = Mapping[str, int | None]


class MemoryTraffic:
    """Counters of the traffic, open from the beginning of a window to its end."""

    def __init__(self, root: Path = ROOT) -> None:
        self._root = root
        self._controllers = memory_controllers.open_counters(root)

    def read(self) -> Traffic:
        """All counters of this moment; empty where the machine has none."""
        return _resctrl(self._root) if self._controllers is None else self._controllers.read()

    def close(self) -> None:
        """Close what is open."""
        if self._controllers is not None:
            self._controllers.close()


def _resctrl(root: Path) -> dict[str, int | None]:
    """Bytes by group and L3 cache. A group counts its own tasks; that of all others is at the top."""
    home = root / _RESCTRL
    try:
        groups = [home, *sorted(path for path in home.iterdir() if path.name not in _NOT_GROUPS)]
        files = [file for group in groups for file in sorted(group.glob("mon_data/mon_*/mbm_total_bytes"))]
    except OSError:
        return {}
    # The kernel writes Unavailable, Error or Unassigned where the hardware does not count.
    return {str(file.parent.relative_to(home)): read_number(file) for file in files}


def bytes_between(before: Traffic, now: Traffic) -> int | None:
    """Bytes between two instants; None unless every counter was read at both.

    A part of the traffic would look like all of it. The counters have 64 bits; a fall that is no wrap is a
    reset, after which the traffic is not known.
    """
    if not before or before.keys() != now.keys():
        return None
    total = 0
    for name, old in before.items():
        new = now[name]
        if old is None or new is None:
            return None
        moved = (new - old) % _WRAP
        if moved >= _WRAP // 2:
            return None
        total += moved
    return total


def peak_bytes_per_s(root: Path = ROOT) -> float | None:
    """Theoretical bandwidth of all memory modules: transfers per second of the slowest, times 8 bytes, times
    channels. None where the firmware does not tell.
    """
    try:
        modules = system.dimms(root)
    except (UnavailableError, OSError):
        return None
    speeds = [module["configured_mts"] or module["speed_mts"] for module in modules]
    if not all(speeds):
        return None
    return float(min(speeds)) * 1e6 * _TRANSFER_BYTES * _channels(modules)


def _channels(modules: Sequence[JsonObject]) -> int:
    """Channels with modules by their locators; a channel for each module where any does not name its own."""
    channels = [
        next((match[0] for text in texts if text and (match := _CHANNEL.match(text))), None)
        for texts in ((module["bank"], module["locator"]) for module in modules)
    ]
    return len(modules) if None in channels else len(set(channels))
