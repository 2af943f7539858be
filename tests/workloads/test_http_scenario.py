"""Scenarios: the section for the engine, and mistakes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from loadcell.parts import installed
from loadcell.plan.load import load_plan
from loadcell.plan.problems import PlanError, in_english
from loadcell.plan.remarks import remarks
from loadcell.workloads.http import Http, HttpOptions


def options(directory: Path, **values: Any) -> HttpOptions:
    return HttpOptions.model_validate(values, context={"directory": directory})


def scenario(directory: Path, **values: Any) -> dict[str, Any]:
    section: dict[str, Any] = Http(options(directory, **values)).engine()["http"]["scenario"]
    return section


def step(directory: Path, **values: Any) -> dict[str, Any]:
    step: dict[str, Any] = scenario(directory, steps={"a": {"path": "/", **values}})["steps"][0]
    return step


def mistake(directory: Path, **values: Any) -> str:
    with pytest.raises(ValidationError) as caught:
        options(directory, **values)
    return str(caught.value)


def step_mistake(directory: Path, **values: Any) -> str:
    return mistake(directory, steps={"a": {"path": "/", **values}})


def test_steps_are_in_the_order_of_the_plan(tmp_path: Path) -> None:
    section = scenario(tmp_path, steps={"z": {"path": "/z"}, "a": {"path": "/a", "once": True}})
    assert [(step["name"], step["method"], step["once"]) for step in section["steps"]] == [
        ("z", "GET", False),
        ("a", "GET", True),
    ]
    assert (section["cookies"], section["after_failure"], section["body_bytes"]) == (
        "client",
        "stop",
        1 << 20,
    )
    assert Http(options(tmp_path, steps={"a": {"path": "/"}})).unit == "scenario"
    assert Http(options(tmp_path)).unit == "request"


def test_bodies_of_every_kind(tmp_path: Path) -> None:
    (tmp_path / "order.xml").write_text("<n>${n}</n>")
    (tmp_path / "photo.png").write_bytes(b"\x89PNG")
    values = {"parameters": {"n": {"to": 9}}}
    assert step(tmp_path, method="PUT", body="x")["body"] == {"text": "x"}
    section = scenario(tmp_path, steps={"a": {"path": "/", "body": {"file": "order.xml"}}}, **values)
    assert section["steps"][0]["body"] == {"text": "<n>${n}</n>"}
    assert step(tmp_path, body={"file": "photo.png"})["body"] == {"base64": "iVBORw=="}
    ordered = step(tmp_path, json={"b": "价", "a": [1, None, True]})
    assert ordered["body"] == {"json": '{"b":"价","a":[1,null,true]}'}
    assert step(tmp_path, json=None)["body"] == {"json": "null"}
    form = step(tmp_path, form={"b": 1, "a": True})
    assert (form["method"], form["body"]) == ("POST", {"form": [["b", "1"], ["a", "true"]]})
    files = step(tmp_path, form={"id": 7}, files={"photo": {"file": "photo.png"}})["body"]["multipart"]
    assert [part["name"] for part in files] == ["id", "photo"]
    assert (files[1]["file_name"], files[1]["content_type"]) == ("photo.png", "image/png")
    assert files[1]["body"] == {"base64": "iVBORw=="}


def test_checks_and_extractions(tmp_path: Path) -> None:
    section = step(
        tmp_path,
        check={
            "status": 201,
            "headers": {"Content-Type": {"contains": "json"}, "X": 7},
            "json": {
                "$.ok": True,
                "$.error": None,
                "$.id": {"pattern": r"^\d+$"},
                "$.old": {"exists": False},
            },
            "contains": "x",
        },
        extract={"id": {"json": "$.id"}, "csrf": {"pattern": 'csrf="(.*?)"', "default": ""}},
    )
    check = section["check"]
    assert (check["status"], check["body"]["contains"]) == (["201"], "x")
    assert check["headers"]["Content-Type"]["contains"] == "json"
    assert check["headers"]["X"]["equals"] == "7"
    values = {path: condition["equals"] for path, condition in check["json"].items()}
    assert values == {"$.ok": "true", "$.error": "null", "$.id": None, "$.old": None}
    assert check["json"]["$.old"]["exists"] is False
    assert [(entry["variable"], entry["json"], entry["default"]) for entry in section["extract"]] == [
        ("id", "$.id", None),
        ("csrf", None, ""),
    ]


def test_credentials_and_headers_are_those_of_all_steps_unless_a_step_has_others(tmp_path: Path) -> None:
    section = scenario(
        tmp_path,
        headers={"X-A": "1", "x-b": "2"},
        auth={"bearer": "${env:TOKEN}"},
        steps={
            "a": {"path": "/"},
            "b": {"path": "/", "auth": "none", "headers": {"X-B": "3"}},
            "c": {"path": "/", "auth": {"basic": {"user": "u", "password": "${env:PW}"}}},
            "d": {"path": "/", "headers": {"authorization": "mine"}},
        },
    )
    assert [step["auth"] for step in section["steps"]] == [
        {"bearer": "${env:TOKEN}"},
        None,
        {"basic": {"user": "u", "password": "${env:PW}"}},
        None,
    ]
    assert section["steps"][1]["headers"] == {"X-A": "1", "X-B": "3"}
    plain = Http(HttpOptions.model_validate({"auth": {"bearer": "t"}})).engine()["http"]
    assert plain["requests"][0]["auth"] == {"bearer": "t"}


def test_data_are_read_as_csv(tmp_path: Path) -> None:
    (tmp_path / "users.csv").write_text('\ufeffname,note\nann,"a, ""b"""\n\n李,x\n', encoding="utf-8")
    steps = {"a": {"path": "/${users.name}"}}
    [data] = scenario(tmp_path, steps=steps, data={"users": {"file": "users.csv"}})["data"]
    assert (data["columns"], data["rows"]) == (["name", "note"], [["ann", 'a, "b"'], ["李", "x"]])
    assert (data["order"], data["at_end"]) == ("sequential", "restart")
    (tmp_path / "users.tsv").write_text("name;note\nann;x\n")
    [data] = scenario(tmp_path, steps=steps, data={"users": {"file": "users.tsv", "delimiter": ";"}})["data"]
    assert data["rows"] == [["ann", "x"]]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "no data rows"),
        ("a,b\n", "no data rows"),
        ("a,b\n1\n", "line 2: 1 cells instead of 2"),
        ("a,b\n1,2\n1,2,3\n", "line 3: 3 cells instead of 2"),
        ("a,a\n1,2\n", "column `a`"),
        ("a,\n1,2\n", "column `#2`"),
        ('a,b\n1,"2\n', "is not CSV"),
        (b"a\n\xff\n", "not UTF-8"),
    ],
)
def test_mistakes_in_data_have_their_place(tmp_path: Path, text: str | bytes, words: str) -> None:
    (tmp_path / "d.csv").write_bytes(text.encode() if isinstance(text, str) else text)
    reported = mistake(tmp_path, steps={"a": {"path": "/"}}, data={"d": {"file": "d.csv"}})
    assert words in reported
    assert "d.csv" in reported


