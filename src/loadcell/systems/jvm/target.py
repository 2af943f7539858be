"""A service on the JVM: started from a jar or a main class, or (`attach`) already running."""

from __future__ import annotations

import re
import shlex
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Final

from loadcell.linux import java_processes, procfs
from loadcell.linux.java_attach import AttachError, run
from loadcell.model.extensions import HTTP, JVM, STREAM
from loadcell.model.json import OMITTED
from loadcell.model.message import Message, MessageCode
from loadcell.plan.parts import Advice, Misfit, Options, SharedSetting
from loadcell.store.layout import GC_LOG
from loadcell.systems.base import Role, SettingFacts, TargetContext, TargetError
from loadcell.systems.jvm import gc_log, java
from loadcell.systems.jvm.arguments import (
    COLLECTORS,
    CRASH_FILES,
    crash_argument,
    java_arguments,
    properties,
    shown_command,
)
from loadcell.systems.jvm.checks import memory_advice, refused_flags
from loadcell.systems.jvm.exit_causes import (
    JVM_REQUESTS_CANNOT_WRITE,
    cause,
    exception,
    failed_write,
    out_of_memory,
)
from loadcell.systems.jvm.options import JvmOptions
from loadcell.systems.jvm.services import JAR, services
from loadcell.systems.shared.packages import Package
from loadcell.systems.shared.service import ServiceFacts, StartedService
from loadcell.systems.subjects import Subject, SubjectAbilities

if TYPE_CHECKING:
    from loadcell.plan.model import Load

JVM_NO_DATA = MessageCode("jvm.no-data")
JVM_NO_JAR = MessageCode("jvm.no-jar", path=str)
JVM_GONE = MessageCode("jvm.gone", pid=str)
JVM_NO_PROCESS = MessageCode("jvm.no-process", pid=str)
JVM_NOT_A_JVM = MessageCode("jvm.not-a-jvm", pid=str)

