"""`loadcell http URL`: the plan of its words, and what it prints of a real nginx."""

from __future__ import annotations

import contextlib
import json
import re
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

import pytest
from rich.cells import cell_len

from execution.live import until
from lines import LOADCELL, CliRunner, called, command, planned, refused
from loadcell.cli import main
from loadcell.model.terminal import WIDTH
from loadcell.store.read import read_run
from servers import die_with_parent, free_port

NGINX = """
daemon off; worker_processes 1; pid {root}/pid; error_log stderr;
events {{ worker_connections 256; }}
http {{
  access_log {root}/log combined; keepalive_requests 100000;
  client_body_temp_path {root}/body; proxy_temp_path {root}/proxy; fastcgi_temp_path {root}/fastcgi;
  uwsgi_temp_path {root}/uwsgi; scgi_temp_path {root}/scgi;
  server {{
    listen 127.0.0.1:{port}; location /get {{ return 200 "value"; }} location /missing {{ return 404; }}
    location /locked {{ return 401; }}
  }}
}}
"""


@pytest.fixture(scope="module")
def nginx() -> Iterator[tuple[str, Path]]:
    """A real nginx: its URL, and its log."""
    port = free_port()
    with tempfile.TemporaryDirectory(prefix="loadcell-test-", dir="/var/tmp") as name:
        root = Path(name)
        (root / "nginx.conf").write_text(NGINX.format(root=root, port=port))
        process = subprocess.Popen(
            ["/usr/sbin/nginx", "-e", "stderr", "-p", name, "-c", f"{name}/nginx.conf"],
            stderr=subprocess.DEVNULL,
            preexec_fn=die_with_parent,
        )
        url = f"http://127.0.0.1:{port}"
        deadline = time.monotonic() + 30
        while True:
            try:
                urlopen(f"{url}/get").close()
                break
            except URLError:
                assert time.monotonic() < deadline, "nginx did not start"
                time.sleep(0.05)
        yield url, root / "log"
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=30)


