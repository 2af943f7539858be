"""Advisory lock of a run on an external PostgreSQL; the name of its session names the owner."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from loadcell.systems.base import TargetError
from loadcell.systems.postgres import driver
from loadcell.systems.postgres.connection import (
    LOCK_APPLICATION,
    POSTGRES_PG_HBA,
    POSTGRES_REFUSED_PASSWORD,
    POSTGRES_WANTS_PASSWORD,
    Address,
    not_done,
)
from loadcell.systems.shared.owner import DOING_LOCK_THE_SERVER, Owner, describe, locked
from loadcell.systems.shared.run_locks import SessionLock
from loadcell.systems.shared.server_errors import CONNECTION_NO_DATABASE

if TYPE_CHECKING:
    from psycopg import Connection

#: Database that all servers have: advisory locks count within one database.
_COMMON = "postgres"
#: The lock's number: "loadcell" in ASCII.
_CLASS, _NUMBER = int.from_bytes(b"load"), int.from_bytes(b"cell")
#: The server shortens names of sessions to this many bytes (NAMEDATALEN - 1).
_NAME_BYTES = 63
_LOCK_NAME = re.compile(rf"{LOCK_APPLICATION} [0-9a-f]{{12}} (.*)", re.DOTALL)

#: Refusals that a server or a pool in front of it repeats until somebody changes its settings.
_REFUSED = (
    CONNECTION_NO_DATABASE.code, POSTGRES_PG_HBA.code, POSTGRES_REFUSED_PASSWORD.code,
    POSTGRES_WANTS_PASSWORD.code,
)  # fmt: skip
_MAY_CONNECT = """
    SELECT EXISTS (SELECT FROM pg_database
                   WHERE datname = %s AND datallowconn AND has_database_privilege(oid, 'CONNECT'))
"""
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
        #: beginning of the session's name, which the server cannot cut away
        self._tag = f"{LOCK_APPLICATION} {owner.lock_tag} "
        who = describe(owner, _NAME_BYTES - len(self._tag))
        self._name = (self._tag + who).encode("ascii", "replace")[:_NAME_BYTES].decode()

    def _lives(self, connection: Connection[Any]) -> bool:
        with suppress(driver.Error):
            connection.execute("SELECT 1")
            return True
        return False

    def _connect(self) -> Connection[Any]:
        if not self._of_server:
            return self._address.connect(during="prepare", application=self._name)
        try:
            return self._address.connect(_COMMON, during="prepare", application=self._name)
        except TargetError as error:
            connection = self._address.connect(during="prepare", application=self._name)
            # Any other failure passes, and then another run could hold the lock in the common database.
            if error.message.code not in _REFUSED and _may_connect(connection):
                connection.close()
                raise
            return connection

    def _free(self, connection: Connection[Any]) -> None:
        connection.execute("SELECT pg_advisory_unlock(%s::int, %s::int)", [_CLASS, _NUMBER])

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
        if name.startswith(self._tag):
            return False
        if ours := _LOCK_NAME.fullmatch(name):
            raise locked(self._address.where, ours[1])
        # A pool keeps the lock of a session that has ended, under the name of whoever has the session now.
        raise locked(self._address.where, f"{name or '?'} (server process {pid})")


def _may_connect(connection: Connection[Any]) -> bool:
    """False if this user may never connect to the common database, or there is none."""
    try:
        row = connection.execute(_MAY_CONNECT, [_COMMON]).fetchone()
    except driver.Error as error:
        connection.close()
        raise not_done(error, DOING_LOCK_THE_SERVER()) from error
    return bool(row and row[0])
