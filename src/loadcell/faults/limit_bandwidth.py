"""`limit-bandwidth`: the subject's network carries a limited number of bytes per second."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from loadcell.faults.interface_fault import Device, InterfaceFault
from loadcell.plan.parts import SubjectOptions
from loadcell.plan.units import Bandwidth
from loadcell.systems.subjects import Interface

#: tc-tbf(8): the bucket holds a few packets with segmentation offload, or the rate is not reached.
_BURST_BYTES = 64 * 1024
_QUEUE = "400ms"


class LimitBandwidthOptions(SubjectOptions, use_attribute_docstrings=True):
    """Options of a limited bandwidth."""

    bandwidth: Annotated[Bandwidth, Field(ge=1000)]
    """Limit of each direction: `10MB/s`."""


class LimitBandwidth(InterfaceFault[LimitBandwidthOptions]):
    """Limit the bandwidth of the subject's interfaces."""

    name = "limit-bandwidth"
    summary = "Limit the bandwidth of the subject's network interfaces, in each direction (token bucket)"
    Options = LimitBandwidthOptions
    program = "tc"

    def devices(self, interface: Interface) -> tuple[Device, ...]:
        """Both ends of the link: a token bucket limits what an interface sends."""
        return (*super().devices(interface), Device(interface.port_namespace, interface.port))

    def change(self, device: Device) -> None:
        rate = f"{round(self.options.bandwidth * 8)}bit"
        bucket = ("rate", rate, "burst", str(_BURST_BYTES), "latency", _QUEUE)
        device.namespace.run("tc", "qdisc", "replace", "dev", device.name, "root", "tbf", *bucket)

    @classmethod
    def restore_device(cls, device: Device) -> None:
        device.namespace.run("tc", "qdisc", "del", "dev", device.name, "root")

    @classmethod
    def is_changed(cls, device: Device) -> bool:
        return "qdisc tbf" in device.namespace.run("tc", "qdisc", "show", "dev", device.name)


PART = LimitBandwidth
