"""Client groups: several workloads side by side, each with its share of the plan's load or with a dedicated
load.

A group is checked as if it stood alone in a plan, with `workload` and `load`; mistakes are then said of where
its settings really stand.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from loadcell.model import metrics
from loadcell.model.json import JsonObject
from loadcell.model.message import Count, Message, MessageCode
from loadcell.plan import rate
from loadcell.plan.model import OF_A_GROUP, Group, Load, Resolved
from loadcell.plan.nodes import Entry, Items, Keys, Scalar, plain
from loadcell.plan.parts import Options, Parts
from loadcell.plan.paths import of_group
from loadcell.plan.problems import (
    INVALID,
    UNKNOWN_SETTING,
    Mark,
    PlanError,
    Problem,
    in_order,
    listed,
    nearest,
    shown,
)

ALLOWED_NUMBER_ABOVE_0 = MessageCode("allowed.number-above-0")
ALLOWED_GROUPS = MessageCode("allowed.groups", example=str)
ALLOWED_GROUP = MessageCode("allowed.group", names=list, example=str)
ALLOWED_GROUP_LOAD = MessageCode("allowed.group-load", example=str)
INVALID_NO_NAME = MessageCode("plan.found-no-name", value=str, example=str)
INVALID_GROUP_NAME = MessageCode("plan.found-group-name", name=str)
GROUP_LISTED_TWICE = MessageCode("plan.group-listed-twice", name=str)
GROUPS_AND_WORKLOAD = MessageCode("plan.groups-beside-workload")
GROUPS_NONE = MessageCode("plan.groups-none", allowed=Message)
GROUPS_TOO_MANY = MessageCode("plan.groups-too-many", count=Count, most=Count)
GROUP_METRIC_NAME = MessageCode("plan.group-metric-name", name=str)
GROUP_UNKNOWN_SETTING = MessageCode("plan.group-unknown-setting", name=str, settings=list)
GROUP_WORKLOADS = MessageCode("plan.group-workloads", count=Count, names=list, allowed=Message)
GROUP_NO_WORKLOAD = MessageCode("plan.group-no-workload", allowed=Message)
GROUP_SHARE_AND_LOAD = MessageCode("plan.group-share-and-load", load=str)
GROUP_NO_SHARE = MessageCode("plan.group-no-share", load=str)
GROUPS_MIXED = MessageCode("plan.groups-mixed", shared=list, loads=list)
GROUPS_LOAD_UNUSED = MessageCode("plan.groups-load-unused")
GROUP_WINDOW = MessageCode("plan.group-window", key=str)
GROUPS_FEW_CLIENTS = MessageCode("plan.groups-few-clients", clients=Count, groups=Count)
GROUPS_OTHER_DATA = MessageCode(
    "plan.groups-other-data", section=str, key=str, value=str, other=str, settings=list
)

#: each has dedicated threads and connections; a report's colours distinguish no more
MOST_GROUPS = 8
_FORM = "read-only: {sysbench: {...}, share: 20}"
_LISTED_FORM = "{name: read-only, sysbench: {...}, share: 20}"
_LOAD_FORM = "{clients: 8}"
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,31}")

_WINDOW = ("warmup", "duration", "interval")

#: Checks one plan for one workload: its settings, or None, and the mistakes in it.
Alone = Callable[[Keys], tuple[Resolved | None, list[Problem]]]


def by_name(root: Keys, problems: list[Problem]) -> Keys:
    """The plan with `workloads` as a mapping from name to group, also when it was written as a list of
    `{name: ..., ...}`.

    Raises PlanError, with all `problems` so far, for a list whose groups have no names: nothing can be said
    of them.
    """
    before = len(problems)
    node = root.get("workloads")
    if not isinstance(node, Items):
        return root
    entries: dict[str, Entry] = {}
    for item in node.nodes:
        named = item.get("name") if isinstance(item, Keys) else None
        if not isinstance(item, Keys) or not isinstance(named, Scalar):
            problems.append(
                Problem(
                    item.mark, "workloads", INVALID_NO_NAME(value=shown(plain(item)), example=_LISTED_FORM)
                )
            )
        elif named.text in entries:
            message = GROUP_LISTED_TWICE(name=shown(named.text))
            problems.append(Problem(named.mark, "workloads", message))
        else:
            entries[named.text] = Entry(named.mark, item.without("name"))
    if len(problems) > before:
        raise PlanError(in_order(problems))
    return Keys(
        root.mark, {**root.entries, "workloads": Entry(root.mark_of("workloads"), Keys(node.mark, entries))}
    )


def names(root: Keys) -> tuple[str, ...]:
    """The names of the plan's groups."""
    node = root.get("workloads")
    return tuple(node.entries) if isinstance(node, Keys) else ()


