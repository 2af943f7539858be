"""`loadcell check`: what would run, and every mistake, on the real parts."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import Result

from lines import CliRunner
from loadcell.cli import main
from loadcell.model.json import document
from loadcell.parts import installed
from loadcell.plan.load import load_plan
from loadcell.plan.ready import ready_plans

PLAN = """\
title: A sweep
question: How far does it go?
target: {postgres: {server: local, settings: {max_connections: 12000}}}
workload: {sysbench: {script: oltp_read_only}}
load: {clients: 1, warmup: 1s, duration: 9s}
"""


def check(directory: Path, text: str, *options: str) -> Result:
    path = directory / "plan.yaml"
    path.write_text(text, encoding="utf-8")
    return CliRunner(env={"COLUMNS": "80"}).invoke(main, ["check", str(path), *options])


SWITCHED = """\
target: {postgres: {}}
workload: {sysbench: {script: oltp_read_only}}
load: {clients: 1}
factors: {system: {pg: {target: {postgres: {}}}, maria: {target: {mysql: {}}}}}
"""


def test_targets_that_a_factor_switches_are_listed_with_their_monitors(tmp_path: Path) -> None:
    page = squeezed(check(tmp_path, SWITCHED).stdout)
    assert "target postgres, mysql workload" in page
    assert "monitors postgres: host, target, postgres mysql: host, target, mysql" in page
    assert json.loads(check(tmp_path, SWITCHED, "--json").stdout)["targets"] == [
        {"target": "postgres", "monitors": ["host", "target", "postgres"]},
        {"target": "mysql", "monitors": ["host", "target", "mysql"]},
    ]
    named = check(tmp_path, SWITCHED + "monitors: [host, postgres]\n")
    assert "the monitor postgres does not support the target mysql" in named.stdout + named.stderr
    by_level = SWITCHED.replace("{postgres: {}}}, maria", "{postgres: {}}, monitors.postgres: {}}, maria")
    assert "monitors postgres: host, postgres mysql: host" in squeezed(
        check(tmp_path, by_level + "monitors: [host]\n").stdout
    )


def squeezed(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.parametrize("name", ready_plans())
def test_ready_made_plans_are_right_and_fit_a_terminal(name: str) -> None:
    result = CliRunner(env={"COLUMNS": "80"}).invoke(main, ["check", name])
    assert result.exit_code == 0, result.output
    assert "The plan is valid" in result.stdout
    # Remarks on the machine, its cache and changes of bricks that last: these are no mistakes of the plan.
    remarks = squeezed(result.stdout).split(" Remark ")[1:]
    expected = ("the run will first build the service", "will be downloaded by Maven before the first trial")
    unexpected = [
        remark
        for remark in remarks
        if not remark.startswith(("affinity.", "faults.")) and not any(part in remark for part in expected)
    ]
    assert unexpected == []
    assert max(map(len, result.stdout.splitlines())) <= 80
    assert squeezed(result.stdout).endswith(f"Nothing was run; loadcell run {name} runs it.")


def test_levels_with_names_are_all_listed_as_a_plan_writes_them() -> None:
    result = squeezed(CliRunner(env={"COLUMNS": "80"}).invoke(main, ["check", "host-baseline"]).stdout)
    factor = load_plan(ready_plans()["host-baseline"], installed()).factors[0]
    levels = document(factor.record())["levels"]
    assert all(f" {level['label']}: " in result for level in levels)
    assert "memory-dumb-1: workload.probe.memory {test: dumb}" in result
    assert "cpu-all: workload.probe.cpu, load.clients cpus" in result


SIZED = """\
target: {mysql: {settings: {innodb_buffer_pool_size: 256M}}}
workload: {tpcc: {}}
load: {clients: 1}
factors: {workload.tpcc.warehouses: [1, 3, 8, 90], load.clients: [10, 1]}
"""


def test_data_stand_beside_the_cache_with_the_scales_that_fit_or_measure_storage(tmp_path: Path) -> None:
    result = check(tmp_path, SIZED)
    lines = [line for line in result.stdout.splitlines() if str(tmp_path) not in line]
    assert max(map(len, lines)) <= 80
    page = squeezed(result.stdout)
    assert "warehouses 1 113 MiB innodb_buffer_pool_size CPU and locks (fits into" in page
    assert "Up to workload.tpcc.warehouses 1 the data fit into innodb_buffer_pool_size of 256 MiB" in page
    assert "From 6 to 13 they are 2 to 5 times innodb_buffer_pool_size of 256 MiB: storage is" in page
    assert "Terminals: 1 to 10. CPU threads: " in page
    chinese = "".join(check(tmp_path, SIZED, "--lang", "zh").stdout.split())
    assert "取6至13时，数据为256MiB的缓存innodb_buffer_pool_size的2至5倍：测量的是存储。" in chinese
    sizing = json.loads(check(tmp_path, SIZED, "--json").stdout)["sizing"]
    assert [(item["scale"], item["position"]) for item in sizing["data"]] == [
        (1, "cached"), (3, "between"), (8, "storage"), (90, "oversized"),
    ]  # fmt: skip
    assert sizing["data"][0]["treatments"] == ["warehouses=1,clients=10", "warehouses=1,clients=1"]
    assert sizing["clients"][0]["noun"] == "terminal"


def test_a_plan_is_named_as_it_was_called_beside_where_it_is(tmp_path: Path) -> None:
    ready = json.loads(CliRunner().invoke(main, ["check", "kv-mix", "--json"]).stdout)
    assert (ready["plan"], ready["name"], ready["path"]) == ("kv-mix", "kv-mix", str(ready_plans()["kv-mix"]))
    document = json.loads(check(tmp_path, PLAN, "--json").stdout)
    path = str(tmp_path / "plan.yaml")
    assert (document["plan"], document["name"], document["path"]) == (path, "plan", path)
    listed = json.loads(CliRunner().invoke(main, ["plans", "--json"]).stdout)
    assert {(entry["name"], entry["path"]) for entry in listed} >= {(ready["name"], ready["path"])}


def test_a_heading_is_not_as_narrow_as_its_table() -> None:
    assert "\n5 treatments\n" in CliRunner(env={"COLUMNS": "80"}).invoke(main, ["check", "kv-mix"]).stdout


def test_the_quickstart_is_over_in_two_minutes() -> None:
    result = CliRunner().invoke(main, ["check", "quickstart", "--json"])
    assert json.loads(result.stdout)["expected_s"] < 100


def test_the_sweeps_are_those_of_the_report() -> None:
    for name, most, script in (("readwrite", 160, "oltp_read_write"), ("readonly", 120, "oltp_read_only")):
        document = json.loads(
            CliRunner().invoke(main, ["check", f"postgres-concurrency-{name}", "--json"]).stdout
        )
        assert [t["values"] for t in document["treatments"]] == [
            {"load.clients": n} for n in range(5, most + 1, 5)
        ]
        assert document["settings"]["workload"]["sysbench"]["script"] == script
        assert document["settings"]["workload"]["sysbench"]["tables"] == 12
        assert document["settings"]["workload"]["sysbench"]["table_size"] == 100_000
        assert (document["repeats"], document["settings"]["load"]["duration"]) == (2, "30s")


@pytest.mark.parametrize(
    ("options", "trials"),
    [
        (
            [
                "--set",
                "load.duration=10s",
                "--set",
                "repeats=1",
                "--set",
                "factors.load.clients=[5, 20, 80, 160]",
            ],
            4,
        ),
        (["--only", "load.clients=60,120,160"], 6),
        (["--set", "workload.sysbench.tables=4", "--set", "workload.sysbench.table_size=10000"], 64),
        (
            [
                "--set",
                'target.postgres={server: external, dsn: "postgresql://sbtest@192.0.2.10:5432/sbtest", '
                'password: "${env:SBTEST_PASSWORD}"}',
            ],
            64,
        ),
    ],
)
def test_what_the_sweep_recommends_works(options: list[str], trials: int) -> None:
    comments = squeezed(
        ready_plans()["postgres-concurrency-readwrite"].read_text(encoding="utf-8").replace("#", "")
    )
    assert all(option in comments for option in options)
    runner = CliRunner(env={"SBTEST_PASSWORD": "not to be seen"})
    result = runner.invoke(main, ["check", "postgres-concurrency-readwrite", "--json", *options])
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["trial_count"] == trials
    assert "not to be seen" not in result.output


def test_it_says_what_would_run(tmp_path: Path) -> None:
    text = PLAN + (
        "factors:\n"
        "  load.clients: [1, 2, 4]\n"
        "  cache: {small: {target.postgres.settings.shared_buffers: 16MB}, "
        "big: {target.postgres.settings.shared_buffers: 64MB}}\n"
        "repeats: 2\nexpect: [latency.p99 < 20ms]\n"
    )
    result = check(tmp_path, text)
    output = squeezed(result.stdout)
    assert result.exit_code == 0
    for part in (
        "A sweep How far does it go?",
        "postgres: server local",
        "sysbench: script oltp_read_only",
        "load threads auto, warmup 1s, duration 9s",
        "load.clients 3 levels: 1, 2, 4",
        "small: target.postgres.settings.shared_buffers 16MB",
        "6 treatments",
        "2 blocks of every treatment, each in random order. The seed is drawn when the run starts",
        "12 trials: 2 min of load",
        "Expect latency.p99 < 20ms",
    ):
        assert part in output, part
    assert max(len(line) for line in result.stdout.splitlines() if str(tmp_path) not in line) <= 80


def test_steps_have_a_line_each_in_short_form(tmp_path: Path) -> None:
    steps = """\
