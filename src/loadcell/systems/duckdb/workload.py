"""A query workload as applications have it on DuckDB: one SELECT DISTINCT, fifty UPDATEs and one page of a
list.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from pydantic import ConfigDict, Field, model_validator

from loadcell.model.extensions import DUCKDB, TargetKind
from loadcell.model.json import JsonObject
from loadcell.model.message import Count, MessageCode
from loadcell.plan.parts import Advice, Misfit, Options
from loadcell.plan.problems import SettingError
from loadcell.plan.workload import Workload, declare_unit

if TYPE_CHECKING:
    from loadcell.plan.model import Load

DUCKDB_NO_TIMEOUT = MessageCode("duckdb.no-timeout")
DUCKDB_READS_ONLY = MessageCode("duckdb.reads-only", "caution")
DUCKDB_DISTINCT = MessageCode("duckdb.distinct", distinct=Count, rows=Count)
DUCKDB_PAGES = MessageCode("duckdb.pages", pages=Count, rows=Count, size=Count)

#: What decides the rows that are made.
_OF_THE_DATA = ("rows", "distinct")


class DuckdbOptions(Options):
    """The composite's parts, and the rows that they work on."""

    model_config = ConfigDict(extra="forbid", frozen=True, title="duckdb workload")

    rows: int = Field(
        default=1_000_000,
        ge=1_000,
        le=1_000_000_000,
        description="How many rows the table has; one takes about 10 bytes on disk, as DuckDB packs them.",
    )
    distinct: int = Field(
        default=10_000,
        ge=1,
        le=100_000_000,
        description="How many different names SELECT DISTINCT finds.",
    )
    updates: int = Field(
        default=50,
        ge=0,
        le=100_000,
        description="How many rows a composite updates, each by a separate statement.",
    )
    page_size: int = Field(default=50, ge=1, le=100_000, description="How many rows a page of the list has.")
    pages: int = Field(
        default=100, ge=1, le=1_000_000, description="Of how many pages, from the first on, one is drawn."
    )

    @model_validator(mode="after")
    def _is_consistent(self) -> DuckdbOptions:
        if self.distinct > self.rows:
            raise SettingError(DUCKDB_DISTINCT(distinct=self.distinct, rows=self.rows))
        if self.page_size * self.pages > self.rows:
            raise SettingError(DUCKDB_PAGES(pages=self.pages, size=self.page_size, rows=self.rows))
        return self


class Duckdb(Workload[DuckdbOptions]):
    """The composite: its three parts one after the other, each timed for itself."""

    name = "duckdb"
    summary = "a composite of queries on DuckDB: a SELECT DISTINCT, 50 UPDATEs, a page of a list"
    Options = DuckdbOptions
    needs = frozenset({DUCKDB})
    unit = declare_unit("composite")
    made_by: ClassVar[str | None] = "loadcell.systems.duckdb.load"
    #: a part that finds other rows than there are fails with the code `corrupt`
    verifies_values = True

    def data(self) -> JsonObject:
        return {"duckdb": self.options.model_dump(include=set(_OF_THE_DATA))}

    @property
    def changes_data(self) -> bool:
        return self.options.updates > 0

    def engine(self) -> JsonObject:
        return {"duckdb": self.options.model_dump()}

    def calls(self, operations: Mapping[str, int]) -> dict[str, int]:
        return {"update": operations.get("update", 0)} if self.options.updates else {}

    def misfits(self, load: Load, target: TargetKind | None) -> list[Misfit]:  # noqa: ARG002
        if load.timeout is None:
            return []
        return [Misfit("load.timeout", DUCKDB_NO_TIMEOUT())]

    def advice(self) -> list[Advice]:
        if self.options.updates == 0:
            return [Advice("updates", DUCKDB_READS_ONLY())]
        return []


PART = Duckdb
