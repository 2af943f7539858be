"""Other differences between the sides of a comparison: plans, systems under test, machines and tools of their
runs, and disturbances of the machine in their trials.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from loadcell.analysis.compare import sides as sides_of
from loadcell.analysis.compare.sides import Side, Sides
from loadcell.analysis.disturbances import DISTURBANCES, WAITING, noticed_in
from loadcell.analysis.finding import Finding, FindingCode, Subject
from loadcell.analysis.systems import target_name
from loadcell.analysis.validity import check_advice
from loadcell.model.json import JsonObject
from loadcell.model.message import Count, Message, MessageCode
from loadcell.model.panels import varying_facts
from loadcell.model.run_record import RunRecord, written
from loadcell.model.run_record import differences as value_differences
from loadcell.model.trial_record import TrialRecord

CHANGED = MessageCode("compare.changed", after=list, before=list, path=str)
CHANGED_WITHIN = MessageCode("compare.changed.within", change=Message, treatments=list)

#: `plan` differences make two runs different experiments; the others say what besides the thing tested may
#: have acted.
Kind = Literal["labels", "about", "source", "files", "plan", "target", "host", "tools", "design"]

#: Sections of a treatment's settings that do not bear on what is measured.
_FREE = frozenset({"limits", "expect"})
#: What of a host changes from minute to minute, or says nothing of speed.
_VOLATILE = (
    "load_at_start",
    "cpu.mhz",
    "swap_used_bytes",
    "filesystems",
    "network",
    "unavailable",
    "unavailable_codes",
    "unanswered",
)
#: What a target says of itself that is another in every run.
_OF_THE_MOMENT = (".path", "size_bytes", "pid", "port", "socket", "started", ".modified_utc")
#: Names of databases that loadcell makes: the rest of such a name is of the plan or the run.
_MADE = "loadcell_"
_DATABASE = "database.name"
_DIGEST = re.compile("[0-9a-f]{64}")
#: Digits of a digest that tell two files apart, as in abbreviated commits.
_DIGITS = 12
_TOOLS = ("loadcell_version", "engine_version", "python")
_DESIGN = ("order", "design", "repeats")


@dataclass(frozen=True)
class Difference:
    """One thing that differs: where, and what the first run or side and another one had (None: nothing).

    A tuple are the distinct values of several runs.
    """

    kind: Kind
    path: str
    before: Any
    after: Any
    treatments: tuple[str, ...] = ()

    @property
    def message(self) -> Message:
        """The difference in words."""
        change = CHANGED(path=self.path, before=values(self.before), after=values(self.after))
        return CHANGED_WITHIN(change=change, treatments=self.treatments[:3]) if self.treatments else change

    def __str__(self) -> str:
        return self.message.text


def values(value: Any) -> list[str | Message]:
    """The values of one side of a difference for a message; of SHA-256 digests the first digits."""
    return [_shortened(written(item)) for item in _each(value)]


def _shortened(text: str | Message) -> str | Message:
    return f"{text[:_DIGITS]}…" if isinstance(text, str) and _DIGEST.fullmatch(text) else text


def merged(differences: Iterable[Difference]) -> list[Difference]:
    """Differences of several runs from one: of each thing all values that it has."""
    by_path: dict[tuple[str, ...], Difference] = {}
    for difference in differences:
        key = (difference.kind, difference.path, *difference.treatments)
        earlier = by_path.get(key, difference)
        before, after = (
            distinct((*_each(first), *_each(other)))
            for first, other in ((earlier.before, difference.before), (earlier.after, difference.after))
        )
        by_path[key] = replace(difference, before=before, after=after)
    return list(by_path.values())


def distinct(values: Iterable[Any]) -> Any:
    """Values without repetition: a tuple of several, or the single one."""
    several: list[Any] = []
    several += (value for value in values if value not in several)
    return several[0] if len(several) == 1 else tuple(several)


def _each(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)


def plans(before: RunRecord, after: RunRecord) -> tuple[Difference, ...]:
    """Where the settings of treatments that both runs have differ, and which treatments only one has."""
    old = {treatment.id: treatment.settings for treatment in before.treatments}
    new = {treatment.id: treatment.settings for treatment in after.treatments}
    if len(old) == len(new) == 1:
        (name,) = old
        new = {name: next(iter(new.values()))}
    by_path: dict[tuple[str, str, str], list[str]] = {}
    values: dict[tuple[str, str, str], tuple[Any, Any]] = {}
    shared = [name for name in old if name in new]
    for name in shared:
        was, now = (
            {key: value for key, value in document[name].items() if key not in _FREE}
            for document in (old, new)
        )
        for difference in value_differences(was, now):
            key = (difference.path, repr(difference.before), repr(difference.after))
            by_path.setdefault(key, []).append(name)
            values[key] = (difference.before, difference.after)
    differences = [
        Difference("plan", key[0], *values[key], () if len(names) == len(shared) else tuple(names))
        for key, names in by_path.items()
    ]
    gone, come = _listed(old.keys() - new.keys()), _listed(new.keys() - old.keys())
    if gone or come:
        differences.append(Difference("plan", "treatments", gone, come))
    return tuple(differences)


def _listed(names: Iterable[str]) -> str | None:
    ordered = sorted(names)
    return ", ".join(ordered[:5]) + (" …" if len(ordered) > 5 else "") if ordered else None


def designs(before: RunRecord, after: RunRecord) -> tuple[Difference, ...]:
    """Arrangement of the trials: it affects the precision of the measurement, not its subject."""
    return tuple(
        Difference("design", key, getattr(before, key), getattr(after, key))
        for key in _DESIGN
        if getattr(before, key) != getattr(after, key)
    )


def tools(before: RunRecord, after: RunRecord) -> tuple[Difference, ...]:
    """Versions of the programs that made and measured the load."""
    return tuple(
        Difference("tools", key, getattr(before, key), getattr(after, key))
        for key in _TOOLS
        if getattr(before, key) != getattr(after, key)
    )


def hosts(before: JsonObject, after: JsonObject) -> tuple[Difference, ...]:
    """Facts of the machines, matched by their role, as `environment.json` has them."""
    old, new = (
        {str(host.get("role")): host for host in document.get("hosts") or ()} for document in (before, after)
    )
    single = len(old) == len(new) == 1
    differences = []
    for role in [*old, *(name for name in new if name not in old)]:
        pair = (old.get(role, {}), next(iter(new.values())) if single else new.get(role, {}))
        differences += [
            Difference("host", difference.path, difference.before, difference.after)
            for difference in value_differences(*_recorded_alike(*pair))
            if not any(f"{difference.path}.".startswith(f"{name}.") for name in _VOLATILE)
        ]
        if single:
            break
    return tuple(differences)


def _recorded_alike(before: JsonObject, after: JsonObject) -> tuple[JsonObject, JsonObject]:
    """Two hosts without what the disks of one of them only have: records of older versions state less."""
    old, new = (host.get("disks") for host in (before, after))
    if not old or not new:
        return before, after
    keys = {key for disk in old for key in disk} & {key for disk in new for key in disk}
    stated = [[{key: disk[key] for key in disk if key in keys} for disk in disks] for disks in (old, new)]
    return {**before, "disks": stated[0]}, {**after, "disks": stated[1]}


def targets(
    before: Sequence[Sequence[TrialRecord]], after: Sequence[Sequence[TrialRecord]]
) -> tuple[Difference, ...]:
    """Facts that the systems under test reported and that the runs of two sides do not have with the same
    values: those that stayed the same over the trials of a run. `before` and `after` have the trials by run.

    Where a factor switches the target, each target is compared with itself. Runs of one side may differ.
    """
    old, new = ([_by_target(records) for records in side] for side in (before, after))
    old_names, new_names = (dict.fromkeys(name for run in side for name in run) for side in (old, new))
    if len(old_names) == len(new_names) == 1:
        old, new = ([{"": [*records]} for records in side] for side in (before, after))
        old_names = new_names = {"": None}
    differences = []
    for name in (name for name in old_names if name in new_names):
        facts, facts_after = (_by_path(run[name] for run in side if name in run) for side in (old, new))
        differences += [
            Difference("target", f"{name}.{path}" if name else path, distinct(was), distinct(now))
            for path, was in facts.items()
            if (now := facts_after.get(path)) and {*map(repr, was)} != {*map(repr, now)}
        ]
    return tuple(differences)


def _by_path(runs: Iterable[Sequence[TrialRecord]]) -> dict[str, list[Any]]:
    """The steady facts of a target in several runs, by their paths."""
    values: dict[str, list[Any]] = {}
    for records in runs:
        for path, value in _steady(records).items():
            values.setdefault(path, []).append(value)
    return values


def _by_target(records: Sequence[TrialRecord]) -> dict[str, list[TrialRecord]]:
    """Trials by the name of their target."""
    by_target: dict[str, list[TrialRecord]] = {}
    for record in records:
        by_target.setdefault(target_name(record.settings), []).append(record)
    return by_target


def _steady(records: Sequence[TrialRecord]) -> JsonObject:
    """Paths of the targets' descriptions that have one value in all trials."""
    values: dict[str, list[Any]] = {}
    for record in records:
        for path, value in _flat(record.target or {}):
            values_of_path = values.setdefault(path, [])
            if value not in values_of_path:
                values_of_path.append(value)
    return {
        path: item[0]
        for path, item in values.items()
        if len(item) == 1
        and not any(path.endswith(end) for end in _OF_THE_MOMENT)
        and not _varies(path)
        and not (path == _DATABASE and str(item[0]).startswith(_MADE))
    }