target: {http: {url: "http://127.0.0.1:8080"}}
workload:
  http:
    steps:
      login: {path: /login, form: {user: ada}, extract: {token: {json: $.token}}}
      order: {method: POST, path: /orders, json: {item: 7}, headers: {X-Token: "${token}"}}
load: {clients: 1}
"""
    lines = [line.strip() for line in check(tmp_path, steps).stdout.splitlines()]
    assert "steps.login: path /login, ..." in lines
    assert "steps.order: method POST, path /orders, ..." in lines


def test_values_that_the_plan_does_not_give_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "schema.sql").write_text("CREATE TABLE t (id int PRIMARY KEY, v int);")
    statements = """\
target: {postgres: {server: embedded}}
workload:
  sql:
    data: {files: [schema.sql]}
    statements: [SELECT v FROM t WHERE id = 1, "SELECT count(*) FROM t WHERE v > 2"]
load: {clients: 1}
"""
    done = check(tmp_path, statements)
    assert "sha256" not in done.stdout
    assert "data.files [schema.sql]" in done.stdout
    assert "statements: SELECT v FROM t WHERE id = 1\n" in re.sub(" +\n", "\n", done.stdout)


def test_a_seed_shows_the_order(tmp_path: Path) -> None:
    from loadcell.design.order import trials
    from loadcell.parts import installed
    from loadcell.plan.load import load_plan

    text = PLAN + "factors: {load.clients: [1, 2, 4]}\n"
    result = check(tmp_path, text, "--seed", "11")
    names = [trial.name for trial in trials(load_plan(tmp_path / "plan.yaml", installed()), 11)]
    assert "by seed 11:" in squeezed(result.stdout)
    assert [
        line.strip() for line in result.stdout.splitlines() if "-r" in line and line.startswith("  0")
    ] == names
    assert json.loads(check(tmp_path, text + "seed: 11\n", "--json").stdout)["trials"] == names
    assert json.loads(check(tmp_path, text, "--json").stdout)["trials"] is None


def test_as_written_needs_no_seed(tmp_path: Path) -> None:
    result = check(tmp_path, PLAN + "order: as-written\nrepeats: 1\nfactors: {load.clients: [4, 1]}\n")
    assert "as written" in result.stdout
    assert squeezed(result.stdout).index("001-clients=4-r1") < squeezed(result.stdout).index(
        "002-clients=1-r1"
    )


def test_a_rate_has_a_separate_line(tmp_path: Path) -> None:
    text = PLAN.replace(
        "clients: 1,", "clients: 16, rate: {from: 100/s, to: 1900/s, over: 8s}, arrivals: poisson,"
    )
    result = squeezed(check(tmp_path, text).stdout)
    assert "load clients 16, max_backlog 5s, threads auto, warmup 1s, duration 9s" in result
    assert (
        "open loop 100/s to 1900/s over 8s, at random (Poisson), carried by 16 connections: "
        "about 9,900 requests per trial" in result
    )
    document = json.loads(check(tmp_path, text, "--json").stdout)
    assert document["open_loop"]["requests"] == 9900
    closed = check(tmp_path, PLAN)
    assert "open loop" not in closed.stdout
    assert json.loads(check(tmp_path, PLAN, "--json").stdout)["open_loop"] is None


def test_a_rate_that_connections_can_hardly_carry_is_remarked_on(tmp_path: Path) -> None:
    text = PLAN + "factors: {load.rate: [1000/s, 30000/s]}\n"
    result = squeezed(check(tmp_path, text).stdout)
    assert result.count("Remark") == 1
    assert (
        "Remark load.clients (rate=30000_s): 30,000/s over 1 connection leave 33.3 µs per request" in result
    )


def test_two_hundred_treatments_are_shown_by_their_ends(tmp_path: Path) -> None:
    result = check(tmp_path, PLAN + "factors: {load.clients: {from: 1, to: 200, step: 1}}\n", "--seed", "1")
    assert "200 treatments" in result.stdout
    assert len(result.stdout.splitlines()) < 80
    rows = re.findall(r"^ *(\d+) +\1 *$", result.stdout, re.MULTILINE)
    assert (rows[0], rows[-1]) == ("1", "200")


def test_set_and_only_change_what_is_shown(tmp_path: Path) -> None:
    text = PLAN + "factors: {load.clients: [1, 2, 4]}\n"
    document = json.loads(
        check(tmp_path, text, "--set", "repeats=5", "--only", "clients=2,4", "--json").stdout
    )
    assert (document["repeats"], document["trial_count"], len(document["treatments"])) == (5, 10, 2)


FEW_CONNECTIONS = """
target: {postgres: {server: local, settings: {max_connections: 103}}}
workload: {sysbench: {script: oltp_read_only}}
factors: {load.clients: {from: 50, to: 200, step: 50}}
"""


@pytest.mark.parametrize(
    ("language", "lines"),
    [
        (
            "en",
            "200 clients need as many connections, and the server allows 100 (max_connections 103, "
            "3 of them reserved) expected: max_connections of 203 or more, or fewer clients 1 error.",
        ),
        (
            "zh",
            "200 个客户端需要同样多的连接，而服务器只提供 100 个（max_connections 为 103，其中保留 3 个） "
            "应为：max_connections 不小于 203，或减少客户端数 共 1 处错误",
        ),
    ],
)
def test_too_few_connections_are_one_mistake(tmp_path: Path, language: str, lines: str) -> None:
    result = check(tmp_path, FEW_CONNECTIONS, "--lang", language)
    assert result.exit_code == 2
    assert f"plan.yaml:2:47: target.postgres.settings.max_connections: {lines}" in squeezed(result.stderr)
    assert check(tmp_path, FEW_CONNECTIONS, "--only", "clients=50,100").exit_code == 0


def test_too_few_connections_of_a_tool_are_a_remark(tmp_path: Path) -> None:
    tool = "tool: {command: 'pgbench -c ${clients}', unit: transaction, figures: {tps: {pattern: '(\\d+)'}}}"
    text = FEW_CONNECTIONS.replace("sysbench: {script: oltp_read_only}", tool)
    output = squeezed(check(tmp_path, text).stdout)
    remark = "Remark target.postgres.settings.max_connections (clients=200 and 1 more): 200 clients need as"
    assert output.count("Remark target") == 1, output
    assert remark in output


def test_ten_thousand_treatments_ask_for_consent(tmp_path: Path) -> None:
    text = PLAN + "factors: {load.clients: {from: 1, to: 10000, step: 1}}\nrepeats: 1\n"
    result = check(tmp_path, text)
    assert result.exit_code == 0
    assert "10,000 trials" in result.stdout
    assert "loadcell run asks for --yes" in squeezed(result.stdout)
    assert not json.loads(check(tmp_path, PLAN, "--json").stdout)["needs_consent"]


WRONG = PLAN.replace("clients: 1", "clients: 0").replace("9s", "9") + "expect: [errors = 0]\n"


def test_mistakes_go_to_standard_error_with_status_2(tmp_path: Path) -> None:
    result = check(tmp_path, WRONG)
    assert result.exit_code == 2
    assert result.stdout == ""
    places = [
        line.split(": ")[0].rpartition("plan.yaml")[2]
        for line in result.stderr.splitlines()
        if line[0] == "/"
    ]
    assert places == [":5:17", ":5:42", ":6:10"]
    assert "did you mean: errors == 0" in result.stderr
    assert result.stderr.endswith("3 errors. Nothing was run.\n")


def test_mistakes_as_json(tmp_path: Path) -> None:
    result = check(tmp_path, WRONG, "--json")
    assert result.exit_code == 2
    document = json.loads(result.stdout)
    assert document["ok"] is False
    assert [problem["path"] for problem in document["problems"]] == [
        "load.clients",
        "load.duration",
        "expect",
    ]
    assert document["problems"][0]["line"] == 5
    assert document["problems"][0]["allowed"] == "at least 1"


def test_a_plan_that_is_not_there(tmp_path: Path) -> None:
    result = CliRunner().invoke(main, ["check", str(tmp_path / "none.yaml")])
    assert result.exit_code == 2
    assert "No such file" in result.stderr
    result = CliRunner().invoke(main, ["check", "quickstrat"])
    assert result.exit_code == 2
    assert "did you mean: quickstart" in result.stderr


def test_the_time_of_trials_that_only_profile_is_in_what_is_expected(tmp_path: Path) -> None:
    text = PLAN + "repeats: 2\nfactors: {load.clients: [1, 2]}\n"
    without = json.loads(check(tmp_path, text, "--json").stdout)
    document = json.loads(check(tmp_path, text + "profile: cpu\n", "--json").stdout)
    assert (document["profiled"], document["trial_count"]) == (1, without["trial_count"])
    assert (
        document["expected_s"] == without["expected_s"] + document["profile_s"] > without["expected_s"] + 10
    )
    result = squeezed(check(tmp_path, text + "profile: cpu\n").stdout)
    assert "Of this, 10 s is for 1 additional profiling trial." in result


HTTP = "workload: {http: {}}\n"
KV = "workload: {kv: {keys: 10}}\n"
DISK = "workload: {probe: {disk: {access: randread}}}\n"


@pytest.mark.parametrize(
    ("target", "workload", "path", "finding", "remedy"),
    [
        ("host: {directory: nowhere}", DISK, "host.directory", "there is no directory {home}/nowhere",
          "name an existing directory in `target.host.directory`"),
        ("store: {data: plan.yaml/in}", KV, "store.data", "{home}/plan.yaml is not a directory",
         "name a directory in"),
        ("store: {data: {image: /nowhere, size: 64MiB, fs: ext4}}", KV, "store.data.image",
         "there is no directory /nowhere for the image", "name an existing directory"),
        ('command: {command: "true", url: "http://127.0.0.1:{port}", directory: nowhere}', HTTP,
         "command.directory", "there is no directory {home}/nowhere", "correct `target.command.directory`"),
    ],
)  # fmt: skip
def test_a_directory_that_a_run_would_not_find_is_a_mistake(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    target: str,
    workload: str,
    path: str,
    finding: str,
    remedy: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    line = f"target: {{{target}}}"
    result = check(tmp_path, f"{line}\n{workload}load: {{clients: 1, duration: 1s}}\n")
    assert result.exit_code == 2
    location = f"plan.yaml:1:{line.index(path.rpartition('.')[2] + ':') + 1}"
    output = finding.replace("{home}", str(tmp_path))
    assert f"{location}: target.{path}: {output}\n    expected: {remedy}" in result.stderr


def test_a_directory_that_loadcell_makes_itself_need_not_be_there(tmp_path: Path) -> None:
    target = f"target: {{store: {{data: {tmp_path}/new/deeper}}}}\n"
    result = check(tmp_path, f"{target}{KV}load: {{clients: 1, duration: 1s}}\n")
    assert (result.exit_code, (tmp_path / "new").exists()) == (0, False), result.output


def test_levels_without_a_directory_are_mistakes_where_they_stand(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    text = f"target: {{host: {{}}}}\n{DISK}load: {{clients: 1, duration: 1s}}\n"
    result = check(tmp_path, f"{text}factors:\n  target.host.directory: [disk, gone]\n")
    assert result.exit_code == 2
    assert "plan.yaml:5:33: target.host.directory: there is no directory" in result.stderr
    assert "1 error" in result.stderr


def test_mistakes_are_reported_in_the_language_asked_for(tmp_path: Path) -> None:
    text = "target: {postgres: {}}\nworkload: {sysbench: {}}\nload: {clients: 0}\nrepeats: 0\n"
    in_english, in_chinese = (check(tmp_path, text, "--lang", language) for language in ("en", "zh"))
    assert in_english.exit_code == in_chinese.exit_code == 2
    plan = tmp_path / "plan.yaml"
    assert in_english.stderr == (
        f"{plan}:3:17: load.clients: found 0\n    expected: at least 1\n"
        f"{plan}:4:10: repeats: found 0\n    expected: at least 1\n2 errors. Nothing was run.\n"
    )
    assert in_chinese.stderr == (
        f"{plan}:3:17: load.clients: 实际为 0\n    应为：不小于 1\n"
        f"{plan}:4:10: repeats: 实际为 0\n    应为：不小于 1\n共 2 处错误；没有运行任何试验。\n"
    )
    problems = json.loads(check(tmp_path, text, "--json").stdout)["problems"]
    assert [problem["code"] for problem in problems] == ["plan.found", "plan.found"]
    assert problems[0]["args"]["value"] == "0"
    assert problems[0]["finding"] == "found 0"


def test_errors_of_commands_are_reported_in_the_language_asked_for(tmp_path: Path) -> None:
    call = ["show", "nosuch", "--lang", "zh"]
    assert "没有运行 'nosuch'" in CliRunner().invoke(main, call, env={"HOME": str(tmp_path)}).stderr
    wrong_call = CliRunner().invoke(main, ["run", "--retry-failed", "quickstart", "--lang", "zh"])
    assert wrong_call.stderr.endswith("错误：--retry-failed 只能与 --resume RUN 一起使用。\n")
    seed = CliRunner().invoke(main, ["check", "quickstart", "--seed", "x", "--lang", "zh"])
    assert "'x' 不是 0 到 9223372036854775807 之间的整数" in seed.stderr


@pytest.mark.parametrize(("language", "meaning"), [("en", "named by the plan"), ("zh", "由计划命名的指标")])
def test_metrics_that_the_plan_names_are_explained(tmp_path: Path, language: str, meaning: str) -> None:
    monitor = "{prometheus: {url: 'http://127.0.0.1:1', metrics: {queue: max of depth}}}"
    result = check(tmp_path, PLAN + f"monitors: [{monitor}]\nexpect: [queue < 5]\n", "--lang", language)
    assert result.exit_code == 0, result.output
    assert meaning in result.stdout


#: Words of English sentences that are no names in plans and commands.
_ENGLISH = re.compile(
    r"\b(?:[Tt]he|of|[Ee]ach|and|with|for|by|none|at|is|are|its|that|more|as|an?|trials?|levels?|times?|blocks?"
    r"|connections?|requests?|transactions?|Remark|Factors|Order|Time|Expect|Search|CPUs|share)\b"
)


@pytest.mark.parametrize(
    "settings",
    [
        "factors: {load.clients: [1, 2, 4]}\nrepeats: 2\nexpect: [latency.p99 < 20ms, target.cpu < 50%]\n",
        "factors: {load.clients: [1, 2]}\norder: as-written\nprofile: cpu\n",
        "factors: {load.clients: [1, 2]}\nseed: 4\naffinity: {target: all, client: cpus 0}\n",
        "factors: {load.clients: {from: 1, to: 1100, step: 1}}\nrepeats: 1\n",
        "factors: {load.rate: [1000/s, 30000/s]}\n",
        "factors: {workload.sysbench.tables: [1, 2]}\ndesign:\n  search: {factor: load.clients, "
        "between: [1, 64], objective: max throughput, subject to: latency.p99 < 1s}\n",
    ],
)
def test_the_page_is_wholly_in_the_language_asked_for(tmp_path: Path, settings: str) -> None:
    result = check(tmp_path, PLAN + settings, "--lang", "zh")
    assert result.exit_code == 0, result.output
    assert "没有运行任何试验；" in squeezed(result.stdout).replace(" ", "")
    page = result.stdout.partition("How far does it go?")[2].replace(str(tmp_path), "")
    assert _ENGLISH.findall(page) == []


def test_a_long_factor_is_broken_at_a_dot_and_what_varies_is_no_setting(tmp_path: Path) -> None:
    text = """
