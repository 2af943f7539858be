"""Defaults of specifications in tests, compared with the sections that the engine gets of plans."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from loadcell.execution.executor import data_order
from loadcell.parts import installed
from loadcell.plan.load import load_plan
from loadcell.systems.base import ServerEndpoint
from specifications import complete, section_of


def without_absent(value: Any) -> Any:
    """The value without fields that are null, which the engine takes for absent."""
    if isinstance(value, dict):
        return {key: without_absent(field) for key, field in value.items() if field is not None}
    return [without_absent(item) for item in value] if isinstance(value, list | tuple) else value


@pytest.mark.parametrize(
    ("workload", "options", "section"),
    [
        ("sysbench", {}, {}),
        ("tpcc", {}, {}),
        ("pgbench", {}, {}),
        ("ycsb", {}, {"insertcount": 1000}),
        ("kv", {}, {"mix": {"get": 0.8, "set": 1 - 0.8}}),
        (
            "kv",
            {"commands": {"a": {"command": "PING"}}},
            {"mix": {}, "commands": {"a": {"commands": ["PING"]}}},
        ),
        (
            "kv",
            {"commands": {"a": {"script": "return 1"}}},
            {"mix": {}, "commands": {"a": {"script": {"name": "a", "text": "return 1"}}}},
        ),
        (
            "http",
            {"parameters": {"a": {"to": 9}}},
            {"parameters": {"a": {"to": 9}}, "requests": [{"path": "/", "name": "request"}]},
        ),
        (
            "sql",
            {"statements": ["SELECT :a"], "parameters": {"a": [1]}},
            {
                "transactions": [
                    {
                        "name": "select",
                        "statements": [
                            {
                                "name": "select:select",
                                "kind": "read",
                                "parts": [{"sql": "SELECT "}, {"parameter": 0}],
                            }
                        ],
                    }
                ],
                "parameters": [{"values": "[1]"}],
            },
        ),
        (
            "http",
            {"steps": {"a": {"path": "/", "check": {"json": {"$.a": 1}}, "extract": {"v": {"json": "$.v"}}}}},
            {
                "requests": [],
                "scenario": {
                    "steps": [
                        {
                            "name": "a",
                            "path": "/",
                            "check": {"json": {"$.a": {"equals": "1"}}},
                            "extract": [{"json": "$.v"}],
                        }
                    ]
                },
            },
        ),
        ("probe", {"cpu": {}}, {"cpu": {}}),
        ("probe", {"memory": {}}, {"memory": {"test": "sysbench"}}),
        ("probe", {"network": {}}, {"network": {"test": "rr"}}),
    ],
)
def test_workloads(workload: str, options: dict[str, Any], section: dict[str, Any]) -> None:
    part = installed().workloads[workload]
    engine_section = part(part.Options.model_validate(options)).engine()[workload]
    assert without_absent(engine_section) == section_of(workload, section)


PLAN = """
target: {http: {url: "http://localhost"}}
workload: {http: {}}
load: {clients: 3, threads: 1, rate: 5/s}
"""


def test_load(tmp_path: Path) -> None:
    (tmp_path / "plan.yaml").write_text(PLAN)
    settings = load_plan(tmp_path / "plan.yaml", installed()).base
    spec = without_absent(data_order({}, {}, settings, 1, 0).specification())
    load = spec["load"]
    stated = {name: load[name] for name in ("clients", "warmup_ns", "duration_ns", "timeout_ns")}
    stated["schedule"] = {"rate": load["schedule"]["rate"]}
    assert spec == complete({"target": {}, "workload": {}, "load": stated}) | {"target": {}}


def test_target() -> None:
    endpoint = ServerEndpoint("resp", "localhost", 6379).section()
    assert endpoint == section_of("target", {"protocol": "resp", "host": "localhost", "port": 6379})
