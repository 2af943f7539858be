"""A connection that is never waited for longer than its limit, whatever becomes of the server."""

from __future__ import annotations

import select
import time
from typing import TYPE_CHECKING, Any

from loadcell.systems.postgres import driver

if TYPE_CHECKING:
    from psycopg import Connection

#: The name under which a server's own views show the monitor.
APPLICATION = "loadcell monitor"
#: How long an answer, and a connection, may take: a server that is stopped must not stop the monitor.
ANSWER_LIMIT_S = 2.0
CONNECT_LIMIT_S = 2

Record = dict[str, str | None]


class LinkError(Exception):
    """The connection is lost, or not to be had: what was found."""


class AnswerError(Exception):
    """The server refused a question and is still there: what it said, and its SQLSTATE."""

    def __init__(self, message: str, sqlstate: str) -> None:
        super().__init__(message)
        self.sqlstate = sqlstate


class Link:
    """One session.

    Questions are plain SQL by the simple protocol, which a replication session understands too.
    """

    def __init__(self, connection: Connection[Any]) -> None:
        self._connection = connection
        self._pg = connection.pgconn
        self.version: int = connection.info.server_version
        self.questions = 0

    def ask(self, sql: str) -> list[list[Record]]:
        """The records of each statement of `sql`, as text. Raises LinkError and AnswerError."""
        self.questions += 1
        deadline = time.monotonic() + ANSWER_LIMIT_S
        try:
            self._pg.send_query(sql.encode())
            while self._pg.flush():
                self._await(select.POLLOUT, deadline)
            return self._answers(deadline)
        except driver.Error as error:
            raise LinkError(_first_line(str(error))) from error

    def _answers(self, deadline: float) -> list[list[Record]]:
        records: list[list[Record]] = []
        refused: AnswerError | None = None
        while True:
            while self._pg.is_busy():
                self._await(select.POLLIN, deadline)
                self._pg.consume_input()
            result = self._pg.get_result()
            if result is None:
                break
            if result.status == driver.ExecStatus.TUPLES_OK:
                records.append(_records(result))
            elif result.status == driver.ExecStatus.FATAL_ERROR:
                refused = _refusal(result)
        if refused is None:
            return records
        if not refused.sqlstate or refused.sqlstate.startswith(("57P", "08")):
            raise LinkError(str(refused))
        raise refused

    def _await(self, condition: int, deadline: float) -> None:
        """Wait until the socket can be read or written."""
        poll = select.poll()
        poll.register(self._pg.socket, condition)
        if not poll.poll(max(0.0, deadline - time.monotonic()) * 1e3):
            raise LinkError(f"no answer within {ANSWER_LIMIT_S:g} s")

    def close(self) -> None:
        """Let go."""
        self._connection.close()


def _records(result: Any) -> list[Record]:
    names = [result.fname(column).decode() for column in range(result.nfields)]
    return [
        {
            name: None
            if (value := result.get_value(row, column)) is None
            else value.decode("utf-8", "replace")
            for column, name in enumerate(names)
        }
        for row in range(result.ntuples)
    ]


def _refusal(result: Any) -> AnswerError:
    message = result.error_field(driver.DiagnosticField.MESSAGE_PRIMARY) or result.error_message
    code = result.error_field(driver.DiagnosticField.SQLSTATE) or b""
    return AnswerError(_first_line(message.decode("utf-8", "replace")), code.decode())


def _first_line(text: str) -> str:
    return (text.strip().splitlines() or ["no reason given"])[0]
