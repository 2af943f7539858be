"""Data of real workloads beside the caches of real targets; clients beside CPU threads.

The machine is invented: its memory and CPU threads are the tests'.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from loadcell.parts import installed
from loadcell.plan.affinity import Topology
from loadcell.plan.data_size import Cache, DataSize, Questions
from loadcell.plan.load import LoadedPlan, load_plan
from loadcell.plan.parts import Parts
from loadcell.plan.sizing import Sizing, Unsized, concurrency, sizings, unsized

GIB = 2**30
#: Four cores of one thread.
CPUS = Topology((0, 1, 2, 3), (0, 1, 2, 3), ((0,), (1,), (2,), (3,)), {0: (0, 1, 2, 3)}, (0,))


def machine(memory_bytes: int | None = 8 * GIB) -> Parts:
    return replace(installed(), topology=lambda: CPUS, memory=lambda: memory_bytes)


def plan_of(directory: Path, target: str, workload: str, tail: str = "load: {clients: 1}") -> LoadedPlan:
    path = directory / "plan.yaml"
    path.write_text(f"target: {target}\nworkload: {workload}\n{tail}\n", encoding="utf-8")
    return load_plan(path, installed())


def sized(directory: Path, target: str, workload: str, memory_bytes: int = 8 * GIB) -> Sizing:
    [sizing] = sizings(plan_of(directory, target, workload).treatments, machine(memory_bytes))
    return sizing


@pytest.mark.parametrize(
    ("target", "workload", "loaded_bytes"),
    [  # sizes of data sets that loadcell loaded
        ("{postgres: {}}", "{sysbench: {table_size: 400000}}", 113_407_679 - 7_700_000),
        ("{postgres: {}}", "{sysbench: {table_size: 400000, create_secondary: false}}", 97_900_000),
        ("{mysql: {}}", "{sysbench: {table_size: 400000}}", 98_713_600),
        ("{postgres: {}}", "{pgbench: {scale: 10}}", 164_624_063 - 7_700_000),
        ("{postgres: {}}", "{pgbench: {scale: 10, fillfactor: 50}}", 303_724_223 - 7_700_000),
        ("{postgres: {}}", "{tpcc: {warehouses: 2}}", 236_558_015),
        ("{mysql: {}}", "{tpcc: {warehouses: 2}}", 217_776_128),
        ("{postgres: {}}", "{ycsb: {workload: c, recordcount: 100000}}", 128_931_519 - 7_700_000),
        ("{mysql: {}}", "{ycsb: {workload: c, recordcount: 100000}}", 170_934_272),
        ("{redis: {}}", "{ycsb: {workload: c, recordcount: 100000}}", 200_695_256),
        ("{redis: {}}", "{kv: {keys: 200000, value_size: 1kB}}", 224_158_544),
        ("{store: {engine: redb}}", "{kv: {keys: 300000, value_size: 100B}}", 38_113_280),
        ("{store: {engine: sqlite}}", "{kv: {keys: 300000, value_size: 1kB}}", 1_404_350_464),
        ("{store: {engine: rocksdb}}", "{ycsb: {workload: c, recordcount: 100000}}", 117_321_728),
    ],
)  # fmt: skip
def test_estimates_are_the_sizes_of_loaded_data(
    tmp_path: Path, target: str, workload: str, loaded_bytes: int
) -> None:
    estimate = sized(tmp_path, target, workload).size.size_bytes
    assert estimate == pytest.approx(loaded_bytes, rel=0.15)


def test_kv_sizes_are_their_means(tmp_path: Path) -> None:
    even, ranged, bell = (
        sized(tmp_path, "{redis: {}}", f"{{kv: {{keys: 1000, value_size: {size}}}}}").size
        for size in ("100B", "{from: 50B, to: 150B}", "{mean: 100B, deviation: 20B}")
    )
    assert even == ranged == bell


def position(data_gib: float, cache: Cache, memory_gib: float = 8) -> str:
    size = DataSize("scale", 1_000, data_gib * GIB / 1_000)
    return Sizing("workload.x.scale", size, cache, round(memory_gib * GIB), 0, ()).position


@pytest.mark.parametrize(
    ("data_gib", "cached_by_kernel", "behind_shared_buffers", "direct"),
    [
        (0.5, "cached", "cached", "cached"),
        (1.5, "cached", "page-cache", "between"),
        (3, "cached", "page-cache", "storage"),
        (6, "cached", "page-cache", "oversized"),
        (12, "between", "between", "oversized"),
        (20, "storage", "storage", "oversized"),
        (41, "oversized", "oversized", "oversized"),
    ],
)
def test_what_is_measured_depends_on_the_cache_and_on_what_is_behind_it(
    data_gib: float, cached_by_kernel: str, behind_shared_buffers: str, direct: str
) -> None:
    assert position(data_gib, Cache("page-cache")) == cached_by_kernel
    assert position(data_gib, Cache("page-cache", "shared_buffers", GIB)) == behind_shared_buffers
    assert position(data_gib, Cache("storage", "innodb_buffer_pool_size", GIB)) == direct


def test_a_store_in_memory_measures_nothing_that_it_cannot_hold() -> None:
    assert position(6, Cache("nothing")) == "in-memory"
    assert position(7, Cache("nothing")) == "too-large"
    assert position(2, Cache("nothing", "maxmemory", GIB)) == "too-large"


def test_a_cache_larger_than_the_machine_is_as_large_as_the_machine() -> None:
    assert position(20, Cache("storage", "innodb_buffer_pool_size", 64 * GIB)) == "storage"


@pytest.mark.parametrize("cache", [Cache("page-cache"), Cache("page-cache", "shared_buffers", GIB)])
def test_the_scales_that_are_named_are_the_first_and_last_of_their_kind(cache: Cache) -> None:
    def at(scale: int) -> Sizing:
        return Sizing("workload.x.scale", DataSize("scale", scale, 1e6, 10**7), cache, 8 * GIB, 0, ())

    fits_to, storage = at(1).fits_to, at(1).storage
    assert storage is not None
    first, last = storage
    assert (at(fits_to).position, at(fits_to + 1).position == "cached") == ("cached", False)
    assert (at(first - 1).position, at(first).position) == ("between", "storage")
    assert (at(last).position, at(last + 1).position) == ("storage", "oversized")


def test_no_scale_fits_where_the_data_beside_it_fill_the_cache() -> None:
    size = DataSize("warehouses", 1, 1e8)
    assert Sizing("workload.x.scale", size, Cache("page-cache"), GIB, 2 * GIB, ()).fits_to == 0


@pytest.mark.parametrize(
    ("target", "cache"),
    [
        ("{postgres: {}}", Cache("page-cache")),
        ("{postgres: {settings: {shared_buffers: 1GB}}}", Cache("page-cache", "shared_buffers", GIB)),
        ("{mysql: {}}", Cache("storage", "innodb_buffer_pool_size", GIB // 8)),
        (
            "{mysql: {settings: {innodb_buffer_pool_size: 1G, innodb_flush_method: fsync}}}",
            Cache("page-cache", "innodb_buffer_pool_size", GIB),
        ),
    ],
)
def test_the_cache_is_the_setting_of_the_plan(tmp_path: Path, target: str, cache: Cache) -> None:
    assert sized(tmp_path, target, "{sysbench: {}}").cache == cache


def test_the_cache_of_an_embedded_store(tmp_path: Path) -> None:
    assert sized(tmp_path, "{store: {cache: 1GiB}}", "{kv: {}}").cache == Cache("page-cache", "cache", GIB)
    assert sized(tmp_path, "{store: {engine: lmdb}}", "{kv: {}}").cache == Cache("page-cache")
    limited = sized(tmp_path, "{redis: {settings: {maxmemory: 1gb}}}", "{kv: {}}")
    assert limited.cache == Cache("nothing", "maxmemory", GIB)
    assert limited.storage is None


@pytest.mark.parametrize(
    ("target", "workload"),
    [
        ("{postgres: {server: external, dsn: postgresql://u@db/d}}", "{sysbench: {}}"),
        ("{redis: {server: external, host: cache}}", "{kv: {}}"),
        ("{redis: {}}", "{kv: {load: false}}"),
        ("{redis: {}}", "{ycsb: {workload: c, fieldlengthdistribution: zipfian}}"),
        ("{postgres: {}}", "{pgbench: {init_steps: ''}}"),
    ],
)
def test_nothing_is_compared_where_memory_or_data_are_unknown(
    tmp_path: Path, target: str, workload: str
) -> None:
    assert sizings(plan_of(tmp_path, target, workload).treatments, machine()) == []


POSTGRES_QUESTIONS = Questions("SELECT pg_database_size(current_database())", "SHOW shared_buffers")


def test_of_an_external_server_the_data_are_estimated_and_what_to_ask_is_named(tmp_path: Path) -> None:
    target = "{postgres: {server: external, dsn: postgresql://u@db/d}}"
    [estimated] = unsized(plan_of(tmp_path, target, "{sysbench: {}}").treatments, machine())
    assert (estimated.path, estimated.questions) == ("workload.sysbench.table_size", POSTGRES_QUESTIONS)
    assert estimated.size is not None
    assert estimated.size.size_bytes > 1_000_000
    [there] = unsized(plan_of(tmp_path, target, "{pgbench: {init_steps: ''}}").treatments, machine())
    assert there == Unsized("", None, POSTGRES_QUESTIONS)
    cache = "{redis: {server: external, host: cache}}"
    [keys] = unsized(plan_of(tmp_path, cache, "{kv: {keys: 1000}}").treatments, machine())
    assert keys.size is not None
    assert keys.size.unit_bytes > 95, "with the server's overhead"
    assert unsized(plan_of(tmp_path, "{postgres: {}}", "{sysbench: {}}").treatments, machine()) == []


def test_nothing_is_compared_on_a_machine_of_unknown_memory(tmp_path: Path) -> None:
    treatments = plan_of(tmp_path, "{postgres: {}}", "{sysbench: {}}").treatments
    assert sizings(treatments, machine(None)) == []


def test_equal_sizes_are_one_with_all_their_treatments(tmp_path: Path) -> None:
    tail = "load: {clients: 1}\nfactors: {load.clients: [1, 2], workload.tpcc.warehouses: [1, 90]}"
    small, large = sizings(plan_of(tmp_path, "{postgres: {}}", "{tpcc: {}}", tail).treatments, machine())
    assert small.treatments == ("clients=1,warehouses=1", "clients=2,warehouses=1")
    assert (small.position, large.position) == ("cached", "between")
    assert small.path == "workload.tpcc.warehouses"


GROUPS = """\
target: {postgres: {}}
workloads:
  a: {sysbench: {}, share: 1}
  b: {tpcc: {}, share: 1}
  c: {tpcc: {payment_weight: 0, new_order_weight: 88}, share: 1}
