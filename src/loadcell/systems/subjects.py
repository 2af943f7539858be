"""Subjects of faults: parts of a target that a plan can break on purpose."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from loadcell.linux.network_namespace import NetworkNamespace
from loadcell.model.json import JsonObject

if TYPE_CHECKING:
    from loadcell.systems.base import ServerEndpoint
    from loadcell.systems.gluster.changes import Changes

#: Name of the host that the load comes from, among the addresses of a subject.
CLIENT_NAME = "client"
#: Executes one statement; gives its rows. Raises TargetError.
RunStatement = Callable[[str], list[tuple[Any, ...]]]

#: The subject of every target whose load can be carried by a proxy.
NETWORK = "network"


@dataclass(frozen=True)
class Network:
    """Connections of a load that a proxy can carry. `http`: it can read their requests of HTTP, which are not
    encrypted.
    """

    http: bool = False


@dataclass(frozen=True)
class VolumeShape:
    """Bricks, copies of each file, and hosts of a GlusterFS volume as it is planned."""

    bricks: int
    replica: int
    hosts: int


@dataclass(frozen=True)
class SubjectAbilities:
    """Abilities of a subject, known before the target is up.

    `startable`: the target can stop and start it. `statements`: it executes SQL of PostgreSQL.
    `dedicated_device`: its data lie on a file system that loadcell made; `imageable`: they can.
    `interfaces`: it has network interfaces in namespaces of loadcell. `volume`: it is a GlusterFS volume
    whose bricks can change. `promotable`: it is a standby that can become the primary. `network`: it
    consists of connections, not of processes. `preloadable`: loadcell starts its processes, and can start
    them with the library for faults. `data`: it has a data directory. `parts`: names of the smallest parts
    that it consists of, where it shares some with other subjects.
    """

    startable: bool = False
    statements: bool = False
    dedicated_device: bool = False
    imageable: bool = False
    interfaces: bool = False
    promotable: bool = False
    volume: VolumeShape | None = None
    network: Network | None = None
    preloadable: bool = False
    data: bool = False
    parts: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Interface:
    """A network interface: `device` in `namespace`, and the port of the bridge that it is connected to."""

    namespace: NetworkNamespace
    device: str
    port_namespace: NetworkNamespace
    port: str


class Carrier(Protocol):
    """Carries the connections of a load, and causes effects on them (`loadcell._engine.Proxy`)."""

    def begin(self, effect: JsonObject) -> int:
        """Begin an effect; its number. Raises FaultError."""
        ...

    def end(self, number: int) -> None:
        """End an effect. Raises FaultError."""
        ...


def _none() -> tuple[int, ...]:
    return ()


@dataclass(frozen=True)
class Subject:
    """A subject of a target that is up, by the name that plans use (`postgres`, `storage.brick`).

    `processes` gives the present roots of its process trees; `stop` and `start` are the target's own
    commands, which raise TargetError; None where it has none. `bring_back` waits until it answers after a
    fault, and starts it again if need be. `session` opens a session for statements, with
    the rights of the administration where loadcell started the server; `data` is its data directory.
    `interfaces` are those of its hosts, and `addresses` those of all subjects that they can reach.
    `volume` executes commands that change bricks. `promote` makes a standby the primary that the load is to
    connect to, and gives its endpoint. `carrier` carries the load, in runs with faults that need it.
    `fault_control` is the control file of the library for faults that its processes were started with.
    """

    name: str
    processes: Callable[[], tuple[int, ...]] = _none
    stop: Callable[[], None] | None = None
    start: Callable[[], None] | None = None
    bring_back: Callable[[], None] | None = None
    session: Callable[[], AbstractContextManager[RunStatement]] | None = None
    data: Path | None = None
    interfaces: Callable[[], tuple[Interface, ...]] | None = None
    addresses: Mapping[str, str] = field(default_factory=dict)
    volume: Changes | None = None
    promote: Callable[[], ServerEndpoint] | None = None
    carrier: Carrier | None = None
    fault_control: Path | None = None

    def telling(self, started: Callable[[], None]) -> Subject:
        """The same, which calls `started` when its processes were started again."""
        return replace(
            self, start=_followed(self.start, started), bring_back=_followed(self.bring_back, started)
        )


def _followed(call: Callable[[], None] | None, then: Callable[[], None]) -> Callable[[], None] | None:
    """Both calls as one; None without the first."""
    if call is None:
        return None

    def both() -> None:
        call()
        then()

    return both
