"""Capacity of a run: the highest throughput within the bounds, with headroom and for n instances."""

from __future__ import annotations

from loadcell.analysis.capacity import ASSUMPTION, Capacity, Provision, capacities
from loadcell.model import numbers
from loadcell.model.json import JsonObject
from loadcell.model.message import Labels
from loadcell.report.blocks import Block, Cell, Column, Paragraph, Remark, Report, Section, Table
from loadcell.report.context import ReportContext

_COLUMNS = Labels("column.capacity", ("system", "treatment", "rate", "range", "provisioned"))
#: Systems that are stated in sentences; more are a table.
_MOST_IN_SENTENCES = 3


def section(context: ReportContext) -> Section | None:
    """None where no capacity was asked for. Raises CapacityError."""
    if context.provision is None:
        return None
    systems = capacities(context.analysis)
    blocks: list[Block] = []
    if len(systems) <= _MOST_IN_SENTENCES:
        for capacity in systems:
            blocks += [
                Remark(message.severity, context.texts.message(message))
                for message in capacity.sentences(context.provision)
            ]
    else:
        blocks.append(_table(systems, context, context.provision))
    blocks.append(Paragraph(context.texts.message(ASSUMPTION()), quiet=True))
    return Section("capacity", context.texts("section.capacity"), blocks)


def page(context: ReportContext) -> Report:
    """The section alone, for the terminal. Raises CapacityError."""
    run = context.stored.run
    shown = section(context)
    return Report(
        context.texts.language,
        run.title_in(context.texts.language) or run.plan_name or context.stored.id,
        "",
        context.stored.id,
        (),
        [shown] if shown is not None else [],
        unit=context.texts.unit,
    )


def document(context: ReportContext) -> JsonObject:
    """Plain JSON values. Raises CapacityError."""
    provision = context.provision or Provision()
    return {
        "headroom_share": provision.headroom,
        "instances": provision.instances,
        "assumption": ASSUMPTION().text,
        "systems": [
            {
                **capacity.document(provision),
                "sentences": [context.texts.message(message) for message in capacity.sentences(provision)],
            }
            for capacity in capacities(context.analysis)
        ],
    }


def _table(systems: tuple[Capacity, ...], context: ReportContext, provision: Provision) -> Table:
    texts = context.texts
    columns = [
        Column(texts(_COLUMNS(name)), figure=name in ("rate", "range", "provisioned"))
        for name in _COLUMNS.names
    ]
    rows = []
    for capacity in systems:
        rate = capacity.rate_per_s
        system = ", ".join(capacity.levels.values()) or texts("mark.none")
        if capacity.treatment is None or rate is None:
            rows.append([Cell(system), *[Cell(texts("mark.none"))] * 4])
            continue
        low, high = capacity.treatment.throughput.reach or (rate, rate)
        rows.append(
            [
                Cell(system),
                Cell(capacity.treatment.brief),
                Cell(numbers.rate(rate), sort=rate),
                Cell(f"{numbers.rate(low)} – {numbers.rate(high)}"),
                Cell(numbers.rate(provision.of(rate)), sort=provision.of(rate)),
            ]
        )
    return Table("table-capacity", texts("table.capacity"), columns, rows)
