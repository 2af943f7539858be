"""Options of a key-value workload, and what follows from them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from loadcell.parts import installed
from loadcell.plan.model import Load
from loadcell.workloads.kv import Kv, KvOptions, Mix


def workload(**options: Any) -> Kv:
    return Kv(KvOptions(**options))


def test_defaults() -> None:
    options = KvOptions()
    assert options.shares() == {"get": 0.8, "set": pytest.approx(0.2)}
    assert (options.keys, options.key_prefix, options.key_size) == (100_000, "key:", 16)
    assert (options.distribution, options.value_size, options.pipeline) == ("uniform", 100, 1)


def test_reads_are_short_for_gets_and_sets() -> None:
    assert workload(reads="20%").options.shares() == {"get": 0.2, "set": 0.8}
    assert workload(reads="100%").options.shares() == {"get": 1.0}
    assert workload(mix={"mget": 3, "scan": 0, "delete": 1}).options.shares() == {"mget": 3, "delete": 1}
    assert workload(commands={"ping": {"command": "PING"}}).options.shares() == {}


def test_only_what_writes_changes_the_data() -> None:
    for verb in ("get", "mget", "scan"):
        assert not workload(mix={verb: 1}).changes_data
    for verb in ("set", "mset", "delete", "insert", "read_modify_write"):
        assert workload(mix={"get": 9, verb: 1}).changes_data
    assert not workload(commands={"a": {"command": "LLEN l", "kind": "read"}}).changes_data
    assert workload(commands={"a": {"command": "LPUSH l 1"}}).changes_data


def test_the_data_depend_on_their_own_options_alone() -> None:
    first = workload(reads="20%", distribution="zipfian", pipeline=9)
    assert first.data() == workload(mix={"scan": 1}, ttl="5s").data()
    assert first.data() == {
        "kv": {
            "keys": 100_000,
            "key_prefix": "key:",
            "key_size": 16,
            "value_size": 100,
            "load": True,
            "verify": False,
        }
    }
    for change in (
        {"keys": 5},
        {"key_prefix": "k"},
        {"key_size": "20B"},
        {"value_size": "1kB"},
        {"verify": True},
    ):
        assert workload(**change).data() != first.data()
    empty = {"kv": {"load": False, "key_prefix": "key:"}}
    assert workload(load=False).data() == workload(load=False, keys=7).data() == empty


def test_the_engine_gets_plain_numbers() -> None:
    section = workload(
        mix={"get": 1, "scan": 2},
        value_size={"mean": "1kB", "deviation": "200B"},
        scan_length={"from": 1, "to": 9},
        distribution="hotspot",
        hot_data="5%",
        ttl="1500ms",
        commands={"push": {"command": "LPUSH ${key} ${value}", "share": 3}},
    ).engine()["kv"]
    assert section["mix"] == {**dict.fromkeys(Mix.model_fields, 0), "get": 1, "scan": 2}
    assert section["value_size"] == {"mean": 1000, "deviation": 200}
    assert section["scan_length"] == {"from": 1, "to": 9}
    assert (section["hot_data"], section["percentile"]) == (0.05, 95.0)
    assert section["ttl_ns"] == 1_500_000_000
    assert workload(ttl={"from": "1s", "to": "2s"}).engine()["kv"]["ttl_ns"] == {
        "from": 1_000_000_000,
        "to": 2_000_000_000,
    }
    assert workload().engine()["kv"]["ttl_ns"] is None
    assert section["commands"] == {
        "push": {"commands": ("LPUSH ${key} ${value}",), "script": None, "share": 3, "kind": "write"}
    }


@pytest.mark.parametrize(
    ("options", "part"),
    [
        ({"mix": {"get": 1}, "reads": "5%"}, "`mix` and `reads` exclude"),
        ({"mix": {}}, "there is no operation"),
        ({"mix": {"gets": 1}}, "Extra inputs"),
        ({"mix": {"get": -1}}, "greater than or equal to 0"),
        ({"reads": "120%"}, "less than or equal to 1"),
        ({"keys": 0}, "greater than or equal to 1"),
        ({"keys": 10**9, "key_size": "10B"}, "use 13B or more"),
        ({"theta": 1.2, "distribution": "latest"}, "below 1 for `latest`"),
        ({"theta": 0.99995, "distribution": "scrambled_zipfian"}, "(0.9999 at most)"),
        ({"theta": 0}, "greater than 0"),
        ({"key_size": "2kB"}, "less than or equal to 1024"),
        ({"value_size": "1TiB"}, "less than or equal to 536870912"),
        ({"value_size": {"mean": "0B", "deviation": "0B"}}, "greater than or equal to 1"),
        ({"scan_length": 0}, "greater than or equal to 1"),
        ({"multi": 0}, "greater than or equal to 1"),
        ({"pipeline": 0}, "greater than or equal to 1"),
        ({"batch": 0}, "greater than or equal to 1"),
        ({"hot_data": "110%"}, "less than or equal to 1"),
        ({"deviation": "0%"}, "greater than 0"),
        ({"percentile": "100%"}, "less than 1"),
        ({"fraction": "0%"}, "greater than 0"),
        ({"value_size": 100}, "without a unit"),
        ({"value_size": {"from": "9B", "to": "1B"}}, "swap them"),
        ({"value_size": {"mean": "10B", "deviation": "11B"}}, "exceeds `mean`"),
        ({"scan_length": {"from": 9, "to": 1}}, "swap them"),
        ({"verify": True, "ttl": "5s"}, "`verify` and `ttl`"),
        ({"verify": True, "value_size": "15B"}, "smallest `value_size` is 15B"),
        ({"verify": True, "value_size": {"from": "1B", "to": "99B"}}, "smallest `value_size` is 1B"),
        ({"verify": True, "commands": {"a": {"command": "PING"}}}, "`verify` and `commands`"),
        ({"commands": {"a": {"command": "GET ${kee}"}}}, "no placeholder `${kee}`"),
        ({"commands": {"a": {"command": " "}}}, "is empty"),
        ({"commands": {"get": {"command": "GET x"}}}, "cannot be called `get`"),
        ({"commands": {"a": {"command": []}}}, "is empty"),
        ({"commands": {"a": {"command": ["PING", " "]}}}, "is empty"),
        ({"commands": {"a": {"command": ["PING", "GET ${kee}"]}}}, "no placeholder `${kee}`"),
        ({"commands": {"a": {}}}, "either a `command` or a `script`"),
        ({"commands": {"a": {"command": "PING", "script": "return 1"}}}, "either a `command` or a `script`"),
        ({"commands": {"a": {"command": "PING", "keys": ["k"]}}}, "`keys` applies to a `script`"),
        ({"commands": {"a": {"command": "PING", "arguments": ["k"]}}}, "`arguments` applies to a `script`"),
        ({"commands": {"a": {"script": " \n"}}}, "the script is empty"),
        ({"commands": {"a": {"script": "return 1", "keys": ["${kee}"]}}}, "no placeholder `${kee}`"),
        (
            {"commands": {"a": {"script": {"file": "no-such.lua"}}}},
            "no-such.lua cannot be read: No such file",
        ),
        ({"ttl": "10us"}, "greater than or equal to 0.001"),
        ({"ttl": {"from": "2s", "to": "1s"}}, "swap them"),
    ],
)
def test_what_cannot_work_is_refused(options: dict[str, Any], part: str) -> None:
    with pytest.raises(ValidationError) as caught:
        KvOptions(**options)
    assert part in str(caught.value)


def test_script_is_a_text_or_a_file_beside_the_plan(tmp_path: Path) -> None:
    (tmp_path / "limit.lua").write_text("return redis.call('INCR', KEYS[1])")
    commands = {
        "file": {"script": {"file": "limit.lua"}, "keys": ["${key}:n"], "arguments": ["5"]},
        "text": {"script": "return 1"},
    }
    options = KvOptions.model_validate({"commands": commands}, context={"directory": tmp_path})
    section = Kv(options).engine()["kv"]["commands"]
    assert section["file"]["script"] == {
        "name": "file (limit.lua)",
        "text": "return redis.call('INCR', KEYS[1])",
        "keys": ("${key}:n",),
        "arguments": ("5",),
    }
    assert section["text"]["script"]["name"] == "text"
    recorded = options.model_dump(mode="json")["commands"]["file"]["script"]
    assert recorded == {"file": "limit.lua", "text": "return redis.call('INCR', KEYS[1])"}


def test_server_counts_commands_of_lists_and_calls_of_scripts() -> None:
    pay = {"command": ["MULTI", "INCR a", "incr b", "EXEC"]}
    assert workload(mix={"get": 1}, commands={"pay": pay}).calls({"get": 5, "pay": 3}) == {
        "get": 5,
        "multi": 3,
        "incr": 6,
        "exec": 3,
    }
    scripted = workload(mix={"get": 1}, commands={"pay": pay, "limit": {"script": "return 1"}})
    assert scripted.calls({"get": 5, "pay": 3, "limit": 2}) == {"evalsha": 2}


def test_what_a_target_cannot_do_is_a_misfit() -> None:
    def paths(target: str, clients: int = 1, **options: Any) -> list[str]:
        problems = workload(**options).misfits(Load(clients=clients), installed().target_kind(target))
        assert all(remark.message.text and remark.message.advice for remark in problems)
        return [remark.path.removeprefix("workload.kv.") for remark in problems]

    commands = {"a": {"command": "PING"}}
    assert paths("store", pipeline=2, ttl="1s", commands=commands) == ["pipeline", "ttl", "commands"]
    assert paths("redis", batch=2, mix={"scan": 1}) == ["mix.scan", "batch"]
    assert paths("redis", pipeline=2, ttl="1s", commands=commands) == []
    assert paths("redis", ttl="1s", mix={"set": 1, "mset": 1}) == ["ttl"]
    refused = {
        "all": {"command": "flushall"},
        "cut": {"command": "GET 'a", "share": 0},
        "fine": {"command": "PING"},
        "open": {"command": ["MULTI", "PING"]},
        "pay": {"command": ["MULTI", "PING", "EXEC"]},
        "see": {"command": ["WATCH k", "MULTI", "EXEC"]},
        "shut": {"command": ["PING", "EXEC"]},
        "single": {"command": "MULTI"},
    }
    wrong = ["all", "cut", "open", "see", "shut", "single"]
    assert paths("redis", commands=refused) == [f"commands.{name}.command" for name in wrong]
    assert paths("store", batch=2, mix={"scan": 1}) == []
    assert paths("store", verify=True, keys=4, clients=5) == ["keys"]
    assert paths("store", keys=4, clients=5) == []


def test_what_is_unwise_is_remarked_on() -> None:
    assert [remark.path for remark in workload(mix={"delete": 1, "get": 1}).advice()] == ["mix"]
    assert [remark.path for remark in workload(load=False).advice()] == ["load"]
    assert workload().advice() == []
