"""`loadcell doctor --live`: incidents of this host."""

from __future__ import annotations

import platform
import sys
import time
from dataclasses import replace
from typing import Final

from loadcell import lazy
from loadcell.cli import display, language, messages
from loadcell.incidents.base import registered
from loadcell.incidents.examination import Examination, examination
from loadcell.incidents.live import named_process, run_processes
from loadcell.incidents.live.base import Host
from loadcell.incidents.live.gathering import gather
from loadcell.model import catalogue
from loadcell.report.doctor import document

#: Time after which waiting is shown.
_SHOWN_AFTER_S: Final = 1.5
#: Topics that the line names.
_MOST_NAMED: Final = 4


def _prepare() -> None:
    """Load what the examination and its result need."""
    registered()
    lazy.load(language, document, catalogue)
    catalogue.texts()


def live(pid: int | None, timeout_s: float | None = None) -> Examination:
    """The examination of this host, with the JVM of a process and the timeout of its clients.

    Raises NamedProcessError.
    """
    if pid is not None:
        named_process.check(pid, needs_jvm=True)
    begin = time.monotonic()
    is_shown = sys.stderr.isatty() and not display.is_quiet()
    shown = ""

    def on_wait(names: list[str]) -> None:
        nonlocal shown
        if not is_shown or time.monotonic() - begin < _SHOWN_AFTER_S or not names:
            return
        text = language.written(messages.DOCTOR_WAITING(names=names[:_MOST_NAMED]))
        sys.stderr.write("\r" + text + " " * max(0, len(shown) - len(text)))
        sys.stderr.flush()
        shown = text

    try:
        gathered = gather(
            Host(pid=pid, timeout_ns=None if timeout_s is None else round(timeout_s * 1e9)),
            on_wait=on_wait,
            meanwhile=_prepare,
        )
    finally:
        if shown:
            sys.stderr.write("\r" + " " * 2 * len(shown) + "\r")
    examined = examination(platform.node(), gathered.evidence, gathered.missing)
    pids = [item.process for item in gathered.evidence if item.process is not None]
    of_run = frozenset(pids) if pid is not None else run_processes.of_run(pids)
    return replace(examined, utc_ns=time.time_ns(), of_run=of_run, named=pid)
