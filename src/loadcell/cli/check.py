"""`loadcell check PLAN`: what would run, and every mistake, without running anything."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from loadcell.cli.arguments import Seed, change_options, load, plan_argument
from loadcell.model.json import document
from loadcell.report.render import json

if TYPE_CHECKING:
    from loadcell.plan.loaded import LoadedPlan
    from loadcell.plan.model import Load, Resolved
    from loadcell.plan.parts import Options


@click.command("check")
@plan_argument()
@change_options
@click.option("--seed", type=Seed(), metavar="N", help="Show the order that this seed gives.")
@click.option("--json", "as_json", is_flag=True, help="Print plain JSON instead.")
def check(plan: str, sets: tuple[str, ...], only: tuple[str, ...], seed: int | None, as_json: bool) -> None:
    """Say what PLAN would run: treatments, order, expected time, remarks.

    PLAN is a file, or the name of a ready-made plan. Every mistake in it is shown at once, with its place; then the exit
    status is 2.
    """
    from loadcell.plan.problems import PlanError

    try:
        loaded = load(plan, sets, only)
        document = describe(loaded, loaded.seed if seed is None else seed, called=plan)
    except PlanError as error:
        if as_json:
            click.echo(json.render({"ok": False, "problems": error.problems}))
        raise
    if as_json:
        click.echo(json.render(document))
    else:
        from loadcell.cli import check_view
        from loadcell.report.render import terminal

        terminal.render(check_view.build(document))


def describe(plan: LoadedPlan, seed: int | None, *, called: str) -> dict[str, Any]:
    """Everything `check` says, as plain JSON values. Without a seed the order is not known yet: `trials` is None.

    `called` is what the caller named the plan by, and `loadcell run` can be given.
    """
    from loadcell.design.estimate import NEEDS_CONSENT, estimate
    from loadcell.design.order import trials
    from loadcell.parts import installed
    from loadcell.plan.affinity_check import meanings
    from loadcell.plan.remarks import remarks
    from loadcell.plan.treatment import short_keys

    time, topology = estimate(plan), installed().topology
    known_order = plan.search is None and (plan.order == "as-written" or seed is not None)
    return {
        "ok": True,
        "plan": called,
        "name": plan.name,
        "path": str(plan.path),
        "title": plan.title,
        "question": plan.question,
        "settings": plan.base.document(),
        "given": {
            "target": {plan.base.target_name: _given(plan.base.target)},
            **_given_work(plan.base),
        },
        "placements": meanings((one.resolved for one in plan.treatments), topology()) if topology else {},
        "open_loop": None if plan.base.groups else _open_loop(plan.base.load),
        "groups": [
            {
                "name": group.name,
                "workload": group.workload_name,
                "share": group.share,
                "clients": group.load.clients,
                "open_loop": _open_loop(group.load),
            }
            for group in plan.base.groups
        ],
        "design": plan.design,
        "repeats": plan.repeats,
        "order": plan.order,
        "seed": seed,
        "factors": [
            {**document(factor.record()), "short": short, "crossed": factor.crossed}
            for factor, short in zip(plan.factors, short_keys([f.key for f in plan.factors]), strict=True)
        ],
        "search": _search(plan),
        "treatments": [
            {"id": treatment.id, "levels": dict(treatment.levels), "values": dict(treatment.values)}
            for treatment in plan.treatments
        ],
        "trials": [trial.name for trial in trials(plan, seed or 0)] if known_order else None,
        "trial_count": time.trials,
        "at_most": time.at_most,
        "profile": None if plan.profile is None else {"cpu": plan.profile.document()},
        "needs_consent": time.trials > NEEDS_CONSENT,
        "load_s": time.load_s,
        "expected_s": time.total_s,
        "profiled": time.profiled,
        "profile_s": time.profile_s,
        "counted": time.counted,
        "remarks": [
            {"path": r.path, "text": r.text, "treatment": r.treatment, "other_treatments": r.others}
            for r in remarks(plan, installed())
        ],
        "expect": [
            {"expression": expectation.text, "metric": expectation.metric, "threshold": expectation.threshold}
            for expectation in plan.expect
        ],
    }


def _search(plan: LoadedPlan) -> dict[str, Any] | None:
    """What is searched, how often, and with how many trials before the answer is confirmed; None in other designs."""
    if plan.search is None:
        return None
    from loadcell.design.search.decide import question
    from loadcell.design.search.searches import count

    record = plan.search.record()
    asked = question(record, plan.repeats, 0, plan.order)
    return {
        **document(record),
        "trials": asked.trials,
        "searches": count(plan),
        "keeping_up": plan.search.keeping_up,
    }


def _open_loop(load: Load) -> dict[str, Any] | None:
    """The rate in words, and what it comes to; None for a closed loop."""
    from loadcell.plan import rate

    if load.rate is None:
        return None
    return {
        "rate": rate.text(load.rate),
        "arrivals": load.arrivals,
        "connections": load.clients,
        "requests": load.count or round(rate.requests(load.rate, load.duration)),
    }


def _given_work(settings: Resolved) -> dict[str, Any]:
    """The workload's options that the plan gives, or those of each group's."""
    if not settings.groups:
        return {"workload": {settings.workload_name: _given(settings.workload)}}
    return {
        "workloads": {group.name: {group.workload_name: _given(group.workload)} for group in settings.groups}
    }


def _given(options: Options) -> dict[str, Any]:
    """The options that the plan itself gives; all others are as by default."""
    return options.model_dump(
        mode="json", by_alias=True, exclude_unset=True, include=set(type(options).model_fields)
    )
