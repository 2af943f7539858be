"""A command line of pgbench."""

from __future__ import annotations

import re
from dataclasses import replace

from loadcell.drafting import databases
from loadcell.drafting.command import COMMAND_TITLE, CommandLine, numbers
from loadcell.drafting.document import Section, Value
from loadcell.drafting.draft import Draft, Origin, Source
from loadcell.drafting.plan import DRAFT_EXISTING, load, plan
from loadcell.ingest.commands import SYNTAXES
from loadcell.model.message import MessageCode
from loadcell.workloads.pgbench import BUILTINS

PGBENCH_SCALE = MessageCode("draft-pgbench.scale", "info")
PGBENCH_EXISTING_TABLES = MessageCode("draft-pgbench.existing-tables", "info")
PGBENCH_EMBEDDED = MessageCode("draft-pgbench.embedded", "info")

#: loadcell always does it, or it decides nothing.
_ALWAYS = (
    "P", "progress", "r", "report-per-command", "report-latencies", "n", "no-vacuum", "l", "log",
    "log-prefix", "progress-timestamp", "v", "vacuum-all", "i", "initialize", "q", "quiet",
    "failures-detailed", "verbose-errors", "random-seed", "exit-on-abort",
)  # fmt: skip


def _draft(origin: Origin) -> Draft:
    line = CommandLine(replace(origin, words=_with_dbname(origin.words)), SYNTAXES["pgbench"])
    line.needless(*_ALWAYS)
    target, is_external = _target(line)
    rate, limit = line.value("R", "rate"), line.value("L", "latency-limit")
    clients = line.integer("c", "client") or 1
    settings: dict[str, Value] = numbers(
        clients=clients,
        threads=line.integer("j", "jobs"),
        duration=line.seconds("T", "time"),
        requests_per_client=line.integer("t", "transactions"),
        rate=f"{rate}/s" if rate else None,
    )
    if not settings.keys() & {"duration", "requests_per_client"}:
        settings["requests_per_client"] = 10  # pgbench's default
    if "duration" in settings:
        settings.pop("requests_per_client", None)
    elif rate:  # whichever client is free takes the next transaction
        settings["requests"] = clients * int(str(settings.pop("requests_per_client")))
    options = Section()
    names = _scripts(line)
    options.put("scripts", names)
    has_files = any(name.partition("@")[0] not in BUILTINS for name in names)
    scale = line.integer("s", "scale")
    if has_files:
        options.put("init_steps", "", PGBENCH_EXISTING_TABLES())
    if scale is not None or not has_files:
        options.put("scale", scale or 1, *([] if scale else [PGBENCH_SCALE()]))
    variables = dict(word.partition("=")[::2] for word in line.values("D", "define"))
    if variables:
        options.put("variables", variables)
    more = numbers(
        protocol=line.value("M", "protocol"),
        max_tries=line.integer("max-tries"),
        latency_limit=f"{limit}ms" if limit else None,
        fillfactor=line.integer("F", "fillfactor"),
    )
    for name, value in more.items():
        options.put(name, value)
    workload = Section(pgbench=options)
    title = COMMAND_TITLE(command=origin.name)
    section = plan(title, target, workload, load(settings), levels=None)
    notes = (*line.notes(), *(() if is_external else (PGBENCH_EMBEDDED(),)))
    return Draft(section, notes, databases.VARIABLES)


def _with_dbname(words: tuple[str, ...]) -> tuple[str, ...]:
    """The words with libpq's `key=value` form as the value of `--dbname`."""
    named = list(words)
    for index, word in enumerate(words):
        before = words[index - 1].lstrip("-") if index else ""
        is_value = words[index - 1].startswith("-") and SYNTAXES["pgbench"].takes_value(before)
        if index and not is_value and re.match(r"[a-z_]+\s*=", word):
            named[index] = f"--dbname={word}"
    return tuple(named)


def _target(line: CommandLine) -> tuple[Section, bool]:
    """The server that the command line names, or the one of loadcell, and whether it is the former."""
    host, port, user = line.value("h", "host"), line.value("p", "port"), line.value("U", "username")
    arguments = line.arguments()
    database = line.value("d", "dbname") or (arguments[0] if arguments else None)
    if database and ("://" in database or "=" in database):
        return databases.postgres_dsn(database, host, port, user), True
    if any((host, port, user, database)):
        return databases.postgres(host, port, user, database), True
    target = Section(postgres=Section(server="embedded"))
    external = {"server": "external", "dsn": "postgresql://user@host:5432/database"}
    target.put("postgres", external, DRAFT_EXISTING(), active=False)
    return target, False


def _scripts(line: CommandLine) -> list[str]:
    """Scripts with their weights, as the plan names them."""
    names = [_builtin(name) for name in line.values("b", "builtin")]
    names += ["select-only"] if line.flag("S", "select-only") else []
    names += ["simple-update"] if line.flag("N", "skip-some-updates") else []
    for name in line.values("f", "file"):
        path, at, weight = name.partition("@")
        names.append(f"{line.file('-f', path)}{at}{weight}")
    return names or ["tpcb-like"]


def _builtin(name: str) -> str:
    """The complete name of a built-in script, which may be shortened."""
    short, at, weight = name.partition("@")
    matches = [builtin for builtin in BUILTINS if builtin.startswith(short)]
    return f"{matches[0] if len(matches) == 1 else short}{at}{weight}"


DRAFT = Source(_draft, ("pgbench",))
