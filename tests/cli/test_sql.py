"""`loadcell sql DSN`: the plan of its words, its output, its secrets and how it ends."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.cells import cell_len

from lines import LOADCELL, CliRunner, called, command, planned, refused
from loadcell.cli import main
from loadcell.model.terminal import WIDTH
from loadcell.store.read import read_run
from mariadb import MariadbServer
from servers import PostgresServer, free_port

#: found nowhere else
SECRET = "q7-Zz%/p@ss"


class TestWords:
    """No server is asked for anything here."""

    def test_the_defaults_are_a_short_read_only_load(self) -> None:
        assert planned("sql", "postgresql://me@db/shop") == {
            "title": {
                "en": "sysbench oltp_read_only on postgresql://me@db/shop",
                "zh": "sysbench oltp_read_only 压测（postgresql://me@db/shop）",
            },
            "target": {"postgres": {"server": "external", "dsn": "postgresql://me@db/shop"}},
            "workload": {"sysbench": {"script": "oltp_read_only"}},
            "load": {"clients": 10, "warmup": "1s", "duration": "10s", "interval": "250ms"},
            "repeats": 1,
        }

    def test_every_option_is_a_setting_of_the_plan(self) -> None:
        plan = planned(
            "sql",
            *[
                "embedded",
                "-w",
                "pgbench:select-only",
                "-c",
                "1,4,4",
                "--rate",
                "100/s,200/s",
                "-n",
                "1000",
                "-d",
                "5min",
                "--warmup",
                "0s",
            ],
            *["--threads", "2", "--repeats", "3", "--seed", "7"],
            *("--set", "workload.pgbench.scale=2", "--set", "expect=[errors == 0]"),
        )
        assert plan["target"] == {"postgres": {"server": "embedded"}}
        assert plan["workload"] == {"pgbench": {"scripts": ["select-only"], "scale": 2}}
        assert plan["load"] == {"threads": 2, "warmup": "0s", "requests": 1000, "duration": "5min"}
        assert plan["factors"] == {"load.clients": [1, 4], "load.rate": ["100/s", "200/s"]}
        assert (plan["repeats"], plan["seed"], plan["expect"]) == (3, 7, ["errors == 0"])

    def test_a_count_has_an_hour(self) -> None:
        load = planned("sql", "embedded", "--requests-per-client", "10")["load"]
        assert load == {"clients": 10, "warmup": "1s", "requests_per_client": 10, "duration": "1h"}

    def test_intervals_fit_a_short_time(self) -> None:
        assert planned("sql", "embedded", "-d", "500ms")["load"]["interval"] == "100ms"
        assert "interval" not in planned("sql", "embedded", "-d", "1min")["load"]

    def test_a_query_and_a_script_change_no_data_of_loadcells(self, tmp_path: Path) -> None:
        query = planned("sql", "host=db dbname=shop", "--query", " SELECT 1 ")
        assert query["workload"] == {"sql": {"statements": ["SELECT 1"]}}
        script = planned("sql", "host=db dbname=shop", "--query", "\\set a 1\nSELECT :a")
        assert script["workload"]["pgbench"] == {
            "scripts": ["query"], "inline": {"query": "\\set a 1\nSELECT :a"}, "init_steps": "",
        }  # fmt: skip
        (tmp_path / "a.sql").write_text("SELECT 2;\n")
        script = planned("sql", "postgres://db/shop", "--script", str(tmp_path / "a.sql"))
        assert script["workload"]["pgbench"]["scripts"] == [str(tmp_path / "a.sql")]

    def test_mariadb_is_mysql(self) -> None:
        plan = planned("sql", "mariadb://me@db:3307", "-w", "tpcc")
        assert plan["target"] == {"mysql": {"server": "external", "url": "mysql://me@db:3307"}}
        assert plan["workload"] == {"tpcc": {}}

    @pytest.mark.parametrize(
        ("words", "message"),
        [
            (["db.example"], "'db.example' is not the DSN of a database. Give postgresql://"),
            (["oracle://me:hidden@db/x"], "'oracle://me:...@db/x' is not the DSN"),
            (["postgres://db:port/x"], "is not the DSN of a database (Port could not be cast"),
            (["embedded", "-d", "30"], 'found "30", a number without a unit; did you mean 30s?'),
            (["embedded", "--rate", "fast"], 'found "fast": give a rate with its unit'),
            (["embedded", "-c", "1,x"], "'x' is not a whole number from 1 to 100000"),
            (["embedded", "-c", "8", "-n", "7"], "load.requests: is 7, fewer than the 8 clients"),
            (["embedded", "--query", ""], "--query is empty"),
            (
                ["embedded", "--query", "SELECT 1", "-w", "tpcc"],
                "--workload and --query exclude each other",
            ),
            (
                ["embedded", "-w", "tpcc:x"],
                "tpcc has no scripts; for postgres there are sysbench:oltp_read_write",
            ),
            (["embedded", "-w", "sysbench:oltp_raed_only"], "workload.sysbench.script"),
            (["embedded", "-w", "nothing"], "there is no workload 'nothing'. There are sysbench:oltp_"),
            (
                ["embedded", "-w", "tpcx"],
                "there is no workload 'tpcx'. Did you mean tpcc? There are sysbench",
            ),
            (["embedded", "-w", "kv"], "the workload kv cannot be run on postgres. There are sysbench"),
            (
                ["embedded", "--query", "SELECT ':a', x::int FROM t WHERE id=:cid"],
                ":cid in --query has no value",
            ),
            (["embedded", "--query", "\\sett x 1"], "sql: workload.pgbench: query:1:1: invalid command"),
            (["embedded", "--script", "none.sql"], "there is no script file"),
            (["mysql://me@db", "--query", "\\set a 1\nSELECT :a"], "--query is for PostgreSQL"),
            (
                ["embedded", "--query", "SELECT :id", "-p", "idd=1..9"],
                "-p idd: --query has no `:idd`. Did you",
            ),
            (["embedded", "--query", "SELECT :id", "-p", "id"], "-p id: give NAME=VALUES"),
            (["embedded", "--query", "SELECT :id", "-p", "id=9..1"], "9..1 is not a range of integers"),
            (["embedded", "-w", "tpcc", "-p", "id=1..9"], "-p gives values to `:name` in --query"),
            (
                ["mysql://me@db", "-w", "pgbench:tpcb-like"],
                "the workload pgbench cannot be run on mysql. There are sysbench:",
            ),
            (["embedded", "--set", "load.cleints=3"], "load.clients"),
            (["embedded", "--set", "load.clients"], "give PATH=VALUE"),
        ],
    )
    def test_what_is_wrong_is_reported_and_nothing_is_run(self, words: list[str], message: str) -> None:
        assert message in refused("sql", *words)

    @pytest.mark.parametrize(
        "words",
        [
            ["SELECT :cid", "--set", "workload.pgbench.variables.cid=1"],
            ["\\set cid random(1, 9)\nSELECT :cid, :client_id"],
            ["SELECT 1 AS one \\gset\nSELECT :one"],
        ],
    )
    def test_a_query_whose_variables_have_values_is_planned(self, words: list[str]) -> None:
        assert "pgbench" in planned("sql", "embedded", "--query", *words)["workload"]

    def test_a_query_has_parameters_on_every_database(self) -> None:
        query = "SELECT ':a', now()::date, (ARRAY[1,2])[1:2] WHERE id = :id AND s = :s -- :b"
        plan = planned("sql", "mysql://me@db/shop", "--query", query, "-p", "id=1..9", "-p", "s=new,paid")
        parameters = {"id": "1..9", "s": ["new", "paid"]}
        assert plan["workload"] == {"sql": {"statements": [query], "parameters": parameters}}

    @pytest.mark.parametrize("dsn", ["embedded", "mysql://me@db"])
    def test_the_workloads_that_are_named_go_with_the_database(self, dsn: str) -> None:
        listed = refused("sql", dsn, "-w", "nothing").partition("There are ")[2].rstrip(".")
        named = listed.replace(" and ", ", ").split(", ")
        assert ("pgbench:tpcb-like" in named) is (dsn == "embedded")
        for name in named:
            planned("sql", dsn, "-w", name)

    def test_a_letter_of_ycsb(self) -> None:
        assert planned("sql", "embedded", "-w", "ycsb:c")["workload"] == {"ycsb": {"workload": "c"}}

    def test_a_saved_plan_is_the_same_plan_and_overwrites_nothing(self, tmp_path: Path) -> None:
        path = tmp_path / "mine.yaml"
        words = ["sql", "embedded", "-c", "1,2", "--save-plan", str(path)]
        saved = CliRunner().invoke(main, words)
        assert (saved.exit_code, saved.stdout) == (0, "")
        assert f"Run it with: loadcell run {path}" in saved.stderr
        assert CliRunner().invoke(main, ["check", str(path)]).exit_code == 0
        again = CliRunner().invoke(main, words)
        assert again.exit_code == 2
        assert "File exists. Name another file" in again.output

    def test_a_shell_completes_workloads_and_options(self) -> None:
        def completed(words: str, incomplete: str) -> list[str]:
            env = {
                "_LOADCELL_COMPLETE": "bash_complete",
                "COMP_WORDS": f"{words} {incomplete}",
                "COMP_CWORD": str(len(words.split())),
            }
            result = subprocess.run(
                [LOADCELL], capture_output=True, text=True, env={**os.environ, **env}, check=True
            )
            return [line.partition(",")[2] for line in result.stdout.splitlines()]

        assert completed("loadcell", "sq") == ["sql"]
        assert "sysbench:oltp_read_write" in completed("loadcell sql embedded -w", "sysbench:oltp_r")
        assert completed("loadcell sql embedded", "--req") == ["--requests", "--requests-per-client"]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def counted(home: Path, postgres_server: PostgresServer) -> subprocess.CompletedProcess[str]:
    words = ("-c", "4", "-n", "1000", "--warmup", "100ms", "--query", "SELECT 1", "--no-report")
    return command(home, "sql", postgres_server.dsn(), *words)


class TestOnPostgres:
    def test_it_prints_what_people_look_for(self, counted: subprocess.CompletedProcess[str]) -> None:
        assert counted.returncode == 0, counted.stderr
        result = counted.stdout
        assert "1,000 transactions in" in result
        assert re.search(r"Throughput +[\d,.]+ +transactions/s", result)
        assert re.search(r"Succeeded +1,000\b", result)
        assert re.search(r"Failed +0\b", result)
        assert re.search(r"(ms|µs) +mean +± sd +p50 +p90 +p95 +p99 +p99\.9 +max", result)
        assert re.search(r"rerun\n +loadcell run results/sql/\S+\n", result)
        assert all(cell_len(line) <= WIDTH or "results/" in line for line in result.splitlines())

    def test_it_is_a_run_like_any_other(self, counted: subprocess.CompletedProcess[str], home: Path) -> None:
        assert counted.returncode == 0, counted.stderr
        [path] = (home / "results" / "sql").iterdir()
        assert {"plan.yaml", "run.json", "environment.json"} <= {file.name for file in path.iterdir()}
        [trial] = read_run(path).trials
        assert (trial.status, trial.totals.transactions.attempted) == ("ok", 1000)
        assert called(home, "check", str(path / "plan.yaml")).returncode == 0

    def test_json_is_that_of_run(self, home: Path, postgres_server: PostgresServer) -> None:
        words = (
            "-c",
            "1,2",
            "-n",
            "100",
            "--warmup",
            "0s",
            "--query",
            "SELECT 1",
            "--json",
            "--no-report",
            "-q",
        )
        result = called(home, "sql", postgres_server.dsn(), *words)
        document = json.loads(result.stdout)
        assert (result.returncode, document["exit_status"], document["state"]) == (0, 0, "finished")
        assert [trial["totals"]["transactions"]["succeeded"] for trial in document["trials"]] == [100, 100]
        assert {trial["levels"]["load.clients"] for trial in document["trials"]} == {"1", "2"}
        assert document["reports"] == []

    def test_errors_are_named_by_their_class(self, home: Path, postgres_server: PostgresServer) -> None:
        words = ("-c", "2", "-n", "20", "--warmup", "0s", "--query", "SELECT 1/0", "--no-report")
        result = called(home, "sql", postgres_server.dsn(), *words)
        assert re.search(r"Failed +20 +100% of those that ended", result.stdout), result.stdout
        assert re.search(r"20 +22012 +.*division by zero", result.stdout)

    def test_a_limit_that_is_reached_is_no_success(self, home: Path, postgres_server: PostgresServer) -> None:
        words = ("-c", "1", "-n", "1000", "-d", "300ms", "--warmup", "0s", "--query", "SELECT pg_sleep(0.05)")
        result = called(home, "sql", postgres_server.dsn(), *words, "--no-report")
        assert result.returncode == 3
        output = " ".join(result.stdout.split())  # lines are as long as the terminal is wide
        assert re.search(r"timed out: \d of 1,000 requests ended within the limit of 0\.30 s", output)

    def test_a_server_that_is_not_there(self, home: Path) -> None:
        result = called(home, "sql", f"postgresql://me@127.0.0.1:{free_port()}/x", "--query", "SELECT 1")
        assert result.returncode == 2
        assert "no server responds" in result.stderr
        assert "Traceback" not in result.stdout + result.stderr

    def test_ctrl_c_ends_it_in_order(self, home: Path, postgres_server: PostgresServer) -> None:
        process = subprocess.Popen(
            [LOADCELL, "sql", postgres_server.dsn(), "-d", "10min", "--query", "SELECT 1", "--no-report"],
            cwd=home, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
        )  # fmt: skip
        assert process.stderr is not None
        for line in process.stderr:
            if line.startswith("writing "):
                break
        path = home / line.removeprefix("writing ").strip()
        began = time.monotonic()
        while not list(path.glob("trials/*/intervals.csv")) and time.monotonic() < began + 60:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
        assert process.returncode == 130
        assert read_run(path).run.state == "interrupted"


@pytest.fixture(scope="module")
def locked() -> Iterator[PostgresServer]:
    with PostgresServer(
        password=SECRET, hba=["local all all trust", "host all all all scram-sha-256"]
    ) as server:
        yield server


class TestPassword:
    """A server that asks for one; it is in none of the files, and on no command line for longer than it takes
    to read it.
    """

    def dsn(self, server: PostgresServer, password: str = "") -> str:
        return f"postgresql://postgres{password}@{server.host}:{server.port}/postgres"

    def test_it_is_taken_out_of_sight(self, tmp_path: Path, locked: PostgresServer) -> None:
        words = ("-c", "2", "-d", "1s", "--warmup", "0s", "--query", "SELECT 1")
        process = subprocess.Popen(
            [LOADCELL, "sql", self.dsn(locked, ":q7-Zz%25%2Fp%40ss"), *words], cwd=tmp_path, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, "HOME": str(tmp_path)},
        )  # fmt: skip
        assert process.stderr is not None
        result = ""
        for line in process.stderr:
            result += line
            if line.startswith("writing "):
                break
        shown = Path(f"/proc/{process.pid}/cmdline").read_text()
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        shown += "".join(Path(f"/proc/{child}/cmdline").read_text() for child in children)
        stdout, stderr = process.communicate(timeout=60)
        result += stderr
        assert process.returncode == 0, stdout + result
        assert "next time set PGPASSWORD, and write no secret here" in result
        files = [path for path in tmp_path.rglob("*") if path.is_file()]
        assert {"report.html", "report.md", "plan.yaml", "run.json", "trial.json"} <= {
            path.name for path in files
        }
        everything = [shown, stdout, result, *(path.read_text(errors="replace") for path in files)]
        for form in (SECRET, "q7-Zz%25%2Fp%40ss", "q7-Zz"):
            assert not [text for text in everything if form in text]
        assert "password: ${env:PGPASSWORD}" in next(tmp_path.rglob("plan.yaml")).read_text()

    def test_a_variable_is_enough(self, tmp_path: Path, locked: PostgresServer) -> None:
        words = ("-c", "1", "-n", "10", "--warmup", "0s", "--query", "SELECT 1", "--no-report", "-q")
        result = called(tmp_path, "sql", self.dsn(locked), *words, PGPASSWORD=SECRET)
        assert result.returncode == 0, result.stderr
        assert "Warning" not in result.stderr

    def test_without_one_the_variable_is_named(self, tmp_path: Path, locked: PostgresServer) -> None:
        result = command(tmp_path, "sql", self.dsn(locked), "--query", "SELECT 1", "--no-report", "-q")
        assert result.returncode == 2
        assert "set the environment variable PGPASSWORD, or add a line" in " ".join(result.stderr.split())

    def test_a_wrong_one_is_reported_without_being_shown(
        self, tmp_path: Path, locked: PostgresServer
    ) -> None:
        result = command(tmp_path, "sql", self.dsn(locked, ":wr0ngone"), "--query", "SELECT 1", "--no-report")
        assert result.returncode == 2
        assert "password authentication failed" in " ".join(result.stderr.split())
        texts = [path.read_text(errors="replace") for path in tmp_path.rglob("*") if path.is_file()]
        assert not [text for text in (result.stdout, result.stderr, *texts) if "wr0ngone" in text]

    def test_the_other_form_of_a_dsn_hides_it_too(self) -> None:
        result = CliRunner().invoke(
            main, ["sql", r"host=db user=me password='it\'s' dbname=x", "--save-plan", "-"]
        )
        assert "it's" not in result.output
        assert r"it\'s" not in result.output
        assert "dsn: host=db user=me dbname=x" in result.stdout
        assert "password: ${env:PGPASSWORD}" in result.stdout

    def test_a_reference_is_left_as_it_is(self) -> None:
        plan = planned("sql", "postgres://me:${env:SHOP_PW}@db/x", env={"SHOP_PW": "shop-secret"})
        assert plan["target"]["postgres"]["dsn"] == "postgres://me:${env:SHOP_PW}@db/x"


def test_on_mariadb(home: Path, mariadb_server: MariadbServer) -> None:
    server = mariadb_server
    words = (
        "-c",
        "2",
        "-n",
        "200",
        "--warmup",
        "0s",
        "--no-report",
        "--lang",
        "zh",
        "-w",
        "sysbench:oltp_point_select",
    )
    result = called(
        home, "sql", f"mysql://{server.user}@{server.host}:{server.port}", *words, MYSQL_PWD=server.password
    )
    assert result.returncode == 0, result.stdout + result.stderr
    assert "吞吐量" in result.stdout
    assert re.search(r"成功 +200\b", result.stdout)


def test_without_a_password_the_variable_of_mariadb_is_named(
    home: Path, mariadb_server: MariadbServer
) -> None:
    server = mariadb_server
    dsn = f"mysql://{server.user}@{server.host}:{server.port}"
    result = command(home, "sql", dsn, "--query", "SELECT 1", "--no-report", "-q", "--out", "unnamed")
    assert result.returncode == 2
    assert "set the environment variable MYSQL_PWD" in " ".join(result.stderr.split())


def test_a_query_with_parameters_on_mariadb(home: Path, mariadb_server: MariadbServer) -> None:
    server = mariadb_server
    server.sql("CREATE DATABASE IF NOT EXISTS asked")
    server.sql("CREATE OR REPLACE TABLE numbers (n int PRIMARY KEY, name varchar(9))", database="asked")
    words = ["-c", "2", "-n", "200", "--warmup", "0s", "--no-report", "--out", "asked"]
    words += ["--query", "INSERT INTO numbers VALUES (:n, :name) ON DUPLICATE KEY UPDATE name = :name"]
    words += ["-p", "n=-12..-1", "-p", "name=it's,b"]
    result = called(home, "sql", server.url("asked"), *words, MYSQL_PWD=server.password)
    assert result.returncode == 0, result.stdout + result.stderr
    rows = server.sql("SELECT * FROM numbers ORDER BY n", database="asked")
    assert [row[0] for row in rows] == [*range(-12, 0)]
    assert {row[1] for row in rows} == {"it's", "b"}, "one run of 2,000 draws one name alone"
    [plan] = read_run(home / "asked").trials[0].plans or ()
    assert (plan.statement, plan.executed, plan.trouble) == ("insert:insert", False, None)
