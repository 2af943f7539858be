"""Capacity of a run: the highest throughput within the bounds, with headroom and for n instances."""

from __future__ import annotations

from collections.abc import Iterator

from loadcell.analysis.capacity import ASSUMPTION, Capacity, Provision, capacities
from loadcell.model import numbers
from loadcell.model.json import JsonObject
from loadcell.model.message import Count, Labels, Message, MessageCode
from loadcell.report.blocks import Block, Cell, Column, Paragraph, Remark, Report, Section, Table
from loadcell.report.context import ReportContext

_COLUMNS = Labels("column.capacity", ("system", "treatment", "rate", "range", "provisioned", "notes"))
_FIGURES = ("rate", "range", "provisioned")
BOUNDS = MessageCode("capacity.bounds", "info", bounds=list)
BOUNDS_OF = MessageCode("capacity.bounds.of", "info", systems=list, bounds=list)
#: Short forms of cautions, for cells. A caution without one is shown in its sentence.
NOTES = {
    code.code.replace(".note", ""): code
    for code in (
        MessageCode("capacity.note.range", "caution", repeats=Count),
        MessageCode("capacity.note.none-within", "problem"),
        MessageCode("capacity.note.none-below", "problem"),
        MessageCode("capacity.note.passed-over", "caution", missed=list, met=list),
        MessageCode("capacity.note.missed-below", "caution", missed=list),
        MessageCode("capacity.note.open-ended", "caution"),
        MessageCode("capacity.note.some-missed", "caution", met=Count, tried=Count),
        MessageCode("capacity.note.disturbed", "caution", count=Count, of=Count),
        MessageCode("capacity.note.warned", "caution", check=Message, count=Count, of=Count),
    )
}
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
        blocks += [Remark("info", context.texts.message(message)) for message in _bounds(systems)]
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


def _bounds(systems: tuple[Capacity, ...]) -> Iterator[Message]:
    """The bounds, of several systems together where they have the same ones."""
    by_bounds: dict[tuple[str, ...], list[str]] = {}
    for capacity in systems:
        by_bounds.setdefault(tuple(map(str, capacity.bounds)), []).append(capacity.system)
    bounds = {tuple(map(str, capacity.bounds)): [*capacity.bounds] for capacity in systems}
    for written, names in by_bounds.items():
        yield (BOUNDS if len(by_bounds) == 1 else BOUNDS_OF).pick(bounds=bounds[written], systems=names)


def _notes(capacity: Capacity, context: ReportContext) -> str:
    """All cautions of a system."""
    messages = [
        note.pick(**message.arguments) if (note := NOTES.get(message.code.removesuffix(".of"))) else message
        for message in capacity.cautions()
    ]
    return context.texts("mark.semicolon").join(map(context.texts.message, messages))


def _table(systems: tuple[Capacity, ...], context: ReportContext, provision: Provision) -> Table:
    texts = context.texts
    columns = [
        Column(texts(_COLUMNS(name)), figure=name in _FIGURES, many=name == "notes")
        for name in _COLUMNS.names
    ]
    rows = []
    for capacity in systems:
        rate = capacity.rate_per_s
        system = ", ".join(capacity.levels.values()) or texts("mark.none")
        if capacity.treatment is None or rate is None:
            rows.append([Cell(system), *[Cell(texts("mark.none"))] * 4, Cell(_notes(capacity, context))])
            continue
        low, high = capacity.treatment.throughput.reach or (rate, rate)
        rows.append(
            [
                Cell(system),
                Cell(capacity.treatment.brief),
                Cell(numbers.rate(rate), sort=rate),
                Cell(f"{numbers.rate(low)} – {numbers.rate(high)}"),
                Cell(numbers.rate(provision.of(rate)), sort=provision.of(rate)),
                Cell(_notes(capacity, context)),
            ]
        )
    return Table("table-capacity", texts("table.capacity"), columns, rows)
