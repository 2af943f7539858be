"""Makes the load of the workload `duckdb` in the worker: the contract is the engine's
(`loadcell/_engine.pyi`).

When something is due, how it is timed and what is kept of it is the engine's; this is only what a client
does.
"""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress

import duckdb

from loadcell import _engine
from loadcell.model.json import JsonObject
from loadcell.model.message import ForeignText, Message, MessageCode, MessageError
from loadcell.systems.base import TargetError

DUCKDB_UNREADABLE = MessageCode("duckdb.unreadable", path=str, said=ForeignText)
DUCKDB_STOPPED = MessageCode("duckdb.stopped")
DUCKDB_CORRUPT = MessageCode("duckdb.corrupt", found=str, names=str, rows=str)
DUCKDB_FAILED = MessageCode("duckdb.failed", doing=Message, said=ForeignText)
DUCKDB_NO_MEMORY = MessageCode("duckdb.no-memory", doing=Message, said=ForeignText)
DOING_LOAD_THE_DATA = MessageCode("doing.load-the-data")
DOING_OPEN = MessageCode("doing.open", path=str)

OPERATIONS = (
    {"name": "select_distinct", "kind": "read"},
    {"name": "update", "kind": "write"},
    {"name": "page", "kind": "read"},
)

#: Rows per statement while data are loaded: after each, progress is reported and a stop request is checked.
_CHUNK = 2_000_000
#: Knuth's multiplier (2^32 divided by the golden ratio) scatters values over all rows without any randomness.
_SCATTER = 2_654_435_761
_TABLE = """CREATE TABLE readings (
    id BIGINT NOT NULL, name VARCHAR NOT NULL, taken TIMESTAMP NOT NULL, value DOUBLE NOT NULL,
    state VARCHAR NOT NULL, updates INTEGER NOT NULL)"""
_ROWS = """INSERT INTO readings
SELECT i, 'sensor-' || lpad(((i * {step}) % {distinct})::VARCHAR, 9, '0'),
    TIMESTAMP '2024-01-01' + to_seconds(i),
    (i * {scatter} + {seed}) % 4294967296 / 1000.0,
    ['good', 'late', 'lost'][1 + (i * {scatter} // 65536) % 3], 0
FROM range({first}, {last}) rows(i)"""

_DISTINCT = "SELECT DISTINCT name FROM readings"
_UPDATE = "UPDATE readings SET value = ?, updates = updates + 1 WHERE id = ?"
_PAGE = "SELECT id, name, taken, value, state FROM readings ORDER BY value DESC, id LIMIT ? OFFSET ?"

#: The engine connects to nothing: it calls the clients.
_NOWHERE = {"protocol": "calls", "sslmode": "disable", "connect_timeout_ns": 0}

#: Whether an end was asked for while data are loaded.
_asked_to_stop = False


class LoadError(MessageError):
    """The database cannot be opened, or its data cannot be loaded."""


class WrongRowsError(Exception):
    """A statement found other rows than there are."""

    code = "corrupt"


def stop() -> None:
    """End what is running early but properly."""
    global _asked_to_stop
    _asked_to_stop = True
    _engine.stop()


def run(spec: str, say: Callable[[str], None]) -> str:
    """Make the load that `spec` describes."""
    order = json.loads(spec)
    work, seed, retries = order["workload"]["duckdb"], order["seed"], order["load"]["max_retries"]
    with _open(order["target"]) as database:

        def client(number: int, recording: _engine.Recording) -> Callable[[], None]:
            return Client(database.cursor(), work, f"{seed}:{number}", retries, recording).composite

        calls = {**order, "target": _NOWHERE, "workload": {"calls": {"operations": OPERATIONS}}}
        return _engine.run_calls(json.dumps(calls), say, client)


