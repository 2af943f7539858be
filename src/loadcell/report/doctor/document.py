"""`loadcell doctor`: an examination as page, brief report and JSON."""

from __future__ import annotations

import pkgutil
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from importlib import import_module
from typing import Any, Final, Protocol

from loadcell.incidents import record as records
from loadcell.incidents.base import Healthy, Unseen, registered
from loadcell.incidents.evidence.base import Evidence, Reading
from loadcell.incidents.evidence.retained import Retained
from loadcell.incidents.examination import Examination, Examined
from loadcell.model import json as model_json
from loadcell.model import numbers
from loadcell.report import doctor
from loadcell.report.blocks import Block, Cell, Code, Column, Paragraph, Remark, Report, Section, Table
from loadcell.report.doctor import diagnosis as diagnoses
from loadcell.report.publish import Document
from loadcell.report.texts import Texts

#: Subjects of one type that are shown one by one, and names of others in a sentence.
MOST_DETAILED: Final = 3
MOST_NAMED: Final = 12
#: The name of standard input in a call.
_STDIN: Final = "-"


class Sections(Protocol):
    """The function `sections` of a module of this package whose `NEEDS` names a type of evidence."""

    def __call__(self, evidence: Any, number: int, texts: Texts, *, is_page: bool) -> Iterator[Section]:
        """Sections of a subject; `number` distinguishes their anchors."""


@cache
def details() -> dict[type[Evidence], Sections]:
    """Sections of the types of evidence that have details."""
    modules = (
        import_module(item.name) for item in pkgutil.iter_modules(doctor.__path__, f"{doctor.__name__}.")
    )
    return {module.NEEDS: module.sections for module in modules if hasattr(module, "NEEDS")}


def document(examination: Examination, language: str) -> Document:
    """The examination in every form."""
    return Document(
        "doctor",
        lambda _: _report(examination, language, is_page=True),
        lambda _: _report(examination, language, is_page=False),
        lambda: model_json.document(records.record(examination)),
    )


def _report(examination: Examination, language: str, *, is_page: bool) -> Report:
    texts = Texts(language)
    sections = [Section("findings", texts("doctor.findings"), list(_findings(examination, texts, is_page)))]
    detailed = _detailed(examination)
    for number, subject in enumerate(detailed, 1):
        of_type = details().get(type(subject.evidence))
        if of_type is not None:
            first, *others = of_type(subject.evidence, number, texts, is_page=is_page)
            remarks = _remarks(subject, examination, texts)
            for section in (replace(first, blocks=[*remarks, *first.blocks]), *others):
                sections.append(_titled(section, subject, examination, texts))
    sections.append(Section("examined", texts("doctor.examined"), list(_examined(examination, texts))))
    if examination.readings:
        blocks = [block for reading in examination.readings for block in _reading(reading, texts)]
        sections.append(Section("reading", texts("doctor.reading"), blocks))
    return Report(
        language=language,
        title=texts("doctor.title"),
        question=", ".join(
            texts("doctor.standard-input") if name == _STDIN else name
            for name in examination.title.split(", ")
        ),
        run_id="",
        badges=[],
        sections=sections,
        kind="doctor.kind",
    )


def _remarks(subject: Examined, examination: Examination, texts: Texts) -> list[Remark]:
    """Remarks on the evidence of a section, without those that stand above the findings.

    Of several subjects a damage is that of one log.
    """
    above = {remark for reading in examination.readings for remark in map(texts.message, reading.losses)}
    written = [(remark, texts.message(remark)) for remark in subject.evidence.remarks]
    is_single = len(examination.subjects) == 1
    return [Remark(remark.severity, text) for remark, text in written if not is_single or text not in above]


def _losses(examination: Examination, texts: Texts) -> Iterator[Block]:
    """Remarks on parts of the logs that were not read: findings are those of the others."""
    losses = [remark for reading in examination.readings for remark in reading.losses]
    for remark in losses[:MOST_DETAILED]:
        yield Remark(remark.severity, texts.message(remark))
    if (count := len(losses) - MOST_DETAILED) > 0:
        yield Paragraph(texts("doctor.more-losses", count=count), quiet=True)


def _source(subject: Examined, examination: Examination) -> str:
    """The name of a subject that is a process, or one of several of its type."""
    if subject.evidence.process is not None:
        return subject.evidence.source
    same = [item for item in examination.subjects if type(item.evidence) is type(subject.evidence)]
    return subject.evidence.source if len(same) > 1 else ""


def _titled(section: Section, subject: Examined, examination: Examination, texts: Texts) -> Section:
    source = _source(subject, examination)
    if not source:
        return section
    title = texts("doctor.of-source", source=source, text=section.title)
    return replace(section, title=title, group=source, name=section.title)


def _detailed(examination: Examination) -> list[Examined]:
    """Subjects with details, those with the worst incidents first: of many, no others."""
    subjects = examination.subjects
    worst_first = {id(subject): subject for subject, _ in examination.diagnoses}
    if len(subjects) <= MOST_DETAILED:
        worst_first |= {id(subject): subject for subject in subjects if id(subject) not in worst_first}
    return list(worst_first.values())[:MOST_DETAILED]


