"""TPC-C as BenchmarkSQL 5 runs it: its tables, its five transactions, its terminals."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, ClassVar

from pydantic import Field, model_validator

from loadcell.model.extensions import MYSQL, POSTGRES, TargetKind
from loadcell.model.json import JsonObject
from loadcell.model.message import Labels, MessageCode, Seconds
from loadcell.model.metrics import declare
from loadcell.plan.data_size import DataSize
from loadcell.plan.parts import Advice, Misfit, Options
from loadcell.plan.problems import SettingError
from loadcell.plan.workload import TERMINAL, Ask, Condition, Variants, Verification, Workload
from loadcell.workloads.sysbench import RetriedErrors, StatementProtocol, unknown_protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from loadcell.plan.model import Load, Resolved

TPCC_TOO_MANY_TERMINALS = MessageCode("tpcc.too-many-terminals", clients=str, most=str, warehouses=str)
TPCC_SHORT_TRIAL = MessageCode("tpcc.short-trial", "caution", cycle_s=Seconds, duration_s=Seconds)
TPCC_WEIGHTS = MessageCode("tpcc.weights", total=str, weights=str)
TPCC_NEW_ORDERS = MessageCode("metric-meaning.tpcc-new-orders", "info")
TPCC_TRANSACTIONS = MessageCode("metric-meaning.tpcc-transactions", "info")

#: Outcomes that reports explain.
_OUTCOME = Labels("outcome", ("new_order_rolled_back", "delivery_skipped"))
_NOTE = Labels(
    "note",
    (
        "tpcc.unaudited",
        "tpcc.limited",
        "tpcc.no-waits",
        "tpcc.keying",
        "tpcc.thinking",
        "tpcc.keying-and-thinking",
    ),
)
#: Terminals of a warehouse: one for each of its districts (TPC-C clause 4.2.2).
TERMINALS_PER_WAREHOUSE = 10
#: All tables that the engine creates (engine/workloads/src/tpcc/schema.rs).
_TABLES = (
    "bmsql_stock", "bmsql_order_line", "bmsql_customer", "bmsql_oorder", "bmsql_history", "bmsql_item",
    "bmsql_new_order", "bmsql_district", "bmsql_warehouse", "bmsql_config",
)  # fmt: skip
#: A transaction with its mean keying and thinking takes a terminal about this long (clause 5.2.5.7,
#: weighted).
_CYCLE_S = 21
_ENOUGH_CYCLES = 5

#: Bytes of a warehouse and of the rest (see `Tpcc.data_size`).
_POSTGRES_BYTES = (106_900_000, 22_700_000)
_MYSQL_BYTES = (100_200_000, 18_600_000)

declare("tpmC", "count", TPCC_NEW_ORDERS())
declare("tpmTotal", "count", TPCC_TRANSACTIONS())

_STOCK_LEVEL = "stock_level"
_Weight = Annotated[int, Field(ge=0, le=100)]


class TpccOptions(Options):
    """Clients of the load are terminals: `load.clients` of them, at most 10 for each warehouse."""

    warehouses: int = Field(
        default=1, ge=1, le=50_000, description="Scale of the data: about 100 MB, and 10 terminals, each."
    )
    new_order_weight: _Weight = Field(default=45, description="New-Orders, of 100 transactions.")
    payment_weight: _Weight = Field(default=43, description="Payments.")
    order_status_weight: _Weight = Field(default=4, description="Order-Status.")
    delivery_weight: _Weight = Field(default=4, description="Deliveries, each of ten orders.")
    stock_level_weight: _Weight = Field(default=4, description="Stock-Level.")
    terminal_warehouse_fixed: bool = Field(
        default=True,
        description="Each terminal stays with its own warehouse and district; `false`: it draws them for "
        "each transaction.",
    )
    limit_txns_per_min: int = Field(
        default=0,
        ge=0,
        le=10_000_000_000,
        description="All terminals together start no more transactions a minute. 0: no limit.",
    )
    keying_time: bool = Field(
        default=False, description="Terminals wait as long as typing takes (TPC-C clause 5.2.5.7): 2 to 18 s."
    )
    think_time: bool = Field(
        default=False,
        description="Terminals wait as long as thinking takes (same clause): 5 to 12 s on average.",
    )
    protocol: StatementProtocol = "prepared"
    retry_sqlstates: RetriedErrors = ("40001", "40P01")
    load_workers: int = Field(
        default=4,
        ge=1,
        le=1_000,
        description="Connections that load the data, which are the same with any number.",
    )

    @model_validator(mode="after")
    def _weights_sum_to_100(self) -> TpccOptions:
        weights = {
            name: getattr(self, name)
            for name in (
                "new_order_weight",
                "payment_weight",
                "order_status_weight",
                "delivery_weight",
                "stock_level_weight",
            )
        }
        total = sum(weights.values())
        if total != 100:
            sum_text = " + ".join(f"{name} {weight}" for name, weight in weights.items())
            raise SettingError(TPCC_WEIGHTS(total=total, weights=sum_text))
        return self


class Tpcc(Workload[TpccOptions]):
    """TPC-C's tables and terminals, as the engine runs them."""

    name = "tpcc"
    variants = Variants()
    summary = "TPC-C as BenchmarkSQL 5 runs it: tpmC and tpmTotal"
    Options = TpccOptions
    needs = frozenset({POSTGRES, MYSQL})
    verified: ClassVar[Verification | None] = Verification("tpcc-consistency")
    client_noun = TERMINAL

    def data(self) -> JsonObject:
        return {"tpcc": {"warehouses": self.options.warehouses}}

    def data_size(self, target: TargetKind) -> DataSize:
        """Bytes of a warehouse, and of the items that all share; orders add to them during a trial.

        Source: databases of 1, 2 and 4 warehouses, loaded by loadcell into PostgreSQL 18 (pg_database_size)
        and MariaDB 10.11 (DATA_LENGTH + INDEX_LENGTH).
        """
        unit, fixed = _POSTGRES_BYTES if POSTGRES in target.offers else _MYSQL_BYTES
        return DataSize("warehouses", self.options.warehouses, unit, fixed)

    def table_names(self) -> tuple[str, ...]:
        return _TABLES

    @property
    def changes_data(self) -> bool:
        return True

    def parallel_statements(self, operations: Mapping[str, int], statements: int) -> int:  # noqa: ARG002
        """One of each stock level: its join of stock and order lines."""
        return operations.get(_STOCK_LEVEL, 0)

    def engine(self) -> JsonObject:
        return {"tpcc": self.options.model_dump(mode="json")}

    def figures(self, succeeded: Mapping[str, int], seconds: float) -> dict[str, float]:
        """tpmC and tpmTotal: what was completed per minute. Failed transactions are in neither."""
        named = {"tpmC": "new_order", "tpmTotal": "transaction"}
        return {
            figure: succeeded[name] * 60 / seconds
            for figure, name in named.items()
            if name in succeeded and seconds > 0
        }

    def notes(self) -> tuple[str, ...]:
        options = self.options
        waits = {
            (False, False): "tpcc.no-waits",
            (True, False): "tpcc.keying",
            (False, True): "tpcc.thinking",
            (True, True): "tpcc.keying-and-thinking",
        }
        limited = ("tpcc.limited",) if options.limit_txns_per_min else ()
        return ("tpcc.unaudited", waits[options.keying_time, options.think_time], *limited)

    def verify(self, ask: Ask) -> list[Condition]:
        return check_consistency(ask)

    def unretried(self, load: Load, target: TargetKind) -> Sequence[str]:
        code = "40P01" if POSTGRES in target.offers else "40001"
        retried = code in self.options.retry_sqlstates and load.max_retries > 0
        return () if retried or (load.clients or 0) < 2 else (code,)

    def misfits(self, load: Load, target: TargetKind | None) -> list[Misfit]:
        misfits = unknown_protocol(self.name, self.options.protocol, target)
        most = self.options.warehouses * TERMINALS_PER_WAREHOUSE
        if load.clients is None or load.clients <= most:
            return misfits
        return [
            *misfits,
            Misfit(
                "load.clients",
                TPCC_TOO_MANY_TERMINALS(clients=load.clients, warehouses=self.options.warehouses, most=most),
            ),
        ]

    def remarks(self, settings: Resolved) -> list[Advice]:
        waits = self.options.keying_time or self.options.think_time
        if not waits or settings.load.duration >= _CYCLE_S * _ENOUGH_CYCLES:
            return []
        return [
            Advice("load.duration", TPCC_SHORT_TRIAL(cycle_s=_CYCLE_S, duration_s=_CYCLE_S * _ENOUGH_CYCLES))
        ]


