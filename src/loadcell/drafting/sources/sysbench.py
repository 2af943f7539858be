"""A command line of sysbench: its OLTP scripts as loadcell's workload, other tests as they are."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

from loadcell.drafting import databases
from loadcell.drafting.command import (
    COMMAND_MISSING,
    COMMAND_NO_COUNTERPART,
    COMMAND_TITLE,
    CommandLine,
    as_it_is,
    numbers,
)
from loadcell.drafting.document import Section, Value
from loadcell.drafting.draft import Draft, DraftError, Origin, Source
from loadcell.drafting.plan import load, plan
from loadcell.ingest.commands import SYNTAXES
from loadcell.model.message import MessageCode
from loadcell.workloads.sysbench import Script, SysbenchOptions

SYSBENCH_SOCKET = MessageCode("draft-sysbench.socket", option=str)
SYSBENCH_PREPARED = MessageCode("draft-sysbench.prepared", "info")

_ALWAYS = (
    "report-interval", "percentile", "histogram", "verbosity", "debug", "validate", "thread-init-timeout",
    "rand-seed", "events-rate",
)  # fmt: skip
_PHASES = ("run", "prepare", "cleanup", "prewarm", "warmup", "help")
_WORDS = {"on": True, "true": True, "1": True, "": True, "off": False, "false": False, "0": False}
#: sysbench's options with another name here are none: `table-size` is `table_size`.
_NUMBERS = [name for name, field in SysbenchOptions.model_fields.items() if isinstance(field.default, int)]


def _draft(origin: Origin) -> Draft:
    line = CommandLine(origin, SYNTAXES["sysbench"])
    tests = [word for word in line.arguments() if word not in _PHASES]
    if not tests:
        raise DraftError(COMMAND_MISSING(program="sysbench", argument="oltp_read_write"))
    script = Path(tests[0]).stem
    settings = _load(line)
    target = _target(line)
    if script not in get_args(Script):
        counted = ("--threads", "--time", "--events", "--report-interval", "--warmup-time")
        words = [
            origin.file(word) if word == tests[0] and Path(word).is_file() else word
            for word in line.words
            if word.partition("=")[0] not in counted
        ]
        tested = target if _names_database(line) else Section(host={})
        notes = [COMMAND_NO_COUNTERPART(options=["--rate"])] if settings.pop("rate", None) else []
        return as_it_is(origin, "sysbench", words, {**settings, "warmup": "0s"}, tested, notes)
    line.needless(*_ALWAYS)
    options = Section(script=script)
    for name, value in _options(line).items():
        options.put(name, value)
    workload = Section()
    workload.put("sysbench", options, SYSBENCH_PREPARED())
    section = plan(COMMAND_TITLE(command=origin.name), target, workload, load(settings), levels=None)
    return Draft(section, line.notes(), databases.VARIABLES)


def _load(line: CommandLine) -> dict[str, Value]:
    rate = line.value("rate")
    settings = numbers(
        clients=line.integer("threads") or 1,
        warmup=line.seconds("warmup-time"),
        rate=f"{rate}/s" if rate not in (None, "0") else None,
    )
    time, events = line.seconds("time", "max-time"), line.integer("events", "max-requests")
    if time != "0s":
        settings["duration"] = time or "10s"  # sysbench's default
    if events:
        settings["requests"] = max(events, int(str(settings["clients"])))
    return settings


def _options(line: CommandLine) -> dict[str, Value]:
    """Options of the workload that the command line gives."""
    options: dict[str, Value] = {}
    for name in _NUMBERS:
        spellings = (name, name.replace("_", "-"))
        if isinstance(SysbenchOptions.model_fields[name].default, bool):
            value = line.value(*spellings)
            if value is not None:
                options[name] = _WORDS.get(value.lower(), value)
        elif (number := line.integer(*spellings)) is not None:
            options[name] = number
    distribution = line.value("rand-type")
    if distribution in ("uniform", "special"):
        options["distribution"] = distribution
    if (line.value("db-ps-mode") or "auto") == "disable":
        options["protocol"] = "simple"
    return options


def _names_database(line: CommandLine) -> bool:
    return any(word.startswith(("--db-driver", "--mysql-", "--pgsql-")) for word in line.words)


def _names_postgres(line: CommandLine) -> bool:
    return any(word.startswith("--pgsql-") for word in line.words)


def _target(line: CommandLine) -> Section:
    driver = line.value("db-driver") or ("pgsql" if _names_postgres(line) else "mysql")
    host, port = line.value(f"{driver}-host"), line.value(f"{driver}-port")
    user = line.value(f"{driver}-user") or "sbtest"
    has_password = line.flag(f"{driver}-password")
    if driver == "pgsql":
        database = line.value("pgsql-db") or "sbtest"
        return databases.postgres(host or "localhost", port, user, database, has_password=has_password)
    if line.flag("mysql-socket"):
        raise DraftError(SYSBENCH_SOCKET(option="--mysql-socket"))
    return databases.mysql(host, port, user, has_password=has_password)


DRAFT = Source(_draft, ("sysbench",))
