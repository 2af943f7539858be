"""The OLTP scripts of sysbench, under their own names, with their own options and defaults."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal, get_args

from pydantic import AfterValidator, Field, model_validator

from loadcell.model.extensions import MYSQL, POSTGRES, TargetKind
from loadcell.model.json import JsonObject
from loadcell.model.message import MessageCode
from loadcell.plan.data_size import DataSize
from loadcell.plan.parts import Advice, Misfit, Options
from loadcell.plan.problems import SettingError
from loadcell.plan.workload import Variants, Workload

if TYPE_CHECKING:
    from collections.abc import Sequence

    from loadcell.plan.model import Load

SYSBENCH_ONE_TABLE = MessageCode("sysbench.one-table", "caution", script=str)
SYSBENCH_ONLY_DELETES = MessageCode("sysbench.only-deletes", "caution")
SYSBENCH_NO_INDEX = MessageCode("sysbench.no-index", "caution")
SYSBENCH_RANGE_TOO_LARGE = MessageCode("sysbench.range-too-large", "caution", range_size=str, table_size=str)
SQL_NO_PROTOCOL = MessageCode("sql.no-protocol", protocol=str)
SYSBENCH_LARGEST_ID = MessageCode("sysbench.largest-id", name=str, largest=str)
SYSBENCH_NO_STATEMENT = MessageCode("sysbench.no-statement", script=str)

Script = Literal[
    "oltp_read_write",
    "oltp_read_only",
    "oltp_write_only",
    "oltp_point_select",
    "oltp_insert",
    "oltp_delete",
    "oltp_update_index",
    "oltp_update_non_index",
    "select_random_points",
    "select_random_ranges",
]

#: The largest id: columns are INTEGER, and the end of a range must fit too.
_INTEGER_MAX = 2**31 - 1

#: Scripts that read and write, those of one writing statement, and those that know one table only.
_MIXED = ("oltp_read_write", "oltp_write_only")
_WRITING = ("oltp_insert", "oltp_delete", "oltp_update_index", "oltp_update_non_index")
_FIRST_TABLE_ONLY = ("select_random_points", "select_random_ranges")

#: PostgreSQL's error where two transactions delete a row and insert it again.
_DUPLICATE = "23505"
#: Conflicts are to be expected if this share of transactions changes a row that another one in progress
#: changes: one a minute at 10,000 transactions per second.
_FEW_CONFLICTS = 1 / 600_000
#: How much more often two draws of `special` are the same row: 75% of them are of 1% of the rows.
_SPECIAL = 0.75**2 / 0.01 + 0.25**2 / 0.99

#: What decides the rows and indexes that are loaded.
_OF_THE_DATA = {"tables", "table_size", "auto_inc", "create_secondary", "distribution"}

#: Bytes of a row, of its entry in index `k`, and of an empty table (see `Sysbench.data_size`).
_POSTGRES_BYTES = (243, 20, 97_000)
_MYSQL_BYTES = (224, 21, 33_000)

_Count = Annotated[int, Field(ge=0, le=1_000_000)]
#: Connections that load the data.
LOAD_WORKERS = 4
StatementProtocol = Annotated[
    Literal["simple", "extended", "prepared"],
    Field(
        description="How statements are sent: as text, parsed for each execution (PostgreSQL only), or "
        "parsed once for a connection."
    ),
]
#: SQLSTATEs without repetitions.
RetriedErrors = Annotated[
    tuple[Annotated[str, Field(pattern=r"^[0-9A-Z]{5}$")], ...],
    AfterValidator(lambda values: tuple(dict.fromkeys(values))),
    Field(
        description="Errors after which a transaction is tried again with the same values, up to "
        "`load.max_retries`. Default: serialisation failure and deadlock (with MySQL 40001 means lock waits "
        "that timed out, too)."
    ),
]


def unknown_protocol(workload: str, protocol: str, target: TargetKind | None) -> list[Misfit]:
    """The misfit of statements that are parsed for each execution, which only PostgreSQL's protocol has."""
    if protocol != "extended" or target is None or MYSQL not in target.offers:
        return []
    return [Misfit(f"workload.{workload}.protocol", SQL_NO_PROTOCOL(protocol=protocol))]


