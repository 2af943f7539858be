"""Connections and open files of this host."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterable, Iterator
from typing import Final

from loadcell.incidents.evidence.connections import (
    Connections,
    Destination,
    ListenQueue,
    OpenFiles,
    ProcessFiles,
)
from loadcell.incidents.live.base import SOURCE, Gatherer, Host
from loadcell.linux import connection_counts, listen_queues, netlink, procfs
from loadcell.linux.host_counters import difference
from loadcell.linux.procfs import read_number

_LIMIT: Final = re.compile(r"^Max open files +(\d+)", re.MULTILINE)
_CONNTRACK: Final = "proc/sys/net/netfilter/nf_conntrack"
#: Processes that evidence has, the nearest to their limit first.
_MOST_PROCESSES: Final = 20


class ConnectionGatherer(Gatherer):
    name = "connections"
    gathers = (OpenFiles, Connections)

    def gather(self, host: Host) -> Iterable[OpenFiles | Connections]:
        before, begin = connection_counts.listen_overflows(host.root), time.monotonic()
        yield _open_files(host)
        ports = connection_counts.ephemeral_ports(host.root)
        counts = connection_counts.count(host.root, ports)
        time.sleep(max(0.0, host.interval_s - (time.monotonic() - begin)))
        now = connection_counts.listen_overflows(host.root)
        yield Connections(
            SOURCE,
            time.monotonic() - begin,
            len(ports),
            tuple(
                Destination(pair[1], used, counts.waiting[pair], pair[0])
                for pair, used in counts.used.items()
            ),
            counts.all_waiting,
            None if before is None or now is None else difference(before, now),
            now,
            tuple(_queues(host)),
            read_number(host.root / f"{_CONNTRACK}_count"),
            read_number(host.root / f"{_CONNTRACK}_max"),
        )


def _queues(host: Host) -> Iterator[ListenQueue]:
    link = netlink.open_socket(listen_queues.SOCKET_DIAGNOSIS) if host.root == procfs.ROOT else None
    if link is None:
        return
    try:
        for port, length, limit in listen_queues.queues(link):
            yield ListenQueue(port, length, limit)
    except OSError:  # a kernel without it
        return
    finally:
        link.close()


def _open_files(host: Host) -> OpenFiles:
    words = procfs.read_small(host.root / "proc/sys/fs/file-nr").split()
    processes: list[ProcessFiles] = []
    hidden = 0
    for pid in procfs.process_ids(host.root):
        try:
            count = _count(f"{host.root}/proc/{pid}/fd")
        except PermissionError:
            hidden += 1
            continue
        except OSError:
            continue
        limit = _LIMIT.search(procfs.read_small(f"{host.root}/proc/{pid}/limits"))
        if limit is not None and count:
            name = (procfs.line(host.root / f"proc/{pid}/comm")) or "–"
            processes.append(ProcessFiles(pid, name, count, int(limit[1])))
    processes.sort(key=lambda process: -process.share)
    allocated, most = (int(words[0]), int(words[2])) if len(words) == 3 else (0, 0)
    return OpenFiles(SOURCE, allocated, most, tuple(processes[:_MOST_PROCESSES]), hidden)


def _count(path: str) -> int:
    """Open files of a process; since Linux 6.2 the size of the directory is their number."""
    if not os.access(path, os.R_OK):
        raise PermissionError(path)
    return os.stat(path).st_size or len(os.listdir(path))  # noqa: PTH116, PTH208 - for each process


PART = ConnectionGatherer
