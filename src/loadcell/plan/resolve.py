"""From a tree of settings to a checked `Resolved`: the same way for the plan itself and for each of its
treatments.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeVar

from pydantic import BaseModel

from loadcell.model.json import JsonObject
from loadcell.model.message import Count, Message, MessageCode
from loadcell.plan import affinity_check, faults, groups, rate
from loadcell.plan.affinity import Affinity
from loadcell.plan.expect import Expectation
from loadcell.plan.files import PlanFiles
from loadcell.plan.model import BOUNDS, OPEN_LOOP, Group, Limits, Load, Resolved
from loadcell.plan.nodes import Entry, Items, Keys, Node, Scalar, plain
from loadcell.plan.parts import (
    INSTANCE_NAME,
    Misfit,
    NamedOptions,
    Options,
    Parts,
    UsedPart,
    instance_key,
    part_name,
)
from loadcell.plan.paths import UNKNOWN_PART
from loadcell.plan.problems import INVALID, MISSING, MISSPELT, Mark, Problem, listed, nearest, shown
from loadcell.plan.reading import read_model
from loadcell.plan.shared_settings import unequal

ALLOWED_CLIENTS = MessageCode("allowed.clients")
ALLOWED_CONNECTIONS = MessageCode("allowed.connections")
ALLOWED_MONITOR_LIST = MessageCode("allowed.monitor-list")
ALLOWED_MONITOR = MessageCode("allowed.monitor", example=str)
ALLOWED_PART = MessageCode("allowed.part", names=list, example=str)
ALLOWED_TARGETS = MessageCode("allowed.targets", count=Count, targets=list)
ALLOWED_OFFERING_TARGET = MessageCode("allowed.offering-target", needs=list)
INVALID_NAMES = MessageCode("plan.found-names", count=Count, names=list, allowed=Message)
LISTED_TWICE = MessageCode("plan.listed-twice", name=str)
LISTED_TWICE_NAMELESS = MessageCode("plan.listed-twice-nameless", name=str, example=str)
METRIC_TWICE = MessageCode("plan.metric-twice", name=str, monitor=str)
WORKLOAD_MISFIT = MessageCode("plan.workload-misfit", workload=str, target=str, allowed=Message)
WORKLOAD_PROTOCOL = MessageCode("plan.workload-protocol", workload=str, target=str, needs=list)
MONITOR_MISFIT = MessageCode("plan.monitor-misfit", monitor=str, target=str, allowed=Message)
WORKLOAD_ALONE = MessageCode("plan.workload-alone", workload=str)
LOAD_COUNT_OF_ONE = MessageCode("plan.load-count-of-one")
LOAD_TWO_COUNTS = MessageCode("plan.load-two-counts")
LOAD_FEW_REQUESTS = MessageCode("plan.load-few-requests", requests=Count, clients=Count)
LOAD_COUNT_WITH_RATE = MessageCode("plan.load-count-with-rate")
LOAD_SHORTER_THAN_INTERVAL = MessageCode("plan.load-shorter-than-interval", duration=str, interval=str)
LOAD_SHORTER_THAN_RATE = MessageCode("plan.load-shorter-than-rate", duration=str, length=str)
LOAD_WITHOUT_RATE = MessageCode("plan.load-without-rate")
EXPECT_UNDER = MessageCode("plan.expect-under", expectation=str, profiler=str)

M = TypeVar("M", bound=BaseModel)


def with_monitors_by_name(root: Keys, parts: Parts, problems: list[Problem]) -> Keys:
    """The plan with `monitors` as a mapping from name to options, however it was written (a list, or not at
    all).

    A plan without `monitors` gets every installed one that is a default for some target: each treatment then
    has those of its target.
    """
    node = root.get("monitors")
    entries: dict[str, Entry] = {}
    if node is None:
        for name in parts.monitors:
            monitor = parts.monitor(name)
            if monitor.by_default or monitor.default_for:
                entries[name] = Entry(root.mark, Keys(root.mark, {}), implied=True)
        return _with_monitors(root, root.mark, Keys(root.mark, entries))
    if isinstance(node, Keys):
        return root
    mark = root.mark_of("monitors")
    items = node.nodes if isinstance(node, Items) else ()
    if not isinstance(node, Items) and plain(node) is not None:
        message = INVALID(value=shown(plain(node)), allowed=ALLOWED_MONITOR_LIST())
        problems.append(Problem(node.mark, "monitors", message))
    for item in items:
        if isinstance(item, Scalar) and isinstance(item.value, str):
            name, entry = item.value, Entry(item.mark, Keys(item.mark, {}))
        elif isinstance(item, Keys) and len(item.entries) == 1:
            name, entry = next(iter(item.entries.items()))
        else:
            message = INVALID(
                value=shown(plain(item)), allowed=ALLOWED_MONITOR(example="host: {option: value}")
            )
            problems.append(Problem(item.mark, "monitors", message))
            continue
        kind, name = name, _instance(name, entry, parts)
        if name in entries:
            if _is_repeatable(kind, parts):
                example = f"{{{kind}: {{name: ..., ...}}}}"
                twice = LISTED_TWICE_NAMELESS(name=shown(name), example=example)
            else:
                twice = LISTED_TWICE(name=shown(name))
            problems.append(Problem(item.mark, "monitors", twice))
        entries[name] = entry
    return _with_monitors(root, mark, Keys(node.mark, entries))


def _is_repeatable(name: str, parts: Parts) -> bool:
    return name in parts.monitors and issubclass(parts.monitors[name].Options, NamedOptions)


def _instance(name: str, entry: Entry, parts: Parts) -> str:
    """The key of a monitor in a list: with the name that its options give it, where they may."""
    named = entry.node.get("name") if isinstance(entry.node, Keys) else None
    if not isinstance(named, Scalar) or not _is_repeatable(name, parts):
        return name
    text = str(named.value)
    return instance_key(name, text) if re.fullmatch(INSTANCE_NAME, text) else name


def _with_monitors(root: Keys, mark: Mark, monitors: Keys) -> Keys:
    return Keys(root.mark, {**root.entries, "monitors": Entry(mark, monitors)})


class Resolver:
    """Checks trees of settings against the installed parts. Sections that did not change are checked once."""

    def __init__(
        self,
        parts: Parts,
        expect: tuple[Expectation, ...],
        files: PlanFiles | None = None,
        *,
        begun: bool = False,
    ) -> None:
        self._parts = parts
        self._begun = begun
        self._files = files
        self._expect = expect
        self._cache: dict[tuple[type[BaseModel], str], BaseModel] = {}
        self._misfits_of: dict[int, tuple[Misfit, ...]] = {}

    def resolve(self, root: Keys) -> tuple[Resolved | None, list[Problem]]:
        """The tree as `Resolved`, or None with every mistake in it."""
        if root.get("workloads") is not None:
            return self._several(root)
        problems: list[Problem] = []
        target = self._target(root, problems)
        workload = self._one_part(root, "workload", self._parts.workloads, problems, target and target[0])
        load = self._load(root, workload, problems)
        limits = self._section(root, "limits", Limits, problems)
        affinity = self._affinity(root, target, problems)
        monitors = self._monitors(root, target and target[0], problems)
        planned_faults = faults.read_faults(root, self._parts, target, load, (), problems)
        if load is not None:
            load_problems = _load_problems(root, load)
            if workload is None and self._knows_load(root):  # its capabilities are not known yet
                load_problems = [problem for problem in load_problems if not problem.missing]
            problems.extend(load_problems)
        if target is not None and workload is not None:
            problems.extend(self._fit(root, target, workload[0]))
            problems.extend(self._unequal(root, target, workload))
        if workload is not None and load is not None:
            problems.extend(self._misfits(root, workload, load, target))
        if target is not None and workload is not None and load is not None:
            problems.extend(self._refused(root, target, [workload[0]], load.clients or 0))
        if target is not None:
            problems.extend(self._watched(root, target, monitors))
            problems.extend(self._slowed(root, target[1]))
        if problems or target is None or workload is None or load is None or limits is None:
            return None, problems
        resolved = Resolved(
            *target, *workload, load, monitors, limits, self._expect, affinity=affinity or Affinity(),
            faults=planned_faults,
        )  # fmt: skip
        return resolved, []

    def _several(self, root: Keys) -> tuple[Resolved | None, list[Problem]]:
        """The same of a plan with client groups, each of which is resolved as if it stood alone."""
        problems: list[Problem] = []
        target = self._target(root, problems)
        load = self._section(root, "load", Load, problems)
        limits = self._section(root, "limits", Limits, problems)
        affinity = self._affinity(root, target, problems)
        monitors = self._monitors(root, target and target[0], problems)
        if load is None:
            return None, problems
        problems.extend(_uncounted(root, load))
        planned_faults = faults.read_faults(
            root, self._parts, target, load, tuple(groups.names(root)), problems
        )
        all_problems: list[Problem] = []
        resolved_groups = groups.Reader(self._parts, self.resolve, root, load, all_problems).read()
        problems.extend(_alone(root, resolved_groups, self._parts))
        problems.extend(problem for problem in all_problems if problem not in problems)
        if not problems and target is not None:
            workloads = [group.workload_name for group in resolved_groups]
            clients = sum(group.load.clients or 0 for group in resolved_groups)
            problems.extend(self._refused(root, target, workloads, clients))
        if problems or target is None or limits is None:
            return None, problems
        settings = Resolved(
            *target,
            "",
            Options(),
            load,
            monitors,
            limits,
            self._expect,
            resolved_groups,
            affinity or Affinity(),
            planned_faults,
        )
        return settings, []

    def _refused(
        self, root: Keys, target: tuple[str, Options], workloads: Sequence[str], clients: int
    ) -> Iterator[Problem]:
        """More clients than the target accepts, where each has a connection: those of the engine."""
        name, options = target
        if not self._begun and all(self._parts.workload(workload).made_by is None for workload in workloads):
            for misfit in self._parts.target(name).refusals(options, clients):
                yield _misfit(root, f"target.{name}.{misfit.path}", misfit)

    def _slowed(self, root: Keys, target: Options) -> Iterator[Problem]:
        """Expectations on times and rates of a system that is made slow on purpose."""
        node = root.get("expect")
        items = node.nodes if isinstance(node, Items) else ()
        for expectation in self._expect if target.slowed_by else ():
            if not expectation.is_of_speed:
                continue
            mark = next(
                (
                    item.mark
                    for item in items
                    if isinstance(item, Scalar) and expectation.is_written(item.text)
                ),
                root.mark_of("expect"),
            )
            message = EXPECT_UNDER(expectation=expectation.text, profiler=target.slowed_by)
            yield Problem(mark, "expect", message)

    def _affinity(
        self, root: Keys, target: tuple[str, Options] | None, problems: list[Problem]
    ) -> Affinity | None:
        """Placements that are possible on this machine, of this target."""
        affinity = self._section(root, "affinity", Affinity, problems)
        if affinity is not None and affinity.is_set:
            part = None if target is None else self._parts.target(target[0])
            problems.extend(
                affinity_check.problems(root, affinity, part, target and target[1], self._parts.topology)
            )
        return affinity

    def _read(
        self, model: type[M], node: Node, path: tuple[str, ...], mark: Mark, problems: list[Problem]
    ) -> M | None:
        key = (model, json.dumps(plain(node)))
        value = self._cache.get(key)
        if value is None:
            value = read_model(model, node, path, mark, problems, self._files)
            if value is not None:
                self._cache[key] = value
        return value  # type: ignore[return-value]

    def _section(self, root: Keys, name: str, model: type[M], problems: list[Problem]) -> M | None:
        mark = root.mark_of(name)
        return self._read(model, root.get(name) or Keys(mark, {}), (name,), mark, problems)

    def _load(self, root: Keys, workload: tuple[str, Options] | None, problems: list[Problem]) -> Load | None:
        """The load; where the workload knows settings that the plan leaves open, with these."""
        defaults: JsonObject = {}
        if workload is not None:
            name, options = workload
            defaults = self._parts.workload(name).load_settings(options)
        node = root.get("load") or Keys(root.mark_of("load"), {})
        if defaults and (isinstance(node, Keys) or plain(node) is None):
            mark = root.mark_of("workload")
            entries = node.entries if isinstance(node, Keys) else {}
            default_entries = {
                key: Entry(mark, Scalar(mark, value, str(value))) for key, value in defaults.items()
            }
            root = Keys(
                root.mark,
                {
                    **root.entries,
                    "load": Entry(root.mark_of("load"), Keys(node.mark, {**default_entries, **entries})),
                },
            )
        return self._section(root, "load", Load, problems)

    def _knows_load(self, root: Keys) -> bool:
        """True if the workload named, readable or not, is one that knows settings of the load."""
        node = root.get("workload")
        named = node.entries if isinstance(node, Keys) else {}
        installed = (name for name in named if name in self._parts.workloads)
        return any(self._parts.workload(name).sets_load for name in installed)

    def _misfits(
        self, root: Keys, workload: tuple[str, Options], load: Load, target: tuple[str, Options] | None
    ) -> list[Problem]:
        """Why the workload cannot run under this load, or on this target."""
        name, options = workload
        part = self._parts.workload(name)
        kind = None if target is None else self._parts.target_kind(*target)
        return [_misfit(root, misfit.path, misfit) for misfit in part(options).misfits(load, kind)]

    def _target(self, root: Keys, problems: list[Problem]) -> tuple[str, Options] | None:
        """The target with its options, and why it cannot be had on this machine."""
        target = self._one_part(root, "target", self._parts.targets, problems)
        if target is not None:
            name, options = target
            if (key := id(options)) not in self._misfits_of:  # which lives as long as this does
                self._misfits_of[key] = tuple(self._parts.target(name).misfits(options))
            misfits = self._misfits_of[key]
            problems.extend(_misfit(root, f"target.{name}.{misfit.path}", misfit) for misfit in misfits)
        return target

    def _one_part(
        self,
        root: Keys,
        section: str,
        installed: Mapping[str, type[Any]],
        problems: list[Problem],
        target: str | None = None,
    ) -> tuple[str, Options] | None:
        """The only part named in `section`, with its options. A mistake lists those for `target`.

        The options of a misspelt name are checked as those of the part that was probably meant, so that all
        their errors appear at once.
        """
        node = root.get(section)
        entries = node.entries if isinstance(node, Keys) else {}
        names = [name for name in entries if name in installed]
        unknown = [name for name in entries if name not in installed]
        meant: dict[str, str | None] = {}
        if unknown or len(names) != 1:
            fitting = self._fitting(installed, target)
            if not entries or len(names) > 1:
                problems.append(self._not_one_part(root, section, fitting))
                return None
            problems.extend(_unknown_part(section, name, entries[name].mark, fitting) for name in unknown)
            meant = {name: nearest(name, fitting, MISSPELT) for name in unknown}
            names = names or list(filter(None, meant.values()))
            if not names:
                return None
        name = names[0]
        parts = [entry for key, entry in entries.items() if name in (key, meant.get(key))]
        model: type[Options] = installed[name].Options
        options = self._read(model, _merged(parts), (section, name), parts[0].mark, problems)
        return (name, options) if options is not None else None

    def _fitting(self, installed: Mapping[str, type[Any]], target: str | None) -> Mapping[str, type[Any]]:
        """The workloads for `target`, or all installed parts where it is not known."""
        return (target and self._parts.workloads_for(target)) or installed

    @staticmethod
    def _not_one_part(root: Keys, section: str, fitting: Mapping[str, type[Any]]) -> Problem:
        """A section that has to name one part and does not; `fitting` are those it could name."""
        node = root.get(section)
        example = next(iter(fitting), "name")
        form = ALLOWED_PART(names=listed(fitting), example=f"{section}: {{{example}: {{...}}}}")
        if node is None or plain(node) is None:
            return Problem(root.mark_of(section), section, MISSING(allowed=form))
        if isinstance(node, Keys):
            message = INVALID_NAMES(count=len(node.entries), names=listed(node.entries), allowed=form)
        else:
            message = INVALID(value=shown(plain(node)), allowed=form)
        near = nearest(node.text, fitting) if isinstance(node, Scalar) else None
        near = f"{section}: {{{near}: {{}}}}" if near else None
        return Problem(node.mark, section, message, near)

    def _monitors(self, root: Keys, target: str | None, problems: list[Problem]) -> dict[str, Options]:
        """The monitors named, and those of the default ones that fit the target."""
        node = root.get("monitors")
        entries = node.entries if isinstance(node, Keys) else {}
        monitors: dict[str, Options] = {}
        for name, entry in entries.items():
            if entry.implied and (
                target is None or not self._parts.is_default(self._parts.monitors[name], target)
            ):
                continue
            part = part_name(name)
            if part not in self._parts.monitors:
                problems.append(_unknown_part("monitors", part, entry.mark, self._parts.monitors))
                continue
            model = self._parts.monitors[part].Options
            options = self._read(model, entry.node, ("monitors", part), entry.mark, problems)
            if options is not None:
                monitors[name] = options
        problems.extend(_metrics_twice(entries, monitors))
        return monitors

    def _fit(self, root: Keys, target: tuple[str, Options], workload: str) -> list[Problem]:
        part = self._parts.workload(workload)
        if self._parts.fits(part, *target):
            return []
        name, _ = target
        if self._parts.fits(part, name):
            needs = sorted(capability.name for capability in part.needs & self._parts.target(name).offers)
            message = WORKLOAD_PROTOCOL(workload=workload, target=name, needs=needs)
        else:
            message = WORKLOAD_MISFIT(workload=workload, target=name, allowed=self._allowed(part))
        return [Problem(root.mark_of("workload"), f"workload.{workload}", message)]

    def _unequal(
        self, root: Keys, target: tuple[str, Options], workload: tuple[str, Options]
    ) -> Iterator[Problem]:
        """Settings of the target that do not fit the options of the workload."""
        (target_name, target_options), (workload_name, options) = target, workload
        settings = self._parts.target(target_name).shared_settings(target_options, workload_name)
        for misfit in unequal(target_name, settings, workload_name, options):
            yield _misfit(root, misfit.path, misfit)

    def _allowed(self, part: type[UsedPart[Any]]) -> Message:
        """The targets that a workload or monitor can be used with, else what one would have to offer."""
        targets = self._parts.targets_for(part)
        if targets:
            return ALLOWED_TARGETS(count=len(targets), targets=targets)
        return ALLOWED_OFFERING_TARGET(needs=sorted(capability.name for capability in part.needs))

    def _watched(
        self, root: Keys, target: tuple[str, Options], monitors: Mapping[str, Options]
    ) -> Iterator[Problem]:
        """Monitors that look into a target of another kind, or that have options which do not fit it."""
        node = root.get("monitors")
        if not isinstance(node, Keys):
            return
        name_of_target, of_target = target
        kind = self._parts.target(name_of_target)
        for name, options in monitors.items():
            part, mark = self._parts.monitor(name), node.entries[name].mark
            if self._parts.fits(part, name_of_target):
                for misfit in part.target_misfits(options, kind, of_target):
                    yield Problem(mark, f"monitors.{name}.{misfit.path}", misfit.message)
            else:
                message = MONITOR_MISFIT(monitor=name, target=name_of_target, allowed=self._allowed(part))
                yield Problem(mark, f"monitors.{name}", message)


def _unknown_part(section: str, name: str, mark: Mark, fitting: Mapping[str, type[Any]]) -> Problem:
    """A name that no installed part has; `fitting` are those it could be."""
    near = nearest(name, fitting)
    message = UNKNOWN_PART[section](name=shown(name), names=listed(fitting))
    return Problem(mark, f"{section}.{name}", message, f"{section}.{near}" if near else None)


def _merged(parts: Sequence[Entry]) -> Node:
    """The options under several spellings of one part's name."""
    first, *others = (entry.node for entry in parts)
    for node in others:
        if isinstance(first, Keys) and isinstance(node, Keys):
            first = Keys(first.mark, {**first.entries, **node.entries})
    return first


