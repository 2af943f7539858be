"""Where a trial's processes run: what the plan's placements mean here, and whether it came to be.

Whoever starts a process can only ask: a server may choose processors itself, a cpuset may take some away. So
each thread is asked where it may run, when the target is up, when the measurement begins and ends, and after
the load.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from loadcell.execution.machine_watch import workers
from loadcell.linux.procfs import read_small, tree
from loadcell.model.json import JsonObject
from loadcell.model.load_result import LoadEvent, PhaseBegan, Pinned
from loadcell.model.message import Message, MessageCode
from loadcell.model.trial_record import Check
from loadcell.plan import affinity_check
from loadcell.plan.affinity import Pin, numbers, ranges
from loadcell.plan.affinity_check import Pins
from loadcell.plan.model import Resolved
from loadcell.plan.parts import Parts
from loadcell.plan.problems import SettingError
from loadcell.systems.base import TargetError

AFFINITY_GONE = MessageCode("affinity.gone", allowed=Message, finding=Message)

Side = Literal["target", "client"]

#: The first mapping of a process stands in as many bytes; the kernel walks no page tables for those after it.
_FIRST_MAPPING = 4096


@dataclass(frozen=True)
class Look:
    """Affinity read back at one moment: number of threads by allowed processors, number of processes by
    memory policy.
    """

    side: Side
    when: str
    threads: Mapping[str, int]
    memory: Mapping[str, int]

    def document(self) -> JsonObject:
        """Plain JSON."""
        return {"when": self.when, "threads": dict(self.threads), "memory": dict(self.memory)}


@dataclass
class Pinning:
    """A trial's placements; `asked` in the plan's words, `node` as what it means for each.

    Without any it does nothing.
    """

    pins: Pins = field(default_factory=Pins)
    asked: Mapping[str, str] = field(default_factory=dict)
    in_worker: bool = False
    root: Path = Path("/")
    run_pid: int = field(default_factory=os.getpid)
    looks: list[Look] = field(default_factory=list)

    @property
    def target(self) -> Pin:
        """Where the target runs: one in the worker, where that does."""
        return self.pins.client if self.in_worker else self.pins.target

    @property
    def apart(self) -> bool:
        """True if target and client have processors of their own each."""
        both = [set(numbers(pin.cpus)) for pin in (self.pins.target, self.pins.client) if pin.cpus]
        return len(both) == 2 and not both[0] & both[1]

    def look(self, side: Side, when: str, roots: list[int]) -> None:
        """Ask every thread of these processes and of all that they have started, where it was said where they
        run.
        """
        pin = self._of(side)
        if not pin.is_set:
            return
        threads: Counter[str] = Counter()
        memory: Counter[str] = Counter()
        for pid in tree(self.root, roots):
            home = self.root / "proc" / str(pid)
            threads.update(filter(None, (_allowed(task) for task in home.glob("task/*"))))
            if pin.memory and (policy := _policy(home)):
                memory[policy] += 1
        if threads:
            self.looks.append(Look(side, when, threads, memory))

    def on_event(self, event: LoadEvent) -> None:
        """Read back the affinity of the worker when it has been pinned, and when it measures."""
        match event:
            case Pinned(cpus=cpus, memory=memory):
                policies = {memory: 1} if self.pins.client.memory and memory else {}
                self.looks.append(Look("client", "start", {cpus: 1}, policies))
            case PhaseBegan(phase=("measure" | "drain") as phase):
                self.look("client", phase, workers(self.root, self.run_pid))

    def checks(self) -> list[Check]:
        """True if all that was read back is as it was to be; nothing where the plan says nothing."""
        if not self.asked:
            return []
        wrong = [
            {"side": look.side, **look.document()}
            for look in self.looks
            if not _fits(look, self._of(look.side))
        ]
        missing = [
            side
            for side in ("target", "client")
            if self._of(side).is_set and not any(look.side == side for look in self.looks)
        ]
        verdict = "broken" if wrong else "unknown" if missing else "ok"
        detail: JsonObject = {"looks": len(self.looks)}
        if wrong:
            detail["wrong"] = wrong[:3]
        if missing:
            detail["not_read_back"] = missing
        return [Check("affinity", verdict, detail)]

    def document(self) -> JsonObject | None:
        """For trial.json: what was asked for, what that is here, and what was read back."""
        if not self.asked:
            return None
        document: JsonObject = {"asked": dict(self.asked), "target_in_client": self.in_worker}
        for side in ("target", "client"):
            pin = self._of(side)
            if pin.is_set:
                document[side] = {
                    "cpus": pin.cpus or None,
                    "memory": pin.memory or None,
                    "read_back": [look.document() for look in self.looks if look.side == side],
                }
        return document

    def _of(self, side: str) -> Pin:
        return self.pins.target if side == "target" else self.pins.client


def of(settings: Resolved, parts: Parts, root: Path = Path("/")) -> Pinning:
    """Placements of a trial on this machine. Raises TargetError if they are no longer possible."""
    if not settings.affinity.is_set or parts.topology is None:
        return Pinning()
    in_worker = bool(parts.targets[settings.target_name].in_worker)
    try:
        pins = affinity_check.of(settings.affinity, parts.topology(), in_worker=in_worker)
    except SettingError as error:
        raise TargetError(AFFINITY_GONE(**error.message.arguments)) from error
    return Pinning(pins, settings.affinity.placements, in_worker, root)


def _fits(look: Look, pin: Pin) -> bool:
    """No thread may run anywhere else, and all of them together everywhere: a thread may keep to fewer (a
    server that gives each
    of its workers a processor), as long as none of the processors is left out."""
    if pin.cpus:
        wanted = set(numbers(pin.cpus))
        seen = [set(numbers(cpus)) for cpus in look.threads]
        if any(not cpus <= wanted for cpus in seen) or set().union(*seen) != wanted:
            return False
    return all(policy == pin.memory for policy in look.memory) if pin.memory else True


def _allowed(task: Path) -> str:
    """Where a thread may run; empty when it is gone."""
    for row in read_small(task / "status").splitlines():
        key, _, value = row.partition(":")
        if key == "Cpus_allowed_list":
            return ranges(numbers(value.strip()))
    return ""


def _policy(home: Path) -> str:
    """The memory policy of a process, by its first mapping; empty where the kernel does not tell."""
    try:
        with (home / "numa_maps").open("rb", buffering=0) as file:
            words = file.read(_FIRST_MAPPING).split(maxsplit=2)
    except OSError:
        return ""
    return words[1].decode("ascii", "replace").replace("=static", "") if len(words) > 1 else ""
