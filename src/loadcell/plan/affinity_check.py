"""Checks of a plan's placements against target and machine: what is impossible, and remarks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from loadcell.model.message import Message, MessageCode
from loadcell.plan.affinity import AFFINITY_CPUS, ANYWHERE, Affinity, Pin, Topology
from loadcell.plan.model import Resolved
from loadcell.plan.nodes import Keys
from loadcell.plan.parts import Advice, Options, Parts, TargetPart
from loadcell.plan.problems import Problem, SettingError

AFFINITY_NODE_TWICE = MessageCode("plan.affinity-node-twice")
AFFINITY_NOT_STARTED = MessageCode("plan.affinity-not-started")
AFFINITY_ONE_PROCESS = MessageCode("plan.affinity-one-process", client=str, key=str, target=str)


def problems(
    root: Keys,
    affinity: Affinity,
    target: type[TargetPart[Any]] | None,
    options: Options | None,
    topology: Callable[[], Topology] | None,
) -> Iterator[Problem]:
    """Why these placements cannot be had: of a target of this class (None: it is not known), on this
    machine.
    """
    section = root.get("affinity")
    there = section if isinstance(section, Keys) else root

    def wrong(key: str, message: Message) -> Problem:
        node = there.get(key)
        return Problem(node.mark if node else there.mark, f"affinity.{key}", message)

    if affinity.node is not None:
        for key in ("target", "memory"):
            if getattr(affinity, key) is not None:
                yield wrong(key, AFFINITY_NODE_TWICE())
                return
    if target is not None and options is not None and not target.started(options):
        for key in ("node", "target", "memory"):
            if getattr(affinity, key) is not None:
                yield wrong(key, AFFINITY_NOT_STARTED())
        affinity = Affinity(client=affinity.client)
    if topology is None:
        return
    machine, mistaken = topology(), dict[str, Problem]()
    for key, placement in affinity.placements.items():
        try:
            machine.memory_of(placement) if key == "memory" else machine.cpus_of(placement)
        except SettingError as error:
            written_key = _key(affinity, key)
            mistaken.setdefault(written_key, wrong(written_key, error.message))
    yield from mistaken.values()
    if not mistaken and target is not None and target.in_worker:
        pins = of(affinity, machine, in_worker=False)
        if pins.target.cpus and pins.client.cpus not in ("", pins.target.cpus):
            message = AFFINITY_ONE_PROCESS(
                client=pins.client.cpus, key=_key(affinity, "target"), target=pins.target.cpus
            )
            yield wrong("client", message)


def _key(affinity: Affinity, key: str) -> str:
    """Where the plan says it: `node` stands for what is not said by itself."""
    return key if getattr(affinity, key) is not None else "node"


def remarks(settings: Resolved, parts: Parts) -> list[Advice]:
    """Remarks on possible placements."""
    if not settings.affinity.is_set or parts.topology is None:
        return []
    in_worker = parts.target(settings.target_name).in_worker
    return list(parts.topology().remarks(settings.affinity, in_worker=in_worker))


def meanings(resolved: Iterable[Resolved], machine: Topology) -> dict[str, dict[str, str]]:
    """Meaning of each placement of these settings, by key (`target` -> `all` -> `0-7`)."""
    meanings_by_key: dict[str, dict[str, str]] = {}
    for settings in resolved:
        for key, placement in settings.affinity.placements.items():
            texts = meanings_by_key.setdefault(key, {})
            if placement not in texts:
                texts[placement] = (
                    machine.memory_of(placement) if key == "memory" else machine.written(placement)
                )
    return meanings_by_key


def position(key: str, meaning: str) -> Message | str:
    """The meaning of a placement in words: `CPUs 0-3`, of memory the kernel's policy."""
    return meaning if key == "memory" else AFFINITY_CPUS(cpus=meaning)


@dataclass(frozen=True)
class Pins:
    """Where the processes of a trial run: those that the target starts, and the one that makes the load."""

    target: Pin = ANYWHERE
    client: Pin = ANYWHERE


def of(affinity: Affinity, machine: Topology, *, in_worker: bool) -> Pins:
    """Meaning of placements on this machine. A target in the worker has no process. Raises SettingError."""

    there = affinity.placements

    def cpus(*keys: str) -> str:
        return next((machine.written(there[key]) for key in keys if key in there), "")

    memory = machine.memory_of(there["memory"]) if "memory" in there else ""
    if in_worker:
        return Pins(ANYWHERE, Pin(cpus("target", "client"), memory))
    # `memory` is the target's; a client that `node` puts somewhere has its memory there, too.
    along = memory if affinity.node is not None and affinity.client is None else ""
    return Pins(Pin(cpus("target"), memory), Pin(cpus("client"), along))
