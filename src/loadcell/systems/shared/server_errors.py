"""Errors that servers of several kinds have in common: their messages, and failures at startup, recognised in
the last lines of the output.
"""

from __future__ import annotations

import difflib
import re
import struct
from collections.abc import Iterable, Sequence

from loadcell.model.message import NO_OUTPUT, ForeignText, Message, MessageCode
from loadcell.systems.base import TargetError
from loadcell.systems.shared.owned_directory import no_room

SERVER_TOO_OLD = MessageCode("server.too-old", oldest=str, place=str, product=str, version=str)
SERVER_NO_VERSION = MessageCode(
    "server.no-version", kind=str, product=str, there=list, version=str, where=Message
)
WHERE_DIRECTORY = MessageCode("where.directory", path=str)
WHERE_MACHINE = MessageCode("where.machine")
SERVER_DATA_IN_USE = MessageCode("server.data-in-use")
SERVER_NOT_STARTED = MessageCode("server.not-started", said=ForeignText)
SERVER_INIT_FAILED = MessageCode("server.init-failed", program=str, said=ForeignText)
SERVER_READ_ONLY = MessageCode("server.read-only", doing=Message, said=ForeignText)
SERVER_WENT_AWAY = MessageCode("server.went-away", doing=Message, said=ForeignText)
SERVER_NOT_UNDERSTOOD = MessageCode("server.not-understood", doing=Message, error=str, said=ForeignText)
SERVER_REFUSED_WITH_CODE = MessageCode("server.refused-with-code", code=str, doing=Message, said=ForeignText)
SERVER_PRODUCT_TOO_OLD = MessageCode(
    "server.product-too-old", oldest=str, product=str, version=str, where=str
)
CONNECTION_FAILED = MessageCode("connection.failed", said=ForeignText, where=str)
CONNECTION_REFUSED = MessageCode("connection.refused", said=ForeignText, where=str)
CONNECTION_NONE_LEFT = MessageCode("connection.none-left", said=ForeignText, where=str)
CONNECTION_NO_DATABASE = MessageCode("connection.no-database", said=ForeignText, where=str)
CONNECTION_TIMEOUT = MessageCode("connection.timeout", said=ForeignText, where=str)
DOING_ASK_THE_VERSION = MessageCode("doing.ask-the-version")
DOING_CONNECT = MessageCode("doing.connect", where=str)
DOING_READ_COUNTERS = MessageCode("doing.read-counters")
DOING_CHECK_THE_DATA = MessageCode("doing.check-the-data")
DOING_READ_SETTINGS = MessageCode("doing.read-settings")
DOING_FIND_THE_PROCESS = MessageCode("doing.find-the-process")
WHERE_SERVER_DATA = MessageCode("where.server-data")
USER_NAMED = MessageCode("user.named", name=str)
STRANGER_SERVER = MessageCode("stranger.server")
SERVER_PORTS_TAKEN = MessageCode("server.ports-taken")
SERVER_DATA_CLOSED = MessageCode("server.data-closed", kind=str, path=str)
SERVER_SETTING_REFUSED = MessageCode("server.setting-refused", kind=str, line=str, name=str, said=ForeignText)
SERVER_SETTING_MISSPELT = MessageCode("server.setting-misspelt", line=str, near=str, said=ForeignText)
WHERE_DATA_DIRECTORY = MessageCode("where.data-directory")
SERVER_SETTING_UNKNOWN = MessageCode("server.setting-unknown", line=str, said=ForeignText)


class PortTakenError(TargetError):
    """Another process took the port after it was chosen and before the server bound it: worth another try."""


class StillHeldError(TargetError):
    """Shared memory of a server that was killed a moment ago is still in use: worth another try."""


#: Errors of a driver, or of the code behind it, over an answer of another type, length or content.
ANSWER_ERRORS = (
    ValueError,
    TypeError,
    LookupError,
    AttributeError,
    ArithmeticError,
    AssertionError,
    struct.error,
)


def not_understood(error: BaseException, doing: Message, during: str) -> TargetError:
    """Error for an answer that no server of this kind gives."""
    return TargetError(
        SERVER_NOT_UNDERSTOOD(doing=doing, error=type(error).__name__, said=error), during=during
    )


def common_error(output: str, kind: str, device_full: re.Pattern[str]) -> TargetError | None:
    """A taken port, a full device or a closed directory; `kind` is the target as the plan names it."""
    if "Address already in use" in output:
        return PortTakenError(SERVER_PORTS_TAKEN())
    return room_or_access_error(output, kind, device_full)


def room_or_access_error(output: str, kind: str, device_full: re.Pattern[str]) -> TargetError | None:
    """A full device, or a directory that the server's user may not enter (reported by the launcher as
    `closed:`).
    """
    if device_full.search(output):
        return no_room(kind, WHERE_DATA_DIRECTORY())
    if closed := re.search(r"^closed: (.*)$", output, re.MULTILINE):
        return TargetError(SERVER_DATA_CLOSED(path=closed[1], kind=kind))
    return None


def setting_error(
    name: str, value: object, message: str, kind: str, *, unknown: bool = False, names: Iterable[str] = ()
) -> TargetError:
    """A setting of the plan that the server refuses, or (`unknown`) does not have; `names` are those that it
    has.
    """
    line = f"{name}: {value}"
    if not unknown:
        return TargetError(SERVER_SETTING_REFUSED(line=line, said=message, kind=kind, name=name))
    if near := difflib.get_close_matches(name, list(names), n=1):
        return TargetError(SERVER_SETTING_MISSPELT(line=line, said=message, near=near[0]))
    return TargetError(SERVER_SETTING_UNKNOWN(line=line, said=message))


def last_line(lines: Sequence[str]) -> str | Message:
    """The last line that is not blank."""
    return next((line.strip() for line in reversed(lines) if line.strip()), NO_OUTPUT)
