"""The parts of a plan that do not depend on what is installed, and a plan's settings with every default
filled in.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BeforeValidator, Field, create_model, model_validator

from loadcell.model.json import JsonObject
from loadcell.model.message import MessageCode
from loadcell.plan import rate as rates
from loadcell.plan.affinity import Affinity
from loadcell.plan.expect import Expectation
from loadcell.plan.parts import Options
from loadcell.plan.problems import INVALID, SettingError, in_digits, nearest, shown
from loadcell.plan.rate import AnyRate
from loadcell.plan.units import Duration

if TYPE_CHECKING:
    from loadcell.plan.faults import PlannedFault

ALLOWED_INTEGER_OR_CPUS = MessageCode("allowed.whole-number-or-cpus")

DesignName = Literal["full", "one-at-a-time"]
OrderName = Literal["blocks", "as-written"]
#: settings of a load that say something only beside a rate
OPEN_LOOP = ("arrivals", "max_backlog")
Arrivals = Literal["constant", "poisson"]
#: settings that end a measurement by count; of no effect where they are not given
BOUNDS = ("requests", "requests_per_client")
#: how long a number of requests may take where the plan gives no limit: more than is ever meant, less than a
#: forgotten night
LONGEST_COUNT = Duration(3600)

#: as a number of clients: one for each processor that this process may run on
CPUS = "cpus"


def _counted(value: Any) -> Any:
    """`cpus` as the number it is on this machine: recorded, and compared with a run that is resumed."""
    if isinstance(value, str) and value != CPUS:
        message = INVALID(value=shown(value), allowed=ALLOWED_INTEGER_OR_CPUS())
        raise SettingError(message, in_digits(value) or nearest(value, [CPUS]))
    return len(os.sched_getaffinity(0)) if value == CPUS else value


_Clients = Annotated[
    int, Field(ge=1, le=100_000), BeforeValidator(_counted, json_schema_input_type=int | Literal["cpus"])
]
_Count = Annotated[int, Field(ge=1, le=1_000_000_000_000)]
_Positive = Annotated[Duration, Field(gt=0, le=rates.LONGEST_S)]


class Bilingual(Options, use_attribute_docstrings=True):
    """A text in both languages of reports."""

    en: str
    """The text in English."""
    zh: str
    """The text in Chinese."""


class Head(Options, use_attribute_docstrings=True):
    """The subject of the measurement, and the number of its repeats."""

    title: str | Bilingual = ""
    """One line that names the experiment; the report's title. One text, or one per language. Default: the
    file's name."""
    question: str | Bilingual = ""
    """The question that the experiment is to answer; printed under the title. One text, or one per
    language."""
    design: DesignName = "full"
    """The way from factors to treatments: every combination, or each factor alone round the plan's own
    values; or a search."""
    repeats: Annotated[int, Field(ge=1, le=1000)] = 3
    """Number of times every treatment is measured. Intervals need 6 or more; below, results are descriptive
    only."""
    order: OrderName = "blocks"
    """In which order trials run: in randomised blocks of one repeat each, or as written, block after
    block."""
    seed: Annotated[int, Field(ge=0, lt=2**63)] | None = None
    """Fixes the random order. Default: drawn for each run, and recorded with it."""


class Load(Options, use_attribute_docstrings=True):
    """The load that the target gets. Durations are floats of seconds (`loadcell.plan.units.Duration`)."""

    clients: _Clients | None = None
    """Connections, a number or `cpus`: one for each processor there is for this process. Without a `rate`
    each sends the next request as soon as the last one is answered (closed loop); with one, each request
    takes whichever of them is free, and waits while none is."""
    rate: AnyRate | None = None
    """Number of requests are due in a second, answered or not (open loop): `2000/s`, steps or a ramp."""
    arrivals: Arrivals = "constant"
    """The distances between requests of a `rate`: even, or random as from many independent users."""
    max_backlog: _Positive = Duration(5)
    """The longest time that a request of a `rate` may wait for a free connection: when one has waited longer,
    and the backlog still grows, the trial ends as overloaded."""
    threads: Annotated[int, Field(ge=1, le=1024)] | Literal["auto"] = "auto"
    """Threads of the load generator that the connections are spread over; `auto` fits the machine."""
    warmup: Annotated[Duration, Field(ge=0, le=rates.LONGEST_S)] = Duration(5)
    """Load that is not counted, before the measurement."""
    duration: _Positive = Duration(30)
    """The measured time. Beside `requests` or `requests_per_client` the longest it may take, 1h where it is
    not given."""
    requests: _Count | None = None
    """Ends the measurement when this number of requests of all clients, failed ones included, were sent and
    have ended."""
    requests_per_client: _Count | None = None
    """The same as a number for each client."""
    interval: Annotated[Duration, Field(ge=0.1, le=60)] = Duration(1)
    """The time between two rows of the time series."""
    timeout: _Positive | None = None
    """The longest time of a transaction or request, after which it has failed and its connection is made
    again. Default: no limit; of the workload `http` 5s."""
    max_retries: Annotated[int, Field(ge=0, le=1_000_000)] = 10
    """Number of retries of a transaction that may be retried (serialisation failure, deadlock)."""

    @model_validator(mode="after")
    def _limited(self) -> Load:
        """Lift the default duration where requests are counted: as a limit it would be too short."""
        if self.count is not None and "duration" not in self.model_fields_set:
            object.__setattr__(self, "duration", LONGEST_COUNT)  # the model is frozen, and not made yet
        return self

    @property
    def count(self) -> int | None:
        """Number of requests end the measurement; None where time does."""
        if self.requests_per_client is not None:
            return self.requests_per_client * (self.clients or 1)
        return self.requests

    @property
    def expected_s(self) -> float | None:
        """The duration of the measurement, as far as a plan can tell: None where requests are counted in a
        closed loop.
        """
        if self.count is None:
            return float(self.duration)
        if self.rate is None:
            return None
        return min(float(self.duration), rates.time_of(self.rate, self.count))

    def document(self) -> JsonObject:
        """Plain JSON values; what is of no effect without a rate is left out with it, and so is what is not
        given.
        """
        without = {key for key in (*BOUNDS, "timeout") if getattr(self, key) is None}
        if self.rate is None:
            without |= {"rate", *OPEN_LOOP}
        return self.model_dump(mode="json", by_alias=True, exclude=without)


