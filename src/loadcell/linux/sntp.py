"""The time of a server by SNTP (RFC 4330, RFC 5905): one question, one answer."""

from __future__ import annotations

import os
import socket
import struct
import time
from dataclasses import dataclass
from typing import Final

from loadcell.model.message import ForeignText, MessageCode, MessageError, Seconds

NO_ANSWER = MessageCode("incident.time-services.no-answer", "info", limit_s=Seconds)
NO_ADDRESS = MessageCode("incident.time-services.no-address", "info")
UNREACHABLE = MessageCode("incident.time-services.unreachable", "info", error=ForeignText)
KISS = MessageCode("incident.time-services.kiss", "info", code=ForeignText)
NOT_SYNCHRONISED = MessageCode("incident.time-services.not-synchronised", "info")
DAMAGED = MessageCode("incident.time-services.damaged", "info")

PORT: Final = 123
_PACKET: Final = struct.Struct(">BBbb11I")
#: Version 4, mode 3 (client).
_CLIENT: Final = 0x23
_SERVER_MODE: Final = 4
_ALARM: Final = 3
_MOST_STRATUM: Final = 15
#: Seconds from 1900 to 1970; an era has 2**32 seconds.
_EPOCH_S: Final = 2_208_988_800
_ERA_S: Final = 1 << 32


class SntpError(MessageError):
    """A server that did not give the time, with the reason."""


@dataclass(frozen=True)
class SteadyClock:
    """The wall clock of one instant, continued by a steady clock: a step in between moves no result."""

    wall_s: float
    steady_s: float

    @staticmethod
    def now() -> SteadyClock:
        """The clock from this instant on."""
        return SteadyClock(time.time(), time.monotonic())

    def read(self) -> float:
        """Seconds since 1970."""
        return self.wall_s + time.monotonic() - self.steady_s


def offset_s(name: str, clock: SteadyClock, limit_s: float, port: int = PORT) -> float:
    """Time of the server minus that of the clock. Raises SntpError."""
    try:
        rows = socket.getaddrinfo(name, port, type=socket.SOCK_DGRAM)
    except (OSError, UnicodeError):  # the latter for an empty or long label
        raise SntpError(NO_ADDRESS()) from None
    family, kind, protocol, _, address = rows[0]
    deadline = time.monotonic() + limit_s
    cookie = os.urandom(8)  # not our time: nobody needs to know it
    question = bytes([_CLIENT]) + bytes(39) + cookie
    try:
        with socket.socket(family, kind, protocol) as link:
            link.connect(address)
            sent_s = clock.read()
            link.send(question)
            while True:
                link.settimeout(max(0.001, deadline - time.monotonic()))
                answer = link.recv(1024)
                received_s = clock.read()
                if answer[24:32] == cookie or len(answer) < _PACKET.size:
                    return _offset(answer, sent_s, received_s)
                if time.monotonic() > deadline:
                    raise SntpError(NO_ANSWER(limit_s=limit_s))
    except TimeoutError:
        raise SntpError(NO_ANSWER(limit_s=limit_s)) from None
    except OSError as error:
        raise SntpError(UNREACHABLE(error=error.strerror or str(error))) from None


def _offset(answer: bytes, sent_s: float, received_s: float) -> float:
    """((T2 - T1) + (T3 - T4)) / 2 (RFC 5905, section 8)."""
    if len(answer) < _PACKET.size:
        raise SntpError(DAMAGED())
    head, stratum, _, _, *words = _PACKET.unpack_from(answer)
    if head & 7 != _SERVER_MODE:
        raise SntpError(DAMAGED())
    if stratum == 0:
        raise SntpError(KISS(code=answer[12:16].rstrip(b"\0").decode("ascii", "replace")))
    if head >> 6 == _ALARM or stratum > _MOST_STRATUM or not (words[9] or words[10]):
        raise SntpError(NOT_SYNCHRONISED())
    arrived_s, departed_s = _seconds(words[7], words[8], sent_s), _seconds(words[9], words[10], sent_s)
    return ((arrived_s - sent_s) + (departed_s - received_s)) / 2


def _seconds(integer: int, fraction: int, near_s: float) -> float:
    """A time stamp in the era that is nearest to `near_s`."""
    seconds = integer - _EPOCH_S + fraction / _ERA_S
    return seconds + round((near_s - seconds) / _ERA_S) * _ERA_S
