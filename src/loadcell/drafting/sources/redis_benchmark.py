"""A command line of redis-benchmark or valkey-benchmark."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from urllib.parse import unquote, urlsplit

from loadcell.drafting.command import COMMAND_NUMBER, COMMAND_TITLE, CommandLine, numbers
from loadcell.drafting.databases import reference
from loadcell.drafting.document import Section, Value
from loadcell.drafting.draft import Draft, DraftError, Origin, Source
from loadcell.drafting.http_parts import ADDRESS_INVALID
from loadcell.drafting.plan import load, plan
from loadcell.ingest.commands import SYNTAXES
from loadcell.model.message import Message, MessageCode
from loadcell.workloads.kv import TAKEN

REDIS_NO_TESTS = MessageCode("draft-redis-benchmark.no-tests", "caution")
REDIS_UNKNOWN_TESTS = MessageCode("draft-redis-benchmark.unknown-tests", "caution", names=list)
REDIS_QUOTES = MessageCode("draft-redis-benchmark.quotes")
REDIS_KEYS = MessageCode("draft-redis-benchmark.keys", "info")

_VARIABLE = "REDISCLI_AUTH"
_ALWAYS = ("q", "csv", "precision", "e", "L", "seed")
_VERBS = ("get", "set", "mset")
#: What redis-benchmark sends in its other tests; true of those that only read.
_COMMANDS = {
    "ping": ("PING", True),
    "ping_inline": ("PING", True),
    "ping_mbulk": ("PING", True),
    "incr": ("INCR counter:${number}", False),
    "lpush": ("LPUSH mylist ${value}", False),
    "rpush": ("RPUSH mylist ${value}", False),
    "lpop": ("LPOP mylist", False),
    "rpop": ("RPOP mylist", False),
    "sadd": ("SADD myset element:${number}", False),
    "hset": ("HSET myhash element:${number} ${value}", False),
    "spop": ("SPOP myset", False),
    "zadd": ("ZADD myzset ${number} element:${number}", False),
    "zpopmin": ("ZPOPMIN myzset", False),
    **{f"lrange_{count}": (f"LRANGE mylist 0 {count - 1}", True) for count in (100, 300, 500, 600)},
}


def _draft(origin: Origin) -> Draft:
    options_end = _end_of_options(origin.words)
    command = origin.words[options_end:]
    line = CommandLine(replace(origin, words=origin.words[:options_end]), SYNTAXES["redis-benchmark"])
    line.needless(*_ALWAYS)
    target = _target(line)
    requests = line.integer("n") or 100_000
    settings = numbers(
        clients=min(line.integer("c") or 50, requests), threads=line.integer("threads"), requests=requests
    )
    options = Section()
    keys = line.integer("r")
    options.put("keys", keys or 1, *([] if keys else [REDIS_KEYS()]))
    options.put("value_size", f"{line.integer('d') or 3}B")
    pipeline = line.integer("P")
    if pipeline:
        options.put("pipeline", pipeline)
    levels, notes = _levels(line, command)
    if len(levels) == 1:
        [(_, [(path, value)])] = ((name, level.items()) for name, level in levels.items())
        options.put(path.rpartition(".")[2], value)
    section = plan(
        COMMAND_TITLE(command=origin.name), target, Section(kv=options), load(settings),
        factors=Section(test=Section(**levels)) if len(levels) > 1 else None, levels=None,
    )  # fmt: skip
    return Draft(section, (*notes, *line.notes()), frozenset({_VARIABLE}))


def _end_of_options(words: Sequence[str]) -> int:
    """Index of the first word of the command, which ends the options."""
    index = 1
    while index < len(words) and words[index].startswith("-"):
        index += 1 + SYNTAXES["redis-benchmark"].takes_value(words[index].lstrip("-"))
    return index


def _of_words(words: Sequence[str]) -> dict[str, object]:
    """An operation that sends these words. Raises DraftError."""
    verb, *arguments = words
    if verb.upper() in ("EVAL", "EVAL_RO") and len(arguments) > 1 and _filled(arguments[0]) == arguments[0]:
        script, count, *values = arguments
        if not re.fullmatch(r"\d{1,4}", count) or int(count) > len(values):
            raise DraftError(COMMAND_NUMBER(option=verb, value=repr(count)))
        entry: dict[str, object] = {"script": script}
        keys, further = values[: int(count)], values[int(count) :]
        entry |= {"keys": [_filled(key) for key in keys]} if keys else {}
        entry |= {"arguments": [_filled(value) for value in further]} if further else {}
        return {**entry, **({"kind": "read"} if verb.upper() == "EVAL_RO" else {})}
    return {"command": " ".join(_quoted(_filled(word)) for word in words)}


def _filled(word: str) -> str:
    return word.replace("__rand_int__", "${number}").replace("__data__", "${value}")


def _quoted(word: str) -> str:
    """A word of a command's template, whose quotation marks have no escapes. Raises DraftError."""
    if word and not re.search(r"\s", word) and word[0] not in "'\"":
        return word
    for mark in ('"', "'"):
        if mark not in word:
            return f"{mark}{word}{mark}"
    raise DraftError(REDIS_QUOTES())


