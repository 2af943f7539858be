"""Streams of records on real sockets: what a run says of services that answer well, badly or not at all."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from in_time import in_time
from lines import called
from loadcell.analysis.analyse import analyse
from loadcell.analysis.error_findings import WRONG_ANSWERS
from loadcell.report.build import build
from loadcell.report.render import markdown
from loadcell.store.read import read_run
from stream_servers import (
    StreamServer,
    Swapping,
    answering,
    closing,
    counting,
    deaf,
    dropping,
    inventing,
    repeating,
    saying,
    silent,
    sink,
    stream_server,
)

PLAN = """
target: {stream: {url: "tcp://ADDRESS"SOCKET}}
workload:
  stream:
    fields: {id: {step: 1}, key: {from: 0, to: 99}, amount: {from: 1, to: 1000}}
    size: 100B
    answers: each
    order: all
load: {clients: 1, requests: 20000, warmup: 0s, duration: 20s, timeout: 2s}
repeats: 1
monitors: [host]
"""


def ran(home: Path, server: StreamServer, plan: str = PLAN, *, status: int = 0) -> dict[str, Any]:
    """The record of the only trial."""
    is_path = server.address.startswith("/")
    text = plan.replace("ADDRESS", "localhost:1" if is_path else server.address)
    (home / "plan.yaml").write_text(text.replace("SOCKET", f", socket: {server.address}" if is_path else ""))
    done = called(home, "run", "plan.yaml", "--no-report", "--out", "out")
    assert done.returncode == status, done.stdout + done.stderr
    [path] = (home / "out").glob("trials/*/trial.json")
    record: dict[str, Any] = json.loads(path.read_text())
    return record


def metric(record: dict[str, Any], name: str) -> float:
    return float(record["totals"]["figures"][f"stream.{name}"])


@pytest.mark.parametrize("unix", [False, True], ids=["tcp", "unix"])
def test_every_record_is_answered(tmp_path: Path, unix: bool) -> None:
    with stream_server(answering(), tmp_path / "s" if unix else None) as server:
        record = ran(tmp_path, server)
    assert record["status"] == "ok"
    assert record["totals"]["transactions"]["succeeded"] == len(server.records) == 20_000
    assert {len(line) + 1 for line in server.records} == {100}
    assert [int(line.split(b",")[0]) for line in server.records] == list(range(20_000))
    for name in ("lost", "duplicated", "reordered", "unknown"):
        assert metric(record, name) == 0
    text = markdown.render(build(read_run(tmp_path / "out")))
    assert "## Records" in text
    assert "20,000" in text
    assert "Little" not in text


@pytest.mark.parametrize("count", [1, 7, 50])
@pytest.mark.parametrize(
    ("alter", "name"),
    [(dropping, "lost"), (repeating, "duplicated"), (inventing, "unknown"), (Swapping, "reordered")],
)
def test_exactly_the_wrong_answers_are_counted(alter: Any, name: str, count: int, tmp_path: Path) -> None:
    with stream_server(answering(alter(count))) as server:
        record = ran(tmp_path, server)
    counts = {key: metric(record, key) for key in ("lost", "duplicated", "unknown", "reordered")}
    assert counts == {key: count if key == name else 0 for key in counts}
    failed = record["totals"]["transactions"]["failed"]
    assert failed == (count if name == "lost" else 0)
    stored = read_run(tmp_path / "out")
    codes = [finding.code for finding in analyse(stored.run, stored.trials).findings]
    assert (WRONG_ANSWERS in codes) == (name != "lost")


def test_counts_acknowledge_records(tmp_path: Path) -> None:
    plan = PLAN.replace("answers: each", "answers: count").replace("    order: all\n", "")
    with stream_server(counting()) as server:
        record = ran(tmp_path, server, plan)
    assert record["totals"]["transactions"]["succeeded"] == 20_000


@pytest.mark.parametrize(
    ("serve", "answers", "code"),
    [
        (counting(surplus=10**6), "count", "stream.acknowledged-too-much"),
        (saying(b"9\n3\n"), "count", "stream.decreasing"),
        (saying(b"hello\n"), "count", "stream.garbage"),
        (saying(b"{}\n"), "each", "stream.garbage"),
        (saying(b"! out of memory\n"), "each", "stream.service"),
        (saying(b"! out of memory\n"), "count", "stream.service"),
        (closing(100), "each", "connection"),
        (deaf, "each", "timeout"),
        (silent, "each", "timeout"),
        (sink, "each", "stream.lost"),
    ],
    ids=[
        "too-much",
        "decreasing",
        "garbage",
        "no-number",
        *("reason",) * 2,
        "closing",
        "deaf",
        "silent",
        "sink",
    ],
)
def test_a_service_that_breaks_is_a_clear_failure(
    serve: Any, answers: str, code: str, tmp_path: Path
) -> None:
    plan = PLAN.replace("answers: each", f"answers: {answers}")
    if answers == "count":
        plan = plan.replace("    order: all\n", "")
    with stream_server(serve) as server:
        record = ran(tmp_path, server, plan, status=3)
    assert record["status"] != "ok"
    codes = {error["code"] for error in record["errors"]}
    # all records that were sent may have been answered before the connection was closed
    assert code in codes or (code == "connection" and "all connections to 127.0.0.1" in record["reason"])
    assert record["reason"]
    assert record["advice"]


def test_lines_of_a_file_are_records(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("".join(f"{number},a\n" for number in range(500)))
    plan = PLAN.replace(
        "fields: {id: {step: 1}, key: {from: 0, to: 99}, amount: {from: 1, to: 1000}}\n    size: 100B",
        "file: in.csv\n    repeat: false",
    ).replace("requests: 20000, ", "")
    with stream_server(answering()) as server:
        record = ran(tmp_path, server, plan)
    assert record["totals"]["transactions"]["succeeded"] == 500
    assert server.records == [b"%d,a" % number for number in range(500)]


@pytest.mark.parametrize(
    ("text", "message"),
    [(None, "there is no file"), ("", "the file is empty")],
    ids=["missing", "empty"],
)
def test_a_file_without_records_is_named(text: str | None, message: str, tmp_path: Path) -> None:
    if text is not None:
        (tmp_path / "in.csv").write_text(text)
    with stream_server(answering()) as server:
        done = called(tmp_path, "stream", server.address, "--file", "in.csv", "-d", "1s", "--no-report")
    assert done.returncode in (2, 3)
    assert "in.csv" in done.stderr + done.stdout
    assert message in done.stderr + done.stdout


FILE_PLAN = """
target: {stream: {url: "tcp://ADDRESS"SOCKET}}
workload: {stream: {file: FILE, repeat: false, frame_limit: 50B, answers: each}}
load: {clients: 1, warmup: 0s, duration: 20s, timeout: 2s}
repeats: 1
"""


@pytest.mark.parametrize("by_plan", [False, True], ids=["command", "plan"])
@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("device", "it is a device, not a regular file"),
        ("pipe", "it is a pipe, not a regular file"),
        ("directory", "is a directory"),
    ],
)
def test_what_is_no_file_of_lines_is_refused(kind: str, message: str, by_plan: bool, tmp_path: Path) -> None:
    """A device has no end, and the opening of a pipe would wait for its writer."""
    path = tmp_path / "in"
    if kind == "device":
        path = Path("/dev/zero")
    elif kind == "pipe":
        os.mkfifo(path)
    else:
        path.mkdir()
    with stream_server(answering()) as server, in_time(30.0):
        words = ["stream", server.address, "--file", str(path), "-d", "1s", "--no-report"]
        if by_plan:
            plan = FILE_PLAN.replace("ADDRESS", server.address).replace("SOCKET", "")
            (tmp_path / "plan.yaml").write_text(plan.replace("FILE", str(path)))
            words = ["run", "plan.yaml", "--no-report"]
        done = called(tmp_path, *words)
    assert done.returncode in (2, 3)
    texts = [" ".join(text.split()) for text in (done.stderr, done.stdout)]
    assert max(text.count(message) for text in texts) == 1, texts
    assert all(str(path) in text for text in texts if message in text)
    assert "Traceback" not in "".join(texts)
    assert server.records == []


def test_broken_lines_of_a_file_fail_and_are_not_sent(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text(f"0,a\n1,b,c\n2,a\n3,{'x' * 60}\n4,{'x' * 48}\n")
    with stream_server(answering()) as server:
        record = ran(tmp_path, server, FILE_PLAN.replace("FILE", "in.csv"))
    assert server.records == [b"0,a", b"2,a", b"4," + 48 * b"x"]
    errors = {error["code"]: error["count"] for error in record["errors"]}
    assert errors == {"stream.line": 1, "stream.frame": 1}
    assert record["totals"]["transactions"]["failed"] == 2


def test_a_path_that_is_no_socket_is_named(tmp_path: Path) -> None:
    (tmp_path / "s").write_text("")
    for path, message in (
        (tmp_path / "s", "exists and is not a socket"),
        (tmp_path / ("x" * 120), "too long"),
    ):
        done = called(tmp_path, "stream", str(path), "-d", "1s")
        assert done.returncode == 2
        assert message in done.stderr
        assert "Traceback" not in done.stderr


def test_one_line_of_a_command(tmp_path: Path) -> None:
    with stream_server(answering()) as server:
        done = called(
            tmp_path,
            "stream",
            server.address,
            "-c",
            "2",
            "-n",
            "5000",
            "--answers",
            "each",
            "--no-report",
            "--json",
        )
    assert done.returncode == 0, done.stderr
    assert len(server.records) >= 5_000
    document = json.loads(done.stdout)
    assert document["state"] == "finished"
