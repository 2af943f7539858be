"""`link-down`: the network interfaces of the subject are down."""

from __future__ import annotations

from loadcell.faults.base import CONNECTION_LOST, NO_ANSWER
from loadcell.faults.interface_fault import Device, InterfaceFault
from loadcell.plan.parts import SubjectOptions


class LinkDown(InterfaceFault[SubjectOptions]):
    """Take the network interfaces of the subject down."""

    name = "link-down"
    summary = "Take the network interfaces of the subject down, as a pulled cable does"
    stops_load = True
    program = "ip"
    expected_errors = (*CONNECTION_LOST, *NO_ANSWER)

    def change(self, device: Device) -> None:
        device.namespace.run("ip", "link", "set", device.name, "down")

    @classmethod
    def restore_device(cls, device: Device) -> None:
        device.namespace.run("ip", "link", "set", device.name, "up")

    @classmethod
    def is_changed(cls, device: Device) -> bool:
        flags = device.namespace.run("ip", "-o", "link", "show", device.name).partition("<")[2]
        return "UP" not in flags.partition(">")[0].split(",")


PART = LinkDown
