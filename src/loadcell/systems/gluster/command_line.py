"""The command line of GlusterFS, run on one of the hosts, always under a time limit."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
import xml.etree.ElementTree as ET
from collections.abc import Callable
from dataclasses import dataclass

from loadcell.model.message import ForeignText, MessageCode, Seconds
from loadcell.systems.base import TargetError
from loadcell.systems.gluster.hosts import Hosts
from loadcell.systems.shared.account import environment

COMMAND_FAILED = MessageCode("gluster.command-failed", command=str, output=ForeignText)
COMMAND_LATE = MessageCode("gluster.command-late", command=str, limit_s=Seconds)
NO_MANAGEMENT = MessageCode("gluster.no-management")

#: Most commands take well under a second; `volume start` waits for its bricks, up to several seconds.
LIMIT_S = 60.0
_PAUSE_S = 0.2
#: Refusals that another attempt may not meet: a command of another program has the lock of the volume.
_LOCKED = ("Another transaction is in progress", "Locking failed")
#: Refusals while the process of a rebalance starts or ends. A change may have been executed in part by then.
_CHANGING = "Glusterd Syncop Mgmt brick op"
#: Commands that may be repeated then.
_REPEATABLE = ("status", "stop")


class CommandError(TargetError):
    """A command that GlusterFS refused, or did not answer in time."""

    def is_temporary(self, *words: str) -> bool:
        """True for a refusal of a command that another attempt may not meet."""
        temporary = (*_LOCKED, _CHANGING) if words[-1] in _REPEATABLE else _LOCKED
        return any(text in self.finding for text in temporary)


@dataclass(frozen=True)
class CommandLine:
    """Commands on the first host whose management daemon runs."""

    hosts: Hosts

    def ask(self, *words: str, limit_s: float = LIMIT_S, host: int | None = None) -> ET.Element:
        """Run `gluster WORDS`; its answer as XML. Raises CommandError, TargetError."""
        title = " ".join(("gluster", *words))
        command = self.hosts.inside(
            self._host() if host is None else host, ["gluster", "--mode=script", "--xml", *words]
        )
        output, _ = run_limited(command, title, limit_s)
        try:
            answer = ET.fromstring(output)  # noqa: S314 - written by a program of this machine
        except ET.ParseError:
            lines = output.strip().splitlines()
            raise CommandError(COMMAND_FAILED(command=title, output=lines[-1] if lines else "-")) from None
        if answer.findtext("opRet") != "0":
            raise CommandError(COMMAND_FAILED(command=title, output=answer.findtext("opErrstr") or "-"))
        return answer

    def ask_again(self, *words: str, limit_s: float = LIMIT_S) -> ET.Element:
        """Run `gluster WORDS`; again after temporary refusals, `limit_s` in all. Raises TargetError."""
        deadline = time.monotonic() + limit_s
        while True:
            try:
                return self.ask(*words, limit_s=max(_PAUSE_S, deadline - time.monotonic()))
            except CommandError as error:
                if not error.is_temporary(*words) or time.monotonic() > deadline:
                    raise
            time.sleep(_PAUSE_S)

    def order(self, *words: str, limit_s: float = LIMIT_S) -> None:
        """Run `gluster WORDS` that has no answer in XML (`volume heal`). Raises CommandError, TargetError."""
        title = " ".join(("gluster", *words))
        command = self.hosts.inside(self._host(), ["gluster", "--mode=script", *words])
        output, status = run_limited(command, title, limit_s)
        if status:
            raise CommandError(COMMAND_FAILED(command=title, output=" ".join(output.split()) or "-"))

    def until(
        self,
        *words: str,
        limit_s: float = LIMIT_S,
        accept: Callable[[ET.Element], bool] = lambda _: True,
        host: int | None = None,
    ) -> ET.Element:
        """Repeat a command until it is not refused and its answer is accepted. Raises CommandError."""
        deadline = time.monotonic() + limit_s
        while True:
            remaining_s = max(1.0, deadline - time.monotonic())
            try:
                answer = self.ask(*words, limit_s=remaining_s, host=host)
                if accept(answer):
                    return answer
                error: TargetError = CommandError(
                    COMMAND_LATE(command=" ".join(("gluster", *words)), limit_s=limit_s)
                )
            except CommandError as refusal:
                error = refusal
            if time.monotonic() > deadline:
                raise error
            time.sleep(_PAUSE_S)

    def _host(self) -> int:
        for host in self.hosts.numbers:
            if self.hosts.processes(host, "glusterd"):
                return host
        raise CommandError(NO_MANAGEMENT())


def run_limited(command: list[str], title: str, limit_s: float) -> tuple[str, int]:
    """Output and exit status of a command. Raises CommandError if it does not end in time."""
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env={**environment(), "PATH": "/usr/sbin:/usr/bin:/sbin:/bin"},
        cwd="/",
        text=True,
        errors="replace",
        start_new_session=True,
    )
    with process:
        try:
            output, _ = process.communicate(timeout=limit_s)
        except subprocess.TimeoutExpired:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            raise CommandError(COMMAND_LATE(command=title, limit_s=limit_s)) from None
    return output, process.returncode
