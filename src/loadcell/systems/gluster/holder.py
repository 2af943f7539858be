"""Holder of the hosts: the process whose end ends every namespace and process of a GlusterFS.

Run as a script by a bare interpreter, it knows nothing of loadcell:

    python -I -S holder.py DIRECTORY HOSTS NETWORK MOUNT

The process tree, by the names that /proc shows:

    holder             waits; its death kills what follows
      init             first process of a process namespace: its end is the end of all processes in it
        host-0         the client's: the mount namespace of this machine, a network with the bridge
        host-1 ...     a mount namespace with its own /run, /var/lib/glusterd and /var/log/glusterfs, and a
                       network with one interface on the bridge

`init` reads an order per line from standard input, `HOST run|start LOG WORD...` as a JSON list, and answers
each with a line: the exit status of `run`, the process id of `start` in its namespace. At the end of the
input, which the death of its run brings about, it unmounts MOUNT and ends.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import signal
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

#: linux/sched.h, sys/mount.h and linux/prctl.h
_NEW_MOUNTS, _NEW_PIDS, _NEW_NETWORK = 0x20000, 0x20000000, 0x40000000
_BIND, _RECURSIVE, _SLAVE, _DETACH = 0x1000, 0x4000, 1 << 19, 2
_DEATH_SIGNAL, _NAME, _SUBREAPER = 1, 15, 36

_LIBC = ctypes.CDLL(None, use_errno=True)
_READ_BYTES = 1 << 16


def _call(name: str, *arguments: object) -> None:
    """Call a function of the C library. Raises OSError that names it."""
    if getattr(_LIBC, name)(*arguments) < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), name)


def _mount(source: str, target: str | Path, kind: str = "none", flags: int = 0) -> None:
    _call("mount", source.encode(), os.fsencode(target), kind.encode(), ctypes.c_ulong(flags), None)


def _become(name: str) -> None:
    """Set up a process of the tree: its name, its end with its parent, and the adoption of daemons."""
    _call("prctl", _NAME, name.encode(), 0, 0, 0)
    _call("prctl", _DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)
    _call("prctl", _SUBREAPER, 1, 0, 0, 0)
    signal.signal(signal.SIGCHLD, _reap)


def _reap(*_: object) -> None:
    """Collect children that ended, except the one that is waited for."""
    with contextlib.suppress(ChildProcessError):
        while True:
            ended, status = os.waitpid(-1, os.WNOHANG)
            if ended == 0:
                return
            _ended[ended] = os.waitstatus_to_exitcode(status)


#: exit statuses of children that were started by `run`
_ended: dict[int, int] = {}


def _spawn(log: str, words: list[str]) -> int:
    """Start a program whose output goes to the file `log`."""
    append = os.O_WRONLY | os.O_CREAT | os.O_APPEND
    actions = [
        (os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 1, log, append, 0o644),
        (os.POSIX_SPAWN_DUP2, 1, 2),
    ]
    return os.posix_spawnp(words[0], words, os.environ, file_actions=actions, setsigmask=())


def _run(log: str, words: list[str]) -> int:
    """Run a program to its end; its exit status."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
    try:
        _, status = os.waitpid(_spawn(log, words), 0)
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGCHLD})
    return os.waitstatus_to_exitcode(status)


def _execute(line: bytes) -> bytes:
    """Execute an order of this host; the answer."""
    try:
        _, how, log, *words = json.loads(line)
        answer: object = _run(log, words) if how == "run" else _spawn(log, words)
    except OSError as error:
        answer = f"{error.filename or ''}: {error.strerror}"
    return json.dumps(answer).encode() + b"\n"


def _lines(descriptor: int) -> Iterator[bytes]:
    """Lines of a stream until its end."""
    waiting = b""
    while chunk := os.read(descriptor, _READ_BYTES):
        *lines, waiting = (waiting + chunk).split(b"\n")
        yield from lines


