"""Messages of the kernel about errors and resets of disks and file systems, counted by disk.

A failed I/O has several messages: of the driver, the block layer, the page cache, the file system and of
layers above. It is counted once, by the message of the block layer about the lowest device.
"""

from __future__ import annotations

import re
from bisect import bisect_right, insort
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from loadcell.linux.block_devices import BlockDevices
from loadcell.linux.kernel_log import KernelLine

#: block/blk-core.c and blk-mq.c: a failed request, and its first sector.
_FAILED: Final = re.compile(
    r"(?:I/O|critical (?:medium|target|space allocation|nexus)) error, dev (?P<device>[\w:!-]+)"
    r"(?:, sector (?P<sector>\d+))?"
)
#: fs/buffer.c, fs/ext4/super.c, fs/xfs/xfs_message.c, fs/btrfs, fs/jbd2, drivers/md, drivers/scsi.
_OTHERS: Final = re.compile(
    r"Buffer I/O error on (?:dev(?:ice)? )?(?P<a>[\w:!-]+)"
    r"|EXT[234]-fs error \(device (?P<b>[\w:!-]+)\)"
    r"|XFS \((?P<c>[\w:!-]+)\):.*(?:I/O [Ee]rror|[Cc]orruption|[Ii]nternal error)"
    r"|BTRFS (?:error|critical) \(device (?P<d>[\w:!-]+)"
    r"|Aborting journal on device (?P<e>dm-\d+|[\w:!]+?)(?:-\d+)?\b(?!-)"
    r"|md/raid[\w:]*: ?Disk failure on (?P<f>[\w:!-]+)"
    r"|(?P<g>md/raid[\w:]*).*(?:[Dd]isk failure|faulty)"
    r"|sd [\d:]+: \[(?P<h>\w+)\].*"
    r"(?:Sense Key ?: ?(?:Medium|Hardware) Error|Add\. Sense: .*(?:[Ee]rror|failure))"
    r"|(?:sd )?(?P<i>[\w:.]+): rejecting I/O to (?:offline|dead) device"
    r"|multipath: [\d:]+: Failing path (?P<j>\d+:\d+)"
)
#: A disk reports its power-on to every host that starts (drivers/scsi/scsi_error.c): no reset of an error.
_RESET: Final = re.compile(
    r"(?P<a>ata\d+)(?:\.\d+)?: (?:hard resetting link|exception Emask.* frozen|failed command)"
    r"|(?P<b>nvme\w+): (?:I/O .*timeout|I/O tag .*timeout|resetting controller|controller is down)"
    r"|sd (?:\d+:\d+:\d+:\d+: \[(?P<c>\w+)\]|(?P<f>\d+:\d+:\d+:\d+):)"
    r"(?!.*Power-on or device reset occurred).*"
    r"(?:ABORT|abort.*task|task abort|timing out command|reset)"
    r"|virtio_blk (?P<d>\w+): .*timeout|(?P<e>mmc\d+): .*timeout"
)
#: drivers/block/loop.c, at the attachment of a file: earlier messages are about another one.
_ATTACHED: Final = re.compile(r"(?P<device>loop\d+): detected capacity change from 0 to [1-9]")
#: Drives without a medium.
_NO_DISKS: Final = re.compile(r"(?:fd|sr)\d+$")
#: Messages of a file system follow a failed request by seconds: at the next commit of its journal, or access.
FOLLOWS_NS: Final = 60 * 10**9
#: Messages of a driver come before that of the block layer; a request is repeated at once.
_PRECEDES_NS: Final = 10**9


