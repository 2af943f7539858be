"""Incidents of containers, connections and open files, by evidence and on this machine."""

from __future__ import annotations

import os
import resource
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from loadcell.incidents.base import Diagnosis, Healthy, Unseen, examine
from loadcell.incidents.evidence.base import Evidence
from loadcell.incidents.evidence.connections import (
    Connections,
    Destination,
    ListenQueue,
    OpenFiles,
    ProcessFiles,
)
from loadcell.incidents.evidence.containers import ControlGroups, CpuLimit, MemoryLimit
from loadcell.incidents.live.base import Host
from loadcell.incidents.live.connections import ConnectionGatherer
from loadcell.incidents.live.containers import ContainerGatherer
from loadcell.linux import connection_counts, limited_groups

from .test_host_incidents import level, of

GIB = 1 << 30


def cpu(throttled: int, all_throttled: int = 0, periods: int = 100, all_periods: int = 1000) -> ControlGroups:
    limit = CpuLimit("/a", 0.5, periods, throttled, 0.2, all_periods, all_throttled)
    return ControlGroups("host", 1.0, (limit,), ())


def memory(kills: int = 0, reached: int = 0, before: int = 0) -> ControlGroups:
    limit = MemoryLimit("/a", GIB, GIB - 1, before + kills, kills, reached)
    return ControlGroups("host", 1.0, (), (limit,))


def connections(**values: Any) -> Connections:
    defaults: dict[str, Any] = {
        "interval_s": 1.0, "ephemeral_ports": 1000, "destinations": (), "waiting": 0, "dropped": 0,
        "all_dropped": 9,
    }  # fmt: skip
    return Connections("host", **defaults | values)


