"""The page of `loadcell check`: contents of a plan in brief, in the reader's language."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from loadcell import parts
from loadcell.cli import check_sizing
from loadcell.cli.language import with_remedy
from loadcell.model.json import JsonObject
from loadcell.model.message import Count, Message, MessageCode, Seconds
from loadcell.plan import rate
from loadcell.plan.affinity_check import position
from loadcell.plan.expect import meaning
from loadcell.plan.load import LoadedPlan
from loadcell.plan.model import Load
from loadcell.plan.remarks import Remark as PlanRemark
from loadcell.plan.sizing import concurrency, sizings, unsized
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
from loadcell.report.texts import Texts
from loadcell.store.layout import quoted

FACTORS = MessageCode("check-page.factors", "info")
SEARCH = MessageCode("check-page.search", "info")
ORDER = MessageCode("check-page.order", "info")
TIME = MessageCode("check-page.time", "info")
EXPECT = MessageCode("check-page.expect", "info")
TREATMENTS = MessageCode("check-page.treatments", "info", count=Count)
MORE_FACTORS = MessageCode("check-page.more-factors", "info", count=Count)
VALID = MessageCode("check-page.valid", "good", run=str)
VALID_BUT_SETTINGS = MessageCode("check-page.valid-but-settings", "good", run=str)
VALID_BUT_CONNECTION = MessageCode("check-page.valid-but-connection", "good", run=str)
OPEN_LOOP = MessageCode("check-page.open-loop", "info")
NONE = MessageCode("check-page.none", "info")
AS_BY_DEFAULT = MessageCode("check-page.as-by-default", "info")
PROFILE = MessageCode("check-page.profile", "info", options=str)
PLACEMENT = MessageCode("check-page.placement", "info", placement=str, position=Message)
CLIENTS = MessageCode("check-page.clients", "info", count=Count)
SHARE = MessageCode("check-page.share", "info", load=Message, weight=str)
OFFERED = MessageCode("check-page.offered", "info", rate=Message, connections=Count, requests=Count)
OFFERED_POISSON = MessageCode(
    "check-page.offered-poisson", "info", rate=Message, connections=Count, requests=Count
)
CROSSED = MessageCode("check-page.crossed", "info", factor=str)
LEVELS = MessageCode("check-page.levels", "info", count=Count, levels=list)
ORDER_AS_WRITTEN = MessageCode("check-page.order-as-written", "info", repeats=Count)
ORDER_ONE = MessageCode("check-page.order-one", "info", repeats=Count)
ORDER_DRAWN = MessageCode("check-page.order-drawn", "info", repeats=Count)
ORDER_SEEDED = MessageCode("check-page.order-seeded", "info", repeats=Count, seed=str)
GOAL = MessageCode("check-page.goal", "info", factor=str, levels=Message, objective=str)
GOAL_EACH = MessageCode(
    "check-page.goal-each", "info", factor=str, count=Count, levels=Message, objective=str
)
GOAL_BOUNDED = MessageCode("check-page.goal-bounded", "info", goal=Message, bounds=list)
RATE_SUSTAINED = MessageCode("check-page.rate-sustained", "info")
SEARCH_MAXIMUM = MessageCode("check-page.search-maximum", "info", goal=Message, trials=Count, repeats=Count)
SEARCH_HIGHEST = MessageCode("check-page.search-highest", "info", goal=Message, trials=Count, repeats=Count)
TIME_TIMED = MessageCode("check-page.time-timed", "info", trials=Count, load_s=Seconds, expected_s=Seconds)
TIME_COUNTED = MessageCode("check-page.time-counted", "info", trials=Count, expected_s=Seconds)
TIME_SEARCH = MessageCode(
    "check-page.time-search", "info", trials=Count, load_s=Seconds, expected_s=Seconds, at_most=Count
)
TIME_PROFILED = MessageCode("check-page.time-profiled", "info", time=Message, profile_s=Seconds, count=Count)
CONSENT = MessageCode("check-page.consent", "caution")
REMARK = MessageCode("check-page.remark", "caution", path=str, treatment=str)
REMARK_MORE = MessageCode("check-page.remark-more", "caution", path=str, treatment=str, count=Count)


T = TypeVar("T")

#: A table or list longer than this is cut in its middle.
_MOST_ROWS = 16
_MOST_LEVELS = 12
#: Levels with names are what `--only` takes.
_MOST_NAMED_LEVELS = 60
_MOST_TRIALS = 12
_MOST_COLUMNS = 6
#: Steps, requests or statements, a line each.
_MOST_ENTRIES = 24
#: A list of texts longer than this, in characters, has a line for each.
_LONGEST_LIST = 60


def build(plan: LoadedPlan, document: JsonObject, remarks: Sequence[PlanRemark], texts: Texts) -> Report:
    """The page of a plan with its `check_document.describe` and its remarks."""
    return _Page(plan, document, remarks, texts).report()


@dataclass(frozen=True)
class _Page:
    """Sections of the page; `texts` is the reader's language."""

    plan: LoadedPlan
    document: JsonObject
    remarks: Sequence[PlanRemark]
    texts: Texts

    def report(self) -> Report:
        document, write = self.document, self.texts.message
        factors, search = document["factors"], document["search"]
        if search:
            others = [factor for factor in factors if factor["key"] != search["factor"]]
            title = write(SEARCH())
            sections = [self._factors(others), Section("search", title, [Paragraph(write(self._search()))])]
        else:
            sections = [self._factors(factors), self._treatments(), self._order()]
        expect = [(bound["expression"], write(meaning(bound["metric"]))) for bound in document["expect"]]
        valid = self._validity()(run=f"loadcell run {quoted(document['plan'])}")
        return Report(
            self.texts.language, self.plan.title_in(self.texts.language),
            self.plan.question_in(self.texts.language).strip(), document["name"],
            (),
            [
                Section("settings", "", [Definitions(list(self._settings()))]),
                *sections,
                Section("time", write(TIME()), list(self._time())),
                self._sizing(),
                Section("remarks", "", [self._remark(remark) for remark in self.remarks]),
                Section("expect", write(EXPECT()), [Definitions(expect)] if expect else []),
                Section("end", "", [Remark("good", write(valid))]),
            ],
        )  # fmt: skip

    def _validity(self) -> MessageCode:
        """The message that the plan is valid, with what only a run checks."""
        targets = [treatment.resolved.target for treatment in self.plan.treatments]
        if any(target.external for target in targets):
            return VALID_BUT_CONNECTION
        return (
            VALID_BUT_SETTINGS if any("settings" in target.model_fields_set for target in targets) else VALID
        )

    def _settings(self) -> Iterator[tuple[str, str]]:
        """The settings that the plan gives, one section a row; of the load, all."""
        document, write = self.document, self.texts.message
        settings, plan_settings, targets = document["settings"], document["given"], document["targets"]
        switched = len(targets) > 1
        if switched:  # its options are levels of the factor that switches it
            yield "target", ", ".join(target["target"] for target in targets)
        for section in ("target", "workload"):
            if section in plan_settings and not (switched and section == "target"):
                name, options = next(iter(plan_settings[section].items()))
                yield section, f"{name}: {self._with_entries(options)}"
        for group, resolved in zip(document["groups"], self.plan.base.groups, strict=True):
            options = plan_settings["workloads"][group["name"]][group["workload"]]
            yield group["name"], f"{group['workload']}: {self._with_entries(options)}"
            yield "", write(_group_load(group, resolved.load))
        varied = {"rate", "arrivals"} | {
            factor["key"].removeprefix("load.") for factor in document["factors"]
        }
        load = {name: value for name, value in settings["load"].items() if name not in varied}
        yield "load", self._options(load)
        if document["open_loop"]:
            yield write(OPEN_LOOP()), write(_offered(document["open_loop"], self.plan.base.load))
        for key, placements in document["placements"].items():
            yield f"affinity.{key}", self._placements(key, placements)
        for fault in self.plan.base.faults:
            yield "faults", self._options(fault.document())
        none = write(NONE())
        monitors = [(target["target"], ", ".join(target["monitors"]) or none) for target in targets]
        if len(dict(monitors)) > 1 and len({names for _, names in monitors}) > 1:
            yield "monitors", "\n".join(f"{target}: {names}" for target, names in monitors)
        else:
            yield "monitors", monitors[0][1]
        if document["profile"]:
            for kind, options in document["profile"].items():
                yield "profile", write(PROFILE(options=f"{kind}: {self._options(options)}"))

    def _placements(self, key: str, placements: Mapping[str, str]) -> str:
        """`half the cores (CPUs 0-63), all (CPUs 0-127)`."""
        shown = [
            self.texts.message(PLACEMENT(placement=placement, position=position(key, here)))
            for placement, here in placements.items()
        ]
        return self.texts("mark.list").join(_cut(shown, _MOST_LEVELS, "..."))

    def _with_entries(self, options: JsonObject) -> str:
        """Options in a line, and each entry of a set (a step, a request) or of a long list in another."""
        flat = {name: value for name, value in options.items() if not _has_entries(value)}
        lines = [self._options(flat)] if flat or len(options) == len(flat) else [""]
        for name, value in options.items():
            if not _has_entries(value):
                continue
            if isinstance(value, dict):
                entries = [f"{name}.{inner}: {_short(option)}" for inner, option in value.items()]
            else:
                entries = [f"{name}: {_short(item)}" for item in value]
            lines += _cut(entries, _MOST_ENTRIES, "...")
        return "\n".join(lines)

    def _options(self, options: JsonObject) -> str:
        """Options in a line, without those that are not set."""
        pieces = []
        for name, value in options.items():
            if value == {}:
                pieces.append(name)
            elif isinstance(value, dict):
                pieces += [f"{name}.{inner} {_plain(option)}".rstrip() for inner, option in value.items()]
            elif value not in (None, [], ""):
                pieces.append(f"{name} {_plain(value)}")
        return ", ".join(pieces) or self.texts.message(AS_BY_DEFAULT())

    def _factors(self, factors: Sequence[JsonObject]) -> Section:
        """Each factor with its levels; levels with names have a line each."""
        write = self.texts.message
        entries = []
        for factor in factors:
            levels = factor["levels"]
            if any("sets" in level for level in levels):
                named = [f"{level['label']}: {self._options(level.get('sets', {}))}" for level in levels]
                value = "\n".join(_cut(named, _MOST_NAMED_LEVELS, "..."))
            else:
                value = write(_levels([level["label"] for level in levels]))
            key = factor["key"]
            entries.append((write(CROSSED(factor=key)) if factor["crossed"] else key, value))
        return Section("factors", write(FACTORS()), [Definitions(entries)] if entries else [])

    def _treatments(self) -> Section:
        """One treatment a row: its number, and its level of each factor."""
        treatments, factors = self.document["treatments"], self.document["factors"]
        if not factors:
            return Section("treatments", "", [])
        shown = factors[:_MOST_COLUMNS]
        hidden = len(factors) - len(shown)
        more = [Column(self.texts.message(MORE_FACTORS(count=hidden)))] if hidden else []
        columns = [Column("", figure=True), *(Column(factor["short"], many=True) for factor in shown), *more]
        rows = [
            [
                str(number),
                *(treatment["levels"][factor["key"]] for factor in shown),
                *([""] if hidden else []),
            ]
            for number, treatment in enumerate(treatments, start=1)
        ]
        cells = [[Cell(text) for text in row] for row in _cut(rows, _MOST_ROWS, ["..."] * len(columns))]
        title = self.texts.message(TREATMENTS(count=len(treatments)))
        return Section("treatments", title, [Table("table-treatments", "", columns, cells)])

    def _order(self) -> Section:
        """The order of the trials, as far as it is known."""
        document, write = self.document, self.texts.message
        seed, names, repeats = document["seed"], document["trials"], document["repeats"]
        if len(document["treatments"]) == 1:
            text, names = ORDER_ONE(repeats=repeats), None
        elif document["order"] == "as-written":
            text = ORDER_AS_WRITTEN(repeats=repeats)
        elif names is None:
            text = ORDER_DRAWN(repeats=repeats)
        else:
            text = ORDER_SEEDED(repeats=repeats, seed=seed)
        listed = [Code("", "\n".join(_cut(names, _MOST_TRIALS, "...")))] if names else []
        return Section("order", write(ORDER()), [Paragraph(write(text)), *listed])

    def _search(self) -> Message:
        """Subject and goal of a search, and its number of trials."""
        search = self.document["search"]
        goal = (GOAL_EACH if search["searches"] > 1 else GOAL).pick(
            factor=search["factor"],
            count=search["searches"],
            levels=_levels(search["levels"]),
            objective=search["objective"],
        )
        bounds = [*search["subject_to"], *([RATE_SUSTAINED()] if search["keeping_up"] else [])]
        if bounds:
            goal = GOAL_BOUNDED(goal=goal, bounds=bounds)
        code = SEARCH_MAXIMUM if search["kind"] == "maximum" else SEARCH_HIGHEST
        return code(goal=goal, trials=search["trials"], repeats=self.document["repeats"])

    def _time(self) -> Iterator[Block]:
        document, write = self.document, self.texts.message
        code = TIME_COUNTED if document["counted"] else TIME_TIMED
        if document["at_most"] is not None:
            code = TIME_SEARCH
        text = code.pick(
            trials=document["trial_count"],
            load_s=round(document["load_s"]),
            expected_s=round(document["expected_s"]),
            at_most=document["at_most"],
        )
        profiled = document["profiled"]
        if profiled:
            profile_s = round(document["profile_s"])
            text = TIME_PROFILED(time=text, profile_s=profile_s, count=profiled)
        yield Paragraph(write(text))
        if document["needs_consent"]:
            yield Remark("caution", write(CONSENT()))

    def _sizing(self) -> Section:
        """Data relative to memory, clients relative to CPU threads."""
        treatments, installed = self.plan.treatments, parts.installed()
        return check_sizing.section(
            sizings(treatments, installed),
            unsized(treatments, installed),
            concurrency(treatments, installed),
            self.texts,
        )

    def _remark(self, remark: PlanRemark) -> Remark:
        write = self.texts.message
        subject = (REMARK_MORE if remark.others else REMARK).pick(
            path=remark.path, treatment=remark.treatment, count=remark.others
        )
        return Remark("caution", write(with_remedy(remark.message, write)), write(subject))


