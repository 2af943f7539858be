"""The monitor: one session beside the load, asked once a second (what sessions wait for: as often as the plan
says).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, ClassVar

from pydantic import Field

from loadcell.linux.procfs import process_stat, read_small
from loadcell.model.message import Labels
from loadcell.model.panels import SampleTable
from loadcell.monitors.base import MonitorContext, Row
from loadcell.plan.units import Rate
from loadcell.systems.base import TargetError
from loadcell.systems.postgres.connection import POSTGRES_STATISTICS, Observed
from loadcell.systems.postgres.monitor import queries, samples
from loadcell.systems.postgres.monitor.queries import (
    APPLICATION,
    CONNECT_LIMIT_S,
    Link,
    Record,
)
from loadcell.systems.postgres.monitor.samples import (
    COUNTERS,
    IO_COUNTERS,
    IO_KEY,
    IO_TABLE,
    REPLICATION_TABLE,
    WAITS_TABLE,
    Checkpoints,
    io_rows,
    numbers,
    replication_rows,
)
from loadcell.systems.shared.server_monitor import AnswerError, ServerMonitor, ServerMonitorOptions
from loadcell.systems.shared.server_samples import MEANS, Numbers, grown

#: What cannot be seen, and what to do about it; the report says the same in its own languages.
NOTES = {
    "not-connected": "no connection to the server: nothing is seen of it",
    "lost": "the connection was lost; what happened meanwhile is missing",
    "takes-a-connection": "max_wal_senders is 0, so the monitor takes one of max_connections",
    "same-database": "the monitor's role may enter no other database: its own statements are in the "
    "database's counters",
    "others-hidden": (
        "the role is no member of pg_read_all_stats (GRANT pg_monitor TO ...): sessions of other roles are "
        "not seen"
    ),
    "refused": "the server refuses to show some of its values",
    "statements-not-loaded": "pg_stat_statements is not loaded: name it in the server's "
    "shared_preload_libraries",
    "statements-not-installed": "pg_stat_statements is not installed in a database that the monitor may "
    "enter: CREATE EXTENSION",
}
_LABEL = Labels("server-note", NOTES)


class PostgresMonitorOptions(ServerMonitorOptions, use_attribute_docstrings=True):
    """Options of the monitor."""

    wait_rate: Annotated[Rate, Field(ge=1, le=100)] = Rate(1)
    """Samples of waits per second, from 1 to 100; all else is read once a second."""
    statements: Annotated[int, Field(ge=0, le=1000)] = 20
    """Number of top statements by time that are recorded, where pg_stat_statements is loaded; 0 for none."""


class PostgresMonitor(ServerMonitor[PostgresMonitorOptions, Link, Observed]):
    """Counters a second, waits, I/O, checkpoints, and the statements that took most time."""

    name = "postgres"
    summary = "the PostgreSQL server: counters, checkpoints, what sessions wait for, top statements"
    Options = PostgresMonitorOptions
    needs = frozenset({POSTGRES_STATISTICS})
    notes = NOTES
    observed = Observed
    table = SampleTable("postgres", ("elapsed_s", "looks", *MEANS, *COUNTERS))
    tables: ClassVar[Mapping[str, SampleTable]] = {
        "waits": WAITS_TABLE,
        "io": IO_TABLE,
        "replication": REPLICATION_TABLE,
        "statements": samples.TABLE,
    }

    def __init__(
        self,
        options: PostgresMonitorOptions,
        context: MonitorContext,
        *,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(options, context, monotonic=monotonic)
        self._database = ""
        self._asked: dict[str, str] = {}
        self._before: Numbers = {}
        self._io_before: dict[tuple[str, ...], Numbers] = {}
        self._checkpoints = Checkpoints()
        self._pid: int | None = None
        self._statements_at: tuple[str, str] | None = None
        self._statements_before: samples.Reading | None = None

    def _open(self, observed: Observed) -> Link:
        """A session that is in nobody's way.

        On a server that loadcell started it is one of those reserved for replication: they are not counted
        against max_connections, so that the load can have all of these, and are no client sessions.
        """
        if observed.managed:
            try:
                return self._open_in(observed, observed.address.database, replication="database")
            except TargetError as error:
                self._notes.setdefault("takes-a-connection", str(error))
                return self._open_in(observed, observed.address.database)
        places = [
            directory
            for directory in ("postgres", observed.address.database)
            if directory != observed.database
        ]
        for directory in dict.fromkeys(places):
            try:
                return self._open_in(observed, directory)
            except TargetError:  # no such database, or not for this role
                continue
        return self._open_in(observed, observed.database)

    def _open_in(self, observed: Observed, database: str, replication: str | None = None) -> Link:
        connection = observed.current().connect(
            database, options=observed.options, limit_s=CONNECT_LIMIT_S, during="measure",
            application=APPLICATION, replication=replication,
        )  # fmt: skip
        return Link(connection)

    def _begin(self, link: Link, observed: Observed) -> None:
        """Learn who we are here and what may be asked, and take the counters' base."""
        who = link.ask(queries.WHO)[0][0]
        self._database, self._pid = str(who["database"]), int(who["pid"] or 0)
        if who["sees_all"] != "t":
            self._notes.setdefault("others-hidden", "")
        if self._database == observed.database:
            self._notes.setdefault("same-database", "")
        wanted = {
            "sessions": queries.sessions(observed.database),
            "counters": queries.counters(link.version, observed.database),
            "io": queries.io(link.version),
            "replication": queries.REPLICATION,
        }
        self._asked = {}
        for name, sql in wanted.items():
            if sql is not None:
                try:
                    self._take(name, link.ask(sql)[0])
                    self._asked[name] = sql
                except AnswerError as error:
                    self._notes.setdefault("refused", str(error))
        self._waits.take()
        self._further.clear()
        self._read_s, self._looks = self._monotonic(), 0
        if self._statements_before is None:
            self._begin_statements(link, observed)

    # -- looking

    def _look(self, *, complete: bool) -> list[Row]:
        """One look at the sessions; a `complete` one reads the counters too, and gives the row."""
        assert self._link is not None
        names = [name for name in self._asked if complete or name == "sessions"]
        if not names:
            return []
        row: Row = {}
        for name, records in zip(
            names, self._link.ask(";".join(self._asked[name] for name in names)), strict=True
        ):
            row |= self._take(name, records)
        self._looks += 1
        if not complete:
            return []
        now_s = self._monotonic()
        elapsed_s, self._read_s, self._looks = now_s - self._read_s, now_s, 0
        by_server_ms = row.pop("clock_ms", None)  # None when its clock was set back
        if by_server_ms:
            elapsed_s = by_server_ms / 1e3
        mean_waits, rows = self._waits.take()
        self._further["waits"] = rows
        self._events += self._checkpoints.events(row)
        self._note_cost()
        return [{"elapsed_s": elapsed_s, **mean_waits, **row}]

    def _take(self, name: str, records: list[Record]) -> Row:
        """Take the answer to one question; the differences, where it is counters."""
        if name == "sessions":
            self._waits.look(records)
        elif name == "io":
            now = {
                tuple(str(record[key]) for key in IO_KEY): numbers(record, IO_COUNTERS) for record in records
            }
            before, self._io_before = self._io_before, now
            self._further["io"] = io_rows(before, now)
        elif name == "replication":
            self._further["replication"] = replication_rows(records)
        elif records:
            counted = numbers(records[0], (*COUNTERS, "checkpoints_done", "clock_ms"))
            earlier, self._before = self._before, counted
            return grown(earlier, counted)
        return {}

    def _note_cost(self) -> None:
        """The CPU time of the session's own process, if it is one of this machine."""
        if self._pid is None or not self.context.roots():
            return
        stat = process_stat(Path("/"), self._pid)
        if stat is not None and read_small(Path(f"/proc/{self._pid}/cmdline")).startswith("postgres:"):
            self._ticks[self._pid] = stat.user + stat.system

    # -- statements

    def _begin_statements(self, link: Link, observed: Observed) -> None:
        """Read the base of pg_stat_statements, wherever it is."""
        if not self.options.statements:
            return
        if observed.managed:
            libraries = link.ask("SHOW shared_preload_libraries")[0][0]["shared_preload_libraries"] or ""
            if "pg_stat_statements" not in libraries:
                self._notes["statements-not-loaded"] = ""
                return
            try:
                link.ask("CREATE EXTENSION IF NOT EXISTS pg_stat_statements")
            except AnswerError as error:
                self._notes["statements-not-installed"] = str(error)
                return
        for database in dict.fromkeys((self._database, observed.address.database, observed.database)):
            try:
                with self._within(database) as session:
                    home = samples.home(session)
                    if home is not None:
                        self._statements_before = samples.read(session, home, observed.database)
                        self._statements_at = database, home
                        return
            except AnswerError as error:
                self._notes["statements-not-loaded"] = str(error)
                return
            except TargetError:
                continue
        self._notes["statements-not-installed"] = ""

    def _end_statements(self) -> list[Row]:
        if self._statements_at is None or self._statements_before is None:
            return []
        (database, home), observed = self._statements_at, self.context.observed
        with self._within(database) as session:
            now = samples.read(session, home, observed.database)
            rows = samples.top(self._statements_before, now, self.options.statements)
            self._further["statements"] = samples.with_texts(session, home, observed.database, rows)
        return []

    @contextmanager
    def _within(self, database: str) -> Iterator[Link]:
        """A session in this database: the monitor's own, or one for the moment."""
        assert self._link is not None
        if database == self._database:
            yield self._link
            return
        session = self._open_in(self.context.observed, database)
        try:
            yield session
        finally:
            self._questions += session.questions
            session.close()


PART = PostgresMonitor
