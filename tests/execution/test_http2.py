"""HTTP/1.1 and HTTP/2 in one plan, on a real server, against the server's own log."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

from engine.test_own_certificate_postgres import self_signed
from execution.live import loadcell
from http2_servers import Nginx
from loadcell.report import write

PLAN = """
target: {{http: {{url: "https://127.0.0.1:{port}", tls: {{ca: "{ca}"}}}}}}
workload: {{http: {{path: /, check: {{equals: hello}}}}}}
load: {{clients: 3, warmup: 0s, duration: 300ms, interval: 100ms}}
factors: {{workload.http.version: [1.1, 2]}}
repeats: 1
monitors: []
expect: [errors == 0]
"""


def test_versions_can_be_compared_and_counts_are_the_servers(tmp_path: Path) -> None:
    certificate = self_signed(tmp_path, "server", "subjectAltName=IP:127.0.0.1")
    lines = f"ssl_certificate {certificate}; ssl_certificate_key {certificate.with_suffix('.key')};"
    with Nginx(tmp_path / "nginx", listen="ssl http2", lines=lines) as server:
        (tmp_path / "plan.yaml").write_text(PLAN.format(port=server.port, ca=certificate))
        done = loadcell(tmp_path, "run", "plan.yaml", "--out", "run", "--no-report")
        assert done.returncode == 0, done.stdout + done.stderr
        made = {}
        for path in sorted((tmp_path / "run" / "trials").glob("*/trial.json")):
            trial = json.loads(path.read_text())
            assert trial["status"] == "ok", trial["reason"]
            made[f"HTTP/{trial['values']['workload.http.version']:.1f}"] = trial["lifetime"]["transactions"]
        log = server.log(sum(made.values()))
    assert made.keys() == {"HTTP/1.1", "HTTP/2.0"}
    assert Counter(line for line in log if " GET " in line) == {
        f"200 {version} GET /index.html": count for version, count in made.items()
    }


STREAMS = """
target: {{http: {{url: "http://127.0.0.1:{port}"}}}}
workload: {{http: {{path: /, version: 2}}}}
load: {{clients: 2, warmup: 0s, duration: 300ms, interval: 100ms}}
factors: {{workload.http.streams: [1, 8]}}
repeats: 1
monitors: []
expect: [errors == 0]
"""


def test_streams_are_requests_at_once_and_little_s_law_knows_of_them(tmp_path: Path) -> None:
    with Nginx(tmp_path / "nginx") as server:
        (tmp_path / "plan.yaml").write_text(STREAMS.format(port=server.port))
        done = loadcell(tmp_path, "run", "plan.yaml", "--out", "run", "--no-report")
        assert done.returncode == 0, done.stdout + done.stderr
        trials = [
            json.loads(path.read_text())
            for path in sorted((tmp_path / "run" / "trials").glob("*/trial.json"))
        ]
        made = sum(trial["lifetime"]["transactions"] for trial in trials)
        assert len(server.log(made)) == made
    for trial in trials:
        assert trial["status"] == "ok", trial["reason"]
        streams = trial["values"]["workload.http.streams"]
        [law] = [check for check in trial["checks"] if check["name"] == "littles-law"]
        assert law["verdict"] == "ok", law
        # As many are in progress as there may be, but for the moments at a connection's beginning.
        assert streams / 2 < 1 + law["detail"]["difference"] <= streams * (1 + law["detail"]["tolerance"])


def test_a_server_that_takes_fewer_at_once_is_remarked_on_in_both_languages(tmp_path: Path) -> None:
    with Nginx(tmp_path / "nginx", lines="http2_max_concurrent_streams 3;") as server:
        plan = STREAMS.format(port=server.port).replace("[1, 8]", "[2, 8]").replace("300ms", "100ms")
        (tmp_path / "plan.yaml").write_text(plan)
        done = loadcell(tmp_path, "run", "plan.yaml", "--out", "run", "--no-report")
        assert done.returncode == 0, done.stdout + done.stderr
    remarks = {}
    for path in (tmp_path / "run" / "trials").glob("*/trial.json"):
        trial = json.loads(path.read_text())
        checks = [check for check in trial["checks"] if check["name"] == "streams"]
        remarks[trial["values"]["workload.http.streams"]] = checks
    assert remarks[2] == []
    [remark] = remarks[8]
    assert (remark["verdict"], remark["detail"]) == ("noticed", {"asked_for": 8, "taken": 3})
    for language, words in (("en", "accepted fewer concurrent requests"), ("zh", "接受的并发请求数少于")):
        [page] = write(tmp_path / "run", language, ["html"], tmp_path / f"{language}.html")
        assert words in page.read_text(encoding="utf-8")
