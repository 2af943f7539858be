"""What is to be said of a run that was made of other tools' outputs: loadcell ran nothing of it, and could not read all of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from loadcell.analysis.finding import Finding
from loadcell.model.message import Argument, Message

#: Lines that a sentence quotes, and how much of each.
MOST_QUOTED = 2
MOST_CHARACTERS = 60
#: Texts whose advice is for a plan -> the same with what can be done where there is none.
ADVICE: Mapping[str, str] = {
    "found.spread.none": "found.spread.none.imported",
    "found.saturation.why.one-repeat": "found.saturation.why.one-repeat.imported",
    "found.effects.once": "found.effects.once.imported",
}
#: Texts on what a load did.
_OF_LOADS = (
    "found.trials.empty",
    "found.trials.all",
    "found.nothing-measured",
    "found.steady.",
    "found.descriptive",
    "found.spread.",
)


def sources(run: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """What a run (run.json) was made of, a document a file; none where loadcell ran it itself."""
    return [one for one in run.get("imported") or () if isinstance(one, Mapping)]


def done(run: Mapping[str, Any]) -> Message:
    """What was done: nothing was run, files were read."""
    read = sources(run)
    executions = sum(int(one.get("measured") or 0) for one in read)
    samples = sum(int(one.get("samples") or 0) for one in read)
    told = [one for one in read if one.get("measured")] or read
    tools = tuple(dict.fromkeys(str(one.get("tool")) for one in told))
    key = "done.imported" if executions else "done.imported.samples"
    return Message(key, {"count": executions or samples, "tools": tools, "files": len(told)})


def findings(run: Mapping[str, Any]) -> Iterator[Finding]:
    """What of the files was not understood."""
    damaged = [one for one in sources(run) if one.get("unread")]
    if damaged:
        quoted = [str(line).strip() for one in damaged for line in one.get("examples") or ()]
        params: dict[str, Argument] = {
            "count": sum(int(one["unread"]) for one in damaged),
            "examples": tuple(_cut(line) for line in quoted[:MOST_QUOTED]),
        }
        files = tuple(str(one.get("file")) for one in damaged)
        yield Finding("imported", Message("found.unread", params).rated("caution"), files)


def samples_alone(run: Mapping[str, Any]) -> bool:
    """Whether there are but samples of a monitor: no load, and so no figure of one."""
    read = sources(run)
    return bool(read) and not any(one.get("measured") for one in read)


def advised(found: Iterable[Finding], run: Mapping[str, Any]) -> tuple[Finding, ...]:
    """The same findings with advice that can be followed where there is no plan; nothing of a load where there was none."""
    alone = samples_alone(run)
    return tuple(
        replace(one, message=replace(one.message, code=ADVICE.get(one.message.code, one.message.code)))
        for one in found
        if not (alone and one.message.code.startswith(_OF_LOADS))
    )


def _cut(line: str) -> str:
    return line if len(line) <= MOST_CHARACTERS else f"{line[: MOST_CHARACTERS - 1]}…"
