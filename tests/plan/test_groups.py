"""Client groups: shares of the plan's load or loads of their own, paths into them, and everything that can be
wrong with them.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from lines import CliRunner
from loadcell.cli import main
from loadcell.parts import installed
from loadcell.plan import rate
from loadcell.plan.groups import integer_parts
from loadcell.plan.load import load_plan
from loadcell.plan.problems import PlanError
from loadcell.plan.remarks import remarks
from loadcell.plan.schema import plan_schema
from plan.fake_parts import PARTS, mistakes, read

SHARED = """\
target: {database: {}}
workloads:
  read-write: {mix: {tables: 4}, share: 80}
  read-only: {mix: {script: read_only, tables: 2}, share: 20}
load: {clients: 40, threads: 4, max_retries: 3, warmup: 1s, duration: 9s}
"""
SEPARATE = """\
target: {database: {}}
workloads:
  shop: {mix: {tables: 4}, load: {clients: 6, max_retries: 2}}
  look: {calls: {}, load: {clients: 2, rate: 50/s, arrivals: poisson}}
load: {warmup: 1s, duration: 9s, interval: 3s}
"""
SYSBENCH = """\
target: {postgres: {}}
workloads:
  a: {sysbench: {tables: 2}, share: 1}
  b: {sysbench: {tables: 2, script: oltp_read_only}, share: 1}