def _findings(examination: Examination, texts: Texts, is_page: bool) -> Iterator[Block]:
    yield from _losses(examination, texts)
    if not examination.diagnoses:
        yield Remark("good", texts("doctor.nothing"))
        if unseen := {item.incident for item in examination.unseen}:
            yield Paragraph(texts("doctor.nothing.unseen", count=len(unseen)), quiet=True)
    most = MOST_DETAILED if len(examination.subjects) <= MOST_DETAILED else 1
    for pairs in examination.by_incident.values():
        for subject, diagnosis in pairs[:most]:
            yield from diagnoses.blocks(
                diagnosis, subject.evidence, texts, is_page=is_page, source=_source(subject, examination),
                now_ns=examination.utc_ns,
            )  # fmt: skip
        shown = {subject.evidence.source for subject, _ in pairs[:most]}
        sources = dict.fromkeys(subject.evidence.source for subject, _ in pairs[most:])
        if others := [source for source in sources if source not in shown]:
            names = texts("mark.list").join(others[:MOST_NAMED])
            yield Paragraph(texts("doctor.others", count=len(others), names=names), quiet=True)


def _retained(examination: Examination, texts: Texts) -> Iterator[Block]:
    """Files of examinations that trials retained, and what was not read."""
    evidence = [item.evidence for item in examination.subjects if isinstance(item.evidence, Retained)]
    for remark in [remark for item in evidence for remark in item.remarks][:MOST_NAMED]:
        yield Remark(remark.severity, texts.message(remark))
    names = [item.file for item in evidence if item.file]
    shown = [*names[:MOST_NAMED], *(["…"] if len(names) > MOST_NAMED else [])]
    if shown:
        yield Paragraph(texts("doctor.retained.files", names=texts("mark.list").join(shown)), quiet=True)


def _examined(examination: Examination, texts: Texts) -> Iterator[Block]:
    yield from _retained(examination, texts)
    healthy: dict[tuple[str, str], list[tuple[str, Healthy | Unseen]]] = {}
    unseen: dict[tuple[str, str], list[tuple[str, Healthy | Unseen]]] = {}
    for subject in sorted(examination.subjects, key=lambda item: not examination.is_named(item)):
        source = _source(subject, examination)
        for value in subject.healthy:
            healthy.setdefault((value.incident, value.value.code), []).append((source, value))
        for lack in subject.unseen:
            unseen.setdefault((lack.incident, lack.reason.code), []).append((source, lack))
    if healthy:
        rows = [row for items in healthy.values() for row in _rows(items, texts)]
        yield _table("healthy", texts("doctor.healthy"), texts("doctor.column.value"), rows, texts)
    missing = _by_reason(examination.unseen, texts)
    if unseen or missing:
        rows = [row for items in unseen.values() for row in _rows(items, texts)]
        rows += [_row(items[0], "", texts) for items in missing.values() if len(items) == 1]
        if rows:
            yield _table("unseen", texts("doctor.unseen"), texts("doctor.column.reason"), rows, texts)
        for reason, alike in missing.items():
            if len(alike) > 1:
                yield _for_reason(reason, alike, texts)


def _rows(items: Sequence[tuple[str, Healthy | Unseen]], texts: Texts) -> Iterator[list[Cell]]:
    """Rows of an incident: of many subjects the first, with their number."""
    if len(items) <= MOST_DETAILED:
        for source, item in items:
            yield _row(item, source, texts)
        return
    title, value = _row(items[0][1], items[0][0], texts)
    yield [title, Cell(texts("doctor.of-many", text=value.text, count=len(items) - 1))]


def _by_reason(unseen: Sequence[Unseen], texts: Texts) -> dict[str, list[Unseen]]:
    """Incidents that could not be examined, by the reason in words."""
    by_reason: dict[str, list[Unseen]] = {}
    for item in unseen:
        by_reason.setdefault(texts.message(item.reason), []).append(item)
    return by_reason


def _for_reason(reason: str, items: Sequence[Unseen], texts: Texts) -> Remark:
    """A sentence on all incidents that could not be examined for one reason."""
    titles = texts("mark.semicolon").join(texts(registered()[item.incident].texts("title")) for item in items)
    return Remark("info", texts("doctor.unseen.for-reason", titles=titles, reason=reason))


def _row(item: Healthy | Unseen, source: str, texts: Texts) -> list[Cell]:
    text = texts.message(item.value if isinstance(item, Healthy) else item.reason)
    if source:
        text = texts("doctor.of-source", source=source, text=text)
    title = texts(registered()[item.incident].texts("title"))
    return [Cell(title, tone="good" if isinstance(item, Healthy) else ""), Cell(text)]


def _table(anchor: str, title: str, column: str, rows: Sequence[list[Cell]], texts: Texts) -> Table:
    columns = [Column(texts("doctor.column.incident"), keep=True), Column(column, many=True, sentences=True)]
    return Table(anchor, title, columns, rows)


def _reading(reading: Reading, texts: Texts) -> Iterator[Block]:
    yield Paragraph(
        texts(
            "doctor.lines-read",
            count=reading.lines,
            unread=reading.unread,
            share=numbers.share(reading.unread_share),
        ),
        quiet=True,
    )
    for remark in reading.remarks:
        advice = "" if remark.remedy is None else texts.message(remark.remedy)
        yield Remark(remark.severity, texts.message(remark), "", advice)
    if reading.examples:
        yield Code(texts("doctor.not-understood"), diagnoses.lines(reading.examples), "text")
