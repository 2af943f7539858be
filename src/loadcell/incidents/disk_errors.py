"""Errors of disks and file systems in the kernel log."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from loadcell.incidents.base import Incident, Judgement
from loadcell.incidents.evidence.kernel_log import KernelLog
from loadcell.linux.kernel_log import AGE_S, KernelLine
from loadcell.model.message import Count, MessageCode, Seconds

SIGNS = MessageCode("incident.disk-errors.signs", "info", age_s=Seconds)
_SEEN = MessageCode("incident.disk-errors.seen", "info", count=Count, devices=list)
_RESETS = MessageCode("incident.disk-errors.resets", "info", count=Count, devices=list)
_HEALTHY = MessageCode("incident.disk-errors.healthy", "info", lines=Count)

#: block/blk-core.c, fs/buffer.c, fs/ext4/super.c, fs/xfs/xfs_message.c, fs/btrfs, fs/jbd2, drivers/md.
_ERRORS: Final = re.compile(
    r"I/O error, dev (?P<a>[\w-]+)|Buffer I/O error on (?:dev(?:ice)? )?(?P<b>[\w-]+)"
    r"|critical (?:medium|target|space allocation|nexus) error, dev (?P<c>[\w-]+)"
    r"|EXT[234]-fs error \(device (?P<d>[\w-]+)\)"
    r"|XFS \((?P<e>[\w-]+)\):.*(?:I/O [Ee]rror|[Cc]orruption|[Ii]nternal error)"
    r"|BTRFS (?:error|critical) \(device (?P<f>[\w-]+)"
    r"|Aborting journal on device (?P<g>dm-\d+|[\w-]+?)(?:-\d+)?\b(?!-)"
    r"|(?P<h>md/raid[\w:]*).*(?:[Dd]isk failure|faulty)"
    r"|(?P<i>[\w:.]+): rejecting I/O to (?:offline|dead) device"
)
#: Messages that follow an I/O error of the same device: it is counted once.
_CONSEQUENCES: Final = re.compile(
    r"Buffer I/O error|Aborting journal|Detected aborted journal|Remounting filesystem read-only|IO failure"
    r"|error -5\b|EXT[234]-fs error .*(?:I/O|journal)"
)
#: A disk reports its power-on to every host that starts (drivers/scsi/scsi_error.c): no reset of an error.
_RESET_LINES: Final = re.compile(
    r"(?P<a>ata\d+)(?:\.\d+)?: (?:hard resetting link|exception Emask.* frozen|failed command)"
    r"|(?P<b>nvme\w+): (?:I/O .*timeout|I/O tag .*timeout|resetting controller|controller is down)"
    r"|sd (?P<c>[\d:]+)(?!.*Power-on or device reset occurred).*"
    r"(?:ABORT|abort.*task|task abort|timing out command|reset)"
    r"|(?P<d>virtio_blk \S+|mmc\d+): .*timeout"
)
#: Drives without a medium.
_NO_DISKS: Final = re.compile(r"(?:fd|sr)\d+$")
_MOST_NAMED: Final = 6


class DiskErrors(Incident[KernelLog]):
    name = "disk-errors"
    needs = KernelLog
    source = "Linux, block/blk-core.c, and the messages of file systems and drivers"
    signs = SIGNS(age_s=AGE_S)
    remedies = ("loop",)

    def examine(self, evidence: KernelLog) -> Iterator[Judgement]:
        if evidence.unreadable is not None:
            yield self.unseen(evidence.unreadable)
            return
        errors, resets = _of(_ERRORS, evidence.lines), _of(_RESET_LINES, evidence.lines)
        if errors:
            yield self._judged(errors, evidence, is_error=True)
        elif resets:
            yield self._judged(resets, evidence, is_error=False)
        else:
            yield self.healthy(_HEALTHY(lines=len(evidence.lines)))

    def _judged(
        self, pairs: list[tuple[KernelLine, str]], evidence: KernelLog, *, is_error: bool
    ) -> Judgement:
        devices = list(dict.fromkeys(device for _, device in pairs))[:_MOST_NAMED]
        return self.diagnosis(
            "critical" if is_error else "warning",
            "high" if is_error else "medium",
            (_SEEN if is_error else _RESETS)(count=_count(pairs), devices=devices),
            (pairs[0][0].utc_ns, pairs[-1][0].utc_ns),
            [evidence.quote(line) for line, _ in pairs],
            remedy="loop" if all(device.startswith("loop") for device in devices) else "",
            devices=dict.fromkeys(device for _, device in pairs),
        )


def _count(pairs: list[tuple[KernelLine, str]]) -> int:
    """Number of errors, without what follows from others of their devices."""
    errors = [device for line, device in pairs if not _CONSEQUENCES.search(line.text)]
    alone = {device for _, device in pairs} - set(errors)
    return len(errors) + len(alone)


def _of(pattern: re.Pattern[str], lines: tuple[KernelLine, ...]) -> list[tuple[KernelLine, str]]:
    """Messages of a kind with their devices."""
    pairs = []
    for line in lines:
        if match := pattern.search(line.text):
            device = next((name for name in match.groups() if name), "–")
            if not _NO_DISKS.match(device):
                pairs.append((line, device))
    return pairs


PART = DiskErrors
