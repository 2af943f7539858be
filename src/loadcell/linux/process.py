"""Child processes: supervised servers, line readers of their output, death signals, and an environment.

A child of loadcell never outlives it: the kernel sends it a signal when the *thread* that started it ends
(prctl(2), PR_SET_PDEATHSIG), so a supervised process is started by a thread that lives as long as the process
does.

The variables of this process may hold passwords that a plan refers to, and /proc shows them to every process
of the same user: a child that needs no secret gets the other variables only.

A supervised process is the first of a session (setsid(2)), and ends with all that it started. A kernel reuses
the number of a session only after its last process. While the first process lives, its start identifies the
session. After its end the scheduling group does (autogroup, sched(7)): the kernel makes one for each
session, numbers them without reuse, and lets no process choose another. Where a kernel has none, nothing
identifies the processes that outlive their first, and they are left alone.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import json
import os
import queue
import selectors
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from loadcell.linux import launcher, procfs
from loadcell.linux.process_identity import boot_id
from loadcell.model.message import MessageCode

ENDED_STATUS = MessageCode("ended.status", status=str)

#: Numbers of prctl(2): linux/prctl.h.
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
#: How long an interrupted start waits for the thread that carries it out.
_START_LIMIT_S = 5.0
_OUTPUT_PIPE_BYTES = 1 << 20
_LAST_LINES = 200
_READ_BYTES = 1 << 16

#: A signal, how long its effect may take, and the name of that kind of shutdown.
StopStep = tuple[signal.Signals, float, str]
#: Takes a stream's number (1 standard output, 2 standard error) and a line without its end.
OnLine = Callable[[int, str], None]
_SESSION_FILE = "session.json"
#: How long killed processes may take to end.
_END_LIMIT_S = 5.0
_END_POLL_S = 0.02


@dataclass(frozen=True)
class Session:
    """A session by its number, and by what tells it from a later one of that number."""

    number: int
    #: when its first process was started, in ticks since boot
    started: int
    #: scheduling group of its processes; empty if the kernel has none
    group: str

    @staticmethod
    def of(pid: int) -> Session:
        """The session that a living process has just been started in as the first."""
        return Session(pid, procfs.started(pid) or 0, _group(pid))


def remaining_processes(session: Session) -> list[int]:
    """Processes of a session, except zombies."""
    first = procfs.started(session.number)
    if first not in (None, session.started):
        return []
    pids = []
    for pid in procfs.process_ids():
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if os.getsid(pid) != session.number:
                continue
            stat = procfs.process_stat(procfs.ROOT, pid)
            if stat is None or stat.state == "Z":
                continue
            if first is not None or (session.group and _group(pid) == session.group):
                pids.append(pid)
    return pids


def _group(pid: int) -> str:
    """The scheduling group of a process, without its nice value."""
    return procfs.read_small(f"{procfs.ROOT}/proc/{pid}/autogroup").partition(" ")[0]


def end_session(session: Session) -> None:
    """Kill the processes of a session, and wait until they have ended."""
    deadline = time.monotonic() + _END_LIMIT_S
    while pids := remaining_processes(session):
        for pid in pids:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        if time.monotonic() > deadline:
            return
        time.sleep(_END_POLL_S)


def record_session(directory: Path, session: Session) -> None:
    """Write down in a run's work directory which session a program of the run has."""
    facts = {**asdict(session), "boot": boot_id()}
    with contextlib.suppress(OSError):  # it serves only a run that is killed
        (directory / _SESSION_FILE).write_text(json.dumps(facts))


def end_recorded(directory: Path) -> None:
    """End the session that a dead run recorded in a directory, if there is one."""
    try:
        facts = json.loads((directory / _SESSION_FILE).read_text())
        session = Session(int(facts["number"]), int(facts["started"]), str(facts["group"]))
        boot = facts["boot"]
    except (OSError, ValueError, KeyError, TypeError):
        return
    if str(boot).strip() == boot_id():
        end_session(session)


