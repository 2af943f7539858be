"""`full-scan`: the whole of a table is read again and again."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping

from pydantic import Field

from loadcell.faults.base import ENDED_EARLY, EndedEarlyError, FaultError
from loadcell.faults.statement_fault import (
    NO_TABLE,
    STATEMENT_LIMIT_S,
    UNANSWERED,
    StatementFault,
)
from loadcell.model.message import MessageError
from loadcell.plan.parts import Misfit, SubjectOptions
from loadcell.systems.subjects import RunStatement, SubjectAbilities

_LARGEST = (
    "SELECT c.oid::regclass::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
    "WHERE c.relkind = 'r' AND n.nspname NOT IN ('pg_catalog', 'information_schema') "
    "AND has_table_privilege(c.oid, 'SELECT') ORDER BY pg_relation_size(c.oid) DESC, 1 LIMIT 1"
)
#: The table of a name, as it is or as SQL reads it: `My Table`, `public.orders`, `"a.b"`.
_NAMED = (
    "SELECT c.oid::regclass::text FROM pg_class c "
    "WHERE c.oid = coalesce(to_regclass(quote_ident({name})), to_regclass({name})) "
    "AND c.relkind IN ('r', 'p', 'm')"
)
#: How long a scan may take to end after its cancellation.
_END_LIMIT_S = 10.0


class FullScanOptions(SubjectOptions, use_attribute_docstrings=True):
    """Options of a full scan."""

    table: str | None = Field(default=None, min_length=1)
    """Table that is read. Default: the largest table of the load's database."""


class FullScan(StatementFault[FullScanOptions]):
    """Read a table without an index, again and again. Its connection closes with the run."""

    name = "full-scan"
    summary = "Read the whole of a table again and again, by a sequential scan in one session"
    Options = FullScanOptions
    _begun = False

    @classmethod
    def misfits(cls, options: FullScanOptions, subjects: Mapping[str, SubjectAbilities]) -> Iterator[Misfit]:
        yield from super().misfits(options, subjects)
        if options.table is not None and not set(options.table).isdisjoint("\0\\"):
            yield Misfit("table", NO_TABLE(table=options.table))

    def apply(self) -> None:
        self._end = threading.Event()
        self._error: MessageError | None = None
        self._backend: int | None = None
        begun = threading.Event()
        self._thread = threading.Thread(target=self._scan, args=(begun,), name="full-scan", daemon=True)
        self._thread.start()
        if not begun.wait(STATEMENT_LIMIT_S):
            raise FaultError(UNANSWERED(subject=self.subject.name, limit_s=STATEMENT_LIMIT_S))
        if self._error is not None:
            raise self._error
        self._begun = True

    def restore(self) -> None:
        self._end.set()
        if self._thread.is_alive() and self._backend is not None:
            self.answered(self._cancel)
        self._thread.join(_END_LIMIT_S)
        if self._begun and self._error is not None:
            raise EndedEarlyError(ENDED_EARLY(subject=self.subject.name, error=str(self._error)))
        if self._thread.is_alive():
            raise FaultError(UNANSWERED(subject=self.subject.name, limit_s=_END_LIMIT_S))

    def _cancel(self) -> None:
        with self.open_session() as execute:
            execute(f"SELECT pg_cancel_backend({self._backend})")

    def _scan(self, begun: threading.Event) -> None:
        try:
            with self.open_session() as execute:
                [[self._backend]] = execute("SELECT pg_backend_pid()")
                table = _table(execute, self.options.table)
                for setting in ("enable_indexscan", "enable_indexonlyscan", "enable_bitmapscan"):
                    execute(f"SET {setting} = off")
                execute(f"SELECT 1 FROM {table} LIMIT 0")  # noqa: S608 - a quoted name of the server
                execute("SET statement_timeout = 0")
                # In one transaction that is rolled back: the load's commits are counted.
                execute("BEGIN")
                begun.set()
                while not self._end.is_set():
                    execute(f"SELECT count(*) FROM {table}")  # noqa: S608 - a quoted name of the server
        except MessageError as error:
            if not self._end.is_set():
                self._error = error
        finally:
            begun.set()


def _table(execute: RunStatement, name: str | None) -> str:
    """The table to read, as SQL names it. Raises FaultError, TargetError."""
    literal = None if name is None else "'" + name.replace("'", "''") + "'"
    rows = execute(_LARGEST if literal is None else _NAMED.format(name=literal))
    if not rows:
        raise FaultError(NO_TABLE(table=name or "-"))
    return str(rows[0][0])


PART = FullScan
