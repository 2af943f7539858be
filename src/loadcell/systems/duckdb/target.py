"""The target DuckDB: a database in a file made by loadcell, opened by the worker process."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from pydantic import ConfigDict, Field

from loadcell.linux import disks
from loadcell.model.extensions import DUCKDB
from loadcell.model.message import MessageCode
from loadcell.plan.parts import Options
from loadcell.plan.units import Size
from loadcell.profilers.launcher import SystemCode
from loadcell.systems.base import Endpoint, TargetFacts
from loadcell.systems.duckdb import load
from loadcell.systems.inprocess import DataFiles, InProcessOptions, InProcessTarget
from loadcell.systems.shared.disk_image import Image

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

STRANGER_DATABASE = MessageCode("stranger.database")
DUCKDB_DEDICATED_THREADS = MessageCode("duckdb.own-threads", "caution")

_FILE = "loadcell.duckdb"
#: Counts what loads have updated; the table is the workload's.
_UPDATED = "SELECT coalesce(sum(updates), 0)::BIGINT FROM readings"


class DuckdbOptions(InProcessOptions):
    """DuckDB in the worker process, on a database file made by loadcell."""

    model_config = ConfigDict(extra="forbid", frozen=True, title="duckdb")

    threads: int | None = Field(
        default=None,
        ge=1,
        le=1024,
        description="How many threads DuckDB works with. Default: as many as there are processors that it "
        "may run on (`affinity.target`).",
    )
    memory_limit: Annotated[Size, Field(ge=2**24, le=2**50)] | None = Field(
        default=None,
        description="How much memory DuckDB may use before it writes to disk. Default: DuckDB's own, 80% "
        "of the machine's.",
    )
    data: Annotated[str, Field(min_length=1)] | Image | None = Field(
        default=None,
        description="Directory on the storage to be measured. loadcell makes a directory `duckdb` in it. "
        "Default: the run's work directory. Or a file system in a file, which loadcell makes, mounts and "
        "removes: `{image: DIRECTORY, size: 2GiB, fs: ext4}`.",
    )


class _DatabaseFiles(DataFiles):
    kind, sign, stranger = "duckdb", _FILE, STRANGER_DATABASE()


@dataclass(frozen=True)
class DuckdbEndpoint(Endpoint):
    """A database file, and the configuration to open it with."""

    database: str
    config: Mapping[str, str | int]


class Duckdb(InProcessTarget[DuckdbOptions]):
    """DuckDB, in the process that makes the load."""

    name: ClassVar[str] = "duckdb"
    summary: ClassVar[str] = "DuckDB in the process that makes the load"
    Options: ClassVar[type[Options]] = DuckdbOptions
    offers = frozenset({DUCKDB})
    threads_advice = DUCKDB_DEDICATED_THREADS

    def _make_files(self, parent: Path) -> DataFiles:
        return _DatabaseFiles(parent, "duckdb", version("duckdb"), self.context.log)

    def _code(self) -> SystemCode:
        return SystemCode(("duckdb::",), ("_duckdb", "duckdb"))

    @property
    def threads(self) -> int:
        """Number of threads DuckDB works with."""
        return self.options.threads or self.context.pin.size or len(os.sched_getaffinity(0))

    def endpoint(self) -> DuckdbEndpoint:
        limit = self.options.memory_limit
        config: dict[str, str | int] = {"threads": self.threads}
        if limit is not None:
            config["memory_limit"] = f"{int(limit)}B"
        return DuckdbEndpoint("duckdb", str(self.files.data / _FILE), config)

    def describe(self) -> TargetFacts:
        with self._opened() as connection:
            asked = connection.execute(
                "SELECT version(), current_setting('threads'), current_setting('memory_limit'), "
                "current_setting('checkpoint_threshold')"
            ).fetchone()
        assert asked is not None
        settings, threads, limit, checkpoint = asked
        return TargetFacts(
            server="embedded",
            product="DuckDB",
            version=str(settings).removeprefix("v"),
            settings={"threads": threads, "memory_limit": limit, "checkpoint_threshold": checkpoint},
            size_bytes=disks.used_bytes(self.files.data),
            data=disks.file_system(self.files.data),
            storage=self.storage_facts(),
        )

    def counters(self) -> dict[str, int]:
        """Every update adds to its row's count, so that updates can be counted in the data."""
        [(updated,)] = self.ask(_UPDATED)
        return {"calls_update": int(updated)}

    def ask(self, question: str) -> list[tuple[Any, ...]]:
        with self._opened() as connection:
            return connection.execute(question).fetchall()

    def _opened(self) -> AbstractContextManager[DuckDBPyConnection]:
        endpoint = self.endpoint()
        return load.read_only(endpoint.database, endpoint.config)


PART = Duckdb