def _metrics_twice(entries: Mapping[str, Entry], monitors: Mapping[str, Options]) -> Iterator[Problem]:
    """Names that two monitors give to metrics of theirs."""
    owners: dict[str, str] = {}
    for monitor, options in monitors.items():
        for name in options.metric_names:
            if (owner := owners.setdefault(name, monitor)) != monitor:
                message = METRIC_TWICE(name=shown(name), monitor=owner)
                yield Problem(entries[monitor].mark, f"monitors.{part_name(monitor)}.metrics", message)


def _misfit(root: Keys, path: str, misfit: Misfit) -> Problem:
    """At the place of its setting, or of the nearest section above it that the plan has."""
    node: Node | None = root
    mark = root.mark
    for key in path.split("."):
        if isinstance(node, Keys):
            mark, node = node.mark_of(key), node.get(key)
    return Problem(mark, path, misfit.message)


def _alone(root: Keys, groups: Sequence[Group], parts: Parts) -> Iterator[Problem]:
    """Only the engine makes the loads of several groups in one window."""
    section = root.get("workloads")
    for group in groups:
        if parts.workload(group.workload_name).made_by is not None:
            mark = section.mark_of(group.name) if isinstance(section, Keys) else root.mark
            yield Problem(mark, f"workloads.{group.name}", WORKLOAD_ALONE(workload=group.workload_name))


