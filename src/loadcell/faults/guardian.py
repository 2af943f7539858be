"""Guardian of a run's faults: a process in its own session that undoes them when the run has ended without.

    python -m loadcell.faults.guardian JOURNAL

It reads one JSON line per order from standard input and answers each with one: `{"hold": {entry}, "for_s":
SECONDS}` writes the entry to the journal before it answers, so that the fault may be applied; `{"release":
ID}` forgets it. At the end of the input, which the death of the run brings about, and at the end of a lease,
it undoes what it holds, the last first. What cannot be undone stays in the journal.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

from loadcell.faults import journal as journals
from loadcell.faults.base import FaultError
from loadcell.faults.journal import Entry, Journal
from loadcell.linux.process import plain_environment
from loadcell.linux.process_identity import ProcessIdentity
from loadcell.model.json import JsonObject, MismatchError, convert, document
from loadcell.model.message import ForeignText, MessageCode, Seconds

GUARDIAN_SILENT = MessageCode("fault.guardian-silent", error=ForeignText)
GUARDIAN_NO_ANSWER = MessageCode("fault.guardian-no-answer", limit_s=Seconds)

#: Time limit of an answer: it writes a file and flushes it.
_ANSWER_LIMIT_S = 10.0
#: How long the guardian may take to undo everything at the run's end.
_END_LIMIT_S = 30.0
#: Time between two tries to undo a fault whose lease has ended.
_RETRY_S = 5.0
#: Time between two looks at leases while faults are undone.
_LOOK_S = 0.2


class Guardian:
    """The run's side: starts the process when the first fault is held; to be used by one thread at a time."""

    def __init__(self, journal: Journal | None = None) -> None:
        self.journal = journal or Journal()
        self._process: subprocess.Popen[bytes] | None = None
        #: entries, each with the instant at which its lease ends
        self._held: dict[str, tuple[Entry, float]] = {}

    def start(self) -> None:
        """Start the process, or a new one where it was killed, which holds what that one held and nobody
        has undone. Raises FaultError.
        """
        if self._process is not None:
            if self._process.poll() is None:
                return
            self._close_pipes(self._process)
        self._process = subprocess.Popen(
            (sys.executable, "-P", "-m", __name__, str(self.journal.directory)),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=plain_environment(),
            start_new_session=True,
        )
        self._answer()  # it has imported everything
        for entry, end in self._held.values():
            if self.journal.has(entry):
                self._send({"hold": document(entry), "for_s": max(0.0, end - time.monotonic())})

    def hold(self, entry: Entry, lease_s: float) -> Entry:
        """Write the entry to the journal and have the guardian undo it in `lease_s` seconds, or when this
        process ends. Raises FaultError.
        """
        self.start()
        answer = self._send({"hold": document(entry), "for_s": lease_s})
        held = convert(Entry, answer)
        self._held[held.id] = held, time.monotonic() + lease_s
        return held

    def release(self, entry: Entry) -> None:
        """Have the guardian forget a fault that is undone."""
        self._held.pop(entry.id, None)
        with contextlib.suppress(FaultError):
            if self._process is not None and self._process.poll() is None:
                self._send({"release": entry.id})

    def close(self) -> None:
        """End the process; it undoes what it still holds."""
        process, self._process = self._process, None
        if process is None:
            return
        assert process.stdin is not None
        with contextlib.suppress(OSError):
            process.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_END_LIMIT_S)
        self._close_pipes(process)

    @staticmethod
    def _close_pipes(process: subprocess.Popen[bytes]) -> None:
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()

    def _send(self, order: JsonObject) -> JsonObject:
        process = self._process
        assert process is not None
        assert process.stdin is not None
        try:
            process.stdin.write(json.dumps(order).encode() + b"\n")
            process.stdin.flush()
        except OSError as error:
            raise FaultError(GUARDIAN_SILENT(error=error.strerror or str(error))) from error
        return self._answer()

    def _answer(self) -> JsonObject:
        process = self._process
        assert process is not None
        assert process.stdout is not None
        ready, _, _ = select.select([process.stdout], [], [], _ANSWER_LIMIT_S)
        line = process.stdout.readline() if ready else b""
        if not line:
            process.kill()  # a late answer would be taken for that of the next order
            process.wait()
            raise FaultError(GUARDIAN_NO_ANSWER(limit_s=_ANSWER_LIMIT_S))
        answer: JsonObject = json.loads(line)
        if (error := answer.get("error")) is not None:
            raise FaultError(GUARDIAN_SILENT(error=error))
        return answer


class _Leases:
    """Entries that the guardian process holds, each with the instant at which it undoes it.

    Faults are undone in a thread, so that orders are answered meanwhile: an undo may run programs.
    """

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._me = ProcessIdentity.of_this_process()
        self._entries: dict[str, tuple[Entry, float]] = {}
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def wait_s(self) -> float | None:
        """Seconds until the next lease ends; None while nothing is held."""
        with self._lock:
            ends = [end for _, end in self._entries.values()]
        if self._thread is not None and self._thread.is_alive():
            return _LOOK_S
        return max(0.0, min(ends) - time.monotonic()) if ends else None

    def take(self, order: JsonObject) -> JsonObject:
        """Carry out an order; the answer."""
        if "release" in order:
            with self._lock:
                entry, _ = self._entries.pop(str(order["release"]), (None, 0.0))
            if entry is not None:
                self._journal.remove(entry)
            return {}
        try:
            entry = replace(convert(Entry, order["hold"]), guardian=self._me)
            if journals.fault_class(entry) is None:  # imported before it is needed
                return {"error": f"{entry.module}.{entry.name}"}
            self._journal.write(entry)
        except (FaultError, MismatchError, KeyError) as error:
            return {"error": str(error)}
        with self._lock:
            self._entries[entry.id] = (entry, time.monotonic() + float(order.get("for_s", 0.0)))
        return document(entry)

    def undo_expired(self) -> None:
        """Begin to undo the faults whose lease has ended, unless that is under way."""
        if self._thread is None or not self._thread.is_alive():
            self._thread = threading.Thread(target=self._undo, args=(time.monotonic(),))
            self._thread.start()

    def undo_all(self) -> None:
        """Undo all that is held, the last first."""
        if self._thread is not None:
            self._thread.join()
        self._undo(float("inf"))

    def _undo(self, ended_until: float) -> None:
        with self._lock:
            held = [entry for entry, end in self._entries.values() if end <= ended_until]
        for entry in reversed(held):
            is_undone = journals.undo(entry, self._journal, is_holder=True).error is None
            with self._lock:
                if is_undone:
                    self._entries.pop(entry.id, None)
                elif entry.id in self._entries:
                    self._entries[entry.id] = (entry, time.monotonic() + _RETRY_S)


def main(words: list[str]) -> None:
    """The guardian process."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # its end is the end of its input
    os.chdir("/")
    leases = _Leases(Journal(Path(words[0])))
    waiting = b""
    _answer(b"{}")
    while True:
        ready, _, _ = select.select([0], [], [], leases.wait_s())
        if not ready:
            leases.undo_expired()
            continue
        chunk = os.read(0, 1 << 16)
        if not chunk:
            break
        *lines, waiting = (waiting + chunk).split(b"\n")
        for line in lines:
            _answer(json.dumps(leases.take(json.loads(line))).encode())
    leases.undo_all()


def _answer(line: bytes) -> None:
    """Answer the run, which may have been killed."""
    with contextlib.suppress(OSError):
        os.write(1, line + b"\n")


if __name__ == "__main__":
    main(sys.argv[1:])
