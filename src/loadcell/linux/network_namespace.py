"""Network namespaces held by a process: programs that change interfaces and packet filters in them."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
from dataclasses import dataclass

from loadcell.linux import procfs
from loadcell.linux.process_tree import ProcessRoot

_PATH = "/usr/sbin:/usr/bin:/sbin:/bin"
_LIMIT_S = 10.0


class NamespaceError(Exception):
    """A program failed in a namespace; the text is its output."""


@dataclass(frozen=True)
class NetworkNamespace:
    """The network namespace of a process, which ends with the last process in it."""

    holder: ProcessRoot

    @property
    def exists(self) -> bool:
        """True while the process lives."""
        return procfs.started(self.holder.pid) == self.holder.started

    def run(self, *words: str, text: str = "") -> str:
        """Run a program in the namespace with `text` as its input; its output. Raises NamespaceError."""
        if not self.exists:
            raise NamespaceError(os.strerror(errno.ESRCH))
        command = ["nsenter", "--target", str(self.holder.pid), "--net", "--", *words]
        try:
            done = subprocess.run(
                command, input=text, capture_output=True, text=True, errors="replace", check=False,
                cwd="/", env={"PATH": _PATH, "LC_ALL": "C"}, timeout=_LIMIT_S,
            )  # fmt: skip
        except (OSError, subprocess.TimeoutExpired) as error:
            raise NamespaceError(str(error)) from error
        if done.returncode != 0:
            lines = (done.stderr or done.stdout).strip().splitlines()
            raise NamespaceError(lines[0] if lines else str(done.returncode))
        return done.stdout


def missing_programs(*names: str) -> list[str]:
    """Programs that this machine does not have, among these and `nsenter`."""
    return [name for name in ("nsenter", *names) if shutil.which(name, path=_PATH) is None]
