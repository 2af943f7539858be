"""Contract of targets: a system that can be started, filled with data, described and stopped."""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from pydantic import SecretStr

from loadcell.linux.time_limits import ask
from loadcell.model.json import OMITTED, JsonObject, JsonValue
from loadcell.model.message import ForeignText, Message, MessageCode, MessageError
from loadcell.plan.affinity import ANYWHERE, Pin
from loadcell.plan.parts import Misfit, Opts, TargetPart
from loadcell.systems.shared.run_locks import RunLocks
from loadcell.systems.shared.storage import Storage, StorageFacts, Storages
from loadcell.systems.subjects import NETWORK, Network, Subject, SubjectAbilities

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from loadcell.model.trial_record import PlanRecord
    from loadcell.monitors.numbered_writes import NumberedWrites
    from loadcell.plan.workload import StatementText
    from loadcell.profilers.launcher import ProfilerAccount
    from loadcell.systems.shared.packages import Package

TARGET_NOT_UP = MessageCode("target.not-up")
TARGET_NO_SQL = MessageCode("target.no-sql", target=str)
IMAGE_NO_DIRECTORY = MessageCode("image.no-directory", kind=str, path=str)
HOME_NO_DIRECTORY = MessageCode("home.no-directory", option=str, path=str)
HOME_NOT_USABLE = MessageCode("home.not-usable", kind=str, path=str, said=ForeignText)

#: Text that is never shown or written; `get_secret_value` reveals it.
Secret = SecretStr

#: Time limit of a connection, its handshake included.
CONNECT_LIMIT_S = 10
#: Raised when the same description of data would no longer give the same tables.
_DATA_FORMAT = 1


@dataclass(frozen=True)
class Endpoint:
    """Where and how a load reaches a target; each kind of target adds its fields.

    The names of fields are those of the engine's specification. A field that is None does not apply.
    """

    protocol: str
    sslmode: str = field(default="disable", kw_only=True)
    connect_timeout_ns: int = field(default=CONNECT_LIMIT_S * 1_000_000_000, kw_only=True)

    def section(self) -> JsonObject:
        """The `target` section of the engine's specification, secrets included: never to be written."""
        values = {name: value for name, value in asdict(self).items() if value is not None}
        return {
            name: value.get_secret_value() if isinstance(value, Secret) else value
            for name, value in values.items()
        }


@dataclass(frozen=True)
class ServerEndpoint(Endpoint):
    """The endpoint of a server; `socket`, a Unix socket's path, takes precedence over `host`.

    `tls_name` is the name that TLS asks for and verifies where it is not `host`, `authority` is the host and
    port that requests of HTTP name, `options` are those of PostgreSQL sessions, `resp` is a version of RESP.
    """

    host: str
    port: int
    socket: str | None = None
    user: str | None = None
    password: Secret | None = None
    database: str | None = None
    sslmode: str = field(default="prefer", kw_only=True)
    sslrootcert: str | None = None
    tls_name: str | None = None
    authority: str | None = None
    application_name: str | None = None
    options: str | None = None
    resp: int | None = None

    def through(self, port: int) -> ServerEndpoint:
        """The same server by way of a proxy on a port of this machine, of which TLS and HTTP see nothing."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        standard = 80 if self.sslmode == "disable" else 443
        authority = host if self.port == standard else f"{host}:{self.port}"
        return replace(
            self,
            host="127.0.0.1",
            port=port,
            socket=None,
            tls_name=self.tls_name or self.host,
            authority=self.authority or authority,
        )


@dataclass(frozen=True)
class Role:
    """A named group of the target's processes: the roots of its process trees on this machine."""

    name: str
    pids: tuple[int, ...]


@dataclass(frozen=True)
class SettingFacts:
    """A setting in effect; `given` is the plan's text, None where the plan leaves it open."""

    name: str
    value: JsonValue
    given: str | int | float | bool | None = None


