"""Build a report: sections of plain blocks of a stored run, in the order readers look for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from loadcell import __version__
from loadcell.report.blocks import Report, Tone
from loadcell.report.context import ReportContext
from loadcell.report.sections import (
    bricks,
    capacity,
    coverage,
    environment,
    faults,
    http,
    jvm,
    memory,
    method,
    open_loop,
    profile,
    records,
    resident,
    resources,
    results,
    saturation,
    scaling,
    server,
    summary,
    trouble,
)
from loadcell.report.texts import STATE
from loadcell.report.values import minute

if TYPE_CHECKING:
    from loadcell.store.read import StoredRun


def build(stored: StoredRun, lang: str = "en") -> Report:
    """The report of a run in one language. Raises ValueError for a language there is no catalogue of."""
    return of_context(ReportContext.of(stored, lang))


def of_context(context: ReportContext) -> Report:
    """The same of a run that was looked at already."""
    stored = context.stored
    sections = [
        capacity.section(context),
        saturation.search(context),
        results.section(context),
        faults.section(context),
        open_loop.section(context),
        open_loop.curves(context),
        saturation.section(context),
        saturation.effects(context),
        saturation.recommendation(context),
        scaling.section(context),
        open_loop.percentiles(context),
        http.section(context),
        records.section(context),
        resources.section(context),
        server.section(context),
        server.plans(context),
        jvm.section(context),
        bricks.section(context),
        open_loop.sampled(context),
        method.files_read(context),
        coverage.section(context),
        profile.section(context),
        memory.section(context),
        resident.section(context),
        open_loop.series(context),
        environment.section(context),
        method.section(context),
        trouble.trials(context),
        trouble.checks(context),
        environment.reproduce(context),
    ]
    shown = [section for section in sections if section is not None]
    run = stored.run
    return Report(
        language=context.texts.language,
        title=run.title_in(context.texts.language) or run.plan_name or stored.id,
        question=run.question_in(context.texts.language),
        run_id=f"{run.plan_name}/{stored.id}".strip("/"),
        badges=_badges(context),
        sections=[summary.section(context, shown), *shown],
        version=__version__,
        unit=context.texts.unit,
        micro=context.texts.micro,
    )


def _badges(context: ReportContext) -> list[tuple[str, Tone]]:
    state = context.stored.state
    state_text = context.texts.or_none(STATE(state)) or context.texts("state.unknown")
    verdicts = [outcome.verdict for outcome in context.analysis.expectations]
    missed, unknown = verdicts.count("missed"), verdicts.count("unknown")
    tone: Tone = "caution" if state != "finished" else "" if missed or unknown else "good"
    badges: list[tuple[str, Tone]] = [(state_text, tone)]
    if missed:
        badges.append((context.texts("badge.expectations.missed", count=missed), "problem"))
    if unknown:
        badges.append((context.texts("badge.expectations.unknown", count=unknown), "caution"))
    run = context.stored.run
    if when := minute(run.imported_utc if context.imported else run.started_utc):
        badges.append((context.texts("badge.imported", when=when) if context.imported else f"{when} UTC", ""))
    checkout = [] if run.checkout is None else [run.checkout.name]
    return [*badges, *((name, "") for name in (*context.stored.hostnames, *checkout) if name)]
