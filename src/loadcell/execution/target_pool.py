"""Targets of a run's trials: that of the present trial is up, those of other treatments rest with their
data.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from loadcell.model.json import JsonObject
from loadcell.model.message import Message, MessageCode, Seconds
from loadcell.plan.affinity import ANYWHERE, Pin
from loadcell.plan.model import Resolved
from loadcell.plan.treatment import Treatment
from loadcell.systems.base import Target, TargetContext
from loadcell.systems.shared.packages import Package
from loadcell.systems.shared.run_locks import RunLocks
from loadcell.systems.shared.storage import Storages

TARGET_RESTARTED = MessageCode("target.restarted", "info")

PACKAGE_FETCHING = MessageCode("progress.fetching", "info", number=str, package=str, total=str)
PACKAGE_FETCHED = MessageCode("progress.fetched", "info", duration_s=Seconds, package=str)

Event = Callable[[JsonObject], None]


def fetch_packages(
    parts: Mapping[str, type[Any]], treatments: Iterable[Treatment], report: Callable[[Message], None]
) -> None:
    """Fetch the packages that the targets of these treatments need and that are not in the cache.

    Raises TargetError.
    """
    wanted: dict[Path, Package] = {}
    asked: set[int] = set()
    for treatment in treatments:
        options = treatment.resolved.target
        if id(options) in asked:
            continue
        asked.add(id(options))
        for package in parts[treatment.resolved.target_name].packages(options):
            if not package.ready:
                wanted[package.directory] = package
    fetch(list(wanted.values()), report)


def fetch(packages: Sequence[Package], report: Callable[[Message], None]) -> None:
    """Fetch packages one after the other. Raises TargetError."""
    for number, package in enumerate(packages, 1):
        report(PACKAGE_FETCHING(package=package.label, number=str(number), total=str(len(packages))))
        began = time.monotonic()
        package.fetch()
        report(PACKAGE_FETCHED(package=package.label, duration_s=time.monotonic() - began))


def contact_external(
    parts: Mapping[str, type[Any]], treatments: Iterable[Treatment], secret: Callable[[str], str]
) -> None:
    """Connect once to each external server of these treatments, before anything is stored.

    Raises TargetError.
    """
    external = {
        target_key(treatment.resolved): treatment.resolved
        for treatment in treatments
        if not parts[treatment.resolved.target_name].started(treatment.resolved.target)
    }
    with tempfile.TemporaryDirectory(prefix="loadcell-contact-") as work:
        pool = TargetPool(parts, Path(work), log=_discard, secret=secret, note=_discard)
        try:
            for resolved in external.values():
                pool.up(resolved, _discard)
        finally:
            pool.destroy()


def _discard(_: object) -> None:
    """Receive a line, an event or a note, and ignore it."""


def target_key(resolved: Resolved, pin: Pin = ANYWHERE) -> str:
    """Identify the target object of these settings."""
    named = [resolved.target_name, resolved.target.model_dump(mode="json"), pin.cpus, pin.memory]
    return json.dumps(named, sort_keys=True)


class TargetPool:
    """One target is up at a time.

    A treatment with other options of the target, or that runs it elsewhere (`pin`), has another target
    object: where a process runs is settled when it is started.

    All of one kind share a work directory, so that settings can vary over one data set. `preloads`: the
    plan has faults by the library that processes load, so that those of all trials do.
    """

    def __init__(
        self,
        parts: Mapping[str, type[Any]],
        work: Path,
        *,
        log: Callable[[str], None],
        secret: Callable[[str], str],
        note: Callable[[Message], None],
        preloads: bool = False,
        filling: Callable[[float], None] = _discard,
    ) -> None:
        self._parts = parts
        self._work = work
        self._log = log
        self._secret = secret
        self._note = note
        self._preloads = preloads
        self._filling = filling
        self._locks = RunLocks()
        self._storages = Storages()
        self._targets: dict[str, Target[Any]] = {}
        self._up: Target[Any] | None = None
        self._came_up: set[int] = set()
        #: treatment whose statements were executed last, and treatments whose statements were explained
        self.entered: str | None = None
        self.explained: set[str] = set()

    def up(self, resolved: Resolved, event: Event, pin: Pin = ANYWHERE) -> Target[Any]:
        """The target of these settings, answering. Raises TargetError."""
        target = self._target(resolved, pin)
        if self._up is not None and self._up is not target:
            self._up.down()
        self._up = target
        if id(target) in self._came_up and not target.alive():
            event({"event": "restart", "reason": TARGET_RESTARTED().text})
            target.down()
        target.up()
        self._came_up.add(id(target))
        return target

    @property
    def present(self) -> Target[Any] | None:
        """The target that was brought up last, also if it did not start."""
        return self._up

    def stop(self, *, unless_alive: bool = False) -> None:
        """Put the present target to rest: the next trial brings it up again."""
        if self._up is not None and not (unless_alive and self._up.alive()):
            target, self._up = self._up, None
            self._came_up.discard(id(target))
            target.down()

    def destroy(self) -> None:
        """Put everything away, at the run's end; every target is tried, and the first trouble is raised at
        last.
        """
        trouble: BaseException | None = None
        if self._up is not None:
            try:
                self._up.down()
            except Exception as error:  # the others must still be removed
                trouble = error
        for target in self._targets.values():
            try:
                target.destroy()
            except Exception as error:
                trouble = trouble or error
        self._targets.clear()
        self._up = None
        if trouble is not None:
            raise trouble

    def _target(self, resolved: Resolved, pin: Pin) -> Target[Any]:
        options = target_key(resolved, pin)
        target = self._targets.get(options)
        if target is None:
            work = self._work / resolved.target_name
            work.mkdir(mode=0o755, exist_ok=True)
            context = TargetContext(
                work,
                self._log,
                self._secret,
                pin,
                self._note,
                self._locks,
                self._storages,
                self._preloads,
                self._filling,
            )
            part: type[Target[Any]] = self._parts[resolved.target_name]
            target = self._targets[options] = part(resolved.target, context)
        return target
