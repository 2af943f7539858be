"""Scenarios on a real web shop with a database: what the shop has stored agrees with what loadcell counts."""

from __future__ import annotations

import collections
import hashlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from execution.live import loadcell
from shop import BEARER, Shop

STEPS: dict[str, Any] = {
    "login": {
        "path": "/login",
        "form": {"user": "${users.name}", "password": "${users.password}"},
        "check": {"status": 200, "json": {"$.user.name": {"pattern": "^user"}}},
        "extract": {"token": {"json": "$.token"}},
    },
    "browse": {
        "path": "/items?page=${page}",
        "check": {
            "headers": {"Content-Type": "application/json"},
            "json": {"$.page": {"pattern": "^[1-5]$"}},
        },
        "extract": {"item": {"json": "$.items[3].id"}, "next": {"json": "$.next"}},
    },
    "next": {"path": "${next}", "think": {"from": "1ms", "to": "3ms"}},
    "item": {"path": "/items/${item}", "extract": {"csrf": {"pattern": 'name="csrf" value="([^"]+)"'}}},
    "order": {
        "path": "/orders",
        "headers": {"X-Token": "${csrf}"},
        "json": {"item": "${item}", "quantity": 2},
        "check": {"status": 201, "json": {"$.order.status": "new"}},
        "extract": {"order": {"header": "Location"}},
    },
    "look": {
        "path": "${order}",
        "check": {"json": {"$.order.quantity": 2, "$.order.item": {"exists": True}}},
    },
}
USERS = "name,password\n" + "".join(f"user{number},user{number}-pw\n" for number in range(1, 21))


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Shop]:
    (tmp_path / "users.csv").write_text(USERS)
    with Shop(tmp_path) as shop:
        yield shop


def run(
    home: Path, shop: Shop, workload: dict[str, Any], load: dict[str, Any], **more: Any
) -> list[dict[str, Any]]:
    """A run of a plan; the records of its trials."""
    duration = "60s" if "requests" in load else "1s"
    plan = {
        "target": {"http": {"url": shop.url}},
        "workload": {"http": workload},
        "load": {"clients": 4, "warmup": "0s", "duration": duration, "interval": "200ms", **load},
        "repeats": 1,
        "monitors": [],
        **more,
    }
    (home / "plan.yaml").write_text(json.dumps(plan, ensure_ascii=False))
    done = loadcell(home, "run", "plan.yaml", "--out", "run", "--no-report")
    assert done.returncode in (0, 3), done.stderr
    return [json.loads(file.read_text()) for file in sorted((home / "run/trials").glob("*/trial.json"))]


def test_log_in_browse_and_order(tmp_path: Path, shop: Shop) -> None:
    data = {"users": {"file": "users.csv"}}
    parameters = {"page": {"from": 1, "to": 5}}
    [trial] = run(tmp_path, shop, {"steps": STEPS, "data": data, "parameters": parameters}, {})
    assert (trial["status"], trial["errors"], trial["unit"]) == ("ok", [], "scenario")
    verdicts = {check["name"]: check["verdict"] for check in trial["checks"]}
    for name in ("counting-identity", "littles-law", "intervals-complete"):
        assert verdicts[name] == "ok", (name, trial["checks"])
    lifetime = trial["lifetime"]
    assert lifetime["transactions"] > 20
    # Scenarios that were under way at the end have been made to their end.
    assert {lifetime["operations"][name] for name in STEPS} == {lifetime["transactions"]}
    assert shop.sql("SELECT count(*), min(quantity), max(quantity) FROM orders") == [
        (lifetime["transactions"], 2, 2)
    ]
    assert shop.sql("SELECT count(*) FROM sessions") == [(lifetime["transactions"],)]
    assert shop.sql("SELECT 100 * 1000000 - sum(stock) FROM items") == [(2 * lifetime["transactions"],)]
    # Rows were taken in order: users differ by one at most.
    counts = [count for _, count in shop.sql("SELECT user, count(*) FROM orders GROUP BY user")]
    assert (len(counts), max(counts) - min(counts) <= 1) == (20, True)
    assert shop.sql("SELECT count(DISTINCT item) FROM orders WHERE item % 10 = 4") == [(5,)]
    operations = trial["operations"]
    total = trial["totals"]["response"]["mean_ms"]
    steps = sum(operations[name]["response"]["mean_ms"] for name in STEPS)
    assert steps < total < steps + 4, "the scenario is its steps and think times of 1 to 3 ms"
    queries = trial["totals"]["queries_per_s"]
    assert queries == pytest.approx(6 * trial["totals"]["throughput_per_s"], rel=0.01)
    for language, words in {
        "en": ("scenarios", "Requests/s", "Scenario steps", "browse"),
        "zh": ("场景", "请求/秒", "场景的各个步骤"),
    }.items():
        done = loadcell(tmp_path, "report", "run", "--format", "md", "--lang", language)
        assert done.returncode == 0, done.stderr
        text = (tmp_path / done.stdout.strip()).read_text()
        assert all(word in text for word in words), text
        assert "ApacheBench" not in text


