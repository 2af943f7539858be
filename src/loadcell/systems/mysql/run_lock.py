"""Named lock (GET_LOCK) of a run on an external MariaDB or MySQL."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from loadcell.systems.mysql import driver
from loadcell.systems.mysql.connection import Address, not_done, rows
from loadcell.systems.shared.data_sets import Owner
from loadcell.systems.shared.run_lock import DOING_LOCK_THE_SERVER, SessionLock, describe, locked

if TYPE_CHECKING:
    from loadcell.systems.mysql.connection import Connection

_NAME = "loadcell"
#: An idle session ends after this long: MySQL's longest on all systems (wait_timeout).
_IDLE_S = 2147483


class NamedLock(SessionLock["Connection"]):
    """The lock of all runs whose data sets are databases, or of those in the database `named`.

    A second lock carries the owner's tag: nobody can list names of locks, but whoever has read an owner in
    a mark (`owners`) can ask whether that one holds it.
    """

    def __init__(
        self, address: Address, owner: Owner, named: str | None, owners: Callable[[], list[Owner]]
    ) -> None:
        super().__init__()
        self._address = address
        self._owner = owner
        self._owners = owners
        self._name = f"{_NAME}.{Owner.digest(named)}" if named else _NAME

    def _connect(self) -> Connection:
        return self._address.connect(during="prepare")

    def _lives(self, connection: Connection) -> bool:
        with suppress(driver.Error, OSError):
            rows(connection, "SELECT 1")
            return True
        return False

    def _take(self, connection: Connection) -> bool:
        try:
            return self._try(connection)
        except (driver.Error, OSError) as error:
            raise not_done(error, DOING_LOCK_THE_SERVER()) from error

    def _try(self, connection: Connection) -> bool:
        rows(connection, f"SET SESSION wait_timeout = {_IDLE_S}")
        if rows(connection, "SELECT GET_LOCK(%s, 0)", [self._name])[0][0] == 1:
            rows(connection, "SELECT GET_LOCK(%s, 0)", [self._tag(self._owner)])
            return True
        holder = rows(connection, "SELECT IS_USED_LOCK(%s)", [self._name])[0][0]
        if self._holds(connection, self._owner, holder):
            return False
        for owner in self._owners():
            if self._holds(connection, owner, holder):
                raise locked(self._address.where, describe(owner))
        raise locked(self._address.where, _client(connection, holder))

    def _holds(self, connection: Connection, owner: Owner, holder: int | None) -> bool:
        used = rows(connection, "SELECT IS_USED_LOCK(%s)", [self._tag(owner)])[0][0]
        return holder is not None and used == holder

    def _tag(self, owner: Owner) -> str:
        return f"{self._name}:{owner.lock_tag}"


def _client(connection: Connection, number: int | None) -> str:
    """User and address of a session, as far as this user may see it."""
    sessions = rows(
        connection, "SELECT user, host FROM information_schema.processlist WHERE id = %s", [number]
    )
    who = f", {sessions[0][0]} from {sessions[0][1]}" if sessions else ""
    return f"session {number}{who}"
