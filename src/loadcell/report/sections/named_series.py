"""Series that monitors sampled by name: their chart, folded away, and remarks on the samples."""

from __future__ import annotations

from collections.abc import Iterator

from loadcell.model.message import Message
from loadcell.report import charts
from loadcell.report.blocks import Block, Details, Paragraph
from loadcell.report.context import ReportContext


def blocks(context: ReportContext) -> list[Block]:
    """Nothing where no monitor sampled series by name."""
    drawn = charts.drawn_in("named-series", context)
    remarks = (Paragraph(text, quiet=True) for text in _remarks(context))
    return [*(Details(chart.title, [chart]) for chart in drawn), *remarks]


def _remarks(context: ReportContext) -> Iterator[str]:
    """The first remark of each monitor and kind, with its remedy."""
    texts, shown = context.texts, set()
    for record in context.stored.trials:
        for monitor, of_trial in record.monitors.items():
            for note in of_trial.notes or ():
                code = note.get("code")
                if code is None or (monitor, code) in shown:
                    continue
                shown.add((monitor, code))
                message = Message(code, note["args"], recorded=(note["finding"], note["advice"]))
                text = texts("named-series.remark", monitor=monitor, why=texts.message(message))
                remedy = message.remedy
                if remedy is not None:
                    text = texts("named-series.remedy", why=text, remedy=texts.message(remedy))
                yield text
