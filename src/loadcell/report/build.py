"""Puts a report together: a stored run in, sections of plain blocks out, in the order readers look for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from loadcell import __version__
from loadcell.report.blocks import Report, Tone
from loadcell.report.context import Scene
from loadcell.report.sections import (
    effects,
    environment,
    http,
    imported,
    memory,
    method,
    open_loop,
    pictures,
    profile,
    reproduce,
    results,
    sampled,
    saturation,
    search,
    server,
    summary,
    trouble,
)

if TYPE_CHECKING:
    from loadcell.store.read import StoredRun


def build(stored: StoredRun, lang: str = "en") -> Report:
    """The report of a run in one language. Raises ValueError for a language there is no catalogue of."""
    return of_scene(Scene.of(stored, lang))


def of_scene(scene: Scene) -> Report:
    """The same of a run that was looked at already."""
    stored = scene.stored
    sections = [
        search.section(scene),
        results.section(scene),
        http.section(scene),
        open_loop.section(scene),
        pictures.curves(scene),
        saturation.section(scene),
        effects.section(scene),
        effects.recommendation(scene),
        pictures.percentiles(scene),
        server.section(scene),
        sampled.section(scene),
        imported.section(scene),
        profile.section(scene),
        memory.section(scene),
        pictures.series(scene),
        environment.section(scene),
        method.section(scene),
        trouble.trials(scene),
        trouble.checks(scene),
        summary.all_findings(scene),
        reproduce.section(scene),
    ]
    shown = [section for section in sections if section is not None]
    run = stored.run
    return Report(
        language=scene.texts.language,
        title=run.title or run.plan_name or stored.id,
        question=run.question or "",
        run_id=f"{run.plan_name}/{stored.id}".strip("/"),
        badges=_badges(scene),
        sections=[summary.section(scene, shown), *shown],
        version=__version__,
        unit=scene.texts.unit,
        micro=scene.texts.micro,
    )


def _badges(scene: Scene) -> list[tuple[str, Tone]]:
    state = scene.stored.state
    known = scene.texts.or_none(f"state.{state}") or scene.texts("state.unknown")
    badges: list[tuple[str, Tone]] = [(known, "good" if state == "finished" else "caution")]
    started = scene.stored.run.started_utc
    if started:
        when = str(started)[:16].replace("T", " ")
        badges.append((scene.texts("badge.imported", when=when) if scene.imported else f"{when} UTC", ""))
    badges += [
        (str(host["hostname"]), "")
        for host in scene.stored.environment.get("hosts") or ()
        if host.get("hostname")
    ]
    return badges
