"""Two machines: their facts by importance, and their baselines as ratios."""

from __future__ import annotations

from typing import Any

import pytest

import machines
from loadcell.analysis.hosts.compare import Machine, Machines, compare
from loadcell.analysis.hosts.facts import facts
from loadcell.analysis.hosts.findings import of_machines
from loadcell.analysis.hosts.scores import of_document, roofs


def machine(document: dict[str, Any]) -> Machine:
    return Machine(document["host"]["hostname"], document["host"], of_document(document["scores"]))


def held(values: dict[str, tuple[list[float], list[float]]]) -> Machines:
    """Two machines with these values of scores (`cpu-1/events_per_s`)."""
    sides = [
        [machines.score(*name.split("/"), values=item[side]) for name,
        item in values.items()] for side in (0, 1)
    ]  # fmt: skip
    return compare(*(Machine(label, {}, of_document(side)) for label, side in zip("ab", sides, strict=True)))


def test_what_differs_stands_first_and_the_processor_before_all() -> None:
    result = facts(machines.KUNPENG["host"], machines.M2["host"])
    differing = [fact.key for fact in result if fact.differs]
    assert [fact.key for fact in result][: len(differing)] == differing
    assert differing[:5] == ["cpu_model", "clock_mhz", "cores", "threads", "sockets"]
    assert {"numa_nodes", "memory_mts", "memory_kind", "disk_model", "disk_scheduler"} <= set(differing)
    assert "cpu_architecture" not in differing


def test_numbers_have_a_ratio() -> None:
    times = {fact.key: fact.times for fact in facts(machines.KUNPENG["host"], machines.M2["host"])}
    assert times["clock_mhz"] == pytest.approx(1.385, abs=0.001)
    assert times["memory_mts"] == pytest.approx(6400 / 2933)
    assert times["cpu_model"] is None


def test_kernel_settings_are_facts_by_their_own_names() -> None:
    other = {**machines.HOST, "settings": {**machines.HOST["settings"], "vm.swappiness": "1"}}
    assert [fact.key for fact in facts(machines.HOST, other) if fact.differs] == ["vm.swappiness"]


def test_an_inventory_of_any_shape_is_read() -> None:
    strange: dict[str, Any] = {
        "cpu": None,
        "caches": "x",
        "dimms": [5, {}],
        "disks": {},
        "settings": [],
        "limits": 7,
    }
    assert not [fact for fact in facts(strange, machines.HOST) if fact.differs]


def test_a_ratio_says_how_many_times_as_fast_whatever_its_figure_counts() -> None:
    verdicts = held({"cpu-1/events_per_s": ([100.0], [138.0]), "latency-4KiB/access_ns": ([2.0], [1.0])})
    assert {row.score.id: row.times.value for row in verdicts.rows} == {
        "latency-4KiB/access_ns": pytest.approx(2.0),
        "cpu-1/events_per_s": pytest.approx(1.38),
    }
    assert [row.score.section for row in verdicts.rows] == ["latency", "cpu"]  # the greatest difference first


def test_few_repeats_give_a_range() -> None:
    (row,) = held({"latency-4KiB/access_ns": ([2.0, 2.2, 2.1], [1.0, 1.1, 1.2])}).rows
    assert (row.times.low, row.times.high) == (pytest.approx(2.0 / 1.2), pytest.approx(2.2))
    assert not row.times.sure


def test_single_values_have_no_range() -> None:
    (row,) = held({"cpu-1/events_per_s": ([100.0], [138.0])}).rows
    assert (row.times.low, row.times.high) == (None, None)


def test_six_repeats_give_an_interval() -> None:
    slow, quick = [100.0 + n for n in range(6)], [150.0 + n for n in range(6)]
    result = held({"cpu-1/events_per_s": (slow, quick), "latency-4KiB/access_ns": (slow, quick)})
    assert {row.score.section for row in result.rows} == {"cpu", "latency"}
    for row in result.rows:
        assert row.times.sure
        assert row.times.low is not None
        assert row.times.high is not None
        assert row.times.low < row.times.value < row.times.high