target: {postgres: {server: embedded}}
workload: {sysbench: {script: oltp_read_only}}
load: {clients: 1, duration: 1s}
factors: {target.postgres.settings.synchronous_commit: [on, off], load.clients: [1, 2]}
"""
    lines = check(tmp_path, text).stdout.splitlines()
    assert any(line.startswith("target.postgres.settings. ") for line in lines)
    assert any(line.startswith("synchronous_commit ") for line in lines)
    (load,) = (line for line in lines if line.startswith("load  "))
    assert "clients" not in load
    assert "duration 1s" in load


@pytest.mark.parametrize(("value", "is_right"), [("Bearer ${token}", True), ("Bearer abc${token}", False)])
def test_a_value_of_a_response_may_follow_the_scheme_of_a_login(
    tmp_path: Path, value: str, is_right: bool
) -> None:
    text = f"""
target: {{http: {{url: "http://127.0.0.1:9"}}}}
workload:
  http:
    steps:
      login: {{path: /, extract: {{token: {{json: $.token}}}}}}
      get: {{path: /x, headers: {{Authorization: "{value}"}}}}
load: {{clients: 1, duration: 1s}}
"""
    result = check(tmp_path, text)
    assert (result.exit_code == 0) is is_right, result.output
    assert ("the plan contains a secret" in result.output) is not is_right


@pytest.mark.parametrize(
    ("text", "remark"),
    [
        (
            "target: {command: {command: server, url: 'http://127.0.0.1:{port}', "
            "under: massif}}\nworkload: {http: {path: /}}\nload: {clients: 1}\n",
            "Remark target.command.under (baseline): valgrind is not installed; install it "
            "(Debian: apt-get install valgrind), or omit under",
        ),
        (PLAN + "profile: cpu\n", "Remark profile (baseline): perf is not installed; install it"),
    ],
)
def test_a_missing_profiler_is_remarked_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, remark: str
) -> None:
    (tmp_path / "server").touch()
    monkeypatch.setattr("shutil.which", lambda *_, **__: None)
    result = check(tmp_path, text.replace("server: local, ", ""))
    assert remark in squeezed(result.stdout), result.output
