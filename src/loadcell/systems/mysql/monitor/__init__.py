"""The monitor: one session beside the load, which reads the process list, InnoDB's counters and, after the
load, the statements of performance_schema.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar

from pydantic import Field

from loadcell.linux.procfs import read_small
from loadcell.model.message import Labels
from loadcell.model.panels import SampleTable
from loadcell.monitors.base import MonitorContext, Row
from loadcell.plan.units import Rate
from loadcell.systems.mysql.connection import MYSQL_STATISTICS, Observed
from loadcell.systems.mysql.monitor import queries, samples
from loadcell.systems.mysql.monitor.queries import (
    ANSWER_LIMIT_S,
    APPLICATION,
    CONNECT_LIMIT_S,
    COUNTERS,
    LEVELS,
    Link,
)
from loadcell.systems.shared.server_monitor import AnswerError, ServerMonitor, ServerMonitorOptions
from loadcell.systems.shared.server_samples import Numbers, grown

#: What the monitor cannot see, and the remedy; reports have the same in their languages.
NOTES = {
    "not-connected": "no connection to the server: nothing is seen of it",
    "lost": "the connection was lost; what happened meanwhile is missing",
    "mysql-executing": "the process list does not show reads from disk: an executing session runs or reads",
    "mysql-others-hidden": "the user has no right PROCESS (GRANT PROCESS ON *.* TO ...): sessions of other "
    "users, row lock waits and idle transactions are not seen",
    "refused": "the server refuses to show some of its values",
    "mysql-executions": "the server does not count executions of prepared statements by statement: they "
    "are one row",
    "mysql-statements-off": "performance_schema is off: set performance_schema: ON in the server's settings",
    "mysql-statements-refused": "the user may not read performance_schema (GRANT SELECT ON "
    "performance_schema.* TO ...)",
}
_LABEL = Labels("server-note", NOTES)


class MysqlMonitorOptions(ServerMonitorOptions, use_attribute_docstrings=True):
    """Options of the monitor."""

    wait_rate: Annotated[Rate, Field(ge=1, le=20)] = Rate(1)
    """Samples of session states per second, from 1 to 20; all else is read once a second."""
    statements: Annotated[int, Field(ge=0, le=1000)] = 20
    """Number of top statements by time that are recorded, where performance_schema is on; 0 for none."""


class MysqlMonitor(ServerMonitor[MysqlMonitorOptions, Link, Observed]):
    """Session states, lock waits, InnoDB counters, and the statements that took most time."""

    name = "mysql"
    summary = "the MariaDB or MySQL server: session states, lock waits, InnoDB counters, top statements"
    Options = MysqlMonitorOptions
    needs = frozenset({MYSQL_STATISTICS})
    notes = NOTES
    observed = Observed
    table = samples.TABLE
    tables: ClassVar[Mapping[str, SampleTable]] = {
        "waits": samples.WAITS_TABLE,
        "statements": samples.STATEMENTS_TABLE,
    }

    def __init__(
        self,
        options: MysqlMonitorOptions,
        context: MonitorContext,
        *,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(options, context, monotonic=monotonic)
        self._mariadb = True
        self._sessions_sql: str | None = None
        self._locks_sql: str | None = None
        self._metrics = self._engine_status = False
        self._before: Numbers = {}
        self._checkpoint_lsn: int | None = None
        self._longest_s, self._row_locks = 0.0, 0
        self._thread: Path | None = None
        self._ticks_before = 0
        self._statements_before: samples.Reading | None = None

    def _open(self, observed: Observed) -> Link:
        connection = observed.address.connect(
            limit_s=CONNECT_LIMIT_S, during="measure", answer_limit_s=ANSWER_LIMIT_S,
            application=APPLICATION,
        )  # fmt: skip
        return Link(connection)

    def _begin(self, link: Link, observed: Observed) -> None:
        """Find out product and rights, and take the counters' base."""
        [(version, _, performance_schema)] = link.ask(queries.IDENTITY)
        self._mariadb = "mariadb" in str(version).lower()
        schema = bool(int(performance_schema))
        self._notes.setdefault("mysql-executing", "")
        if not link.ask(queries.PROCESS_RIGHT) and not self._permitted(link, queries.METRICS):
            self._notes.setdefault("mysql-others-hidden", "")
        transactions = queries.sessions(mariadb=self._mariadb, transactions=True)
        plain = queries.sessions(mariadb=self._mariadb, transactions=False)
        self._sessions_sql = next(
            (sql for sql in (transactions, plain) if self._permitted(link, sql, [observed.database])), None
        )
        self._locks_sql = queries.LOCKS_MARIADB if self._mariadb else queries.LOCKS_MYSQL if schema else None
        self._metrics = not self._mariadb and self._permitted(link, queries.METRICS)
        self._engine_status = not self._mariadb and self._permitted(link, queries.ENGINE_STATUS)
        self._checkpoint_lsn = None
        self._before = self._status(link)[0]
        self._find_thread(link, schema=schema)
        self._read_s, self._looks = self._monotonic(), 0
        self._waits.take()
        if self._statements_before is None and self.options.statements:
            self._begin_statements(link, observed, schema=schema)

    def _permitted(self, link: Link, sql: str, values: list[Any] | None = None) -> bool:
        """True if the server answers the query."""
        try:
            link.ask(sql, values)
        except AnswerError as error:
            if "PROCESS" not in str(error):
                self._notes.setdefault("refused", str(error))
            return False
        return True

    def _begin_statements(self, link: Link, observed: Observed, *, schema: bool) -> None:
        if not schema:
            self._notes["mysql-statements-off"] = ""
            return
        try:
            self._statements_before = samples.read(link, observed.database)
        except AnswerError as error:
            self._notes["mysql-statements-refused"] = str(error)

    # -- looking

    def _look(self, *, complete: bool) -> list[Row]:
        """One look at the sessions; a `complete` one reads the counters too, and gives the row."""
        assert self._link is not None
        observed = self.context.observed
        if self._sessions_sql is not None:
            look = samples.Sessions(self._link.ask(self._sessions_sql, [observed.database]))
            self._waits.look(look.records)
            self._longest_s = max(self._longest_s, look.longest_s)
            self._row_locks = look.row_locks
        self._looks += 1
        if not complete:
            return []
        counted, levels = self._status(self._link)
        pairs, blockers = self._locks(self._link)
        before, self._before = self._before, counted
        row = grown(before, counted)
        requests, read = row.pop("read_requests", None), row.get("blocks_read")
        row["read_requests"] = requests
        row["blocks_hit"] = None if requests is None or read is None else max(0, requests - read)
        now_s = self._monotonic()
        elapsed_s, self._read_s, self._looks = now_s - self._read_s, now_s, 0
        longest_s, self._longest_s = self._longest_s, 0.0
        averages, waits = self._waits.take()
        self._further["waits"] = waits
        self._note_cost()
        return [
            {
                "elapsed_s": elapsed_s, **averages, "longest_statement_s": longest_s, "lock_waits": pairs,
                "blocking_transactions": blockers, **row, **levels,
            }
        ]  # fmt: skip

    def _locks(self, link: Link) -> tuple[int | None, int | None]:
        """Pairs of transactions of which one waits for the other, and transactions waited for.

        Asked only where the look found waiting sessions: the server collects its locks for it.
        """
        if self._locks_sql is None or not self._row_locks:
            return (None, None) if self._locks_sql is None else (0, 0)
        try:
            [(pairs, blockers)] = link.ask(self._locks_sql)
        except AnswerError as error:
            self._notes.setdefault("refused", str(error))
            self._locks_sql = None
            return None, None
        return int(pairs), int(blockers)

    def _status(self, link: Link) -> tuple[Numbers, Numbers]:
        """Running counters and present values that the server has."""
        status = {str(name): int(value) for name, value in link.ask(queries.STATUS) if str(value).isdigit()}
        counted: Numbers = {column: status[name] for column, name in COUNTERS.items() if name in status}
        levels: Numbers = {column: status[name] for column, name in LEVELS.items() if name in status}
        checkpoint_lsn = status.get(queries.CHECKPOINT_LSN)
        if self._metrics:
            metrics = {str(name): int(value) for name, value in link.ask(queries.METRICS)}
            if "lock_deadlocks" in metrics:
                counted["deadlocks"] = metrics["lock_deadlocks"]
            if "trx_rseg_history_len" in metrics:
                levels["history_list"] = metrics["trx_rseg_history_len"]
        if self._engine_status:
            numbers = queries.checkpoint(str(link.ask(queries.ENGINE_STATUS)[0][2]))
            if numbers is not None:
                levels["checkpoint_age_bytes"] = numbers[0] - numbers[1]
                checkpoint_lsn = numbers[1]
        advanced = None
        if checkpoint_lsn is not None and self._checkpoint_lsn is not None:
            advanced = int(checkpoint_lsn > self._checkpoint_lsn)
        levels["checkpoints"], self._checkpoint_lsn = advanced, checkpoint_lsn
        return counted, levels

    # -- cost

    def _find_thread(self, link: Link, *, schema: bool) -> None:
        """The server's thread of this session, if the server is on this machine."""
        self._thread = None
        if not self._mariadb and not schema:
            return
        try:
            answer = link.ask(queries.THREAD_MARIADB if self._mariadb else queries.THREAD_MYSQL)
        except AnswerError:
            return
        for pid in self.context.roots() if answer and answer[0][0] else ():
            path = Path(f"/proc/{pid}/task/{int(answer[0][0])}/stat")
            ticks = _ticks(path)
            if ticks is not None:
                # a thread may have served earlier sessions
                self._thread, self._ticks_before = path, ticks

    def _note_cost(self) -> None:
        ticks = _ticks(self._thread) if self._thread is not None else None
        if ticks is not None:
            self._ticks[self._connects] = ticks - self._ticks_before

    # -- statements

    def _end_statements(self) -> list[Row]:
        if self._statements_before is None or self._link is None:
            return []
        database = self.context.observed.database
        now = samples.read(self._link, database)
        statements = samples.top(self._statements_before, now, self.options.statements)
        if any(row["query_id"] == "prepared" for row in statements):
            self._notes.setdefault("mysql-executions", "")
        self._further["statements"] = samples.with_texts(self._link, database, statements)
        return []


def _ticks(path: Path) -> int | None:
    """CPU time of a thread in clock ticks (proc(5), fields utime and stime); None if it is gone."""
    fields = read_small(path).rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12]) if len(fields) > 12 else None


PART = MysqlMonitor
