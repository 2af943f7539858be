"""Task and progress of a run: `run.json` of a run directory; and differences of such documents.

Compared are a plan and its resumption, and plans and machines of two runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Final, Literal

from loadcell.model.coverage_record import CoverageRecord
from loadcell.model.json import OF_PLAN, OMITTED, JsonObject, JsonValue, Word
from loadcell.model.message import Message, MessageCode

VALUE_NOT_SET = MessageCode("value.not-set")

#: The command that runs and resumes a plan.
RUN_COMMAND: Final = "loadcell run"
#: Digits of a commit that are shown: unambiguous in repositories of a million objects.
_COMMIT_DIGITS: Final = 10


@dataclass(frozen=True, slots=True)
class LevelRecord:
    """A level of a factor: its label, and its value or the settings that it sets."""

    label: str
    value: Annotated[JsonValue, OMITTED] = None
    sets: Annotated[JsonObject | None, OMITTED] = None


@dataclass(frozen=True, slots=True)
class FactorRecord:
    """A factor; `key` is the dotted path of a setting, or the name of a factor that sets several."""

    key: str
    levels: Annotated[tuple[LevelRecord, ...], OF_PLAN] = ()


@dataclass(frozen=True, slots=True)
class TreatmentRecord:
    """A treatment: labels and values of its levels, and all settings of the plan with defaults filled in."""

    id: Word
    levels: Annotated[Mapping[str, str], OF_PLAN] = field(default_factory=dict)
    values: Annotated[JsonObject, OF_PLAN] = field(default_factory=dict)
    settings: Annotated[JsonObject, OF_PLAN] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PlannedTrial:
    """A trial of the run, in order. Of a search also the group, stage and reason by which it was chosen."""

    number: int
    name: Word
    treatment: Word
    repeat: int
    block: int | None = None
    arm: Annotated[Word | None, OMITTED] = None
    role: Annotated[Word | None, OMITTED] = None
    group: Annotated[int | None, OMITTED] = None
    stage: Annotated[Word | None, OMITTED] = None
    why: Annotated[Word | None, OMITTED] = None


@dataclass(frozen=True, slots=True)
class SearchRecord:
    """The question of a search: the best level of `factor` by `objective`, within the bounds `subject_to`."""

    factor: str
    kind: Literal["maximum", "bound"]
    objective: str
    metric: str
    subject_to: tuple[str, ...] = ()
    levels: Annotated[tuple[str, ...], OF_PLAN] = ()
    values: tuple[float, ...] = ()
    trials: int | None = None
    tolerance: float | None = None


@dataclass(frozen=True, slots=True)
class RepeatedRun:
    """The run whose plan and files a run was made from: its short id, and the path of its directory."""

    id: Word
    path: str


@dataclass(frozen=True, slots=True)
class Checkout:
    """The git checkout that the plan lies in: its commit (None: none yet) and branch (None: detached).

    `dirty` is True if files that git tracks differ from the commit.
    """

    commit: Word | None = None
    branch: str | None = None
    dirty: bool = False

    @property
    def name(self) -> str | None:
        """The beginning of the commit, with `-dirty` as `git describe --dirty` has it."""
        mark = "-dirty" if self.dirty else ""
        return None if self.commit is None else f"{self.commit[:_COMMIT_DIGITS]}{mark}"


@dataclass(frozen=True, slots=True)
class Execution:
    """One beginning or resumption of the run: its process, trials to do, and trials reused.

    `trials` is None in a search, which decides on them as it goes. `checkout` is that of a resumption; the
    run's is that of its beginning.
    """

    pid: int | None = None
    started_utc: Word | None = None
    ended_utc: Word | None = None
    how: Word | None = None
    trials: int | None = None
    reused: Annotated[int | None, OMITTED] = None
    loadcell_version: Annotated[str | None, OMITTED] = None
    checkout: Annotated[Checkout | None, OMITTED] = None


@dataclass(frozen=True, slots=True)
class RunVerdict:
    """An expectation over all trials: `missed` if any trial missed it, `met` if all met it, otherwise
    `unknown`.
    """

    expression: str
    verdict: Word
    met: int = 0
    missed: int = 0
    unknown: int = 0
    missed_in: tuple[Word, ...] = ()


@dataclass(frozen=True, slots=True)
class ImportedFile:
    """A file that was imported: how many executions and samples were read, and lines that were not
    understood.

    Of a table, `missing` is the number of cells that were no usable values, and `unused` are the columns that
    were not asked for.
    `measured_utc` is when the first of its executions began. `dated` is what says so: `option` (`--date`),
    `text` (times in it), `file` (when it was written) or `import` (when it was read from a pipe).
    """

    file: str
    tool: Word
    also: tuple[str, ...] = ()
    measured: int = 0
    samples: int = 0
    unread: int = 0
    examples: tuple[str, ...] = ()
    missing: Annotated[int | None, OMITTED] = None
    unused: Annotated[tuple[str, ...] | None, OMITTED] = None
    dated: Annotated[Word | None, OMITTED] = None
    measured_utc: Annotated[Word | None, OMITTED] = None


@dataclass(frozen=True, slots=True)
class PlanFile:
    """A file that the plan names, as the run found it.

    `file` is its name in the plan, and `path` where it was (absolute). `copy` is its copy in the run
    directory; a file without one is too large (`large`), may hold a secret (`secret`), or is started
    (`program`).
    """

    file: str
    path: str
    size_bytes: int
    modified_utc: Word
    sha256: Word
    copy: Annotated[str | None, OMITTED] = None
    why_not: Annotated[Word | None, OMITTED] = None


@dataclass(frozen=True, slots=True)
class RunRecord:
    """A run: its plan, seed, order, versions and state.

    `state` is running, finished, interrupted or failed. `reason`, `reason_code` and `reason_args` say why a
    run ended early. `resumed_by` is the command that resumes the run with `--resume`. `about` are facts that
    loadcell cannot see, as the plan has them; it and `labels` are None where an older version recorded none.
    `repeats_run` is the run whose directory was given in place of a plan. `title_zh` and `question_zh` are
    the Chinese texts of a plan that has both languages. `coverage` is that of a test suite.
    """

    schema: int = 1
    plan_name: Word = ""
    plan_directory: str | None = None
    title: str | None = None
    question: str | None = None
    title_zh: Annotated[str | None, OMITTED] = None
    question_zh: Annotated[str | None, OMITTED] = None
    seed: int | None = None
    order: Word | None = None
    design: Word | None = None
    repeats: int | None = None
    aa: bool = False
    factors: tuple[FactorRecord, ...] = ()
    search: Annotated[SearchRecord | None, OMITTED] = None
    treatments: tuple[TreatmentRecord, ...] = ()
    trials: tuple[PlannedTrial, ...] = ()
    unscored: Annotated[tuple[PlannedTrial, ...] | None, OMITTED] = None
    expect: tuple[str, ...] = ()
    sets: tuple[str, ...] = ()
    only: tuple[str, ...] = ()
    loadcell_version: Word | None = None
    engine_version: Word | None = None
    python: Word | None = None
    started_utc: Word | None = None
    ended_utc: Word | None = None
    state: Word = "unknown"
    reason: str | None = None
    reason_code: Word | None = None
    reason_args: JsonObject | None = field(default_factory=dict)
    verdicts: Annotated[tuple[RunVerdict, ...] | None, OMITTED] = None
    executions: tuple[Execution, ...] = ()
    command: tuple[str, ...] = ()
    resumed_by: Word = RUN_COMMAND
    anonymous: Annotated[bool | None, OMITTED] = None
    imported: Annotated[tuple[ImportedFile, ...] | None, OMITTED] = None
    labels: Annotated[Mapping[str, str] | None, OMITTED] = None
    about: Annotated[Mapping[str, str] | None, OMITTED] = None
    repeats_run: Annotated[RepeatedRun | None, OMITTED] = None
    checkout: Annotated[Checkout | None, OMITTED] = None
    files: Annotated[tuple[PlanFile, ...] | None, OMITTED] = None
    coverage: Annotated[CoverageRecord | None, OMITTED] = None

    def title_in(self, language: str) -> str:
        """The title in a language, or the only one; empty without any."""
        return (self.title_zh if language == "zh" else None) or self.title or ""

    def question_in(self, language: str) -> str:
        """The question in a language, or the only one; empty without any."""
        return (self.question_zh if language == "zh" else None) or self.question or ""

    @property
    def checkouts(self) -> tuple[Checkout, ...]:
        """The checkouts of all executions, distinct ones, the first of them first."""
        named = (self.checkout, *(execution.checkout for execution in self.executions))
        return tuple(dict.fromkeys(checkout for checkout in named if checkout is not None))

    @property
    def imported_utc(self) -> str | None:
        """When a run was imported; `started_utc` is when what is in it was measured."""
        first = self.executions[0] if self.executions else None
        return first.started_utc if first and first.how == "imported" else self.started_utc


@dataclass(frozen=True, slots=True)
class ValueDifference:
    """Values of two documents that differ at a dotted path; None where a document has no value there."""

    path: str
    before: JsonValue
    after: JsonValue


def differences(before: JsonValue, after: JsonValue, path: str = "") -> Iterator[ValueDifference]:
    """Every path below `path` where two documents differ, in the order of their keys.

    Objects are compared key by key; a list is one value.
    """
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for key in dict.fromkeys([*before, *after]):
            below = f"{path}.{key}" if path else str(key)
            yield from differences(before.get(key), after.get(key), below)
    elif before != after:
        yield ValueDifference(path, before, after)


def written(value: JsonValue) -> str | Message:
    """A value of a difference for a message."""
    return VALUE_NOT_SET() if value is None else str(value)
