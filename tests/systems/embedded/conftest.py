"""Stores in directories of the test's own, and loads on them by a worker process, as a run makes them."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from loadcell.execution.executor import WorkerExecutor
from loadcell.execution.load import DATA_SEED
from loadcell.systems.base import DataSet, DataSpec, Endpoint, TargetContext
from loadcell.systems.embedded.options import StoreOptions
from loadcell.systems.embedded.target import Store
from loadcell.workloads.kv import Kv, KvOptions

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

        def load(endpoint: Endpoint) -> int:
            rows: int = self.worker("prepare", endpoint, workload.data(), DATA_SEED)["rows"]
            return rows

        return store.prepare(DataSpec(workload.data()), load, will_change=workload.changes_data)

    def run(
        self, store: Store, *, writes: bool = False, kill: bool = False, seconds: float = 0.2, **kv: Any
    ) -> dict[str, Any]:
        """A load that verifies what it reads."""
        section = self.workload(writes=writes, **kv).engine()
        return self.worker("run", store.endpoint(), section, 1, kill=kill, seconds=seconds)

    def workload(self, *, writes: bool, **kv: Any) -> Kv:
        return Kv(KvOptions(**{"keys": KEYS, "verify": True, "reads": "50%" if writes else "100%", **kv}))

    def worker(
        self,
        mode: str,
        endpoint: Endpoint,
        workload: dict[str, Any],
        seed: int,
        *,
        kill: bool = False,
        seconds: float = 0.2,
    ) -> dict[str, Any]:
        """What the engine answers. With `kill` its process is killed as soon as it measures."""
        load = {
            "clients": 2,
            "warmup_ns": 0,
            "duration_ns": int(seconds * 1e9),
            "interval_ns": 50 * MS,
            "lost_ns": 200 * MS,
        }
        spec = {"version": 1, "seed": seed, "target": endpoint.section(), "workload": workload, "load": load}
        executor = WorkerExecutor()

        def heard(event: dict[str, Any]) -> None:
            if kill and event["type"] == "interval":
                executor.kill()

        return executor.execute(
            mode,
            spec,
            on_event=heard,
            on_output=self.log.append,
            on_tick=lambda: None,
            limit_s=120,
            stop_asked=lambda: False,
        )


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    work = tmp_path / "work"
    work.mkdir()
    return Bench(work)