class TestWords:
    def test_a_url_is_a_target_and_a_path(self) -> None:
        plan = planned(
            "http",
            "https://shop.example:8443/item?id=${id}",
            "-p",
            "id=1..100",
            "-k",
            "--http2",
            "--timeout",
            "5s",
        )
        assert plan["title"] == "GET https://shop.example:8443/item?id=${id}"
        assert plan["target"] == {"http": {"url": "https://shop.example:8443", "tls": {"verify": False}}}
        assert plan["workload"] == {
            "http": {
                "method": "GET",
                "path": "/item?id=${id}",
                "parameters": {"id": {"from": 1, "to": 100}},
                "version": 2,
            }
        }
        assert plan["load"]["timeout"] == "5s"

    def test_streams_are_of_http_2(self) -> None:
        plan = planned("http", "http://x", "--http2", "--streams", "8")
        assert (plan["workload"]["http"]["version"], plan["workload"]["http"]["streams"]) == (2, 8)
        assert "a connection of HTTP/1.1 carries one request at a time" in refused(
            "http", "http://x", "--streams", "8"
        )

    def test_data_are_posted_and_a_scheme_may_be_left_out(self) -> None:
        words = ("--data", "k=${k}", "-H", "Content-Type: text/plain", "-p", "k=a,b", "--no-keep-alive")
        plan = planned("http", "localhost:8080", *words, "--success", "2xx,404")
        assert plan["target"] == {"http": {"url": "http://localhost:8080"}}
        assert plan["workload"]["http"] == {
            "method": "POST",
            "path": "/",
            "headers": {"Content-Type": "text/plain"},
            "body": "k=${k}",
            "parameters": {"k": {"values": ["a", "b"]}},
            "keep_alive": False,
            "success": ["2xx", 404],
        }

    def test_a_body_and_values_may_be_in_files(self, tmp_path: Path) -> None:
        for name in ("order.json", "names"):
            (tmp_path / name).write_text("one\ntwo\n")
        with contextlib.chdir(tmp_path):
            plan = planned("http", "http://x/${n}", "--data", "@order.json", "-p", "n=@names")
        workload = plan["workload"]["http"]
        assert (workload["method"], workload["body"]) == ("POST", {"file": str(tmp_path / "order.json")})
        assert workload["parameters"] == {"n": {"file": str(tmp_path / "names")}}

    def test_a_field_that_is_given_again_is_a_list(self) -> None:
        plan = planned("http", "http://x", "-H", "Accept: a/b", "-H", "X: 1", "-H", "accept: c/d")
        assert plan["workload"]["http"]["headers"] == {"Accept": "a/b, c/d", "X": "1"}

    @pytest.mark.parametrize(
        ("words", "message"),
        [
            (["ftp://x/y"], "'ftp://x/y' is not the URL of an HTTP service. Give http://HOST:PORT/PATH"),
            (["http://:8080/"], "is not the URL of an HTTP service"),
            (["http://me:hidden@x:port/"], "'http://...@x:port/' is not a URL (Port could not be cast"),
            (["http://x", "-H", "Accept"], "--header needs a field such as `Accept: application/json`"),
            (
                ["http://x", "-H", "Host: a", "-H", "host: b"],
                "host is given twice, but a request may have it only once",
            ),
            (["http://x", "-H", "Cookie: a=1", "-H", "Cookie: b=2"], "Cookie is given twice"),
            (["http://x", "-X", "head"], "HTTP methods are written in capital letters: HEAD"),
            (["http://x", "--data", "@/nowhere"], "--data @/nowhere: there is no file '/nowhere'"),
            (["http://x", "-p", "key=@/nowhere"], "--param @/nowhere: there is no file"),
            (
                ["http://x", "-p", "key=1..many"],
                "'1..many' is not a range. Give whole numbers, such as key=1..100000",
            ),
            (["http://x", "-p", "key=-5..5"], "'-5..5' is not a range"),
            (["http://x", "-n", "1k"], "'1k' is not a whole number of at least 1"),
            (["http://x", "-c", "10,many"], "'many' is not a whole number from 1 to 100000"),
            (["http://x", "-p", "key"], "--param key: give NAME=FROM..TO"),
            (["http://x", "-p", "key=9..1"], "numbers need a `to` that is not below `from`"),
            (["http://x", "-p", "key=1..9"], "workload.http.parameters.key: no request uses it"),
            (["http://x/${key}", "-p", "key=1..9"], ""),
            (["http://x/${key}"], "key"),
            (["http://x", "--success", "fine"], "workload.http"),
            (
                ["http://x", "--set", "workload.kv.reads=5%"],
                "found 2 names: http, kv expected: one of http, ",
            ),
        ],
    )
    def test_what_is_wrong_is_reported_and_nothing_is_run(self, words: list[str], message: str) -> None:
        if message:
            assert message in refused("http", *words)
        else:
            assert planned("http", *words)

    def test_secrets_are_not_in_the_plan(self) -> None:
        words = [
            "http",
            "http://me:pw%40x@shop/",
            "-H",
            "X-Api-Key: k1234",
            "-H",
            "Accept: a/b",
            "--save-plan",
            "-",
        ]
        result = CliRunner().invoke(main, words)
        assert result.exit_code == 0, result.output
        for secret in ("k1234", "pw%40x", "pw@x", "bWU6cHdAeA=="):
            assert secret not in result.output
        assert "next time set LOADCELL_X_API_KEY, LOADCELL_AUTHORIZATION" in result.stderr
        for line in (
            "X-Api-Key: ${env:LOADCELL_X_API_KEY}",
            "Authorization: ${env:LOADCELL_AUTHORIZATION}",
            "Accept: a/b",
        ):
            assert line in result.stdout

    def test_a_login_may_be_set_before(self) -> None:
        plan = planned("http", "http://shop/", env={"LOADCELL_AUTHORIZATION": "Bearer 1"})
        assert plan["workload"]["http"]["headers"] == {"Authorization": "${env:LOADCELL_AUTHORIZATION}"}