def used(ports: int) -> Connections:
    return connections(destinations=(Destination("10.0.0.1:5432", ports, ports // 2, "10.0.0.9"),))


def test_without_a_connection_no_address_is_named() -> None:
    (judgement,) = of(connections(), "port-exhaustion")
    assert isinstance(judgement, Healthy)
    assert "no connection has one of the 1,000 ephemeral ports" in judgement.value.text
    assert "–" not in judgement.value.text


def files(count: int, host: int = 10) -> OpenFiles:
    return OpenFiles("host", host, 1000, (ProcessFiles(7, "java", count, 1000),))


@pytest.mark.parametrize(
    ("incident", "evidence", "expected"),
    [
        ("throttled-container", cpu(30), "warning"),
        ("throttled-container", cpu(80, 300), "critical"),
        ("throttled-container", cpu(80, 200), "warning"),  # a burst
        ("throttled-container", cpu(3, 3, periods=4, all_periods=4), "warning"),  # 0.4 s
        ("throttled-container", cpu(9, 230, periods=10, all_periods=240), "warning"),  # of a start
        ("throttled-container", cpu(20), "healthy"),
        ("throttled-container", cpu(3, periods=3), "healthy"),
        ("throttled-container", cpu(0, 300), "note"),
        ("throttled-container", cpu(0, 200), "healthy"),
        ("container-memory", memory(kills=1), "critical"),
        ("container-memory", memory(before=1), "warning"),
        ("container-memory", memory(reached=10), "warning"),
        ("container-memory", memory(reached=8), "healthy"),
        ("port-exhaustion", used(760), "warning"),
        ("port-exhaustion", used(960), "critical"),
        ("port-exhaustion", used(600), "healthy"),
        ("listen-overflow", connections(dropped=1), "warning"),
        ("listen-overflow", connections(dropped=10), "critical"),
        ("listen-overflow", connections(queues=(ListenQueue(80, 129, 128),)), "warning"),
        ("listen-overflow", connections(queues=(ListenQueue(80, 128, 128),)), "healthy"),
        ("open-files", files(810), "warning"),
        ("open-files", files(960), "critical"),
        ("open-files", files(640), "healthy"),
        ("open-files", files(10, host=960), "critical"),
        ("conntrack-table", connections(tracked=81, most_tracked=100), "warning"),
        ("conntrack-table", connections(tracked=95, most_tracked=100), "critical"),
        ("conntrack-table", connections(tracked=64, most_tracked=100), "healthy"),
        ("conntrack-table", connections(), "healthy"),
    ],
)
def test_levels(incident: str, evidence: Evidence, expected: str) -> None:
    assert level(evidence, incident) == expected


def test_the_destination_is_named() -> None:
    (diagnosis,) = [item for item in examine(used(960)) if isinstance(item, Diagnosis)]
    assert "10.0.0.1:5432 have 960 of 1,000 ephemeral ports (96%), 480 of them" in diagnosis.summary.text


def test_connections_are_counted_by_destination(tmp_path: Path) -> None:
    for path in ("proc/net", "proc/sys/net/ipv4", "proc/sys/net/netfilter"):
        (tmp_path / path).mkdir(parents=True)
    (tmp_path / "proc/sys/net/ipv4/ip_local_port_range").write_text("40000\t40009\n")
    (tmp_path / "proc/sys/net/netfilter/nf_conntrack_count").write_text("5\n")
    (tmp_path / "proc/sys/net/netfilter/nf_conntrack_max").write_text("100\n")
    (tmp_path / "proc/net/netstat").write_text("TcpExt: SyncookiesSent ListenOverflows\nTcpExt: 0 61\n")
    row = "   0: 0100007F:{local:04X} 0100007F:{remote:04X} {state} 00000000:00000000 00:00000000\n"
    rows = [row.format(local=40000 + number, remote=5432, state="06") for number in range(6)]
    rows += [
        row.format(local=40006, remote=5432, state="01"),
        row.format(local=5432, remote=40006, state="01"),
    ]
    rows += [row.format(local=80, remote=0, state="0A"), "damaged\n"]
    (tmp_path / "proc/net/tcp").write_text("  sl  local_address\n" + "".join(rows))
    (tmp_path / "proc/net/tcp6").write_text(
        "  sl\n 0: 0000000000000000FFFF00000100007F:9C47 0000000000000000FFFF00000100007F:0050 06 0:0 0\n"
        " 0: 000080FE00000000FF0D020000000001:9C47 000080FE00000000FF0D020000000001:0051 01 0:0 0\n"
    )
    _, seen = ConnectionGatherer().gather(Host(tmp_path, interval_s=0.1))
    assert isinstance(seen, Connections)
    assert seen.ephemeral_ports == 10
    assert seen.destinations[0] == Destination("127.0.0.1:5432", 7, 6, "127.0.0.1")
    assert {item.address for item in seen.destinations[1:]} == {
        "127.0.0.1:80", "[fe80::2:dff:100:0]:81",
    }  # fmt: skip
    assert (seen.waiting, seen.all_dropped, seen.tracked) == (7, 61, 5)


def test_each_local_address_has_its_ports(tmp_path: Path) -> None:
    """Connections of sockets of both families from one address to one destination share ports."""
    for path in ("proc/net", "proc/sys/net/ipv4"):
        (tmp_path / path).mkdir(parents=True)
    (tmp_path / "proc/sys/net/ipv4/ip_local_port_range").write_text("40000\t40009\n")
    row = "   0: 0{host}00007F:{local:04X} 0100007F:1538 01 00000000:00000000 00:00000000\n"
    rows = [row.format(host=host, local=40000 + number) for host in (1, 2) for number in range(4)]
    (tmp_path / "proc/net/tcp").write_text("  sl\n" + "".join(rows))
    mapped = "0000000000000000FFFF0000"
    (tmp_path / "proc/net/tcp6").write_text(
        f"  sl\n 0: {mapped}0200007F:9C47 {mapped}0100007F:1538 06 0:0 0\n"
    )
    _, seen = ConnectionGatherer().gather(Host(tmp_path, interval_s=0.1))
    assert isinstance(seen, Connections)
    assert seen.destinations == (
        Destination("127.0.0.1:5432", 5, 1, "127.0.0.2"),
        Destination("127.0.0.1:5432", 4, 0, "127.0.0.1"),
    )
    assert level(seen, "port-exhaustion") == "healthy"
    (judgement,) = (item for item in examine(seen) if item.incident == "port-exhaustion")
    assert "from 127.0.0.2 to 127.0.0.1:5432" in judgement.value.text  # type: ignore[union-attr]


@pytest.mark.parametrize("text", ["", "TcpExt: SyncookiesSent\nTcpExt: 0\n", "TcpExt: ListenOverflows\n"])
def test_no_counter_of_drops_is_not_zero_drops(tmp_path: Path, text: str) -> None:
    (tmp_path / "proc/net").mkdir(parents=True)
    (tmp_path / "proc/net/netstat").write_text(text)
    assert connection_counts.listen_overflows(tmp_path) is None
    _, seen = ConnectionGatherer().gather(Host(tmp_path, interval_s=0.1))
    (judgement,) = [item for item in examine(seen) if item.incident == "listen-overflow"]
    assert isinstance(judgement, Unseen)
    assert "no counter" in judgement.reason.text
    full = connections(dropped=None, all_dropped=None, queues=(ListenQueue(80, 129, 128),))
    assert level(full, "listen-overflow") == "warning"


def test_a_full_listen_queue_of_this_machine_is_recognised() -> None:
    with ExitStack() as stack:
        server = stack.enter_context(socket.socket())
        server.bind(("127.0.0.1", 0))
        server.listen(1)
        for _ in range(3):
            client = stack.enter_context(socket.socket())
            client.setblocking(False)
            client.connect_ex(server.getsockname())
        time.sleep(0.2)
        _, seen = ConnectionGatherer().gather(Host(interval_s=0.1))
    assert isinstance(seen, Connections)
    (queue,) = [queue for queue in seen.queues if queue.port == server_port(queue, seen)]
    assert queue.is_full
    (diagnosis,) = [item for item in examine(seen) if isinstance(item, Diagnosis)]
    assert diagnosis.incident == "listen-overflow"


def server_port(queue: ListenQueue, seen: Connections) -> int:
    """Port of the fullest queue."""
    return max(seen.queues, key=lambda item: item.length - item.limit).port


def test_a_process_near_its_limit_is_recognised() -> None:
    code = "import os,sys; [os.dup(0) for _ in range(55)]; print(1, flush=True); sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-S", "-c", code],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64)),
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        seen, _ = ConnectionGatherer().gather(Host(interval_s=0.1))
        process.communicate(b"")
    assert isinstance(seen, OpenFiles)
    (near,) = [item for item in seen.processes if item.pid == process.pid]
    assert (near.count, near.limit) == (58, 64)
    assert level(OpenFiles("host", seen.count, seen.limit, (near,)), "open-files") == "warning"


