"""Messages of the kernel as evidence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final

from loadcell.incidents.evidence.base import Evidence, Quote
from loadcell.linux.block_devices import BlockDevice
from loadcell.linux.kernel_log import KernelLine
from loadcell.model.message import Message
from loadcell.model.numbers import utc_second

#: Older messages are history.
RECENT_NS: Final = 3600 * 10**9


@dataclass(frozen=True)
class KernelLog(Evidence):
    """Messages in the order of time, seen at `now_ns`; `unreadable` has the reason for none.

    `oom_kills` counts the processes killed for want of memory since the start of the kernel. With `since_s`
    messages and the counter are of the last seconds alone. `devices` are the present block devices.
    """

    kind: ClassVar[str] = "kernel-log"

    now_ns: int
    lines: tuple[KernelLine, ...] = ()
    file: str = ""
    oom_kills: int | None = None
    unreadable: Message | None = None
    since_s: float | None = None
    devices: tuple[BlockDevice, ...] = ()

    @property
    def begin_ns(self) -> int | None:
        """First message."""
        return self.lines[0].utc_ns if self.lines else None

    @property
    def end_ns(self) -> int | None:
        """Last message."""
        return self.lines[-1].utc_ns if self.lines else None

    def quote(self, line: KernelLine) -> Quote:
        """A message with its time."""
        return Quote(self.file, 0, f"{utc_second(line.utc_ns)} {line.text}")
