"""Details of the logs of services: facts, entries over time, messages, silences, clock steps."""

from __future__ import annotations

from collections.abc import Iterator

from loadcell.incidents import log_record as records
from loadcell.incidents.evidence.application_log import ApplicationLog
from loadcell.incidents.evidence.log_clocks import ClockStep
from loadcell.incidents.evidence.log_silences import Silence
from loadcell.model import numbers
from loadcell.model.application_log import LOG_LEVELS, LogMessage
from loadcell.model.message import Labels
from loadcell.report.blocks import Cell, Column, Definitions, Section, Table, Tone, without_empty
from loadcell.report.charts import log_entries as charts
from loadcell.report.texts import Texts

NEEDS = ApplicationLog
LEVEL = Labels("log-level", LOG_LEVELS)
_TONES: dict[str, Tone] = {"error": "problem", "warning": "caution", "other": ""}
#: Rows of a table on a terminal, and on a page.
_BRIEF_ROWS, _PAGE_ROWS = 6, 200
_MOST_NAMES = 3


def sections(evidence: ApplicationLog, number: int, texts: Texts, *, is_page: bool) -> Iterator[Section]:
    """Sections of logs; `number` distinguishes their anchors."""
    yield Section(f"log-{number}", texts("doctor.log"), [Definitions(tuple(_facts(evidence, texts)))])
    drawings = charts.draw(evidence, number, texts) if is_page else []
    if drawings:
        yield Section(f"log-time-{number}", texts("doctor.log.over-time"), drawings)
    most = _PAGE_ROWS if is_page else _BRIEF_ROWS
    yield Section(
        f"log-messages-{number}", texts("doctor.log.messages"), [_messages(evidence, number, texts, most)]
    )
    if evidence.silences:
        yield Section(
            f"log-silences-{number}", texts("doctor.log.silences"), [_silences(evidence, number, texts, most)]
        )
    if evidence.clock_steps:
        yield Section(
            f"log-steps-{number}", texts("doctor.log.steps"), [_steps(evidence, number, texts, most)]
        )


def _facts(evidence: ApplicationLog, texts: Texts) -> Iterator[tuple[str, str]]:
    logs = evidence.logs
    services = [service.name for service in logs.services]
    yield texts("doctor.log.services"), texts("mark.list").join(services)
    yield texts("doctor.duration"), numbers.seconds(evidence.duration_ns / 1e9)
    begin_ns = evidence.utc_ns(evidence.begin_ns)
    if begin_ns is not None:
        yield texts("doctor.log.begin"), numbers.utc_second(begin_ns)
    yield texts("doctor.log.entries"), numbers.whole(evidence.entries)
    threads = sum(len(service.threads[1:]) + service.more_threads for service in logs.services)
    if threads:
        yield texts("doctor.log.threads"), numbers.whole(threads)
    errors = sum(message.count for message in evidence.errors)
    share = errors / evidence.entries if evidence.entries else 0.0
    yield texts("doctor.log.errors"), texts("doctor.log.share", count=errors, share=numbers.share(share))
    yield (
        texts("doctor.log.unstamped"),
        texts(
            "doctor.log.unstamped.values",
            count=logs.unstamped,
            share=numbers.share(records.unstamped_share(evidence)),
            continued=logs.continued,
        ),
    )


def _messages(evidence: ApplicationLog, number: int, texts: Texts, most: int) -> Table:
    """Messages with their number, and their first and last time; errors are the first."""
    messages = records.worst_first(evidence.logs.messages)
    columns = [
        Column(texts("doctor.log.column.message"), many=True),
        Column(texts("doctor.log.column.level"), keep=True),
        Column(texts("doctor.column.count"), figure=True),
        Column(texts("doctor.log.column.share"), figure=True, yields=1),
        Column(texts("doctor.log.column.first"), figure=True, yields=2),
        Column(texts("doctor.log.column.last"), figure=True, yields=2),
    ]
    rows = [_message(message, evidence, texts) for message in messages[:most]]
    return Table(f"messages-{number}", "", columns, rows, _more(len(rows), len(messages), texts), only=True)


