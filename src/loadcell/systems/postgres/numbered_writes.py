"""Numbered writes into a PostgreSQL: rows of a table of one column, each a transaction."""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Callable
from typing import Any

from loadcell.monitors.numbered_writes import (
    ANSWER_LIMIT_S,
    NotConnectedError,
    NumberedWrites,
)
from loadcell.systems.base import TargetError
from loadcell.systems.postgres import driver
from loadcell.systems.postgres.connection import Address

#: Name of the session; a fault that ends sessions of the load spares those that begin with `loadcell `.
APPLICATION = "loadcell writes"


class PostgresWrites(NumberedWrites):
    """A table beside the load's database, whose counters stay those of the load."""

    def __init__(self, address: Callable[[], Address]) -> None:
        """`address` gives the present address: after a failover, another server's."""
        super().__init__()
        self._address = address
        self._session: driver.Connection[Any] | None = None

    def create(self) -> None:
        self._execute(f"CREATE TABLE {self.name} (number bigint PRIMARY KEY)")

    def write(self, number: int) -> None:
        self._execute(f"INSERT INTO {self.name} VALUES ({number:d})")  # noqa: S608 - a name of loadcell's

    def numbers(self) -> frozenset[int]:
        rows = self._execute(f"SELECT number FROM {self.name}")  # noqa: S608 - as above
        return frozenset(number for (number,) in rows)

    def remove(self) -> None:
        self._execute(f"DROP TABLE {self.name}")

    def close(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            with contextlib.suppress(driver.Error, OSError):
                session.close()

    def interrupt(self) -> None:
        """libpq waits for an answer without a limit: its socket is shut down."""
        session = self._session
        if session is not None:
            with (
                contextlib.suppress(driver.Error, OSError),
                socket.socket(fileno=os.dup(session.fileno())) as shared,
            ):
                shared.shutdown(socket.SHUT_RDWR)

    def _execute(self, statement: str) -> list[tuple[Any, ...]]:
        if self._session is None:
            try:
                self._session = self._address().connect(
                    limit_s=int(ANSWER_LIMIT_S), during="measure", application=APPLICATION
                )
            except TargetError as error:
                raise NotConnectedError(error.finding) from error
        try:
            cursor = self._session.execute(statement.encode())
            return cursor.fetchall() if cursor.description else []
        except driver.Error as error:
            self.close()
            raise OSError(str(error)) from error
