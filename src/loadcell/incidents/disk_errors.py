"""Errors of disks and file systems in the kernel log."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from loadcell.incidents import disk_messages
from loadcell.incidents.base import LEVELS, Diagnosis, Incident, Judgement, Level
from loadcell.incidents.disk_messages import DiskEvents
from loadcell.incidents.evidence.kernel_log import RECENT_NS, KernelLog
from loadcell.linux.block_devices import BlockDevices
from loadcell.linux.kernel_log import AGE_S
from loadcell.model.message import Count, MessageCode, Seconds

SIGNS = MessageCode("incident.disk-errors.signs", "info", age_s=Seconds, recent_s=Seconds, follows_s=Seconds)
_SEEN = MessageCode("incident.disk-errors.seen", "info", count=Count, device=str, since_s=Seconds)
_SEEN_ON = MessageCode(
    "incident.disk-errors.seen-on", "info", count=Count, device=str, since_s=Seconds, names=list
)
_SEEN_FILE = MessageCode(
    "incident.disk-errors.seen-file", "info", count=Count, device=str, since_s=Seconds, file=str
)
_FORMER = MessageCode("incident.disk-errors.former", "info", count=Count, device=str, since_s=Seconds)
_RESETS = MessageCode("incident.disk-errors.resets", "info", count=Count, device=str, since_s=Seconds)
_FURTHER = MessageCode("incident.disk-errors.further", "info", count=Count, devices=list)
_HEALTHY = MessageCode("incident.disk-errors.healthy", "info", lines=Count)
_MOST_NAMED: Final = 6


class DiskErrors(Incident[KernelLog]):
    name = "disk-errors"
    needs = KernelLog
    source = "Linux, block/blk-core.c, and the messages of file systems and drivers"
    signs = SIGNS(age_s=AGE_S, recent_s=RECENT_NS / 1e9, follows_s=disk_messages.FOLLOWS_NS / 1e9)
    remedies = ("loop",)

    def examine(self, evidence: KernelLog) -> Iterator[Judgement]:
        if evidence.unreadable is not None:
            yield self.unseen(evidence.unreadable)
            return
        devices = BlockDevices(evidence.devices)
        errors = disk_messages.errors(evidence.lines, devices)
        resets = disk_messages.resets(evidence.lines, devices)
        of_errors = sorted(errors, key=lambda events: -events.lines[-1].utc_ns)
        for events in of_errors[:_MOST_NAMED]:
            yield self._judged(events, evidence, devices, is_error=True)
        with_errors = {events.disk for events in errors}
        of_resets = sorted(
            (events for disk, events in resets.items() if disk not in with_errors),
            key=lambda events: -events.lines[-1].utc_ns,
        )
        for events in of_resets[:_MOST_NAMED]:
            yield self._judged(events, evidence, devices, is_error=False)
        further = [
            *(self._judged(events, evidence, devices, is_error=True) for events in of_errors[_MOST_NAMED:]),
            *(self._judged(events, evidence, devices, is_error=False) for events in of_resets[_MOST_NAMED:]),
        ]
        if further:
            yield self._further([*of_errors[_MOST_NAMED:], *of_resets[_MOST_NAMED:]], further, evidence)
        if not errors and not resets:
            yield self.healthy(_HEALTHY(lines=len(evidence.lines)))

    def _judged(
        self, events: DiskEvents, evidence: KernelLog, devices: BlockDevices, *, is_error: bool
    ) -> Diagnosis:
        since_ns = evidence.now_ns - events.lines[-1].utc_ns
        file = devices.file_of(events.disk)
        names = [name for name in events.names if name != events.disk]
        code = _SEEN_FILE if file else _SEEN_ON if names else _SEEN
        if events.is_former:
            code = _FORMER
        if not is_error:
            code = _RESETS
        summary = code.pick(
            count=events.count, device=events.disk, since_s=float(round(since_ns / 1e9)),
            names=names[:_MOST_NAMED], file=file,
        )  # fmt: skip
        return self.diagnosis(
            _level(since_ns, is_error=is_error, is_former=events.is_former),
            "high" if is_error else "medium",
            summary,
            (events.lines[0].utc_ns, events.lines[-1].utc_ns),
            [evidence.quote(line) for line in events.lines],
            remedy="loop" if events.disk.startswith("loop") else "",
            devices=() if events.is_former else [events.disk, *events.names, *devices.above(events.disk)],
        )

    def _further(self, further: list[DiskEvents], judged: list[Diagnosis], evidence: KernelLog) -> Diagnosis:
        """Further disks as one diagnosis, as severe as the worst of them."""
        lines = sorted((line for events in further for line in events.lines), key=lambda line: line.utc_ns)
        names = list(dict.fromkeys(events.disk for events in further))
        worst = min(judged, key=lambda item: (LEVELS.index(item.level), item.confidence != "high"))
        return self.diagnosis(
            worst.level,
            worst.confidence,
            _FURTHER(count=len(names), devices=names),
            (lines[0].utc_ns, lines[-1].utc_ns),
            [evidence.quote(line) for line in lines],
            devices=tuple(dict.fromkeys(device for item in judged for device in item.devices)),
        )


def _level(since_ns: int, *, is_error: bool, is_former: bool = False) -> Level:
    """Errors of the last time are critical; older ones are history, of which the disk may have recovered, and
    those of a former file of a loop device.
    """
    if since_ns <= RECENT_NS and not is_former:
        return "critical" if is_error else "warning"
    return "warning" if is_error else "note"


PART = DiskErrors
