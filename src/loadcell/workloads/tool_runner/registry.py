"""The tools people know: how each is called, what is filled in when it is not given, and how to get it.

Standard library only: this is read by `loadcell check` and, in the worker, by what makes the load.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from loadcell.model.extensions import HOST, HTTP, MYSQL, POSTGRES, RESP
from loadcell.model.message import Message, MessageCode
from loadcell.model.tools import (
    AB,
    DD,
    FIO,
    IPERF3,
    MBW,
    NETPERF,
    PGBENCH,
    REDIS_BENCHMARK,
    STRESS_NG,
    SYSBENCH,
    WRK,
    ToolKind,
    by_protocol,
    kind_of,
    of_protocol,
)
from loadcell.workloads.tool_runner import result
from loadcell.workloads.tool_runner.result import Progress

TOOL_MISSING = MessageCode("tool.missing", program=str)
TOOL_BACKGROUND = MessageCode("tool.beside", program=str)
TOOL_MISSING_PACKAGE = MessageCode("tool.missing-package", package=str, program=str)
TOOL_MISSING_ELSEWHERE = MessageCode("tool.missing-elsewhere", how=Message, program=str)
TOOL_MISSING_FILE = MessageCode("tool.missing-file", path=str)
TOOL_MISSING_JOB_FILE = MessageCode("tool.missing-job-file", path=str)
TOOL_NETPERF_SOURCE = MessageCode("tool.netperf-source")

#: Placeholders of every command line; client programs of the target's protocol add theirs.
ALWAYS = ("clients", "threads", "duration_s", "requests", "seed", "directory", "plan")


@cache
def placeholders() -> tuple[str, ...]:
    """Every placeholder of any command line. Raises ExtensionError."""
    added = (name for programs in by_protocol().values() for name in programs.placeholders)
    return tuple(dict.fromkeys((*ALWAYS, *added)))


@dataclass(frozen=True)
class Setting:
    """Context of a command line, besides its arguments: its target, and whether requests end it."""

    protocol: str = HOST.name
    socket: bool = False
    counted: bool = False


Fill = Callable[[Sequence[str], Setting], list[str]]


def _nothing(arguments: Sequence[str], setting: Setting) -> list[str]:  # noqa: ARG001
    return []


@dataclass(frozen=True)
class Tool:
    """One tool. `load` and `connect` give the arguments that are not among those given.

    `package` is Debian's, `get` how to come by it where Debian has none. Its output has the reader of
    its name. `progress` reads the lines that it prints while it runs.
    `integer_seconds`: it takes no fractions of seconds. `errors_apart`: its standard error contains no
    results.
    `takes_secret`: whether there is a way to give it a password other than on its command line.
    """

    kind: ToolKind
    package: str
    version: tuple[str, ...] = ("--version",)
    load: Fill = _nothing
    connect: Fill = _nothing
    after: Fill = _nothing
    get: Message | None = None
    #: options whose value is a file, and whether an argument is one that is no option's; with an option of
    #: `inline` no argument is a file
    file_options: tuple[str, ...] = ()
    is_file: Callable[[str], bool] = lambda word: False  # noqa: ARG005
    inline: tuple[str, ...] = ()
    #: a file's name is followed by `@` and its weight
    weighted_files: bool = False
    missing_file: MessageCode = TOOL_MISSING_FILE
    integer_seconds: bool = True
    errors_apart: bool = False
    takes_secret: bool = True
    #: how its parts are to each other: at once (their sum is the throughput) or one after the other
    parts_at_once: bool = False
    progress: Progress | None = None

    @property
    def name(self) -> str:
        """Name of the tool, its program and its section of the options."""
        return self.kind.name

    def words(self, arguments: Sequence[str], setting: Setting, *, program: str | None = None) -> list[str]:
        """The whole command line of a load, with places still in it."""
        filled = [*self.connect(arguments, setting), *self.load(arguments, setting)]
        return [program or self.name, *filled, *arguments, *self.after(arguments, setting)]


def files(tool: Tool, arguments: Sequence[str]) -> Iterator[tuple[int, str, str]]:
    """The files among the arguments: which one, what stands before the name in it, and the name."""
    if has(arguments, *tool.inline):
        return
    taken = False
    for index, word in enumerate(arguments):
        name, equals, value = word.partition("=")
        if taken or (equals and name in tool.file_options):
            yield (index, "", word) if taken else (index, f"{name}=", value)
            taken = False
        elif word in tool.file_options:
            taken = True
        elif not word.startswith("-") and tool.is_file(word) and not _is_value(arguments, index):
            yield index, "", word


def _is_value(arguments: Sequence[str], index: int) -> bool:
    """True if an argument may be the value of the option before it."""
    return index > 0 and arguments[index - 1].startswith("--") and "=" not in arguments[index - 1]


def has(arguments: Sequence[str], *spellings: str) -> bool:
    """True if an option is given: `--time 5`, `--time=5`, `-t 5`, `-t5`."""
    return any(
        word == spelling
        or (
            word.startswith(f"{spelling}=")
            if spelling.startswith("--")
            else word.startswith(spelling) and not word.startswith("--")
        )
        for word in arguments
        for spelling in spellings
    )


def _missing(arguments: Sequence[str], *options: tuple[tuple[str, ...], tuple[str, ...]]) -> list[str]:
    """The arguments of those options that are given in none of their spellings."""
    return [word for spellings, words in options if not has(arguments, *spellings) for word in words]


#: Tests whose interval lines count something else than their summary does.
_WITHOUT_INTERVALS = ("memory", "fileio")


def _sysbench(arguments: Sequence[str], setting: Setting) -> list[str]:
    counted = [(("--events",), ("--events=${requests}",))] if setting.counted else []
    alike = not any(word in _WITHOUT_INTERVALS for word in arguments)
    intervals = [(("--report-interval",), ("--report-interval=1",))] if alike else []
    return _missing(
        arguments,
        (("--threads",), ("--threads=${clients}",)),
        (("--time",), ("--time=${duration_s}",)),
        *counted,
        *intervals,
    )


def _sysbench_database(arguments: Sequence[str], setting: Setting) -> list[str]:
    if any(SYSBENCH.tests(arguments)):
        return []
    driver = {POSTGRES.name: "pgsql", MYSQL.name: "mysql"}.get(setting.protocol)
    if driver is None:
        return []
    at = ("socket",) if setting.socket and setting.protocol == MYSQL.name else ("host", "port")
    options = [((f"--{driver}-{name}",), (f"--{driver}-{name}=${{{name}}}",)) for name in (*at, "user")]
    return _missing(
        arguments,
        (("--db-driver",), (f"--db-driver={driver}",)),
        *options,
        ((f"--{driver}-db",), (f"--{driver}-db=${{database}}",)),
    )


def _fio(arguments: Sequence[str], setting: Setting) -> list[str]:  # noqa: ARG001
    form = _missing(arguments, (("--output-format",), ("--output-format=json",)))
    if not has(arguments, "--name"):  # job files say all the rest themselves
        return form
    return form + _missing(
        arguments,
        (("--directory", "--filename"), ("--directory=${directory}",)),
        (("--numjobs",), ("--numjobs=${clients}",)),
        (("--group_reporting",), ("--group_reporting",)),
        (("--runtime",), ("--time_based", "--runtime=${duration_s}")),
    )


def _pgbench(arguments: Sequence[str], setting: Setting) -> list[str]:  # noqa: ARG001
    return _missing(
        arguments,
        (("-c", "--client"), ("-c", "${clients}")),
        (("-j", "--jobs"), ("-j", "${threads}")),
        (("-T", "--time", "-t", "--transactions"), ("-T", "${duration_s}")),
        (("-P", "--progress"), ("-P", "1")),
    )


#: ab keeps a record of every request, and ends after 50,000 unless told otherwise: more than this no trial
#: makes.
_AB_MOST = "10000000"


def _ab(arguments: Sequence[str], setting: Setting) -> list[str]:
    ends = (
        ("-t", "-n"),
        ("-n", "${requests}") if setting.counted else ("-t", "${duration_s}", "-n", _AB_MOST),
    )
    return _missing(arguments, (("-c",), ("-c", "${clients}")), ends)


def _wrk(arguments: Sequence[str], setting: Setting) -> list[str]:  # noqa: ARG001
    return _missing(
        arguments,
        (("-c", "--connections"), ("-c", "${clients}")),
        (("-t", "--threads"), ("-t", "${threads}")),
        (("-d", "--duration"), ("-d", "${duration_s}s")),
        (("--latency",), ("--latency",)),
    )


def _url(arguments: Sequence[str], setting: Setting) -> list[str]:
    """The target's, where no other is given."""
    if setting.protocol != HTTP.name or any("://" in word or word.startswith("${url}") for word in arguments):
        return []
    return ["${url}/"]