def test_a_login_on_the_command_line_is_used_and_hidden(tmp_path: Path, nginx: tuple[str, Path]) -> None:
    url, log = nginx
    words = ("-c", "1", "-n", "5", "--warmup", "0s", "--no-report")
    result = command(tmp_path, "http", f"{url.replace('//', '//watcher:s3cr3tword@')}/get", *words)
    assert result.returncode == 0, result.stdout + result.stderr
    assert len([line for line in log.read_text().splitlines() if " - watcher [" in line]) == 5
    texts = [path.read_text(errors="replace") for path in tmp_path.rglob("*") if path.is_file()]
    assert not [text for text in (result.stdout, result.stderr, *texts) if "s3cr3tword" in text]


def test_it_makes_exactly_as_many_requests_as_ab_would(tmp_path: Path, nginx: tuple[str, Path]) -> None:
    url, log = nginx
    words = ("-c", "20", "-n", "1000", "--warmup", "0s", "--timeout", "5s", "--no-report")
    result = command(tmp_path, "http", f"{url}/get?once", *words)
    assert result.returncode == 0, result.stdout + result.stderr
    assert len([line for line in log.read_text().splitlines() if "/get?once" in line]) == 1000
    assert "20 connections on 1 thread; 1,000 requests in" in result.stdout
    assert re.search(r"Throughput +[\d,.]+ +requests/s", result.stdout)
    assert re.search(r"first byte +\d", result.stdout)
    assert all(cell_len(line) <= WIDTH or "results/" in line for line in result.stdout.splitlines())


@pytest.mark.parametrize(
    ("lang", "line"), [("en", "50  http-404  not found"), ("zh", "50  http-404  未找到")]
)
def test_a_status_is_reported_once_and_in_the_readers_language(
    tmp_path: Path, nginx: tuple[str, Path], lang: str, line: str
) -> None:
    words = ("-c", "1", "-n", "50", "--warmup", "0s", "--no-report", "--lang", lang)
    result = called(tmp_path, "http", f"{nginx[0]}/missing", *words)
    assert result.returncode == 3, result.stderr
    assert line in [row.rstrip() for row in result.stdout.splitlines()], result.stdout


def test_without_a_login_the_variable_is_named(tmp_path: Path, nginx: tuple[str, Path]) -> None:
    words = ("-c", "1", "-n", "50", "--warmup", "0s", "--no-report", "-q")
    result = command(tmp_path, "http", f"{nginx[0]}/locked", *words)
    assert result.returncode == 3
    shown = " ".join(result.stdout.split())
    assert "set the environment variable LOADCELL_AUTHORIZATION for loadcell http" in shown


def test_statuses_are_classes_of_errors(tmp_path: Path, nginx: tuple[str, Path]) -> None:
    result = called(
        tmp_path, "http", f"{nginx[0]}/missing", "-c", "2", "-n", "50", "--warmup", "0s", "--no-report"
    )
    assert re.search(r"Failed +50 +100% of those that ended", result.stdout), result.stdout
    assert re.search(r"50 +\S*404", result.stdout), result.stdout


def test_json_is_all_that_there_is_on_standard_output(tmp_path: Path, nginx: tuple[str, Path]) -> None:
    words = ("-c", "2", "-n", "50", "--warmup", "0s", "--no-report", "--json")
    result = command(tmp_path, "http", f"{nginx[0]}/missing", *words)
    document = json.loads(result.stdout)
    assert (document["state"], document["exit_status"], result.returncode) == ("finished", 3, 3)
    [trial] = document["trials"]
    assert (trial["status"], trial["reason_code"]) == ("failed", "nothing-succeeded")
    assert [(error["code"], error["count"], error["meaning"]) for error in trial["errors"]] == [
        ("http-404", 50, "not found")
    ]
    assert trial["totals"]["statuses"] == {"4xx": 50}
    assert trial["operations"]["first_byte"]["succeeded"] == 50
    assert (trial["unit"], trial["totals"]["failed_response"]["count"]) == ("request", 50)
    assert {"name": "counting-identity", "verdict": "ok", "detail": {}} in trial["checks"]
    assert "writing results/http/" in result.stderr


