"""A plan's placements held against the target and the machine: what is impossible, and what is to be known."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from loadcell.plan.affinity import Affinity, PlacementError
from loadcell.plan.model import Resolved
from loadcell.plan.nodes import Keys
from loadcell.plan.parts import Advice, Options, Parts
from loadcell.plan.problems import Problem
from loadcell.plan.topology import ANYWHERE, Pin, Topology


def problems(
    root: Keys,
    affinity: Affinity,
    target: type[Any] | None,
    options: Options | None,
    topology: Callable[[], Topology] | None,
) -> Iterator[Problem]:
    """Why these placements cannot be had: of a target of this class (None: it is not known), on this machine."""
    section = root.get("affinity")
    there = section if isinstance(section, Keys) else root

    def wrong(key: str, finding: str, allowed: str) -> Problem:
        node = there.get(key)
        return Problem.at(node.mark if node else there.mark, f"affinity.{key}", finding, allowed=allowed)

    if target is not None and not target_is_started(target, options):
        for key in ("target", "memory"):
            if getattr(affinity, key) is not None:
                yield wrong(
                    key,
                    "loadcell does not start this target, and cannot say where it runs",
                    "affinity.client; pin the server where it is started (numactl, taskset, systemd's CPUAffinity=)",
                )
        affinity = Affinity(client=affinity.client)
    if topology is None:
        return
    machine, mistaken = topology(), False
    for key in ("target", "client", "memory"):
        value = getattr(affinity, key)
        if value is not None:
            try:
                machine.memory_of(value) if key == "memory" else machine.cpus_of(value)
            except PlacementError as error:
                mistaken = True
                yield wrong(key, error.finding, error.allowed)
    both = affinity.target is not None and affinity.client is not None
    if both and not mistaken and getattr(target, "in_worker", False):
        pins = of(affinity, machine, in_worker=False)
        if pins.target.cpus != pins.client.cpus:
            yield wrong(
                "client",
                f"is CPUs {pins.client.cpus}, and affinity.target is {pins.target.cpus}: this target lives in the process that "
                "makes the load, which can run in one place only",
                "affinity.target alone",
            )


def target_is_started(target: type[Any], options: Options | None) -> bool:
    """Whether loadcell decides where the target runs; where it says nothing of that, it does."""
    asked = getattr(target, "started", None)
    return True if asked is None or options is None else bool(asked(options))


def remarks(settings: Resolved, parts: Parts) -> list[Advice]:
    """What to know of placements that are possible."""
    if not settings.affinity.given or parts.topology is None:
        return []
    together = bool(getattr(parts.targets[settings.target_name], "in_worker", False))
    return list(parts.topology().remarks(settings.affinity, together=together))


def meanings(each: Iterable[Resolved], machine: Topology) -> dict[str, dict[str, str]]:
    """Of all these settings: what each placement is here, by the key that it stands under (`target` -> `all` -> `0-7`)."""
    found: dict[str, dict[str, str]] = {}
    for settings in each:
        for key, placement in settings.affinity.document().items():
            known = found.setdefault(key, {})
            if placement not in known:
                known[placement] = (
                    machine.memory_of(placement) if key == "memory" else machine.written(placement)
                )
    return found


@dataclass(frozen=True)
class Pins:
    """Where the processes of a trial run: those that the target starts, and the one that makes the load."""

    target: Pin = ANYWHERE
    client: Pin = ANYWHERE


def of(affinity: Affinity, machine: Topology, *, in_worker: bool) -> Pins:
    """What placements mean on this machine. A target in the worker has no process of its own. Raises PlacementError."""

    def cpus(placement: str | None) -> str:
        return "" if placement is None else machine.written(placement)

    memory = "" if affinity.memory is None else machine.memory_of(affinity.memory)
    if in_worker:
        return Pins(ANYWHERE, Pin(cpus(affinity.target or affinity.client), memory))
    return Pins(Pin(cpus(affinity.target), memory), Pin(cpus(affinity.client)))
