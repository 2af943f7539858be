"""Client groups of a trial: their part of the specification, their checks, and their record."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from loadcell.execution import checks
from loadcell.execution.record import client_account, schedule_account
from loadcell.model.json import JsonObject
from loadcell.model.trial_record import Check
from loadcell.plan.model import Group, Resolved
from loadcell.workloads.composite import CompositeWorkload

#: From good to bad; of all groups' verdicts the worst is the trial's.
_BADNESS = {"unknown": 0, "ok": 1, "noticed": 2, "broken": 3}


def threads_of(group: Group, settings: Resolved, total: int) -> int:
    """Number of threads a group's connections are spread over: its own setting, or its part of all threads;
    at least one.
    """
    threads = group.load.threads
    if group.share is None and isinstance(threads, int):
        return threads
    clients = group.load.clients or 1
    return max(1, min(clients, round(total * clients / max(1, settings.clients))))


def of_specification(
    composite: CompositeWorkload, settings: Resolved, total: int, load: Callable[[Group, int], dict[str, Any]]
) -> list[dict[str, Any]]:
    """The `groups` of a specification; `load` makes a group's own part of it, given its threads."""
    return [
        {
            "name": group.name,
            "workload": workload.engine(),
            "load": load(group, threads_of(group, settings, total)),
        }
        for group, workload in composite.members
    ]


def held(result: Mapping[str, Any], settings: Resolved, cores: int | None = None) -> list[Check]:
    """Checks of every load. A law that is about one kind of clients is checked for each group.

    `cores` is how many the client may use, by all of its groups' threads together.
    """
    group_checks = [checks.counting_identity(result)]
    client_limit = checks.client_limit(result, cores)
    if not settings.groups:
        return [
            *group_checks,
            checks.littles_law(result, settings.load.clients or 0, _pipeline(settings)),
            client_limit,
            *_open(result),
        ]
    by_group = [
        (group, {**account, "window": result.get("window")})
        for group in settings.groups
        for account in result.get("groups", [])
        if account["name"] == group.name
    ]
    law = [
        (group.name, checks.littles_law(account, group.load.clients or 0, _pipeline(group)))
        for group, account in by_group
    ]
    limit = [(group.name, checks.client_limit(account)) for group, account in by_group]
    opened = [(group.name, check) for group, account in by_group for check in _open(account)]
    busiest = _worst(limit) if limit else client_limit
    by_name = ([pair for pair in opened if pair[1].name == name] for name in ("pacing", "backlog"))
    return [
        *group_checks,
        *([_worst(law)] if law else []),
        busiest if busiest.verdict == "broken" else _worse(client_limit, busiest),
        *(_worst(pair) for pair in by_name if pair),
    ]


def _pipeline(settings: Resolved | Group) -> int:
    """Number of requests a client has under way at the most: in a pipeline, or on streams."""
    return max(int(getattr(settings.workload, name, 1)) for name in ("pipeline", "streams"))


def _open(result: Mapping[str, Any]) -> list[Check]:
    return [checks.pacing(result), checks.backlog(result)] if result.get("schedule") else []


def _worst(pairs: Sequence[tuple[str, Check]]) -> Check:
    """The worst group's verdict with its values, and the verdicts of the others."""
    name, worst = max(pairs, key=lambda pair: _BADNESS[pair[1].verdict])
    others = {other: check.verdict for other, check in pairs}
    return Check(worst.name, worst.verdict, {"group": name, **worst.detail, "groups": others})


def _worse(check: Check, other: Check) -> Check:
    return check if _BADNESS[check.verdict] > _BADNESS[other.verdict] else other


def recorded(result: JsonObject, composite: CompositeWorkload, seconds: float) -> dict[str, Any]:
    """The account of each group for trial.json, besides what stands under its name in `operations`."""
    if "groups" not in result:
        return {}
    figures = composite.figures_of_groups(result, seconds)
    by_name = {account["name"]: account for account in result["groups"]}
    return {
        "groups": {
            group.name: {
                "workload": group.workload_name,
                "share": group.share,
                "clients": group.load.clients,
                "queries": by_name[group.name]["queries"],
                "queries_per_s": by_name[group.name]["queries"]["total"] / seconds if seconds > 0 else None,
                "figures": figures[group.name],
                "schedule": schedule_account(by_name[group.name].get("schedule"), seconds),
                "client": client_account(by_name[group.name].get("client")),
            }
            for group, _ in composite.members
        }
    }
