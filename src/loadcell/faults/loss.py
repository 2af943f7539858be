"""`loss`: packets of the subject are lost at random."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from pydantic import Field

from loadcell.faults.base import CONNECTION_LOST, NO_ANSWER
from loadcell.faults.packet_filter import PacketFilterFault
from loadcell.plan.parts import SubjectOptions
from loadcell.plan.units import Fraction

_STEPS = 10_000


class LossOptions(SubjectOptions, use_attribute_docstrings=True):
    """Options of a loss of packets."""

    share: Annotated[Fraction, Field(gt=0, le=1)]
    """Share of the packets that are lost, in each direction: `1%`."""


class Loss(PacketFilterFault[LossOptions]):
    """Drop packets of the subject at random."""

    name = "loss"
    synonyms = ("packet-loss", "drop")
    summary = "Drop a share of the subject's packets at random, in both directions (nftables)"
    Options = LossOptions
    table = "loadcell_loss"
    expected_errors = (*CONNECTION_LOST, *NO_ANSWER)

    def rules(self) -> Iterator[tuple[str, str]]:
        lost = max(1, round(self.options.share * _STEPS))
        rule = "drop" if lost >= _STEPS else f"numgen random mod {_STEPS} < {lost} drop"
        yield rule, rule


PART = Loss
