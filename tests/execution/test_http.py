"""HTTP as a person measures it: a real nginx that the plan starts, whose own counts agree with loadcell's."""

from __future__ import annotations

import collections
import json
import signal
from pathlib import Path
from typing import Any

import pytest

from execution.live import Live, descendants, living, loadcell, until
from hostile import Hostile, resets, response, says

PLAN = """
target:
  command:
    command: [nginx, -e, stderr, -p, "{work}", -c, "{work}/nginx.conf"]
    url: http://127.0.0.1:{port}
    files:
      nginx.conf: |
        daemon off;
        worker_processes 1;
        pid {work}/nginx.pid;
        events { worker_connections 512; }
        http {
          log_format short '$request_method $uri $status $body_bytes_sent';
          access_log LOG short;
          keepalive_requests 300;
          client_body_temp_path {work}/body;
          proxy_temp_path {work}/proxy;
          fastcgi_temp_path {work}/fastcgi;
          uwsgi_temp_path {work}/uwsgi;
          scgi_temp_path {work}/scgi;
          server {
            listen 127.0.0.1:{port};
            location /get { return 200 "value"; }
            location /set { return 204; }
            location /moved { return 301 /get; }
          }
        }
workload:
  http:
    requests:
      get: {path: "/get?key=${key}", share: 50, check: {equals: value}}
      set: {method: POST, path: "/set?key=${key}", body: "${value}", share: 20}
      moved: {path: /moved, share: 15}
      lost: {path: /missing, share: 15}
    parameters:
      key: {from: 1, to: 1000, distribution: zipfian}
      value: {letters: 50}
load: {clients: 8, warmup: 200ms, duration: 500ms, interval: 100ms}
factors: {workload.http.keep_alive: [true, false]}
repeats: 1
monitors: [target]
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One run with and without keep-alive; `access.log` beside it is nginx's own account."""
    home = tmp_path_factory.mktemp("http")
    home.chmod(0o755)
    (home / "plan.yaml").write_text(PLAN.replace("LOG", str(home / "access.log")))
    done = loadcell(home, "run", "plan.yaml", "--out", "run", "--no-report")
    assert done.returncode == 0, done.stderr
    return home


def trials(path: Path) -> list[dict[str, Any]]:
    return [json.loads(file.read_text()) for file in sorted((path / "run" / "trials").glob("*/trial.json"))]


def test_nginx_s_own_log_has_every_request_and_no_other(run: Path) -> None:
    seen = collections.Counter(
        tuple(line.split()[:3]) for line in (run / "access.log").read_text().splitlines()
    )
    lifetimes = [trial["lifetime"] for trial in trials(run)]
    for name, key in {
        "get": ("GET", "/get", "200"),
        "set": ("POST", "/set", "204"),
        "moved": ("GET", "/moved", "301"),
    }.items():
        assert seen[key] == sum(lifetime["operations"][name] for lifetime in lifetimes) > 0
    failed = sum(lifetime["failed"] for lifetime in lifetimes)
    assert seen[("GET", "/missing", "404")] == failed > 0
    assert sum(seen.values()) == failed + sum(lifetime["transactions"] for lifetime in lifetimes)


def test_every_check_holds_with_and_without_keep_alive(run: Path) -> None:
    for trial in trials(run):
        assert trial["status"] == "ok"
        assert trial["unit"] == "request"
        verdicts = {check["name"]: check["verdict"] for check in trial["checks"]}
        for name in ("counting-identity", "littles-law", "intervals-complete"):
            assert verdicts[name] == "ok", (name, trial["checks"])
        assert {error["code"] for error in trial["errors"]} == {"http-404"}
        assert trial["errors"][0]["meaning"] == "not found"
        assert (trial["client"]["reconnects"], trial["client"]["reconnecting_s"]) == (0, 0)
        totals, operations = trial["totals"], trial["operations"]
        ended = trial["lifetime"]["transactions"] + trial["lifetime"]["failed"]
        assert totals["statuses"]["4xx"] == totals["errors"]
        assert totals["statuses"]["3xx"] == operations["moved"]["succeeded"]
        assert totals["received_bytes"] > totals["body_bytes"] > 0
        if trial["settings"]["workload"]["http"]["keep_alive"]:
            # nginx ends a connection after 300 requests; another one is begun at most once a client.
            assert trial["client"]["connects"] <= 16 + ended / 300
        else:
            assert trial["client"]["connects"] == ended + 8
            assert operations["connect"]["succeeded"] > 0


def test_its_processes_are_watched(run: Path) -> None:
    for watched in (run / "run").glob("trials/*/processes.csv"):
        assert "nginx" in watched.read_text()


