"""Stores in directories of the test's own, and loads on them by a worker process, as a run makes them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from loadcell.plan.workload import DATA_SEED
from loadcell.systems.base import TargetContext
from loadcell.systems.embedded.target import Store, StoreOptions
from loadcell.workloads.kv import Kv, KvOptions
from systems.bench import LoadBench

MS = 1_000_000
KEYS = 500


def make(context: TargetContext, **options: Any) -> Store:
    return Store(StoreOptions(**{"sync": False, **options}), context)


def workload(*, writes: bool = False, **kv: Any) -> Kv:
    """A load that verifies what it reads."""
    return Kv(KvOptions(**{"keys": KEYS, "verify": True, "reads": "50%" if writes else "100%", **kv}))


@pytest.fixture
def bench(tmp_path: Path) -> LoadBench[Store]:
    work = tmp_path / "work"
    work.mkdir()
    load = {
        "clients": 2,
        "warmup_ns": 0,
        "duration_ns": 200 * MS,
        "interval_ns": 50 * MS,
        "lost_ns": 200 * MS,
    }
    return LoadBench(work, make, workload=workload, data=Kv.engine, data_seed=DATA_SEED, load=load)
