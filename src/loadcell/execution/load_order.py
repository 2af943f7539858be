"""Order of a load: its client groups and window, and the specification that the engine reads."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass

from loadcell.model.json import JsonObject
from loadcell.plan import rate, secrets
from loadcell.plan.model import BOUNDS, Group, Load, Resolved
from loadcell.plan.units import Duration
from loadcell.workloads.composite import CompositeWorkload

#: With the target on the same machine, the client takes one core in four and leaves the rest to the target.
LOCAL_SHARE = 4
#: From a dedicated machine it takes half: the kernel's network work needs the other half.
REMOTE_SHARE = 2
#: Time limit of transactions in progress at the end of a load.
_DRAIN_NS = 5_000_000_000
#: Time without any connection after which a load is aborted.
_LOST_NS = 10_000_000_000


@dataclass(frozen=True, slots=True)
class GroupOrder:
    """A client group: the engine's sections `workload` and `load` of it. The only one has no name."""

    name: str
    workload: JsonObject
    load: JsonObject


@dataclass(frozen=True, slots=True)
class LoadOrder:
    """A load, or the loading of a data set. Holds secrets: never to be written anywhere.

    `window` is what the groups' sections `load` have in common. `made_by` names the module that makes the
    load in the worker; None: the engine. `pin` are the worker's processors and memory policy.
    """

    target: JsonObject
    groups: tuple[GroupOrder, ...]
    window: JsonObject
    seed: int
    made_by: str | None = None
    pin: tuple[str, str] | None = None

    @property
    def protocol(self) -> str:
        """Protocol that is spoken with the target."""
        return str(self.target.get("protocol", ""))

    def specification(self) -> JsonObject:
        """The order as the engine reads it, which knows a single group without a name as such."""
        common: JsonObject = {"version": 1, "seed": self.seed, "target": self.target}
        match self.groups:
            case (GroupOrder(name="") as group,):
                return {**common, "workload": group.workload, "load": {**self.window, **group.load}}
        groups = [
            {"name": group.name, "workload": group.workload, "load": group.load} for group in self.groups
        ]
        return {**common, "load": self.window, "groups": groups}


def load_order(
    endpoint: JsonObject,
    composite: CompositeWorkload,
    settings: Resolved,
    threads: int,
    seed: int,
    *,
    reveal: Callable[[str], str] = str,
    pin: tuple[str, str] | None = None,
) -> LoadOrder:
    """The load of a trial by `threads` threads; `reveal` replaces references to secrets."""
    groups = tuple(
        GroupOrder(
            group.name,
            secrets.revealed(workload.engine(), reveal),
            group_load(group.load, group.load.clients or 0, group_threads(group, settings, threads)),
        )
        for group, workload in composite.members
    )
    return LoadOrder(endpoint, groups, window(settings.load), seed, composite.made_by, pin)


def data_order(
    endpoint: JsonObject,
    workload: JsonObject,
    settings: Resolved,
    threads: int,
    seed: int,
    *,
    made_by: str | None = None,
    pin: tuple[str, str] | None = None,
) -> LoadOrder:
    """The loading of a data set, described by the engine's section `workload`."""
    group = GroupOrder("", workload, group_load(settings.load, settings.clients, threads))
    return LoadOrder(endpoint, (group,), window(settings.load), seed, made_by, pin)


def window(load: Load) -> JsonObject:
    """The part of the section `load` that all groups have in common."""
    return {
        "warmup_ns": load.warmup.ns,
        "duration_ns": load.duration.ns,
        "interval_ns": load.interval.ns,
    }


def group_load(load: Load, clients: int, threads: int) -> JsonObject:
    """The engine's section `load` of one group, without the window."""
    return {
        "clients": clients,
        "threads": threads,
        **{key: value for key in BOUNDS if (value := getattr(load, key)) is not None},
        "timeout_ns": None if load.timeout is None else load.timeout.ns,
        "drain_ns": _DRAIN_NS,
        "lost_ns": _LOST_NS,
        "max_retries": load.max_retries,
        "schedule": schedule(load),
    }


def schedule(load: Load) -> JsonObject | None:
    """When requests are due, in the engine's form; None for a closed loop."""
    if load.rate is None:
        return None
    return {
        "arrivals": load.arrivals,
        "rate": [
            {
                "from_per_s": stretch.from_per_s,
                "to_per_s": stretch.to_per_s,
                "for_ns": Duration(stretch.seconds).ns,
            }
            for stretch in rate.stretches(load.rate, load.duration)
        ],
        "most_overdue_ns": load.max_backlog.ns,
    }


def trial_seed(run_seed: int, repeat: int) -> int:
    """Seed of a trial, equal for all treatments of one repeat: what is compared draws the same numbers."""
    digest = hashlib.sha256(f"loadcell:{run_seed}:{repeat}".encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1


def load_threads(settings: Resolved, cores: int, *, local: bool) -> int:
    """Number of threads of all groups: the plan's, or a share of the cores; never more than clients."""
    if isinstance(settings.load.threads, int):
        return settings.load.threads
    share = max(1, cores // (LOCAL_SHARE if local else REMOTE_SHARE))
    return min(share, settings.clients or settings.load.clients or 1)


def group_threads(group: Group, settings: Resolved, total: int) -> int:
    """Number of threads a group's connections are spread over: its own setting, or its part of all threads;
    at least one.
    """
    threads = group.load.threads
    if group.share is None and isinstance(threads, int):
        return threads
    clients = group.load.clients or 1
    return max(1, min(clients, round(total * clients / max(1, settings.clients))))
