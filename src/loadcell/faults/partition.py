"""`partition`: packets between the subject and other hosts are dropped."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pydantic import Field

from loadcell.faults.base import CONNECTION_LOST, NO_ANSWER
from loadcell.faults.packet_filter import PacketFilterFault
from loadcell.model.message import MessageCode
from loadcell.plan.parts import Misfit, SubjectOptions
from loadcell.systems.subjects import CLIENT_NAME, SubjectAbilities

UNKNOWN_PEER = MessageCode("fault.unknown-peer", peer=str, peers=list)


class PartitionOptions(SubjectOptions, use_attribute_docstrings=True):
    """Options of a partition."""

    peers: tuple[str, ...] = Field(default=(), alias="from")
    """Hosts that the subject does not reach, such as `storage.host-3` or `client`. Default: all other hosts
    of the target; the client reaches it."""


class Partition(PacketFilterFault[PartitionOptions]):
    """Drop packets between the subject and other hosts."""

    name = "partition"
    synonyms = ("isolate", "split")
    summary = "Drop all packets between the subject and other hosts (nftables)"
    Options = PartitionOptions
    table = "loadcell_partition"
    expected_errors = (*CONNECTION_LOST, *NO_ANSWER)

    @classmethod
    def misfits(cls, options: PartitionOptions, subjects: Mapping[str, SubjectAbilities]) -> Iterator[Misfit]:
        yield from super().misfits(options, subjects)
        hosts = [name for name, abilities in subjects.items() if abilities.interfaces and name[-1].isdigit()]
        for peer in options.peers:
            if peer not in (CLIENT_NAME, *hosts):
                yield Misfit("from", UNKNOWN_PEER(peer=peer, peers=[CLIENT_NAME, *hosts]))

    def rules(self) -> Iterator[tuple[str, str]]:
        addresses = self.subject.addresses
        for peer in self.options.peers or [name for name in addresses if name != CLIENT_NAME]:
            yield f"ip saddr {addresses[peer]} drop", f"ip daddr {addresses[peer]} drop"


PART = Partition
