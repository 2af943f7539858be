"""Execution plans of the workload's statements, as the server explained them outside of the measurement."""

from __future__ import annotations

from loadcell.analysis import plans
from loadcell.report.blocks import Block, Code, Details, Paragraph, Section
from loadcell.report.context import ReportContext


def section(context: ReportContext) -> Section | None:
    """Each different plan of each statement; those of statements with one plan are folded away."""
    texts, labels = context.texts, context.labels
    different: list[Block] = []
    alike: list[Block] = []
    for name, of_statement in plans.by_statement(context.stored.trials).items():
        blocks = different if len(of_statement) > 1 else alike
        for plan in of_statement:
            treatments = texts("mark.list").join(labels.get(id_, id_) for id_ in plan.treatments)
            record = plan.record
            title = texts("plans.plan", statement=name, treatments=treatments)
            blocks.append(Code(title, "\n".join([record.sql, "", *record.text]), "text"))
    troubles = {
        (plan.statement, plan.trouble)
        for record in context.stored.trials
        for plan in record.plans or ()
        if plan.trouble is not None
    }
    notes: list[Block] = [
        Paragraph(texts("plans.trouble", statement=name, trouble=trouble), quiet=True)
        for name, trouble in sorted(troubles)
    ]
    if not (different or alike or notes):
        return None
    if different and alike:
        alike = [Details(texts("plans.alike"), alike)]
    return Section(
        "plans", texts("section.plans"), [Paragraph(texts("plans.meaning")), *different, *alike, *notes]
    )
