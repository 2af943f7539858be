"""A command line of wrk or wrk2."""

from __future__ import annotations

from loadcell.drafting.command import (
    COMMAND_MISSING,
    COMMAND_NO_COUNTERPART,
    COMMAND_SECRET,
    CommandLine,
    as_it_is,
    numbers,
)
from loadcell.drafting.document import Section, Value
from loadcell.drafting.draft import Draft, DraftError, Origin, Source
from loadcell.drafting.http_parts import OutsideTexts, address_of
from loadcell.drafting.http_request import draft, put_headers, split_field
from loadcell.ingest.commands import SYNTAXES


def _draft(origin: Origin) -> Draft:
    line = CommandLine(origin, SYNTAXES["wrk"])
    line.needless("latency", "L", "u_latency", "U", "B", "batch_latency")
    texts = OutsideTexts()
    arguments = line.arguments()
    if not arguments:
        raise DraftError(COMMAND_MISSING(program=origin.name, argument="http://127.0.0.1:8080/"))
    address = address_of(arguments[0], texts)
    rate = line.value("R", "rate")
    settings = numbers(
        clients=line.integer("c", "connections") or 10,
        threads=line.integer("t", "threads"),
        duration=line.seconds("d", "duration") or "10s",
        rate=f"{rate}/s" if rate else None,
        timeout=line.seconds("timeout", "T"),
    )
    fields = [split_field(field) for field in line.values("H", "header")]
    script = line.value("s", "script")
    if script:
        words = ["-s", line.file("-s", script)]
        for name, value in fields:
            words += ["-H", f"{name}: {value}"]
        if texts.parameters() or texts.has_secrets:  # wrk would send the reference to them
            raise DraftError(COMMAND_SECRET(program=origin.name))
        words.append("${url}" + address.path)
        of_tool: dict[str, Value] = {
            name: settings[name] for name in ("clients", "threads", "duration") if name in settings
        }
        target = Section(http={"url": address.base})
        notes = list(line.notes())
        left_out = [f"--{name}" for name in ("rate", "timeout") if name in settings]
        if left_out:
            notes.append(COMMAND_NO_COUNTERPART(options=left_out))
        return as_it_is(origin, "wrk", words, {**of_tool, "warmup": "0s"}, target, notes)
    request = Section(path=address.path)
    put_headers(request, fields, texts)
    return draft(origin.name, address, request, texts, settings, line.notes())


DRAFT = Source(_draft, ("wrk", "wrk2"))
