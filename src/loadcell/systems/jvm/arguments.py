"""Options of a plan as the arguments of `java`."""

from __future__ import annotations

import re
from collections.abc import Container, Mapping, Sequence
from pathlib import Path
from typing import Final

from loadcell.plan.parts import PORT, WORK
from loadcell.systems.jvm.options import JvmOptions
from loadcell.systems.server_options import Setting
from loadcell.systems.shared.service_options import words_of

#: Flags of the collectors.
COLLECTORS: Final[Mapping[str, str]] = {
    "Serial": "UseSerialGC",
    "Parallel": "UseParallelGC",
    "G1": "UseG1GC",
    "ZGC": "UseZGC",
    "Shenandoah": "UseShenandoahGC",
    "CMS": "UseConcMarkSweepGC",
}
#: Options whose value is the next word.
_WITH_VALUE: Final = frozenset({
    "-cp", "-classpath", "--class-path", "-p", "--module-path", "--upgrade-module-path", "--add-modules",
    "--limit-modules", "--add-reads", "--add-exports", "--add-opens", "--patch-module", "--source",
    "--enable-native-access", "--illegal-native-access",
})  # fmt: skip
_PROGRAM: Final = frozenset({"-jar", "-m", "--module"})
#: Flags whose values are no secrets: those of agents and commands may be.
_SHOWN: Final = re.compile(r"-X(?!run|X:On(?:Error|OutOfMemoryError)=)")
#: Collectors that were experimental in JDK 11.
_EXPERIMENTAL: Final = frozenset({"ZGC", "Shenandoah"})
_UNLOCK: Final = ("-XX:+UnlockExperimentalVMOptions", "-XX:+UnlockDiagnosticVMOptions")
#: Events that the GC log has, and what stands before each: `timenanos` is the monotonic clock of loadcell.
_EVENTS: Final = "gc*,safepoint"
_DECORATORS: Final = "utctime,uptime,timenanos,level,tags"
#: Flag that names the file with details of a crash; `%p` in its value is the process ID.
_ERROR_FILE: Final = "ErrorFile"
#: Files with details of crashes.
CRASH_FILES: Final = "hs_err_pid*.log"


def memory_arguments(options: JvmOptions) -> list[str]:
    """Sizes of the memory."""
    start = options.heap_start or options.heap
    sizes = {
        "-Xms": start, "-Xmx": options.heap, "-Xmn": options.young,
        "-XX:MaxDirectMemorySize=": options.direct,
    }  # fmt: skip
    return [f"{name}{int(size)}" for name, size in sizes.items() if size is not None]


def flag_arguments(options: JvmOptions, without: Container[str] = ()) -> list[str]:
    """The collector and the flags, which the JVM checks before it starts anything; not those in `without`.

    A JVM whose heap is exhausted is of no use to a measurement: it ends, unless the plan says otherwise.
    """
    words = list(_UNLOCK) if options.flags or options.collector in _EXPERIMENTAL else []
    if options.collector is not None:
        words.append(f"-XX:+{COLLECTORS[options.collector]}")
    flags = {"ExitOnOutOfMemoryError": True, **options.flags}
    return [*words, *(flag_argument(name, value) for name, value in flags.items() if name not in without)]


def flag_argument(name: str, value: Setting) -> str:
    if isinstance(value, bool):
        return f"-XX:{'+' if value else '-'}{name}"
    return f"-XX:{name}={value}"


def log_argument(options: JvmOptions, file: Path) -> str:
    """The GC log, in `file` and its rotated files."""
    bounds = f"filecount={options.gc_log.files},filesize={int(options.gc_log.size)}"
    return f'-Xlog:{_EVENTS}:file="{file}":{_DECORATORS}:{bounds}'


def crash_argument(options: JvmOptions, directory: Path) -> list[str]:
    """The file with details of a crash, in `directory`; nothing if the plan names one."""
    words = [*words_of(options.options), *options.env.values()]
    if _ERROR_FILE in options.flags or any(f"-XX:{_ERROR_FILE}=" in word for word in words):
        return []
    path = str(directory).replace("%", "%%")
    return [flag_argument(_ERROR_FILE, f"{path}/{CRASH_FILES.replace('*', '%p')}")]


def property_arguments(options: JvmOptions) -> list[str]:
    """System properties; a service of loadcell gets its port, and a place for its data, by them."""
    places = {} if options.service is None else {"port": PORT, "data": f"{WORK}/{options.service}"}
    properties: dict[str, Setting] = {**places, **options.properties}
    return [f"-D{name}={_property(value)}" for name, value in properties.items()]


def properties(options: JvmOptions) -> dict[str, str]:
    """System properties by name, those among the other options of the JVM included."""
    words = (word[2:].partition("=") for word in words_of(options.options) if word.startswith("-D"))
    named = {name: value for name, _, value in words}
    return named | {name: _property(value) for name, value in options.properties.items()}


def _property(value: Setting) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def program_arguments(options: JvmOptions, built: Path | None = None) -> list[str]:
    """The jar or the main class, and the arguments of the program; `built` is the jar of a service."""
    if options.jar is not None or built is not None:
        start = ["-jar", options.jar or str(built)]
    else:
        start = ["-cp", ":".join(options.classpath_entries), options.main or ""]
    return [*start, *words_of(options.arguments)]


def java_arguments(options: JvmOptions, log: Path, built: Path | None = None) -> list[str]:
    """All arguments, with secrets and places not yet filled in."""
    return [
        log_argument(options, log),
        *memory_arguments(options),
        *flag_arguments(options),
        *property_arguments(options),
        *words_of(options.options),
        *program_arguments(options, built),
    ]


def shown_command(words: Sequence[str]) -> list[str]:
    """The command line of a JVM without what may contain secrets: its program, the flags, and the jar or
    main class. The program is unknown behind a file of arguments.
    """
    shown = list(words[:1])
    remaining = iter(words[1:])
    for word in remaining:
        if word.startswith("@"):
            return shown
        if word in _PROGRAM:
            return [*shown, word, *list(remaining)[:1]]
        if not word.startswith("-"):
            return [*shown, word]
        if word in _WITH_VALUE:
            next(remaining, None)
        elif _SHOWN.match(word):
            shown.append(word)
    return shown
