"""Work that is slower on all processors than on those of one NUMA node."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Final

import numpy as np

from loadcell.incidents.base import Incident, Judgement
from loadcell.incidents.evidence.placements import Placements
from loadcell.incidents.numa_spread import FAR_SHARE
from loadcell.model.message import Count, Factor, MessageCode, Share
from loadcell.stats.repeats import COVERAGE
from loadcell.stats.two_samples import means_of_samples

SIGNS = MessageCode(
    "incident.slower-on-all-nodes.signs", "info", loss_share=Share, far_share=Share, beyond_share=Share
)
_SEEN = MessageCode(
    "incident.slower-on-all-nodes.seen", "info", factor=str, change_times=Factor, low_times=Factor,
    high_times=Factor, far_share=Share,
)  # fmt: skip
_UNPROVEN = MessageCode(
    "incident.slower-on-all-nodes.unproven", "info", factor=str, change_times=Factor, low_times=Factor,
    high_times=Factor,
)  # fmt: skip
_HEALTHY = MessageCode(
    "incident.slower-on-all-nodes.healthy", "info", factor=str, change_times=Factor, low_times=Factor,
    high_times=Factor,
)  # fmt: skip
_ONE_NODE = MessageCode("incident.slower-on-all-nodes.one-node", "info")
_FEW = MessageCode("incident.slower-on-all-nodes.few", "info", count=Count)

LOSS: Final = 0.05
FEWEST: Final = 3
#: Three samples of a trial differ by less.
BEYOND_EVEN: Final = 0.1


class SlowerOnAllNodes(Incident[Placements]):
    name = "slower-on-all-nodes"
    needs = Placements
    source = "B. L. Welch: The generalization of Student's problem, 1947 (the interval); numa(7)"
    signs = SIGNS(loss_share=LOSS, far_share=FAR_SHARE, beyond_share=BEYOND_EVEN)

    def examine(self, evidence: Placements) -> Iterator[Judgement]:
        fewest = min(len(evidence.pinned), len(evidence.spread))
        if evidence.nodes < 2:
            yield self.healthy(_ONE_NODE())
            return
        if fewest < FEWEST or min(*evidence.pinned, *evidence.spread) <= 0:
            yield self.unseen(_FEW(count=fewest))
            return
        difference = means_of_samples(np.log([evidence.pinned]), np.log([evidence.spread]))
        low, high = difference.interval(1 - COVERAGE)
        values = {
            "factor": evidence.factor,
            "change_times": math.exp(difference.difference[0]),
            "low_times": math.exp(low[0]),
            "high_times": math.exp(high[0]),
        }
        if values["high_times"] >= 1 or values["change_times"] > 1 - LOSS:  # type: ignore[operator]
            yield self.healthy(_HEALTHY(**values))
        elif evidence.far_share is not None and evidence.far_share >= _least_share(evidence):
            yield self.diagnosis("warning", "high", _SEEN(**values, far_share=evidence.far_share))
        else:
            yield self.diagnosis("warning", "low", _UNPROVEN(**values))


def _least_share(evidence: Placements) -> float:
    """The share of remote accesses that proves the cause: an even spread of threads and memory has that
    of the other nodes by construction.
    """
    return FAR_SHARE if evidence.is_on_one_node else 1 - 1 / evidence.nodes + BEYOND_EVEN


PART = SlowerOnAllNodes
