"""Other differences between two runs."""

from __future__ import annotations

from typing import Any

from loadcell.analysis.compare.differences import designs, hosts, plans, targets, tools, values
from loadcell.model.run_record import RunRecord
from loadcell.model.trial_record import TrialRecord
from records import treatment, trial

SETTINGS: dict[str, Any] = {"load": {"clients": 4}, "limits": {"up": 60}, "expect": []}


def plan(*treatments: str, **load: Any) -> RunRecord:
    """A run of these treatments, whose settings of `load` are these as well."""
    settings = {**SETTINGS, "load": {"clients": 4, **load}}
    return RunRecord(treatments=tuple(treatment(settings, name) for name in treatments))


def test_the_same_plan_has_no_differences_and_limits_are_none() -> None:
    limited = treatment({**SETTINGS, "limits": {"up": 120}, "expect": ["errors == 0"]}, "a")
    other = RunRecord(treatments=(limited, treatment(SETTINGS, "b")))
    assert plans(plan("a", "b"), other) == ()


def test_a_setting_that_differs_everywhere_is_reported_once() -> None:
    (result,) = plans(plan("a", "b"), plan("a", "b", duration=5))
    assert str(result) == "load.duration: not set → 5"


def test_one_that_differs_in_some_treatments_names_them() -> None:
    other = RunRecord(
        treatments=(treatment(SETTINGS, "a"), treatment({**SETTINGS, "load": {"clients": 8}}, "b"))
    )
    (result,) = plans(plan("a", "b"), other)
    assert str(result) == "load.clients: 4 → 8 (treatment b)"


def test_treatments_that_only_one_has() -> None:
    (result,) = plans(plan("a", "b", "c"), plan("a", "d"))
    assert (result.path, result.before, result.after) == ("treatments", "b, c", "d")


def test_single_treatments_are_compared_with_each_other_by_whatever_name() -> None:
    assert plans(plan("clients=4"), plan("baseline")) == ()


def test_machines_differ_in_facts_and_not_in_what_changes_by_the_minute() -> None:
    before = {
        "hosts": [
            {"role": "client+target", "kernel": "6.1", "load_at_start": [1], "cpu": {"mhz": 1, "cores": 8}}
        ]
    }
    after = {
        "hosts": [
            {"role": "client+target", "kernel": "6.2", "load_at_start": [2], "cpu": {"mhz": 2, "cores": 4}}
        ]
    }
    assert [str(host) for host in hosts(before, after)] == ["kernel: 6.1 → 6.2", "cpu.cores: 8 → 4"]
    assert hosts(before, before) == ()
    assert hosts({}, {}) == ()


def test_machines_are_matched_by_role() -> None:
    before = {"hosts": [{"role": "client", "hostname": "a"}, {"role": "target", "hostname": "b"}]}
    after = {"hosts": [{"role": "target", "hostname": "b"}, {"role": "client", "hostname": "c"}]}
    assert [str(host) for host in hosts(before, after)] == ["hostname: a → c"]


def test_targets_differ_in_what_was_the_same_in_all_trials() -> None:
    def trials(version: str, *shared_buffers: str) -> list[TrialRecord]:
        return [
            trial(
                target={
                    "version": version,
                    "port": n,
                    "settings": [{"name": "shared_buffers", "value": value}],
                }
            )
            for n, value in enumerate(shared_buffers)
        ]

    target_differences = targets([trials("16.3", "128MB", "128MB")], [trials("16.4", "256MB", "256MB")])
    assert [str(item) for item in target_differences] == [
        "version: 16.3 → 16.4",
        "settings.shared_buffers: 128MB → 256MB",
    ]
    varied = targets([trials("16.3", "128MB", "1GB")], [trials("16.3", "128MB", "1GB")])
    assert varied == ()


def test_a_database_of_a_name_that_loadcell_made_is_no_difference() -> None:
    def named(name: str) -> list[TrialRecord]:
        return [trial(target={"version": "16.3", "database": {"name": name}})]

    assert targets([named("loadcell_63d0d6037134_1eab67")], [named("loadcell_63d0d6037134_6085e9")]) == ()
    assert [str(item) for item in targets([named("shop")], [named("archive")])] == [
        "database.name: shop → archive"
    ]


def test_facts_that_vary_by_themselves_are_no_difference() -> None:
    def free(count: int, kind: str = "ext4") -> list[TrialRecord]:
        image = {"free_bytes": count, "type": kind}
        return [trial(target={"data": {"free_bytes": count, "type": kind, "image": image}})]

    assert targets([free(5)], [free(6)]) == ()
    assert [str(item) for item in targets([free(5)], [free(6, "xfs")])] == [
        "data.type: ext4 → xfs",
        "data.image.type: ext4 → xfs",
    ]


def test_memory_in_use_after_the_load_is_no_condition_of_redis() -> None:
    def redis(used: int, limit: int = 0) -> list[TrialRecord]:
        memory = {"used_memory": used, "used_memory_peak": used, "maxmemory": limit}
        return [trial(target={"memory": {**memory, "mem_fragmentation_ratio": used / 7}})]

    assert targets([redis(5)], [redis(6)]) == ()
    assert [str(item) for item in targets([redis(5)], [redis(6, 100)])] == ["memory.maxmemory: 0 → 100"]


def test_targets_of_several_runs_are_compared_side_by_side() -> None:
    def version(name: str) -> list[TrialRecord]:
        return [trial(target={"version": name})]

    old, new, newer = map(version, ("16.3", "16.4", "16.5"))
    assert targets([old, new], [new, old]) == ()
    assert [str(item) for item in targets([old, new], [newer, newer])] == ["version: 16.3, 16.4 → 16.5"]


def test_tools_and_design() -> None:
    assert [str(tool) for tool in tools(RunRecord(python="3.11"), RunRecord(python="3.12"))] == [
        "python: 3.11 → 3.12"
    ]
    assert [str(design) for design in designs(RunRecord(repeats=3), RunRecord(repeats=6))] == [
        "repeats: 3 → 6"
    ]


def test_disks_differ_by_what_both_records_state() -> None:
    def host(*disks: dict[str, Any]) -> dict[str, Any]:
        return {"hosts": [{"role": "client", "disks": list(disks)}]}

    def paths(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
        return [difference.path for difference in hosts(before, after)]

    older, newer = ({"name": "sda", "size_bytes": 1}, {"name": "sda", "size_bytes": 1, "numa_node": 0})
    assert paths(host(older), host(newer)) == paths(host(newer), host(older)) == []
    assert paths(host(newer), host({**newer, "numa_node": 1})) == ["disks"]
    assert paths(host(older), host({**newer, "size_bytes": 2})) == ["disks"]
    assert paths(host(older), host(newer, newer)) == ["disks"]
    assert paths(host(), host(newer)) == ["disks"]


def test_digests_are_shortened() -> None:
    """Twelve digits tell two files apart; a text of 64 other characters is left whole."""
    assert values("0123456789abcdef" * 4) == ["0123456789ab…"]
    assert values("x" * 64) == ["x" * 64]
