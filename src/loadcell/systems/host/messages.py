"""Message codes of host; their texts are in the `messages*.toml` beside this module."""

from __future__ import annotations

from loadcell.model.message import ForeignText, MessageCode

HOST_NO_DIRECTORY = MessageCode("host.no-directory", path=str)
HOST_NOT_WRITABLE = MessageCode("host.not-writable", path=str, said=ForeignText)
HOST_NO_DATA = MessageCode("host.no-data")
HOST_DEDICATED_THREADS = MessageCode("host.own-threads", "caution")
