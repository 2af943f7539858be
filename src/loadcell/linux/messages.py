"""Message codes of linux: reasons why a property of a host is not available; texts in `messages.toml`."""

from __future__ import annotations

from loadcell.model.message import ForeignText, MessageCode

NO_TABLE = MessageCode("host-reason.no-table", "info")
ONLY_ROOT = MessageCode("host-reason.only-root", "info", file=str)
NO_MODULE = MessageCode("host-reason.no-module", "info")
NO_NAMES = MessageCode("host-reason.no-names", "info")
NO_CPUFREQ = MessageCode("host-reason.no-cpufreq", "info")
NO_TURBO = MessageCode("host-reason.no-turbo", "info", driver=str)
NO_SPEED = MessageCode("host-reason.no-speed", "info", names=list)
NO_HYPERVISOR = MessageCode("host-reason.no-hypervisor", "info")
NO_FILE = MessageCode("host-reason.no-file", "info", file=str)
SLOW = MessageCode("host-reason.slow", "info", limit=str)
UNREADABLE = MessageCode("host-reason.unreadable", "info", error=ForeignText)