def _separate(directory: Path) -> None:
    """Give this process private mounts: what GlusterFS has at fixed paths is below `directory`."""
    _call("unshare", _NEW_MOUNTS | _NEW_NETWORK)
    _mount("none", "/", flags=_SLAVE | _RECURSIVE)
    _drop_foreign_mounts(directory)
    _mount("proc", "/proc", "proc")
    _mount("tmpfs", "/run", "tmpfs")
    for name, path in (("lib", "/var/lib/glusterd"), ("log", "/var/log/glusterfs")):
        (directory / name).mkdir(parents=True, exist_ok=True)
        _mount(str(directory / name), path, flags=_BIND)
    Path("/run/gluster").mkdir()
    for name, text in (("hosts", "127.0.0.1 localhost\n"), ("resolv.conf", "")):
        (directory / name).write_text(text)  # no name server can be reached: each question would wait for one
        _mount(str(directory / name), f"/etc/{name}", flags=_BIND)
    # glusterd runs the module of geo-replication a dozen times before it answers
    stub = directory / "gsyncd"
    stub.write_text("#!/bin/sh\necho gsyncd.py\n")
    stub.chmod(0o755)
    for pattern in ("lib/*/glusterfs/gsyncd", "libexec/glusterfs/gsyncd"):
        for program in Path("/usr").glob(pattern):
            _mount(str(stub), program, flags=_BIND)


def _drop_foreign_mounts(directory: Path) -> None:
    """Unmount file systems of other programs that a copy of their mount would keep alive."""
    for line in Path("/proc/self/mounts").read_text().splitlines():
        source, escaped, kind, *_ = line.split()
        path = Path(escaped.encode().decode("unicode_escape"))
        if (kind.startswith("fuse") or source.startswith("/dev/loop")) and path not in directory.parents:
            with contextlib.suppress(OSError):
                _call("umount2", os.fsencode(path), _DETACH)


def _host(number: int, orders: socket.socket, directory: Path) -> NoReturn:
    """The process of a host: it starts what runs there."""
    _become(f"host-{number}")
    if number:
        _separate(directory / f"host-{number}")
    orders.send(b"{}\n")
    for line in _lines(orders.fileno()):
        orders.sendall(_execute(line))
    os._exit(0)


def _init(directory: Path, hosts: int, network: str, mount: Path) -> NoReturn:
    """The first process of the namespace."""
    _become("init")
    for ending in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(ending, signal.SIG_IGN)  # its end is the end of its input
    _call("unshare", _NEW_NETWORK)
    log = str(directory / "network.log")
    # a fixed address: else that of the bridge changes with each port
    for command in (
        "link add br0 address 02:00:00:00:00:01 type bridge",
        f"addr add {network}.254/24 dev br0",
        "link set lo up",
        "link set br0 up",
    ):
        _network(log, command)
    sides: list[socket.socket] = []
    for number in range(hosts + 1):
        side, other = socket.socketpair()
        pid = os.fork()
        if pid == 0:
            for descriptor in [0, 1, side.fileno(), *(earlier.fileno() for earlier in sides)]:
                os.close(descriptor)
            _host(number, other, directory)
        other.close()
        sides.append(side)
        side.recv(16)
        if number:
            _network(
                log,
                f"link add host-{number} type veth peer name eth0 netns {pid};"
                f"link set host-{number} master br0 up",
            )
            order = [
                "sh",
                "-c",
                f"ip link set lo up; ip addr add {network}.{number}/24 dev eth0; ip link set eth0 up",
            ]
            side.sendall(json.dumps([number, "run", log, *order]).encode() + b"\n")
            side.recv(_READ_BYTES)
    os.write(1, b"{}\n")
    for line in _lines(0):
        side = sides[int(json.loads(line)[0])]
        side.sendall(line + b"\n")
        os.write(1, side.recv(_READ_BYTES))
    with contextlib.suppress(OSError):
        _call("umount2", os.fsencode(mount), _DETACH)
    os._exit(0)


def _network(log: str, commands: str) -> None:
    for command in commands.split(";"):
        status = _run(log, ["ip", *command.split()])
        if status:
            raise OSError(status, Path(log).read_text(), "ip")


def main(words: list[str]) -> None:
    directory, hosts, network, mount = Path(words[0]), int(words[1]), words[2], Path(words[3])
    os.chdir("/")
    _call("unshare", _NEW_PIDS)
    pid = os.fork()
    if pid == 0:
        try:
            _init(directory, hosts, network, mount)
        except OSError as error:
            os.write(1, json.dumps(f"{error.filename}: {error.strerror}").encode() + b"\n")
        os._exit(1)
    os.close(0)
    os.close(1)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    os.waitpid(pid, 0)


if __name__ == "__main__":
    main(sys.argv[1:])