def die_with_parent() -> None:
    """Have this process killed when the thread that started it ends."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def adopt_orphans() -> None:
    """Make this process the parent of every descendant whose own parent ends (a child subreaper)."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def has_ended(process: subprocess.Popen[bytes]) -> bool:
    """Report whether a child has ended, leaving it a zombie, so that its id stays reserved."""
    return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def launch_command(
    program: Sequence[str | Path],
    directory: Path,
    death: signal.Signals,
    *,
    user: Sequence[str] = ("-", "-", ""),
    cpus: str = "",
    memory: str = "",
) -> list[str]:
    """The command that runs `program` in `directory` by `linux/launcher.py`; the signal `death` ends it.

    To be started by the process, and its thread, whose end shall be the program's. `user` are ids of user,
    group and supplementary groups; processors and memory stay as they are where these are empty.
    """
    settings = (str(int(death)), str(os.getpid()), str(directory), cpus or "-", memory or "-")
    return [sys.executable, "-I", "-S", launcher.__file__, *user, *settings, *map(str, program)]


class LineReader:
    """Reads whole lines of a child's standard output and standard error as they arrive.

    With `longest`, a longer line is cut into pieces. With `carriage_returns`, each of these ends a line, too.
    """

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        on_line: OnLine,
        *,
        longest: int | None = None,
        carriage_returns: bool = False,
    ) -> None:
        self._on_line = on_line
        self._longest = longest
        self._carriage_returns = carriage_returns
        self._partial = {1: b"", 2: b""}
        self._pipes = [pipe for pipe in (process.stdout, process.stderr) if pipe is not None]
        self._selector = selectors.DefaultSelector()
        for stream, pipe in ((1, process.stdout), (2, process.stderr)):
            assert pipe is not None
            os.set_blocking(pipe.fileno(), False)
            self._selector.register(pipe, selectors.EVENT_READ, stream)

    @property
    def open(self) -> bool:
        """True until both streams have ended."""
        return bool(self._selector.get_map())

    def read(self, timeout_s: float) -> bool:
        """Pass on the output of the next `timeout_s` seconds; returns False if there was none."""
        ready = self._selector.select(timeout_s)
        for key, _ in ready:
            data = os.read(key.fd, _READ_BYTES)
            if not data:
                self._selector.unregister(key.fileobj)
            self._split(key.data, data, last=not data)
        return bool(ready)

    def close(self) -> None:
        """Pass on unfinished lines and close the streams."""
        for stream in self._partial:
            self._split(stream, b"", last=True)
        for pipe in self._pipes:
            pipe.close()
        self._selector.close()

    def _split(self, stream: int, data: bytes, *, last: bool) -> None:
        text = self._partial[stream] + data
        if self._carriage_returns:
            text = text.replace(b"\r", b"\n")
        *lines, partial = text.split(b"\n")
        if partial and (last or (self._longest is not None and len(partial) > self._longest)):
            lines, partial = [*lines, partial], b""
        self._partial[stream] = partial
        for line in lines:
            self._on_line(stream, line.decode("utf-8", "replace"))


