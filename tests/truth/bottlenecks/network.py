"""A network of two hosts on this machine (network namespaces) with a limited rate between them."""

from __future__ import annotations

import os
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from redis_server import debian_redis
from servers import die_with_parent

#: One for each process, for tests side by side.
_SUBNET = f"10.213.{os.getpid() % 250}"
_PORT = 6399
_START_LIMIT_S = 30


@dataclass
class ShapedNetwork:
    """`address` is the other host's; servers started there end with the network."""

    name: str
    address: str
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def redis(self) -> int:
        """Start a Redis on the other host and return its port; its password is `secret`."""
        home = tempfile.gettempdir()
        command = [str(debian_redis()), "--port", str(_PORT), "--bind", self.address, "--save", ""]
        command += ["--dir", home, "--requirepass", "secret"]
        self.processes.append(
            subprocess.Popen(
                ["/usr/sbin/ip", "netns", "exec", self.name, *command],
                stdout=subprocess.DEVNULL, preexec_fn=die_with_parent,
            )
        )  # fmt: skip
        deadline = time.monotonic() + _START_LIMIT_S
        while True:
            try:
                socket.create_connection((self.address, _PORT), timeout=1).close()
            except OSError:
                assert time.monotonic() < deadline, "Redis did not start on the other host"
                time.sleep(0.05)
            else:
                return _PORT


@contextmanager
def shaped_network(megabits: int) -> Iterator[ShapedNetwork]:
    """Requests leave this host at a limited rate in Mbit/s (tbf). Needs root."""
    name = f"loadcell-test-{os.getpid()}"
    near, far = f"lct{os.getpid() % 100000}a", f"lct{os.getpid() % 100000}b"
    network = ShapedNetwork(name, f"{_SUBNET}.2")
    try:
        for words in (
            f"ip netns add {name}",
            f"ip link add {near} type veth peer name {far} netns {name}",
            f"ip addr add {_SUBNET}.1/24 dev {near}",
            f"ip link set {near} up",
            f"ip -n {name} addr add {_SUBNET}.2/24 dev {far}",
            f"ip -n {name} link set {far} up",
            f"ip -n {name} link set lo up",
            f"tc qdisc add dev {near} root tbf rate {megabits}mbit burst 32kb latency 400ms",
        ):
            program, *arguments = words.split()
            subprocess.run([f"/usr/sbin/{program}", *arguments], check=True, capture_output=True)
        yield network
    finally:
        for process in network.processes:
            process.kill()
            process.wait()
        for words in (f"ip link del {near}", f"ip netns del {name}"):
            program, *arguments = words.split()
            subprocess.run([f"/usr/sbin/{program}", *arguments], check=False, capture_output=True)
