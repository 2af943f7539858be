"""A diagnosis in words: observation, remedy, lines of evidence, disproof, prevention."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from loadcell.incidents.base import SEVERITY, Diagnosis, registered
from loadcell.incidents.evidence.base import Evidence, Quote
from loadcell.model import numbers
from loadcell.model.message import Labels
from loadcell.report.blocks import Block, Code, Details, Paragraph, Remark
from loadcell.report.texts import Texts

LEVEL = Labels("incident-level", ("critical", "warning", "note"))
CONFIDENCE = Labels("incident-confidence", ("high", "medium", "low"))


def blocks(
    diagnosis: Diagnosis,
    evidence: Evidence,
    texts: Texts,
    *,
    is_page: bool,
    source: str = "",
    now_ns: int | None = None,
) -> Iterator[Block]:
    """Blocks of a diagnosis; `source` names its subject where there are several.

    `now_ns` is the time at which a live host was examined.
    """
    incident = registered()[diagnosis.incident]
    title = texts(
        "doctor.diagnosis",
        title=texts(incident.texts("title")),
        level=texts(LEVEL(diagnosis.level)),
        confidence=texts(CONFIDENCE(diagnosis.confidence)),
    )
    if source:
        title = texts("doctor.of-source", source=source, text=title)
    yield Remark(
        SEVERITY[diagnosis.level],
        texts.message(diagnosis.summary) + ("。" if texts.language == "zh" else "."),
        title,
        texts.message(diagnosis.advice),
    )
    span = span_of(diagnosis, evidence, texts, now_ns)
    notes: list[Block] = [
        Paragraph(texts("doctor.disproof", text=texts(incident.texts("disproof"))), quiet=True),
        Paragraph(texts("doctor.prevention", text=texts(incident.texts("prevention"))), quiet=True),
        Paragraph(
            texts("doctor.signs", text=texts.message(incident.signs), source=incident.source), quiet=True
        ),
    ]
    quotes = [Code(texts("doctor.lines"), lines(diagnosis.quotes), "text")] if diagnosis.quotes else []
    if span:
        yield Paragraph(span, quiet=True)
    if is_page:
        yield Details(texts("doctor.evidence"), [*notes, *quotes])
    else:
        yield from quotes


def lines(quotes: Sequence[Quote]) -> str:
    """Lines of evidence with their places."""
    return "\n".join(
        f"{quote.file}:{quote.number}: {quote.text}" if quote.number else f"{quote.file}: {quote.text}"
        for quote in quotes
    )


def span_of(diagnosis: Diagnosis, evidence: Evidence, texts: Texts, now_ns: int | None = None) -> str:
    """Begin and end of an incident since the begin of its evidence; empty without times.

    Of a host that was examined at `now_ns`, the age of its end.
    """
    if diagnosis.begin_ns is None or diagnosis.end_ns is None:
        return ""
    begin, end = (
        numbers.instant((instant - (evidence.begin_ns or 0)) / 1e9)
        for instant in (diagnosis.begin_ns, diagnosis.end_ns)
    )
    end_utc_ns = evidence.utc_ns(diagnosis.end_ns)
    if now_ns is not None and end_utc_ns is not None:
        return texts(
            "doctor.span.ago", ago=numbers.seconds(float(max(0, round((now_ns - end_utc_ns) / 1e9))))
        )
    utc_ns = evidence.utc_ns(diagnosis.begin_ns)
    if utc_ns is not None and evidence.begin_ns == evidence.end_ns:
        return texts("doctor.span.at", utc=numbers.utc_second(utc_ns))
    if utc_ns is None and begin == end:
        return texts("doctor.span.moment", at=begin)
    if utc_ns is None:
        return texts("doctor.span", begin=begin, end=end)
    utc = numbers.utc_second(utc_ns)
    if begin == end:
        return texts("doctor.span.moment.dated", at=begin, utc=utc)
    return texts("doctor.span.dated", begin=begin, end=end, utc=utc)
