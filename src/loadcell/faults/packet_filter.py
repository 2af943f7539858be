"""Base of faults by rules of the packet filter (nftables) on the interfaces of a subject."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from typing import ClassVar

from loadcell.faults.interface_fault import Device, InterfaceFault, OptionsT

_RULES = """\
table inet {table} {{
 chain incoming {{
  type filter hook input priority -10; policy accept;
{incoming}
 }}
 chain outgoing {{
  type filter hook output priority -10; policy accept;
{outgoing}
 }}
}}
"""


class PacketFilterFault(InterfaceFault[OptionsT]):
    """Adds a table of rules to the namespace of each interface."""

    program = "nft"
    #: name of its table in the namespace; faults of several actions may overlap
    table: ClassVar[str]

    @abstractmethod
    def rules(self) -> Iterable[tuple[str, str]]:
        """Rules for incoming and outgoing packets of an interface, without the interface."""

    def change(self, device: Device) -> None:
        pairs = list(self.rules())
        text = _RULES.format(
            table=self.table,
            incoming="\n".join(f"  iifname {device.name} {incoming}" for incoming, _ in pairs),
            outgoing="\n".join(f"  oifname {device.name} {outgoing}" for _, outgoing in pairs),
        )
        device.namespace.run("nft", "-f", "-", text=text)

    @classmethod
    def restore_device(cls, device: Device) -> None:
        device.namespace.run("nft", "delete", "table", "inet", cls.table)

    @classmethod
    def is_changed(cls, device: Device) -> bool:
        return f"table inet {cls.table}\n" in device.namespace.run("nft", "list", "tables") + "\n"
