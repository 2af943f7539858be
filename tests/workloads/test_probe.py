"""The probes' options, and what follows from them: the section for the engine, what fits, what a reader must
know.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, get_args

import pytest
from pydantic import ValidationError

from loadcell.parts import installed
from loadcell.plan.load import LoadedPlan, load_plan
from loadcell.plan.problems import PlanError
from loadcell.workloads.probe import Probe, ProbeOptions
from loadcell.workloads.probe_options import Test

SECTIONS = ("cpu", "memory", "latency")


def probe(**sections: Any) -> Probe:
    return Probe(ProbeOptions(**sections))


def plan(home: Path, text: str) -> LoadedPlan:
    path = home / "plan.yaml"
    path.write_text("target: {host: {}}\n" + text)
    return load_plan(path, installed(), env={})


def mistake(home: Path, text: str) -> str:
    with pytest.raises(PlanError) as caught:
        plan(home, text)
    return str(caught.value)


def test_defaults_are_those_of_the_tools() -> None:
    assert probe(cpu={}).engine() == {"probe": {"cpu": {"max_prime": 10_000}}}
    assert probe(memory={}).engine() == {
        "probe": {
            "memory": {
                "test": "sysbench",
                "size": 256 * 2**20,
                "block": 1024,
                "access": "seq",
                "operation": "write",
                "scope": "global",
            }
        }
    }


def test_arrays_and_working_sets_have_a_size() -> None:
    # The last four are settings of sysbench's test; the engine requires them and does not read them here.
    assert probe(memory={"test": "dumb", "size": "1MiB"}).engine()["probe"]["memory"] == {
        "test": "dumb",
        "size": 2**20,
        "block": 1024,
        "access": "seq",
        "operation": "write",
        "scope": "global",
    }
    assert probe(latency={"size": "4KiB"}).engine() == {"probe": {"latency": {"size": 4096}}}


def test_every_probe_says_by_which_definition_it_measures() -> None:
    every = [probe(cpu={}), probe(latency={}), *(probe(memory={"test": test}) for test in get_args(Test))]
    assert all(len(item.notes()) == 1 for item in every)
    assert probe(memory={"test": "dumb"}).notes() != probe(memory={"test": "mcblock"}).notes()


def test_a_probe_needs_no_data_and_changes_none() -> None:
    assert probe(cpu={}).data() is None
    assert not probe(cpu={}).changes_data


@pytest.mark.parametrize("sections", [{}, {"cpu": {}, "latency": {}}])
def test_one_thing_is_probed(sections: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match="a probe has exactly one kind: `cpu`"):
        probe(**sections)


@pytest.mark.parametrize(
    ("memory", "message"),
    [
        (
            {"test": "memcpy", "block": "1MiB"},
            "`block` applies to the test `sysbench`, but the test is `memcpy`",
        ),
        ({"test": "triad", "scope": "local"}, "`scope` applies to the test `sysbench`"),
        ({"size": "1MiB"}, "sysbench's test has a `block`"),
        ({"test": "memcpy", "size": "1001B"}, r"`size` \(1001B\) is not a whole number of words"),
        ({"block": "12B"}, r"`block` \(12B\) is not a whole number of words"),
        ({"test": "bogus"}, "Input should be 'sysbench'"),
    ],
)
def test_settings_that_say_nothing_are_mistakes(memory: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        probe(memory=memory)


@pytest.mark.parametrize("max_prime", [0, 3, 1_000_000_001])
def test_numbers_beyond_what_a_pass_can_do_are_mistakes(max_prime: int) -> None:
    with pytest.raises(ValidationError, match="max_prime"):
        probe(cpu={"max_prime": max_prime})


def test_a_plan_varies_any_of_it(tmp_path: Path) -> None:
    results = plan(
        tmp_path,
        "workload: {probe: {latency: {size: 16KiB}}}\n"
        "load: {clients: 1}\nfactors: {workload.probe.latency.size: [16KiB, 1MiB, 64MiB]}\n"
        "expect: [access_ns > 0, errors == 0]\n",
    )
    assert [factor.key for factor in results.factors] == ["workload.probe.latency.size"]
    assert Probe(results.base.workload).engine() == {"probe": {"latency": {"size": 16 * 1024}}}


def test_nothing_is_due_at_a_rate(tmp_path: Path) -> None:
    message = mistake(tmp_path, "workload: {probe: {cpu: {}}}\nload: {clients: 1, rate: 100/s}\n")
    assert "it has no rate" in message
    assert "load.rate" in message


def test_a_database_is_not_probed(tmp_path: Path) -> None:
    path = tmp_path / "plan.yaml"
    path.write_text("target: {redis: {}}\nworkload: {probe: {cpu: {}}}\nload: {clients: 1}\n")
    with pytest.raises(PlanError, match="host"):
        load_plan(path, installed(), env={})


def test_a_mistake_within_a_probe_has_its_place(tmp_path: Path) -> None:
    message = mistake(tmp_path, "workload: {probe: {cpu: {max_prim: 5}}}\nload: {clients: 1}\n")
    assert "max_prime" in message