load: {clients: 2}
"""


def loads(text: str, directory: Path, **how: tuple[str, ...]) -> list[tuple[str, int | None]]:
    return [(group.name, group.load.clients) for group in read(directory, text, **how).base.groups]


class TestShares:
    def test_clients_are_shared(self, tmp_path: Path) -> None:
        assert loads(SHARED, tmp_path) == [("read-write", 32), ("read-only", 8)]

    def test_everything_else_of_the_load_is_each_ones(self, tmp_path: Path) -> None:
        for group in read(tmp_path, SHARED).base.groups:
            assert (group.load.max_retries, group.load.threads, group.load.duration.text) == (3, 4, "9s")

    def test_a_rate_is_shared_with_its_connections(self, tmp_path: Path) -> None:
        base = read(
            tmp_path, SHARED.replace("clients: 40", "clients: 10, rate: 2000/s, arrivals: poisson")
        ).base
        problems = [(group.load.clients, group.load.rate, group.load.arrivals) for group in base.groups]
        assert problems == [(8, 1600.0, "poisson"), (2, 400.0, "poisson")]

    @pytest.mark.parametrize(
        ("written", "shared"),
        [
            ("{from: 100/s, to: 500/s, over: 5s}", "80/s to 400/s over 5s"),
            ("{steps: [{rate: 10/s, for: 2s}, {rate: 0/s, for: 1s}]}", "8/s for 2s, then 0/s for 1s"),
        ],
    )
    def test_steps_and_ramps_keep_their_course(self, written: str, shared: str, tmp_path: Path) -> None:
        base = read(tmp_path, SHARED.replace("clients: 40", f"clients: 40, rate: {written}")).base
        problems = base.groups[0].load.rate
        assert problems is not None
        assert rate.text(problems) == shared

    @given(
        shares=st.lists(st.floats(min_value=1e-3, max_value=1e6), min_size=1, max_size=8),
        more=st.integers(0, 10_000),
    )
    def test_whole_parts_leave_nobody_out_and_lose_nobody(self, shares: list[float], more: int) -> None:
        total = len(shares) + more
        parts = integer_parts(total, shares)
        assert sum(parts) == total
        assert min(parts) >= 1

    def test_whole_parts_are_as_near_as_can_be(self) -> None:
        assert integer_parts(40, [80, 20]) == [32, 8]
        assert integer_parts(10, [1, 1, 1]) == [4, 3, 3]
        assert integer_parts(3, [1, 1, 98]) == [1, 1, 1]


class TestSeparateLoads:
    def test_each_has_its_own_in_one_window(self, tmp_path: Path) -> None:
        shop, look = read(tmp_path, SEPARATE).base.groups
        assert (shop.load.clients, shop.load.rate, shop.load.max_retries) == (6, None, 2)
        assert (look.load.clients, look.load.rate, look.load.max_retries) == (2, 50.0, 10)
        assert {group.load.interval.text for group in (shop, look)} == {"3s"}

    def test_the_clients_of_the_plan_are_all_of_them(self, tmp_path: Path) -> None:
        assert read(tmp_path, SEPARATE).base.clients == 8

    def test_the_record_has_what_the_plan_says(self, tmp_path: Path) -> None:
        document = read(tmp_path, SEPARATE).base.document()
        assert "workload" not in document
        assert document["load"] == {"warmup": "1s", "duration": "9s", "interval": "3s"}
        assert document["workloads"]["look"]["load"] == {
            "clients": 2, "rate": "50/s", "arrivals": "poisson", "max_backlog": "5s", "threads": "auto",
            "max_retries": 10,
        }  # fmt: skip
        assert document["workloads"]["shop"]["mix"]["tables"] == 4


def test_groups_can_be_a_list_with_names(tmp_path: Path) -> None:
    listed = SHARED.replace("  read-write: {", "  - {name: read-write, ").replace(
        "  read-only: {", "  - {name: read-only, "
    )
    assert read(tmp_path, listed).base.document() == read(tmp_path, SHARED).base.document()


class TestPaths:
    def test_set_changes_a_group(self, tmp_path: Path) -> None:
        assert loads(SHARED, tmp_path, sets=("workloads.read-only.share=80",)) == [
            ("read-write", 20),
            ("read-only", 20),
        ]
        assert loads(SEPARATE, tmp_path, sets=("workloads.shop.load.clients=9",)) == [
            ("shop", 9),
            ("look", 2),
        ]

    def test_factors_vary_a_group(self, tmp_path: Path) -> None:
        plan = read(tmp_path, SEPARATE + "factors: {workloads.look.load.rate: [50/s, 90/s]}\n")
        assert [treatment.resolved.groups[1].load.rate for treatment in plan.treatments] == [50.0, 90.0]
        labels = [treatment.levels["workloads.look.load.rate"] for treatment in plan.treatments]
        assert labels == ["50/s", "90/s"]

    def test_a_factor_may_give_what_a_group_lacks(self, tmp_path: Path) -> None:
        plan = read(
            tmp_path,
            SEPARATE.replace("clients: 6, ", "") + "factors: {workloads.shop.load.clients: [1, 2]}\n",
        )
        assert [treatment.resolved.groups[0].load.clients for treatment in plan.treatments] == [1, 2]

    def test_named_levels_set_several_groups(self, tmp_path: Path) -> None:
        level = "{workloads.read-write.mix.tables: 9, workloads.read-only.mix.tables: 9}"
        plan = read(tmp_path, SHARED + f"factors: {{size: {{large: {level}}}}}\n")
        [treatment] = plan.treatments
        assert [group.workload.model_dump()["tables"] for group in treatment.resolved.groups] == [9, 9]

    def test_one_at_a_time_goes_round_a_groups_own_value(self, tmp_path: Path) -> None:
        text = "design: one-at-a-time\nfactors: {workloads.read-only.share: [20, 50]}\n"
        plan = read(tmp_path, SHARED + text)
        assert [treatment.resolved.groups[0].load.clients for treatment in plan.treatments] == [32, 25]


def test_expectations_can_be_of_a_group(tmp_path: Path) -> None:
    [expectation] = read(tmp_path, SHARED + "expect: [read-only.latency.p99 < 5ms]\n").expect
    assert expectation.judge({"read-only.latency.p99": 6.0, "latency.p99": 1.0}).verdict == "missed"


def test_advice_is_about_the_groups_settings(tmp_path: Path) -> None:
    plan = read(tmp_path, SEPARATE.replace("tables: 4", "tables: 1").replace("clients: 6", "clients: 101"))
    result = {remark.path: remark.text for remark in remarks(plan, PARTS)}
    assert result["workloads.shop.mix.tables"] == "one table is one hot spot"
    assert "103 clients" in result["target.database.settings.max_connections"]
    assert "requests" in result["workloads.look.load.rate"]


def test_a_very_long_series_is_remarked_on(tmp_path: Path) -> None:
    long = SHARED.replace("duration: 9s", "duration: 12h")
    [remark] = [
        problem for problem in remarks(read(tmp_path, long), PARTS) if problem.path == "load.interval"
    ]
    assert "43,200 intervals" in remark.text
    assert "346 MB" in remark.text


MISTAKES = {
    "beside a workload": (SHARED + "workload: {mix: {}}", "workloads", "conflicts with `workload`"),
    "no group": (SHARED.partition("workloads")[0] + "workloads: {}", "workloads", "has no group"),
    "text": (SHARED.partition("workloads")[0] + "workloads: mix", "workloads", 'found "mix"'),
    "a list without names": (
        SHARED.partition("workloads")[0] + "workloads: [{mix: {}, share: 1}]\nload: {clients: 1}",
        "workloads",
        "without a name",
    ),
    "no workload": (SHARED.replace("mix: {tables: 4}, ", ""), "workloads.read-write", "names no workload"),
    "two workloads": (SHARED.replace("mix: {tables: 4}", "mix: {}, calls: {}"), "workloads.read-write",
        "names 2 workloads"),
    "an unknown workload": (SHARED.replace("mix: {tables: 4}", "mux: {}"), "workloads.read-write.mux",
        "no workload and no setting"),
    "an unknown option": (
        SHARED.replace("tables: 4", "tabels: 4"), "workloads.read-write.mix.tabels", 'no setting "tabels"',
    ),
    "an unknown key of a load": (
        SEPARATE.replace("clients: 6", "cleints: 6"), "workloads.shop.load.cleints", 'no setting "cleints"',
    ),
    "a name with a dot": (SHARED.replace("read-write:", "read.write:"), "workloads.read.write",
        "found the name"),
    "a name of a figure": (SHARED.replace("read-write:", "latency:"), "workloads.latency",
        "the name of a metric"),
    "the name of all": (SHARED.replace("read-write:", "transaction:"), "workloads.transaction",
        "the name of a metric"),
    "neither share nor load": (SHARED.replace(", share: 80", ""), "workloads.read-write",
        "neither a share nor a load"),
    "both": (SHARED.replace("share: 80", "share: 80, load: {clients: 1}"), "workloads.read-write",
        "both a share and a load"),
    "some shares, some loads": (SHARED.replace("share: 80", "load: {clients: 1}"), "workloads",
        "mixes shares"),
    "a share of nothing": (SHARED.replace("share: 80", "share: 0"), "workloads.read-write.share", "found 0"),
    "a share that is text": (SHARED.replace("share: 80", "share: most"), "workloads.read-write.share",
        'found "most"'),
    "fewer clients than groups": (SHARED.replace("clients: 40", "clients: 1"), "load.clients",
        "cannot be shared"),
    "no clients to share": (SHARED.replace("clients: 40, ", ""), "load.clients", "is missing"),
    "no clients of its own": (SEPARATE.replace("clients: 6, ", ""), "workloads.shop.load.clients",
        "is missing"),
    "a load that is a number": (SEPARATE.replace("{clients: 6, max_retries: 2}", "6"), "workloads.shop.load",
        "found 6"),
    "a window of its own": (SEPARATE.replace("clients: 6", "clients: 6, duration: 5s"),
        "workloads.shop.load.duration", "the same for all"),
    "clients for nobody": (SEPARATE.replace("interval: 3s", "clients: 3"), "load.clients", "has no effect"),
    "a backlog without a rate": (
        SEPARATE.replace("clients: 6", "clients: 6, max_backlog: 5s"), "workloads.shop.load.max_backlog",
        "no effect",
    ),
    "a workload for another target": (
        SHARED.replace("database: {}", "cache: {}").replace("mix: {tables: 4}", "sql: {text: x}"),
        "workloads.read-write.sql",
        "does not work with the target cache",
    ),
    "a metric of no group": (SHARED + "expect: [others.throughput > 1/s]", "expect", "no metric"),
    "no metric of groups": (SHARED + "expect: [read-only.client.cpu < 50%]", "expect", "no metric"),
    "a factor of no setting": (
        SHARED + "factors: {workloads.read-only.mix.tabels: [1]}", "factors.workloads.read-only.mix.tabels",
        "no setting",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_reported_once_and_where_it_is(name: str, tmp_path: Path) -> None:
    text, path, finding = MISTAKES[name]
    [problem] = mistakes(tmp_path, text)
    assert problem.path == path
    assert finding in problem.finding
    assert problem.allowed
    assert problem.mark.line


def test_too_many_groups(tmp_path: Path) -> None:
    groups = "".join(f"  g{number}: {{mix: {{}}, share: 1}}\n" for number in range(9))
    text = f"target: {{database: {{}}}}\nworkloads:\n{groups}load: {{clients: 90}}\n"
    [problem] = mistakes(tmp_path, text)
    assert "at most 8" in str(problem.allowed)


class TestData:
    def plan(self, text: str, directory: Path) -> Path:
        path = directory / "plan.yaml"
        path.write_text(text)
        return path

    def test_other_data_in_tables_of_the_same_names_are_a_mistake(self, tmp_path: Path) -> None:
        text = SYSBENCH.replace("tables: 2, script", "tables: 5, script")
        with pytest.raises(PlanError) as caught:
            load_plan(self.plan(text, tmp_path), installed())
        [problem] = caught.value.problems
        assert problem.path == "workloads.b.sysbench"
        assert "tables is 5 instead of 2" in problem.finding
        assert "equal values of tables" in str(problem.allowed)

    def test_data_of_other_kinds_stand_side_by_side(self, tmp_path: Path) -> None:
        text = SYSBENCH.replace("sysbench: {tables: 2, script: oltp_read_only}", "pgbench: {}")
        assert len(load_plan(self.plan(text, tmp_path), installed()).base.groups) == 2

    def test_terminals_are_compared_with_the_groups_own_clients(self, tmp_path: Path) -> None:
        text = "  b: {tpcc: {warehouses: 1}, share: 3}\nload: {clients: 16}\n"
        with pytest.raises(PlanError) as caught:
            load_plan(self.plan(SYSBENCH.partition("  b:")[0] + text, tmp_path), installed())
        [problem] = caught.value.problems
        assert "12 clients need as many terminals" in problem.finding
        assert problem.path == "load.clients"


class TestFromOutside:
    def test_check_shows_each_group(self, tmp_path: Path) -> None:
        (tmp_path / "plan.yaml").write_text(SYSBENCH)
        shown = CliRunner().invoke(main, ["check", str(tmp_path / "plan.yaml")])
        assert shown.exit_code == 0, shown.output
        assert "1 client (share 1)" in shown.output
        problems = json.loads(
            CliRunner().invoke(main, ["check", "--json", str(tmp_path / "plan.yaml")]).output
        )
        assert [(group["name"], group["workload"], group["clients"]) for group in problems["groups"]] == [
            ("a", "sysbench", 1),
            ("b", "sysbench", 1),
        ]
        assert problems["given"]["workloads"]["a"] == {"sysbench": {"tables": 2}}

    def test_the_schema_knows_both_forms(self) -> None:
        validator = Draft202012Validator(plan_schema(PARTS))
        group = {"mix": {"tables": 4}, "share": 80}
        plan = {"target": {"database": {}}, "workloads": {"a": group}, "load": {"clients": 4}}
        assert validator.is_valid(plan)
        assert validator.is_valid({**plan, "workloads": [{"name": "a", **group}]})
        assert validator.is_valid({**plan, "expect": ["a.latency.p99 < 5ms"]})
        for wrong in (
            {**plan, "workload": {"mix": {}}},
            {key: value for key, value in plan.items() if key != "workloads"},
            {**plan, "workloads": {"a": {**group, "shares": 1}}},
            {**plan, "workloads": {"a": {"mix": {}, "load": {"warmup": "5s"}}}},
            {**plan, "workloads": [group]},
        ):
            assert not validator.is_valid(wrong), wrong
