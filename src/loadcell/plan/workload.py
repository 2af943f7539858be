"""Contract of workloads: data, and specification of the load for the engine or another generator.

Verifications are checks of the data after a load, which workloads declare. The analysis reads checks from
records: the workload that declared one need not be imported, nor installed.
"""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

from loadcell.model import catalogue, extensions, tools
from loadcell.model.extensions import TargetKind
from loadcell.model.json import JsonObject
from loadcell.model.message import Labels, Message, MessageCode, MessageError
from loadcell.plan.data_size import DataSize
from loadcell.plan.parts import Advice, Misfit, Opts, UsedPart

if TYPE_CHECKING:
    from loadcell.plan.model import Load, Resolved
    from loadcell.plan.profile import Profile


_declared: dict[str, Verification] = {}


@dataclass(frozen=True)
class Verification:
    """A check of the data, by its name in records.

    Its texts are `check-title.NAME` (its name), `check.NAME` (why a trial whose data do not meet it cannot be
    trusted), `check-name.NAME` and `advice.NAME` (findings on it), and `held.NAME` (the data met it). Raises
    ValueError for a name that is declared already.
    """

    name: str
    reason: MessageCode = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "reason", MessageCode(f"check.{self.name}"))
        for prefix in ("check-title", "check-name", "advice", "held"):
            MessageCode(f"{prefix}.{self.name}")
        _declared[self.name] = self


def verifications() -> Mapping[str, Verification]:
    """Every verification of the modules imported so far, by name."""
    return MappingProxyType(_declared)


def text_of(prefix: str, name: str) -> Message | None:
    """The text of a check with this prefix; None if the catalogue has none."""
    code = f"{prefix}.{name}"
    return Message(code) if code in catalogue.texts() else None


#: Every value that was read equals what was written.
VALUES = Verification("values")


#: The seed that data sets are loaded with: never a run's own, so that equal descriptions give equal rows.
DATA_SEED = 1


#: Asks the target one question in SQL, on the data the trial ran on, and gives all rows.
Ask = Callable[[str], Sequence[tuple[Any, ...]]]


#: Executes a statement on the data of the trial and gives its rows; the text is the setting that it stands
#: in, for errors.
Run = Callable[[str, str], Sequence[tuple[Any, ...]]]


class WorkloadError(MessageError):
    """The data of a trial are not as its workload needs them."""


@dataclass(frozen=True)
class StatementText:
    """A statement whose execution plan is recorded.

    `name` is that of its operation; `sql` is the text as the plan has it, `filled` with values in the places
    of its parameters. `writes`: it may change rows.
    """

    name: str
    sql: str
    filled: str
    writes: bool


def declare_unit(word: str) -> str:
    """Declare what throughput can count; its texts are the word, its plural and its short form."""
    Labels("unit", (word + ending for ending in ("", ".many", ".short")))
    return word


#: Nouns for a client of the load, singular and plural.
CLIENT, TERMINAL = "client", "terminal"
_CLIENT_NOUNS = Labels("sizing-client", (CLIENT, TERMINAL))


@dataclass(frozen=True)
class Condition:
    """Something that must hold of the data after a trial.

    `says` is the condition itself, as an expression; `wrong` counts what does not meet it, and `example` is
    the first. Violations of one that does not invalidate a trial are a warning.
    """

    says: str
    wrong: int
    example: str = ""
    invalidates: bool = True


@dataclass(frozen=True)
class Variants:
    """Variants of a workload that need nothing but their name: `NAME:VARIANT` on a command line.

    `option` takes the variant, as the only one of a list if `listed`. Without `names` there is but one,
    `NAME`.
    """

    option: str = ""
    names: tuple[str, ...] = ()
    listed: bool = False