def _redis(arguments: Sequence[str], setting: Setting) -> list[str]:
    counted = [(("-n",), ("-n", "${requests}"))] if setting.counted else []
    return _missing(arguments, (("-c",), ("-c", "${clients}")), *counted)


def _redis_server(arguments: Sequence[str], setting: Setting) -> list[str]:
    if setting.protocol not in (RESP.name, HTTP.name) or has(arguments, "-h", "-s", "-u"):
        return []
    where = ["-s", "${socket}"] if setting.socket else ["-h", "${host}", "-p", "${port}"]
    number = [(("--dbnum",), ("--dbnum", "${database}"))] if setting.protocol == RESP.name else []
    return where + _missing(arguments, *number)


def _iperf3(arguments: Sequence[str], setting: Setting) -> list[str]:  # noqa: ARG001
    return _missing(
        arguments,
        (("-J", "--json"), ("-J",)),
        (("-P", "--parallel"), ("-P", "${clients}")),
        (("-t", "--time", "-n", "--bytes", "-k", "--blockcount"), ("-t", "${duration_s}")),
    )


def _iperf3_server(arguments: Sequence[str], setting: Setting) -> list[str]:
    if "port" not in of_protocol(setting.protocol).placeholders or has(arguments, "-c", "--client"):
        return []
    return ["-c", "${host}", *_missing(arguments, (("-p", "--port"), ("-p", "${port}")))]