def test_mistakes_in_data(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text("id,name\n1,2\n")
    steps = {"a": {"path": "/${d.nmae}"}}
    reported = mistake(tmp_path, steps=steps, data={"d": {"file": "d.csv"}})
    assert "the step `a` uses the column `nmae`" in reported
    assert "columns: id, name" in reported
    steps = {"a": {"path": "/"}}
    assert "cannot be read" in mistake(tmp_path, steps=steps, data={"d": {"file": "none.csv"}})
    reported = mistake(
        tmp_path, steps=steps, data={"d": {"file": "d.csv", "order": "random", "at_end": "stop"}}
    )
    assert "`at_end: stop` needs `order: sequential`" in reported
    twice = {"data": {"d": {"file": "d.csv"}}, "parameters": {"d": {"to": 9}}}
    assert "`d` names both a parameter and data" in mistake(tmp_path, steps=steps, **twice)
    assert "`data` applies to scenarios only" in mistake(tmp_path, data={"d": {"file": "d.csv"}})


def test_mistakes_in_steps(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("x")
    reported = step_mistake(tmp_path, body="x", form={"a": 1})
    assert "`body`, `form`" in reported or "body, form" in reported or "body and form" in reported
    assert "exclude each other" in step_mistake(tmp_path, json={}, files={"a": {"file": "f"}})
    typed = step_mistake(tmp_path, headers={"content-type": "x"}, files={"a": {"file": "f"}})
    assert "multipart/form-data" in typed
    assert "comes from `json` or `header`" in step_mistake(tmp_path, extract={"a": {}})
    both = {"a": {"json": "$.a", "header": "X"}}
    assert "comes from `json` or `header`" in step_mistake(tmp_path, extract=both)
    assert "either `basic` or `bearer`" in step_mistake(tmp_path, auth={})
    assert "excludes other conditions" in step_mistake(
        tmp_path, check={"json": {"$.a": {"exists": False, "equals": 1}}}
    )
    assert "longer than the longest" in step_mistake(tmp_path, think={"from": "2s", "to": "1s"})
    assert "runs only `once`" in step_mistake(tmp_path, once=True)
    assert "conflicts with `steps`" in mistake(tmp_path, steps={"a": {"path": "/"}}, path="/x")
    assert "conflicts with `steps`" in mistake(tmp_path, steps={"a": {"path": "/"}}, requests={"b": {}})
    assert "name of another metric" in mistake(tmp_path, steps={"connect": {"path": "/"}})
    assert "one after the other" in mistake(tmp_path, steps={"a": {"path": "/"}}, version=2, streams=2)
    assert "capital letters" in step_mistake(tmp_path, method="post")
    assert "not a path" in step_mistake(tmp_path, path="items")


def test_mistakes_with_variables(tmp_path: Path) -> None:
    steps = {
        "order": {"path": "/${token}"},
        "login": {"path": "/", "extract": {"token": {"json": "$.token"}}},
    }
    reported = mistake(tmp_path, steps=steps)
    assert "the step `order` uses `token`, which only the step `login` extracts" in reported
    reported = step_mistake(tmp_path, path="/${nobody}")
    assert "the step `a` uses the unknown variable `nobody`" in reported
    clash = {"steps": {"a": {"path": "/", "extract": {"n": {"json": "$.n"}}}}, "parameters": {"n": {"to": 9}}}
    assert "`n` has the name of a parameter" in mistake(tmp_path, **clash)


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("items", 'at character 1: "items"'),
        ("$..id", 'at character 3: ".id"'),
        ("$.items[?(@.id)]", "at character 9"),
        ("$.a[", "is incomplete"),
    ],
)
def test_json_paths_that_are_none_have_a_position(tmp_path: Path, path: str, words: str) -> None:
    assert words in step_mistake(tmp_path, extract={"a": {"json": path}})
    assert words in step_mistake(tmp_path, check={"json": {path: 1}})