class Workload(UsedPart[Opts], ABC):
    """A workload, as one treatment sets it."""

    #: what its throughput counts: transaction, request or operation; options may decide
    unit: str = declare_unit("transaction")
    #: what it calls a client of the load; the texts are `sizing-client.NOUN`
    client_noun: ClassVar[str] = CLIENT
    #: variants that can be named on a command line; None: it needs options
    variants: ClassVar[Variants | None] = None
    #: the module that makes its load in the worker, with the engine's contract (see
    #: `loadcell.execution.worker`); None: the engine
    made_by: ClassVar[str | None] = None
    #: the module that loads its data in the worker; None: `made_by`, or the engine
    loaded_by: ClassVar[str | None] = None
    #: whether it knows settings of the load (`load_settings`)
    sets_load: ClassVar[bool] = False

    def __init__(self, options: Opts) -> None:
        self.options = options

    @staticmethod
    def load_settings(options: Any) -> JsonObject:  # noqa: ARG004
        """Settings of the load by these options, for where the plan leaves them open; see `sets_load`."""
        return {}

    @staticmethod
    def quantity(options: Mapping[str, object]) -> tuple[str, ...]:  # noqa: ARG004
        """Words for the quantity that recorded options select, where throughput may measure several.

        Treatments are compared where that is equal. Empty: all options measure the same quantity.
        """
        return ()

    @abstractmethod
    def data(self) -> JsonObject | None:
        """Description of the data set, as plain JSON values; None if the workload needs no data.

        Two workloads with equal `data()` can share a data set.
        """

    def data_size(self, target: TargetKind) -> DataSize | None:  # noqa: ARG002
        """Estimated size of the data set on such a target, with its indexes; None if it is unknown.

        The docstring of an override names the source of its constants: sizes of real data sets.
        """
        return None

    def loading(self) -> JsonObject | None:
        """The section that data are loaded from: that of the load, of which the data are a part."""
        return self.engine() if self.data() else None

    def key_prefixes(self) -> tuple[str, ...]:
        """Prefixes of the keys of its data set, for targets that keep data sets as keys."""
        return ()

    def table_names(self) -> tuple[str, ...]:
        """Names of all tables that loading its data set creates in MySQL; none if nobody can tell them."""
        return ()

    @property
    @abstractmethod
    def changes_data(self) -> bool:
        """True if running it leaves the data set other than it was loaded."""

    @abstractmethod
    def engine(self) -> JsonObject:
        """The `workload` section of the engine's specification."""

    def before_load(self, run: Run, *, entered: bool) -> None:  # noqa: ARG002
        """Execute statements before the load. `entered`: the trial before was of another treatment.

        Raises WorkloadError.
        """
        return

    def after_load(self, run: Run) -> None:  # noqa: ARG002
        """Execute statements after the measurement."""
        return

    def explained(self, *, mysql: bool) -> list[list[StatementText]]:  # noqa: ARG002
        """Statements whose execution plans are recorded, by transaction."""
        return []

    @property
    def resets_statistics(self) -> bool:
        """True if the server's statistics of statements are reset before each load."""
        return False

    def advice(self) -> list[Advice]:
        """Remarks on these options (paths relative to the workload's own section)."""
        return []

    def remarks(self, settings: Resolved) -> list[Advice]:  # noqa: ARG002
        """Remarks on these options in their plan (whole paths): on how they go with target and load."""
        return []

    def unmet(self, profile: Profile) -> Message | None:  # noqa: ARG002
        """Requirement of a profile of this workload that this machine does not meet; None without one."""
        return None

    def unretried(self, load: Load, target: TargetKind) -> Sequence[str]:  # noqa: ARG002
        """SQLSTATEs of conflicts between its own transactions that are not tried again, where conflicts are
        to be expected.
        """
        return ()

    def misfits(self, load: Load, target: TargetKind | None) -> list[Misfit]:  # noqa: ARG002
        """Reasons why this cannot run under the load, or on the target (None: not known)."""
        return []

    @property
    def lays_out(self) -> bool:
        """True if the load itself makes what it needs before it begins: that may take as long as
        `limits.prepare` allows. The event `LaidOut` ends this time.
        """
        return False

    def figures(self, succeeded: Mapping[str, int], seconds: float) -> dict[str, float]:  # noqa: ARG002
        """Values of the workload's metrics, by key, from a trial's successes by operation and the measured
        time.

        A metric that expectations may name is declared (`loadcell.model.metrics`).
        """
        return {}

    def calls(self, operations: Mapping[str, int]) -> dict[str, int]:  # noqa: ARG002
        """Number of calls of the target by its own names for them, when each operation succeeded this
        number of times: for targets that count calls. Empty where nobody counts.
        """
        return {}

    def notes(self) -> tuple[str, ...]:
        """Notes on its results: codes of `note.*` in the report's texts."""
        return ()

    def parallel_statements(self, operations: Mapping[str, int], statements: int) -> int:  # noqa: ARG002
        """Number of statements of a load that a server may have split among parallel workers: of all its
        `statements`, and operations by name.
        """
        return 0

    #: whether its requests carry credentials of the plan
    has_credentials: bool = False

    #: whether the engine holds every value that it reads against what it wrote
    verifies_values: bool = False

    #: the check that `verify` is; None when there is nothing to verify
    verified: ClassVar[Verification | None] = None

    def verify(self, ask: Ask) -> list[Condition]:  # noqa: ARG002
        """Hold the data against what must be true of them after the load, whatever was done.

        Called after each trial.
        """
        return []


#: What a client group has beside its workload.
_OF_A_GROUP = ("share", "load")


def quantities_of(settings: JsonObject) -> list[str]:
    """Quantities that the workloads in the settings of a treatment measure: their names, and what their
    options select.

    A disk's reads and the passes over a memory are no more and no less than each other, whatever a plan makes
    of them. What counts is what is measured, not under which conditions. Raises ExtensionError.
    """
    return sorted({_quantity(section) for section in _sections(settings)})


def have_equal_workloads(settings: Iterable[JsonObject]) -> bool:
    """True if the workloads in the settings of these treatments are equal, and so their quantities."""
    sections = [list(_sections(item)) for item in settings]
    return all(item == sections[0] for item in sections)


def _sections(settings: JsonObject) -> Iterator[JsonObject]:
    """The only workload, those of client groups, or the tool whose output was imported."""
    imported = {tools.WORKLOAD: settings[tools.WORKLOAD]} if tools.WORKLOAD in settings else None
    groups = settings.get("workloads")
    of_groups = groups.values() if isinstance(groups, Mapping) else ()
    for section in (settings.get("workload"), imported, *of_groups):
        if isinstance(section, dict):
            yield section


def _quantity(section: JsonObject) -> str:
    name = next((key for key in section if key not in _OF_A_GROUP), "")
    options, workload = section.get(name), installed_workload(name)
    selected = workload.quantity(options) if workload is not None and isinstance(options, dict) else ()
    return " ".join([name, *selected])


@cache
def installed_workload(name: str) -> type[Workload[Any]] | None:
    """The workload of this name in records, by the module of that name or its entry point; None if it is not
    installed.
    """
    root = Path(__file__).parents[1]
    modules = (("workloads", name), ("systems", name, "workload"))
    for parts in modules if name.isidentifier() else ():
        path = root.joinpath(*parts)
        if path.with_suffix(".py").is_file() or (path / "__init__.py").is_file():
            part: type[Workload[Any]] | None = getattr(
                importlib.import_module(".".join((root.name, *parts))), "PART", None
            )
            return part
    entry = extensions.entries(extensions.WORKLOADS).get(name)
    return None if entry is None else extensions.load(entry)
