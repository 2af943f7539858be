"""Standbys of a PostgreSQL that loadcell starts: directories, streaming replication, promotion.

A standby begins as a copy of the primary's directory, made before its first use, and gets all else by
streaming. A replication slot keeps the log that a standby still needs. After a promotion neither the
old primary nor the other standbys serve any more: all directories are made again before the next trial.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from signal import SIGKILL
from typing import Any

from loadcell.linux import process_tree
from loadcell.model.message import MessageCode, Seconds
from loadcell.systems.base import Role, TargetError
from loadcell.systems.postgres import shared_memory
from loadcell.systems.postgres.binaries import Binaries
from loadcell.systems.postgres.replication_options import SYNCHRONOUS_NAMES, StandbyOptions, server_name
from loadcell.systems.postgres.server import ADMIN, DataDirectory, Server
from loadcell.systems.server_options import Setting

STANDBYS_TOO_OLD = MessageCode("postgres.standbys-too-old", version=str, oldest=int)
STANDBY_SILENT = MessageCode("postgres.standby-silent", standbys=list, limit_s=Seconds)
NOT_PROMOTED = MessageCode("postgres.not-promoted", standby=str, limit_s=Seconds)
DOING_PROMOTE = MessageCode("doing.promote", standby=str)
DOING_MAKE_SLOTS = MessageCode("doing.make-replication-slots")
DOING_READ_REPLICATION = MessageCode("doing.read-replication")

#: The first version with `standby.signal` and `pg_promote`.
OLDEST_WITH_STANDBYS = 12
#: How long standbys may take to receive what the primary has written, beyond any load.
_STREAM_LIMIT_S = 60.0
_PROMOTE_LIMIT_S = 60.0
_POLL_S = 0.01
#: Sooner than by default (5 s, 10 s): a standby reconnects to a primary that is back, and reports its
#: position.
_PROMPT: dict[str, Setting] = {"wal_retrieve_retry_interval": "500ms", "wal_receiver_status_interval": "1s"}

_MAKE_SLOT = (
    "SELECT pg_create_physical_replication_slot(%(slot)s, true) "
    "WHERE NOT EXISTS (SELECT FROM pg_replication_slots WHERE slot_name = %(slot)s)"
)
#: Standbys that have on disk, or have applied, what the primary had on disk at a position.
_STREAMING = (
    "SELECT application_name FROM pg_stat_replication "
    "WHERE state = 'streaming' "
    "AND CASE WHEN %(applied)s THEN replay_lsn ELSE flush_lsn END >= %(position)s::pg_lsn "
    "AND (sync_state IN ('sync', 'quorum') OR NOT %(synchronous)s)"
)


def check_version(binaries: Binaries) -> None:
    """Raise TargetError for programs without what standbys need."""
    if binaries.major < OLDEST_WITH_STANDBYS:
        raise TargetError(STANDBYS_TOO_OLD(version=binaries.version, oldest=OLDEST_WITH_STANDBYS))


class ReplicatedDirectory(DataDirectory):
    """A directory of a primary or of a standby, whose server's user may replicate from it."""

    def _users(self) -> str:
        return f"{super()._users()}local replication {ADMIN} peer map=standby\n"

    def _identities(self) -> str:
        return f'{super()._identities()}standby "{self.account.name}" {ADMIN}\n'


class StandbyDirectory(ReplicatedDirectory):
    """A copy of a primary's directory."""

    primary: DataDirectory

    def _install(self, made_parent: bool) -> None:
        shared_memory.release(self.data)
        self._begin("copy", made_parent)
        shutil.rmtree(self.data, ignore_errors=True)
        self._copy(self.primary.data, self.data)
        sign = self.data / "standby.signal"
        sign.touch(mode=0o600)
        self.account.give(sign)
        self._write_marker("ready", made_parent)
        self.log(f"made standby directory {self.data}")


class StandbyServer(Server):
    """A standby of `primary`."""

    primary: Server

    def _configure(self, socket: Path) -> list[str | Path]:
        name = server_name(self._process.name)
        sockets = self.primary.sockets.path or self.primary.sockets.preferred
        primary = f"host={sockets} port={self.primary.port} user={ADMIN} application_name={name}"
        replication: dict[str, Setting] = {
            "primary_conninfo": primary,
            "primary_slot_name": name,
            "cluster_name": name,
        }
        self.directory.configure(self.port, socket.parent, {**_PROMPT, **self.settings, **replication})
        return self._command()


