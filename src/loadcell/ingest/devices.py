"""Select the disks and links to count from the devices that another tool lists, without views of others."""

from __future__ import annotations

import re
from collections.abc import Collection

from loadcell.monitors.host import NOT_DISKS, NOT_LINKS

#: A partition's name begins with its disk's.
_PARTITION = re.compile(r"(?P<disk>[a-z]+|nvme\d+n\d+|mmcblk\d+)p?\d+$")
#: Interfaces that carry the traffic of others, which are listed next to them.
_COMBINED_LINK = re.compile(r"(bond|team|br|ovs)[-\w]*$")
#: `eth0.100` carries a part of `eth0`'s traffic.
_VLAN = re.compile(r"(?P<parent>.+?)[.@:]\w+$")


def disks(names: Collection[str]) -> list[str]:
    """Whole disks among the block devices of one instant: no partition of another, no view of others."""
    return [name for name in names if not name.startswith(NOT_DISKS) and not _is_partition(name, names)]


def links(names: Collection[str]) -> list[str]:
    """Physical interfaces among those of one instant; a bond or bridge counts where nothing else does."""
    candidates = [name for name in names if not name.startswith(NOT_LINKS) and not _is_vlan(name, names)]
    return [name for name in candidates if _COMBINED_LINK.match(name) is None] or candidates


def _is_partition(name: str, names: Collection[str]) -> bool:
    match = _PARTITION.match(name)
    return match is not None and match["disk"] in names


def _is_vlan(name: str, names: Collection[str]) -> bool:
    match = _VLAN.match(name)
    return match is not None and match["parent"] in names
