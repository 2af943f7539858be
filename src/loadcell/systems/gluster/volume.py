"""A volume of GlusterFS on its hosts: daemons, bricks, mount, and heal."""

from __future__ import annotations

import contextlib
import time
import xml.etree.ElementTree as ET
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from loadcell.linux import mounts
from loadcell.model.message import ForeignText, MessageCode, Seconds
from loadcell.systems.base import TargetError
from loadcell.systems.gluster.command_line import CommandError, CommandLine
from loadcell.systems.gluster.hosts import CLIENT, Hosts, address
from loadcell.systems.gluster.options import GlusterOptions

NOT_MOUNTED = MessageCode("gluster.not-mounted", limit_s=Seconds, output=ForeignText)
BRICK_DOWN = MessageCode("gluster.brick-down", brick=str, limit_s=Seconds)
NOT_HEALED = MessageCode("gluster.not-healed", entries=int, limit_s=Seconds)

NAME = "loadcell"
_DAEMON_LIMIT_S = 60.0
_BRICK_LIMIT_S = 60.0
_MOUNT_LIMIT_S = 60.0
_HEAL_LIMIT_S = 900.0
#: Changes of the pool take well under a second.
_POOL_LIMIT_S = 15.0
_POLL_S = 0.05
#: `GD_FRIEND_STATE_BEFRIENDED` of glusterd: "Peer in Cluster".
_IN_CLUSTER = "3"
_HEAL_POLL_S = 0.5


@dataclass(frozen=True)
class Brick:
    """A directory of a volume: `number` counts from 1, and neighbours are on different hosts."""

    number: int
    host: int
    path: Path

    @property
    def location(self) -> str:
        """As GlusterFS writes it."""
        return f"{address(self.host)}:{self.path}"