class Standbys:
    """The standbys of one primary; `promoted` is the one that serves in its place."""

    def __init__(
        self,
        options: StandbyOptions,
        primary: Server,
        settings: Mapping[str, Setting],
        sockets: Path,
        log: Callable[[str], None],
    ) -> None:
        self.primary = primary
        self.promoted: Server | None = None
        self._options = options
        of_primary = primary.directory
        settings = {name: value for name, value in settings.items() if name != SYNCHRONOUS_NAMES}
        self._servers: dict[str, StandbyServer] = {}
        for name in options.names:
            directory = StandbyDirectory(
                of_primary.parent, of_primary.binaries, of_primary.account, log,
                suffix=f"{of_primary.suffix}-{name}",
            )  # fmt: skip
            directory.primary = of_primary
            server = StandbyServer(
                name, directory, settings, sockets.with_name(f"{sockets.name}-{name}"), log
            )
            server.primary = primary
            self._servers[name] = server

    def server(self, name: str) -> StandbyServer:
        """A standby by its name, `standby-1`. Raises KeyError."""
        return self._servers[name]

    def roles(self) -> tuple[Role, ...]:
        """All that run, each a role."""
        servers = {"server": self.primary, **self._servers}
        return tuple(
            Role(name, (pid,)) for name, server in servers.items() if (pid := server.pid) is not None
        )

    # -- life

    def make(self) -> None:
        """Make the primary's directory and the copies of it; no server runs. Raises TargetError."""
        self.stop()
        self.primary.stop()
        if not self.primary.directory.made:
            self._remove_directories()
            self.primary.directory.make()
            # It records its settings: a standby does not start with a lower `max_connections` than recorded.
            self.primary.start()
            self.primary.stop()
        for server in self._servers.values():
            server.directory.make()

    def start(self) -> None:
        """Start those that do not run, and wait until each has what the primary has. Raises TargetError."""
        with self.primary.admin().session(DOING_MAKE_SLOTS(), during="up") as connection:
            for name in self._options.names:
                connection.execute(_MAKE_SLOT, {"slot": server_name(name)})
        for server in self._servers.values():
            if not server.running:
                server.stop()  # remains of one that died
                server.start()
        self._await_streaming("up")

    def settle(self) -> None:
        """Have each apply all that the primary has, and write it to its tables.

        So the start of one that was ended replays the log of the trial only. Raises TargetError.
        """
        self._await_streaming("prepare", applied=True)
        for server in self._servers.values():
            with server.admin().session(DOING_READ_REPLICATION(), during="prepare") as connection:
                connection.execute("CHECKPOINT")

    def _await_streaming(self, during: str, *, applied: bool = False) -> None:
        """Wait until each has on disk, or has applied, what the primary has on disk. Raises TargetError."""
        synchronous = self._options.replication != "asynchronous"
        deadline = time.monotonic() + _STREAM_LIMIT_S
        wanted = {server_name(name) for name in self._options.names}
        with self.primary.admin().session(DOING_READ_REPLICATION(), during=during) as connection:
            [position] = connection.execute("SELECT pg_current_wal_flush_lsn()::text").fetchone() or [None]
            values: dict[str, Any] = {
                "position": position, "synchronous": synchronous, "applied": applied,
            }  # fmt: skip
            while missing := wanted - {name for (name,) in connection.execute(_STREAMING, values)}:
                if time.monotonic() > deadline:
                    silent = STANDBY_SILENT(standbys=sorted(missing), limit_s=_STREAM_LIMIT_S)
                    raise TargetError(silent, during=during)
                time.sleep(_POLL_S)

    def stop(self, *, quickly: bool = False) -> None:
        """Stop them, before their primary; after a promotion also the old primary."""
        for server in self._servers.values():
            server.stop(quickly=quickly)
        if self.promoted is not None:
            self.primary.stop(quickly=quickly)

    def remove(self) -> None:
        """Remove their directories; after a promotion also that of the old primary."""
        self.stop(quickly=True)
        self._remove_directories()
        if self.promoted is not None:
            self.primary.directory.remove()
            self.promoted = None

    def _remove_directories(self) -> None:
        for server in self._servers.values():
            server.directory.remove()

    # -- faults

    def promote(self, name: str) -> Server:
        """Make a standby the primary; the one before is killed if it runs, once the standby has answered.

        Raises TargetError. From the attempt on it counts as promoted, so that the old primary does not serve
        beside it.
        """
        server, before = self._servers[name], self.promoted or self.primary
        deadline = time.monotonic() + _PROMOTE_LIMIT_S
        with server.admin().session(DOING_PROMOTE(standby=name), during="load") as connection:
            connection.execute("SELECT pg_is_in_recovery()")
            if before is not server and before.pid is not None:
                process_tree.signal_tree(process_tree.roots([before.pid]), SIGKILL)
            self.promoted = server
            connection.execute("SELECT pg_promote(false)")
            while (connection.execute("SELECT pg_is_in_recovery()").fetchone() or [True])[0]:
                if time.monotonic() > deadline:
                    raise TargetError(NOT_PROMOTED(standby=name, limit_s=_PROMOTE_LIMIT_S), during="load")
                time.sleep(_POLL_S)
        return server

    def start_primary_again(self) -> None:
        """Start the primary after it ended, unless a standby serves in its place: there is one primary."""
        if self.promoted is None:
            self.primary.start_again()
