"""The hosts of a GlusterFS: namespaces and processes that end together with this process."""

from __future__ import annotations

import contextlib
import json
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path

from loadcell.linux import procfs
from loadcell.linux.network_namespace import NetworkNamespace
from loadcell.linux.process_tree import ProcessRoot, roots, send, tree
from loadcell.model.message import ForeignText, MessageCode, Seconds
from loadcell.systems.base import TargetError
from loadcell.systems.gluster import holder
from loadcell.systems.shared.account import environment
from loadcell.systems.subjects import Interface

HOSTS_NOT_MADE = MessageCode("gluster.hosts-not-made", output=ForeignText)
HOSTS_SILENT = MessageCode("gluster.hosts-silent", limit_s=Seconds)
HOSTS_ENDED = MessageCode("gluster.hosts-ended")

#: First three bytes of the hosts' addresses; no other network namespace sees them.
NETWORK = "10.91.0"
#: The client's host: the network of the bridge, and the mounts of this machine.
CLIENT = 0

_ANSWER_LIMIT_S = 30.0
_STOP_LIMIT_S = 10.0
_KILL_LIMIT_S = 5.0
_POLL_S = 0.02


def address(host: int) -> str:
    """Address of a host on the bridge."""
    return f"{NETWORK}.{host or 254}"


class Hosts:
    """`count` hosts, numbered from 1, whose files are below `directory`; the client mounts on `mount`."""

    def __init__(self, directory: Path, count: int, mount: Path) -> None:
        self.directory = directory
        self.count = count
        self._mount = mount
        self._process: subprocess.Popen[bytes] | None = None
        self._holders: dict[int, ProcessRoot] = {}
        self._orders = threading.Lock()

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def numbers(self) -> range:
        """Numbers of the hosts, without the client's."""
        return range(1, self.count + 1)

    def start(self) -> None:
        """Make the namespaces. Raises TargetError."""
        self.stop()
        self.directory.mkdir(parents=True, exist_ok=True, mode=0o755)
        words = (self.directory, self.count, NETWORK, self._mount)
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", holder.__file__, *map(str, words)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env={**environment(), "PATH": "/usr/sbin:/usr/bin:/sbin:/bin"},
                start_new_session=True,
            )
            ready = self._answer()
        except OSError as error:
            raise TargetError(HOSTS_NOT_MADE(output=error.strerror or str(error))) from error
        except TargetError:
            self.stop()
            raise
        if ready != {}:
            self.stop()
            raise TargetError(HOSTS_NOT_MADE(output=str(ready)))
        self._holders = self._find_holders()

    def stop(self) -> None:
        """End all processes of the hosts, and with them their namespaces."""
        process, self._process = self._process, None
        self._holders = {}
        if process is None:
            return
        assert process.stdin is not None
        assert process.stdout is not None
        with contextlib.suppress(OSError):
            process.stdin.close()
        try:
            process.wait(_STOP_LIMIT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()

    def roots(self) -> list[int]:
        """The process that all processes of all hosts descend from, the client of the mount among them."""
        process = self._process
        return [] if process is None or process.poll() is not None else [process.pid]

    def launch(self, host: int, words: Sequence[str], log: str) -> None:
        """Start a program on a host; its output goes to the file `log` there. Raises TargetError."""
        answer = self._order([host, "start", str(self.directory / f"{log}-{host}.out"), *words])
        if not isinstance(answer, int):
            raise TargetError(HOSTS_NOT_MADE(output=f"{words[0]}: {answer}"))

    def processes(self, host: int, program: str | None = None, word: str | None = None) -> tuple[int, ...]:
        """Processes of a host; those of a program alone, whose command line has `word`."""
        holding = self._holders.get(host)
        if holding is None:
            return ()
        pids = []
        for process in tree((holding,)):
            stat = procfs.process_stat(procfs.ROOT, process.pid)
            if process == holding or stat is None or stat.state == "Z":
                continue
            if program is not None and stat.name != program:
                continue
            if word is None or word in procfs.command_line(process.pid):
                pids.append(process.pid)
        return tuple(pids)

    def holder(self, host: int) -> ProcessRoot:
        """The process that holds a host's namespaces. Raises TargetError."""
        if host not in self._holders or not self.running:
            raise TargetError(HOSTS_ENDED())
        return self._holders[host]

    def interface(self, host: int) -> Interface:
        """The network interface of a host, as the holder names it. Raises TargetError."""
        return Interface(
            NetworkNamespace(self.holder(host)), "eth0", NetworkNamespace(self.holder(CLIENT)), f"host-{host}"
        )

    def inside(self, host: int, words: Sequence[str]) -> list[str]:
        """The command that runs `words` on a host, as a child of this process. Raises TargetError."""
        return ["nsenter", "--target", str(self.holder(host).pid), "--mount", "--net", "--pid", "--", *words]

    @staticmethod
    def end(pids: Sequence[int], number: signal.Signals = signal.SIGTERM) -> None:
        """End processes, at last by SIGKILL, and wait until they have ended."""
        processes = roots(pids)
        steps = ((number, _STOP_LIMIT_S), (signal.SIGKILL, _KILL_LIMIT_S))
        for step, limit_s in steps:
            for process in processes:
                send(process, step)
            deadline = time.monotonic() + limit_s
            while time.monotonic() < deadline:
                if not any(_lives(process) for process in processes):
                    return
                time.sleep(_POLL_S)

    def _find_holders(self) -> dict[int, ProcessRoot]:
        """The process of each host, by the names that the holder gave them."""
        assert self._process is not None
        [init] = procfs.children(procfs.ROOT, self._process.pid)
        holders = {}
        for process in roots(procfs.children(procfs.ROOT, init)):
            stat = procfs.process_stat(procfs.ROOT, process.pid)
            name, _, number = ("" if stat is None else stat.name).partition("-")
            if name == "host" and number.isdigit():
                holders[int(number)] = process
        return holders

    def _order(self, order: list[object]) -> object:
        with self._orders:
            process = self._process
            if process is None or process.poll() is not None:
                raise TargetError(HOSTS_ENDED())
            assert process.stdin is not None
            try:
                process.stdin.write(json.dumps(order).encode() + b"\n")
                process.stdin.flush()
            except OSError as error:
                raise TargetError(HOSTS_ENDED()) from error
            return self._answer()

    def _answer(self) -> object:
        process = self._process
        assert process is not None
        assert process.stdout is not None
        ready, _, _ = select.select([process.stdout], [], [], _ANSWER_LIMIT_S)
        if not ready:
            process.kill()  # a late answer would be taken for that of the next order
            raise TargetError(HOSTS_SILENT(limit_s=_ANSWER_LIMIT_S))
        line = process.stdout.readline()
        if not line:
            raise TargetError(HOSTS_ENDED())
        return json.loads(line)


def _lives(process: ProcessRoot) -> bool:
    stat = procfs.process_stat(procfs.ROOT, process.pid)
    return stat is not None and stat.state != "Z" and procfs.started(process.pid) == process.started
