"""The workload of streams: its options, and its demands on a plan."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from loadcell.parts import installed
from loadcell.plan.load import load_text
from loadcell.plan.problems import PlanError
from loadcell.systems.jvm.services import services
from loadcell.workloads.stream import StreamOptions

FIELDS = {"id": {"step": 1}, "key": {"from": 0, "to": 9}}
PLAN = """
target: {stream: {url: "tcp://127.0.0.1:9000"}}
workload: {stream: {fields: {id: {step: 1}}}}
load: {clients: 1, duration: 1s}
"""


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "either from `fields` or from a `file`"),
        ({"fields": FIELDS, "file": "a"}, "either from `fields` or from a `file`"),
        ({"fields": {}}, "at least 1 item"),
        ({"fields": {"id": {"step": 1, "to": 4}}}, "numbers that rise"),
        ({"fields": {"id": {"step": 1, "digits": 9}}}, "no other settings"),
        ({"fields": {"id": {"step": 1, "distribution": "zipfian"}}}, "no other settings"),
        ({"file": "a", "answers": "each"}, "the same numbers again"),
        ({"fields": {"id": {}}}, "a parameter is one of"),
        ({"fields": {"1d": {"step": 1}}}, "pattern"),
        ({"fields": {"key": {"to": 9, "distribution": "cauchy"}}}, "zipfian"),
        ({"fields": {"kind": {"values": ["a,b"]}}}, "would break the record apart"),
        ({"fields": FIELDS, "size": "3B"}, "the fields take up to"),
        ({"fields": FIELDS, "size": "300B", "frame_limit": "200B"}, "more than `frame_limit`"),
        ({"file": "a", "size": "200B"}, "`size` is for generated records"),
        ({"file": "a", "prepared": 3}, "`prepared` is for generated records"),
        ({"fields": FIELDS, "repeat": True}, "`repeat` goes with a `file`"),
        ({"fields": FIELDS, "order": "all"}, "`order` goes with `answers: each`"),
        ({"fields": FIELDS, "answers": "count", "results": "tcp://a:1"}, "`results` goes with"),
        ({"fields": FIELDS, "answers": "each", "prepared": 5}, "with the same numbers"),
        ({"fields": {**FIELDS, "padding": {"to": 9}}, "size": "99B"}, "a last field `padding` is added"),
        ({"fields": FIELDS, "answers": "each", "order": "key"}, "go together"),
        ({"fields": FIELDS, "answers": "each", "order": "key", "key": "k"}, "there is no field 'k'"),
        ({"fields": FIELDS, "answers": "each", "results": "http://a"}, "no address of a stream"),
        ({"fields": FIELDS, "answers": "each", "results": "tcp://a"}, "has no port"),
        ({"fields": FIELDS, "answers": "some"}, "'none', 'count' or 'each'"),
    ],
)
def test_unusable_options_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        StreamOptions(**options)


def test_fields_are_sections_of_the_engine() -> None:
    section = StreamOptions(fields={"time": {"step": 10, "from": 5}, "key": {"to": 9}}).section()
    first, second = section["source"]["fields"]
    assert first == {"name": "time", "number": {"start": 5, "step": 10}}
    assert (second["name"], second["draw"]["to"], "step" in second["draw"]) == ("key", 9, False)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"tcp://127.0.0.1:9000"', '"http://127.0.0.1:9000"', "is the url of HTTP"),
        ('"tcp://127.0.0.1:9000"', '"tcp://127.0.0.1"', "has no port"),
        ("{stream: {url", "{http: {url", "is the url of a stream"),
        (
            'stream: {url: "tcp://127.0.0.1:9000"}',
            'command: {command: cat, url: "http://127.0.0.1:9000"}',
            "needs the protocol stream",
        ),
        (
            "stream: {fields: {id: {step: 1}}}}\nload: {clients: 1,",
            "stream: {file: a, repeat: false}}\nload: {clients: 1, warmup: 1s,",
            "the warm-up takes lines",
        ),
        ("stream: {fields: {id: {step: 1}}}", "http: {}", "does not work with the target stream"),
    ],
)
def test_plans_that_do_not_fit_are_refused(old: str, new: str, message: str, tmp_path: Path) -> None:
    assert old in PLAN
    load_text(PLAN, tmp_path / "plan.yaml", installed())
    with pytest.raises(PlanError, match=message):
        load_text(PLAN.replace(old, new), tmp_path / "plan.yaml", installed())


RULES = """
target: {jvm: {service: rules, properties: {answers: each}}}
workload: {stream: {fields: {id: {step: 1}}, answers: each}}
load: {clients: 1, requests: 100, duration: 1s, warmup: 0s}
"""


@pytest.mark.parametrize(
    ("old", "new", "name", "message", "remedy"),
    [
        (
            "properties: {answers: each}", "properties: {rules: 2}", "answers",
            "`SERVICE.answers` is count by default, but the workload stream has `answers: each`",
            "`SERVICE.answers: each`, or `answers: count` of the workload",
        ),
        (
            "answers: each}}}", "answers: none}}}", "answers",
            "`SERVICE.answers` is none, but the workload stream has `answers: each`",
            "`SERVICE.answers: each`, or `answers: none` of the workload",
        ),
        (
            "answers: each}}\n", "answers: each, framing: length}}\n", "framing",
            "`SERVICE.framing` is line by default, but the workload stream has `framing: length`",
            "`SERVICE.framing: length`, or `framing: line` of the workload",
        ),
        (
            "answers: each}}}", "answers: each, format: json}}}", "format",
            "`SERVICE.format` is json, but the workload stream has `format: csv`",
            "`SERVICE.format: csv`, or `format: json` of the workload",
        ),
        (
            "answers: each}}\n", "answers: each, size: 2MB, frame_limit: 2MB}}\n", "limit",
            "`SERVICE.limit` is 1048576 by default, but the workload stream has `frame_limit: 2MB` (2000000)",
            "`SERVICE.limit` of at least 2000000, or a smaller `frame_limit` of the workload",
        ),
        (
            "answers: each}}}", "answers: each, limit: 65536}}}", "limit",
            "`SERVICE.limit` is 65536, but the workload stream has `frame_limit: 1MiB` (1048576)",
            "`SERVICE.limit` of at least 1048576, or a smaller `frame_limit` of the workload",
        ),
        (
            "answers: each}}}", "answers: each, limit: 2MiB}}}", "limit",
            "`SERVICE.limit` is 2MiB, but the workload stream has `frame_limit: 1MiB` (1048576)",
            "`SERVICE.limit` of at least 1048576, or a smaller `frame_limit` of the workload",
        ),
    ],
)  # fmt: skip
def test_a_service_that_is_set_otherwise_than_the_workload_is_refused(
    old: str, new: str, name: str, message: str, remedy: str, tmp_path: Path
) -> None:
    assert RULES.count(old) == 1
    with pytest.raises(PlanError) as refused:
        load_text(RULES.replace(old, new), tmp_path / "plan.yaml", installed())
    [problem] = refused.value.problems
    service = "target.jvm.properties"
    assert problem.path == f"{service}.{name}"
    texts = (problem.message.text, problem.message.advice)
    assert texts == (message.replace("SERVICE", service), remedy.replace("SERVICE", service))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("", ""),
        ("properties: {answers: each}", "options: -Danswers=each"),
        ("answers: each}}}", "answers: each, framing: line, format: csv}}}"),
        ("answers: each", "answers: count"),
        ("answers: each}}\n", "answers: each, size: 1MiB}}\n"),
        ("answers: each}}}", "answers: each, limit: 1048577}}}"),
        (
            "answers: each}}}\nworkload: {stream: {",
            "answers: each, limit: 65536}}}\nworkload: {stream: {frame_limit: 64KiB, ",
        ),
    ],
)
def test_a_service_that_is_set_as_the_workload_is_accepted(old: str, new: str, tmp_path: Path) -> None:
    load_text(RULES.replace(old, new) if old else RULES, tmp_path / "plan.yaml", installed())


def test_each_level_of_a_factor_is_compared_with_the_service(tmp_path: Path) -> None:
    plan = f"{RULES}factors: {{workload.stream.answers: [each, count]}}\n"
    with pytest.raises(PlanError) as refused:
        load_text(plan, tmp_path / "plan.yaml", installed())
    assert "but the workload stream has `answers: count`" in str(refused.value)


def test_shared_properties_are_options_with_the_defaults_of_their_service() -> None:
    for service in services().values():
        [settings] = [*service.directory.rglob("Settings.java")] if service.shared else [None]
        for shared in service.shared:
            assert settings is not None
            option = installed().workload(shared.workload).Options.model_fields[shared.option]
            text = settings.read_text(encoding="utf-8")
            if shared.relation == "at-least":
                [number] = re.findall(rf'number\(properties, "{shared.property}", ([\d_]+),', text)
                assert int(number) == int(shared.default) == option.default
            else:
                constant = rf'choice\(properties, "{shared.property}", \w+\.{shared.default.upper()}\)'
                assert re.search(constant, text)
