"""The JSON Schema that editors complete plans with."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from loadcell.parts import installed
from loadcell.plan.load import KEYS
from loadcell.plan.nodes import plain
from loadcell.plan.ready import ready_plans
from loadcell.plan.schema import plan_schema
from loadcell.plan.source import compose
from plan.fake_parts import PARTS, PLAN


@cache
def real() -> Draft202012Validator:
    """The schema of installed parts."""
    return Draft202012Validator(plan_schema(installed()))


@cache
def fake() -> Draft202012Validator:
    """The schema of the parts of tests."""
    return Draft202012Validator(plan_schema(PARTS))


def document(text: str) -> Any:
    problems: list[Any] = []
    node = compose(text, "plan.yaml", problems)
    assert node is not None
    assert not problems
    return plain(node)


def test_it_is_a_schema_of_all_keys_a_plan_may_have() -> None:
    Draft202012Validator.check_schema(real().schema)
    assert set(real().schema["properties"]) == set(KEYS)


@pytest.mark.parametrize("path", ready_plans().values(), ids=lambda path: path.stem)
def test_every_ready_made_plan_is_valid(path: Path) -> None:
    real().validate(document(path.read_text(encoding="utf-8")))


def test_every_installed_part_is_under_its_name_and_explained() -> None:
    parts = installed()
    for section, names in (("target", parts.targets), ("workload", parts.workloads)):
        problems = real().schema["properties"][section]["properties"]
        assert set(problems) == set(names)
        assert all(part["description"] for part in problems.values())
    items = real().schema["properties"]["monitors"]["items"]["anyOf"]
    assert {item["const"] for item in items if "const" in item} == set(parts.monitors)


@pytest.mark.parametrize("section", ["target", "workload", "monitors"])
def test_the_schema_offers_every_option_of_every_installed_part(section: str) -> None:
    registered = installed()
    parts = {"target": registered.targets, "workload": registered.workloads, "monitors": registered.monitors}
    for name, part in parts[section].items():
        options = {field.alias or key for key, field in part.Options.model_fields.items()}
        [offered] = options_of(real().schema["properties"][section], name)
        assert set(offered["properties"]) == options, name


def options_of(schema: dict[str, Any], name: str) -> list[dict[str, Any]]:
    """Find the definitions that a key of this name refers to below a section of the plan."""
    items = schema.get("items", {}).get("anyOf", [])
    keys = [model["properties"][name] for model in (schema, *items) if name in model.get("properties", {})]
    references = [
        choice["$ref"] for key in keys for choice in (key, *key.get("anyOf", [])) if "$ref" in choice
    ]
    return [real().schema["$defs"][reference.rpartition("/")[2]] for reference in references]


def test_every_setting_is_explained() -> None:
    for name, model in real().schema["$defs"].items():
        for option, schema in model.get("properties", {}).items():
            assert schema.get("description"), f"{name}.{option} has no description"
    assert all(schema.get("description") for schema in real().schema["properties"].values())


@pytest.mark.parametrize(
    "more",
    [
        "",
        "factors: {load.clients: [1, 2], load.warmup: {from: 1s, to: 3s, step: 1s}}",
        "factors: {target.database.settings.anything: {from: 1, to: 8, times: 2}}",
        "factors: {storage: {a: {target.database.data: x}, b: {}}}",
        "design: one-at-a-time\ncross: [load.clients]\nfactors: {load.clients: [1]}",
        "monitors: [host, {jvm: {gc: false}}]",
        "limits: {prepare: 2h}\nexpect: [errors == 0, 'latency.p99.9 < 20 ms']",
    ],
)
def test_what_loading_takes_the_schema_takes(more: str) -> None:
    fake().validate(document(PLAN + more))


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("titel: x", "title: x"),
        ("repeats: 0", "repeats: 1"),
        ("repeats: '1'", "repeats: 1"),
        ("limits: {up: 60}", "limits: {up: 60s}"),
        ("limits: {up: 60sec}", "limits: {up: 60 s}"),
        ("monitors: [hots]", "monitors: [host]"),
        ("expect: [errors = 0]", "expect: [errors == 0]"),
        ("expect: [latency.p98 < 1ms]", "expect: [latency.p99 < 1ms]"),
        ("factors: {load.clients: 5}", "factors: {load.clients: [5]}"),
        ("factors: {load.clients: []}", "factors: {load.clients: [1]}"),
        ("factors: {load.clients: {from: 1, to: 2}}", "factors: {load.clients: {from: 1, to: 2, step: 1}}"),
        ("order: random", "order: blocks"),
        ("workload: {mix: {script: read}}", "workload: {mix: {script: read_only}}"),
        ("target: {databse: {}}", "target: {database: {}}"),
        ("target: {database: {}, cache: {}}", "target: {cache: {}}"),
    ],
)
def test_what_loading_refuses_the_schema_refuses_where_it_can(wrong: str, right: str) -> None:
    plan = document(PLAN)
    assert not fake().is_valid({**plan, **document(wrong)})
    fake().validate({**plan, **document(right)})
