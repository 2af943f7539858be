"""`loadcell redis HOST:PORT`: a load on a Redis, without a plan file."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

import click

from loadcell.cli import language, messages
from loadcell.cli.adhoc import Hidden, Several, hide, line_options, several, typed, words
from loadcell.cli.adhoc import plan as adhoc_plan
from loadcell.cli.arguments import Integer
from loadcell.cli.command import argument, command, option
from loadcell.cli.streams import echo
from loadcell.systems.redis.connection import PORT
from loadcell.workloads import DISTRIBUTIONS, kv

if TYPE_CHECKING:
    from loadcell.cli.adhoc import LineOptions
    from loadcell.model.json import JsonObject
    from loadcell.model.message import Message

LOCAL = "local"
#: redis-cli's own
VARIABLE = "REDISCLI_AUTH"
#: what `-t` measures by itself: the verbs of `kv` on keys that loadcell loads, and removes again
TESTS = ("get", "set", "mget", "mset")


@command("redis")
@argument(
    "server", metavar="HOST:PORT", shell_complete=words(LOCAL, "localhost:6379", "redis://", "rediss://")
)
@option("--reads", metavar="SHARE", group="workload")
@option("--keys", type=Integer(), metavar="N", group="workload")
@option("--distribution", metavar="NAME", shell_complete=words(*DISTRIBUTIONS), group="workload")
@option("--value-size", metavar="SIZE", group="workload")
@option("--ttl", metavar="TIME", group="workload")
@option("--verify", is_flag=True, group="workload")
@option("--pipeline", "-P", type=Integer(), metavar="N", group="workload")
@option("--command", "commands", multiple=True, metavar="TEXT", group="workload")
@option(
    "--tests",
    "-t",
    type=Several(click.Choice(TESTS), "tests"),
    default=(),
    metavar="NAMES",
    shell_complete=several(*TESTS),
    group="workload",
)
@line_options("redis", "kv")
def redis(
    server: str,
    reads: str | None,
    keys: int | None,
    distribution: str | None,
    value_size: str | None,
    ttl: str | None,
    verify: bool,
    pipeline: int | None,
    commands: tuple[str, ...],
    tests: tuple[str, ...],
    options: LineOptions,
) -> int:
    """Load-test a Redis."""
    target, shown, secrets = _target(server, os.environ)
    if "host" in target and "port" not in target:
        echo(language.written(messages.DEFAULT_PORT(server=f"{target['host']}:{PORT}")), err=True)
    settings = {
        "reads": reads, "keys": keys, "distribution": distribution, "value_size": value_size, "ttl": ttl,
        "verify": verify or None, "pipeline": pipeline,
    }  # fmt: skip
    work: JsonObject = {key: value for key, value in settings.items() if value is not None}
    if tests and reads is not None:
        raise language.CallError(messages.CALL_READS_WITH_TESTS())
    commands_by_name = {_name(number, text): {"command": text} for number, text in enumerate(commands)}
    levels = _levels(tests, commands_by_name)
    if commands and not tests:
        work["commands"] = commands_by_name
    elif len(levels) == 1:
        work |= {path.rpartition(".")[2]: value for path, value in levels[tests[0]].items()}
    env = hide(secrets)
    words = [*(name.upper() for name in tests), *(" ".join(text.split()) for text in commands)]
    line = adhoc_plan.Line(
        "redis",
        messages.TITLE_ON(work=", ".join(words) or language.both(("GET", "SET")), target=shown),
        {"redis": target},
        {"kv": work},
        typed("redis", [server], secrets),
        factors={"test": levels} if len(levels) > 1 else {},
    )
    return adhoc_plan.act(line, options, env)


def _levels(tests: Sequence[str], commands: Mapping[str, JsonObject]) -> dict[str, JsonObject]:
    """The measurements, one after the other: a level for each test, and in addition for each command."""
    if not tests:
        return {}
    verbs = {name: {"workload.kv.mix": {name: 1}} for name in tests}
    return verbs | {name: {"workload.kv.commands": {name: command}} for name, command in commands.items()}


def _name(number: int, command: str) -> str:
    """Name of a command in the record: its first word, with a number where it is ambiguous or a verb of
    `kv`.
    """
    word = re.sub(r"[^a-z0-9_]", "", command.split()[0].lower() if command.split() else "")[:32] or "command"
    if not word[0].isalpha():
        word = "command"
    return f"{word}_{number + 1}" if number or word in kv.TAKEN else word


def _target(server: str, env: Mapping[str, str]) -> tuple[JsonObject, str | Message, list[Hidden]]:
    """The target, its printable form, and its password, if any. Raises CallError for an invalid address."""
    if server == LOCAL:
        return {"server": "local"}, messages.TITLE_LOCAL(), []
    if server.startswith("/"):
        return _socket(server, env), server, []
    address = server if "://" in server else f"redis://{server}"
    try:
        parts = urlsplit(address)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise language.CallError(
            messages.CALL_INVALID_SERVER(server=repr(_shown(server)), reason=error)
        ) from None
    number = parts.path.strip("/")
    if parts.scheme not in ("redis", "rediss") or not host or (number and not number.isdigit()):
        raise language.CallError(messages.CALL_NO_SERVER(server=repr(_shown(server))))
    settings: JsonObject = {"server": "external", "host": host}
    if port is not None:
        settings["port"] = port
    if parts.username:
        settings["user"] = unquote(parts.username)
    secrets = []
    if parts.password:
        login = parts.netloc.rpartition("@")[0]
        secrets.append(
            Hidden(
                f"{login}@", f"{parts.username}@" if parts.username else "", VARIABLE, unquote(parts.password)
            )
        )
    if secrets or VARIABLE in env:
        settings["password"] = f"${{env:{VARIABLE}}}"
    if number:
        settings["database"] = int(number)
    if parts.scheme == "rediss":
        settings["tls"] = True
    where = (f"[{host}]" if ":" in host else host) + (f":{port}" if port else "")
    return settings, f"{parts.scheme}://{where}" + (f"/{number}" if number else ""), secrets


def _socket(path: str, env: Mapping[str, str]) -> JsonObject:
    password = {"password": f"${{env:{VARIABLE}}}"} if VARIABLE in env else {}
    return {"server": "external", "socket": path, **password}


def _shown(server: str) -> str:
    return re.sub(r"(//)?[^/@]*@", r"\1...@", server)