def test_failures_can_be_what_is_wanted(tmp_path: Path, nginx: tuple[str, Path]) -> None:
    words = (
        "-c",
        "2",
        "-n",
        "50",
        "--warmup",
        "0s",
        "--no-report",
        "--json",
        "--set",
        "expect=[errors == 50]",
    )
    result = called(tmp_path, "http", f"{nginx[0]}/missing", *words)
    [trial] = json.loads(result.stdout)["trials"]
    assert (trial["status"], result.returncode) == ("ok", 0), trial["reason"]
    assert [condition["verdict"] for condition in trial["expect"]] == ["met"]


def test_a_run_resumes_with_the_files_that_its_plan_names(tmp_path: Path, nginx: tuple[str, Path]) -> None:
    (tmp_path / "plans").mkdir()
    (tmp_path / "plans" / "words").write_text("one\ntwo\n")
    (tmp_path / "plans" / "files.yaml").write_text(f"""
target: {{http: {{url: "{nginx[0]}"}}}}
workload: {{http: {{path: "/get?${{word}}", body: {{file: words}}, parameters: {{word: {{file: words}}}}}}}}
load: {{clients: 1, requests: 10, duration: 20s, warmup: 0s}}
repeats: 2
monitors: []
""")
    done = called(tmp_path, "run", "plans/files.yaml", "--out", "run", "--no-report", "-q")
    assert done.returncode == 0, done.stderr
    [second] = (tmp_path / "run" / "trials").glob("002-*")
    shutil.rmtree(second)
    again = called(tmp_path, "run", "--resume", "run", "--no-report", "-q")
    assert again.returncode == 0, again.stderr
    assert [trial.status for trial in read_run(tmp_path / "run").trials] == ["ok", "ok"]
    (tmp_path / "plans" / "words").unlink()
    refused = called(tmp_path, "check", "plans/files.yaml")
    assert refused.returncode == 2
    assert "workload.http.body: the file " in refused.stderr
    assert "expected: text" not in refused.stderr


def test_ctrl_c_shows_what_was_measured_until_then(tmp_path: Path, nginx: tuple[str, Path]) -> None:
    url, log = nginx
    before = log.stat().st_size
    words = [
        LOADCELL,
        "http",
        f"{url}/get",
        "-c",
        "1",
        "-d",
        "10min",
        "--rate",
        "200/s",
        "--warmup",
        "0s",
        "-q",
    ]
    running = subprocess.Popen(
        words,
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        stdin=subprocess.DEVNULL,
    )
    try:
        until(lambda: log.stat().st_size > before + 2000, "requests")
        running.send_signal(signal.SIGINT)
        output, complaints = running.communicate(timeout=90)
    finally:
        running.kill()
    assert re.search(r"Throughput +[\d.,]+ +requests/s", output)
    assert "aborted: the run was interrupted" in output
    [path] = (tmp_path / "results" / "http").iterdir()
    again = f"Interrupted. Resume with: loadcell run --resume {path.relative_to(tmp_path)}"
    lines = [
        line for line in complaints.splitlines() if not line.startswith("another loadcell run is active")
    ]
    assert (running.returncode, lines) == (130, [again])
    [trial] = read_run(path).trials
    done = log.read_bytes()[before:].count(b"GET /get")
    assert 0 < trial.totals.transactions.succeeded <= done
    assert not (path / "report.html").exists()
