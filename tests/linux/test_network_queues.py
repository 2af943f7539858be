"""Queues of interfaces and of listening sockets by netlink, against real sockets and a real `tc`."""

from __future__ import annotations

import json
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from loadcell.linux.listen_queues import SOCKET_DIAGNOSIS, waiting_connections
from loadcell.linux.netlink import NetlinkSocket, network_namespace, open_socket_of
from loadcell.linux.queue_disciplines import read_queues
from truth.bottlenecks.network import shaped_network

ROOT = Path("/")


@pytest.fixture
def diagnosis() -> Iterator[NetlinkSocket]:
    link = NetlinkSocket(SOCKET_DIAGNOSIS)
    yield link
    link.close()


def test_connections_that_nobody_accepts_are_counted(diagnosis: NetlinkSocket) -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=16) as listener:
        port = listener.getsockname()[1]
        assert waiting_connections(diagnosis, (port,)) == 0
        clients = [socket.create_connection(("127.0.0.1", port)) for _ in range(5)]
        assert waiting_connections(diagnosis, (port,)) == 5
        accepted = [listener.accept()[0] for _ in range(2)]
        assert waiting_connections(diagnosis, (port,)) == 3
        for connection in (*clients, *accepted):
            connection.close()
    assert waiting_connections(diagnosis, (port,)) is None, "nobody listens any more"


def test_sockets_of_both_families_count(diagnosis: NetlinkSocket) -> None:
    with socket.create_server(("::1", 0), family=socket.AF_INET6) as listener:
        port = listener.getsockname()[1]
        with socket.create_connection(("::1", port)):
            assert waiting_connections(diagnosis, (port,)) == 1


def test_counters_are_those_of_tc() -> None:
    link = NetlinkSocket(socket.NETLINK_ROUTE)
    before = {queue.interface: queue for queue in read_queues(link)}
    shown = subprocess.run(
        ["/usr/sbin/tc", "-s", "-j", "qdisc", "show"], capture_output=True, text=True, check=True
    )
    after = {queue.interface: queue for queue in read_queues(link)}
    link.close()
    roots = {item["dev"]: item for item in json.loads(shown.stdout) if item.get("root")}
    common = before.keys() & roots.keys() & after.keys()  # others may come and go meanwhile
    assert "lo" in common
    for name in common:
        item = roots[name]
        assert before[name].kind == item["kind"]
        assert before[name].bytes <= item["bytes"] <= after[name].bytes
        assert before[name].dropped <= item["drops"] <= after[name].dropped


def test_a_shaped_link_queues_in_the_namespace_that_sends() -> None:
    """Ten seconds' worth of packets wait before the interface; the other host has its own interfaces."""
    with shaped_network(megabits=1) as network:
        network.redis()
        [process] = network.processes
        other = open_socket_of(ROOT, process.pid, socket.NETLINK_ROUTE)
        assert other is not None
        assert network_namespace(ROOT, process.pid) != network_namespace(ROOT)
        [far] = {queue.interface for queue in read_queues(other)} - {"lo"}
        other.close()
        link = NetlinkSocket(socket.NETLINK_ROUTE)
        assert far not in {queue.interface for queue in read_queues(link)}
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
            for _ in range(40):
                sender.sendto(bytes(1400), (network.address, 9))
        [queue] = [queue for queue in read_queues(link) if queue.kind == "tbf"]
        assert queue.packets > 0
        deadline = time.monotonic() + 10
        while queue.packets and time.monotonic() < deadline:
            time.sleep(0.05)
            [queue] = [queue for queue in read_queues(link) if queue.kind == "tbf"]
        assert queue.packets == 0
        assert queue.overlimits > 0
        link.close()
