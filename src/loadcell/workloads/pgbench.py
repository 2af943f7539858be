"""pgbench's scripts, built-in ones and people's own, unchanged; and the tables they run on."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, ClassVar, Literal

from pydantic import (
    AfterValidator,
    Field,
    PrivateAttr,
    ValidationInfo,
    computed_field,
    field_validator,
    model_validator,
)

from loadcell import _engine
from loadcell.model.engine_messages import engine_failure
from loadcell.model.extensions import POSTGRES, TargetKind
from loadcell.model.json import JsonObject
from loadcell.model.message import Count, ForeignText, Labels, Message, MessageCode
from loadcell.plan.data_size import DataSize
from loadcell.plan.files import named_file
from loadcell.plan.parts import Advice, Options
from loadcell.plan.problems import SettingError, nearest
from loadcell.plan.units import Duration
from loadcell.plan.workload import Ask, Condition, Variants, Verification, Workload
from loadcell.workloads.sysbench import LOAD_WORKERS

PGBENCH_SMALL_SCALE = MessageCode("pgbench.small-scale", "caution")
PGBENCH_WEIGHT = MessageCode("pgbench.weight", name=str, weight=str)
PGBENCH_SCRIPT_TOO_LARGE = MessageCode("pgbench.script-too-large", path=str, mebibytes=Count)
PGBENCH_SCRIPT_NOT_UTF8 = MessageCode("pgbench.script-not-utf8", path=str, byte=str)
PGBENCH_SCRIPT_UNREADABLE = MessageCode("pgbench.script-unreadable", path=str, reason=ForeignText)
PGBENCH_SCRIPT_BINARY = MessageCode("pgbench.script-binary", path=str, line=str)
PGBENCH_BUILTIN_NAME = MessageCode("pgbench.builtin-name", name=str)
PGBENCH_SCRIPT_NAME = MessageCode("pgbench.script-name", name=str)
PGBENCH_NO_SCRIPT = MessageCode("pgbench.no-script", path=str, scripts=list)
PGBENCH_NO_SCRIPT_NEAR = MessageCode("pgbench.no-script-near", path=str, near=str)
PGBENCH_STEPS_NO_TABLES = MessageCode("pgbench.steps-no-tables", steps=str)
PGBENCH_STEPS_TWICE = MessageCode("pgbench.steps-twice", steps=str)
PGBENCH_STEPS_NO_KEYS = MessageCode("pgbench.steps-no-keys", steps=str)
PGBENCH_NO_SCRIPTS = MessageCode("pgbench.no-scripts")
PGBENCH_REFUSED = MessageCode("pgbench.refused", problem=Message, remedy=Message)

#: Outcomes that reports explain.
_OUTCOME = Labels("outcome", ("late",))
BUILTINS = ("tpcb-like", "simple-update", "select-only")

#: What decides the tables and rows that are loaded.
_OF_THE_DATA = {"scale", "init_steps", "fillfactor"}
#: Bytes of 100,000 accounts and the rest of a unit of scale, at fillfactor 100 (see `Pgbench.data_size`).
_ACCOUNTS_BYTES = 13_960_000
_KEYS_BYTES = 1_660_000
#: pgbench reads a whole script into memory, and so does everything here.
_LARGEST_SCRIPT = 64 << 20


def split(text: str) -> tuple[str, int]:
    """Name and weight of `NAME[@WEIGHT]`, pgbench's own notation. Raises SettingError."""
    name, at, weight = text.rpartition("@")
    if not at:
        return text, 1
    if not weight.isascii() or not weight.isdigit() or int(weight) > 2**31 - 1:
        raise SettingError(PGBENCH_WEIGHT(name=repr(name), weight=repr(weight)))
    return name, int(weight)


def _read(path: Path) -> str:
    """The text of a script. Raises SettingError."""
    try:
        if path.stat().st_size > _LARGEST_SCRIPT:
            raise SettingError(PGBENCH_SCRIPT_TOO_LARGE(path=path, mebibytes=_LARGEST_SCRIPT >> 20))
        text = path.read_bytes().decode()
    except UnicodeDecodeError as error:
        raise SettingError(PGBENCH_SCRIPT_NOT_UTF8(path=path, byte=error.start)) from None
    except OSError as error:
        raise SettingError(PGBENCH_SCRIPT_UNREADABLE(path=path, reason=error.strerror)) from None
    if "\0" in text:
        line = text[: text.index("\0")].count("\n") + 1
        raise SettingError(PGBENCH_SCRIPT_BINARY(path=path, line=line))
    return text


