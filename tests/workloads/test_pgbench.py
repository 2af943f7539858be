"""pgbench's options: where scripts come from, what they do to the data, and mistakes with their places."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from loadcell.parts import installed
from loadcell.plan.load import load_plan
from loadcell.plan.problems import PlanError
from loadcell.workloads.pgbench import BUILTINS, Pgbench, PgbenchOptions, split

PLAN = "target: {postgres: {server: local}}\nload: {clients: 1}\nworkload:\n  pgbench:\n"


def workload(**options: Any) -> Pgbench:
    return Pgbench(PgbenchOptions(**options))


def plan(directory: Path, options: str, **scripts: str | bytes) -> Pgbench:
    """The workload of a plan in `directory`, beside these scripts."""
    for name, text in scripts.items():
        (directory / f"{name}.sql").write_bytes(text if isinstance(text, bytes) else text.encode())
    file = directory / "plan.yaml"
    file.write_text(PLAN + "".join(f"    {line}\n" for line in options.splitlines()))
    workload_options = load_plan(file, installed()).base.workload
    assert isinstance(workload_options, PgbenchOptions)
    return Pgbench(workload_options)


def mistakes(directory: Path, options: str, **scripts: str | bytes) -> str:
    with pytest.raises(PlanError) as caught:
        plan(directory, options, **scripts)
    return str(caught.value)


def test_defaults_are_pgbenchs() -> None:
    options = PgbenchOptions()
    assert (options.scripts, options.scale, options.protocol) == (("tpcb-like",), 1, "simple")
    assert (options.init_steps, options.fillfactor, options.latency_limit) == ("dtgvp", 100, None)


def test_a_script_is_a_name_and_perhaps_a_weight() -> None:
    assert split("select-only") == ("select-only", 1)
    assert split("a@b/rw.sql@20") == ("a@b/rw.sql", 20)
    with pytest.raises(ValueError, match=r"the weight of 'rw.sql' is '2x'"):
        split("rw.sql@2x")


@pytest.mark.parametrize("script", BUILTINS)
def test_only_scripts_that_write_change_the_data(script: str) -> None:
    assert workload(scripts=(script,)).changes_data == (script != "select-only")


def test_a_script_lies_beside_its_plan_and_is_kept_with_the_record(tmp_path: Path) -> None:
    text = "\\set a random(1, :range)\nSELECT :a;\n"
    made = plan(
        tmp_path, "scripts: [select-only@9, ro.sql]\nvariables: {range: 10, on: true, x: 0.5}", ro=text
    )
    section = made.engine()["pgbench"]
    assert section["scripts"] == [
        {"name": "select-only", "source": None, "weight": 9},
        {"name": "ro.sql", "source": text, "weight": 1},
    ]
    assert section["variables"] == {"range": "10", "on": "true", "x": "0.5"}
    assert not made.changes_data
    assert made.options.model_dump(mode="json")["script_texts"] == {"ro.sql": text}


def test_the_data_depend_on_their_own_options_alone() -> None:
    first = workload(scale=2, protocol="prepared")
    assert first.data() == workload(scale=2, scripts=("select-only",)).data()
    assert first.data() == {"pgbench": {"scale": 2, "init_steps": "dtgvp", "fillfactor": 100}}
    assert workload(init_steps="").data() is None


def test_mistakes_in_scripts_are_mistakes_of_the_plan_with_script_line_and_column(tmp_path: Path) -> None:
    wrong = mistakes(tmp_path, "scripts: [one.sql, two.sql]", one="SELECT 1;\n\\set x 1 +\n", two="\\if 1\n")
    assert "plan.yaml:4:3: workload.pgbench: one.sql:2:" in wrong
    assert "two.sql:1:1: \\if without matching \\endif" in wrong


@pytest.mark.parametrize(
    ("options", "part"),
    [
        ("scripts: [gone.sql]", "there is no script file"),
        ("scripts: [select-onl]", "did you mean select-only?"),
        ("scripts: []", "`scripts` is empty"),
        ("scripts: [tpcb-like@0]", "total script weight must not be zero"),
        ("scripts: [tpcb-like@x]", "write a whole number after the @"),
        ("scripts: [bytes.sql]", "is not UTF-8 text (byte 8)"),
        ("scripts: [nul.sql]", "nul.sql is not text: it has a NUL byte in line 2"),
        ("scripts: [much.sql]", "much.sql is larger than 64 MiB"),
        (
            "scripts: [vars.sql]\nprotocol: prepared",
            "vars.sql:1:1: statement has too many arguments (maximum is 255)",
        ),
        ("scripts: [shell.sql]", "allow it with `allow_shell: true`"),
        ("scripts: [shell.sql]\nallow_shell: maybe", "allow_shell"),
        ("scripts: [pipe.sql]", "cannot use pipeline mode with the simple query protocol"),
        ("variables: {1a: 1}", 'invalid variable name: "1a"'),
        ("scale: 0", "at least 1"),
        ("init_steps: dtx", "init_steps"),
        ("init_steps: dgv", "creates no tables"),
        ("init_steps: dtgG", "generates the data twice"),
        ("init_steps: dtgf", "creates foreign keys without primary keys"),
        ("fillfactor: 9", "at least 10"),
        ("max_tries: 0", "at least 1"),
    ],
)
def test_what_cannot_work_is_a_mistake(tmp_path: Path, options: str, part: str) -> None:
    scripts = {
        "bytes": b"SELECT '\xe9';",
        "nul": b"SELECT 1;\nSELECT '\0';\n",
        "much": b" " * ((64 << 20) + 1) if "much" in options else b"",
        "vars": f"SELECT least({', '.join([':scale'] * 256)});",
        "shell": "\\shell true\n",
        "pipe": "\\startpipeline\n\\endpipeline\n",
    }
    assert part in mistakes(tmp_path, options, **scripts)


def test_a_script_of_a_megabyte_is_read_and_its_last_mistake_found(tmp_path: Path) -> None:
    lines = "SELECT 1;\n" * 100_000
    assert not plan(tmp_path, "scripts: [long.sql]", long=lines).changes_data
    assert "long.sql:100001:8: " in mistakes(tmp_path, "scripts: [long.sql]", long=lines + "\\set x foo(1)\n")


def test_many_clients_on_one_branch_are_remarked_upon() -> None:
    assert [remark.path for remark in workload().advice()] == ["scale"]
    assert workload(scale=10).advice() == []
    assert workload(scripts=("select-only",)).advice() == []


def test_the_balances_that_scripts_keep_equal_must_be_equal() -> None:
    def ask(question: str) -> list[tuple[int, int]]:
        return [(5, 5 if "history" in question else 6)]

    def wrong(*scripts: str, **more: Any) -> dict[str, int]:
        return {item.says: item.wrong for item in workload(scripts=scripts, **more).verify(ask)}

    both = {"sum(branches) = sum(tellers)": 1, "sum(accounts) = sum(history)": 0}
    assert wrong("tpcb-like", "select-only") == {**both, "sum(tellers) = sum(history)": 0}
    assert wrong("tpcb-like", "simple-update") == both
    assert "sum(accounts) = sum(history)" not in wrong("tpcb-like", scale=1000)
    assert wrong("tpcb-like", init_steps="") == {}


def test_own_scripts_may_have_parallel_workers_and_its_own_have_none(tmp_path: Path) -> None:
    assert workload(scripts=["tpcb-like"]).parallel_statements({}, 5_000) == 0
    script = tmp_path / "own.sql"
    script.write_text("SELECT count(*) FROM pgbench_accounts;\n")
    assert workload(scripts=[str(script)]).parallel_statements({}, 5_000) == 5_000