class SysbenchOptions(Options):
    """Options that a script has no use for are ignored by it, as sysbench does."""

    script: Script = Field(default="oltp_read_write", description="Which statements make one transaction.")
    tables: int = Field(default=1, ge=1, le=1_000_000, description="Number of tables, `sbtest1` and on.")
    table_size: int = Field(default=10_000, ge=1, le=_INTEGER_MAX, description="Rows of each table.")
    range_size: int = Field(default=100, ge=1, le=_INTEGER_MAX, description="Rows that a range query reads.")
    point_selects: _Count = Field(default=10, description="Point queries in a transaction.")
    simple_ranges: _Count = Field(default=1, description="Range queries in a transaction.")
    sum_ranges: _Count = Field(default=1, description="Range queries with SUM() in a transaction.")
    order_ranges: _Count = Field(default=1, description="Range queries with ORDER BY in a transaction.")
    distinct_ranges: _Count = Field(default=1, description="Range queries with DISTINCT in a transaction.")
    range_selects: bool = Field(
        default=True, description="`false` leaves all four kinds of range queries out."
    )
    index_updates: _Count = Field(default=1, description="UPDATEs of the indexed column in a transaction.")
    non_index_updates: _Count = Field(
        default=1, description="UPDATEs of a column without index in a transaction."
    )
    delete_inserts: _Count = Field(
        default=1, description="Pairs of DELETE and INSERT (of one id) in a transaction."
    )
    skip_trx: bool = Field(
        default=False, description="No BEGIN and COMMIT: every statement commits by itself."
    )
    auto_inc: bool = Field(
        default=True,
        description="Ids are the server's (SERIAL, AUTO_INCREMENT); `false`: plain integers that the client "
        "draws.",
    )
    create_secondary: bool = Field(default=True, description="Whether column `k` has an index.")
    distribution: Literal["uniform", "special"] = Field(
        default="uniform",
        description="How ids are drawn. `special` is what sysbench 1.0 does: 1 % of the ids get 75 % of the "
        "draws.",
    )
    random_points: int = Field(
        default=10, ge=1, le=10_000, description="`select_random_points`: values in its IN list."
    )
    number_of_ranges: int = Field(
        default=10, ge=1, le=10_000, description="`select_random_ranges`: ranges that are joined by OR."
    )
    delta: int = Field(
        default=5, ge=0, le=_INTEGER_MAX, description="`select_random_ranges`: width of each range."
    )
    protocol: StatementProtocol = "prepared"
    retry_sqlstates: RetriedErrors = ("40001", "40P01")

    @model_validator(mode="after")
    def _is_consistent(self) -> SysbenchOptions:
        room = _INTEGER_MAX - self.table_size
        for name, width in (("range_size", self.range_size - 1), ("delta", self.delta)):
            if width > room:
                raise SettingError(SYSBENCH_LARGEST_ID(name=name, largest=_INTEGER_MAX))
        if self.script.startswith("oltp_") and self.skip_trx and self._statements() == 0:
            raise SettingError(SYSBENCH_NO_STATEMENT(script=self.script))
        return self

    def reads(self) -> int:
        """Reading statements of one transaction of a mixed or reading script."""
        ranges = self.simple_ranges + self.sum_ranges + self.order_ranges + self.distinct_ranges
        return self.point_selects + (ranges if self.range_selects else 0)

    def writes(self) -> int:
        """Writing statements of one transaction of a mixed script."""
        return self.index_updates + self.non_index_updates + 2 * self.delete_inserts

    def _statements(self) -> int:
        match self.script:
            case "oltp_read_write":
                return self.reads() + self.writes()
            case "oltp_read_only":
                return self.reads()
            case "oltp_write_only":
                return self.writes()
        return 1


class Sysbench(Workload[SysbenchOptions]):
    """sysbench's OLTP tables and scripts, as the engine runs them."""

    name = "sysbench"
    variants = Variants("script", get_args(Script))
    summary = "sysbench's OLTP scripts: oltp_read_write, oltp_read_only, ..."
    Options = SysbenchOptions
    needs = frozenset({POSTGRES, MYSQL})

    def data(self) -> JsonObject:
        return {"sysbench": self.options.model_dump(mode="json", include=_OF_THE_DATA)}

    def data_size(self, target: TargetKind) -> DataSize:
        """Bytes of rows with primary key and index `k`, as loaded (without bloat of updates).

        Source: size of databases with 1, 100,000 and 400,000 rows, and with 1 and 51 tables, loaded by
        loadcell into PostgreSQL 18 (pg_database_size) and MariaDB 10.11 (DATA_LENGTH + INDEX_LENGTH).
        """
        row, index, table = _POSTGRES_BYTES if POSTGRES in target.offers else _MYSQL_BYTES
        row += index if self.options.create_secondary else 0
        return DataSize(
            "table_size", self.options.table_size, self.options.tables * row, self.options.tables * table
        )

    def table_names(self) -> tuple[str, ...]:
        return tuple(f"sbtest{number}" for number in range(1, self.options.tables + 1))

    @property
    def changes_data(self) -> bool:
        script = self.options.script
        return script in _WRITING or (script in _MIXED and self.options.writes() > 0)

    def engine(self) -> JsonObject:
        return {"sysbench": {**self.options.model_dump(mode="json"), "load_workers": LOAD_WORKERS}}

    def unretried(self, load: Load, target: TargetKind) -> Sequence[str]:
        options, clients = self.options, load.clients or 0
        if options.script not in _MIXED or options.skip_trx or options.writes() < 2:
            return ()
        rows = options.tables * options.table_size / (_SPECIAL if options.distribution == "special" else 1)
        if (clients - 1) * options.writes() ** 2 / rows < _FEW_CONFLICTS:
            return ()
        codes = ["40P01"] if POSTGRES in target.offers else ["40001"]
        if POSTGRES in target.offers and options.delete_inserts:
            codes.append(_DUPLICATE)
        return [code for code in codes if code not in options.retry_sqlstates or load.max_retries == 0]

    def misfits(self, load: Load, target: TargetKind | None) -> list[Misfit]:  # noqa: ARG002
        return unknown_protocol(self.name, self.options.protocol, target)

    def advice(self) -> list[Advice]:
        options = self.options
        advice = []
        if options.script in _FIRST_TABLE_ONLY and options.tables > 1:
            advice.append(Advice("tables", SYSBENCH_ONE_TABLE(script=options.script)))
        if options.script == "oltp_delete":
            advice.append(Advice("script", SYSBENCH_ONLY_DELETES()))
        if options.script == "select_random_points" and not options.create_secondary:
            advice.append(Advice("create_secondary", SYSBENCH_NO_INDEX()))
        if options.range_size > options.table_size:
            advice.append(
                Advice(
                    "range_size",
                    SYSBENCH_RANGE_TOO_LARGE(range_size=options.range_size, table_size=options.table_size),
                )
            )
        return advice


PART = Sysbench
