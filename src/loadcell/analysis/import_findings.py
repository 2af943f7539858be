"""Findings on a run that was made of other tools' outputs: loadcell ran nothing of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from loadcell.analysis.finding import Concern, Evidence, Finding, FindingCode, Subject
from loadcell.model.message import Count
from loadcell.model.run_record import ImportedFile, RunRecord

#: Lines that a sentence quotes, and how much of each.
MOST_QUOTED = 2
MOST_CHARACTERS = 60

UNREAD = FindingCode(
    "found.unread", Subject.IMPORTED, "caution", (Concern.TRUST, 0), count=Count, examples=list
)
DONE = FindingCode("done.imported", Subject.DONE, "info", count=Count, files=Count, tools=list).marked(
    evidence=Evidence.SOURCES
)
DONE_SAMPLES = FindingCode(
    "done.imported.samples", Subject.DONE, "info", count=Count, files=Count, tools=list
).marked(evidence=Evidence.SOURCES)


def sources(run: RunRecord) -> tuple[ImportedFile, ...]:
    """Files that a run was imported from; none of a run that loadcell executed."""
    return run.imported or ()


def done(run: RunRecord) -> Finding:
    """Summary of the import: files were read, nothing was run."""
    read = sources(run)
    executions = sum(file.measured for file in read)
    samples = sum(file.samples for file in read)
    files = [file for file in read if file.measured] or read
    tools = tuple(dict.fromkeys(file.tool for file in files))
    code = DONE if executions else DONE_SAMPLES
    return code.finding(count=executions or samples, tools=tools, files=len(files))


def findings(run: RunRecord) -> Iterator[Finding]:
    """Lines of the files that were not understood."""
    damaged = [file for file in sources(run) if file.unread]
    if damaged:
        quoted = [line.strip() for file in damaged for line in file.examples]
        yield UNREAD.finding(
            tuple(file.file for file in damaged),
            count=sum(file.unread for file in damaged),
            examples=tuple(_cut(line) for line in quoted[:MOST_QUOTED]),
        )


def samples_alone(run: RunRecord) -> bool:
    """True if there are but samples of a monitor: no load, and so no figure of one."""
    read = sources(run)
    return bool(read) and not any(file.measured for file in read)


def advised(findings_list: Iterable[Finding], run: RunRecord) -> tuple[Finding, ...]:
    """The same findings with advice that can be followed where there is no plan; nothing of a load where
    there was none.
    """
    alone = samples_alone(run)
    advised_findings = []
    for finding in findings_list:
        code = finding.code
        if alone and code and code.of_load:
            continue
        if code and code.imported:
            finding = replace(finding, message=replace(finding.message, code=code.imported.code))
        advised_findings.append(finding)
    return tuple(advised_findings)


def _cut(line: str) -> str:
    return line if len(line) <= MOST_CHARACTERS else f"{line[: MOST_CHARACTERS - 1]}…"