def _message(message: LogMessage, evidence: ApplicationLog, texts: Texts) -> list[Cell]:
    first_s, last_s = ((instant - evidence.begin_ns) / 1e9 for instant in (message.begin_ns, message.end_ns))
    share = message.count / max(1, evidence.entries)
    return [
        Cell(message.text or texts("mark.none")),
        Cell(texts(LEVEL(message.level)), tone=_TONES[message.level]),
        Cell(numbers.whole(message.count), sort=message.count),
        Cell(numbers.share(share), sort=share, bar=share),
        Cell(numbers.instant(first_s), sort=first_s),
        Cell(numbers.instant(last_s), sort=last_s),
    ]


def _silences(evidence: ApplicationLog, number: int, texts: Texts, most: int) -> Table:
    columns = [
        Column(texts("doctor.log.column.thread"), many=True),
        Column(texts("doctor.column.time"), figure=True),
        Column(texts("doctor.log.column.duration"), figure=True),
        Column(texts("doctor.log.column.usual"), figure=True),
        Column(texts("doctor.log.column.end"), many=True, yields=1),
        Column(texts("doctor.log.column.coincides"), many=True, spare=True),
    ]
    rows = [_silence(silence, evidence, texts) for silence in evidence.silences[:most]]
    note = _more(len(rows), len(evidence.silences), texts)
    return Table(f"silences-{number}", "", *without_empty(columns, rows), note, only=True)


def _silence(silence: Silence, evidence: ApplicationLog, texts: Texts) -> list[Cell]:
    begin_s = (silence.gap.begin_ns - evidence.begin_ns) / 1e9
    duration_s, usual_s = silence.duration_ns / 1e9, silence.usual_ns / 1e9
    names = list(dict.fromkeys(silence.threads))
    if silence.is_total:
        who = texts("doctor.log.all-threads", service=silence.service)
    elif len(names) > _MOST_NAMES:
        shown = texts("mark.list").join(names[:_MOST_NAMES])
        who = texts("doctor.log.more-threads", names=shown, count=len(names) - _MOST_NAMES)
    else:
        who = texts("mark.list").join(names)
    kinds = evidence.kinds_at(silence)
    end = "without-work" if silence.may_lack_work else "error" if silence.gap.ends_in_error else "line"
    return [
        Cell(who),
        Cell(numbers.instant(begin_s), sort=begin_s),
        Cell(numbers.seconds(duration_s), sort=duration_s),
        Cell(numbers.seconds(usual_s), sort=usual_s),
        Cell(texts(END(end))),
        Cell(texts("mark.list").join(texts(charts.MARK(kind)) for kind in kinds), sort=len(kinds) or None),
    ]


END = Labels("log-silence-end", ("without-work", "error", "line"))


def _steps(evidence: ApplicationLog, number: int, texts: Texts, most: int) -> Table:
    columns = [
        Column(texts("doctor.column.time"), figure=True),
        Column(texts("doctor.log.column.back"), figure=True),
        Column(texts("doctor.log.column.forth"), figure=True),
        Column(texts("doctor.log.threads"), figure=True),
        Column(texts("doctor.log.services"), many=True, yields=1),
    ]
    rows = [_step(step, evidence, texts) for step in evidence.clock_steps[:most]]
    note = _more(len(rows), len(evidence.clock_steps), texts)
    return Table(f"steps-{number}", "", columns, rows, note, only=True)


def _step(step: ClockStep, evidence: ApplicationLog, texts: Texts) -> list[Cell]:
    at_s = (step.leap.after_ns - evidence.begin_ns) / 1e9
    forth = texts("mark.list").join(numbers.seconds(leap.size_ns / 1e9) for leap in step.leaps)
    return [
        Cell(numbers.instant(at_s), sort=at_s),
        Cell(numbers.seconds(step.size_ns / 1e9), sort=step.size_ns),
        Cell(forth or texts("mark.none")),
        Cell(numbers.whole(step.threads), sort=step.threads),
        Cell(texts("mark.list").join(step.services)),
    ]


def _more(shown: int, count: int, texts: Texts) -> str:
    return texts("doctor.log.more", shown=shown, count=count) if shown < count else ""
