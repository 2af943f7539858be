"""The proxy that carries the load of a trial to its target, and causes the faults of the network.

It is made of threads of this process, so that it ends with the run however the run ends.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from types import TracebackType

from loadcell import _engine
from loadcell.faults.base import FaultError
from loadcell.model.engine_messages import engine_failure
from loadcell.model.fault_record import ProxyRecord
from loadcell.model.json import JsonObject
from loadcell.model.message import MessageCode
from loadcell.systems.base import ServerEndpoint

#: The server would take anybody who connects to the proxy's port for the user of this process.
PROXY_OF_SOCKET = MessageCode("proxy.of-socket")


@dataclass(frozen=True)
class ProxySize:
    """Size of a proxy: least number of threads, connections at a time, and processors (none: any)."""

    threads: int
    connections: int
    processors: tuple[int, ...] = ()


class NetworkProxy:
    """A proxy in front of `endpoint`, from entering its context to leaving it. Raises FaultError."""

    def __init__(self, endpoint: ServerEndpoint, size: ProxySize, seed: int) -> None:
        self._target = endpoint
        self._size = size
        self._seed = seed
        self._engine: _engine.Proxy | None = None
        #: counts, once it has ended
        self.record: ProxyRecord | None = None

    def __enter__(self) -> NetworkProxy:
        specification = {
            "target": self._target.section(),
            "threads": self._size.threads,
            "connections": self._size.connections,
            "processors": self._size.processors,
            "seed": self._seed,
        }
        try:
            self._engine = _engine.Proxy(json.dumps(specification))
        except _engine.EngineError as error:
            raise _failure(error) from None
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        engine, self._engine = self._engine, None
        if engine is not None:
            self.record = _record(json.loads(engine.stop()))

    @property
    def endpoint(self) -> ServerEndpoint:
        """The endpoint of the load."""
        assert self._engine is not None
        return self._target.through(self._engine.port)

    def begin(self, effect: JsonObject) -> int:
        """Begin an effect; its number. Raises FaultError."""
        assert self._engine is not None
        try:
            return self._engine.begin(json.dumps(effect))
        except _engine.EngineError as error:
            raise _failure(error) from None

    def end(self, number: int) -> None:
        """End an effect. Raises FaultError."""
        if self._engine is None:
            return
        try:
            self._engine.end(number)
        except _engine.EngineError as error:
            raise _failure(error) from None


def _failure(error: Exception) -> FaultError:
    return FaultError(engine_failure(json.loads(str(error))))


def _record(totals: JsonObject) -> ProxyRecord:
    to_server, to_client = totals["bytes"]
    return ProxyRecord(
        threads=totals["threads"],
        connections=totals["connections"],
        unconnected=totals["unconnected"],
        to_server_bytes=to_server,
        to_client_bytes=to_client,
        reset=totals["reset"],
        swallowed_bytes=totals["swallowed_bytes"],
        answered=totals["answered"],
        truncated=totals["truncated"],
        cpu_s=totals["cpu_ns"] / 1e9,
    )