load: {clients: 8}
"""


def test_client_groups_share_the_cache_and_equal_data_count_once(tmp_path: Path) -> None:
    path = tmp_path / "plan.yaml"
    path.write_text(GROUPS, encoding="utf-8")
    first, second = sizings(load_plan(path, installed()).treatments, machine())
    assert (first.path, second.path) == ("workloads.a.sysbench.table_size", "workloads.b.tpcc.warehouses")
    assert first.other_bytes == second.size.size_bytes
    assert first.total_bytes == second.total_bytes


def test_clients_stand_beside_the_cpu_threads_of_target_and_load_generator(tmp_path: Path) -> None:
    tail = "load: {clients: 1}\nfactors: {load.clients: [1, 2, 10]}"
    plan = plan_of(tmp_path, "{postgres: {}}", "{tpcc: {}}", tail)
    [clients] = concurrency(plan.treatments, machine())
    assert (clients.noun, clients.fewest, clients.most) == ("terminal", 1, 10)
    assert (clients.target_cpus, clients.client_cpus, clients.shared) == (4, 4, True)

    apart = plan_of(
        tmp_path,
        "{postgres: {}}",
        "{sysbench: {}}",
        "load: {clients: 1}\naffinity: {target: cpus 0, client: cpus 1}",
    )
    [clients] = concurrency(apart.treatments, machine())
    assert (clients.noun, clients.target_cpus, clients.client_cpus, clients.shared) == ("client", 1, 1, False)

    external = plan_of(tmp_path, "{postgres: {server: external, dsn: postgresql://u@db/d}}", "{sysbench: {}}")
    [clients] = concurrency(external.treatments, machine())
    assert (clients.target_cpus, clients.client_cpus, clients.shared) == (None, 4, False)


def test_a_redis_of_this_machine_executes_commands_on_one_thread(tmp_path: Path) -> None:
    [local] = concurrency(plan_of(tmp_path, "{redis: {}}", "{kv: {}}").treatments, machine())
    assert local.single_threaded
    other = plan_of(tmp_path, "{redis: {server: external, host: cache}}", "{kv: {}}")
    [external] = concurrency(other.treatments, machine())
    assert not external.single_threaded
