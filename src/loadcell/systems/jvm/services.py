"""Services that come with loadcell as sources: built by Maven before a run, and kept in the cache.

A service is a directory with `service.toml`, a project of Maven that makes `service.jar` and the libraries
in `lib`. What was built is named by the version of the product and a hash of the sources.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import tempfile
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Final

import loadcell
from loadcell.model.message import ForeignText, MessageCode, Seconds
from loadcell.plan.parts import Advice, Misfit, Relation
from loadcell.systems.base import TargetError
from loadcell.systems.shared.packages import (
    FETCH_LIMIT_S,
    MANIFEST,
    made,
    maven_error,
    packages_directory,
    run_bounded,
)

JVM_SERVICE_NO_MAVEN = MessageCode("jvm.service-no-maven", service=str)
JVM_SERVICE_NO_COMPILER = MessageCode("jvm.service-no-compiler", service=str)
JVM_SERVICE_NOT_BUILT = MessageCode("jvm.service-not-built", service=str, output=ForeignText, directory=str)
JVM_SERVICE_TIMEOUT = MessageCode("jvm.service-timeout", service=str, limit_s=Seconds)
JVM_SERVICE_ABSENT = MessageCode("jvm.service-absent", service=str)
JVM_SERVICE_WILL_BE_BUILT = MessageCode("jvm.service-will-be-built", "info", service=str, directory=str)

#: Name of the jar of each service, and of the directory with its libraries.
JAR: Final = "service.jar"
_LIBRARIES: Final = "lib"
_DESCRIPTION: Final = "service.toml"
#: Directories of a project that are no sources.
_NO_SOURCES: Final = frozenset({"target", ".idea", ".settings"})
_NO_COMPILER: Final = re.compile(r"No compiler is provided|release version \d+ not supported")
_HELP: Final = re.compile(r" -> \[Help \d+\].*")


@dataclass(frozen=True)
class SharedProperty:
    """A system property of a service that must equal an option of a workload, or must not be below it;
    `default` is its value where it is not set.
    """

    workload: str
    option: str
    property: str
    default: str
    relation: Relation = "equal"


@dataclass(frozen=True)
class Service:
    """The sources of a service, the versions of its product, and the property that sets one.

    `scheme` is that of the url for its load: `http`, or `tcp` for a stream of records. `processes_property`
    is the system property with the number of further JVMs that it starts, each with the same memory.
    """

    name: str
    directory: Path
    version_property: str
    versions: tuple[str, ...]
    scheme: str = "http"
    shared: tuple[SharedProperty, ...] = ()
    processes_property: str | None = None

    def processes(self, properties: Mapping[str, str]) -> int:
        """Number of JVMs with these system properties. The service refuses a value that is no number."""
        number = properties.get(self.processes_property or "", "")
        return 1 + int(number) if number.isdecimal() else 1

    @cached_property
    def digest(self) -> str:
        """Hash of the sources, in hexadecimal digits."""
        digest = hashlib.sha256()
        for path in sorted(self.directory.rglob("*")):
            relative = path.relative_to(self.directory)
            if path.is_file() and not _NO_SOURCES & set(relative.parts):
                content = path.read_bytes()
                digest.update(f"{relative}\0{len(content)}\0".encode())
                digest.update(content)
        return digest.hexdigest()


@cache
def services() -> Mapping[str, Service]:
    """The services by name."""
    package = Path(loadcell.__file__).parent
    return {
        path.parent.name: _read(path) for path in sorted((package / "services").glob(f"*/{_DESCRIPTION}"))
    }


def _read(path: Path) -> Service:
    description = tomllib.loads(path.read_text(encoding="utf-8"))
    return Service(
        path.parent.name,
        path.parent,
        description["version-property"],
        tuple(description["versions"]),
        description.get("scheme", "http"),
        tuple(SharedProperty(**shared) for shared in description.get("shared", ())),
        description.get("processes-property"),
    )


@dataclass(frozen=True)
class ServiceBuild:
    """A service with one version of its product: a package that Maven makes."""

    service: Service
    version: str

    @property
    def label(self) -> str:
        return f"{self.service.name} {self.version}"

    @property
    def build(self) -> str:
        return self.service.digest[:12]

    @property
    def directory(self) -> Path:
        return packages_directory() / f"service-{self.service.name}-{self.version}-{self.build}"

    @property
    def ready(self) -> bool:
        return (self.directory / MANIFEST).is_file()

    @property
    def jar(self) -> Path:
        """The built jar. Raises TargetError."""
        if not self.ready:
            raise TargetError(JVM_SERVICE_ABSENT(service=self.label))
        return self.directory / JAR

    def fetch(self) -> None:
        with made(self) as part:
            if part is not None:
                with tempfile.TemporaryDirectory(prefix="loadcell-build-") as directory:
                    project = Path(directory) / self.service.name
                    shutil.copytree(
                        self.service.directory, project, ignore=shutil.ignore_patterns(*_NO_SOURCES)
                    )
                    self._build(project)
                    shutil.copy(project / "target" / JAR, part / JAR)
                    shutil.copytree(project / "target" / _LIBRARIES, part / _LIBRARIES)
                manifest = {"service": self.label, "sha256": self.service.digest}
                (part / MANIFEST).write_text(json.dumps(manifest))

    def _build(self, project: Path) -> None:
        maven = shutil.which("mvn")
        if maven is None:
            raise TargetError(JVM_SERVICE_NO_MAVEN(service=self.label))
        command = [
            maven, "--batch-mode", "--no-transfer-progress", "--strict-checksums", "-Dstyle.color=never",
            "-DskipTests", f"-D{self.service.version_property}={self.version}", "package",
        ]  # fmt: skip
        status, output = run_bounded(command, project)
        if status is None:
            raise TargetError(JVM_SERVICE_TIMEOUT(service=self.label, limit_s=FETCH_LIMIT_S))
        if status == 0 and (project / "target" / JAR).is_file():
            return
        if _NO_COMPILER.search(output):
            raise TargetError(JVM_SERVICE_NO_COMPILER(service=self.label))
        reason = _HELP.sub("", maven_error(output))
        raise TargetError(JVM_SERVICE_NOT_BUILT(service=self.label, output=reason, directory=self.directory))

    def misfits(self) -> Iterator[Misfit]:
        """Why it cannot be had on this machine, as far as can be seen before."""
        if not self.ready and shutil.which("mvn") is None:
            yield Misfit("service", JVM_SERVICE_NO_MAVEN(service=self.label))

    def remarks(self) -> Iterator[Advice]:
        """The build that a run begins with."""
        if not self.ready:
            message = JVM_SERVICE_WILL_BE_BUILT(service=self.label, directory=packages_directory())
            yield Advice("target.jvm.service", message, subject=self.label)
