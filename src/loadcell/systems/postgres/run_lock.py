"""Advisory lock of a run on an external PostgreSQL; the name of its session names the owner."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from loadcell.systems.base import TargetError
from loadcell.systems.postgres import driver
from loadcell.systems.postgres.connection import LOCK_APPLICATION, Address, not_done
from loadcell.systems.shared.data_sets import Owner
from loadcell.systems.shared.run_lock import DOING_LOCK_THE_SERVER, SessionLock, describe, locked

if TYPE_CHECKING:
    from psycopg import Connection

#: Database that all servers have: advisory locks count within one database.
_COMMON = "postgres"
#: The lock's number: "loadcell" in ASCII.
_CLASS, _NUMBER = int.from_bytes(b"load"), int.from_bytes(b"cell")
#: The server shortens names of sessions to this many bytes (NAMEDATALEN - 1).
_NAME_BYTES = 63

_HOLDER = """
    SELECT a.application_name, a.pid FROM pg_locks l JOIN pg_stat_activity a USING (pid)
    WHERE l.locktype = 'advisory' AND l.granted AND l.classid = %s AND l.objid = %s AND l.objsubid = 2
      AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
"""
#: Ends the session soon after the client's machine has gone, and never because it is idle.
_SETTINGS = ("tcp_keepalives_idle = 30", "tcp_keepalives_interval = 10", "tcp_keepalives_count = 3",
             "idle_session_timeout = 0")  # fmt: skip


class AdvisoryLock(SessionLock["Connection[Any]"]):
    """The lock of all runs whose data sets are databases (`of_server`), or of those in one database."""

    def __init__(self, address: Address, owner: Owner, *, of_server: bool) -> None:
        super().__init__()
        self._address = address
        self._of_server = of_server
        name = f"{LOCK_APPLICATION} {describe(owner)}"
        self._name = name.encode("ascii", "replace")[:_NAME_BYTES].decode()

    def _lives(self, connection: Connection[Any]) -> bool:
        with suppress(driver.Error):
            connection.execute("SELECT 1")
            return True
        return False

    def _connect(self) -> Connection[Any]:
        if self._of_server:
            with suppress(TargetError):
                return self._address.connect(_COMMON, during="prepare", application=self._name)
        return self._address.connect(during="prepare", application=self._name)

    def _take(self, connection: Connection[Any]) -> bool:
        try:
            return self._try(connection)
        except driver.Error as error:
            raise not_done(error, DOING_LOCK_THE_SERVER()) from error

    def _try(self, connection: Connection[Any]) -> bool:
        for setting in _SETTINGS:
            with suppress(driver.Error):  # not in this version, or not on this kind of socket
                connection.execute(f"SET {setting}".encode())
        row = connection.execute(
            "SELECT pg_try_advisory_lock(%s::int, %s::int)", [_CLASS, _NUMBER]
        ).fetchone()
        if row and row[0]:
            return True
        holder = connection.execute(_HOLDER, [_CLASS, _NUMBER]).fetchone()
        name, pid = holder or ("", 0)
        if name == self._name:
            return False
        # A pool keeps the lock of a session that has ended, under the name of whoever has the session now.
        if not name.startswith(LOCK_APPLICATION):
            name = f"{name or '?'} (server process {pid})"
        raise locked(self._address.where, name.removeprefix(f"{LOCK_APPLICATION} "))
