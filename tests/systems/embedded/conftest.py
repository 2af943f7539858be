"""Stores in directories of the test's own, and loads on them by a worker process, as a run makes them."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from loadcell.execution.executor import LoadHooks, LoadOrder, WorkerExecutor
from loadcell.model.load_result import Interval, LoadEvent, LoadResult
from loadcell.plan.workload import DATA_SEED
from loadcell.systems.base import DataSet, DataSpec, Endpoint, TargetContext
from loadcell.systems.embedded.target import Store, StoreOptions
from loadcell.workloads.kv import Kv, KvOptions
from specifications import load_order

MS = 1_000_000
KEYS = 500


@dataclass
class Bench:
    """Makes targets that share one work directory, as the targets of one run do; `log` is what they said."""

    work: Path
    log: list[str] = field(default_factory=list)

    def store(self, **options: Any) -> Store:
        """A store that is up."""
        context = TargetContext(work=self.work, log=self.log.append, secret=lambda text: text)
        made = Store(StoreOptions(**{"sync": False, **options}), context)
        made.up()
        return made

    def prepare(self, store: Store, *, writes: bool = False, **kv: Any) -> DataSet:
        """The data set of such a load, made by the engine where it has to be."""
        workload = self.workload(writes=writes, **kv)

        def load(endpoint: Endpoint) -> int | None:
            order = self.order(endpoint, workload.engine(), DATA_SEED)
            return WorkerExecutor().prepare(order, LoadHooks(120, on_output=self.log.append)).rows

        return store.prepare(DataSpec(workload.data()), load, will_change=workload.changes_data)

    def run(
        self, store: Store, *, writes: bool = False, kill: bool = False, seconds: float = 0.2, **kv: Any
    ) -> LoadResult:
        """A load that verifies what it reads. With `kill` its process is killed as soon as it measures."""
        executor = WorkerExecutor()

        def on_event(event: LoadEvent) -> None:
            if kill and isinstance(event, Interval):
                executor.kill()

        section = self.workload(writes=writes, **kv).engine()
        order = self.order(store.endpoint(), section, 1, seconds)
        return executor.run(order, LoadHooks(120, on_event=on_event, on_output=self.log.append))

    def workload(self, *, writes: bool, **kv: Any) -> Kv:
        return Kv(KvOptions(**{"keys": KEYS, "verify": True, "reads": "50%" if writes else "100%", **kv}))

    def order(
        self, endpoint: Endpoint, workload: dict[str, Any], seed: int, seconds: float = 0.2
    ) -> LoadOrder:
        load = {
            "clients": 2,
            "warmup_ns": 0,
            "duration_ns": int(seconds * 1e9),
            "interval_ns": 50 * MS,
            "lost_ns": 200 * MS,
        }
        return load_order({"seed": seed, "target": endpoint.section(), "workload": workload, "load": load})


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    work = tmp_path / "work"
    work.mkdir()
    return Bench(work)
