"""Where a target's processes spend their time on the CPU: stacks sampled while one trial measures, folded and
drawn.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from loadcell import _engine
from loadcell.linux.procfs import command_line, tree
from loadcell.model.trial_record import ProfileRecord
from loadcell.plan.profile import CpuProfile
from loadcell.profilers.perf import GoneError, Perf
from loadcell.store.layout import FLAMES, FOLDED
from loadcell.store.write import TrialWriter

_ROLE_LENGTH = 80
#: How often to attach when a process ends just then.
_ATTEMPTS = 5
#: of threads that all do the same: `load-3`
_NUMBERED = re.compile(r"-\d+$")
#: `server-4711;...`: the outermost frame as the engine folds it
_OUTERMOST = re.compile(r"^(?P<name>[^;]*)-(?P<pid>\d+)(?P<rest>[; ].*)$")


@dataclass
class CpuSampler:
    """Samples one trial, in a directory under `work` that is gone afterwards."""

    options: CpuProfile
    work: Path
    root: Path = Path("/")
    process_kind: Callable[[str], str] = str
    _home: tempfile.TemporaryDirectory[str] | None = None
    _perf: Perf | None = None
    _roots: list[int] = field(default_factory=list)
    _window: list[int] = field(default_factory=list)
    _roles: dict[int, str] = field(default_factory=dict)
    _by_thread: bool = False

    def attach(self, roots: list[int], *, by_thread: bool = False) -> None:
        """Get ready to sample the trees of these processes. Raises ProfilerError.

        `by_thread`: its processes are distinguished by the names of their threads.
        """
        self._roots, self._by_thread = roots, by_thread
        self._home = tempfile.TemporaryDirectory(prefix="profile-", dir=self.work)
        for attempts_left in reversed(range(_ATTEMPTS)):
            options, pids = self.options, tree(self.root, roots)
            self._perf = Perf(Path(self._home.name), pids, options.frequency, options.call_graph)
            try:
                self._perf.attach()
                return
            except GoneError:  # such as a worker that had nothing to do any more
                self._perf.end()
                if not attempts_left:
                    raise

    def phase(self, name: str, mono_ns: int) -> None:
        """The load entered this phase at this time; of the samples, those of `measure` are kept."""
        if name in ("measure", "drain"):
            self._window.append(mono_ns)
            self._look()

    def end(self) -> None:
        """Let go of the target, whatever happened."""
        if self._perf is not None:
            self._perf.end()

    def collect(self, writer: TrialWriter, title: str, log: Callable[[str], None]) -> ProfileRecord:
        """Fold and draw what was sampled into the trial's directory; returns the account of it.

        Raises ProfilerError.
        """
        assert self._perf is not None
        script, event = self._perf.script(*self._window)
        folded = "".join(f"{line}\n" for line in named(_engine.fold_stacks(script), self._roles))
        samples = sum(int(line.rpartition(" ")[2]) for line in folded.splitlines())
        profile = ProfileRecord(
            kind="cpu",
            tool=self._perf.version(),
            event=event or "",
            samples=samples,
            processes=len(self._roots if self._by_thread else self._roles),
            frequency=self.options.frequency,
            call_graph=self.options.call_graph,
            in_client=self._by_thread or None,
        )
        if samples:
            writer.text(FOLDED, folded)
            how = f"{samples:,} samples of {event}, {self.options.frequency} a second of CPU time"
            writer.text(FLAMES, _engine.flame_graph(folded, title, how))
        else:
            log("profile: no sample was taken: the target used no CPU while the load measured")
        return profile

    def output(self) -> list[str]:
        """Lines that perf has printed so far."""
        return [] if self._perf is None else self._perf.output()

    def remove(self) -> None:
        """Remove what perf wrote."""
        if self._home is not None:
            self._home.cleanup()
            self._home = None

    def _look(self) -> None:
        """Kinds of the present processes; a process keeps its first one."""
        if self._by_thread:
            return
        for pid in tree(self.root, self._roots):
            if pid not in self._roles and (role := self._role(pid)):
                self._roles[pid] = role

    def _role(self, pid: int) -> str:
        """The title that a process gives itself; of one that has none, its program."""
        words = command_line(pid, self.root)
        if not words:
            return ""
        program, blank, title = (words[0] if len(words) == 1 else words[0].replace(" ", "_")).partition(" ")
        return self.process_kind(f"{program.rpartition('/')[2]}{blank}{title}")[:_ROLE_LENGTH]


def named(folded: str, roles: dict[int, str]) -> list[str]:
    """Folded stacks whose outermost frame says what the process is, with equal ones put together; sorted."""
    counts: dict[str, int] = {}
    for line in folded.splitlines():
        stack, _, count = line.rpartition(" ")
        match = _OUTERMOST.match(stack + ";")
        if match is not None:
            role = roles.get(int(match["pid"])) or _NUMBERED.sub("", match["name"])
            stack = f"{role.replace(';', ':')}{match['rest'].rstrip(';')}"
        counts[stack] = counts.get(stack, 0) + int(count)
    return [f"{stack} {count}" for stack, count in sorted(counts.items())]
