"""Client groups of a trial: what the engine is asked for, how its answer is held against each, and what is recorded."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from loadcell.execution import checks
from loadcell.execution.record import client_account, schedule_account
from loadcell.model.trial_record import Check
from loadcell.plan.model import Group, Resolved
from loadcell.workloads.composite import Together

#: From good to bad; of all groups' verdicts the worst is the trial's.
_BADNESS = {"unknown": 0, "ok": 1, "noticed": 2, "broken": 3}


def threads_of(group: Group, settings: Resolved, total: int) -> int:
    """How many threads a group's connections are spread over: its own setting, or its part of all threads; at least one."""
    own = group.load.threads
    if group.share is None and isinstance(own, int):
        return own
    clients = group.load.clients or 1
    return max(1, min(clients, round(total * clients / max(1, settings.clients))))


def of_specification(
    together: Together, settings: Resolved, total: int, load: Callable[[Group, int], dict[str, Any]]
) -> list[dict[str, Any]]:
    """The `groups` of a specification; `load` makes a group's own part of it, given its threads."""
    return [
        {
            "name": group.name,
            "workload": workload.engine(),
            "load": load(group, threads_of(group, settings, total)),
        }
        for group, workload in together.members
    ]


def held(result: Mapping[str, Any], settings: Resolved, cores: int | None = None) -> list[Check]:
    """What every load is held against. A law that is about one kind of clients is held against each group.

    `cores` is how many the client may use, by all of its groups' threads together.
    """
    found = [checks.counting_identity(result)]
    whole = checks.client_limit(result, cores)
    if not settings.groups:
        return [
            *found,
            checks.littles_law(result, settings.load.clients or 0, _pipeline(settings)),
            whole,
            *_open(result),
        ]
    each = [
        (group, {**own, "window": result.get("window")})
        for group in settings.groups
        for own in result.get("groups", [])
        if own["name"] == group.name
    ]
    law = [
        (group.name, checks.littles_law(own, group.load.clients or 0, _pipeline(group)))
        for group, own in each
    ]
    limit = [(group.name, checks.client_limit(own)) for group, own in each]
    opened = [(group.name, check) for group, own in each for check in _open(own)]
    busiest = _worst(limit) if limit else whole
    kept = ([one for one in opened if one[1].name == name] for name in ("pacing", "backlog"))
    return [
        *found,
        *([_worst(law)] if law else []),
        busiest if busiest.verdict == "broken" else _worse(whole, busiest),
        *(_worst(one) for one in kept if one),
    ]


def _pipeline(settings: Resolved | Group) -> int:
    """How many requests a client has under way at the most: in a pipeline, or on streams."""
    return max(int(getattr(settings.workload, name, 1)) for name in ("pipeline", "streams"))


def _open(result: Mapping[str, Any]) -> list[Check]:
    return [checks.pacing(result), checks.backlog(result)] if result.get("schedule") else []


def _worst(each: Sequence[tuple[str, Check]]) -> Check:
    """The worst group's verdict with its figures, and what became of the others."""
    name, worst = max(each, key=lambda one: _BADNESS[one[1].verdict])
    others = {other: check.verdict for other, check in each}
    return Check(worst.name, worst.verdict, {"group": name, **worst.detail, "groups": others})


def _worse(one: Check, other: Check) -> Check:
    return one if _BADNESS[one.verdict] > _BADNESS[other.verdict] else other


def recorded(result: Mapping[str, Any], together: Together, seconds: float) -> dict[str, Any]:
    """The account of each group for trial.json, besides what stands under its name in `operations`."""
    if "groups" not in result:
        return {}
    figures = together.figures_of_groups(result, seconds)
    own = {one["name"]: one for one in result["groups"]}
    return {
        "groups": {
            group.name: {
                "workload": group.workload_name,
                "share": group.share,
                "clients": group.load.clients,
                "queries": own[group.name]["queries"],
                "queries_per_s": own[group.name]["queries"]["total"] / seconds if seconds > 0 else None,
                "figures": figures[group.name],
                "schedule": schedule_account(own[group.name].get("schedule"), seconds),
                "client": client_account(own[group.name].get("client")),
            }
            for group, _ in together.members
        }
    }
