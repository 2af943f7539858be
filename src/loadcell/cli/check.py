"""`loadcell check PLAN`: treatments, order and every error of a plan, without running it. The document of
`--json` describes a plan as plain values; `check_report` makes the page from it.
"""

from __future__ import annotations

from collections.abc import Sequence

from loadcell import parts
from loadcell.api import checking
from loadcell.cli import check_report, locales
from loadcell.cli.arguments import Seed, change_options, load, plan_argument
from loadcell.cli.command import command, option
from loadcell.cli.streams import echo_json
from loadcell.design.estimate import NEEDS_CONSENT, estimate
from loadcell.design.order import trials
from loadcell.design.search.decide import question
from loadcell.design.search.searches import count
from loadcell.model.json import JsonObject, document
from loadcell.plan import problems as plan_problems
from loadcell.plan import rate
from loadcell.plan.affinity_check import meanings
from loadcell.plan.load import LoadedPlan
from loadcell.plan.model import Load, Resolved
from loadcell.plan.parts import Options
from loadcell.plan.remarks import Remark
from loadcell.plan.sizing import concurrency, sizings, unsized
from loadcell.plan.treatment import short_keys
from loadcell.report import texts
from loadcell.report.render import json, terminal


def describe(plan: LoadedPlan, seed: int | None, remarks: Sequence[Remark], *, called: str) -> JsonObject:
    """Everything `check` reports, as plain JSON values; texts in English.

    Without a seed the order is not known yet: `trials` is None.

    `called` is the name of the plan on the command line, which `loadcell run` accepts too.
    """
    time, topology = estimate(plan), parts.installed().topology
    order_of_trials = plan.search is None and (plan.order == "as-written" or seed is not None)
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
        "targets": _targets(plan),
        "placements": meanings((planned.resolved for planned in plan.treatments), topology())
        if topology
        else {},
        "open_loop": None if plan.base.groups else _open_loop_values(plan.base.load),
        "groups": [
            {
                "name": group.name,
                "workload": group.workload_name,
                "share": group.share,
                "clients": group.load.clients,
                "open_loop": _open_loop_values(group.load),
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
        "search": _search_values(plan),
        "treatments": [
            {"id": treatment.id, "levels": dict(treatment.levels), "values": dict(treatment.values)}
            for treatment in plan.treatments
        ],
        "trials": [trial.name for trial in trials(plan, seed or 0)] if order_of_trials else None,
        "trial_count": time.trials,
        "at_most": time.at_most,
        "profile": {profile.kind: profile.document() for profile in plan.profiles} or None,
        "needs_consent": time.trials > NEEDS_CONSENT,
        "load_s": time.load_s,
        "expected_s": time.total_s,
        "profiled": time.profiled,
        "profile_s": time.profile_s,
        "counted": time.counted,
        "sizing": {
            "data": [sizing.document() for sizing in sizings(plan.treatments, parts.installed())],
            "unknown": [item.document() for item in unsized(plan.treatments, parts.installed())],
            "clients": [item.document() for item in concurrency(plan.treatments, parts.installed())],
        },
        "remarks": [
            {"path": r.path, "text": r.text, "treatment": r.treatment, "other_treatments": r.others}
            for r in remarks
        ],
        "expect": [
            {"expression": expectation.text, "metric": expectation.metric, "threshold": expectation.threshold}
            for expectation in plan.expect
        ],
    }


def _targets(plan: LoadedPlan) -> list[JsonObject]:
    """Each target that treatments have, with the monitors of these: a factor can switch it."""
    monitors: dict[str, dict[str, None]] = {}
    for treatment in plan.treatments:
        settings = treatment.resolved
        monitors.setdefault(settings.target_name, {}).update(dict.fromkeys(settings.monitors))
    return [{"target": name, "monitors": list(names)} for name, names in monitors.items()]


def _search_values(plan: LoadedPlan) -> JsonObject | None:
    """Subject and goal of a search, and its number of trials before confirmation; None in other designs."""
    if plan.search is None:
        return None

    record = plan.search.record()
    asked = question(record, plan.repeats, 0, plan.order)
    return {
        **document(record),
        "trials": asked.trials,
        "searches": count(plan),
        "keeping_up": plan.search.keeping_up,
    }


def _open_loop_values(load: Load) -> JsonObject | None:
    """The rate in words, and the resulting number of requests; None for a closed loop."""
    if load.rate is None:
        return None
    return {
        "rate": rate.text(load.rate),
        "arrivals": load.arrivals,
        "connections": load.clients,
        "requests": load.count or round(rate.requests(load.rate, load.duration)),
    }


def _given_work(settings: Resolved) -> JsonObject:
    """The workload's options that the plan gives, or those of each group's."""
    if not settings.groups:
        return {"workload": {settings.workload_name: _given(settings.workload)}}
    return {
        "workloads": {group.name: {group.workload_name: _given(group.workload)} for group in settings.groups}
    }


def _given(options: Options) -> JsonObject:
    """The options that the plan itself gives, without defaults."""
    return options.model_dump(
        mode="json",
        by_alias=True,
        exclude_unset=True,
        round_trip=True,
        include=set(type(options).model_fields),
    )


#: Mistakes that --json lists; one damaged line may make thousands.
_MOST_PROBLEMS = 200


@command("check")
@plan_argument()
@change_options
@option("--seed", type=Seed(), metavar="N", group="plan")
@option("--json", "as_json", is_flag=True, group="output")
def check(plan: str, sets: tuple[str, ...], only: tuple[str, ...], seed: int | None, as_json: bool) -> None:
    """Show what a plan would run."""
    try:
        loaded = load(plan, sets, only)
        remarks = checking.remarks(loaded)
        seed = loaded.seed if seed is None else seed
        document = describe(loaded, seed, remarks, called=plan)
    except plan_problems.PlanError as error:
        if as_json:
            listed = error.problems[:_MOST_PROBLEMS]
            echo_json(json.render({"ok": False, "count": len(error.problems), "problems": listed}))
        raise
    if as_json:
        echo_json(json.render(document))
    else:
        terminal.render(check_report.build(loaded, document, remarks, texts.Texts(locales.current())))
