"""Parts for plans that are only read: a database with free-form settings, a cache, two workloads, two
monitors.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from loadcell.model.extensions import Capability
from loadcell.model.json import JsonObject
from loadcell.model.message import as_written
from loadcell.monitors import target  # noqa: F401 - it declares the metrics of the target's processes
from loadcell.plan.load import LoadedPlan, load_plan
from loadcell.plan.model import Load
from loadcell.plan.parts import Advice, MonitorPart, Options, Opts, Parts, TargetPart
from loadcell.plan.problems import PlanError, Problem
from loadcell.plan.units import Duration, Fraction, Rate, Size
from loadcell.plan.workload import Workload

DATABASE, CACHE = Capability("database"), Capability("cache")


class FakeWorkload(Workload[Opts]):
    """A workload without data."""

    changes_data = False

    def data(self) -> None:
        return None

    def engine(self) -> JsonObject:
        return {}


class DatabaseOptions(Options):
    server: Literal["embedded", "local", "external"] = "embedded"
    dsn: str | None = None
    password: str | None = None
    data: str | None = None
    settings: dict[str, str | int | float | bool] = {}  # noqa: RUF012

    @property
    def external(self) -> bool:
        return self.server == "external"


class Database(TargetPart[DatabaseOptions]):
    name = "database"
    offers = frozenset({DATABASE})
    summary = "A database."
    Options = DatabaseOptions

    @classmethod
    def advice(cls, options: DatabaseOptions, load: Load) -> list[Advice]:
        most = int(options.settings.get("max_connections", 100))
        if (load.clients or 0) > most:
            return [
                Advice(
                    "target.database.settings.max_connections",
                    as_written(f"{load.clients} clients, {most} allowed"),
                )
            ]
        return []


class CacheOptions(Options):
    memory: Size = Size(1_000_000)


class Cache(TargetPart[CacheOptions]):
    name = "cache"
    offers = frozenset({CACHE})
    summary = "A cache."
    Options = CacheOptions


class MixOptions(Options):
    script: Literal["read_write", "read_only"] = "read_write"
    tables: int = 1
    ratio: float = 0.5
    think: Duration = Duration(0)
    goal: Rate | None = None
    share: Fraction = Fraction(1)


class Mix(FakeWorkload[MixOptions]):
    name = "mix"
    summary = "Reads and writes."
    Options = MixOptions

    def advice(self) -> list[Advice]:
        return [Advice("tables", as_written("one table is one hot spot"))] if self.options.tables == 1 else []


class SqlOptions(Options):
    text: str
    """The statement; it has no default."""


class Sql(FakeWorkload[SqlOptions]):
    name = "sql"
    summary = "One statement."
    Options = SqlOptions
    needs = frozenset({DATABASE})


class Operation(Options):
    weight: int = 1
    think: Duration = Duration(0)


class CallsOptions(Options):
    operations: dict[str, Operation] = {}  # noqa: RUF012
    first: Operation = Operation()
    passed_on: Any = None


class Calls(FakeWorkload[CallsOptions]):
    name = "calls"
    summary = "Named operations."
    Options = CallsOptions


class HostOptions(Options):
    disks: bool = True


class Host(MonitorPart[HostOptions]):
    name = "host"
    summary = "The machine."
    Options = HostOptions


class JvmOptions(Options):
    gc: bool = True


class Jvm(MonitorPart[JvmOptions]):
    name = "jvm"
    summary = "A Java process."
    Options = JvmOptions
    by_default = False
    default_for = frozenset({CACHE})


class CacheStats(MonitorPart[HostOptions]):
    name = "cache-stats"
    summary = "A cache from inside."
    Options = HostOptions
    needs = frozenset({CACHE})


PARTS = Parts(
    targets={"database": Database, "cache": Cache},
    workloads={"mix": Mix, "sql": Sql, "calls": Calls},
    monitors={"host": Host, "jvm": Jvm, "cache-stats": CacheStats},
)

#: a whole plan; tests put what they are about below it
PLAN = """\
target: {database: {}}
workload: {mix: {}}
load: {clients: 1}
"""


def read(
    directory: Path, text: str, *, sets: tuple[str, ...] = (), only: tuple[str, ...] = (), env: Any = None
) -> LoadedPlan:
    """The plan with this text."""
    path = directory / "plan.yaml"
    path.write_text(text, encoding="utf-8")
    return load_plan(path, PARTS, sets=sets, only=only, env={} if env is None else env)


def mistakes(directory: Path, text: str, **how: Any) -> list[Problem]:
    """Everything that is wrong with the plan with this text."""
    try:
        read(directory, text, **how)
    except PlanError as error:
        return list(error.problems)
    return []
