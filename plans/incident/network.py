"""Incidents of connections, in a network namespace that ends with this script.

Its ephemeral ports, its loopback and its table of connections are its alone, and the host's do not change.
Standard library only; needs root, and for `conntrack-table` the program `nft` (Debian: nftables).
"""

from __future__ import annotations

import random
import socket
import struct
import subprocess
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Final

from rehearsal import Examination, Rehearsal, Steps, private_network

_SYSTEM: Final = Path("/proc/sys/net")
_RULES: Final = """
table ip rehearsal {
  chain output { type filter hook output priority 0; ct state invalid counter drop; }
}
"""
#: linux/netlink.h and linux/netfilter/nfnetlink_conntrack.h.
_NETLINK_NETFILTER: Final = 12
_DELETE_ALL: Final = 1 << 8 | 2
_REQUEST_WITH_ANSWER: Final = 5


def listen_overflow(chance: random.Random, _: Path) -> Steps:
    """Clients of a server that does not accept, beyond its queue."""
    backlog = chance.randint(1, 20)
    private_network()
    with ExitStack() as stack:
        listener = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=backlog))
        for _number in range(backlog + 3):
            client = stack.enter_context(socket.socket())
            client.setblocking(False)
            client.connect_ex(listener.getsockname())
        time.sleep(0.3)
        about = f":{listener.getsockname()[1]} "
        yield Examination(("--live",), f"a queue of {backlog}", about)
        listener.listen(512)
        yield Examination(("--live",), f"a queue of {backlog}", about)


def _limited_network(ports: int) -> None:
    """A network with few ephemeral ports; waiting ones are not used again, as only the loopback does."""
    private_network()
    (_SYSTEM / "ipv4/ip_local_port_range").write_text(f"40000 {40000 + ports - 1}")
    (_SYSTEM / "ipv4/tcp_tw_reuse").write_text("0")


def port_exhaustion(chance: random.Random, _: Path) -> Steps:
    """A client that closes each connection first, so that its port waits for a minute."""
    ports = chance.randint(200, 2000)
    count = round(ports * chance.uniform(0.8, 0.98))
    _limited_network(ports)
    size = f"{count} of {ports} ports"
    with socket.create_server(("127.0.0.1", 0), backlog=512) as listener:
        address = listener.getsockname()
        for _number in range(count):
            client = socket.create_connection(address)
            accepted, _peer = listener.accept()
            client.close()
            accepted.close()
        yield Examination(("--live",), size)
    _limited_network(ports)
    with (
        socket.create_server(("127.0.0.1", 0)) as listener,
        socket.create_connection(listener.getsockname()) as client,
    ):
        accepted, _peer = listener.accept()
        with accepted:
            for _number in range(count):
                client.send(b"request")
                accepted.recv(7)
            yield Examination(("--live",), size)


def conntrack_table(chance: random.Random, _: Path) -> Steps:
    """Tracked datagrams from ever new ports; the kernel counts the table of each namespace alone."""
    limit = int((_SYSTEM / "netfilter/nf_conntrack_max").read_text())
    count = round(limit * chance.uniform(0.83, 0.94))
    private_network()
    subprocess.run(["nft", "-f", "-"], input=_RULES, text=True, check=True, capture_output=True)
    (_SYSTEM / "netfilter/nf_conntrack_udp_timeout").write_text("300")
    per_port, number = 50_000, 0
    while number < count:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
            sender.bind(("127.0.0.1", 0))
            for port in range(1024, 1024 + min(per_port, count - number)):
                sender.sendto(b"", ("127.0.0.2", port))
                number += 1
    size = f"{count} of {limit}"
    yield Examination(("--live",), size)
    forget_connections()
    yield Examination(("--live",), size)


def forget_connections() -> None:
    """Empty the table of connections of this namespace, as `conntrack -F` does. Raises OSError."""
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _NETLINK_NETFILTER) as link:
        family = struct.pack("=BBH", socket.AF_INET, 0, 0)
        link.send(struct.pack("=IHHII", 16 + len(family), _DELETE_ALL, _REQUEST_WITH_ANSWER, 1, 0) + family)
        (error,) = struct.unpack_from("=i", link.recv(4096), 16)
    if error:
        raise OSError(-error, "cannot empty the table of connections")


REHEARSALS: Final = {
    "listen-overflow": Rehearsal("a server that does not accept", "a longer queue", listen_overflow),
    "port-exhaustion": Rehearsal(
        "connections that wait for their end, in a network namespace", "one connection for all requests",
        port_exhaustion,
    ),
    "conntrack-table": Rehearsal(
        "tracked datagrams from ever new ports, in a network namespace", "an emptied table", conntrack_table
    ),
}  # fmt: skip
