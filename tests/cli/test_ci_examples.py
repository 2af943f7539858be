"""The examples for continuous integration: valid for their systems, and their commands measure two states."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from loadcell.report.comparison.summary import MOST_LINES

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples" / "ci"
GITHUB, GITLAB = EXAMPLES / "github-actions.yml", EXAMPLES / "gitlab-ci.yml"
BIN = Path(sys.executable).parent

#: A service that a build makes: it sleeps before each answer.
SERVICE = """\
#!{python}
import sys, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = 4096  # one segment for each answer

    def do_GET(self):
        time.sleep({sleep_s})
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")

    def log_message(self, *_):
        pass

ThreadingHTTPServer(("127.0.0.1", int(sys.argv[2])), Handler).serve_forever()
"""
MAKEFILE = "server: service.py\n\tcp service.py server\n\tchmod +x server\n"


def read(path: Path) -> dict[str, Any]:
    document: dict[str, Any] = YAML(typ="safe").load(path)
    return document


def steps() -> dict[str, dict[str, Any]]:
    """Steps of the workflow by their names."""
    return {step["name"]: step for step in read(GITHUB)["jobs"]["compare"]["steps"] if "name" in step}


def write_state(home: Path, sleep_s: float) -> None:
    """One state of the service: its source, its build, and the plan of the example with short trials."""
    (home / "perf").mkdir(parents=True)
    (home / "service.py").write_text(SERVICE.format(python=sys.executable, sleep_s=sleep_s))
    (home / "Makefile").write_text(MAKEFILE)
    plan = (EXAMPLES / "plan.yaml").read_text()
    plan = plan.replace("warmup: 2s", "warmup: 0s").replace("duration: 10s", "duration: 1s")
    (home / "perf" / "plan.yaml").write_text(plan)


def commit(home: Path) -> str:
    """Make the directory a repository with one commit, whose hash is returned."""
    git = "git -c user.name=me -c user.email=me@example.org"
    return shell(
        f"git init -q && git add -A && {git} commit -qm state && git rev-parse HEAD", home
    ).stdout.strip()


def shell(commands: str, home: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run commands as the runners of both systems do: by bash, which ends at the first failure."""
    return subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", commands],
        cwd=home,
        env={**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}", **environment},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )


@pytest.mark.parametrize(("path", "schema"), [(GITHUB, "github-workflows"), (GITLAB, "gitlab-ci")])
def test_examples_fit_the_published_schemas(path: Path, schema: str, tmp_path: Path) -> None:
    def check(file: Path) -> subprocess.CompletedProcess[str]:
        command = [str(BIN / "check-jsonschema"), "--builtin-schema", f"vendor.{schema}", str(file)]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    assert check(path).returncode == 0, check(path).stdout
    spoiled = tmp_path / path.name
    spoiled.write_text(path.read_text().replace("runs-on:", "run-on:").replace("when: always", "when: ever"))
    assert check(spoiled).returncode == 1


def test_plan_of_the_example_is_valid(tmp_path: Path) -> None:
    write_state(tmp_path, 0)
    assert shell("make", tmp_path).returncode == 0
    done = shell("loadcell check perf/plan.yaml", tmp_path)
    assert done.returncode == 0, done.stderr


def test_both_systems_measure_in_the_same_way() -> None:
    build, measure, compare = read(GITLAB)["performance"]["script"]
    assert measure == steps()["Run both by turns"]["run"]
    assert steps()["Build both states"]["run"] in build
    [command] = [
        part.strip() for part in steps()["Compare"]["run"].splitlines(keepends=False) if "--against" in part
    ]
    assert command in compare


def test_slower_branch_is_reported_and_fails_the_job(tmp_path: Path) -> None:
    write_state(tmp_path / "main", 0)
    write_state(tmp_path / "branch", 0.01)
    commits = {side: commit(tmp_path / side) for side in ("main", "branch")}
    step_summary = tmp_path / "step-summary.md"
    for name in ("Build both states", "Run both by turns"):
        done = shell(steps()[name]["run"], tmp_path, ROUNDS="3")
        assert done.returncode == 0, done.stderr
    done = shell(
        steps()["Compare"]["run"],
        tmp_path,
        REPORT_URL="https://ci.example/runs/7",
        GITHUB_STEP_SUMMARY=str(step_summary),
    )
    assert done.returncode == 1, done.stderr
    for side, expected in commits.items():
        record = json.loads((tmp_path / "results" / f"{side}-1" / "run.json").read_text())
        assert record["labels"]["commit"] == expected
    text = (tmp_path / "summary.md").read_text()
    assert step_summary.read_text() == text
    lines = text.splitlines()
    assert lines[0].startswith("### Slower: throughput -")
    assert len(lines) <= MOST_LINES
    assert lines[-1] == "- [Full report](<https://ci.example/runs/7>)"
    assert "Runs per side: 3, 3." in text
    assert "</html>" in (tmp_path / "comparison.html").read_text()


def test_gitlab_checks_out_both_states(tmp_path: Path) -> None:
    """The first commands of its job, on a repository with two commits."""
    write_state(tmp_path, 0)
    base = commit(tmp_path)
    (tmp_path / "service.py").write_text("other")
    head = commit(tmp_path)
    build = read(GITLAB)["performance"]["script"][0]
    done = shell(build, tmp_path, CI_MERGE_REQUEST_DIFF_BASE_SHA=base, CI_COMMIT_SHA=head)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "branch" / "server").read_text() == "other"
    assert "serve_forever" in (tmp_path / "main" / "server").read_text()