def test_each_client_has_a_row_and_logs_in_once(tmp_path: Path, shop: Shop) -> None:
    steps = {
        "login": {**STEPS["login"], "once": True},
        "order": {
            "path": "/orders",
            "headers": {"X-Token": "${token}"},
            "json": {"item": "${item}", "quantity": 1},
        },
    }
    data = {"users": {"file": "users.csv", "order": "client"}}
    work = {"steps": steps, "data": data, "parameters": {"item": {"from": 1, "to": 100}}}
    [trial] = run(tmp_path, shop, work, {"clients": 5})
    assert (trial["status"], trial["errors"]) == ("ok", [])
    assert shop.sql("SELECT count(*) FROM sessions") == [(5,)]
    assert shop.sql("SELECT DISTINCT user FROM orders ORDER BY user") == [(number,) for number in range(1, 6)]


def test_load_ends_with_the_data(tmp_path: Path, shop: Shop) -> None:
    data = {"users": {"file": "users.csv", "at_end": "stop"}}
    [trial] = run(tmp_path, shop, {"steps": {"login": STEPS["login"]}, "data": data}, {"duration": "60s"})
    assert (trial["status"], trial["lifetime"]["transactions"]) == ("ok", 20)
    assert trial["measure"]["duration_s"] < 10
    assert shop.sql("SELECT count(DISTINCT user), count(*) FROM sessions") == [(20, 20)]


def test_rows_at_random(tmp_path: Path, shop: Shop) -> None:
    data = {"users": {"file": "users.csv", "order": "random"}}
    [trial] = run(tmp_path, shop, {"steps": {"login": STEPS["login"]}, "data": data}, {"requests": 200})
    assert (trial["status"], trial["lifetime"]["transactions"]) == ("ok", 200)
    counts = [count for _, count in shop.sql("SELECT user, count(*) FROM sessions GROUP BY user")]
    assert len(counts) > 10
    assert max(counts) - min(counts) > 1


def test_failed_checks_and_missing_values_are_classes_with_examples(tmp_path: Path, shop: Shop) -> None:
    steps = {
        "page": {"path": "/items?page=${page}", "check": {"json": {"$.page": 1}}},
        "wrong": {"path": "/items", "check": {"headers": {"X-Cache": "HIT"}}},
        "next": {"path": "/items?page=${page}", "extract": {"next": {"json": "$.next"}}},
        "html": {"path": "/", "extract": {"csrf": {"pattern": 'csrf="(.*)"'}}},
        "use": {"path": "/items/${csrf}"},
        "text": {"path": "/", "check": {"json": {"$.a": 1}}},
        "gone": {"path": "/nowhere", "check": {"status": [200, 201]}},
    }
    parameters = {"page": {"values": [1, 10], "distribution": "sequential"}}
    for continued, codes in (
        ("stop", {"check-json", "check-header"}),
        ("continue", {"check-json", "check-header"}),
    ):
        work = {"steps": steps, "parameters": parameters, "after_failure": continued}
        (tmp_path / continued).mkdir()
        [trial] = run(tmp_path / continued, shop, work, {"clients": 1, "requests": 40})
        errors = {error["code"]: error for error in trial["errors"]}
        assert errors.keys() == codes
        assert "step page: $.page is '10', and was to be '1'" in errors["check-json"]["message"]
        assert "step wrong: the header field X-Cache is missing" in errors["check-header"]["message"]
        assert (
            errors["check-json"]["meaning"] == "a value in the JSON body of the response was not as expected"
        )
        failed = {name: trial["operations"][name]["failed"] for name in steps}
        if continued == "stop":
            assert failed == {"page": 20, "wrong": 20, "next": 0, "html": 0, "use": 0, "text": 0, "gone": 0}
        else:
            expected = {"page": 20, "wrong": 40, "next": 20, "html": 40, "use": 40, "text": 40, "gone": 40}
            assert failed == expected
    (tmp_path / "examples").mkdir()
    work = {"steps": {"page": steps["page"]}, "parameters": {"page": {"from": 2, "to": 9}}}
    [trial] = run(tmp_path / "examples", shop, work, {"requests": 40})
    [error] = trial["errors"]
    assert len({error["message"], *error["examples"]}) == 3
    assert all("and was to be '1'" in message for message in (error["message"], *error["examples"]))
    for name, code in (("next", "extract-json"), ("html", "extract-pattern"), ("text", "check-json")):
        (tmp_path / name).mkdir()
        used = {"page": {"values": [10]}} if name == "next" else {}
        work = {"steps": {name: steps[name]}, "parameters": used}
        [trial] = run(tmp_path / name, shop, work, {"requests": 4})
        assert [error["code"] for error in trial["errors"]] == [code]
        assert trial["totals"]["throughput_per_s"] == 0