def _named(inline: dict[str, str]) -> dict[str, str]:
    """Scripts in the plan, by names that mean nothing else."""
    for name in inline:
        if name in BUILTINS:
            raise SettingError(PGBENCH_BUILTIN_NAME(name=repr(name)))
        if "@" in name or not name:
            raise SettingError(PGBENCH_SCRIPT_NAME(name=repr(name)))
    return inline


def _recognised(text: str, info: ValidationInfo) -> str:
    """A script's name and weight, which is written in the plan or whose file is there."""
    name, _ = split(text)
    if name in BUILTINS or name in info.data.get("inline", ()):
        return text
    path = named_file(info, name)
    if not path.is_file():
        near = nearest(name, BUILTINS)
        code = PGBENCH_NO_SCRIPT_NEAR if near else PGBENCH_NO_SCRIPT
        raise SettingError(code.pick(path=path, near=near or "", scripts=list(BUILTINS)))
    _read(path)
    return text


#: Beyond this scale, adding up all accounts takes longer than a trial should wait: they are left out.
_MOST_ADDED_UP = 200

_SUMS = {
    "branches": "SELECT sum(bbalance) FROM pgbench_branches",
    "tellers": "SELECT sum(tbalance) FROM pgbench_tellers",
    "accounts": "SELECT sum(abalance) FROM pgbench_accounts",
    "history": "SELECT coalesce(sum(delta), 0) FROM pgbench_history",
}

_Script = Annotated[str, AfterValidator(_recognised)]
_Value = str | int | float | bool


class PgbenchOptions(Options):
    """Scripts, their data, and how they are run; names are those of pgbench's own long options where it has
    one.
    """

    inline: Annotated[dict[str, str], AfterValidator(_named)] = Field(
        default_factory=dict,
        description="Scripts written in the plan itself, by the names that `scripts` has for them.",
        examples=[{"one": "SELECT 1;"}],
    )
    scripts: tuple[_Script, ...] = Field(
        default=("tpcb-like",),
        description="Built-in scripts (`tpcb-like`, `simple-update`, `select-only`), names of `inline`, and "
        "files, whose paths "
        "are relative to the plan's; each with a weight if there are several: `select-only@9`.",
    )
    scale: int = Field(
        default=1,
        ge=1,
        le=2**31 - 1,
        description="Units of data: 1 branch, 10 tellers, 100,000 accounts each.",
    )
    variables: dict[str, _Value] = Field(
        default_factory=dict, description="What `-D name=value` defines, for all scripts."
    )
    protocol: Literal["simple", "extended", "prepared"] = Field(
        default="simple",
        description="How statements are sent: as text, parsed for each execution, or parsed once for a "
        "connection.",
    )
    max_tries: int | None = Field(
        default=None,
        ge=1,
        le=2**31 - 1,
        description="Attempts of a transaction that fails by serialisation or deadlock, the first included. "
        "Default: "
        "`load.max_retries` more than one.",
    )
    latency_limit: Annotated[Duration, Field(gt=0)] | None = Field(
        default=None,
        description="Transactions that take longer are counted as operation `late`, too, and are not tried "
        "again; under "
        "`load.rate`, those that are late by more before they are begun are skipped: failed, with "
        "the code `skipped`.",
    )
    allow_shell: bool = Field(
        default=False,
        description="Whether scripts may run commands of the operating system (`\\shell` and `\\setshell`): "
        "as loadcell's "
        "user, on loadcell's machine.",
    )
    init_steps: str = Field(
        default="dtgvp",
        pattern=r"^[dtgGvpf ]*$",
        description="What `pgbench -i -I` would do: drop, tables, generate (`G`: by the server), vacuum, "
        "primary keys, foreign "
        "keys. Empty: no data are loaded.",
    )
    fillfactor: int = Field(
        default=100, ge=10, le=100, description="How full the pages of the loaded tables are, in percent."
    )

    _sources: dict[str, str] = PrivateAttr(default_factory=dict)
    _analysis: JsonObject = PrivateAttr(default_factory=dict)

    @computed_field  # type: ignore[prop-decorator]
    @property
    def script_texts(self) -> dict[str, str]:
        """The text of each script that is a file, by its name in `scripts`: the record holds what was run."""
        return dict(self._sources)

    @field_validator("init_steps")
    @classmethod
    def _steps_fit(cls, steps: str) -> str:
        if set(steps) & set("dgGvpf") and "t" not in steps:
            raise SettingError(PGBENCH_STEPS_NO_TABLES(steps=repr(steps)))
        if "g" in steps and "G" in steps:
            raise SettingError(PGBENCH_STEPS_TWICE(steps=repr(steps)))
        if "f" in steps and "p" not in steps:
            raise SettingError(PGBENCH_STEPS_NO_KEYS(steps=repr(steps)))
        return steps

    @model_validator(mode="after")
    def _compiled(self, info: ValidationInfo) -> PgbenchOptions:
        if not self.scripts:
            raise SettingError(PGBENCH_NO_SCRIPTS())
        for name, _ in map(split, self.scripts):
            if name in self.inline:
                self._sources[name] = self.inline[name]
            elif name not in BUILTINS:
                self._sources[name] = _read(named_file(info, name))
        self._analysis.update(_checked(self.section()))
        return self

    @property
    def writes(self) -> bool:
        """True if a statement of the scripts may change rows."""
        return bool(self._analysis["writes"])

    def section(self) -> JsonObject:
        """The section for the engine."""
        texts = {True: "true", False: "false"}
        return {
            "scripts": [
                {"name": name, "source": self._sources.get(name), "weight": weight}
                for name, weight in map(split, self.scripts)
            ],
            "scale": self.scale,
            "variables": {
                name: texts[value] if isinstance(value, bool) else str(value)
                for name, value in self.variables.items()
            },
            "protocol": self.protocol,
            "max_tries": self.max_tries,
            "latency_limit_ns": None if self.latency_limit is None else self.latency_limit.ns,
            "allow_shell": self.allow_shell,
            "init_steps": self.init_steps,
            "fillfactor": self.fillfactor,
            "load_workers": LOAD_WORKERS,
        }