#: settings of a load that each of several client groups may have for itself; the others make the trial's one
#: window
OF_A_GROUP = ("clients", "rate", "arrivals", "max_backlog", "threads", "timeout", "max_retries")

GroupLoad: type[Options] = create_model(
    "GroupLoad",
    __base__=Options,
    __doc__="The load of one client group among several.",
    **{name: (Load.model_fields[name].annotation, Load.model_fields[name]) for name in OF_A_GROUP},
)  # type: ignore[call-overload]


class Limits(Options, use_attribute_docstrings=True):
    """The longest time of each phase of a trial, after which the trial is `timed-out`."""

    up: _Positive = Duration(60)
    """Bringing the target up."""
    prepare: _Positive = Duration(1800)
    """Making the data set be there."""
    load_slack: _Positive = Duration(60)
    """Time that warm-up and measurement may take beyond their own durations."""
    collect: _Positive = Duration(60)
    """Reading counters and settings after the load."""
    verify: _Positive = Duration(60)
    """Checking the record."""
    cleanup: _Positive = Duration(60)
    """Putting the target away."""


@dataclass(frozen=True)
class Group:
    """Clients that all do the same, of one group or of several that work at once.

    `load` is what these clients do, the trial's window included. `share` is their part of the plan's load,
    None where they have a load of their own. The only group of a plan with one `workload` has no name.
    """

    name: str
    workload_name: str
    workload: Options
    load: Load
    share: float | None = None

    @property
    def section(self) -> str:
        """The dotted path of its workload's options."""
        return (
            f"workloads.{self.name}.{self.workload_name}" if self.name else f"workload.{self.workload_name}"
        )

    def placed(self, path: str) -> str:
        """Where a setting stands that is at `path` (`workload.sysbench.tables`, `load.clients`) of a plan for
        it alone.
        """
        section, _, key = path.partition(".")
        if self.name and section == "workload":
            return f"workloads.{self.name}.{key}" if key else f"workloads.{self.name}"
        if self.name and self.share is None and section == "load" and key.partition(".")[0] in OF_A_GROUP:
            return f"workloads.{self.name}.{path}"
        return path

    def document(self) -> JsonObject:
        """Plain JSON values, as under the group's name in a plan."""
        document: JsonObject = {self.workload_name: self.workload.model_dump(mode="json", by_alias=True)}
        if self.share is not None:
            document["share"] = self.share
        else:
            load = self.load.document()
            document["load"] = {key: value for key, value in load.items() if key in OF_A_GROUP}
        return document


@dataclass(frozen=True)
class Resolved:
    """Every setting of one treatment, defaults included, checked against the models of the installed parts.

    `target`, `workload` and the values of `monitors` are the `Options` object of the part so named; secrets
    in them are still references (`${env:NAME}`). A plan with `workloads` has `groups`, and no `workload`: its
    name is empty.
    """

    target_name: str
    target: Options
    workload_name: str
    workload: Options
    load: Load
    monitors: Mapping[str, Options] = field(default_factory=dict)
    limits: Limits = field(default_factory=Limits)
    expect: tuple[Expectation, ...] = ()
    groups: tuple[Group, ...] = ()
    affinity: Affinity = field(default_factory=Affinity)
    faults: tuple[PlannedFault, ...] = ()

    @property
    def client_groups(self) -> tuple[Group, ...]:
        """The groups; a plan with one workload is one group without a name."""
        return self.groups or (Group("", self.workload_name, self.workload, self.load),)

    @property
    def clients(self) -> int:
        """Clients of all groups."""
        return sum(group.load.clients or 0 for group in self.client_groups)

    def alone(self, group: Group) -> Resolved:
        """The settings of a plan that has this group only, as its one workload."""
        return replace(
            self, workload_name=group.workload_name, workload=group.workload, load=group.load, groups=()
        )

    def document(self) -> JsonObject:
        """Plain JSON values in the plan's own words: quantities as text with units, secrets as references."""
        load = self.load.document()
        if self.groups:
            work = {"workloads": {group.name: group.document() for group in self.groups}}
            if self.groups[0].share is None:
                load = {key: value for key, value in load.items() if key not in OF_A_GROUP}
        else:
            work = {"workload": {self.workload_name: self.workload.model_dump(mode="json", by_alias=True)}}
        return {
            "target": {self.target_name: self.target.model_dump(mode="json", by_alias=True)},
            **work,
            "load": load,
            **({"affinity": self.affinity.document()} if self.affinity.is_set else {}),
            "monitors": {
                name: options.model_dump(mode="json", by_alias=True)
                for name, options in self.monitors.items()
            },
            **({"faults": [fault.document() for fault in self.faults]} if self.faults else {}),
            "limits": self.limits.model_dump(mode="json"),
            "expect": [expectation.text for expectation in self.expect],
        }
