"""An existing service: its address, whom to trust, and who listens there."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from hostile import Hostile, response, says
from loadcell.systems.base import TargetContext, TargetError
from loadcell.systems.http.target import Http, HttpOptions


def target(tmp_path: Path, **options: Any) -> Http:
    context = TargetContext(tmp_path, lambda line: None, lambda text: text)
    return Http(HttpOptions.model_validate(options), context)


def test_the_endpoint_names_where_and_whom_to_trust(tmp_path: Path) -> None:
    plain = target(tmp_path, url="http://shop.example:8080").endpoint().section()
    assert plain == {
        "protocol": "http",
        "host": "shop.example",
        "port": 8080,
        "sslmode": "disable",
        "connect_timeout_ns": 10_000_000_000,
    }
    secure = target(tmp_path, url="https://shop.example/", tls={"ca": "/ca.pem", "name": "shop"}).endpoint()
    assert (secure.port, secure.sslmode, secure.sslrootcert) == (443, "verify-full", "/ca.pem")
    assert secure.tls_name == "shop"
    anybody = target(tmp_path, url="https://[::1]:9", tls={"verify": False}).endpoint()
    assert (anybody.host, anybody.port, anybody.sslmode) == ("::1", 9, "require")
    assert target(tmp_path, url="http://bücher.example").endpoint().host == "xn--bcher-kva.example"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "Field required"),
        ({"url": "shop.example"}, "not the url of a service"),
        ({"url": "ftp://shop.example"}, "not the url of a service"),
        ({"url": "http://shop.example:99999"}, "not a url"),
        ({"url": f"http://{'ü' * 70}.example"}, "is not a host name"),
        ({"url": "http://shop.example/path?x=1"}, "workload.http.path"),
        ({"url": "http://me:secret@shop.example"}, "Authorization"),
        ({"url": "http://shop.example", "tls": {"verify": False}}, "belongs to a url of https"),
        ({"url": "https://shop.example", "tls": {"verify": False, "ca": "x"}}, "omit one of them"),
    ],
)
def test_a_mistake_is_named(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError) as caught:
        HttpOptions.model_validate(options)
    assert message in str(caught.value)


def test_a_service_is_found_with_its_process_and_what_it_says_it_is(tmp_path: Path) -> None:
    answer = says(response(b"", "200 OK", "Server: known/1"))
    with Hostile(answer) as server:
        service = target(tmp_path, url=f"http://127.0.0.1:{server.port}")
        service.up()
        assert service.alive()
        assert service.processes() == [os.getpid()]
        assert service.describe().software == "known/1"
        assert service.counters() == {}
    service.down()
    service.destroy()


def test_nobody_there_is_reported_with_what_to_do(tmp_path: Path) -> None:
    with Hostile(says(response())) as server:
        gone = target(tmp_path, url=f"http://127.0.0.1:{server.port}")
    with pytest.raises(TargetError) as caught:
        gone.up()
    assert "Connection refused" in caught.value.finding
    assert "start the service" in caught.value.advice
    assert not gone.alive()
    assert gone.describe().software is None
    with pytest.raises(TargetError) as caught:
        target(tmp_path, url="http://no-such-host.invalid").up()
    assert "cannot be resolved" in caught.value.finding
