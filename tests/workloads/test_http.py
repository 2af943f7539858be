"""The workload's options: the section for the engine, and mistakes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from loadcell.parts import installed
from loadcell.plan.model import Load
from loadcell.workloads.http import Http, HttpOptions


def section(**options: Any) -> dict[str, Any]:
    document: dict[str, Any] = Http(HttpOptions.model_validate(options)).engine()["http"]
    return document


def mistake(**options: Any) -> str:
    with pytest.raises(ValidationError) as caught:
        HttpOptions.model_validate(options)
    return str(caught.value)


def test_one_kind_of_request_is_a_mix_of_one() -> None:
    section_document = section(path="/get?key=${key}", parameters={"key": {"from": 1, "to": 9, "digits": 4}})
    [request] = section_document["requests"]
    assert (request["method"], request["path"]) == ("GET", "/get?key=${key}")
    assert (
        section_document["parameters"]["key"] | {"from": 1, "to": 9, "digits": 4}
        == section_document["parameters"]["key"]
    )
    assert section_document["keep_alive"] is True
    assert section_document["success"] == ["2xx", "3xx"]
    assert section_document["header_bytes"] == 65536


@pytest.mark.parametrize(
    ("written", "version_text"), [(1.1, "1.1"), ("1.1", "1.1"), (2, "2"), (2.0, "2"), ("2", "2")]
)
def test_a_version_is_read_as_people_write_it(written: object, version_text: str) -> None:
    assert section(version=written)["version"] == version_text
    assert section()["version"] == "1.1"


@pytest.mark.parametrize("written", [3, 1, "h2", True, None])
def test_any_other_version_is_a_mistake(written: object) -> None:
    assert "'1.1' or '2'" in mistake(version=written)


def test_http_2_has_no_headers_that_belong_to_a_connection() -> None:
    for name in ("Keep-Alive", "Proxy-Connection", "TE"):
        assert "must not be sent in HTTP/2" in mistake(version=2, headers={name: "x"})
        section(version=1.1, headers={name: "x"})


def test_streams_are_several_requests_at_once_on_a_connection_of_http_2() -> None:
    assert (section()["streams"], section(version=2, streams=8)["streams"]) == (1, 8)
    message = (
        "`streams: 8` needs HTTP/2: a connection of HTTP/1.1 carries one request at a time: "
        "use version 2, or more clients"
    )
    assert message in mistake(streams=8)
    assert "conflicts with `keep_alive: false`" in mistake(version=2, streams=8, keep_alive=False)
    load = Load.model_validate({"rate": "100/s", "clients": 5, "duration": "1s"})
    http = Http(HttpOptions.model_validate({"version": 2, "streams": 8}))
    assert [misfit.path for misfit in http.misfits(load, installed().target_kind("http"))] == [
        "workload.http.streams"
    ]


def test_a_body_is_checked_by_a_regular_expression() -> None:
    [request] = section(check={"pattern": "^a+$"})["requests"]
    assert request["check"]["pattern"] == "^a+$"
    assert 'the pattern "a(" cannot be used: unclosed group' in mistake(check={"pattern": "a("})
    message = mistake(check={"pattern": "[ab]*a[ab]{40}$"})
    assert "is too large: use fewer or smaller counted repetitions" in message


def test_a_mix_has_common_headers_and_own_ones() -> None:
    section_document = section(
        headers={"Accept": "text/plain", "X": 1},
        requests={
            "get": {"path": "/get", "share": 80},
            "set": {"method": "POST", "path": "/set", "body": "x", "headers": {"X": True}, "share": 20},
        },
    )
    get, post = section_document["requests"]
    assert get["headers"] == {"Accept": "text/plain", "X": "1"}
    assert post["headers"] == {"Accept": "text/plain", "X": "true"}
    assert (get["name"], get["share"], post["body"]) == ("get", 80, "x")


def test_values_come_from_a_list_or_a_file(tmp_path: Path) -> None:
    (tmp_path / "words").write_text("one\n\ntwo words\n")
    options = HttpOptions.model_validate(
        {"path": "/${a}/${b}", "parameters": {"a": {"values": ["x", 5]}, "b": {"file": "words"}}},
        context={"directory": tmp_path},
    )
    section_document = options.section()["parameters"]
    assert section_document["a"]["values"] == ["x", "5"]
    assert section_document["b"]["values"] == ["one", "two words"]


def test_a_body_may_be_in_a_file(tmp_path: Path) -> None:
    (tmp_path / "order.json").write_bytes(b'{"item": "${item}"}\r\n')
    body = {"file": "order.json"}
    parameters = {"item": {"to": 9}}
    workload_options = HttpOptions.model_validate(
        {"body": body, "parameters": parameters}, context={"directory": tmp_path}
    )
    several = HttpOptions.model_validate(
        {"requests": {"set": {"body": body}}, "parameters": parameters}, context={"directory": tmp_path}
    )
    for options in (workload_options, several):
        assert options.section()["requests"][0]["body"] == '{"item": "${item}"}\r\n'
    (tmp_path / "order.json").write_bytes(b"\xff${item}\0")
    bytes_alone = HttpOptions.model_validate({"body": body}, context={"directory": tmp_path})
    assert bytes_alone.section()["requests"][0]["body"] == {"base64": "/yR7aXRlbX0A"}
    with pytest.raises(ValidationError, match=r"the file .*nowhere cannot be read: No such file"):
        HttpOptions.model_validate({"body": {"file": "nowhere"}}, context={"directory": tmp_path})
    (tmp_path / "names").write_bytes(b"one\n\xff\n")
    with pytest.raises(ValidationError, match=r"names is not UTF-8 text \(byte 4\)"):
        HttpOptions.model_validate(
            {"path": "/${n}", "parameters": {"n": {"file": "names"}}}, context={"directory": tmp_path}
        )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "get"}, "HTTP methods are written in capital letters: GET"),
        ({"requests": {"a": {"method": "Post"}}}, "in capital letters: POST"),
        ({"body": {"file": "/nowhere/at/all"}}, "cannot be read"),
        ({"path": "index.html"}, "is not a path"),
        ({"path": "/${key}"}, "refers to `key`, which is not a parameter"),
        ({"method": "GE T"}, "not an HTTP method"),
        ({"headers": {"Content-Length": "5"}}, "loadcell itself sets"),
        ({"headers": {"X": "a\nb"}}, "cannot be sent"),
        ({"success": ["ok"]}, "not an HTTP status"),
        ({"path": "/", "requests": {"get": {}}}, "`path` conflicts with `requests`"),
        ({"requests": {"connect": {}}}, "no request can be called `connect`"),
        ({"requests": {"a": {"share": 0}}}, "some above 0"),
        ({"requests": {}}, "at least 1"),
        ({"parameters": {"key": {}}}, "one of: numbers"),
        ({"parameters": {"key": {"from": 5, "to": 3}}}, "not below"),
        ({"parameters": {"key": {"to": 3, "letters": 3}}}, "one of: numbers"),
        ({"parameters": {"key": {"file": "/nowhere/at/all"}}}, "cannot be read"),
        (
            {"parameters": {"key": {"to": 9, "distribution": "zipfian", "theta": 1.0}}},
            "`theta` must not be 1",
        ),
        ({"parameters": {"a b": {"to": 9}}}, "pattern"),
        ({"depth": 1}, "Extra inputs"),
    ],
)
def test_a_mistake_is_named(options: dict[str, Any], message: str) -> None:
    assert message in mistake(**options)


def test_a_request_without_a_share_is_remarked_on() -> None:
    options = {"requests": {"get": {}, "set": {"share": 0}}}
    texts = {
        remark.path: remark.message.text for remark in Http(HttpOptions.model_validate(options)).advice()
    }
    assert texts["requests.set.share"] == "this request is never sent"


def test_a_request_may_take_five_seconds_where_the_plan_does_not_say() -> None:
    assert Http.load_settings(HttpOptions()) == {"timeout": "5s"}
