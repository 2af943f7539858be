"""A command line of fio: the tool itself, called in trials."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from loadcell.drafting.command import CommandLine, as_it_is, numbers
from loadcell.drafting.document import Section, Value
from loadcell.drafting.draft import Draft, Origin, Source
from loadcell.ingest.commands import SYNTAXES
from loadcell.model.message import MessageCode

FIO_WRITES = MessageCode("draft-fio.writes", "caution", names=list)

#: Options that the plan's load gives, and those of an output that loadcell reads itself.
_OF_THE_LOAD = ("numjobs", "runtime", "time_based")
_OF_OUTPUT = ("output", "output-format", "status-interval", "eta", "group_reporting", "minimal")


def _draft(origin: Origin) -> Draft:
    line = CommandLine(origin, SYNTAXES["fio"])
    is_job_file = not line.flag("name")
    settings: dict[str, Value] = {"warmup": "0s", "clients": 1}
    words = _without(line.words, _OF_OUTPUT)
    if is_job_file:
        words = [origin.file(word) if Path(word).is_file() else word for word in words]
    else:
        settings |= numbers(clients=line.integer("numjobs"), duration=line.seconds("runtime"))
        words = _without(words, _OF_THE_LOAD)
    draft = as_it_is(origin, "fio", words, settings, Section(host={}))
    written = re.findall(r"--filename[= ](\S+)", " ".join(words))
    writes = re.search(r"--(?:rw|readwrite)[= ]\w*(?:write|rw|trim)", " ".join(words))
    notes = (FIO_WRITES(names=written),) if written and writes else ()
    return replace(draft, notes=(*draft.notes, *notes))


def _without(words: list[str], names: tuple[str, ...]) -> list[str]:
    """The words without these options and their values."""
    remaining: list[str] = []
    skip = False
    flags = SYNTAXES["fio"].flags or frozenset()
    for word in words:
        name, equals, _ = word.lstrip("-").partition("=")
        if skip and not word.startswith("-"):
            skip = False
            continue
        skip = False
        if word.startswith("-") and name in names:
            skip = not equals and name not in flags
            continue
        remaining.append(word)
    return remaining


DRAFT = Source(_draft, ("fio",))