def test_files_and_fields_arrive_as_they_are(tmp_path: Path, shop: Shop) -> None:
    content = bytes(range(256)) * 40
    (tmp_path / "photo.jpg").write_bytes(content)
    sum_ = hashlib.sha256(content).hexdigest()
    form = {"title": 'a "quoted" & b=c ${users.name}', "note": "价格 +%"}
    upload = {
        "path": "/photos",
        "form": form,
        "files": {
            "photo": {"file": "photo.jpg"},
            "copy": {"file": "photo.jpg", "name": 'b".bin', "type": "x/y"},
        },
        "check": {
            "status": 201,
            "json": {
                "$.fields.title": {"pattern": '^a "quoted" & b=c user[0-9]+$'},
                "$.fields.note": "价格 +%",
                "$.files[0].name": "photo.jpg",
                "$.files[0].type": "image/jpeg",
                "$.files[0].sha256": sum_,
                "$.files[1].type": "x/y",
                "$.files[1].sha256": sum_,
            },
        },
    }
    work = {"steps": {"upload": upload}, "data": {"users": {"file": "users.csv"}}}
    [trial] = run(tmp_path, shop, work, {"requests": 20})
    assert (trial["status"], trial["errors"]) == ("ok", [])


def test_credentials_come_from_the_environment_and_are_written_nowhere(tmp_path: Path, shop: Shop) -> None:
    steps = {
        "basic": {"path": "/stock"},
        "bearer": {"path": "/stock", "auth": {"bearer": "${env:SHOP_TOKEN}"}},
        "nobody": {"path": "/stock", "auth": "none", "check": {"status": 401}},
    }
    work = {"auth": {"basic": {"user": "clerk", "password": "${env:SHOP_PASSWORD}"}}, "steps": steps}
    os.environ |= {"SHOP_TOKEN": BEARER, "SHOP_PASSWORD": "clerk-pw"}
    try:
        [trial] = run(tmp_path, shop, work, {"requests": 20})
        (tmp_path / "plain").mkdir()
        plain = {"auth": {"bearer": "${env:SHOP_TOKEN}"}, "path": "/stock"}
        [single] = run(tmp_path / "plain", shop, plain, {"requests": 20})
    finally:
        del os.environ["SHOP_TOKEN"], os.environ["SHOP_PASSWORD"]
    assert (trial["status"], trial["errors"]) == ("ok", [])
    assert (single["status"], single["errors"]) == ("ok", [])
    for file in (*tmp_path.glob("run/**/*"), *tmp_path.glob("plain/**/*")):
        if file.is_file():
            text = file.read_bytes()
            assert BEARER.encode() not in text, file
            assert b"clerk-pw" not in text, file
            assert b"Y2xlcms6" not in text, file