@contextmanager
def group(controller: str, **limits: str) -> Iterator[Path]:
    """A control group of v1 with limits."""
    where = limited_groups.hierarchy(controller)
    if where is None or where.unified:
        pytest.skip("needs root and control groups of v1")
    path = where.directory / f"loadcell-test-{os.getpid()}"
    path.mkdir()
    try:
        for name, value in limits.items():
            (path / f"{controller}.{name}").write_text(value)
        yield path
    finally:
        for _ in range(100):
            try:
                path.rmdir()
            except OSError:
                time.sleep(0.05)
            else:
                break


def entered(path: Path, code: str) -> subprocess.Popen[bytes]:
    """A program in a group."""
    prelude = f"open({str(path / 'cgroup.procs')!r}, 'w').write('0')\n"
    return subprocess.Popen([sys.executable, "-S", "-c", prelude + code])


def seen_group(path: Path) -> ControlGroups:
    (seen,) = ContainerGatherer().gather(Host())
    return ControlGroups(
        "host",
        seen.interval_s,
        tuple(item for item in seen.cpu if item.group.endswith(path.name)),
        tuple(item for item in seen.memory if item.group.endswith(path.name)),
    )


def test_a_throttled_group_of_this_machine_is_recognised() -> None:
    with group("cpu", cfs_quota_us="1000", cfs_period_us="10000") as path:
        process = entered(path, "while True: pass")
        try:
            time.sleep(0.5)
            start = seen_group(path)
            time.sleep(3)
            seen = seen_group(path)
        finally:
            process.kill()
            process.wait()
    assert seen.cpu[0].cores == 0.1
    assert level(start, "throttled-container") == "warning"
    assert level(seen, "throttled-container") == "critical"


def test_a_killed_process_of_a_group_of_this_machine_is_recognised() -> None:
    with group("memory", limit_in_bytes=str(16 << 20)) as path:
        process = entered(path, "x = b'x' * (64 << 20)")
        process.wait()
        seen = seen_group(path)
    assert seen.memory[0].limit_bytes == 16 << 20
    assert level(seen, "container-memory") == "warning"


def test_groups_of_v2_are_read(tmp_path: Path) -> None:
    path = tmp_path / "sys/fs/cgroup/system.slice" / f"docker-{'ab' * 32}.scope"
    path.mkdir(parents=True)
    for name, text in {
        "cpu.max": "50000 100000",
        "cpu.stat": "usage_usec 5\nnr_periods 400\nnr_throttled 150\nthrottled_usec 9",
        "memory.max": "1048576", "memory.current": "1000", "memory.events": "low 0\nmax 7\noom 1\noom_kill 2",
    }.items():  # fmt: skip
        (path / name).write_text(text)
    (seen,) = ContainerGatherer().gather(Host(tmp_path, interval_s=0.05))
    (limit,) = seen.cpu
    assert (limit.group, limit.cores, limit.all_throttled) == (
        "/system.slice/docker-abababababab.scope", 0.5, 150,
    )  # fmt: skip
    assert seen.memory == (MemoryLimit(limit.group, 1048576, 1000, 2, 0, 0),)
