"""Gets and sets and what else a key-value store can do: how often each, to which keys, with what values."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated

from pydantic import Field, model_validator

from loadcell import _engine
from loadcell.model.engine_messages import engine_failure
from loadcell.model.extensions import RESP, STORE, Capability, TargetKind
from loadcell.model.json import JsonObject
from loadcell.model.message import Labels, Message, MessageCode
from loadcell.plan.data_size import DataSize
from loadcell.plan.parts import Advice, Misfit, Options
from loadcell.plan.problems import SettingError
from loadcell.plan.units import Duration, Fraction, Size
from loadcell.plan.workload import Workload, declare_unit
from loadcell.workloads import Distribution
from loadcell.workloads.kv_commands import SCRIPT_CALL, CommandOptions

if TYPE_CHECKING:
    from loadcell.plan.model import Load, Resolved

KV_ONLY_DELETES = MessageCode("kv.only-deletes", "caution")
KV_NO_KEYS = MessageCode("kv.no-keys", "caution")
KV_NOT_EMBEDDED = MessageCode("kv.not-embedded", name=str)
KV_NO_SCAN = MessageCode("kv.no-scan")
KV_PIPELINE_WITH_RATE = MessageCode("kv.pipeline-with-rate")
KV_MSET_WITHOUT_TTL = MessageCode("kv.mset-without-ttl")
KV_NO_BATCH = MessageCode("kv.no-batch")
KV_TOO_FEW_KEYS = MessageCode("kv.too-few-keys", clients=str, keys=str)
KV_FOREIGN_KEYS = MessageCode("kv.foreign-keys", "caution", place=str, good=str, bad=str)
KV_SHARED_PREFIX = MessageCode("kv.shared-prefix", "caution", group=str, prefix=str)
KV_RANGE = MessageCode("kv.range", start=str, end=str)
KV_BELL = MessageCode("kv.bell", instead=str)
KV_MIX_AND_READS = MessageCode("kv.mix-and-reads")
KV_NO_SHARE = MessageCode("kv.no-share")
KV_COMMAND_NAME = MessageCode("kv.command-name", name=str)
KV_KEY_SIZE = MessageCode("kv.key-size", size=str, keys=str, needed=str)
KV_THETA = MessageCode("kv.theta", distribution=str)
KV_VERIFY_TTL = MessageCode("kv.verify-ttl")
KV_VERIFY_COMMANDS = MessageCode("kv.verify-commands")
KV_VERIFY_SIZE = MessageCode("kv.verify-size", smallest=str, needed=str)

#: Outcomes that reports explain.
_OUTCOME = Labels("outcome", ("missed",))
#: Octets of a checksummed value that are no random ones: its key, its version and the checksum.
CHECKSUMMED = 16
#: What Redis takes.
_LARGEST_VALUE = 512 * 2**20
_MOST_KEYS = 2**32
#: What is made of keys by the mix: verbs that write.
_WRITING = ("set", "mset", "delete", "insert", "read_modify_write")
#: What Redis calls them.
_COMMANDS: dict[str, tuple[str, ...]] = {
    "get": ("get",),
    "set": ("set",),
    "mget": ("mget",),
    "mset": ("mset",),
    "delete": ("del",),
    "insert": ("set",),
    "read_modify_write": ("get", "set"),
}
#: What decides the records that are loaded.
_OF_THE_DATA = ("keys", "key_prefix", "key_size", "value_size", "load", "verify")

_Share = Annotated[float, Field(ge=0, le=1e9, allow_inf_nan=False)]
_Part = Annotated[Fraction, Field(ge=0, le=1)]
_ValueSize = Annotated[Size, Field(ge=0, le=_LARGEST_VALUE)]


class Mix(Options, use_attribute_docstrings=True):
    """Frequency of each verb, as a share of their sum."""

    get: _Share = 0
    """Reads of one key."""
    set: _Share = 0
    """Writes of one key."""
    mget: _Share = 0
    """Reads of `multi` keys at once."""
    mset: _Share = 0
    """Writes of `multi` keys at once."""
    delete: _Share = 0
    """Removals of one key."""
    insert: _Share = 0
    """Writes of a key that was not there."""
    scan: _Share = 0
    """Reads of `scan_length` keys in order, from one on."""
    read_modify_write: _Share = 0
    """Reads of a key, each followed by a write of it."""

    def shares(self) -> dict[str, float]:
        """Those above 0, by verb."""
        return {name: share for name, share in self.model_dump().items() if share > 0}


class SizeRange(Options, use_attribute_docstrings=True):
    """Every size from the first to the last is equally likely."""

    start: _ValueSize = Field(alias="from", description="The smallest.")
    to: _ValueSize
    """The largest."""

    @model_validator(mode="after")
    def _rises(self) -> SizeRange:
        if self.start > self.to:
            raise SettingError(KV_RANGE(start=self.start.text, end=self.to.text))
        return self


class SizeBell(Options, use_attribute_docstrings=True):
    """Normally distributed sizes; what would fall below 0 or beyond twice the mean is drawn again."""

    mean: Annotated[Size, Field(ge=1, le=_LARGEST_VALUE)]
    """The middle of the bell."""
    deviation: Annotated[Size, Field(ge=0)]
    """Width of the distribution: the standard deviation."""

    @model_validator(mode="after")
    def _is_a_bell(self) -> SizeBell:
        if self.deviation > self.mean:
            raise SettingError(KV_BELL(instead="{from: ..., to: ...}"))
        return self


_Lifetime = Annotated[Duration, Field(ge=0.001)]


class LifetimeRange(Options, use_attribute_docstrings=True):
    """Every lifetime from the first to the last is equally likely."""

    start: _Lifetime = Field(alias="from", description="The shortest.")
    to: _Lifetime
    """The longest."""

    @model_validator(mode="after")
    def _rises(self) -> LifetimeRange:
        if self.start > self.to:
            raise SettingError(KV_RANGE(start=self.start.text, end=self.to.text))
        return self

    def section(self) -> dict[str, int]:
        """The section for the engine."""
        return {"from": self.start.ns, "to": self.to.ns}


_Rows = Annotated[int, Field(ge=1, le=1_000_000)]


class RowRange(Options, use_attribute_docstrings=True):
    """Every number from the first to the last is equally likely."""

    start: _Rows = Field(alias="from", description="The fewest.")
    to: _Rows
    """The most."""

    @model_validator(mode="after")
    def _rises(self) -> RowRange:
        if self.start > self.to:
            raise SettingError(KV_RANGE(start=self.start, end=self.to))
        return self


#: Names of built-in operations: no command can have such a name.
TAKEN = frozenset({*Mix.model_fields, "transaction", "missed"})


class KvOptions(Options):
    """Load of a key-value store's clients."""

    mix: Mix | None = Field(
        default=None,
        description="Shares of the verbs: `get set mget mset delete insert scan read_modify_write`. Default: "
        "as `reads` says.",
    )
    reads: _Part | None = Field(
        default=None,
        description="Short for a `mix` of `get` (this share) and `set` (the others). Default: 80%.",
    )
    keys: int = Field(default=100_000, ge=1, le=_MOST_KEYS, description="How many keys there are.")
    key_prefix: str = Field(default="key:", max_length=1000, description="What every key begins with.")
    key_size: Annotated[Size, Field(ge=1, le=1024)] = Field(
        default=Size(16), description="Length of a key, prefix included: its number is padded with zeros."
    )
    distribution: Distribution = Field(default="uniform", description="Which keys are asked for.")
    theta: float = Field(
        default=0.99,
        gt=0,
        le=10,
        description="How skewed `zipfian`, `scrambled_zipfian` and `latest` are; below 1 for the last two.",
    )
    hot_data: _Part = Field(
        default=Fraction(0.2), description="`hotspot`: the share of the keys that is hot."
    )
    hot_operations: _Part = Field(
        default=Fraction(0.8), description="`hotspot`: the share of the draws that hot keys get."
    )
    deviation: Annotated[Fraction, Field(gt=0, le=10)] = Field(
        default=Fraction(0.1), description="`gaussian`: standard deviation, as a share of all keys."
    )
    percentile: Annotated[Fraction, Field(gt=0, lt=1)] = Field(
        default=Fraction(0.95),
        description="`exponential`: this share of the draws falls within the newest `fraction` of the keys.",
    )
    fraction: Annotated[Fraction, Field(gt=0, le=1)] = Field(
        default=Fraction(0.8571428571), description="`exponential`: see `percentile`."
    )
    value_size: _ValueSize | SizeRange | SizeBell = Field(
        default=Size(100),
        union_mode="left_to_right",
        description="Length of a value, or how lengths vary: `{from: 10B, to: 1kB}`, `{mean: 1kB, deviation: "
        "200B}`.",
    )
    multi: int = Field(default=10, ge=1, le=10_000, description="Keys of one `mget` or `mset`.")
    ttl: _Lifetime | LifetimeRange | None = Field(
        default=None,
        description="How long what is written lives, or how that varies: `{from: 30s, to: 90s}`. Target "
        "`redis` only.",
    )
    pipeline: int = Field(
        default=1,
        ge=1,
        le=10_000,
        description="Commands that a connection sends before it waits for answers. Target `redis` only.",
    )
    batch: int = Field(
        default=1,
        ge=1,
        le=1_000_000,
        description="Operations that are done in one transaction of the store. Target `store` only.",
    )
    scan_length: _Rows | RowRange = Field(
        default=100, description="Rows that a `scan` asks for, or `{from: 1, to: 100}`. Target `store` only."
    )
    load: bool = Field(
        default=True, description="Whether all keys are there before the load; `false`: none is."
    )
    verify: bool = Field(
        default=False,
        description="Values carry a checksum, and each that is read is compared with what was written: lost, "
        "stale and corrupt ones are errors, and fail the trial.",
    )
    commands: dict[Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,39}$")], CommandOptions] = Field(
        default_factory=dict,
        description="Commands, transactions and scripts of your own, by name, with their share beside those "
        "of the mix. Target `redis` only.",
    )

    @property
    def most_in_flight(self) -> int:
        return self.pipeline

    @model_validator(mode="after")
    def _is_consistent(self) -> KvOptions:
        if self.mix is not None and self.reads is not None:
            raise SettingError(KV_MIX_AND_READS())
        if not self.shares() and not any(command.share > 0 for command in self.commands.values()):
            raise SettingError(KV_NO_SHARE())
        if taken := TAKEN & self.commands.keys():
            raise SettingError(KV_COMMAND_NAME(name=min(taken)))
        needed = len(self.key_prefix.encode()) + len(str(self.keys - 1))
        if self.key_size < needed:
            raise SettingError(KV_KEY_SIZE(size=self.key_size.text, keys=self.keys, needed=f"{needed}B"))
        if self.theta > 0.9999 and self.distribution in ("scrambled_zipfian", "latest"):
            raise SettingError(KV_THETA(distribution=self.distribution))
        if self.verify:
            self._can_be_verified()
        return self

    def _can_be_verified(self) -> None:
        if self.ttl is not None:
            raise SettingError(KV_VERIFY_TTL())
        if self.commands:
            raise SettingError(KV_VERIFY_COMMANDS())
        match self.value_size:
            case SizeRange(start=smallest) | SizeBell(mean=smallest):
                pass
            case smallest:
                pass
        if smallest < CHECKSUMMED:
            raise SettingError(KV_VERIFY_SIZE(smallest=smallest.text, needed=f"{CHECKSUMMED}B"))

    def shares(self) -> dict[str, float]:
        """Frequencies by verb: `reads` and the usual 80% filled in, without commands."""
        if self.mix is not None:
            return self.mix.shares()
        if self.reads is None and self.commands:
            return {}
        reads = 0.8 if self.reads is None else float(self.reads)
        return Mix(get=reads, set=1 - reads).shares()

    def section(self) -> JsonObject:
        """The section for the engine: bytes, shares of 1, nanoseconds."""
        return {
            **self.model_dump(
                include={"keys", "key_prefix", "distribution", "theta", "multi", "pipeline", "batch"}
            ),
            **self.model_dump(include={"load", "verify"}),
            "mix": {**dict.fromkeys(Mix.model_fields, 0), **self.shares()},
            "key_size": int(self.key_size),
            **{
                name: float(getattr(self, name))
                for name in ("hot_data", "hot_operations", "deviation", "fraction")
            },
            "percentile": float(self.percentile) * 100,
            "value_size": _plain(self.value_size),
            "scan_length": _plain(self.scan_length),
            "ttl_ns": self.ttl.section() if isinstance(self.ttl, LifetimeRange) else self.ttl and self.ttl.ns,
            "commands": {name: command.section(name) for name, command in self.commands.items()},
        }