def _checked(section: JsonObject) -> JsonObject:
    """Analysis of the scripts by the engine.

    Raises SettingError with every mistake, its script, line and column.
    """
    try:
        analysis: JsonObject = json.loads(_engine.check(json.dumps({"pgbench": section})))
    except _engine.EngineError as error:
        problem = engine_failure(json.loads(str(error)))
        remedy = problem.remedy
        raise SettingError(PGBENCH_REFUSED(problem=problem, remedy=remedy) if remedy else problem) from None
    return analysis


class Pgbench(Workload[PgbenchOptions]):
    """pgbench's tables and scripts, as the engine runs them."""

    name = "pgbench"
    variants = Variants("scripts", tuple(BUILTINS), listed=True)
    summary = "pgbench's scripts: tpcb-like, simple-update, select-only, and your own files"
    Options = PgbenchOptions
    needs = frozenset({POSTGRES})
    verified: ClassVar[Verification | None] = Verification("pgbench-balances")

    def __init__(self, options: PgbenchOptions) -> None:
        super().__init__(options)
        self._is_builtin = all(name in BUILTINS for name, _ in map(split, options.scripts))

    def parallel_statements(self, operations: Mapping[str, int], statements: int) -> int:  # noqa: ARG002
        return 0 if self._is_builtin else statements

    def data(self) -> JsonObject | None:
        if not self.options.init_steps.strip():
            return None
        return {"pgbench": self.options.model_dump(mode="json", include=_OF_THE_DATA)}

    def data_size(self, target: TargetKind) -> DataSize | None:  # noqa: ARG002
        """Bytes of the accounts with their primary key; pgbench_history grows beside them.

        Source: pg_database_size at scales 1, 5 and 10 with fillfactor 100 and 50, loaded by loadcell into
        PostgreSQL 18: 15.6 MB and 29.6 MB per unit of scale.
        """
        if self.data() is None:
            return None
        unit = _ACCOUNTS_BYTES * 100 / self.options.fillfactor + _KEYS_BYTES
        return DataSize("scale", self.options.scale, unit)

    @property
    def changes_data(self) -> bool:
        return self.options.writes

    def engine(self) -> JsonObject:
        return {"pgbench": self.options.section()}

    def verify(self, ask: Ask) -> list[Condition]:
        """Every delta is in all the sums that the built-in scripts add it to.

        Of other scripts nothing is known.
        """
        names = {name for name, _ in map(split, self.options.scripts)}
        if not names <= set(BUILTINS) or self.data() is None:
            return []
        same = [("branches", "tellers")]
        if self.options.scale <= _MOST_ADDED_UP:
            same.append(("accounts", "history"))
        if "simple-update" not in names:  # which leaves branches and tellers alone
            same.append(("tellers", "history"))
        conditions = []
        for first, other in same:
            [(ours, theirs)] = ask(f"SELECT ({_SUMS[first]}), ({_SUMS[other]})")
            wrong = ours != theirs
            conditions.append(
                Condition(f"sum({first}) = sum({other})", int(wrong), f"{ours} and {theirs}" if wrong else "")
            )
        return conditions

    def advice(self) -> list[Advice]:
        options = self.options
        advice = []
        tpcb = any(name == "tpcb-like" for name, _ in map(split, options.scripts))
        if tpcb and options.scale == 1:
            advice.append(Advice("scale", PGBENCH_SMALL_SCALE()))
        return advice


PART = Pgbench
