"""Findings on a run that was made of other tools' outputs: loadcell ran nothing of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from loadcell.analysis.finding import Finding
from loadcell.model.message import Argument, Message
from loadcell.model.run_record import ImportedFile, RunRecord

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


def sources(run: RunRecord) -> tuple[ImportedFile, ...]:
    """Files that a run was imported from; none of a run that loadcell executed."""
    return run.imported or ()


def done(run: RunRecord) -> Message:
    """Summary of the import: files were read, nothing was run."""
    read = sources(run)
    executions = sum(file.measured for file in read)
    samples = sum(file.samples for file in read)
    files = [file for file in read if file.measured] or read
    tools = tuple(dict.fromkeys(file.tool for file in files))
    key = "done.imported" if executions else "done.imported.samples"
    return Message(key, {"count": executions or samples, "tools": tools, "files": len(files)})


def findings(run: RunRecord) -> Iterator[Finding]:
    """Lines of the files that were not understood."""
    damaged = [file for file in sources(run) if file.unread]
    if damaged:
        quoted = [line.strip() for file in damaged for line in file.examples]
        params: dict[str, Argument] = {
            "count": sum(file.unread for file in damaged),
            "examples": tuple(_cut(line) for line in quoted[:MOST_QUOTED]),
        }
        files = tuple(file.file for file in damaged)
        yield Finding("imported", Message("found.unread", params).rated("caution"), files)


def samples_alone(run: RunRecord) -> bool:
    """True if there are but samples of a monitor: no load, and so no figure of one."""
    read = sources(run)
    return bool(read) and not any(file.measured for file in read)


def advised(findings_list: Iterable[Finding], run: RunRecord) -> tuple[Finding, ...]:
    """The same findings with advice that can be followed where there is no plan; nothing of a load where
    there was none.
    """
    alone = samples_alone(run)
    return tuple(
        replace(
            finding,
            message=replace(finding.message, code=ADVICE.get(finding.message.code, finding.message.code)),
        )
        for finding in findings_list
        if not (alone and finding.message.code.startswith(_OF_LOADS))
    )


def _cut(line: str) -> str:
    return line if len(line) <= MOST_CHARACTERS else f"{line[: MOST_CHARACTERS - 1]}…"