@dataclass(frozen=True, kw_only=True)
class TargetFacts:
    """Facts that a target reports of itself, for the record; each kind of target adds its fields.

    `server` is how it came to run (`embedded`, `local`, `external` ...), `settings` are those read back,
    `data` is the file system of the data, and `storage` what loadcell made under it.
    """

    server: str
    product: Annotated[str | None, OMITTED] = None
    version: Annotated[str | None, OMITTED] = None
    settings: Annotated[tuple[SettingFacts, ...] | JsonObject | None, OMITTED] = None
    size_bytes: Annotated[int | None, OMITTED] = None
    data: Annotated[JsonObject | None, OMITTED] = None
    storage: Annotated[StorageFacts | None, OMITTED] = None


@dataclass(frozen=True)
class DataSpec:
    """Description of a data set: its options by kind (`sysbench`, `kv` ...).

    `key_prefixes` are those of its keys, where it is kept as keys; `tables` are the names of all tables that
    its load creates, none if they are not declared.
    """

    sections: JsonObject
    key_prefixes: tuple[str, ...] = ()
    tables: tuple[str, ...] = ()

    @property
    def fingerprint(self) -> str:
        """Twelve hex digits that stand for the data set: equal for equal descriptions."""
        canonical = json.dumps([_DATA_FORMAT, self.sections], sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(canonical.encode()).hexdigest()[:12]


#: Loads a data set through the engine at the endpoint; returns the number of rows, None if it is unknown.
Loader = Callable[[Endpoint], int | None]


#: Executes a statement in a session and gives its rows; the message completes "cannot ...".
Execute = Callable[[str, Message], list[tuple[Any, ...]]]


class TargetError(MessageError):
    """The target could not do what was asked: what was found, and what to do about it.

    The reason is one of the catalogue (`because`), or words of one's own with `advice`, the remedy in a
    sentence.
    `during` is the phase (`up`, `prepare`, `collect`, ...).
    """

    def __init__(self, reason: Message | str, *, advice: str = "", during: str = "up") -> None:
        super().__init__(reason, advice=advice)
        self.during = during


def _ignore(_: object) -> None: ...


@dataclass(frozen=True)
class TargetContext:
    """Where a target may put its things, and how it says what it does.

    `work` is a directory of the run's own, readable by other users, removed at the run's end.
    `log` takes one line at a time for the trial's output.log; secrets are removed by the receiver.
    `secret` turns `${env:NAME}` in an option into its value, and makes sure that it is never written.
    `pin` is where the processes run that the target starts. `note` tells the user something at once.
    `locks` are those of the run on external servers, `storages` what it made under data directories.
    `preloads`: its processes are to be started with the library for faults. `filling` takes the share of the
    data that a target has stored while it starts.
    """

    work: Path
    log: Callable[[str], None]
    secret: Callable[[str], str]
    pin: Pin = ANYWHERE
    note: Callable[[Message], None] = _ignore
    locks: RunLocks = field(default_factory=RunLocks)
    storages: Storages = field(default_factory=Storages)
    preloads: bool = False
    filling: Callable[[float], None] = _ignore


@dataclass(frozen=True)
class DataSet:
    """Origin of the data that a trial ran on.

    `how` is `loaded`, `reused` (nothing had changed) or `restored` (a workload had changed it);
    `duration_s` and `size_bytes` are its price. `kind` says what holds it: a `database`, `schema` or
    `directory` of that name, or `keys` with those prefixes. `method` says how it was made, if it was.
    """

    fingerprint: str
    how: str
    duration_s: float
    size_bytes: int | None = None
    kind: Annotated[str | None, OMITTED] = None
    database: Annotated[str | None, OMITTED] = None
    schema: Annotated[str | None, OMITTED] = None
    directory: Annotated[str | None, OMITTED] = None
    prefixes: Annotated[tuple[str, ...] | None, OMITTED] = None
    method: Annotated[str | None, OMITTED] = None
    rows: Annotated[int | None, OMITTED] = None
    load_s: Annotated[float | None, OMITTED] = None
    copy_s: Annotated[float | None, OMITTED] = None
    copied_bytes: Annotated[int | None, OMITTED] = None
    kept_copy_s: Annotated[float | None, OMITTED] = None
    checkpoint_s: Annotated[float | None, OMITTED] = None
    flush_s: Annotated[float | None, OMITTED] = None


@dataclass(frozen=True)
class DatabaseUrl:
    """URLs by which `loadcell sql` names an external database of a target.

    `schemes` are those that the option `option` takes; one of `aliases` becomes the first of them.
    `password_variable` is the environment variable that holds a password. With `keywords`, the option also
    takes libpq's `key=value` words.
    """

    schemes: tuple[str, ...]
    option: str
    password_variable: str
    aliases: tuple[str, ...] = ()
    keywords: bool = False


#: Name among a system's counters of the most parallel workers that one statement may have.
WORKERS_PER_QUERY = "workers_per_query"
#: Name among a system's counters of the most commits of a connection before its first statement.
COMMITS_PER_CONNECTION = "commits_per_connection"


class Target(TargetPart[Opts], ABC):
    """A system under test. One object serves many trials as long as its options stay the same."""

    #: URLs of its external databases; None: `loadcell sql` does not reach it
    database_url: ClassVar[DatabaseUrl | None] = None
    #: why no data are loaded into it, of a target that does not define `prepare`
    no_data: ClassVar[MessageCode]

    def __init__(self, options: Opts, context: TargetContext) -> None:
        self.options = options
        self.context = context

    @classmethod
    def packages(cls, options: Opts) -> tuple[Package, ...]:  # noqa: ARG003
        """Packages of programs that `up` needs in the cache with these options: a run fetches them first."""
        return ()

    @abstractmethod
    def up(self) -> None:
        """Bring the system to where it answers; does nothing when it already does. Raises TargetError.

        Called at the beginning of each trial, also after the system died in the trial before. Two targets of
        one run may share what lies in `work` (a data directory, under other settings), so only one is up at a
        time.
        """

    def prepare(self, spec: DataSpec, load: Loader, *, will_change: bool) -> DataSet:  # noqa: ARG002
        """Make the described data set be there, untouched, creating only what loadcell owns.

        Raises TargetError.

        `will_change` says that the coming workload changes it, so that the next trial needs it restored.
        """
        raise TargetError(self.no_data(), during="prepare")

    @abstractmethod
    def endpoint(self) -> Endpoint:
        """Where and how the load connects."""

    @abstractmethod
    def describe(self) -> TargetFacts:
        """Version, settings as read back, file system of the data: what belongs into the record."""

    def roles(self) -> tuple[Role, ...]:
        """Its processes on this machine, in named groups; empty when it runs elsewhere."""
        return ()

    def processes(self) -> list[int]:
        """Process ids of all roles."""
        return [pid for role in self.roles() for pid in role.pids]

    def with_storage(self) -> list[int]:
        """Process ids of all roles, and of the storage that loadcell made under its data."""
        storage = self.made_storage()
        return [*self.processes(), *([] if storage is None else storage.processes())]

    @classmethod
    def network(cls, options: Opts) -> Network | None:  # noqa: ARG003
        """Connections of a load to its `ServerEndpoint`, where it has one with these options."""
        return None

    @classmethod
    def subject_abilities(cls, options: Opts) -> Mapping[str, SubjectAbilities]:
        """Its parts that faults can act on with these options, by the names that plans use."""
        network = cls.network(options)
        return {} if network is None else {NETWORK: SubjectAbilities(network=network)}

    def subject(self, name: str) -> Subject:
        """A part of the target, which is up, for a fault; not its network. Raises KeyError."""
        raise KeyError(name)

    def made_storage(self) -> Storage | None:
        """The storage that loadcell made under its data."""
        return None

    def management(self) -> Mapping[str, Callable[[], None]]:
        """Operations of the management plane of its storage by name, for a probe; each raises TargetError."""
        storage = self.made_storage()
        return {} if storage is None else storage.management()

    def filled(self, text: str) -> str:
        """A text of the plan with its secrets and placeholders (`placeholders`) replaced."""
        return self.context.secret(text)

    def observed(self) -> Any:
        """Access for monitors made for this kind of system, secrets included; None if there is none."""
        return None

    def numbered_writes(self) -> NumberedWrites | None:
        """A writer of numbered records; None unless it offers `NUMBERED_WRITES`."""
        return None

    #: True if its server may know users by their process at a Unix socket (peer authentication)
    knows_users_of_socket: ClassVar[bool] = False

    @staticmethod
    def process_kind(title: str) -> str:
        """The title of a process of the target without what changes from moment to moment."""
        return title

    @abstractmethod
    def alive(self) -> bool:
        """True if it still answers."""

    def exit_cause(self) -> Message | None:
        """Why its process has ended by itself; None while it runs, or if that is unknown."""
        return None

    def failure_cause(self, failure: Message) -> Message:
        """The failure of most requests, with its cause if the system has printed one since its start."""
        return failure

    def trial_files(self, since_ns: int) -> Mapping[str, Iterable[str]]:  # noqa: ARG002
        """Text files for a trial's directory by name: lines that the system wrote since a monotonic time."""
        return {}

    def counters(self) -> dict[str, int]:
        """The system's own running counters (transactions, rows ...), to hold the load's record against."""
        return {}

    def intruder(self) -> str | None:
        """Another run that has used the server since the last time, although this run had locked it."""
        return None

    def worker_prefix(self) -> tuple[str, ...]:
        """Words in front of the command of the process that makes the load: a profiler of a system in that
        process. Raises TargetError.
        """
        return ()

    def examine(self) -> ProfilerAccount | None:
        """Result of an examination that ends the system: it is down afterwards. None without an examination.

        A trial on an examined system is too slow to be compared with any other: its results do not count.
        Raises TargetError.
        """
        return None

    def ask(self, question: str) -> list[tuple[Any, ...]]:  # noqa: ARG002
        """The answer to one statement of SQL that only reads, on the data of the trial.

        Raises TargetError.
        """
        raise TargetError(TARGET_NO_SQL(target=self.name), during="verify")

    def sql_session(self, during: str) -> AbstractContextManager[Execute]:
        """A session on the data of the trial, whose statements may change them. Raises TargetError."""
        raise TargetError(TARGET_NO_SQL(target=self.name), during=during)

    def explain(self, transactions: Sequence[Sequence[StatementText]]) -> list[PlanRecord]:  # noqa: ARG002
        """Execution plans of statements, which leave the data as they are. Raises TargetError."""
        return []

    def reset_statistics(self) -> list[str]:
        """Reset the server's statistics of statements. Returns what was reset, and for others why not."""
        return []

    def down(self) -> None:
        """Stop what `up` started, keeping its data for the next `up`.

        Never raises on a system already gone.
        """

    def destroy(self) -> None:
        """Remove everything that loadcell made, unless the plan keeps it.

        Called once, at the run's end; never raises.
        """
        self.down()

    @staticmethod
    def release(work: Path) -> None:
        """Free what a system that died together with its run holds outside its work directory `work`.

        Called when nothing of the run is alive, before the directory is removed; never raises.
        """


def missing_directory(key: str, path: Path, missing: Message) -> Iterator[Misfit]:
    """Misfits of a directory that must exist; `missing` is the message of the run for it.

    A file system that does not answer in time is no mistake of the plan: the run finds out.
    """
    if ask({"there": path.is_dir}).values.get("there") is False:
        yield Misfit(key, missing)