def test_the_report_has_ab_s_values(run: Path) -> None:
    for language, words in {
        "en": ("Requests per second", "Time per request", "Non-2xx", "Connect", "Waiting"),
        "zh": ("Requests per second", "Time per request", "Non-2xx", "Connect", "Waiting"),
    }.items():
        done = loadcell(run, "report", "run", "--lang", language, "--format", "md", "--out", f"{language}.md")
        assert done.returncode == 0, done.stderr
        page = (run / f"{language}.md").read_text()
        for word in words:
            assert word in page, (language, word)


def test_a_killed_loadcell_takes_its_server_along(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    text = PLAN.replace("LOG", "off").replace("off short", "off").replace("duration: 500ms", "duration: 60s")
    with Live(tmp_path, text) as live:
        live.measured()
        below = list(descendants(live.process.pid))
        assert len(below) >= 3
        live.send(signal.SIGKILL)
        live.end()
    until(lambda: not living(below), "the end of what it had started")


def test_a_secret_in_a_header_is_sent_and_never_written(tmp_path: Path) -> None:
    heads: list[bytes] = []

    def notes(stream: Any, number: int, head: bytes) -> bool:
        heads.append(head)
        stream.sendall(response())
        return True

    with Hostile(notes) as server:
        (tmp_path / "plan.yaml").write_text(
            f"""
target: {{http: {{url: "http://127.0.0.1:{server.port}"}}}}
workload: {{http: {{path: "/${{key}}", headers: {{Authorization: "${{env:LOGIN}}"}},
  parameters: {{key: {{to: 9}}}}}}}}
load: {{clients: 1, warmup: 0s, duration: 200ms, interval: 100ms}}
repeats: 1
monitors: []
"""
        )
        done = loadcell(
            tmp_path, "run", "plan.yaml", "--out", "run", env={"LOGIN": "Bearer quite-9-unguessable"}
        )
    assert done.returncode == 0, done.stderr
    assert any(b"authorization: Bearer quite-9-unguessable" in head for head in heads)
    written = [path for path in (tmp_path / "run").rglob("*") if path.is_file()]
    assert not any(b"quite-9-unguessable" in path.read_bytes() for path in written)


def test_a_service_that_breaks_everything_off_fails_nothing_but_requests(tmp_path: Path) -> None:
    with Hostile(resets) as server:
        (tmp_path / "plan.yaml").write_text(
            f"""
target: {{http: {{url: "http://127.0.0.1:{server.port}"}}}}
workload: {{http: {{}}}}
load: {{clients: 2, warmup: 0s, duration: 300ms, interval: 100ms}}
repeats: 1
monitors: []
"""
        )
        done = loadcell(tmp_path, "run", "plan.yaml", "--out", "run", "--no-report")
    [trial] = trials(tmp_path)
    assert (done.returncode, trial["status"]) == (3, "failed"), done.stderr
    assert trial["reason"].endswith("with reset, Connection reset by peer")
    assert {error["code"] for error in trial["errors"]} == {"reset"}
    assert trial["totals"]["throughput_per_s"] == 0
    assert "reset the connection" in trial["errors"][0]["meaning"]


def test_a_ready_plan_can_be_run(tmp_path: Path) -> None:
    shortened = ("load.duration=200ms", "load.interval=100ms", "load.warmup=0s", "repeats=1", "monitors=[]")
    sets = [word for item in (*shortened, "factors.load.clients=[2, 8]") for word in ("--set", item)]
    done = loadcell(tmp_path, "run", "http-service", *sets, "--out", "run", "--no-report")
    assert done.returncode == 0, done.stderr
    assert [trial["totals"]["errors"] for trial in trials(tmp_path)] == [0, 0]


def test_one_time_out_is_for_all_and_each_group_may_have_its_own(tmp_path: Path) -> None:
    with Hostile(says(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhal")) as server:
        (tmp_path / "plan.yaml").write_text(
            f"""
target: {{http: {{url: "http://127.0.0.1:{server.port}"}}}}
workloads:
  short: {{http: {{}}, load: {{clients: 1, timeout: 50ms}}}}
  long: {{http: {{}}, load: {{clients: 1, timeout: 150ms}}}}
load: {{warmup: 0s, duration: 500ms, interval: 100ms}}
repeats: 1
monitors: []
expect: [long.errors > 0]
"""
        )
        done = loadcell(tmp_path, "run", "plan.yaml", "--out", "run", "--no-report")
    assert done.returncode == 0, done.stderr
    [trial] = trials(tmp_path)
    assert {(error["code"], error["group"]) for error in trial["errors"]} == {
        ("timeout", "short"),
        ("timeout", "long"),
    }
    short, long = (trial["operations"][name]["failed"] for name in ("short", "long"))
    assert short > long >= 1