class Volume:
    """The volume of `options` on `hosts`, mounted on `mount`. All methods may raise TargetError."""

    def __init__(
        self, options: GlusterOptions, hosts: Hosts, mount: Path, log: Callable[[str], None]
    ) -> None:
        self.options = options
        self.hosts = hosts
        self.mount = mount
        self.command_line = CommandLine(hosts)
        self._log = log
        #: whether a fault changed its bricks: it then has to be made again
        self.changed = False
        #: whether its creation was begun and not finished
        self.incomplete = False
        #: numbers of bricks whose removal was begun, and whether a rebalance was
        self.removing: tuple[int, ...] = ()
        self.rebalanced = False
        self.bricks = self._planned_bricks()

    def _planned_bricks(self) -> tuple[Brick, ...]:
        return tuple(map(self.brick, range(1, self.options.brick_count + 1)))

    def forget(self) -> None:
        """Take it for not made: its hosts and all data have been removed."""
        self.changed = self.rebalanced = self.incomplete = False
        self.removing = ()
        self.bricks = self._planned_bricks()

    def brick(self, number: int) -> Brick:
        """A brick by its number, in the volume or not."""
        host = self.options.host_of(number)
        return Brick(number, host, self.hosts.directory / f"host-{host}" / f"brick-{number}")

    # -- daemons

    def management_processes(self, host: int) -> tuple[int, ...]:
        """The management daemon of a host."""
        return self.hosts.processes(host, "glusterd")

    def brick_processes(self, brick: Brick) -> tuple[int, ...]:
        """The daemon of a brick."""
        return self.hosts.processes(brick.host, "glusterfsd", str(brick.path))

    def client_processes(self) -> tuple[int, ...]:
        """The client that serves the mount."""
        return self.hosts.processes(CLIENT)

    def start_management(self, host: int | None = None) -> None:
        """Start the management daemons that do not run, and wait until they answer."""
        for number in self.hosts.numbers if host is None else (host,):
            if not self.management_processes(number):
                self.hosts.launch(number, ["glusterd", "-N", "--log-level=WARNING"], "glusterd")
        self.command_line.until("pool", "list", limit_s=_DAEMON_LIMIT_S)

    def start_bricks(self) -> None:
        """Start the bricks that do not run, and have them healed."""
        if all(map(self.brick_processes, self.bricks)):
            return
        self.command_line.until("volume", "start", NAME, "force", limit_s=_BRICK_LIMIT_S)
        for brick in self.bricks:
            self._await_brick(brick)
        if self.options.replica > 1:
            with contextlib.suppress(CommandError):  # refused until the heal daemon has connected
                self.command_line.order("volume", "heal", NAME)

    def _await_brick(self, brick: Brick) -> None:
        deadline = time.monotonic() + _BRICK_LIMIT_S
        while not self.brick_processes(brick):
            if time.monotonic() > deadline:
                raise TargetError(BRICK_DOWN(brick=str(brick.number), limit_s=_BRICK_LIMIT_S))
            time.sleep(_POLL_S)

    # -- life

    def make(self) -> None:
        """Make the hosts one pool, and the volume on them, unless an earlier start did."""
        self.start_management()
        if not self._exists():
            self.incomplete = True
            self._make()
            self.incomplete = False
        self.start_bricks()

    def _exists(self) -> bool:
        answer = self.command_line.ask("volume", "list")
        return NAME in [volume.text for volume in answer.iter("volume")]

    def _make(self) -> None:
        for host in self.hosts.numbers[1:]:
            self.command_line.until("peer", "probe", address(host), limit_s=_POOL_LIMIT_S)
            self._await_pool(self.hosts.numbers[:host])
        replica = ("replica", str(self.options.replica)) if self.options.replica > 1 else ()
        places = [brick.location for brick in self.bricks]
        # right after the pool is made, a host may still refuse
        self.command_line.until("volume", "create", NAME, *replica, *places, "force", limit_s=_POOL_LIMIT_S)
        for name, value in self.options.volume_options().items():
            self.command_line.ask("volume", "set", NAME, name, value)
        self.command_line.ask("volume", "start", NAME)
        self._log(f"gluster: made a volume of {len(places)} bricks on {self.hosts.count} hosts")

    def _await_pool(self, hosts: Sequence[int]) -> None:
        """Wait until each of these hosts has all others in its pool.

        A command that changes the pool before that may never be answered, and blocks all later ones.
        """

        def complete(answer: ET.Element) -> bool:
            peers = [(peer.findtext("connected"), peer.findtext("state")) for peer in answer.iter("peer")]
            return len(peers) >= len(hosts) - 1 and set(peers) == {("1", _IN_CLUSTER)}

        for host in hosts:
            self.command_line.until("peer", "status", limit_s=_POOL_LIMIT_S, accept=complete, host=host)

    def mounted(self) -> bool:
        """True if the mount is there and its client lives."""
        return bool(self.client_processes()) and mounts.is_mounted(self.mount)

    def make_mount(self) -> bool:
        """Mount the volume; False if it was mounted."""
        if self.mounted():
            return False
        mounts.detach(self.mount)
        self.mount.mkdir(exist_ok=True, mode=0o755)
        servers = [f"--volfile-server={address(host)}" for host in self.hosts.numbers]
        log = self.hosts.directory / "client.log"
        words = ["glusterfs", "-N", f"--log-file={log}", "--log-level=WARNING", *servers]
        self.hosts.launch(CLIENT, [*words, f"--volfile-id=/{NAME}", str(self.mount)], "client")
        deadline = time.monotonic() + _MOUNT_LIMIT_S
        while not self.mounted():
            if time.monotonic() > deadline:
                raise TargetError(NOT_MOUNTED(limit_s=_MOUNT_LIMIT_S, output=_last_line(log)))
            time.sleep(_POLL_S)
        return True

    def await_client(self) -> None:
        """Wait until the client of the mount is connected to all bricks."""
        self.command_line.until(
            "volume", "status", NAME, "clients", limit_s=_BRICK_LIMIT_S, accept=_connected
        )

    # -- heal

    def entries_to_heal(self) -> int | None:
        """Files and directories whose replicas differ; None while a brick cannot be asked."""
        if self.options.replica == 1:
            return 0
        answer = self.command_line.ask("volume", "heal", NAME, "info", "summary")
        counts = [brick.findtext("totalNumberOfEntries") for brick in answer.iter("brick")]
        try:
            return sum(int(count or "") for count in counts)
        except ValueError:  # "-" of a brick that is not connected
            return None

    def await_heal(self) -> float:
        """Wait until all replicas are equal; how long it took in seconds."""
        began = time.monotonic()
        asked = began
        while True:
            entries = None
            with contextlib.suppress(CommandError):
                entries = self.entries_to_heal()
            now = time.monotonic()
            if entries == 0:
                return now - began
            if now > began + _HEAL_LIMIT_S:
                raise TargetError(NOT_HEALED(entries=entries or 0, limit_s=_HEAL_LIMIT_S))
            if now > asked + 10 * _HEAL_POLL_S:
                asked = now
                with contextlib.suppress(CommandError):
                    self.command_line.order("volume", "heal", NAME)
            time.sleep(_HEAL_POLL_S)


def _connected(status: ET.Element) -> bool:
    """True if each brick has a client on the client's host."""
    client = f"{address(CLIENT)}:"
    bricks = [node for node in status.iter("node") if node.find("clientsStatus") is not None]
    return bool(bricks) and all(
        any((name.text or "").startswith(client) for name in node.iterfind("clientsStatus/client/hostname"))
        for node in bricks
    )


def _last_line(log: Path) -> str:
    with contextlib.suppress(OSError):
        lines = log.read_text(errors="replace").strip().splitlines()
        return lines[-1] if lines else ""
    return ""
