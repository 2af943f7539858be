"""The plan's `faults`: what is broken, when, and for how long.

    faults:
      - {hang: storage.brick, at: 30s, for: 10s}
      - {kill: {subject: postgres}, after: 100000 operations, expect: [latency.max < 30s]}

One key of an entry is the action, with the subject or the action's options; the others say when. Times count
from the start of the measurement.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Protocol

from pydantic import BeforeValidator, ConfigDict, Field

from loadcell.model.json import JsonObject
from loadcell.model.message import MessageCode
from loadcell.plan.expect import Expectation
from loadcell.plan.model import Load
from loadcell.plan.nodes import Entry, Items, Keys, Node, Scalar, plain
from loadcell.plan.parts import Options, Parts, SubjectOptions
from loadcell.plan.problems import INVALID, MISSING, Problem, SettingError, listed, nearest, shown
from loadcell.plan.reading import read_model
from loadcell.plan.units import Duration

ALLOWED_FAULT_LIST = MessageCode("allowed.fault-list", example=str)
ALLOWED_FAULT = MessageCode("allowed.fault", actions=list, example=str)
ALLOWED_OPERATIONS = MessageCode("allowed.operations", example=str)
UNKNOWN_ACTION = MessageCode("plan.unknown-fault", name=str, actions=list)
UNKNOWN_SUBJECT = MessageCode("plan.unknown-subject", name=str, target=str, subjects=list)
NO_SUBJECTS = MessageCode("plan.no-fault-subjects", target=str)
UNFIT_SUBJECT = MessageCode("plan.unfit-subject", action=str, name=str, subjects=list)
UNFIT_FOR_PROXY = MessageCode("plan.unfit-for-proxy", action=str, name=str, subjects=list)
WHEN_MISSING = MessageCode("plan.fault-when-missing", action=str)
WHEN_TWICE = MessageCode("plan.fault-when-twice")
AT_TOO_LATE = MessageCode("plan.fault-too-late", at=str, duration=str)
FOR_WITHOUT_MEANING = MessageCode("plan.fault-for", action=str)
FOR_MISSING = MessageCode("plan.fault-for-missing", action=str)
TWICE_AT_ONCE = MessageCode("plan.fault-twice-at-once", action=str)
CHANGES_THE_SAME = MessageCode("plan.fault-changes-the-same", action=str, other=str)
SHARES_PARTS = MessageCode("plan.fault-shares-parts", action=str, other=str)
MAY_OVERLAP = MessageCode("plan.fault-may-overlap", action=str, other=str)
OVERLAPS = MessageCode("plan.fault-overlaps", action=str, other=str)
EXTERNAL_TARGET = MessageCode("plan.fault-external", action=str, target=str)
EXTERNAL_NOT_ALLOWED = MessageCode("plan.fault-external-not-allowed", action=str, target=str)

_EXAMPLE = "{hang: postgres, at: 10s, for: 5s}"
_OPERATIONS = re.compile(r"(\d[\d_]*)(?:\s+(?:operations|requests|transactions))?")
#: The name of a subject as the options of an action have it.
_SUBJECT = "subject"


def _operations(value: Any) -> Any:
    """A number of operations, also as `100000 operations`."""
    match = _OPERATIONS.fullmatch(value.strip()) if isinstance(value, str) else None
    if isinstance(value, str) and match is None:
        raise SettingError(
            INVALID(value=shown(value), allowed=ALLOWED_OPERATIONS(example="100000 operations"))
        )
    return value if match is None else int(match[1].replace("_", ""))


class FaultTiming(Options, use_attribute_docstrings=True):
    """When a fault is applied and undone, and what is expected of it."""

    model_config = ConfigDict(populate_by_name=True)

    at: Annotated[Duration, Field(ge=0)] | None = None
    """Time from the start of the measurement at which it is applied."""
    after: (
        Annotated[int, Field(ge=1), BeforeValidator(_operations, json_schema_input_type=int | str)] | None
    ) = None
    """Number of operations of the measurement after which it is applied: `100000 operations`."""
    for_: Annotated[Duration, Field(gt=0)] | None = Field(default=None, alias="for")
    """Time after which it is undone. Default: at the end of the measurement."""
    overlap: bool = False
    """Allows its application while another fault lasts."""
    expect: tuple[str, ...] = ()
    """Expectations of the trials with this fault, besides those of the plan."""


@dataclass(frozen=True)
class PlannedFault:
    """A fault of a treatment: the action with its options, and when. One of `at` and `after` is given."""

    action: str
    options: SubjectOptions
    timing: FaultTiming
    expect: tuple[Expectation, ...] = ()

    @property
    def subject(self) -> str:
        """The part of the target that it acts on."""
        return self.options.subject

    @property
    def title(self) -> str:
        """As people name it: `hang storage.brick`."""
        return f"{self.action} {self.subject}"

    @property
    def ends_s(self) -> float | None:
        """Planned end in seconds from the start of the measurement; None: with it, or unknown."""
        timing = self.timing
        return None if timing.at is None or timing.for_ is None else timing.at + timing.for_

    def document(self) -> JsonObject:
        """Plain JSON values, as in a plan."""
        timing = self.timing.model_dump(mode="json", by_alias=True, exclude_defaults=True)
        return {self.action: self.options.model_dump(mode="json", by_alias=True), **timing}


def read_faults(
    root: Keys,
    parts: Parts,
    target: tuple[str, Options] | None,
    load: Load | None,
    groups: Sequence[str],
    problems: list[Problem],
) -> tuple[PlannedFault, ...]:
    """The faults of a tree of settings; those that could be read after adding to `problems`."""
    node = root.get("faults")
    if node is None or plain(node) is None:
        return ()
    if not isinstance(node, Items):
        message = INVALID(value=shown(plain(node)), allowed=ALLOWED_FAULT_LIST(example=_EXAMPLE))
        problems.append(Problem(node.mark, "faults", message))
        return ()
    faults: list[tuple[Keys, PlannedFault]] = []
    for number, item in enumerate(node.nodes):
        fault = _read_fault(item, f"faults.{number}", parts, groups, problems)
        if fault is not None and isinstance(item, Keys):
            faults.append((item, fault))
            problems.extend(_misplaced(item, number, fault, load, parts.faults[fault.action]))
            if target is not None:
                problems.extend(_misfits(item, number, fault, parts, *target))
    subjects = {} if target is None else parts.targets[target[0]].subject_abilities(target[1])
    problems.extend(_overlaps(faults, parts, subjects))
    problems.extend(_possible_overlaps(faults, parts, subjects))
    return tuple(fault for _, fault in faults)


def _read_fault(
    item: Node, path: str, parts: Parts, groups: Sequence[str], problems: list[Problem]
) -> PlannedFault | None:
    allowed = ALLOWED_FAULT(actions=listed(parts.faults), example=_EXAMPLE)
    if not isinstance(item, Keys):
        problems.append(Problem(item.mark, path, INVALID(value=shown(plain(item)), allowed=allowed)))
        return None
    timing_keys = {info.alias or name for name, info in FaultTiming.model_fields.items()}
    actions = [key for key in item.entries if key not in timing_keys]
    if len(actions) != 1:
        message = INVALID(value=shown(plain(item)), allowed=allowed) if actions else MISSING(allowed=allowed)
        problems.append(Problem(item.mark, path, message))
        return None
    [action] = actions
    if action not in parts.faults:
        message = UNKNOWN_ACTION(name=shown(action), actions=listed(parts.faults))
        near = _by_synonym(action, parts) or nearest(action, [*parts.faults, *timing_keys])
        problems.append(Problem(item.mark_of(action), f"{path}.{action}", message, near))
        return None
    entry = item.entries[action]
    count = len(problems)
    timing = read_model(FaultTiming, item.without(action), (path,), item.mark, problems)
    options = read_model(
        parts.faults[action].Options, _with_subject(entry), (path, action), entry.mark, problems
    )
    if timing is None or options is None or len(problems) > count:
        return None
    expect = []
    for number, text in enumerate(timing.expect):
        try:
            expect.append(Expectation.parse(text, groups))
        except SettingError as error:
            node = item.get("expect")
            mark = node.nodes[number].mark if isinstance(node, Items) else item.mark_of("expect")
            problems.append(error.at(mark, f"{path}.expect.{number}"))
    return PlannedFault(action, options, timing, tuple(expect))


def _by_synonym(name: str, parts: Parts) -> str | None:
    """The action that has this name elsewhere."""
    written = name.lower().replace("_", "-")
    return next((action for action, part in parts.faults.items() if written in part.synonyms), None)


def _with_subject(entry: Entry) -> Node:
    """The options of an action; a text alone is its subject."""
    node = entry.node
    if isinstance(node, Scalar) and isinstance(node.value, str):
        return Keys(node.mark, {_SUBJECT: Entry(node.mark, node)})
    return node


def _misplaced(
    item: Keys, number: int, fault: PlannedFault, load: Load | None, action: type[Any]
) -> Iterator[Problem]:
    """Mistakes in when it is applied."""
    path, timing = f"faults.{number}", fault.timing
    if timing.at is None and timing.after is None:
        yield Problem(item.mark, path, WHEN_MISSING(action=fault.action))
    if timing.at is not None and timing.after is not None:
        yield Problem(item.mark_of("after"), f"{path}.after", WHEN_TWICE())
    if timing.for_ is not None and not action.lasts:
        yield Problem(item.mark_of("for"), f"{path}.for", FOR_WITHOUT_MEANING(action=fault.action))
    if load is not None and load.count is not None and action.lasts and timing.for_ is None:
        yield Problem(item.mark, path, FOR_MISSING(action=fault.action))
    if load is not None and timing.at is not None and timing.at >= load.duration:
        message = AT_TOO_LATE(at=timing.at.text, duration=load.duration.text)
        yield Problem(item.mark_of("at"), f"{path}.at", message)


def _misfits(
    item: Keys, number: int, fault: PlannedFault, parts: Parts, target: str, options: Options
) -> Iterator[Problem]:
    """Why the target cannot have the fault."""
    action, mark = parts.faults[fault.action], item.mark_of(fault.action)
    path = f"faults.{number}.{fault.action}"
    external = not parts.target(target).started(options)
    if external and not action.external:
        yield Problem(mark, path, EXTERNAL_TARGET(action=fault.action, target=target))
        return
    if external and not options.allows_faults:
        yield Problem(mark, path, EXTERNAL_NOT_ALLOWED(action=fault.action, target=target))
        return
    subjects = parts.targets[target].subject_abilities(options)
    fit = [name for name, part in subjects.items() if (part.network is not None) == action.on_network]
    if fault.subject in subjects and fault.subject not in fit:
        unfit = UNFIT_FOR_PROXY if action.needs_proxy else UNFIT_SUBJECT
        message = unfit(action=fault.action, name=shown(fault.subject), subjects=listed(fit))
        yield Problem(mark, path, message, nearest(fault.subject, fit))
        return
    if fault.subject not in subjects:
        code = UNKNOWN_SUBJECT if subjects else NO_SUBJECTS
        message = code.pick(name=shown(fault.subject), target=target, subjects=listed(fit))
        missing = action.without_subject(fault.options, subjects)
        yield Problem(mark, path, missing or message, nearest(fault.subject, fit))
        return
    for misfit in action.misfits(fault.options, subjects):
        yield Problem(mark, f"{path}.{misfit.path}", misfit.message)


class HasParts(Protocol):
    """A subject of faults, as far as overlaps are concerned (`loadcell.systems.subjects`)."""

    @property
    def parts(self) -> frozenset[str]:
        """Its smallest parts by name, which may belong to several subjects."""


def _overlaps(
    faults: Sequence[tuple[Keys, PlannedFault]], parts: Parts, subjects: Mapping[str, HasParts]
) -> Iterator[Problem]:
    """Faults that would begin while an earlier one lasts, and do not say that they may."""
    timed = [(fault.timing.at, node, fault) for node, fault in faults if fault.timing.at is not None]
    timed.sort(key=lambda item: item[0])
    lasting: list[PlannedFault] = []
    for at, node, fault in timed:
        lasting = [other for other in lasting if other.ends_s is None or other.ends_s > at]
        if any(other.title == fault.title for other in lasting):
            yield Problem(node.mark, "faults", TWICE_AT_ONCE(action=fault.title))
        elif (same := _ended_with(fault, lasting, parts, subjects)) is not None:
            yield Problem(node.mark, "faults", SHARES_PARTS(action=fault.title, other=same.title))
        elif lasting and not fault.timing.overlap:
            yield Problem(node.mark, "faults", OVERLAPS(action=fault.title, other=lasting[0].title))
        elif (same := _changing_the_same(fault, lasting, parts)) is not None:
            yield Problem(node.mark, "faults", CHANGES_THE_SAME(action=fault.title, other=same.title))
        if parts.faults[fault.action].lasts:
            lasting.append(fault)


def _possible_overlaps(
    faults: Sequence[tuple[Keys, PlannedFault]], parts: Parts, subjects: Mapping[str, HasParts]
) -> Iterator[Problem]:
    """Faults after a number of operations, which may begin while another one lasts that they would end or
    replace.
    """
    lasting: list[PlannedFault] = []
    for node, fault in faults:
        if not parts.faults[fault.action].lasts:
            continue
        untimed = [other for other in lasting if None in (fault.timing.at, other.timing.at)]
        sharing = [other for other in untimed if _share(fault, other, subjects)]
        same = _ended_with(fault, untimed, parts, subjects) or _changing_the_same(fault, sharing, parts)
        if same is not None:
            yield Problem(node.mark, "faults", MAY_OVERLAP(action=fault.title, other=same.title))
        lasting.append(fault)


def _ended_with(
    fault: PlannedFault, lasting: Sequence[PlannedFault], parts: Parts, subjects: Mapping[str, HasParts]
) -> PlannedFault | None:
    """A fault whose end would end this one, or the other way round."""
    ends_another = parts.faults[fault.action].ends_another
    return next(
        (
            other
            for other in lasting
            if other.action == fault.action
            and _share(fault, other, subjects)
            and ends_another(fault.options, other.options)
        ),
        None,
    )


def _share(fault: PlannedFault, other: PlannedFault, subjects: Mapping[str, HasParts]) -> bool:
    """Report whether both act on the same parts of the target: a subject may contain others."""
    first, second = (
        subjects[name].parts if name in subjects else frozenset() for name in (fault.subject, other.subject)
    )
    return fault.subject == other.subject or not first.isdisjoint(second)


def _changing_the_same(
    fault: PlannedFault, lasting: Sequence[PlannedFault], parts: Parts
) -> PlannedFault | None:
    """An earlier fault whose change this one would replace."""
    changes = parts.faults[fault.action].changes()
    if changes is None:
        return None
    return next((other for other in lasting if parts.faults[other.action].changes() == changes), None)