@dataclass
class DiskEvents:
    """Errors of a disk, or resets: their number, all their messages, and the devices that these name.

    `is_former` is True for a loop device that had another file.
    """

    disk: str
    is_former: bool = False
    count: int = 0
    lines: list[KernelLine] = field(default_factory=list)
    names: dict[str, None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Report:
    """A message about a device: the disk that it is counted for, and all disks below the device.

    `sector` is that of a failed request; None of other messages. `is_layer` is True for a device of others.
    """

    line: KernelLine
    device: str
    disk: str
    disks: tuple[str, ...]
    is_layer: bool
    sector: str | None = None


def errors(lines: Sequence[KernelLine], devices: BlockDevices) -> list[DiskEvents]:
    """Errors of disks, and those of loop devices before the attachment of their present file."""
    reports = list(_reports((_FAILED, _OTHERS), lines, devices))
    attached = {
        match["device"]: number
        for number, line in enumerate(lines)
        if (match := _ATTACHED.search(line.text)) is not None
    }
    former: list[DiskEvents] = []
    ignored: set[int] = set()
    for device, number in attached.items():
        earlier = {id(line) for line in lines[:number]}
        of_device = [
            report for report in reports if device in report.disks and id(report.line) in earlier - ignored
        ]
        events = _errors(of_device).get(device)
        if events is not None:
            events.is_former = True
            former.append(events)
            ignored |= {id(line) for line in events.lines}
    present = _errors([report for report in reports if id(report.line) not in ignored])
    return [*present.values(), *former]


def _errors(reports: Sequence[_Report]) -> dict[str, DiskEvents]:
    of_disks = [report for report in reports if report.sector is not None and not report.is_layer]
    begins = _distinct(of_disks)
    requests = _Requests()
    requests.add(of_disks)
    of_layers = [
        report
        for report in reports
        if report.sector is not None and report.is_layer and not requests.explain(report)
    ]
    begins += _distinct(of_layers)
    requests.add(of_layers)
    begins += _first([report for report in reports if report.sector is None and not requests.explain(report)])
    return _by_disk(reports, begins)


class _Requests:
    """Times of failed requests by disk, in order."""

    def __init__(self) -> None:
        self._times: dict[str, list[int]] = {}

    def add(self, reports: Iterable[_Report]) -> None:
        for report in reports:
            for disk in {report.device, *report.disks}:
                insort(self._times.setdefault(disk, []), report.line.utc_ns)

    def explain(self, report: _Report) -> bool:
        """True for a message that belongs to one of the requests."""
        utc_ns = report.line.utc_ns
        for disk in report.disks:
            times = self._times.get(disk, [])
            index = bisect_right(times, utc_ns + _PRECEDES_NS)
            if index and utc_ns - times[index - 1] <= FOLLOWS_NS:
                return True
        return False


def _distinct(requests: Iterable[_Report]) -> list[_Report]:
    """Failed requests without the repetitions of the same within a second of the first."""
    begins: dict[tuple[str, str], int] = {}
    distinct = []
    for report in requests:
        key, utc_ns = (report.device, report.sector or ""), report.line.utc_ns
        if not report.sector or key not in begins or utc_ns - begins[key] > _PRECEDES_NS:
            distinct.append(report)
            begins[key] = utc_ns
    return distinct


def _first(reports: Iterable[_Report]) -> list[_Report]:
    """The first one of messages about the same disks within a minute of it."""
    begins: dict[str, int] = {}
    first = []
    for report in reports:
        utc_ns = report.line.utc_ns
        begin = max((begins[disk] for disk in report.disks if disk in begins), default=None)
        if begin is None or utc_ns - begin > FOLLOWS_NS:
            first.append(report)
            begin = utc_ns
        begins.update(dict.fromkeys(report.disks, begin))
    return first


def resets(lines: Iterable[KernelLine], devices: BlockDevices) -> dict[str, DiskEvents]:
    """Resets and timeouts by disk; further ones within a minute are attempts of the same."""
    reports = list(_reports((_RESET,), lines, devices))
    return _by_disk(reports, _first(reports))


def _reports(
    patterns: tuple[re.Pattern[str], ...], lines: Iterable[KernelLine], devices: BlockDevices
) -> Iterator[_Report]:
    for line in lines:
        match = next((match for pattern in patterns if (match := pattern.search(line.text))), None)
        if match is None:
            continue
        values = match.groupdict()
        sector = (values.pop("sector", None) or "") if match.re is _FAILED else None
        name = next((value for value in values.values() if value), "–").replace("!", "/")
        disks = devices.disks_of(name)
        if not any(_NO_DISKS.match(disk) for disk in disks):
            device = devices.name_of(name)
            disk = disks[0] if len(disks) == 1 else device
            yield _Report(line, device, disk, disks, devices.is_layer(name), sector)


def _by_disk(reports: Iterable[_Report], begins: Iterable[_Report]) -> dict[str, DiskEvents]:
    """The messages by disk; those of a device over several disks go to one whose error they follow."""
    counted = {id(report) for report in begins}
    by_disk: dict[str, DiskEvents] = {}
    for report in sorted(reports, key=lambda report: id(report) not in counted):
        disk = report.disk
        if id(report) not in counted:
            disk = next((below for below in (disk, *report.disks) if below in by_disk), disk)
        events = by_disk.setdefault(disk, DiskEvents(disk))
        events.count += id(report) in counted
        events.lines.append(report.line)
        events.names[report.device] = None
    for events in by_disk.values():
        events.lines.sort(key=lambda line: line.utc_ns)
    return by_disk