def _varies(path: str) -> bool:
    """True for a fact that is declared to be another in any two runs."""
    patterns = (re.escape(pattern).replace(r"\*", "[^.]+") for pattern in varying_facts())
    return any(re.fullmatch(pattern, path) for pattern in patterns)


def _flat(document: JsonObject, prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in document.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{key}.")
        elif key == "settings" and isinstance(value, list):
            yield from (
                (f"{prefix}{key}.{item['name']}", item.get("value"))
                for item in value
                if isinstance(item, Mapping) and "name" in item
            )
        elif not isinstance(value, list):
            yield f"{prefix}{key}", value


#: Names of disturbances of the machine.
KINDS: Mapping[str, MessageCode] = {
    check: MessageCode(f"compare.disturbance.{check}") for check in sorted({*DISTURBANCES, WAITING})
}
DISTURBED = FindingCode("compare.disturbed", Subject.VERDICT, "caution", kinds=list, sides=list)
#: Trials without a disturbance in which the load generator waited for a core.
WAITED = FindingCode("compare.waited", Subject.VERDICT, "caution", advice=Message, sides=list)
DISTURBED_SIDE = MessageCode("compare.disturbed.side", count=Count, of=Count, side=str)


@dataclass(frozen=True)
class Disturbed:
    """Number of trials of a side that count and were disturbed, and the number by each check.

    `waited` is the number of others in which the load generator waited for a core.
    """

    side: Side
    count: int
    of: int
    kinds: Mapping[str, int]
    waited: int = 0


def disturbed(sides: Sides) -> tuple[Disturbed, ...]:
    """The disturbances of each side, of trials whose values are compared."""
    return tuple(_of_side(side, sides) for side in sides.sides)


def disturbance_findings(sides: Sides) -> Iterator[Finding]:
    """One finding on all sides with the kinds, the most frequent first; none where nothing was noticed.
    Another one on load generators that waited for a core.
    """
    by_side = disturbed(sides)

    def counts(count: Callable[[Disturbed], int]) -> list[Message]:
        return [
            DISTURBED_SIDE(count=count(item), of=item.of, side=sides_of.name(sides, item.side))
            for item in by_side
        ]

    if kinds := sum((Counter(item.kinds) for item in by_side), Counter()):
        yield DISTURBED.finding(
            sides=counts(lambda item: item.count), kinds=[KINDS[check]() for check, _ in kinds.most_common()]
        )
    if any(item.waited for item in by_side):
        yield WAITED.finding(sides=counts(lambda item: item.waited), advice=check_advice(WAITING))


def _of_side(side: Side, sides: Sides) -> Disturbed:
    noticed = noticed_in(trial for context in sides.contexts for trial in side.trials.get(context, ()))
    return Disturbed(side, noticed.count, noticed.of, noticed.kinds, noticed.waited)