_ASK_LIMIT_S: Final = 3.0
#: Printed by services of loadcell while they store their data.
_FILLED: Final = re.compile(r": filled (\d{1,3})%$")
#: Status of a JVM that ended by ExitOnOutOfMemoryError.
_OUT_OF_MEMORY_STATUS: Final = 3
#: Flags that matter to performance: recorded whether they were set or not.
_RECORDED: Final = (
    "ActiveProcessorCount", "AlwaysPreTouch", "ConcGCThreads", "G1HeapRegionSize", "InitialHeapSize",
    "InitiatingHeapOccupancyPercent", "MaxDirectMemorySize", "MaxGCPauseMillis", "MaxHeapSize", "MaxNewSize",
    "MaxTenuringThreshold", "NewRatio", "NewSize", "ObjectAlignmentInBytes", "ParallelGCThreads",
    "ReservedCodeCacheSize", "SurvivorRatio", "ThreadStackSize", "TieredCompilation", "UseAdaptiveSizePolicy",
    "UseCompressedClassPointers", "UseCompressedOops", "UseLargePages", "UseNUMA", "UseStringDeduplication",
    "UseTransparentHugePages",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class JvmFacts(ServiceFacts):
    """Facts of a service on the JVM, as the JVM reports them; None where it does not."""

    java: Annotated[str | None, OMITTED] = None
    vendor: Annotated[str | None, OMITTED] = None
    collector: Annotated[str | None, OMITTED] = None
    compressed_oops: Annotated[bool | None, OMITTED] = None
    heap_max_bytes: Annotated[int | None, OMITTED] = None
    pid: Annotated[int | None, OMITTED] = None
    service: Annotated[str | None, OMITTED] = None


class Jvm(StartedService[JvmOptions]):
    """A service of HTTP or of a stream on the JVM."""

    name: ClassVar[str] = "jvm"
    summary: ClassVar[str] = (
        "a service of HTTP or of a stream on the JVM, with heap, collector and flags as factors"
    )
    Options: ClassVar[type[Options]] = JvmOptions
    offers = frozenset({HTTP, STREAM, JVM})
    no_data = JVM_NO_DATA
    role = "jvm"

    def __init__(self, options: JvmOptions, context: TargetContext) -> None:
        super().__init__(options, context)
        self._exhausted: Message | None = None
        self._failed_write: str | None = None
        self._java: java.Java | None = None
        self._flags: Mapping[str, str] = {}
        self._began_ns = 0
        #: start of each JVM, and the lines of its GC log that describe the collector and the heap
        self._heads: list[tuple[int, Sequence[str]]] = []
        #: start of the attached process, which with its id identifies it
        self._attached: int | None = None
        #: its command line, of which a later process with the same id knows nothing
        self._attached_command: Sequence[str] = ()

    # -- before the run

    @classmethod
    def misfits(cls, options: JvmOptions) -> Iterator[Misfit]:
        yield from super().misfits(options)
        if (build := options.build) is not None:
            yield from build.misfits()
        if not options.external:
            try:
                yield from refused_flags(options, java.find(options.java_path))
            except TargetError as error:
                yield Misfit("java", error.message)

    @classmethod
    def shared_settings(cls, options: JvmOptions, workload: str) -> Iterator[SharedSetting]:
        if options.service is None:
            return
        values = properties(options)
        for shared in services()[options.service].shared:
            if shared.workload == workload:
                value = values.get(shared.property)
                yield SharedSetting(
                    f"properties.{shared.property}",
                    shared.default if value is None else value,
                    shared.option,
                    is_default=value is None,
                    relation=shared.relation,
                )

    @classmethod
    def advice(cls, options: JvmOptions, load: Load) -> list[Advice]:
        remarks = [*super().advice(options, load), *memory_advice(options)]
        if (jar := options.jar_path) is not None and not jar.is_file():
            remarks.append(Advice("target.jvm.jar", JVM_NO_JAR(path=jar)))
        if options.attach is not None and (reason := _unattachable(options.attach)) is not None:
            remarks.append(Advice("target.jvm.attach", reason.rated("caution")))
        return remarks if (build := options.build) is None else [*remarks, *build.remarks()]

    @classmethod
    def packages(cls, options: JvmOptions) -> tuple[Package, ...]:
        return () if (build := options.build) is None else (build,)

    # -- life

    @property
    def program(self) -> str:
        options = self.options
        if options.service is not None:
            return options.service
        return Path(options.jar).name if options.jar is not None else options.main or f"java {options.attach}"

    @property
    def _log_directory(self) -> Path:
        return self.context.work / "gc-log"

    def command(self, directory: Path, path: str) -> list[str]:  # noqa: ARG002
        self._exhausted = self._failed_write = None
        self._began_ns = time.monotonic_ns()
        self._log_directory.mkdir(exist_ok=True)
        self._java = java.find(self.options.java_path, path)
        build = self.options.build
        built = None if build is None else build.jar
        words = java_arguments(self.options, self._log_directory / GC_LOG, built)
        crash = crash_argument(self.options, self.context.work)
        return [str(self._java.program), *crash, *map(self.filled, words)]

    def on_line(self, line: str) -> None:
        if "OutOfMemoryError" in line:
            self._exhausted = out_of_memory(line) or self._exhausted
        if self.options.service is not None and (filled := _FILLED.search(line)) is not None:
            self.context.filling(min(int(filled[1]), 100) / 100)
        self._failed_write = self._failed_write or failed_write(line)
        super().on_line(line)

    def began(self) -> None:
        self._heads.append((self._began_ns, gc_log.heads(self._log_directory, self._began_ns)))
        pids = self.processes()
        self._flags = _flags(pids[0]) if pids else {}

    def explain_end(self, lines: Sequence[str], status: int | None, *, early: bool) -> Message | None:
        reason = cause(lines, early=early)
        # an earlier error ended it only if the JVM says so by its status: a program may have caught it
        exits = self.options.flags.get("ExitOnOutOfMemoryError", True) is True
        return self._exhausted if reason is None and exits and status == _OUT_OF_MEMORY_STATUS else reason

    def last_words(self, lines: Sequence[str], *, early: bool) -> str | None:
        return exception(lines, early=early) or super().last_words(lines, early=early)

    def failure_cause(self, failure: Message) -> Message:
        output = self._failed_write
        return failure if output is None else JVM_REQUESTS_CANNOT_WRITE(failure=failure, output=output)

    def trial_files(self, since_ns: int) -> Mapping[str, Iterable[str]]:
        if self.options.external:
            return {}
        before = [start for start in self._heads if start[0] < since_ns]
        # the JVM that ran then: later ones have theirs in the part of the log
        heads = max(before)[1] if before else ()
        log = (*heads, *gc_log.lines_since(self._log_directory, since_ns))
        return {GC_LOG: log, **dict(self._crash_files())}

    def _crash_files(self) -> Iterator[tuple[str, Sequence[str]]]:
        """Details that JVMs wrote when they crashed, once: the directory of the run is removed. Each is one
        text, for a secret may have several lines.
        """
        for path in sorted(self.context.work.glob(CRASH_FILES)):
            yield path.name, (path.read_text("utf-8", "replace"),)
            path.unlink()

    # -- a JVM that is already running

    def up(self) -> None:
        pid = self.options.attach
        if pid is None:
            super().up()
            return
        if self._attached is None:
            if (reason := _unattachable(pid)) is not None:
                raise TargetError(reason)
            self._attached = _started(pid)
            self._attached_command = shown_command(procfs.arguments(pid))
            self._flags = _flags(pid)
        if not self._is_attached:
            raise TargetError(JVM_GONE(pid=pid))
        self.address.knock(_ASK_LIMIT_S)

    def roles(self) -> tuple[Role, ...]:
        pid = self.options.attach
        if pid is None:
            return super().roles()
        return (Role(self.role, (pid,)),) if self._is_attached else ()

    @property
    def _is_attached(self) -> bool:
        pid = self.options.attach
        return pid is not None and self._attached is not None and _started(pid) == self._attached

    def alive(self) -> bool:
        if self.options.external:
            return self._is_attached and self.address.answers(_ASK_LIMIT_S)
        return super().alive()

    def exit_cause(self) -> Message | None:
        pid = self.options.attach
        if pid is None:
            return super().exit_cause()
        return None if self._attached is None or self._is_attached else JVM_GONE(pid=pid)

    @classmethod
    def subject_abilities(cls, options: JvmOptions) -> Mapping[str, SubjectAbilities]:
        abilities = dict(super().subject_abilities(options))
        if options.external:
            abilities[cls.name] = SubjectAbilities()
        return abilities

    def subject(self, name: str) -> Subject:
        subject = super().subject(name)
        return replace(subject, stop=None, start=None) if self.options.external else subject

    # -- facts

    def describe(self) -> JvmFacts:
        options, flags = self.options, self._flags
        collectors = [name for name, flag in COLLECTORS.items() if flags.get(flag) == "true"]
        oops, heap = flags.get("UseCompressedOops"), flags.get("MaxHeapSize", "")
        return JvmFacts(
            server="external" if options.external else "local",
            product="Java",
            version=None if self._java is None else self._java.version,
            vendor=None if self._java is None else self._java.vendor,
            java=None if self._java is None else str(self._java.program),
            command=shlex.join(self._command),
            url=options.load_url,
            directory=str(options.path or self.context.work),
            files=self._files,
            collector=collectors[0] if collectors else None,
            compressed_oops=None if oops is None else oops == "true",
            heap_max_bytes=int(heap) if heap.isdecimal() else None,
            settings=self._settings(),
            pid=options.attach,
            service=None if (build := options.build) is None else build.label,
        )

    @property
    def _command(self) -> Sequence[str]:
        """The command of the service, as the plan has it: secrets stay references."""
        options = self.options
        if options.external:
            return self._attached_command
        built = Path(JAR) if options.service is not None else None
        return ["java", *java_arguments(options, Path(GC_LOG), built)]

    def _settings(self) -> tuple[SettingFacts, ...]:
        flags = self.options.flags
        names = sorted({*_RECORDED, *flags} & self._flags.keys())
        return tuple(SettingFacts(name, self._flags[name], flags.get(name)) for name in names)


def _started(pid: int) -> int | None:
    """Start of a process that runs, in ticks since boot; None if it has ended."""
    stat = procfs.process_stat(procfs.ROOT, pid)
    return None if stat is None or stat.state == "Z" else stat.start


def _unattachable(pid: int) -> Message | None:
    """Why a process is no JVM that can be measured, or None."""
    if _started(pid) is None:
        return JVM_NO_PROCESS(pid=pid)
    return JVM_NOT_A_JVM(pid=pid) if java_processes.inspect(pid) is None else None


def _flags(pid: int) -> Mapping[str, str]:
    """All flags of a running JVM; none if it does not tell."""
    try:
        return java.flags_of(run(pid, "VM.flags -all", _ASK_LIMIT_S))
    except AttachError:
        return {}


PART = Jvm
