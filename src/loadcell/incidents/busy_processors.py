"""Processors in use all the time while threads wait for one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from loadcell.incidents.base import Confidence, Incident, Judgement
from loadcell.incidents.evidence.processors import LEAST_SHARE, Processors
from loadcell.model.message import Count, Message, MessageCode, Number, Seconds, Share

SIGNS = MessageCode(
    "incident.busy-processors.signs", "info", busy_share=Share, wait_share=Share, queue=Number
)
_SEEN = MessageCode(
    "incident.busy-processors.seen",
    "info",
    busy_share=Share,
    cores=Count,
    interval_s=Seconds,
    wait_share=Share,
    runnable=Count,
    names=list,
)
_SEEN_WITHOUT = MessageCode(
    "incident.busy-processors.seen-without-pressure",
    "info",
    busy_share=Share,
    cores=Count,
    interval_s=Seconds,
    runnable=Count,
    names=list,
)
_STEAL = MessageCode(
    "incident.busy-processors.steal",
    "info",
    steal_share=Share,
    busy_share=Share,
    cores=Count,
    interval_s=Seconds,
    names=list,
)
_HEALTHY = MessageCode(
    "incident.busy-processors.healthy",
    "info",
    busy_share=Share,
    cores=Count,
    interval_s=Seconds,
    wait_share=Share,
    runnable=Count,
)
_HEALTHY_WITHOUT = MessageCode(
    "incident.busy-processors.healthy-without-pressure",
    "info",
    busy_share=Share,
    cores=Count,
    interval_s=Seconds,
    runnable=Count,
)
_PROCESS = MessageCode("incident.busy-processors.process", "info", name=str, used_share=Share, count=Count)
_NONE = MessageCode("incident.busy-processors.none", "info", least_share=Share)

BUSY_SHARE: Final = 0.9
#: Of the last 10 s. On a busy host whose threads rarely wait, the processors are well used.
WAIT_SHARE: Final = 0.5
#: Runnable threads per processor.
QUEUE: Final = 2.0
#: With as much steal time the processors belong to other machines.
STEAL_SHARE: Final = 0.1


class BusyProcessors(Incident[Processors]):
    """A busy host may be wanted: it is a warning at most."""

    name = "busy-processors"
    needs = Processors
    source = (
        "Linux, Documentation/accounting/psi.rst; node-mixin, NodeCPUHighUsage (90%) and "
        "NodeSystemSaturation (2 per core)"
    )
    signs = SIGNS(busy_share=BUSY_SHARE, wait_share=WAIT_SHARE, queue=QUEUE)
    remedies = ("steal",)

    def examine(self, evidence: Processors) -> Iterator[Judgement]:
        is_waited = evidence.waited_share is not None and evidence.waited_share >= WAIT_SHARE
        is_queued = evidence.runnable > QUEUE * evidence.cores
        taken = evidence.busy_share + evidence.steal_share
        if taken < BUSY_SHARE or not (is_waited or is_queued):
            yield self.healthy(_healthy(evidence))
            return
        is_steal = evidence.steal_share >= STEAL_SHARE
        confidence: Confidence = "high" if is_waited and is_queued else "medium"
        yield self.diagnosis("warning", confidence, _seen(evidence), remedy="steal" if is_steal else "")


def _seen(evidence: Processors) -> Message:
    if evidence.steal_share >= STEAL_SHARE:
        return _message(_STEAL, evidence)
    return _message(_SEEN_WITHOUT if evidence.waited_share is None else _SEEN, evidence)


def _healthy(evidence: Processors) -> Message:
    return _message(_HEALTHY_WITHOUT if evidence.waited_share is None else _HEALTHY, evidence)


def _message(code: MessageCode, evidence: Processors) -> Message:
    """A message with those of the values that its code names."""
    names = [_PROCESS(name=use.name, used_share=use.share, count=use.processes) for use in evidence.busiest]
    return code.pick(
        busy_share=evidence.busy_share,
        steal_share=evidence.steal_share,
        wait_share=evidence.waited_share,
        cores=evidence.cores,
        interval_s=evidence.interval_s,
        runnable=evidence.runnable,
        names=names or [_NONE(least_share=LEAST_SHARE)],
    )


PART = BusyProcessors
