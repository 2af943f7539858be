"""Identity of a process, for readers in other containers and after a reboot.

A process id and a start time are unique within one pid namespace (pid_namespaces(7)) and one boot only. A
reader elsewhere must not conclude from a missing /proc/PID that the process has ended.
"""

from __future__ import annotations

import hashlib
import os
import socket
from dataclasses import dataclass
from pathlib import Path

from loadcell.linux import procfs

_BOOT_ID = Path("proc/sys/kernel/random/boot_id")
#: A secret by its manual page (machine-id(5)): only a digest of it leaves the machine.
_MACHINE_ID = Path("etc/machine-id")
_NAMESPACE = Path("proc/self/ns/pid")
#: The namespace of processes outside all containers: PROC_PID_INIT_INO of include/linux/proc_ns.h.
_INITIAL = "pid:[4026531836]"
#: States of a process that has ended and that its parent has not waited for (proc_pid_stat(5)).
_ENDED_STATES = ("Z", "X")


def boot_id(root: Path = procfs.ROOT) -> str:
    """Identifier of the present boot; empty if the kernel gives none."""
    return procfs.text(root / _BOOT_ID).strip()


@dataclass(frozen=True)
class ProcessIdentity:
    """A process: its id, and its start in ticks since boot, within a boot and a pid namespace of a machine.

    `machine` is a digest of the machine's id, `host` its name. What is not known, or was not recorded, is
    empty.
    """

    pid: int
    started: int
    boot: str = ""
    namespace: str = ""
    machine: str = ""
    host: str = ""

    @staticmethod
    def of_this_process() -> ProcessIdentity:
        pid = os.getpid()
        namespace, machine = _here()
        started = procfs.started(pid) or 0
        return ProcessIdentity(pid, started, boot_id(), namespace, machine, socket.gethostname())

    def is_elsewhere(self) -> bool:
        """True if it was recorded on another machine, or in a container with another name."""
        _, machine = _here()
        recorded = self.machine or self.host
        return bool(recorded) and (self.machine, self.host) != (machine, socket.gethostname())

    def is_of_other_boot(self) -> bool:
        """True if the machine was booted again since then."""
        boot = boot_id()
        return bool(self.boot and boot) and self.boot != boot

    def has_ended(self, *, local: bool = False) -> bool | None:
        """True if the process has ended, False if it lives, None if that cannot be determined here.

        `local`: it was recorded in a place that only this machine can write to.
        """
        namespace, machine = _here()
        boot = boot_id()
        if self.boot and boot and self.boot != boot:
            outside = self.namespace == namespace == _INITIAL
            # virtual machines of one template share its machine id, and containers that of their image
            same_machine = (self.machine, self.host) == (machine, socket.gethostname()) and machine != ""
            return True if local or (outside and same_machine) else None
        recorded = self.boot == boot != "" and self.namespace == namespace != ""
        if recorded or (local and not self.namespace):
            stat = procfs.process_stat(procfs.ROOT, self.pid)
            return stat is None or stat.start != self.started or stat.state in _ENDED_STATES
        return None


def _here() -> tuple[str, str]:
    """Pid namespace of this process, and the machine's digest."""
    try:
        namespace = str((procfs.ROOT / _NAMESPACE).readlink())
    except OSError:
        namespace = ""
    machine = procfs.text(procfs.ROOT / _MACHINE_ID)
    return namespace, hashlib.sha256(f"loadcell {machine}".encode()).hexdigest()[:12] if machine else ""