@dataclass(frozen=True)
class Reader:
    """Reads the groups of one tree of settings. `load` is the plan's own, already read."""

    parts: Parts
    alone: Alone
    root: Keys
    load: Load
    problems: list[Problem]

    def read(self) -> tuple[Group, ...]:
        """Every group that is right."""
        written = list(self._written())
        shares = self._shares(written) if written else None
        if shares is None:
            return ()
        groups = []
        for index, (name, entry, workload) in enumerate(written):
            group = self._group(name, entry, workload, shares, index)
            if group is not None:
                groups.append(group)
        if len(groups) == len(written):
            self.problems.extend(_clashes(groups, self.parts, self.root))
        return tuple(groups)

    def _wrong(self, mark: Mark, path: str, message: Message, near: str | None = None) -> None:
        self.problems.append(Problem(mark, path, message, near))

    def _written(self) -> Iterator[tuple[str, Entry, str]]:
        """The groups that can be read: name, settings, and the name of the workload."""
        mark, node = self.root.mark_of("workloads"), self.root.get("workloads")
        if self.root.get("workload") is not None:
            self._wrong(mark, "workloads", GROUPS_AND_WORKLOAD())
        if not isinstance(node, Keys) or not node.entries:
            code = GROUPS_NONE if node is None or not plain(node) else INVALID
            message = code.pick(value=shown(node and plain(node)), allowed=ALLOWED_GROUPS(example=_FORM))
            self._wrong(mark, "workloads", message)
            return
        if len(node.entries) > MOST_GROUPS:
            message = GROUPS_TOO_MANY(count=len(node.entries), most=MOST_GROUPS)
            self._wrong(mark, "workloads", message)
            return
        for name, entry in node.entries.items():
            workload = self._workload(name, entry)
            if workload is not None:
                yield name, entry, workload

    def _workload(self, name: str, entry: Entry) -> str | None:
        """The name of a group's workload; None when the group cannot be read at all."""
        path, settings = f"workloads.{name}", of_group(self.parts)
        if not _NAME.fullmatch(name):
            self._wrong(entry.mark, path, INVALID_GROUP_NAME(name=shown(name)))
            return None
        # the name of operations, and those of metrics before any dot
        if name in {"transaction", *(key.partition(".")[0] for key in metrics.declared())}:
            self._wrong(entry.mark, path, GROUP_METRIC_NAME(name=shown(name)))
            return None
        example = next(iter(self.parts.workloads), "name")
        form = ALLOWED_GROUP(
            names=listed(self.parts.workloads), example=f"{name}: {{{example}: {{...}}, share: 50}}"
        )
        if not isinstance(entry.node, Keys):
            self._wrong(entry.node.mark, path, INVALID(value=shown(plain(entry.node)), allowed=form))
            return None
        unknown = [key for key in entry.node.entries if key not in settings]
        for key in unknown:
            near = nearest(key, settings)
            message = GROUP_UNKNOWN_SETTING(name=shown(key), settings=list(settings))
            mark = entry.node.mark_of(key)
            self._wrong(mark, f"{path}.{key}", message, f"{path}.{near}" if near else None)
        named = [key for key in entry.node.entries if key in self.parts.workloads]
        if len(named) != 1 and not unknown:
            code = GROUP_WORKLOADS if named else GROUP_NO_WORKLOAD
            self._wrong(entry.mark, path, code.pick(count=len(named), names=named, allowed=form))
        return named[0] if len(named) == 1 and not unknown else None

    def _shares(self, written: Iterable[tuple[str, Entry, str]]) -> list[float | None] | None:
        """Each group's share, all None when they have loads of their own; None after adding to the
        problems.
        """
        before = len(self.problems)
        shares: list[tuple[str, float | None]] = []
        for name, entry, _ in written:
            assert isinstance(entry.node, Keys)
            path, share, load = f"workloads.{name}", entry.node.get("share"), entry.node.get("load")
            if (share is None) == (load is None):
                self._wrong(
                    entry.mark,
                    path,
                    (GROUP_NO_SHARE if share is None else GROUP_SHARE_AND_LOAD)(load=f"load: {_LOAD_FORM}"),
                )
            elif share is not None:
                value = share.value if isinstance(share, Scalar) else None
                if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < math.inf:
                    message = INVALID(value=shown(plain(share)), allowed=ALLOWED_NUMBER_ABOVE_0())
                    self._wrong(share.mark, f"{path}.share", message)
                else:
                    shares.append((name, float(value) if value != int(value) else int(value)))
            else:
                shares.append((name, None))
        kinds = {share is None for _, share in shares}
        if len(kinds) == 2:
            shared, loads = (
                [name for name, share in shares if (share is None) is kind] for kind in (False, True)
            )
            mark = self.root.mark_of("workloads")
            self._wrong(mark, "workloads", GROUPS_MIXED(shared=shared, loads=loads))
        if kinds == {True}:
            section = self.root.get("load")
            for key in OF_A_GROUP:
                if key in self.load.model_fields_set and isinstance(section, Keys):
                    self._wrong(section.mark_of(key), f"load.{key}", GROUPS_LOAD_UNUSED())
        return [share for _, share in shares] if len(self.problems) == before else None

    def _group(
        self, name: str, entry: Entry, workload: str, shares: list[float | None], index: int
    ) -> Group | None:
        """One group, checked as the only one of a plan."""
        assert isinstance(entry.node, Keys)
        share = shares[index]
        load = self._of_group(name, entry.node) if share is None else self._part(shares, index)
        if load is None:
            return None
        of_load = entry.node if share is None else self.root
        written = Entry(entry.mark, Keys(entry.node.mark, {workload: entry.node.entries[workload]}))
        entries = {"workload": written, "load": Entry(of_load.mark_of("load"), load)}
        if "target" in self.root.entries:
            entries["target"] = self.root.entries["target"]
        resolved, problems = self.alone(Keys(self.root.mark, entries))
        stub = Group(name, workload, Options(), self.load, share)
        for problem in problems:
            self._once(replace(problem, path=stub.placed(problem.path)))
        if resolved is None:
            return None
        load_of_group = resolved.load
        if load_of_group.rate is not None and share is not None:
            part = rate.part(load_of_group.rate, share / sum(portion or 0.0 for portion in shares))
            load_of_group = load_of_group.model_copy(update={"rate": part})
        return Group(name, workload, resolved.workload, load_of_group, share)

    def _of_group(self, name: str, group: Keys) -> Keys | None:
        """A group's own load, with the plan's window."""
        node, path = group.get("load"), f"workloads.{name}.load"
        if not isinstance(node, Keys):
            assert node is not None
            message = INVALID(value=shown(plain(node)), allowed=ALLOWED_GROUP_LOAD(example=_LOAD_FORM))
            self._wrong(node.mark, path, message)
            return None
        wrong = [key for key in node.entries if key not in OF_A_GROUP]
        for key in wrong:
            if key in _WINDOW:
                self._wrong(node.mark_of(key), f"{path}.{key}", GROUP_WINDOW(key=key))
                continue
            near = nearest(key, OF_A_GROUP)
            message = UNKNOWN_SETTING(name=shown(key), section=path, settings=OF_A_GROUP)
            self._wrong(node.mark_of(key), f"{path}.{key}", message, f"{path}.{near}" if near else None)
        return None if wrong else Keys(node.mark, {**self._window(), **node.entries})

    def _part(self, shares: list[float | None], index: int) -> Keys | None:
        """A share of the plan's load: of the clients, whole ones. (That of a rate is taken when it has been
        read.)
        """
        section = self.root.get("load")
        entries = dict(section.entries) if isinstance(section, Keys) else {}
        mark = section.mark_of("clients") if isinstance(section, Keys) else self.root.mark_of("load")
        clients = self.load.clients
        if clients is not None:
            if clients < len(shares):
                message = GROUPS_FEW_CLIENTS(clients=clients, groups=len(shares))
                self._once(Problem(mark, "load.clients", message))
                return None
            count = integer_parts(clients, [share or 0.0 for share in shares])[index]
            entries["clients"] = Entry(mark, Scalar(mark, count, str(count)))
        return Keys(mark, {**entries, **self._window()})

    def _window(self) -> dict[str, Entry]:
        """Settings of the trial's window, by the plan or by default."""
        section = self.root.get("load")
        limits = {}
        for key in _WINDOW:
            mark = section.mark_of(key) if isinstance(section, Keys) else self.root.mark_of("load")
            text = getattr(self.load, key).text
            limits[key] = Entry(mark, Scalar(mark, text, text))
        return limits

    def _once(self, problem: Problem) -> None:
        """Mistakes in the plan's load are mistakes of each group."""
        if problem not in self.problems:
            self.problems.append(problem)


