"""Contents of a plan: as plain values, and as the brief report of `loadcell check`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeVar

from loadcell.design.estimate import NEEDS_CONSENT, estimate
from loadcell.design.order import trials
from loadcell.design.search.decide import question
from loadcell.design.search.searches import count
from loadcell.model import numbers
from loadcell.model.json import JsonObject, document
from loadcell.parts import installed
from loadcell.plan import rate
from loadcell.plan.affinity_check import meanings
from loadcell.plan.expect import metric
from loadcell.plan.loaded import LoadedPlan
from loadcell.plan.model import Load, Resolved
from loadcell.plan.parts import Options
from loadcell.plan.remarks import remarks
from loadcell.plan.treatment import short_keys
from loadcell.report.blocks import (
    Block,
    Cell,
    Code,
    Column,
    Definitions,
    Paragraph,
    Remark,
    Report,
    Section,
    Table,
)
from loadcell.store.layout import quoted

T = TypeVar("T")

#: A table or list longer than this is cut in its middle.
_MOST_ROWS = 16
_MOST_LEVELS = 12
#: Levels with names are what `--only` takes.
_MOST_NAMED_LEVELS = 60
_MOST_TRIALS = 12
_MOST_COLUMNS = 6


def build(document: JsonObject) -> Report:
    """The report of `check.describe`."""
    factors, search = document["factors"], document["search"]
    if search:
        others = [factor for factor in factors if factor["key"] != search["factor"]]
        sections = [_factors(others), Section("search", "Search", [Paragraph(_search(document))])]
    else:
        sections = [_factors(factors), _treatments(document["treatments"], factors), _order(document)]
    expect = [(bound["expression"], metric(bound["metric"]).meaning) for bound in document["expect"]]
    run = f"loadcell run {quoted(document['plan'])}"
    return Report(
        "en", document["title"], (document["question"] or "").strip(), document["name"], (),
        [
            Section("settings", "", [Definitions(list(_settings(document)))]),
            *sections,
            Section("time", "Time", list(_time(document))),
            Section("remarks", "", [_remark(remark) for remark in document["remarks"]]),
            Section("expect", "Expect", [Definitions(expect)] if expect else []),
            Section("end", "", [Remark("good", f"The plan is right. Nothing was run; `{run}` runs it.")]),
        ],
    )  # fmt: skip


def _settings(document: JsonObject) -> Iterator[tuple[str, str]]:
    """The settings that the plan gives, one section a row; of the load, all."""
    settings, plan_settings = document["settings"], document["given"]
    for section in ("target", "workload"):
        if section in plan_settings:
            name, options = next(iter(plan_settings[section].items()))
            yield section, f"{name}: {_options(options)}"
    for group in document["groups"]:
        options = plan_settings["workloads"][group["name"]][group["workload"]]
        yield group["name"], f"{group['workload']}: {_options(options)}"
        yield "", _group_load(group)
    load = {name: value for name, value in settings["load"].items() if name not in ("rate", "arrivals")}
    yield "load", _options(load)
    if document["open_loop"]:
        yield "open loop", _open_loop(document["open_loop"])
    for key, placements in document["placements"].items():
        yield f"affinity.{key}", _placements(key, placements)
    yield "monitors", ", ".join(settings["monitors"]) or "none"
    if document["profile"]:
        [(kind, options)] = document["profile"].items()
        yield "profile", f"{kind}: {_options(options)}; its trials are additional and not scored"


def _placements(key: str, placements: Mapping[str, str]) -> str:
    """`half the cores (CPUs 0-63), all (CPUs 0-127)`."""
    kind = "" if key == "memory" else "CPUs "
    shown = [f"{placement} ({kind}{here})" for placement, here in placements.items()]
    return ", ".join(_cut(shown, _MOST_LEVELS, "..."))


def _group_load(group: JsonObject) -> str:
    """`32 clients (share 80)` or, of an open loop, its rate."""
    load = _open_loop(group["open_loop"]) if group["open_loop"] else _count(group["clients"], "client")
    return load if group["share"] is None else f"{load} (share {group['share']:g})"


def _open_loop(loop: JsonObject) -> str:
    """`2000/s, evenly spaced, carried by 16 connections: 60,000 requests a trial`."""
    poisson = loop["arrivals"] == "poisson"
    spaced, about = ("at random (Poisson)", "about ") if poisson else ("evenly spaced", "")
    carried = f"carried by {_count(loop['connections'], 'connection')}"
    return f"{loop['rate']}, {spaced}, {carried}: {about}{loop['requests']:,} requests a trial"


def _options(options: JsonObject) -> str:
    """Options in a line, without those that are not set."""
    pieces = []
    for name, value in options.items():
        if value == {}:
            pieces.append(name)
        elif isinstance(value, dict):
            pieces += [f"{name}.{inner} {_plain(option)}".rstrip() for inner, option in value.items()]
        elif value not in (None, [], ""):
            pieces.append(f"{name} {_plain(value)}")
    return ", ".join(pieces) or "as by default"


def _plain(value: object) -> str:
    if isinstance(value, dict):  # as a plan writes it
        inner = ", ".join(f"{name}: {_plain(option)}" for name, option in value.items())
        return f"{{{inner}}}" if inner else ""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _factors(factors: Sequence[JsonObject]) -> Section:
    """Each factor with its levels; levels with names have a line each."""
    entries = []
    for factor in factors:
        levels = factor["levels"]
        if any("sets" in level for level in levels):
            named = [f"{level['label']}: {_options(level.get('sets', {}))}" for level in levels]
            value = "\n".join(_cut(named, _MOST_NAMED_LEVELS, "..."))
        else:
            value = _levels([level["label"] for level in levels])
        entries.append((factor["key"] + (" (crossed)" if factor["crossed"] else ""), value))
    return Section("factors", "Factors", [Definitions(entries)] if entries else [])


def _levels(labels: Sequence[str]) -> str:
    return f"{len(labels)} levels: {', '.join(_cut(labels, _MOST_LEVELS, '...'))}"


def _treatments(treatments: Sequence[JsonObject], factors: Sequence[JsonObject]) -> Section:
    """One treatment a row: its number, and its level of each factor."""
    if not factors:
        return Section("treatments", "", [])
    shown = factors[:_MOST_COLUMNS]
    hidden = len(factors) - len(shown)
    columns = [
        Column("", figure=True),
        *(Column(factor["short"], many=True) for factor in shown),
        *([Column(f"and {hidden} more")] if hidden else []),
    ]
    rows = [
        [str(number), *(treatment["levels"][factor["key"]] for factor in shown), *([""] if hidden else [])]
        for number, treatment in enumerate(treatments, start=1)
    ]
    cells = [[Cell(text) for text in row] for row in _cut(rows, _MOST_ROWS, ["..."] * len(columns))]
    title = _count(len(treatments), "treatment")
    return Section("treatments", title, [Table("table-treatments", "", columns, cells)])


def _order(document: JsonObject) -> Section:
    """The order of the trials, as far as it is known."""
    seed, names = document["seed"], document["trials"]
    blocks = f"{_count(document['repeats'], 'block')} of every treatment"
    if document["order"] == "as-written":
        text = f"as written, {blocks}:"
    elif names is None:
        text = (
            f"{blocks}, each in random order. The seed is drawn when the run starts and recorded with it; "
            "`--seed` shows the order of one, `seed:` in the plan fixes it."
        )
    else:
        text = f"{blocks}, each in random order by seed {seed}:"
    listed = [Code("", "\n".join(_cut(names, _MOST_TRIALS, "...")))] if names else []
    return Section("order", "Order", [Paragraph(text), *listed])


def _search(document: JsonObject) -> str:
    """Subject and goal of a search, and its number of trials."""
    search, repeats = document["search"], document["repeats"]
    count = search["searches"]
    times = f", {count} times: for each treatment of the other factors" if count > 1 else ""
    bounds = [*search["subject_to"], *(["the rate is kept up with"] if search["keeping_up"] else [])]
    within = f", subject to {', '.join(bounds)}" if bounds else ""
    adjacent = "its neighbours" if search["kind"] == "maximum" else "the level above it"
    return (
        f"{search['factor']}{times}; {_levels(search['levels'])}, for {search['objective']}{within}. "
        f"At most {search['trials']} trials to find it; then it and {adjacent} "
        f"{_count(repeats, 'time')} each, and once more after an overload. Each trial is "
        "decided on when those before it have ended."
    )


def _time(document: JsonObject) -> Iterator[Block]:
    count = _count(document["trial_count"], "trial")
    load, expected = _duration(document["load_s"]), _duration(document["expected_s"])
    data = "loading data, and restoring what a workload changes, comes on top."
    if document["at_most"] is not None:
        text = (
            f"about {count}: {load} of load, {expected} expected with what is between; at most "
            f"{document['at_most']:,} trials, should repeats contradict the search; {data}"
        )
    elif document["counted"]:
        text = f"{count}: as long as their requests take, and {expected} expected for what is between; {data}"
    else:
        text = f"{count}: {load} of load, {expected} expected with what is between; {data}"
    profiled = document["profiled"]
    if profiled:
        verb = "profile" if profiled > 1 else "profiles"
        text += (
            f" {_duration(document['profile_s'])} of it for {_count(profiled, 'trial')} more that only "
            f"{verb}."
        )
    yield Paragraph(text)
    if document["needs_consent"]:
        yield Remark("caution", "That is many: `loadcell run` asks for `--yes`.")


def _remark(remark: JsonObject) -> Remark:
    others = remark["other_treatments"]
    where = remark["treatment"] + (f" and {others} more" if others else "")
    return Remark("caution", remark["text"], f"Remark {remark['path']} ({where})")


def _duration(seconds: float) -> str:
    """`1 min 20 s`, `6 h 24 min`, `3 d 4 h`."""
    return numbers.seconds(round(seconds))


def _count(count: int, noun: str) -> str:
    """`1 trial`, `2,000 trials`."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def _cut(items: Sequence[T], at_most: int, gap: T) -> list[T]:
    """All items, or those at both ends with a gap between."""
    if len(items) <= at_most:
        return list(items)
    tail = at_most // 4
    return [*items[: at_most - tail - 1], gap, *items[-tail:]]


def describe(plan: LoadedPlan, seed: int | None, *, called: str) -> JsonObject:
    """Everything `check` says, as plain JSON values.

    Without a seed the order is not known yet: `trials` is None.

    `called` is what the caller named the plan by, and `loadcell run` can be given.
    """
    time, topology = estimate(plan), installed().topology
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
    """The rate in words, and what it comes to; None for a closed loop."""
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
    """The options that the plan itself gives; all others are as by default."""
    return options.model_dump(
        mode="json", by_alias=True, exclude_unset=True, include=set(type(options).model_fields)
    )
