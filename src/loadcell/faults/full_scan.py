"""`full-scan`: the whole of a table is read again and again."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator, Mapping

from pydantic import Field

from loadcell.faults.base import FaultError
from loadcell.faults.statement_fault import NO_TABLE, StatementFault, StatementOptions
from loadcell.model.message import MessageError
from loadcell.plan.parts import Misfit
from loadcell.systems.subjects import SubjectAbilities

_LARGEST = (
    "SELECT c.oid::regclass::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
    "WHERE c.relkind = 'r' AND n.nspname NOT IN ('pg_catalog', 'information_schema') "
    "AND has_table_privilege(c.oid, 'SELECT') ORDER BY pg_relation_size(c.oid) DESC, 1 LIMIT 1"
)
_NAME = re.compile(r'[^\0;"\']+')
#: How long a scan may take to end after its cancellation.
_END_LIMIT_S = 10.0


class FullScanOptions(StatementOptions, use_attribute_docstrings=True):
    """Options of a full scan."""

    table: str | None = Field(default=None, min_length=1)
    """Table that is read. Default: the largest table of the load's database."""


class FullScan(StatementFault[FullScanOptions]):
    """Read a table without an index, again and again. Its connection closes with the run."""

    name = "full-scan"
    summary = "Read the whole of a table again and again, by a sequential scan in one session"
    Options = FullScanOptions

    @classmethod
    def misfits(cls, options: FullScanOptions, subjects: Mapping[str, SubjectAbilities]) -> Iterator[Misfit]:
        yield from super().misfits(options, subjects)
        if options.table is not None and not _NAME.fullmatch(options.table):
            yield Misfit("table", NO_TABLE(table=options.table))

    def apply(self) -> None:
        self._end = threading.Event()
        self._error: MessageError | None = None
        begun = threading.Event()
        self._thread = threading.Thread(target=self._scan, args=(begun,), name="full-scan", daemon=True)
        self._thread.start()
        begun.wait()
        if self._error is not None:
            raise self._error

    def restore(self) -> None:
        self._end.set()
        with self.open_session() as execute:
            execute(f"SELECT pg_cancel_backend({self._backend})")
        self._thread.join(_END_LIMIT_S)
        if self._error is not None and self._thread.is_alive():
            raise self._error

    def _scan(self, begun: threading.Event) -> None:
        try:
            with self.open_session() as execute:
                [[self._backend]] = execute("SELECT pg_backend_pid()")
                rows = list(execute(_LARGEST)) if self.options.table is None else [(self.options.table,)]
                if not rows:
                    raise FaultError(NO_TABLE(table="-"))
                for setting in ("enable_indexscan", "enable_indexonlyscan", "enable_bitmapscan"):
                    execute(f"SET {setting} = off")
                execute(f"SELECT 1 FROM {rows[0][0]} LIMIT 0")  # noqa: S608 - a checked name
                # In one transaction that is rolled back: the load's commits are counted.
                execute("BEGIN")
                begun.set()
                while not self._end.is_set():
                    execute(f"SELECT count(*) FROM {rows[0][0]}")  # noqa: S608 - a checked name
        except MessageError as error:
            if not self._end.is_set():
                self._error = error
        finally:
            begun.set()


PART = FullScan