def _netperf(arguments: Sequence[str], setting: Setting) -> list[str]:  # noqa: ARG001
    return _missing(arguments, (("-l",), ("-l", "${duration_s}")))


def _netperf_server(arguments: Sequence[str], setting: Setting) -> list[str]:
    if "port" not in of_protocol(setting.protocol).placeholders or has(arguments, "-H"):
        return []
    return ["-H", "${host}", *_missing(arguments, (("-p",), ("-p", "${port}")))]


def _stress(arguments: Sequence[str], setting: Setting) -> list[str]:  # noqa: ARG001
    return _missing(
        arguments,
        (("--metrics", "--metrics-brief"), ("--metrics-brief",)),
        (("--timeout", "-t"), ("--timeout", "${duration_s}s")),
    )


TOOLS: Mapping[str, Tool] = {
    tool.name: tool
    for tool in (
        Tool(
            SYSBENCH, "sysbench", load=_sysbench, connect=_sysbench_database,
            is_file=lambda word: word.endswith(".lua"), progress=result.SYSBENCH,
        ),
        Tool(
            FIO, "fio", load=_fio, is_file=lambda _: True, inline=("--name",),
            missing_file=TOOL_MISSING_JOB_FILE, errors_apart=True, parts_at_once=True,
        ),
        Tool(
            PGBENCH, "postgresql-15", load=_pgbench, file_options=("-f", "--file"), weighted_files=True,
            progress=result.PGBENCH,
        ),
        Tool(AB, "apache2-utils", ("-V",), _ab, after=_url, file_options=("-p", "-u")),
        Tool(WRK, "wrk", ("-v",), _wrk, after=_url, file_options=("-s", "--script")),
        Tool(REDIS_BENCHMARK, "redis-tools", load=_redis, connect=_redis_server, takes_secret=False),
        Tool(
            IPERF3, "iperf3", load=_iperf3, connect=_iperf3_server, errors_apart=True, parts_at_once=True,
        ),
        Tool(NETPERF, "netperf", ("-V",), _netperf, _netperf_server, get=TOOL_NETPERF_SOURCE()),
        Tool(MBW, "mbw", ("-h",)),
        Tool(DD, "coreutils"),
        Tool(STRESS_NG, "stress-ng", load=_stress),
    )
}  # fmt: skip


def of_output(name: str | None) -> Tool | None:
    """The tool whose output is read, also one that loadcell does not call; None without a name."""
    return None if name is None else TOOLS.get(name) or Tool(kind_of(name), "")


def split(command: str | Sequence[str]) -> list[str]:
    """Program and arguments, taken apart as a shell would without running one. Raises ValueError."""
    return shlex.split(command) if isinstance(command, str) else [str(word) for word in command]


def missing_program(program: str, plan: Path, tool: Tool | None = None) -> Message:
    """That a program is not installed, and where it is to be had if that is known; or that it lies beside the
    plan, in the
    directory `plan`. `tool` is which one it is meant to be; default: the one of its name."""
    if "/" not in program and (plan / program).is_file():
        return TOOL_BACKGROUND(program=program)
    tool = tool or TOOLS.get(Path(program).name)
    if tool is None:
        return TOOL_MISSING(program=program)
    if tool.get:
        return TOOL_MISSING_ELSEWHERE(program=program, how=tool.get)
    return TOOL_MISSING_PACKAGE(program=program, package=tool.package)