def _mistake(section: JsonObject, name: str) -> Message | None:
    """The mistake in a command of the engine's section, as the engine reports it."""
    try:
        _engine.check(json.dumps({"kv": {**section, "commands": {name: section["commands"][name]}}}))
    except _engine.EngineError as error:
        return engine_failure(json.loads(str(error)))
    return None


def _plain(amount: int | Options) -> int | dict[str, int]:
    if isinstance(amount, Options):
        return {name: int(value) for name, value in amount.model_dump(by_alias=True).items()}
    return int(amount)


class Kv(Workload[KvOptions]):
    """Gets, sets and scans of one key space."""

    name = "kv"
    summary = "key-value operations: any mix of get, set, mget, scan ..., verified if wanted"
    Options = KvOptions
    needs = frozenset({RESP, STORE})
    unit = declare_unit("operation")

    def __init__(self, options: KvOptions) -> None:
        super().__init__(options)
        self.verifies_values = options.verify

    def data(self) -> JsonObject:
        section = self.options.section()
        if not self.options.load:
            return {"kv": {"load": False, "key_prefix": section["key_prefix"]}}
        return {"kv": {name: section[name] for name in _OF_THE_DATA}}

    def data_size(self, target: TargetKind) -> DataSize | None:  # noqa: ARG002
        """Key and mean value of all records; None where the load itself writes them."""
        options = self.options
        if not options.load:
            return None
        match options.value_size:
            case SizeRange(start=smallest, to=largest):
                value_bytes = (smallest + largest) / 2
            case SizeBell(mean=mean):
                value_bytes = float(mean)
            case size:
                value_bytes = float(size)
        return DataSize("keys", options.keys, options.key_size + value_bytes, records=True)

    def key_prefixes(self) -> tuple[str, ...]:
        return (self.options.key_prefix,)

    @property
    def changes_data(self) -> bool:
        commands = (command for command in self.options.commands.values() if command.share > 0)
        return any(verb in _WRITING for verb in self.options.shares()) or any(
            command.kind == "write" for command in commands
        )

    def calls(self, operations: Mapping[str, int]) -> dict[str, int]:
        names = {name: tuple(command.called()) for name, command in self.options.commands.items()}
        calls: dict[str, int] = {}
        for name, commands in {**_COMMANDS, **names}.items():
            for command in commands:
                if name in operations:
                    calls[command] = calls.get(command, 0) + operations[name]
        if SCRIPT_CALL in calls:  # what the scripts call is counted under its own names
            return {SCRIPT_CALL: calls[SCRIPT_CALL]}
        return calls

    def engine(self) -> JsonObject:
        return {"kv": self.options.section()}

    def misfits(self, load: Load, target: TargetKind | None) -> list[Misfit]:
        options, misfits = self.options, []

        def without(name: str, message: Message) -> None:
            misfits.append(Misfit(f"workload.kv.{name}", message))

        offers = target.offers if target is not None else frozenset[Capability]()
        if STORE in offers:
            for name, there in (
                ("pipeline", options.pipeline > 1),
                ("ttl", options.ttl is not None),
                ("commands", bool(options.commands)),
            ):
                if there:
                    without(name, KV_NOT_EMBEDDED(name=name))
        if RESP in offers:
            if "scan" in options.shares():
                without("mix.scan", KV_NO_SCAN())
            if options.pipeline > 1 and load.rate is not None:
                without("pipeline", KV_PIPELINE_WITH_RATE())
            for name in options.commands:
                mistake = _mistake(options.section(), name)
                if mistake is not None:
                    without(f"commands.{name}.command", mistake)
            if options.ttl is not None and "mset" in options.shares():
                without("ttl", KV_MSET_WITHOUT_TTL())
            if options.batch > 1:
                without("batch", KV_NO_BATCH())
        if options.verify and load.clients is not None and options.keys < load.clients:
            without("keys", KV_TOO_FEW_KEYS(clients=load.clients, keys=options.keys))
        return misfits

    def advice(self) -> list[Advice]:
        advice = []
        shares = self.options.shares()
        if "delete" in shares and not {"set", "mset", "insert"} & shares.keys():
            advice.append(Advice("mix", KV_ONLY_DELETES()))
        if not self.options.load and "insert" not in shares and {"get", "mget"} & shares.keys():
            advice.append(Advice("load", KV_NO_KEYS()))
        return advice

    def remarks(self, settings: Resolved) -> list[Advice]:
        remarks = []
        if settings.target.external:
            for name, command in self.options.commands.items():
                if any(re.search(r"\S\$\{key\}", text) for text in command.texts):
                    message = KV_FOREIGN_KEYS(place="${key}", good="${key}:list", bad="list:${key}")
                    field = "command" if command.script is None else "keys"
                    remarks.append(Advice(f"workload.kv.commands.{name}.{field}", message))
        if not self.options.verify:
            return remarks
        for group in settings.groups:
            other = group.workload
            if other is self.options or not isinstance(other, KvOptions):
                continue
            if other.key_prefix == self.options.key_prefix and Kv(other).changes_data:
                message = KV_SHARED_PREFIX(group=group.name, prefix=other.key_prefix)
                remarks.append(Advice("workloads", message))
        return remarks


PART = Kv
