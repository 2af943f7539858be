"""Base of targets that are servers: one that loadcell starts on an owned directory, or one that is already
running.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from contextlib import nullcontext, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Generic, TypeVar, get_args

from loadcell.linux import disks
from loadcell.model.json import OMITTED, JsonObject
from loadcell.model.message import MessageCode
from loadcell.plan.parts import Advice, Misfit
from loadcell.systems.base import (
    TARGET_NOT_UP,
    DataSet,
    DataSpec,
    Loader,
    Role,
    Target,
    TargetContext,
    TargetError,
    TargetFacts,
)
from loadcell.systems.managed_server import ManagedServer
from loadcell.systems.server_address import ServerAddress
from loadcell.systems.server_options import ManagedOrExternalOptions, Setting, VersionedOptions
from loadcell.systems.shared.data_directory import data_misfits
from loadcell.systems.shared.data_location import DataLocation
from loadcell.systems.shared.data_sets import DataSets, Prepared
from loadcell.systems.shared.disk_image import Image
from loadcell.systems.shared.packages import Package, Repository
from loadcell.systems.shared.run_locks import RunLock
from loadcell.systems.shared.storage import Storage
from loadcell.systems.shared.storage_options import storage_abilities, storage_misfits
from loadcell.systems.subjects import Network, Subject, SubjectAbilities

if TYPE_CHECKING:
    from loadcell.plan.model import Load

#: How long a server may take to answer whether it is alive.
ALIVE_LIMIT_S = 3
OptionsT = TypeVar("OptionsT", bound=ManagedOrExternalOptions)
AddressT = TypeVar("AddressT", bound=ServerAddress)
SETTING_UNKNOWN = MessageCode("setting.unknown", name=str)
SETTING_UNKNOWN_NEAR = MessageCode("setting.unknown-near", name=str, nearest=str)
ServerT = TypeVar("ServerT", bound="ManagedServer[Any, Any]")


@dataclass(frozen=True)
class DatabaseFacts:
    """The database of the load."""

    name: str
    encoding: Annotated[str | None, OMITTED] = None
    collation: Annotated[str | None, OMITTED] = None
    ctype: Annotated[str | None, OMITTED] = None
    size_bytes: Annotated[int | None, OMITTED] = None
    keys: Annotated[int | None, OMITTED] = None


@dataclass(frozen=True, kw_only=True)
class ServerFacts(TargetFacts):
    """Facts of a server: `host` of an external one; program, user and way of connecting of a managed one.

    `package` is where the programs are from, and its checksum, if that is a package.
    """

    host: Annotated[str | None, OMITTED] = None
    connect: Annotated[str | None, OMITTED] = None
    tls: bool = False
    binaries: Annotated[str | None, OMITTED] = None
    package: Annotated[str | None, OMITTED] = None
    run_as: Annotated[str | None, OMITTED] = None
    database: Annotated[DatabaseFacts | None, OMITTED] = None
    data: JsonObject | None = None


class ServerTarget(Target[OptionsT], Generic[OptionsT, ServerT, AddressT]):
    """A server that loadcell manages, or (`server: external`) one that is already running and is never
    changed.
    """

    #: codes of reasons why a connection failed although the server answered, or could not be asked
    answered_codes: ClassVar[tuple[str, ...]]
    #: packages of its programs; None: there are none
    repository: ClassVar[Repository | None] = None

    def __init__(self, options: OptionsT, context: TargetContext) -> None:
        super().__init__(options, context)
        self._server: ServerT | None = None
        self._external: AddressT | None = None
        self._prepared: Prepared | None = None
        self._touched = False
        self._lock: RunLock | None = None

    # -- what a system defines

    @abstractmethod
    def _make_server(self, parent: Path, settings: Mapping[str, Setting], sockets: Path) -> ServerT:
        """The server, not started, with its directory in `parent`. Raises TargetError."""

    @abstractmethod
    def _external_address(self) -> AddressT:
        """The address of the external server, secrets revealed. Raises TargetError."""

    @abstractmethod
    def _check_external(self, address: AddressT) -> None:
        """Connect and check that the server is of a supported kind. Raises TargetError."""

    @abstractmethod
    def _managed_address(self, server: ServerT) -> AddressT:
        """The address of the load's user on a managed server."""

    @abstractmethod
    def _data_sets(self) -> DataSets[Any]:
        """Loadcell's data sets on the server."""

    @abstractmethod
    def _facts(self) -> tuple[ServerFacts, Path | None]:
        """Facts as read back, and the data directory of an external server, if it is readable here."""

    @staticmethod
    def check_programs(options: Any) -> None:
        """Check that the programs that the options name are there and run. Raises TargetError."""

    @staticmethod
    def unknown_settings(options: Any) -> Mapping[str, str | None]:  # noqa: ARG004
        """Settings that the programs of a managed server do not know, with the names most like them.

        None are returned where the programs cannot list their settings. Raises TargetError.
        """
        return {}

    @staticmethod
    @abstractmethod
    def remarks(options: Any, load: Load) -> list[Advice]:
        """Remarks on the options of a managed server under a load."""

    @staticmethod
    def too_many_clients(options: Any, clients: int) -> Iterable[Misfit]:  # noqa: ARG004
        """The setting of a managed server that allows fewer connections than this number of clients has."""
        return ()

    def _external_processes(self, address: AddressT) -> list[int]:  # noqa: ARG002
        """The server's root processes on this machine. Raises TargetError."""
        return []

    def _restart_needed(self) -> bool:
        """True if a running server must be restarted before the next trial."""
        return False

    # -- life

    def up(self) -> None:
        if self.options.external:
            if self._external is None:
                self._external = self._external_address()
            self._check_external(self._external)
            return
        if self._server is None:
            settings = {
                name: self.context.secret(value) if isinstance(value, str) else value
                for name, value in self.options.settings.items()
            }
            server = self._make_server(self._location.parent, settings, self.context.work / "socket")
            if self.context.preloads:
                server.preload(self.context.work)
            self._server = server
        server = self._server
        if self._location.make() and server.running:
            server.stop(quickly=True)
        # A server that was killed a moment ago may still be a process, and so is one that hangs.
        if server.running and (self._restart_needed() or not self.alive()):
            server.stop()
        if not server.running:
            self._start(server)

    def _start(self, server: ServerT) -> None:
        server.stop()  # remains of one that died
        server.directory.make()
        server.start()

    @property
    def _location(self) -> DataLocation:
        return DataLocation(self.options.data, self.options.storage, self.context, self.name)

    def alive(self) -> bool:
        if not self.options.external and (self._server is None or not self._server.running):
            return False
        try:
            self._admin().check(limit_s=ALIVE_LIMIT_S)
        except TargetError as error:
            return error.message.code in self.answered_codes
        return True

    def down(self) -> None:
        if self._server is not None:
            self._server.stop()

    def destroy(self) -> None:
        try:
            server = self._server
            if server is None:
                if self._external is not None and self._touched:
                    self._sweep()
            elif self.options.keep_data:
                if self._touched and server.directory.made:
                    self.up()
                    self._sweep()
                server.stop()
            else:
                server.stop(quickly=True)
                if self._location.storage is None:  # else the data go with it, at once
                    server.directory.remove()
                self._location.remove()
        except TargetError as error:
            self.context.log(f"cannot clean up: {error.finding}: {error.advice}")
            self.down()
        finally:
            if self._lock is not None:
                self.context.locks.drop(self._lock)
                self._lock = None

    def _sweep(self) -> None:
        for message in self._data_sets().sweep():
            self.context.note(message)

    # -- data and facts

    def prepare(self, spec: DataSpec, load: Loader, *, will_change: bool) -> DataSet:
        data_sets = self._data_sets()
        if self._lock is None:
            lock = data_sets.lock()
            self._lock = None if lock is None else self.context.locks.add(lock)
        if self._lock is not None:
            self._lock.hold()
        self._touched = True
        server = self._server
        with nullcontext() if server is None else server.noticing_a_full_device("prepare"):
            self._prepared = data_sets.prepare(spec, load, will_change=will_change)
        return self._prepared.data_set

    def intruder(self) -> str | None:
        return None if self._lock is None else self._lock.intruder()

    def describe(self) -> ServerFacts:
        facts, data = self._facts()
        server = self._server
        if server is None:
            facts = replace(facts, host=facts.host or self._load_address().host)
        else:
            directory = server.directory
            data = directory.data
            facts = replace(
                facts,
                run_as=directory.account.name,
                connect=self.options.connect,
                size_bytes=disks.used_bytes(data),
                storage=None if (storage := self._location.storage) is None else storage.facts(),
            )
        return replace(facts, data=None if data is None else disks.file_system(data))

    def roles(self) -> tuple[Role, ...]:
        pids: list[int] = []
        if self._server is not None:
            pids = [] if self._server.pid is None else [self._server.pid]
        elif self._external is not None and self._external.here:
            with suppress(TargetError):
                pids = self._external_processes(self._external)
        return (Role("server", tuple(pids)),) if pids else ()

    @classmethod
    def network(cls, options: OptionsT) -> Network | None:  # noqa: ARG003
        return Network()

    @classmethod
    def subject_abilities(cls, options: OptionsT) -> Mapping[str, SubjectAbilities]:
        dedicated_device = not options.external and isinstance(options.data, Image)
        managed = not options.external
        server = SubjectAbilities(
            startable=managed,
            dedicated_device=dedicated_device,
            imageable=Image in get_args(type(options).model_fields["data"].annotation),
            preloadable=managed,
            data=managed,
        )
        storage = storage_abilities(options.storage)
        return {cls.name: server, **storage, **super().subject_abilities(options)}

    def made_storage(self) -> Storage | None:
        return self._location.storage

    def subject(self, name: str) -> Subject:
        if name != self.name:
            if (storage := self._location.storage) is None:
                raise KeyError(name)
            return storage.subject(name)
        server = self._server

        def processes() -> tuple[int, ...]:
            return tuple(pid for role in self.roles() for pid in role.pids)

        if server is None:
            return Subject(name, processes)
        data = server.directory.data
        control = None if server.preloaded is None else server.preloaded.control
        return Subject(
            name,
            processes,
            stop=server.shut_down,
            start=server.start_again,
            bring_back=server.bring_back,
            data=data,
            fault_control=control,
        )

    @classmethod
    def misfits(cls, options: OptionsT) -> Iterator[Misfit]:
        yield from data_misfits(options.data, cls.name)
        yield from storage_misfits(options.storage)
        if cls.repository is not None and isinstance(options, VersionedOptions) and not options.external:
            yield from cls.repository.misfits(options, cls.check_programs)
        if not options.external:
            yield from cls._unknown_settings(options)

    @classmethod
    def refusals(cls, options: OptionsT, clients: int) -> Iterable[Misfit]:
        return () if options.external else cls.too_many_clients(options, clients)

    @classmethod
    def packages(cls, options: OptionsT) -> tuple[Package, ...]:
        if cls.repository is None or not isinstance(options, VersionedOptions) or options.external:
            return ()
        package = cls.repository.package(options)
        return () if package is None else (package,)

    @classmethod
    def advice(cls, options: OptionsT, load: Load) -> list[Advice]:
        if options.external:
            return []
        advice = [*cls.remarks(options, load)]
        if cls.repository is not None and isinstance(options, VersionedOptions):
            advice += cls.repository.remarks(options)
        return advice

    @classmethod
    def _unknown_settings(cls, options: OptionsT) -> Iterator[Misfit]:
        """Settings with which the server would not start, as far as its programs are here to be asked."""
        with suppress(TargetError):  # no programs, which is a misfit
            if options.settings and all(package.ready for package in cls.packages(options)):
                for name, near in cls.unknown_settings(options).items():
                    code = SETTING_UNKNOWN if near is None else SETTING_UNKNOWN_NEAR
                    yield Misfit(f"settings.{name}", code.pick(name=name, nearest=near))

    # -- addresses

    def _admin(self) -> AddressT:
        """The address for administration."""
        if self._server is not None:
            admin: AddressT = self._server.admin()
            return admin
        return self._load_address()

    def _load_address(self) -> AddressT:
        """The address for the load."""
        if self._server is not None:
            return self._managed_address(self._server)
        if self._external is None:
            raise TargetError(TARGET_NOT_UP())
        return self._external