def _levels(line: CommandLine, arguments: Sequence[str]) -> tuple[dict[str, dict[str, Value]], list[Message]]:
    """The settings of each test by its name, and what is to be known of them."""
    if arguments:
        name = re.sub(r"[^a-z0-9_]", "", arguments[0].lower())[:30] or "command"
        name = name if name[0].isalpha() else f"command{name}"
        name = f"{name}_command" if name in TAKEN else name
        return {name: {"workload.kv.commands": {name: _of_words(arguments)}}}, []
    listed = line.value("t")
    names = [name.strip().lower() for name in (listed or "get,set").split(",") if name.strip()]
    if "lrange" in names:
        names.remove("lrange")
        names += [name for name in _COMMANDS if name.startswith("lrange")]
    levels: dict[str, dict[str, Value]] = {}
    for name in dict.fromkeys(names):
        if name in _VERBS:
            levels[name] = {"workload.kv.mix": {name: 1}}
        elif name in _COMMANDS:
            command, reads = _COMMANDS[name]
            entry: dict[str, object] = {"command": command, **({"kind": "read"} if reads else {})}
            levels[name] = {"workload.kv.commands": {name: entry}}
    notes: list[Message] = [] if listed else [REDIS_NO_TESTS()]
    unknown = [name for name in names if name not in levels]
    if unknown:
        notes.append(REDIS_UNKNOWN_TESTS(names=unknown))
    return levels or {"get": {"workload.kv.mix": {"get": 1}}}, notes


def _target(line: CommandLine) -> Section:
    options = Section(server="external")
    socket, url = line.value("s"), line.value("u", "uri")
    password, user, tls = line.flag("a", "pass"), line.value("user"), line.flag("tls")
    host, port = line.value("h") or "127.0.0.1", line.integer("p") or 6379
    database = line.integer("dbnum")
    if url:
        try:
            parts = urlsplit(url)
            host, port = parts.hostname or host, parts.port or port
        except ValueError as error:
            raise DraftError(ADDRESS_INVALID(url="-u", reason=error)) from None
        password, user = password or bool(parts.password), user or unquote(parts.username or "") or None
        tls = tls or parts.scheme == "rediss"
        database = int(parts.path[1:]) if parts.path[1:].isdigit() else database
    if socket:
        options.put("socket", socket)
    else:
        options.put("host", host)
        options.put("port", port)
    if user and user != "default":
        options.put("user", user)
    if password:
        options.put("password", reference(_VARIABLE))
    if database:
        options.put("database", database)
    if tls:
        options.put("tls", True)
    return Section(redis=options)


DRAFT = Source(_draft, ("redis-benchmark", "valkey-benchmark"))