def _uncounted(root: Keys, load: Load) -> Iterator[Problem]:
    """Client groups end together, when their time is over."""
    section = root.get("load")
    for key in BOUNDS:
        if getattr(load, key) is not None:
            mark = section.mark_of(key) if isinstance(section, Keys) else root.mark_of("load")
            yield Problem(mark, f"load.{key}", LOAD_COUNT_OF_ONE())


def _load_problems(root: Keys, load: Load) -> list[Problem]:
    """Conditions that involve several settings of the load."""
    problems: list[Problem] = []
    if load.clients is None:
        allowed = (ALLOWED_CLIENTS if load.rate is None else ALLOWED_CONNECTIONS)()
        problems.append(Problem(root.mark_of("load"), "load.clients", MISSING(allowed=allowed)))

    def wrong(key: str, message: Message, nearest: str | None = None) -> None:
        section = root.get("load")
        mark = section.mark_of(key) if isinstance(section, Keys) else root.mark_of("load")
        problems.append(Problem(mark, f"load.{key}", message, nearest))

    if load.requests is not None and load.requests_per_client is not None:
        wrong("requests_per_client", LOAD_TWO_COUNTS())
    elif load.requests is not None and load.clients is not None and load.requests < load.clients:
        wrong("requests", LOAD_FEW_REQUESTS(requests=load.requests, clients=load.clients))
    if load.requests_per_client is not None and load.rate is not None:
        wrong("requests_per_client", LOAD_COUNT_WITH_RATE())
    if load.duration < load.interval:
        message = LOAD_SHORTER_THAN_INTERVAL(duration=load.duration.text, interval=load.interval.text)
        wrong("duration", message)
    if load.rate is None:
        for key in OPEN_LOOP:
            if key in load.model_fields_set:
                wrong(key, LOAD_WITHOUT_RATE())
    elif (length := rate.length_s(load.rate)) is not None and length > load.duration:
        message = LOAD_SHORTER_THAN_RATE(duration=load.duration.text, length=length.text)
        wrong("duration", message, length.text)
    return problems
