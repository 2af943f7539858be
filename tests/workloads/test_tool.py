"""Options of a tool in a plan, what does not go together, and what `loadcell check` says of it before
anything runs.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, get_args

import pytest

from lines import CliRunner
from loadcell.cli import main
from loadcell.ingest.readers import names
from loadcell.model.metrics import declared
from loadcell.parts import installed
from loadcell.plan.model import Load
from loadcell.workloads.tool import Tool, ToolOptions
from loadcell.workloads.tool.options import ReadAs
from loadcell.workloads.tool_runner.registry import TOOLS

PLAN = """\
target: {{{target}: {{{options}}}}}
workload:
  tool:
    {tool}
load: {{duration: 5s, warmup: 0s{load}}}
"""


def options(directory: Path = Path("/"), **values: Any) -> ToolOptions:
    return ToolOptions.model_validate_json(json.dumps(values), strict=True, context={"directory": directory})


def tool(**values: Any) -> Tool:
    return Tool(options(**values))


def checked(
    directory: Path, tool: str, *more: str, target: str = "host", of_target: str = "", load: str = ""
) -> tuple[int, dict[str, Any]]:
    plan = directory / "plan.yaml"
    plan.write_text(PLAN.format(target=target, options=of_target, tool=tool, load=load) + "\n".join(more))
    done = CliRunner().invoke(main, ["check", str(plan), "--json"])
    return done.exit_code, json.loads(done.stdout)


def problem(directory: Path, tool: str, *more: str, **how: Any) -> dict[str, Any]:
    status, document = checked(directory, tool, *more, **how)
    assert status == 2
    [entry] = document["problems"]
    document: dict[str, Any] = entry
    return document


def test_every_tool_has_its_key_and_every_reader_its_name() -> None:
    properties = ToolOptions.model_json_schema(by_alias=True)["properties"]
    assert set(TOOLS) <= set(properties)
    assert get_args(ReadAs) == names()
    assert set(TOOLS) < set(names())


def test_what_is_not_given_is_not_in_the_record() -> None:
    assert options(sysbench="cpu run").model_dump(mode="json", by_alias=True) == {"sysbench": "cpu run"}
    assert options(mbw=64).section()["arguments"] == ["64"]
    assert options(before="a b", mbw="1").section()["before"] == [["a", "b"]]


def test_what_throughput_counts() -> None:
    assert tool(sysbench="cpu run").unit == "operation"
    assert tool(sysbench="oltp_read_only run").unit == "transaction"
    assert tool(**{"redis-benchmark": ""}).unit == "request"
    assert tool(command="x").unit == "operation"
    assert tool(command="x", unit="request").unit == "request"
    assert tool(command="x", read_as="pgbench").unit == "transaction"


def test_data_are_the_commands_that_make_them() -> None:
    assert tool(pgbench="-S").data() is None
    made = tool(pgbench="-S", prepare="pgbench -i")
    assert made.data() == {"tool": {"prepare": [["pgbench", "-i"]]}}
    assert made.loading() == made.engine()
    assert made.changes_data


@pytest.mark.parametrize(
    ("values", "load", "target", "path", "finding"),
    [
        ({"mbw": "8"}, {"clients": 4}, "host", "load.clients", "is 4, but is not passed to mbw"),
        ({"mbw": "8"}, {"rate": "5/s"}, "host", "load.rate", "mbw generates its own load"),
        ({"wrk": ""}, {"requests": 100}, "http", "load.requests", "it is not passed to wrk"),
        ({"ab": ""}, {"requests_per_client": 9}, "http", "load.requests_per_client", "no tool accepts it"),
        (
            {"sysbench": "cpu run"},
            {"duration": "1500ms"},
            "host",
            "load.duration",
            "is 1500ms, but sysbench accepts whole seconds only",
        ),
        (
            {"sysbench": "cpu run"},
            {"warmup": "500ms"},
            "host",
            "load.warmup",
            "is 500ms, but sysbench accepts whole seconds only",
        ),
        (
            {"command": "x ${port}"},
            {},
            "host",
            "workload.tool.command",
            "uses ${port}, which the target host does not have",
        ),
        (
            {"command": "x", "after": "y ${user}"},
            {},
            "http",
            "workload.tool.after",
            "uses ${user}, which the target http does not have",
        ),
        (
            {"pgbench": "", "prepare": "pgbench -i"},
            {},
            "host",
            "workload.tool.prepare",
            "generates data in a database, but the target host has none",
        ),
    ],
)
def test_what_does_not_go_together(
    values: dict[str, Any], load: dict[str, Any], target: str, path: str, finding: str
) -> None:
    settings = Load.model_validate_json(json.dumps({"clients": 1, "warmup": "0s", **load}), strict=True)
    [remark] = tool(**values).misfits(settings, installed().target_kind(target))
    assert (remark.path, remark.message.text) == (path, finding)
    assert remark.message.advice


def test_what_goes_together() -> None:
    load = Load.model_validate_json('{"clients": 8, "warmup": "0s", "requests": 100}', strict=True)
    assert tool(ab="").misfits(load, installed().target_kind("http")) == []
    assert tool(command="x ${clients} ${requests}").misfits(load, installed().target_kind("host")) == []


@pytest.mark.parametrize(
    ("values", "path", "line", "finding"),
    [
        ("fio: no-such.fio", "workload.tool.fio", 4, "there is no job file"),
        ("pgbench: -f no-such.sql", "workload.tool.pgbench", 4, "there is no file"),
        ("command: ./no-such", "workload.tool.command", 4, "there is no program"),
        ("command: ./plan.yaml", "workload.tool.command", 4, "not an executable program"),
        (
            "sysbench: cpu --threads=${cleints} run",
            "workload.tool.sysbench",
            4,
            "there is no placeholder ${cleints}",
        ),
        ('command: "x \'"', "workload.tool.command", 4, "cannot be split"),
        ("command: x ${env:HOME}", "workload.tool.command", 4, "every user of the machine"),
        ("{command: x, figures: {tps: {pattern: tps}}}", "workload.tool.figures.tps", 4, "has no group"),
        (
            "{command: x, figures: {tps: {pattern: '('}}}",
            "workload.tool.figures.tps",
            4,
            "not a regular expression",
        ),
        ("{command: x, figures: {tps: {json: 'a..b'}}}", "workload.tool.figures.tps", 4, "is not a path"),
        (
            "{command: x, figures: {tps: {}}}",
            "workload.tool.figures.tps",
            4,
            "one of `pattern`, `json` and `csv`",
        ),
        (
            "{command: x, figures: {errors: {csv: a}}}",
            "workload.tool.figures",
            4,
            "no metric can be called 'errors'",
        ),
        ("{sysbench: cpu run, mbw: 8}", "workload.tool", 3, "names 2 tools: sysbench, mbw"),
        ("{unit: MiB}", "workload.tool", 3, "names no tool"),
        ("{mbw: 8, read_as: dd}", "workload.tool", 3, "`read_as` applies to a `command`"),
        ("{mbw: 8, env: {'a b': c}}", "workload.tool.env", 4, "not the name of an environment variable"),
    ],
)
def test_every_mistake_is_reported_with_its_place(
    tmp_path: Path, values: str, path: str, line: int, finding: str
) -> None:
    entry = problem(tmp_path, values)
    assert finding in entry["finding"]
    assert entry["allowed"] or "`" in entry["finding"] or ":" in entry["finding"], "it says what to do"
    assert entry["path"] == path
    assert entry["line"] == line


def test_what_was_meant_is_reported(tmp_path: Path) -> None:
    assert problem(tmp_path, "sysbench: cpu --threads=${cleints} run")["nearest"] == "${clients}"
    assert problem(tmp_path, "{command: x, figures: {errors: {csv: a}}}")["nearest"] == "failed"
    assert problem(tmp_path, "sysbnech: cpu run")["nearest"] == "workload.tool.sysbench"


def test_clients_nobody_hears_of_are_a_mistake_of_the_plan(tmp_path: Path) -> None:
    entry = problem(tmp_path, "mbw: 8", load=", clients: 4")
    assert (entry["path"], entry["line"]) == ("load.clients", 5)


def test_a_tool_is_no_client_group(tmp_path: Path) -> None:
    plan = tmp_path / "plan.yaml"
    plan.write_text(
        "target: {postgres: {server: embedded}}\nload: {clients: 2}\nworkloads:\n  a: {tool: "
        "{pgbench: -S}, share: 1}\n"
        "  b: {sysbench: {script: oltp_read_only}, share: 1}\n"
    )
    done = CliRunner().invoke(main, ["check", str(plan), "--json"])
    assert done.exit_code == 2
    [entry] = json.loads(done.stdout)["problems"]
    assert entry["path"] == "workloads.a"
    assert entry["finding"] == "the workload tool generates its load itself"


def test_a_tool_that_is_missing_is_remarked_on_with_how_to_get_it(tmp_path: Path) -> None:
    status, document = checked(tmp_path, "{netperf: -H 10.0.0.2, program: no-netperf-here}")
    assert status == 0
    [remark] = document["remarks"]
    assert remark["path"] == "workload.tool.netperf"
    assert "is not installed" in remark["text"]
    assert "https://github.com/HewlettPackard/netperf" in remark["text"]
    _, document = checked(tmp_path, "command: no-such-program ${duration_s}")
    assert [entry["text"] for entry in document["remarks"]] == [
        "no-such-program is not installed. Install it, or correct its name in `workload.tool`."
    ]


def test_a_script_beside_the_plan_that_is_not_called_as_one_is_remarked_on(tmp_path: Path) -> None:
    (tmp_path / "ours.sh").write_text("#!/bin/sh\n")
    _, document = checked(tmp_path, "command: ours.sh ${duration_s}")
    assert [entry["text"] for entry in document["remarks"]] == [
        "ours.sh is not on PATH. It is in the directory of the plan: write `./ours.sh`."
    ]


def test_an_argument_that_names_a_file_beside_the_plan_is_remarked_on(tmp_path: Path) -> None:
    (tmp_path / "bench.py").touch()
    (tmp_path / "plans").mkdir()
    _, document = checked(tmp_path / "plans", "command: python3 ../bench.py ${duration_s}")
    assert [entry["text"] for entry in document["remarks"]] == [
        "../bench.py is not in the directory in which the program runs, but next to the plan: "
        "write `${plan}/../bench.py`"
    ]
    _, document = checked(
        tmp_path / "plans", f"command: [python3, '${{plan}}/../bench.py', {'x' * 300}, '${{duration_s}}']"
    )
    assert document["remarks"] == []


def test_a_command_that_is_not_told_how_long_to_run_is_remarked_on(tmp_path: Path) -> None:
    _, document = checked(tmp_path, "command: 'true'")
    [remark] = document["remarks"]
    assert "it runs for its own time" in remark["text"]


def test_metrics_that_the_plan_names_can_be_expected(tmp_path: Path) -> None:
    named = "{command: 'true ${duration_s}', figures: {depth: {csv: depth}}}"
    status, document = checked(tmp_path, named, "expect: [depth < 5]")
    assert status == 0
    assert document["expect"][0]["metric"] == "depth"
    wrong = problem(tmp_path, named, "expect: [dephts < 5]")
    assert "depth" in wrong["nearest"]
    assert "depth" not in declared()


@pytest.mark.parametrize(
    ("files", "reason"),
    [
        ("[a/gc.log]", "'a/gc.log' is not the name of a file to retain"),
        ("['${seed}.log']", "'${seed}.log' is not the name of a file to retain"),
        ("[.hidden]", "'.hidden' is not the name of a file to retain"),
        ("[trial.json]", "loadcell writes files with names like trial.json itself"),
        ("[result.csv]", "loadcell writes files with names like result.csv itself"),
        ("[gc.log, gc.log]", "gc.log stands twice in the list"),
    ],
)
def test_names_of_files_that_a_trial_cannot_retain(tmp_path: Path, files: str, reason: str) -> None:
    entry = problem(tmp_path, f"{{command: 'true ${{duration_s}}', files: {files}}}")
    assert reason in entry["finding"]


def test_a_file_that_a_trial_retains_may_stand_alone() -> None:
    assert options(command="true", files="gc.log").files == ("gc.log",)
    assert tool(command="true", files="gc.log").engine()["tool"]["files"] == ["gc.log"]


def test_the_gc_log_of_a_jvm_target_is_not_overwritten() -> None:
    [misfit] = tool(command="true", files=["gc.log"]).misfits(Load(), installed().target_kind("jvm"))
    assert misfit.path == "workload.tool.files"
