"""`loadcell stream HOST:PORT`: a load of records on a stream service, without a plan file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import click

from loadcell.cli import language, messages
from loadcell.cli.adhoc import line_options, typed, words
from loadcell.cli.adhoc import plan as adhoc_plan
from loadcell.cli.arguments import Integer
from loadcell.cli.command import argument, command, option

if TYPE_CHECKING:
    from loadcell.cli.adhoc import LineOptions
    from loadcell.model.json import JsonObject

FORMATS, FRAMINGS, ANSWERS = ("csv", "json"), ("line", "length"), ("none", "count", "each")
#: Keys of generated records, and the size of one.
KEYS, SIZE = 10_000, "200B"


@command("stream")
@argument("server", metavar="HOST:PORT", shell_complete=words("localhost:", "tcp://"))
@option("--file", "file", type=click.Path(), metavar="PATH", group="workload")
@option("--size", metavar="SIZE", group="workload")
@option("--keys", type=Integer(1), metavar="N", group="workload")
@option("--distribution", metavar="NAME", shell_complete=words("uniform", "zipfian"), group="workload")
@option("--format", "format_", type=click.Choice(FORMATS), group="workload")
@option("--framing", type=click.Choice(FRAMINGS), group="workload")
@option("--answers", type=click.Choice(ANSWERS), group="workload")
@option("--prepared", type=Integer(), metavar="N", group="workload")
@line_options("stream", "stream")
def stream(
    server: str,
    file: str | None,
    size: str | None,
    keys: int | None,
    distribution: str | None,
    format_: str | None,
    framing: str | None,
    answers: str | None,
    prepared: int | None,
    options: LineOptions,
) -> int:
    """Load-test a service that reads a stream of records."""
    target = _target(server)
    settings = {"format": format_, "framing": framing, "answers": answers, "prepared": prepared}
    work: JsonObject = {key: value for key, value in settings.items() if value is not None}
    if file is not None:
        if size is not None or keys is not None or distribution is not None:
            raise language.CallError(messages.CALL_FILE_ALONE())
        if not Path(file).expanduser().exists():
            raise language.CallError(messages.CALL_NO_RECORDS(path=repr(file)))
        work["file"] = str(Path(file).expanduser().absolute())
        if answers == "each":
            work["repeat"] = False  # its numbers would come again
    else:
        work["fields"] = _fields(keys or KEYS, distribution)
        work["size"] = size or SIZE
    if answers == "each":
        work["order"] = "all"
    line = adhoc_plan.Line(
        "stream",
        messages.TITLE_RECORDS(target=server),
        {"stream": target},
        {"stream": work},
        typed("stream", [server], []),
        load={"warmup": "0s"} if work.get("repeat") is False else {},
    )
    return adhoc_plan.act(line, options, None)


def _fields(keys: int, distribution: str | None) -> JsonObject:
    """Records of a number, a key, a time in ms and an amount."""
    key: JsonObject = {"from": 0, "to": keys - 1}
    if distribution is not None:
        key["distribution"] = distribution
    return {"id": {"step": 1}, "key": key, "time": {"step": 1}, "amount": {"from": 1, "to": 100_000}}


def _target(server: str) -> JsonObject:
    """The target. Raises CallError for an invalid address."""
    if server.startswith("/"):
        return {"url": "tcp://localhost:1", "socket": server}
    address = server if "://" in server else f"tcp://{server}"
    try:
        parts = urlsplit(address)
        complete = parts.scheme == "tcp" and bool(parts.hostname) and parts.port is not None
    except ValueError:
        complete = False
    if not complete:
        raise language.CallError(messages.CALL_NO_STREAM(server=repr(server)))
    return {"url": address}