PART = Tpcc


_SQL: dict[str, tuple[str, str]] = {
    "1: w_ytd = sum(d_ytd)": (
        "warehouse {}: w_ytd {}, sum(d_ytd) {}",
        """
        SELECT count(*) OVER (), w_id, w_ytd, d_ytd
        FROM bmsql_warehouse
        LEFT JOIN (SELECT d_w_id, sum(d_ytd) AS d_ytd FROM bmsql_district GROUP BY d_w_id) AS districts
            ON d_w_id = w_id
        WHERE w_ytd <> d_ytd OR (w_ytd IS NULL) <> (d_ytd IS NULL)
        ORDER BY w_id LIMIT 1
        """,
    ),
    # Where no order waits there is no max(no_o_id), and nothing to compare.
    "2: d_next_o_id - 1 = max(o_id) = max(no_o_id)": (
        "warehouse {} district {}: d_next_o_id - 1 is {}, max(o_id) {}, max(no_o_id) {}",
        """
        SELECT count(*) OVER (), d_w_id, d_id, last_o_id, o_id, no_o_id
        FROM (
            SELECT d_w_id, d_id, d_next_o_id - 1 AS last_o_id,
                (SELECT max(o_id) FROM bmsql_oorder WHERE o_w_id = d_w_id AND o_d_id = d_id) AS o_id,
                (SELECT max(no_o_id) FROM bmsql_new_order
                    WHERE no_w_id = d_w_id AND no_d_id = d_id) AS no_o_id
            FROM bmsql_district
        ) AS districts
        WHERE last_o_id <> o_id OR (last_o_id IS NULL) <> (o_id IS NULL) OR no_o_id <> last_o_id
        ORDER BY d_w_id, d_id LIMIT 1
        """,
    ),
    "3: max(no_o_id) - min(no_o_id) + 1 = count(new_order)": (
        "warehouse {} district {}: max(no_o_id) {}, min(no_o_id) {}, count {}",
        """
        SELECT count(*) OVER (), no_w_id, no_d_id, max(no_o_id), min(no_o_id), count(*)
        FROM bmsql_new_order
        GROUP BY no_w_id, no_d_id
        HAVING max(no_o_id) - min(no_o_id) + 1 <> count(*)
        ORDER BY no_w_id, no_d_id LIMIT 1
        """,
    ),
    "4: sum(o_ol_cnt) = count(order_line)": (
        "warehouse {} district {}: sum(o_ol_cnt) {}, count(order_line) {}",
        """
        SELECT count(*) OVER (), w_id, d_id, sum(promised), sum(there)
        FROM (
            SELECT o_w_id AS w_id, o_d_id AS d_id, sum(o_ol_cnt) AS promised, 0 AS there
            FROM bmsql_oorder GROUP BY o_w_id, o_d_id
            UNION ALL
            SELECT ol_w_id, ol_d_id, 0, count(*) FROM bmsql_order_line GROUP BY ol_w_id, ol_d_id
        ) AS districts
        GROUP BY w_id, d_id
        HAVING sum(promised) <> sum(there)
        ORDER BY w_id, d_id LIMIT 1
        """,
    ),
}


def check_consistency(ask: Ask) -> list[Condition]:
    """Ask whether each condition holds; about half a second a gigabyte of data."""
    conditions = []
    for says, (example, sql) in _SQL.items():
        rows = ask(sql)
        if rows:
            wrong, *first = rows[0]
            conditions.append(Condition(says, int(wrong), example.format(*first)))
        else:
            conditions.append(Condition(says, 0))
    return conditions