class SupervisedProcess:
    """A long-lived program, one process at a time; `log` takes each line of its output, with its `name`
    before it.

    What it starts ends with it, unless it left the program's session. Its session is recorded in `work`,
    for a later run to end should this one be killed together with the program.
    """

    def __init__(
        self,
        name: str,
        log: Callable[[str], None],
        environment: Mapping[str, str],
        work: Path | None = None,
    ) -> None:
        self.name = name
        self.log = log
        #: the last lines of its output
        self.output: deque[str] = deque(maxlen=_LAST_LINES)
        #: number of lines of all processes so far
        self.lines = 0
        self._environment = environment
        self._work = work
        self._process: subprocess.Popen[bytes] | None = None
        self._session: Session | None = None
        self._thread: threading.Thread | None = None

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process is not None and self.running else None

    @property
    def exit_status(self) -> int | None:
        """Exit status of a process that has ended, or minus the number of the signal that ended it."""
        return self._process.poll() if self._process is not None else None

    def start(self, command: Sequence[str], pass_fds: Sequence[int] = ()) -> None:
        """Start the program, which inherits the descriptors `pass_fds`. Raises OSError."""
        self.output.clear()
        self._process = None
        started: queue.SimpleQueue[subprocess.Popen[bytes] | OSError] = queue.SimpleQueue()
        self._thread = threading.Thread(
            target=self._supervise, args=(command, pass_fds, started), name=f"{self.name}-log", daemon=True
        )
        try:
            self._thread.start()
            process = started.get()
        except BaseException:
            if self._process is None:  # interrupted while the thread was starting it
                with contextlib.suppress(queue.Empty):
                    started.get(timeout=_START_LIMIT_S)
            raise
        if isinstance(process, OSError):
            raise process

    def _supervise(
        self,
        command: Sequence[str],
        pass_fds: Sequence[int],
        started: queue.SimpleQueue[subprocess.Popen[bytes] | OSError],
    ) -> None:
        """Start the process and pass on its output until it ends."""
        try:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                env=self._environment,
                cwd="/",
                pass_fds=pass_fds,
                start_new_session=True,  # Ctrl-C is for loadcell, which then stops the process in its turn
            )
        except OSError as error:
            started.put(error)
            return
        assert process.stdout is not None
        with contextlib.suppress(OSError, AttributeError):
            fcntl.fcntl(process.stdout, fcntl.F_SETPIPE_SZ, _OUTPUT_PIPE_BYTES)
        self._session = Session.of(process.pid)
        if self._work is not None:
            record_session(self._work, self._session)
        self._process = process
        started.put(process)
        with process.stdout as output:
            for raw in output:
                line = raw.decode("utf-8", "replace").rstrip("\n")
                self.output.append(line)
                self.lines += 1
                self.log(f"{self.name}: {line}")
        process.wait()

    def last_output(self) -> list[str]:
        """The last lines of an ended process, complete."""
        if self._thread is not None:
            self._thread.join(timeout=2)
        return list(self.output)

    def output_since(self, lines: int) -> list[str]:
        """The lines after the first `lines`, as far as they are among the last."""
        count = self.lines - lines
        return list(self.output)[-count:] if count > 0 else []

    def stop(self, steps: Sequence[StopStep]) -> bool:
        """Send one signal after the other until the process has ended. Return True if it had to be killed."""
        process = self._process
        killed = False
        if process is not None and process.poll() is None:
            for number, limit_s, kind in steps:
                with contextlib.suppress(ProcessLookupError):
                    process.send_signal(number)
                try:
                    process.wait(limit_s)
                    break
                except subprocess.TimeoutExpired:
                    self.log(f"{self.name} did not end within {limit_s:.0f} s of a {kind} shutdown")
            killed = process.returncode == -signal.SIGKILL
        if process is not None and self._session is not None:
            end_session(self._session)
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(timeout=5)
        self._process = self._thread = None
        return killed


_NAMES = frozenset({
    "PATH", "HOME", "USER", "LOGNAME", "LANG", "LANGUAGE", "TZ", "TMPDIR", "TEMP", "TMP", "VIRTUAL_ENV",
    "LD_LIBRARY_PATH", "LD_PRELOAD", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR",
    "SSL_CERT_FILE", "SSL_CERT_DIR", "DEBUGINFOD_URLS", "LLVM_PROFILE_FILE",
})  # fmt: skip
_BEGINNINGS = ("LC_", "PYTHON", "JAVA_HOME", "JAVA_OPTS", "RUST_BACKTRACE", "COVERAGE_")


def plain_environment() -> dict[str, str]:
    """Variables of this process that a child without a need for secrets gets."""
    return {
        name: value for name, value in os.environ.items() if name in _NAMES or name.startswith(_BEGINNINGS)
    }