def integer_parts(total: int, shares: Sequence[float]) -> list[int]:
    """`total` in whole parts as near to the shares as can be (largest remainders; Hamilton 1792), none of
    them 0.
    """
    exact = [total * share / sum(shares) for share in shares]
    parts = [math.floor(portion) for portion in exact]
    by_fraction = sorted(range(len(shares)), key=lambda index: parts[index] - exact[index])
    for index in by_fraction[: total - sum(parts)]:
        parts[index] += 1
    for index, part in enumerate(parts):
        if part == 0:
            parts[index] = 1
            parts[parts.index(max(parts))] -= 1
    return parts


def _clashes(groups: Sequence[Group], parts: Parts, root: Keys) -> Iterator[Problem]:
    """Data of one kind have their tables' names in common: they must be the same data."""
    node = root.get("workloads")
    assert isinstance(node, Keys)
    first: dict[str, tuple[Group, JsonObject]] = {}
    for group in groups:
        data = parts.workload(group.workload_name)(group.workload).data() or {}
        for kind, section in data.items():
            other, theirs = first.setdefault(kind, (group, section))
            different = [key for key in section if section[key] != theirs.get(key)]
            if different:
                key = different[0]
                message = GROUPS_OTHER_DATA(
                    section=other.section,
                    key=key,
                    value=str(section[key]),
                    other=str(theirs.get(key)),
                    settings=different,
                )
                yield Problem(node.mark_of(group.name), group.section, message)
