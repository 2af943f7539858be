"""Remote mounts of this host: mountinfo, one disposable process each, names of servers, blocked processes."""

from __future__ import annotations

import os
import re
import socket
import threading
import time
from collections.abc import Iterable, Iterator
from typing import ClassVar, Final

from loadcell.incidents.evidence.base import Quote
from loadcell.incidents.evidence.mounts import Mounts, RemoteMount
from loadcell.incidents.live.base import SOURCE, Gatherer, Host
from loadcell.linux import kernel_log, mount_answers, mount_questions, mount_table, procfs
from loadcell.linux.mount_answers import Answer
from loadcell.linux.mount_table import Mount
from loadcell.linux.time_limits import UnavailableError
from loadcell.model.numbers import utc_second
from loadcell.plan.secret_patterns import without_secrets

#: Slightly more than what is critical.
WAIT_S: Final = 5.1
#: Further wait for the address of a server; its lookup began when the mount was late.
_LOOKUP_S: Final = 0.05
#: Wait for a mount from which on other signs are read.
_SIGNS_AFTER_S: Final = 1.0
_SERVER_LINE: Final = re.compile(
    r"nfs4?: server .*(not responding|timed out|OK)|CIFS.*(has not responded|reconnect)|(lib)?ceph.*"
    r"(hung|hunting|timed? ?out|session lost)|blocked for more than \d+ seconds",
    re.IGNORECASE,
)
_MOST_LINES: Final = 20
_MOST_BLOCKED: Final = 8


class MountGatherer(Gatherer):
    name = "mounts"
    gathers = (Mounts,)
    limit_s: ClassVar[float] = 6.2

    def gather(self, host: Host) -> Iterable[Mounts]:
        mounts = [mount for mount in mount_table.read(host.root) if mount.is_remote]
        names, signs = _Names(), _Signs(host)

        def on_wait(answers: dict[str, Answer]) -> None:
            for mount in mounts:
                if mount.device not in answers:
                    names.look_up(mount.server)
            signs.read_when_late()

        answers = mount_answers.ask(_servers_first(mounts), WAIT_S, on_wait)
        points: dict[str, list[str]] = {}
        for mount in mounts:
            points.setdefault(mount.device, []).append(mount.point)
        first_of = {mount.device: mount for mount in reversed(mounts)}
        asked = [mount for mount in mounts if first_of[mount.device] is mount]
        remote, unasked, failed = [], [], []
        for mount in asked:
            if mount.point in answers.by_point or mount.point in answers.silent:
                remote.append(_remote(mount, tuple(points[mount.device]), answers, names))
            elif mount.point in answers.failed:
                failed += points[mount.device]
            else:
                unasked += points[mount.device]
        if answers.silent:
            signs.read()
        yield Mounts(SOURCE, tuple(remote), tuple(unasked), signs.blocked, signs.lines, tuple(failed))


class _Signs:
    """Blocked processes and lines of the kernel, read once, while mounts are waited for."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._begin = time.monotonic()
        self._is_read = False
        self.blocked: tuple[Quote, ...] = ()
        self.lines: tuple[Quote, ...] = ()

    def read_when_late(self) -> None:
        """Read them, if mounts have been waited for long enough for that."""
        if time.monotonic() - self._begin >= _SIGNS_AFTER_S:
            self.read()

    def read(self) -> None:
        """Read them once."""
        if not self._is_read:
            self._is_read = True
            self.blocked, self.lines = tuple(_blocked(self._host)), tuple(_lines(self._host))


def _servers_first(mounts: list[Mount]) -> list[Mount]:
    """One mount of each server before their others: many of one dead server leave places for the rest."""
    ranks: dict[str, int] = {}
    ranked = []
    for mount in mounts:
        server = mount.server or mount.source
        ranks[server] = ranks.get(server, -1) + 1
        ranked.append((ranks[server], mount))
    return [mount for _, mount in sorted(ranked, key=lambda item: item[0])]


def _remote(
    mount: Mount, points: tuple[str, ...], answers: mount_answers.Answers, names: _Names
) -> RemoteMount:
    answer = answers.by_point.get(mount.point)
    return RemoteMount(
        points,
        mount.type,
        without_secrets(mount.source),
        None if answer is None else answer.seconds,
        answers.silent.get(mount.point, 0.0),
        os.strerror(answer.error) if answer is not None and answer.error else "",
        mount.option("addr"),
        () if answer is not None else names.addresses(mount.server),
        mount.server,
    )


class _Names:
    """Addresses of servers, looked up in threads that may hang."""

    def __init__(self) -> None:
        self._threads: dict[str, threading.Thread] = {}
        self._addresses: dict[str, tuple[str, ...]] = {}

    def look_up(self, name: str) -> None:
        """Begin to look up a name; once each."""
        if name and name not in self._threads:
            self._threads[name] = threading.Thread(target=self._look_up, args=(name,), daemon=True)
            self._threads[name].start()

    def addresses(self, name: str) -> tuple[str, ...]:
        """Addresses of a name; none if it has none, or the answer is late."""
        if name in self._threads:
            self._threads[name].join(_LOOKUP_S)
        return self._addresses.get(name, ())

    def _look_up(self, name: str) -> None:
        try:
            rows = socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)
        except OSError:
            return
        self._addresses[name] = tuple(sorted({str(row[4][0]) for row in rows}))


def _blocked(host: Host) -> Iterator[Quote]:
    """Processes in uninterruptible sleep, with the function of the kernel in which they wait."""
    count = 0
    for stat in procfs.all_stats(host.root):
        if stat.state != "D" or stat.name.startswith(mount_questions.PREFIX):
            continue
        wait = procfs.read_small(host.root / f"proc/{stat.pid}/wchan").strip()
        count += 1
        if count <= _MOST_BLOCKED:
            yield Quote(f"/proc/{stat.pid}/stat", 0, f"{stat.name}: state D {wait}".rstrip())


def _lines(host: Host) -> Iterator[Quote]:
    try:
        log = kernel_log.read(host.root)
    except UnavailableError:
        return
    lines = [line for line in log.lines if _SERVER_LINE.search(line.text)]
    for line in lines[-_MOST_LINES:]:
        yield Quote(log.source, 0, f"{utc_second(line.utc_ns)} {without_secrets(line.text)}")


PART = MountGatherer
