"""`loadcell redis HOST:PORT`: what its words come to, and what it prints of a real Redis."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from execution.live import until
from lines import CliRunner, called, command, planned, refused
from loadcell.cli import main
from loadcell.cli.redis import redis
from loadcell.model.json import document
from loadcell.store.read import read_run
from redis_server import RedisServer
from report.test_page import Page

#: SET commands that take the lock of a run on an external server.
LOCKED = 1


@pytest.fixture(scope="module")
def server() -> Iterator[RedisServer]:
    with RedisServer(password="w0rd-of-redis") as instance:
        yield instance


def test_the_words_are_a_target_and_a_workload() -> None:
    words = (
        "--reads",
        "50%",
        "--keys",
        "1000",
        "--value-size",
        "1kB",
        "--distribution",
        "zipfian",
        "--verify",
        "-P",
        "16",
        "-c",
        "50",
        "-n",
        "100000",
    )
    plan = planned("redis", "redis://me@cache:7000/3", *words, env={"REDISCLI_AUTH": "auth-secret"})
    assert plan["target"] == {
        "redis": {
            "server": "external", "host": "cache", "port": 7000, "user": "me",
            "password": "${env:REDISCLI_AUTH}", "database": 3,
        }
    }  # fmt: skip
    assert plan["title"] == {
        "en": "GET and SET on redis://cache:7000/3",
        "zh": "GET 与 SET 压测（redis://cache:7000/3）",
    }
    assert plan["workload"] == {
        "kv": {
            "reads": "50%", "keys": 1000, "distribution": "zipfian", "value_size": "1kB", "verify": True,
            "pipeline": 16,
        }
    }  # fmt: skip
    assert (plan["load"]["clients"], plan["load"]["requests"]) == (50, 100_000)


def test_commands_of_ones_own_and_tls_and_a_local_server() -> None:
    words = ("--command", "INCR c", "--command", "LPUSH l:${key} ${value}", "--command", "INCR d")
    plan = planned("redis", "rediss://cache", *words)
    assert plan["target"]["redis"] == {"server": "external", "host": "cache", "tls": True}
    commands = plan["workload"]["kv"]["commands"]
    assert {name: entry["command"] for name, entry in commands.items()} == {
        "incr": "INCR c", "lpush_2": "LPUSH l:${key} ${value}", "incr_3": "INCR d",
    }  # fmt: skip
    plan = planned(
        "redis", "cache", "--command", "GET ${key}", "--command", "1X", "--command", "JSON.SET a $ 1"
    )
    assert list(plan["workload"]["kv"]["commands"]) == ["get_1", "command_2", "jsonset_3"]
    assert planned("redis", "local", "--ttl", "60s")["target"] == {"redis": {"server": "local"}}
    assert planned("redis", "local", "--ttl", "60s")["workload"] == {"kv": {"ttl": "60s"}}
    target = planned("redis", "/run/redis.sock", env={"REDISCLI_AUTH": "auth-secret"})["target"]["redis"]
    assert target == {"server": "external", "socket": "/run/redis.sock", "password": "${env:REDISCLI_AUTH}"}


def test_tests_are_levels_of_one_factor_and_so_is_each_command_beside_them() -> None:
    plan = planned("redis", "local", "-t", "get,mget", "--command", "INCR n", "-c", "1,2")
    assert plan["title"]["en"] == "GET, MGET, INCR n on a local server"
    assert plan["workload"] == {"kv": {}}
    assert plan["factors"] == {
        "test": {
            "get": {"workload.kv.mix": {"get": 1}},
            "mget": {"workload.kv.mix": {"mget": 1}},
            "incr": {"workload.kv.commands": {"incr": {"command": "INCR n"}}},
        },
        "load.clients": [1, 2],
    }
    alone = planned("redis", "local", "-t", "set")
    assert alone["workload"] == {"kv": {"mix": {"set": 1}}}
    assert "factors" not in alone


def test_a_shell_completes_tests_that_are_not_named_yet() -> None:
    option = next(parameter for parameter in redis.params if parameter.name == "tests")
    context = click.Context(redis, info_name="redis")
    assert [completion.value for completion in option.shell_complete(context, "get,m")] == [
        "get,mget",
        "get,mset",
    ]
    assert [completion.value for completion in option.shell_complete(context, "set,get,")] == [
        "set,get,mget",
        "set,get,mset",
    ]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["http://x"], "'http://x' is not the address of a server. Give HOST:PORT"),
        (
            ["redis://:hidden@x:port"],
            "'redis://...@x:port' is not the address of a server (Port could not be cast",
        ),
        (["x:6379/name"], "is not the address of a server"),
        (["::1"], "Put an IPv6 address in brackets, such as [::1]:6379"),
        (["x", "--value-size", "7"], "workload.kv.value_size"),
        (["x", "--value-size", "600MB"], "expected: at most 512MiB"),
        (["x", "--reads", "150%"], "expected: at most 100%"),
        (["x", "-t", "get,foo"], "'foo' is not one of 'get', 'set', 'mget', 'mset'"),
        (["-p", "6379"], "The address of the server is the argument HOST:PORT"),
        (["x", "--connections", "3"], "--clients"),
        (["x", "-t", "get", "--reads", "50%"], "--reads is a mix of GET and SET, and -t does each by itself"),
        (["x", "--ttl", "1s", "--verify"], "`verify` and `ttl` exclude each other"),
        (["x", "--distribution", "zipfain"], "did you mean: zipfian"),
        (
            ["x", "--command", "MULTI"],
            "write a transaction as one list: [MULTI, ..., EXEC]",
        ),
        (
            ["x", "--command", "SET ${key} 'a"],
            "has an unclosed quotation mark expected: close or omit it",
        ),
        (["x", "--set", "workload.tpcc={}"], "found 2 names: kv, tpcc expected: one of kv, "),
        (["x", "--command", "SET ${what}"], "there is no placeholder `${what}`"),
        (["x", "-P", "4", "--rate", "100/s"], "load.rate schedules each command separately"),
    ],
)
def test_what_is_wrong_is_reported_and_nothing_is_run(words: list[str], message: str) -> None:
    assert message in refused("redis", *words)


def test_a_password_is_not_in_the_plan() -> None:
    result = CliRunner().invoke(main, ["redis", "redis://:hidden%21@cache:6379", "--save-plan", "-"])
    assert result.exit_code == 0, result.output
    assert "hidden" not in result.output
    assert "next time set REDISCLI_AUTH" in result.stderr
    assert "password: ${env:REDISCLI_AUTH}" in result.stdout


def test_on_a_real_server(tmp_path: Path, server: RedisServer) -> None:
    words = ("-c", "4", "-n", "5000", "--keys", "1000", "--warmup", "100ms", "--no-report")
    result = command(tmp_path, "redis", f"redis://:{server.password}@{server.host}:{server.port}", *words)
    assert result.returncode == 0, result.stdout + result.stderr
    assert "5,000 operations in" in result.stdout
    assert re.search(r"Succeeded +5,000\b", result.stdout)
    texts = [path.read_text(errors="replace") for path in tmp_path.rglob("*") if path.is_file()]
    assert not [text for text in (result.stdout, result.stderr, *texts) if server.password in text]


def test_json_has_the_limit_of_an_observed_server(tmp_path: Path, server: RedisServer) -> None:
    location = f"redis://:{server.password}@{server.host}:{server.port}"
    words = ("-c", "8", "-d", "3s", "--keys", "1000", "--warmup", "0s", "--no-report")
    result = command(tmp_path, "redis", location, *words, "--json", "-q")
    assert result.returncode == 0, result.stdout + result.stderr
    limits = json.loads(result.stdout)["bottlenecks"]
    assert list(limits) == ["baseline"]
    assert limits["baseline"]["observed"]
    shown = command(tmp_path, "show", "last", "--json")
    assert json.loads(shown.stdout)["bottlenecks"] == limits


def test_an_unidentified_server_is_reported(
    tmp_path: Path, server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("loadcell.systems.redis.target.identify", lambda *_: None)
    monkeypatch.chdir(tmp_path)
    location = f"redis://:{server.password}@{server.host}:{server.port}"
    words = ("-c", "4", "-d", "1s", "--keys", "100", "--warmup", "0s", "--no-report")
    for _ in range(3):  # on a busy machine the trial may be invalid
        shutil.rmtree(tmp_path / "results", ignore_errors=True)
        result = CliRunner().invoke(main, ["redis", location, *words])
        if result.exit_code != 3:
            break
    assert result.exit_code == 0, result.output
    assert "no process of this machine was identified as the server; run loadcell outside of" in result.stderr
    [path] = (tmp_path / "results" / "redis").iterdir()
    assert document(read_run(path).trials[0])["resources"]["unobserved"] == "unidentified"
    shown = CliRunner().invoke(main, ["show", "last"]).stdout
    assert "The bottleneck is unknown: the target was not observed" in " ".join(shown.split())
    assert "nearest to its limit" not in shown


def test_tests_are_measured_one_after_the_other(tmp_path: Path, server: RedisServer) -> None:
    words = (
        "-t",
        "get,mset",
        "--command",
        "INCR n",
        "-c",
        "2",
        "-n",
        "300",
        "--keys",
        "100",
        "--warmup",
        "0s",
        "--no-report",
    )
    result = command(
        tmp_path, "redis", f"redis://:{server.password}@{server.host}:{server.port}", *words, "--out", "run"
    )
    assert result.returncode == 0, result.stdout + result.stderr
    done = {
        trial.treatment: {*document(trial)["operations"]} - {"missed"}
        for trial in read_run(tmp_path / "run").trials
    }
    assert done == {"test=get": {"get"}, "test=mset": {"mset"}, "test=incr": {"incr"}}
    assert [
        line.split()[0] for line in result.stdout.splitlines() if line[:4] in ("get ", "mset", "incr")
    ] == [
        "get",
        "mset",
        "incr",
    ]


def test_a_pipeline_makes_as_many_commands_as_the_server_counts(tmp_path: Path, server: RedisServer) -> None:
    before = server.calls()
    words = (
        "-c",
        "4",
        "-n",
        "5000",
        "-P",
        "16",
        "--reads",
        "50%",
        "--keys",
        "500",
        "--warmup",
        "0s",
        "--no-report",
    )
    result = command(tmp_path, "redis", f"redis://:{server.password}@{server.host}:{server.port}", *words)
    assert result.returncode == 0, result.stdout + result.stderr
    assert re.search(r"Succeeded +5,000\b", result.stdout)
    after = server.calls()
    made = {name: after.get(name, 0) - before.get(name, 0) for name in ("get", "set")}
    made["set"] -= LOCKED
    assert sum(made.values()) == 5000
    [path] = (tmp_path / "results" / "redis").iterdir()
    trial = read_run(path).trials[0]
    assert {name: trial.lifetime.operations[name] for name in made} == made
    assert trial.settings["workload"]["kv"]["pipeline"] == 16
    verdicts = {check["name"]: check["verdict"] for check in document(trial)["checks"]}
    assert (verdicts["server-counters"], verdicts["littles-law"]) == ("ok", "ok")


def test_half_of_a_cluster_says_what_it_is_and_what_to_do(tmp_path: Path) -> None:
    half = {"cluster-enabled": "yes", "cluster-require-full-coverage": "no"}
    with RedisServer(half, password="") as server:
        server.ask("CLUSTER", "ADDSLOTSRANGE", "0", "8191")
        until(lambda: "cluster_state:ok" in str(server.ask("CLUSTER", "INFO")), "the node to serve its half")
        result = called(tmp_path, "redis", f"{server.host}:{server.port}", "-n", "100", "--no-report", "-q")
    assert result.returncode == 3, result.stdout + result.stderr
    output = " ".join(result.stdout.split())
    assert "cluster" in output
    assert "name a server without cluster mode, or a proxy of the cluster" in output


def test_a_wrong_password(tmp_path: Path, server: RedisServer) -> None:
    location = f"{server.host}:{server.port}"
    result = called(tmp_path, "redis", location, "--no-report", "-q", REDISCLI_AUTH="wr0ngone")
    assert result.returncode == 2
    assert "Error: " in result.stderr
    assert "wr0ngone" not in result.stdout + result.stderr


def test_without_a_password_the_variable_is_named(tmp_path: Path, server: RedisServer) -> None:
    result = command(tmp_path, "redis", f"{server.host}:{server.port}", "--no-report", "-q")
    assert result.returncode == 2
    shown = " ".join(result.stderr.split())
    assert "set the environment variable REDISCLI_AUTH, and USER" in shown


def test_on_a_real_valkey(tmp_path: Path, valkey_server: RedisServer) -> None:
    """It says that it is a Redis, too; record and report have what it is."""
    server = valkey_server
    server.ask_all([("FLUSHALL",), ("ACL", "SETUSER", "loader", "on", ">pw-0f-loader", "~*", "+@all")])
    before = server.calls()
    words = (
        "-c",
        "1,4",
        "-n",
        "3000",
        "-P",
        "8",
        "--keys",
        "500",
        "--warmup",
        "0s",
        "--set",
        "monitors=[redis]",
    )
    shown = called(
        tmp_path, "redis", f"redis://loader@{server.host}:{server.port}", *words, "--lang", "zh",
        REDISCLI_AUTH="pw-0f-loader",
    )  # fmt: skip
    assert shown.returncode == 0, shown.stdout + shown.stderr
    after = server.calls()
    assert sum(after.get(name, 0) - before.get(name, 0) for name in ("get", "set")) == 6000 + LOCKED
    [path] = (tmp_path / "results" / "redis").iterdir()
    for trial in read_run(path).trials:
        assert trial.target["product"] == "Valkey"
        assert trial.target["version"].startswith("9.")
        assert {check["name"]: check["verdict"] for check in document(trial)["checks"]}[
            "server-counters"
        ] == "ok"
    text = Page((path / "report.html").read_text(encoding="utf-8")).text
    assert "Valkey" in text
    assert "兼容" in text
    assert "pw-0f-loader" not in text + shown.stdout + shown.stderr