def test_patterns_that_are_none(tmp_path: Path) -> None:
    assert "unclosed group" in step_mistake(tmp_path, extract={"a": {"pattern": "(a"}})
    assert "unclosed group" in step_mistake(tmp_path, check={"headers": {"X": {"pattern": "(a"}}})


PLAN = """
target: {http: {url: "http://localhost:1"}}
workload:
  http:
    steps:
      login: {path: /login, form: {user: "${users.name}", password: "${users.password}"},
              extract: {unused: {json: $.a}}}
    data:
      users: {file: users.csv, ORDER}
      more: {file: users.csv}
load: {clients: 3, LOAD}
"""


def checked(tmp_path: Path, order: str, load: str = "duration: 1s") -> str:
    """Mistakes and remarks on a plan."""
    (tmp_path / "users.csv").write_text("name,password\nann,x\nbob,y\n")
    (tmp_path / "plan.yaml").write_text(PLAN.replace("ORDER", order).replace("LOAD", load))
    try:
        plan = load_plan(tmp_path / "plan.yaml", installed())
    except PlanError as error:
        return error.written(in_english)
    return "\n".join(f"{remark.path}: {remark.message.text}" for remark in remarks(plan, installed()))


def test_a_parameter_that_no_step_uses_is_a_mistake_at_its_line(tmp_path: Path) -> None:
    reported = checked(tmp_path, "order: random}\n    parameters:\n      device: {from: 1, to: 9")
    assert "workload.http.parameters.device: no request uses it" in reported
    [mistake] = [line for line in reported.splitlines() if "parameters.device" in line]
    written = (tmp_path / "plan.yaml").read_text().splitlines()
    assert "device: {from: 1" in written[int(mistake.split(":")[1]) - 1]


def test_plans_with_scenarios(tmp_path: Path) -> None:
    reported = checked(tmp_path, "order: random")
    assert "data.more" in reported
    assert "write `${more.name}`" in reported
    assert "steps.login.extract.unused" in reported
    assert "written" not in reported, "the password is a column, none that stands in the plan"
    reported = checked(tmp_path, "order: client")
    assert "a row for each of 2 clients; the load has 3" in reported
    assert "whether or not there are data" in checked(tmp_path, "at_end: stop", "rate: 5/s")
    assert "warm-up" in checked(tmp_path, "at_end: stop", "warmup: 1s")
    written = PLAN.replace("${users.password}", "x${users.password}")
    (tmp_path / "written.yaml").write_text(
        written.replace("ORDER", "order: random").replace("LOAD", "threads: 1")
    )
    with pytest.raises(PlanError) as caught:
        load_plan(tmp_path / "written.yaml", installed())
    assert "${env:NAME}" in caught.value.written(in_english)
