"""Traffic between processors and memory, and the bandwidth that the memory modules have.

Traffic is that of the memory controllers, else of memory bandwidth monitoring by resctrl (Intel RDT, AMD QoS,
Arm MPAM; Documentation/filesystems/resctrl.rst), where it is mounted. `root` is `/`, or a recorded tree.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from loadcell.linux import memory_controllers, memory_modules
from loadcell.linux.memory_modules import MemoryModule
from loadcell.linux.procfs import ROOT, read_number
from loadcell.linux.time_limits import UnavailableError

_RESCTRL: Final = "sys/fs/resctrl"
_NOT_GROUPS: Final = ("info", "mon_data", "mon_groups")
#: Kinds whose modules move 64 bits at each transfer, in one channel up to DDR4 and in two halves of DDR5
#: (JEDEC JESD79). The packages of others (LPDDR, HBM) differ in width.
_MODULES_OF_64_BITS: Final = ("DDR", "DDR2", "DDR3", "DDR4", "DDR5")
_MODULE_BITS: Final = 64
#: `P0 CHANNEL A`, `Node1_Channel0_Dimm0`, `ChannelA-DIMM0`, `CPU0_CH1_D0`. Letters and numbers without the
#: word mean a channel with one vendor and a processor or a slot with the next (`DIMM_A1`).
_CHANNEL: Final = re.compile(r"(?<![a-z])ch(?:an(?:nel)?)?[ _-]?([a-z]|\d+)(?![a-z\d])")
#: Processors, nodes and controllers, each with its channels. The other locator may be the one that names it.
_OWNERS: Final = re.compile(r"(?<![a-z])(?:p|cpu|proc|processor|socket|node|i?mc|controller)[ _-]?\d+")
_WRAP: Final = 1 << 64

#: Owners of a channel (processor, node, controller) and its name, as locators have them.
Channel = tuple[frozenset[str], str]
_ONLY: Final[Channel] = (frozenset(), "")
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
    """Theoretical bandwidth of all memory modules: transfers per second of the slowest, times the widths of
    all channels with modules. None where the firmware does not tell speeds, widths or channels.
    """
    try:
        modules = memory_modules.modules(root)
    except (UnavailableError, OSError):
        return None
    speeds = [module.configured_mts or module.speed_mts or 0 for module in modules]
    width_bits = _width_bits(modules)
    if width_bits is None or not all(speeds):
        return None
    return min(speeds) * 1e6 * width_bits / 8


def _width_bits(modules: Sequence[MemoryModule]) -> int | None:
    """Sum of the widths of channels: modules of one channel take turns. None unless every module has a width
    and names its channel; a single module has one to itself.
    """
    widths: dict[Channel, int] = {}
    for module in modules:
        channel = _channel(module) if len(modules) > 1 else _ONLY
        width_bits = _MODULE_BITS if module.kind in _MODULES_OF_64_BITS else module.width_bits
        if channel is None or width_bits is None:
            return None
        widths[channel] = max(width_bits, widths.get(channel, 0))
    return sum(widths.values())


def _channel(module: MemoryModule) -> Channel | None:
    """A module's channel by its locators; None where they do not name it."""
    locators = [text.lower() for text in (module.bank, module.locator) if text]
    channel = next((match[1] for text in locators if (match := _CHANNEL.search(text))), None)
    owners = frozenset(owner for text in locators for owner in _OWNERS.findall(text))
    return None if channel is None else (owners, channel)
