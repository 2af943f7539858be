"""`loadcell host --serve`: what it says when it listens, and when it cannot."""

from __future__ import annotations

import signal
import socket
import subprocess
from pathlib import Path

import pytest

from execution.live import LOADCELL
from lines import CliRunner
from loadcell.cli.host import host
from loadcell.systems.host.probe_server import ServeError, complete_address, welcome


def test_it_says_where_it_listens_what_to_type_and_what_it_served(tmp_path: Path) -> None:
    server = subprocess.Popen(
        [LOADCELL, "host", "--serve", "127.0.0.1:0"], cwd=tmp_path, text=True, stdout=subprocess.PIPE
    )
    assert server.stdout is not None
    first, second, third = (server.stdout.readline() for _ in range(3))
    server.send_signal(signal.SIGINT)
    summary, _ = server.communicate(timeout=60)
    address = first.removeprefix("Listening on ").split(",")[0]
    assert address.startswith("127.0.0.1:")
    assert "for this machine only" in first
    assert second.startswith(f"Here:  loadcell host --baseline --peer {address} --only probe=network-rr,")
    assert third == f"With your plan:  loadcell run PLAN --set target.host.peer={address}\n"
    assert (server.returncode, summary) == (0, "Served 0 connections: 0 requests, 0 bytes of streams.\n")


def test_for_others_it_says_so() -> None:
    assert "peer=10.0.0.5:7733" in welcome("10.0.0.5:7733").text
    assert (
        "loadcell host --baseline --peer 10.0.0.5:7733 --only probe=network-rr"
        in welcome("10.0.0.5:7733").text
    )
    assert f"peer={socket.gethostname()}:7733" in welcome("0.0.0.0:7733").text
    assert "whoever can reach it" in welcome("[::]:7733").text


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("127.0.0.1", "127.0.0.1:7733"), ("10.0.0.5:80", "10.0.0.5:80"), (":9000", "127.0.0.1:9000"),
        ("::1", "[::1]:7733"), ("[::1]", "[::1]:7733"), ("[::1]:99", "[::1]:99"),
        ("db.example", "db.example:7733"),
    ],
)  # fmt: skip
def test_omitted_parts_are_filled_in(written: str, meant: str) -> None:
    assert complete_address(written) == meant


@pytest.mark.parametrize("written", ["10.0.0.5:http", "10.0.0.5:70000", "10.0.0.5:", "a:b:c"])
def test_what_is_no_address_is_refused(written: str) -> None:
    with pytest.raises(ServeError, match="is not an address to listen on"):
        complete_address(written)


def test_a_place_that_is_taken_is_one_line() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        result = CliRunner().invoke(host, ["--serve", f"127.0.0.1:{taken.getsockname()[1]}"])
    assert result.exit_code == 1
    assert "Address already in use; the port is in use" in result.output
    assert len(result.output.splitlines()) == 1
