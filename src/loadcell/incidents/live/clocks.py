"""The clock of this host: readings, logged steps, time services, and the time of their servers."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable
from typing import ClassVar, Final

from loadcell.incidents.evidence.base import Quote
from loadcell.incidents.evidence.clocks import ClockReading, Clocks, ClockStep, TimeServer
from loadcell.incidents.live.base import SOURCE, Gatherer, Host
from loadcell.linux import clock_log, sntp, time_services
from loadcell.linux.mount_table import hides_processes
from loadcell.linux.system import time_sync
from loadcell.linux.time_services import ServerAddress
from loadcell.linux.wall_clock import realtime_offset_ns
from loadcell.model.message import Message

_SERVER_LIMIT_S: Final = 1.0
_POLL_S: Final = 0.05
#: Servers that are asked, and the age of steps in logs that count.
_MOST_SERVERS: Final = 32
_AGE_S: Final = 3600.0
#: A step soon after the start of the machine is ordinary.
_START_NS: Final = 300 * 10**9


class ClockGatherer(Gatherer):
    name = "clocks"
    gathers = (Clocks,)
    limit_s: ClassVar[float] = 4.0

    def gather(self, host: Host) -> Iterable[Clocks]:
        services, guest_tools = time_services.running(host.root)
        asked = [
            (service, address)
            for service in services
            for address in time_services.servers(service, host.root)
        ][:_MOST_SERVERS]
        asking = _Asking(asked, host.time_port)
        readings = _readings(host.interval_s)
        now_ns, offset_ns = time.time_ns(), readings[-1].offset_ns
        logged = tuple(
            ClockStep(step.utc_ns - offset_ns, step.size_s, Quote(step.source, 0, step.text))
            for step in clock_log.steps(host.root, now_ns, host.age_s(_AGE_S))
            if step.utc_ns - offset_ns >= _START_NS
        )
        yield Clocks(
            SOURCE,
            tuple(readings),
            logged,
            tuple(services),
            tuple(guest_tools),
            asking.servers(),
            time_sync(host.root)["synchronised"],
            has_hidden=hides_processes(host.root),
        )


def _readings(interval_s: float) -> list[ClockReading]:
    begin = time.monotonic()
    readings = []
    while True:
        readings.append(ClockReading(time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW), realtime_offset_ns()))
        if time.monotonic() - begin >= interval_s:
            return readings
        time.sleep(_POLL_S)


class _Asking:
    """Questions to time servers, in threads: the lookup of a name has no time limit."""

    def __init__(self, asked: list[tuple[str, ServerAddress]], port: int) -> None:
        self._asked, self._port = asked, port
        self._clock = sntp.SteadyClock.now()
        self._answers: dict[ServerAddress, float | Message] = {}
        self._threads = [
            threading.Thread(target=self._ask, args=(address,), daemon=True)
            for address in dict.fromkeys(address for _, address in asked)
        ]
        for thread in self._threads:
            thread.start()
        self._deadline = time.monotonic() + _SERVER_LIMIT_S + 0.2

    def _ask(self, address: ServerAddress) -> None:
        port = address.port or self._port
        try:
            self._answers[address] = sntp.offset_s(address.name, self._clock, _SERVER_LIMIT_S, port)
        except sntp.SntpError as error:
            self._answers[address] = error.message

    def servers(self) -> tuple[TimeServer, ...]:
        """All servers, with their answers so far."""
        for thread in self._threads:
            thread.join(max(0.0, self._deadline - time.monotonic()))
        late = sntp.NO_ANSWER(limit_s=_SERVER_LIMIT_S)
        return tuple(
            _server(address, service, self._answers.get(address, late)) for service, address in self._asked
        )


def _server(address: ServerAddress, service: str, answer: float | Message) -> TimeServer:
    if isinstance(answer, Message):
        return TimeServer(str(address), service, reason=answer)
    return TimeServer(str(address), service, answer)


PART = ClockGatherer