def test_refused_credentials_are_not_reported_as_missing_ones(tmp_path: Path, shop: Shop) -> None:
    os.environ["SHOP_TOKEN"] = "expired"
    try:
        work = {"auth": {"bearer": "${env:SHOP_TOKEN}"}, "path": "/stock"}
        [trial] = run(tmp_path, shop, work, {"requests": 20})
    finally:
        del os.environ["SHOP_TOKEN"]
    assert trial["status"] == "failed"
    assert "the service refuses the credentials given" in trial["advice"]
    assert "LOADCELL_AUTHORIZATION" not in json.dumps(trial)
    (tmp_path / "none").mkdir()
    [trial] = run(tmp_path / "none", shop, {"path": "/stock"}, {"requests": 20})
    assert "LOADCELL_AUTHORIZATION" in trial["advice"]


NGINX = """
daemon off;
worker_processes 1;
pid {work}/nginx.pid;
events {{ worker_connections 512; }}
http {{
  log_format short '$request_method $request_uri $status $http_host';
  access_log {log} short;
  client_body_temp_path {work}/body;
  proxy_temp_path {work}/proxy;
  fastcgi_temp_path {work}/fastcgi;
  uwsgi_temp_path {work}/uwsgi;
  scgi_temp_path {work}/scgi;
  keepalive_requests 7;
  server {{
    listen unix:{work}/nginx.sock;
    location /a {{ add_header Set-Cookie "seen=yes; Path=/b"; return 200 "value=42"; }}
    location /b {{ if ($cookie_seen != yes) {{ return 403; }} return 200 $args; }}
  }}
}}
"""


@pytest.mark.parametrize("version", ["1.1", "2"])
def test_unix_socket_of_nginx(tmp_path: Path, version: str) -> None:
    """Its connections end after seven requests each, also within scenarios."""
    tmp_path.chmod(0o755)
    configuration = NGINX.replace("{log}", str(tmp_path / "access.log"))
    configuration = configuration.replace("{{", "{").replace("}}", "}")
    if version == "2":
        configuration = configuration.replace("nginx.sock;", "nginx.sock http2;")
    steps = {
        "a": {"path": "/a", "extract": {"value": {"pattern": r"value=(\d+)"}}},
        "b": {"path": "/b?v=${value}&d=${d.x}", "check": {"pattern": "^v=42&d=(1|a%20%2F)$"}},
    }
    (tmp_path / "d.csv").write_text("x\n1\na /\n")
    plan = {
        "target": {
            "command": {
                "command": ["nginx", "-e", "stderr", "-p", "{work}", "-c", "{work}/nginx.conf"],
                "url": "http://shop.example",
                "socket": "{work}/nginx.sock",
                "files": {"nginx.conf": configuration},
            }
        },
        "workload": {"http": {"version": version, "steps": steps, "data": {"d": {"file": "d.csv"}}}},
        "load": {"clients": 3, "warmup": "0s", "requests": 300},
        "repeats": 1,
        "monitors": ["target"],
    }
    (tmp_path / "plan.yaml").write_text(json.dumps(plan))
    done = loadcell(tmp_path, "run", "plan.yaml", "--out", "run", "--no-report")
    assert done.returncode == 0, done.stderr
    [trial] = [json.loads(file.read_text()) for file in (tmp_path / "run/trials").glob("*/trial.json")]
    assert (trial["status"], trial["errors"]) == ("ok", [])
    assert trial["lifetime"]["transactions"] == 300
    seen = collections.Counter((tmp_path / "access.log").read_text().splitlines())
    assert seen["GET /a 200 shop.example"] == 300
    assert seen["GET /b?v=42&d=1 200 shop.example"] == seen["GET /b?v=42&d=a%20%2F 200 shop.example"] == 150
    assert sum(seen.values()) == 600
    assert trial["client"]["connects"] >= 600 / 7


def test_socket_that_nobody_listens_on(tmp_path: Path) -> None:
    plan = {
        "target": {"http": {"url": "http://localhost", "socket": str(tmp_path / "none.sock")}},
        "workload": {"http": {"steps": {"a": {"path": "/"}}}},
        "load": {"clients": 1, "warmup": "0s", "requests": 1},
        "repeats": 1,
    }
    (tmp_path / "plan.yaml").write_text(json.dumps(plan))
    done = loadcell(tmp_path, "run", "plan.yaml", "--out", "run", "--no-report")
    assert done.returncode == 3, done.stderr
    [trial] = [json.loads(file.read_text()) for file in (tmp_path / "run/trials").glob("*/trial.json")]
    assert (trial["status"], "none.sock" in trial["reason"]) == ("failed", True)