def _group_load(group: JsonObject, load: Load) -> Message:
    """`32 clients (share 80)` or, of an open loop, its rate."""
    text = _offered(group["open_loop"], load) if group["open_loop"] else CLIENTS(count=group["clients"])
    return text if group["share"] is None else SHARE(load=text, weight=f"{group['share']:g}")


def _offered(loop: JsonObject, load: Load) -> Message:
    """`2000/s, evenly spaced, carried by 16 connections: 60,000 requests per trial`."""
    code = OFFERED_POISSON if loop["arrivals"] == "poisson" else OFFERED
    offered = loop["rate"] if load.rate is None else rate.phrase(load.rate)
    return code(rate=offered, connections=loop["connections"], requests=loop["requests"])


def _has_entries(value: object) -> bool:
    """True for options that have a line for each entry: a set of sections by name, and a long list."""
    if isinstance(value, dict):
        return bool(value) and all(isinstance(entry, dict) for entry in value.values())
    return isinstance(value, list) and len(_plain(value)) > _LONGEST_LIST


def _short(entry: object) -> str:
    """An entry by its plain values, such as method and path; `...` for the sections in it."""
    if not isinstance(entry, dict):
        return " ".join(_plain(entry).split())
    plain = {name: value for name, value in entry.items() if not isinstance(value, dict | list)}
    shown = [
        f"{name} {' '.join(_plain(value).split())}" for name, value in plain.items() if value is not None
    ]
    return ", ".join([*shown, *(["..."] if len(plain) < len(entry) else [])])


def _plain(value: object) -> str:
    if isinstance(value, dict):  # as a plan writes it
        inner = ", ".join(f"{name}: {_plain(option)}" for name, option in value.items())
        return f"{{{inner}}}" if inner else ""
    if isinstance(value, list):
        return f"[{', '.join(map(_plain, value))}]"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _levels(labels: Sequence[str]) -> Message:
    return LEVELS(count=len(labels), levels=_cut(labels, _MOST_LEVELS, "..."))


def _cut(items: Sequence[T], at_most: int, gap: T) -> list[T]:
    """All items, or those at both ends with a gap between."""
    if len(items) <= at_most:
        return list(items)
    tail = at_most // 4
    return [*items[: at_most - tail - 1], gap, *items[-tail:]]