def prepare(spec: str, say: Callable[[str], None]) -> str:
    """Make the rows that `spec` describes: the same ones wherever it is done."""
    order = json.loads(spec)
    rows, distinct = (order["workload"]["duckdb"][key] for key in ("rows", "distinct"))
    with _open(order["target"]) as database:
        try:
            database.execute(_TABLE)
            for first in range(0, rows, _CHUNK):
                if _asked_to_stop:
                    raise LoadError(DUCKDB_STOPPED())
                last = min(rows, first + _CHUNK)
                database.execute(
                    _ROWS.format(
                        step=_step(distinct),
                        distinct=distinct,
                        scatter=_SCATTER,
                        seed=order["seed"],
                        first=first,
                        last=last,
                    )
                )
                say(json.dumps({"type": "progress", "done_rows": last, "total_rows": rows}))
            row = database.execute("SELECT count(*), count(DISTINCT name) FROM readings").fetchone()
            database.execute("CHECKPOINT")
        except duckdb.Error as error:
            raise _of_duckdb(error, DOING_LOAD_THE_DATA()) from error
    if row != (rows, distinct):
        raise LoadError(DUCKDB_CORRUPT(rows=rows, names=distinct, found=str(row)))
    return json.dumps({"rows": rows, "duration_s": 0.0})


def _step(distinct: int) -> int:
    """By how much a row's name is further than the one before: so that names that follow on each other are
    far apart, and all
    come up before any comes up again."""
    step = 7919
    while math.gcd(step, distinct) != 1:
        step += 2
    return step


class Client:
    """One client, with a dedicated connection to the shared database."""

    def __init__(
        self,
        connection: duckdb.DuckDBPyConnection,
        work: dict[str, int],
        seed: str,
        retries: int,
        recording: _engine.Recording,
    ) -> None:
        self._connection = connection
        self._work = work
        self._random = random.Random(seed)  # noqa: S311 - repeatable on purpose
        self._retries = retries
        self._recording = recording

    def composite(self) -> None:
        """One SELECT DISTINCT, the updates, one page."""
        self._select_distinct()
        for _ in range(self._work["updates"]):
            self._update(self._random.randrange(self._work["rows"]), self._random.randrange(2**32) / 1000)
        self._page(self._random.randrange(self._work["pages"]))

    def _select_distinct(self) -> None:
        with self._recording.timed("select_distinct"):
            rows = self._connection.execute(_DISTINCT).fetchall()
            _expect(len(rows), self._work["distinct"], "SELECT DISTINCT")

    def _update(self, row: int, value: float) -> None:
        """One row; one that another client has just updated is tried again, as an application would."""
        with self._recording.timed("update"):
            for retries_left in range(self._retries, -1, -1):
                try:
                    updated = self._connection.execute(_UPDATE, [value, row]).fetchone()
                    break
                except duckdb.TransactionException:
                    with suppress(duckdb.Error):
                        self._connection.rollback()
                    if not retries_left:
                        raise
                    self._recording.retried("update")
            _expect(updated[0] if updated else 0, 1, "UPDATE")

    def _page(self, number: int) -> None:
        with self._recording.timed("page"):
            size = self._work["page_size"]
            rows = self._connection.execute(_PAGE, [size, number * size]).fetchall()
            _expect(len(rows), size, "a page")
            values = [row[3] for row in rows]
            if values != sorted(values, reverse=True):
                raise WrongRowsError("a page is not in the order that was asked for")


def _expect(count: int, wanted: int, subject: str) -> None:
    if count != wanted:
        raise WrongRowsError(f"{subject} had {count:,} rows, not {wanted:,}")


def _open(target: JsonObject) -> duckdb.DuckDBPyConnection:
    """The database; nothing is fetched from anywhere. Raises LoadError."""
    try:
        return duckdb.connect(
            target["database"], config={**target["config"], "autoinstall_known_extensions": False}
        )
    except duckdb.Error as error:
        raise _of_duckdb(error, DOING_OPEN(path=target["database"])) from error


@contextmanager
def read_only(database: str, config: Mapping[str, str | int]) -> Iterator[duckdb.DuckDBPyConnection]:
    """The database as it lies on disk, while no load has it open. Raises TargetError."""
    try:
        with duckdb.connect(database, read_only=True, config=dict(config)) as connection:
            yield connection
    except duckdb.Error as error:
        message = DUCKDB_UNREADABLE(path=database, said=str(error).splitlines()[0])
        raise TargetError(message, during="collect") from error


def _of_duckdb(error: duckdb.Error, doing: Message) -> LoadError:
    memory = isinstance(error, duckdb.OutOfMemoryException)
    code = DUCKDB_NO_MEMORY if memory else DUCKDB_FAILED
    return LoadError(code(doing=doing, said=str(error).splitlines()[0]))
