"""Operations of the management plane of GlusterFS, which a probe executes beside the load."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from loadcell.systems.gluster.command_line import COMMAND_FAILED, CommandError, run_limited
from loadcell.systems.gluster.hosts import CLIENT, address
from loadcell.systems.gluster.volume import NAME, Volume

#: Longest answer that is waited for: much more than the second that the slowest operation takes.
LIMIT_S = 8.0
#: Refusals while a fault or a monitor has the lock of the volume.
_LOCKED = "Another transaction is in progress"
_PROBE = "probe"
#: Mounts in a mount namespace of the command alone, so that its end is the end of the mount. The mount
#: appears before the client has the description of the volume: only an answer of its root shows success.
_MOUNT = """\
"$@" & pid=$!
until grep -qs " $LOADCELL_MOUNT " /proc/self/mountinfo
do kill -0 $pid 2>/dev/null || exit 1; sleep 0.02; done
stat "$LOADCELL_MOUNT" >/dev/null; status=$?
umount -l "$LOADCELL_MOUNT"; kill $pid 2>/dev/null; wait $pid 2>/dev/null; exit $status
"""


@dataclass
class ManagementProbe:
    """Operations by name; each raises TargetError where it is refused, or not answered in time."""

    volume: Volume
    #: number of the last volume: the directory of a deleted one cannot be used again
    _number: int = field(init=False, default=0)
    #: numbers of the volumes that exist
    _created: list[int] = field(init=False, default_factory=list)

    @property
    def operations(self) -> Mapping[str, Callable[[], None]]:
        """In the order in which they are executed."""
        return {"status": self._status, "mount": self._mount, "create": self._create, "delete": self._delete}

    def _status(self) -> None:
        try:
            self._ask("status", NAME)
        except CommandError as error:
            if _LOCKED not in error.finding:
                raise

    def _mount(self) -> None:
        hosts = self.volume.hosts
        path = hosts.directory / "probe-mount"
        path.mkdir(exist_ok=True)
        servers = [f"--volfile-server={address(host)}" for host in hosts.numbers]
        mount = ["glusterfs", "-N", "--log-level=NONE", *servers, f"--volfile-id=/{NAME}", str(path)]
        shell = ["env", f"LOADCELL_MOUNT={path}", "sh", "-c", _MOUNT, "sh", *mount]
        command = hosts.inside(CLIENT, ["unshare", "--mount", "--propagation", "private", *shell])
        output, status = run_limited(command, "mount", LIMIT_S)
        if status:
            raise CommandError(COMMAND_FAILED(command="mount", output=output.strip() or "-"))

    def _create(self) -> None:
        """Create a volume of one brick on a host whose management daemon runs."""
        self._number += 1
        host = next((host for host in self.volume.hosts.numbers if self.volume.management_processes(host)), 1)
        path = f"{address(host)}:{self._path(self._number)}"
        self._ask("create", f"{_PROBE}-{self._number}", path, "force")
        self._created.append(self._number)

    def _delete(self) -> None:
        """Delete what was created, also by earlier rounds: no host may be down then."""
        while self._created:
            self._ask("delete", f"{_PROBE}-{self._created[0]}")
            shutil.rmtree(self._path(self._created.pop(0)), ignore_errors=True)

    def _path(self, number: int) -> Path:
        return self.volume.hosts.directory / f"{_PROBE}-{number}"

    def _ask(self, *words: str) -> None:
        self.volume.command_line.ask("volume", *words, limit_s=LIMIT_S)
