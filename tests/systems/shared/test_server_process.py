"""The process of an existing server, by what a real Redis reports of itself."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from loadcell.linux import procfs
from loadcell.model.message import as_written
from loadcell.systems.redis.target import reported_process
from loadcell.systems.shared.server_process import ReportedProcess, identify, listeners
from redis_server import RedisServer


def reported(server: RedisServer) -> ReportedProcess:
    with server.address().session(as_written("ask"), during="test") as client:
        process = reported_process(client.info("server"))
    assert process is not None
    return process


def test_a_server_is_identified_by_its_port_or_its_socket(redis_server: RedisServer) -> None:
    process, socket = reported(redis_server), str(redis_server.root / "s")
    assert listeners(redis_server.port) == listeners(0, socket) == [redis_server.pid]
    without_name = replace(process, program=None, uptime_s=None)
    assert identify(without_name, redis_server.port) == redis_server.pid
    assert identify(without_name, 1, socket) == redis_server.pid


def test_behind_a_forwarded_port_program_and_start_must_agree(redis_server: RedisServer) -> None:
    """The id that a Redis of another machine reports may be that of any process here."""
    process = reported(redis_server)
    assert process.uptime_s is not None
    assert identify(process, 1) == redis_server.pid
    for other in (
        replace(process, program="valkey-server"),
        replace(process, program=None),
        replace(process, uptime_s=process.uptime_s + 3600),
        replace(process, uptime_s=None),
        replace(process, pid=1),
    ):
        assert identify(other, 1) is None


def test_a_server_in_another_pid_namespace_is_identified() -> None:
    """As in a container, it reports the id 1, which here is another process."""
    with RedisServer(prefix=("unshare", "--pid", "--fork", "--kill-child")) as server:
        [child] = procfs.children(Path("/"), server.pid)
        process = reported(server)
        assert process.pid == 1
        assert identify(process, server.port) == child
        assert identify(process, 1) == child