def test_what_only_one_has_is_reported() -> None:
    comparison = compare(machine(machines.KUNPENG), machine(machines.M2))
    assert [(item, score.id) for item, score in comparison.alone] == [(0, "cpu-1/events_per_s")]
    matches = [finding.message.code for finding in of_machines(comparison)]
    assert matches == ["hosts.found.differ.many", "hosts.found.range", "hosts.found.few", "hosts.found.alone"]


def arguments_of(machines_compared: Machines) -> dict[str, Any]:
    return {finding.message.code: finding.message.arguments for finding in of_machines(machines_compared)}


def test_the_greatest_difference_is_one_that_repeats_bear_out() -> None:
    """A flush that took 0.1 ms here and 4 ms there, and on both once the other way round, is no 40 times."""
    values = {
        "cpu-1/events_per_s": ([100.0, 101.0, 99.0], [138.0, 140.0, 139.0]),
        "latency-4KiB/access_ns": ([2.0, 2.0, 2.0], [1.0, 1.0, 1.0]),
        "disk-sync/sync_ms": ([0.1, 0.1, 4.0], [4.0, 4.0, 0.1]),
    }
    result = arguments_of(held(values))
    assert result["hosts.found.range"]["best_times"] == pytest.approx(2.0)
    assert result["hosts.found.range"]["worst_times"] == pytest.approx(1.38, rel=0.02)
    assert (result["hosts.found.restless"]["count"], result["hosts.found.restless"]["of"]) == (1, 3)


def test_machines_with_equal_baselines_are_reported_as_such() -> None:
    result = arguments_of(held({"cpu-1/events_per_s": ([100.0, 101.0, 99.0], [100.0, 102.0, 98.0])}))
    assert "hosts.found.none-apart" in result
    assert "hosts.found.restless" not in result


def test_machines_without_baselines_are_held_by_their_inventories() -> None:
    comparison = compare(Machine("a", machines.KUNPENG["host"]), Machine("b", machines.KUNPENG["host"]))
    assert [finding.message.code for finding in of_machines(comparison)] == [
        "hosts.found.alike",
        "hosts.found.no-scores",
    ]


def test_roofs_are_those_of_the_layers_that_were_measured() -> None:
    scores = of_document(
        [
            machines.score("latency-16KiB", "access_ns", [1.0], size_bytes=16 * machines.KIB, test=""),
            machines.score("latency-256MiB", "access_ns", [100.0], size_bytes=256 * machines.MIB, test=""),
            machines.score("memory-copy-1", "mib_per_s", [2**20], size_bytes=8 * machines.KIB),
            machines.score("memory-memcpy-1", "mib_per_s", [10_000.0], size_bytes=256 * machines.MIB),
            machines.score("disk-randread", "iops", [10_000.0]),
            machines.score("disk-read", "read_mib_per_s", [1000.0]),
            machines.score("network-rr", "transactions_per_s", [50_000.0]),
        ]
    )
    by_name = {roof.name.code: roof for roof in roofs(machines.HOST, scores)}
    assert list(by_name) == ["hosts.layer.cache", "hosts.layer.memory", "hosts.layer.disk-read"]
    memory = by_name["hosts.layer.memory"]
    assert memory.most_per_s == pytest.approx(1e7)
    assert memory.knee_bytes == pytest.approx(10_000 * 2**20 / 1e7)
    assert memory.at(8) == pytest.approx(1e7)
    assert memory.at(2**20) == pytest.approx(10_000)
    assert [size for size, _ in memory.points([8, 2**20])] == [8, pytest.approx(memory.knee_bytes), 2**20]


def test_a_quota_on_one_machine_alone_is_a_difference_where_the_other_was_looked_at() -> None:
    free = {"cpu": {"threads": 8}}
    bound = {**free, "container": {"cpus": 0.5, "memory_bytes": 2**30}}
    differing = {fact.key: (fact.values, fact.times) for fact in facts(free, bound) if fact.differs}
    assert differing == {"quota_cpus": (("", 0.5), None), "quota_bytes": (("", 2**30), None)}
    unknown = {**free, "unavailable": {"container": "no answer within 1.5 s"}}
    assert not [fact for fact in facts(unknown, bound) if fact.differs]
    assert not [fact for fact in facts(free, free) if fact.key.startswith("quota")]
