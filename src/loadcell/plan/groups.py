"""Client groups: several workloads side by side, each with its share of the plan's load or with a load of its
own.

A group is checked as if it stood alone in a plan, with `workload` and `load`; mistakes are then said of where
its settings really stand.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from loadcell.model import metrics
from loadcell.plan import rate
from loadcell.plan.model import OF_A_GROUP, Group, Load, Resolved
from loadcell.plan.nodes import Entry, Items, Keys, Scalar, plain
from loadcell.plan.parts import Options, Parts
from loadcell.plan.paths import of_group
from loadcell.plan.problems import Mark, PlanError, Problem, in_order, listed, nearest, shown

#: each has dedicated threads and connections; a report's colours distinguish no more
MOST_GROUPS = 8
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,31}")
_FORM = "groups by name, each with a workload and a share or load: `read-only: {sysbench: {...}, share: 20}`"
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
            finding = f"found {shown(plain(item))}, without a name"
            problems.append(
                Problem.at(
                    item.mark, "workloads", finding, allowed="`{name: read-only, sysbench: {...}, share: 20}`"
                )
            )
        elif named.text in entries:
            problems.append(
                Problem.at(
                    named.mark, "workloads", f"{shown(named.text)} is listed twice", allowed="each name once"
                )
            )
        else:
            entries[named.text] = Entry(named.mark, item.without("name"))
    if len(problems) > before:
        raise PlanError(in_order(problems))
    return Keys(
        root.mark, {**root.entries, "workloads": Entry(root.place("workloads"), Keys(node.mark, entries))}
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

    def _wrong(self, mark: Mark, path: str, finding: str, allowed: str, near: str | None = None) -> None:
        self.problems.append(Problem.at(mark, path, finding, allowed=allowed, nearest=near))

    def _written(self) -> Iterator[tuple[str, Entry, str]]:
        """The groups that can be read: name, settings, and the name of the workload."""
        mark, node = self.root.place("workloads"), self.root.get("workloads")
        if self.root.get("workload") is not None:
            self._wrong(mark, "workloads", "stands beside `workload`", "one of them")
        if not isinstance(node, Keys) or not node.entries:
            value = "holds no group" if node is None or not plain(node) else f"found {shown(plain(node))}"
            self._wrong(mark, "workloads", value, _FORM)
            return
        if len(node.entries) > MOST_GROUPS:
            self._wrong(mark, "workloads", f"holds {len(node.entries)} groups", f"at most {MOST_GROUPS}")
            return
        for name, entry in node.entries.items():
            workload = self._workload(name, entry)
            if workload is not None:
                yield name, entry, workload

    def _workload(self, name: str, entry: Entry) -> str | None:
        """The name of a group's workload; None when the group cannot be read at all."""
        path, settings = f"workloads.{name}", of_group(self.parts)
        if not _NAME.fullmatch(name):
            self._wrong(
                entry.mark,
                path,
                f"found the name {shown(name)}",
                "up to 32 letters, digits, - and _, beginning with a letter",
            )
            return None
        # the name of operations, and those of metrics before any dot
        if name in {"transaction", *(key.partition(".")[0] for key in metrics.declared())}:
            self._wrong(entry.mark, path, f"{shown(name)} is the name of a figure", "another name")
            return None
        example = next(iter(self.parts.workloads), "name")
        form = f"one of {listed(self.parts.workloads)}, with its options (`{name}: {{{example}: {{...}}, share: 50}}`)"
        if not isinstance(entry.node, Keys):
            self._wrong(entry.node.mark, path, f"found {shown(plain(entry.node))}", form)
            return None
        unknown = [key for key in entry.node.entries if key not in settings]
        for key in unknown:
            near = nearest(key, settings)
            self._wrong(
                entry.node.place(key),
                f"{path}.{key}",
                f"there is no workload, and no setting of a group, called {shown(key)}",
                listed(settings),
                f"{path}.{near}" if near else None,
            )
        named = [key for key in entry.node.entries if key in self.parts.workloads]
        if len(named) != 1 and not unknown:
            finding = f"names {len(named)} workloads: {listed(named)}" if named else "names no workload"
            self._wrong(entry.mark, path, finding, form)
        return named[0] if len(named) == 1 and not unknown else None

    def _shares(self, written: Iterable[tuple[str, Entry, str]]) -> list[float | None] | None:
        """Each group's share, all None when they have loads of their own; None after adding to the problems."""
        before = len(self.problems)
        shares: list[tuple[str, float | None]] = []
        for name, entry, _ in written:
            assert isinstance(entry.node, Keys)
            path, share, load = f"workloads.{name}", entry.node.get("share"), entry.node.get("load")
            if (share is None) == (load is None):
                which = "both a share and a load" if share is not None else "neither a share nor a load"
                self._wrong(
                    entry.mark,
                    path,
                    f"has {which}",
                    "`share: 20` (parts of the plan's load), or `load: {clients: 8}`",
                )
            elif share is not None:
                value = share.value if isinstance(share, Scalar) else None
                if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < math.inf:
                    self._wrong(
                        share.mark, f"{path}.share", f"found {shown(plain(share))}", "a number above 0"
                    )
                else:
                    shares.append((name, float(value) if value != int(value) else int(value)))
            else:
                shares.append((name, None))
        kinds = {share is None for _, share in shares}
        if len(kinds) == 2:
            shared, loads = (
                listed(n for n, share in shares if (share is None) is kind) for kind in (False, True)
            )
            self._wrong(
                self.root.place("workloads"),
                "workloads",
                f"mixes shares of the plan's load ({shared}) with loads of their own ({loads})",
                "a share for each group, or a load for each",
            )
        if kinds == {True}:
            section = self.root.get("load")
            for key in OF_A_GROUP:
                if key in self.load.model_fields_set and isinstance(section, Keys):
                    self._wrong(
                        section.place(key),
                        f"load.{key}",
                        "is of no effect: each group has its own load",
                        "in the groups' `load`, or shares instead of these",
                    )
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
        entries = {"workload": written, "load": Entry(of_load.place("load"), load)}
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
            self._wrong(node.mark, path, f"found {shown(plain(node))}", "a mapping (`{clients: 8}`)")
            return None
        wrong = [key for key in node.entries if key not in OF_A_GROUP]
        for key in wrong:
            near = nearest(key, OF_A_GROUP)
            finding = (
                "is the same for all groups, which share one trial"
                if key in _WINDOW
                else f"there is no setting {shown(key)} in {path}"
            )
            allowed = f"`load.{key}` of the plan" if key in _WINDOW else listed(OF_A_GROUP)
            self._wrong(
                node.place(key),
                f"{path}.{key}",
                finding,
                allowed,
                f"{path}.{near}" if near and key not in _WINDOW else None,
            )
        return None if wrong else Keys(node.mark, {**self._window(), **node.entries})

    def _part(self, shares: list[float | None], index: int) -> Keys | None:
        """A share of the plan's load: of the clients, whole ones. (That of a rate is taken when it has been
        read.)
        """
        section = self.root.get("load")
        entries = dict(section.entries) if isinstance(section, Keys) else {}
        mark = section.place("clients") if isinstance(section, Keys) else self.root.place("load")
        clients = self.load.clients
        if clients is not None:
            if clients < len(shares):
                finding = f"{clients} cannot be shared by {len(shares)} groups"
                self._once(
                    Problem.at(
                        mark, "load.clients", finding, allowed=f"at least {len(shares)}: one for each group"
                    )
                )
                return None
            count = integer_parts(clients, [share or 0.0 for share in shares])[index]
            entries["clients"] = Entry(mark, Scalar(mark, count, str(count)))
        return Keys(mark, {**entries, **self._window()})

    def _window(self) -> dict[str, Entry]:
        """Settings of the trial's window, by the plan or by default."""
        section = self.root.get("load")
        limits = {}
        for key in _WINDOW:
            mark = section.place(key) if isinstance(section, Keys) else self.root.place("load")
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
    by_rest = sorted(range(len(shares)), key=lambda index: parts[index] - exact[index])
    for index in by_rest[: total - sum(parts)]:
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
    first: dict[str, tuple[Group, Mapping[str, Any]]] = {}
    for group in groups:
        part = parts.workloads[group.workload_name](group.workload)
        data: Mapping[str, Any] = (part.data() if hasattr(part, "data") else None) or {}
        for kind, section in data.items():
            other, theirs = first.setdefault(kind, (group, section))
            different = [key for key in section if section[key] != theirs.get(key)]
            if different:
                key = different[0]
                yield Problem.at(
                    node.place(group.name),
                    group.section,
                    f"needs other data than {other.section} in tables of the same names "
                    f"({key} is {section[key]}, and there {theirs.get(key)})",
                    allowed=f"equal values of {listed(different)}, or one of the two groups in a plan of its own",
                )
