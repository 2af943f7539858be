"""Where a report shows what a finding rests on: the chart, table or section to look at."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from loadcell.analysis.finding import Evidence, Finding
from loadcell.report.blocks import Chart, Link, Section, Sentences, Table

#: The section that shows each kind of evidence, and what to look at in there, the best first.
PLACES: Mapping[Evidence, tuple[str, ...]] = {
    Evidence.RESULTS: ("results", "table-results"),
    Evidence.ERRORS: ("results", "table-errors", "table-results"),
    Evidence.EXPECTATIONS: ("results", "table-expectations", "table-results"),
    Evidence.GROUPS: ("results", "table-groups"),
    Evidence.SEARCH: ("search", "chart-search"),
    Evidence.SATURATION: ("saturation", "chart-saturation"),
    Evidence.EFFECTS: ("effects", "chart-effects"),
    Evidence.INTERACTION: ("effects", "chart-interaction", "chart-effects"),
    Evidence.CHOICES: ("effects",),
    Evidence.RECOMMENDATION: ("recommendation",),
    Evidence.MEMORY: ("memory", "table-memory"),
    Evidence.OPEN_LOOP: ("open-loop", "table-open-loop"),
    Evidence.WAITING: ("open-loop", "chart-waiting", "table-open-loop"),
    Evidence.TROUBLE: ("trouble",),
    Evidence.CHECKS: ("checks",),
    Evidence.SERIES: ("series", "chart-series"),
    Evidence.METHOD: ("method",),
    Evidence.SOURCES: ("sources", "table-sources"),
}
#: Where every finding stands at least.
ALL = "findings"


def places(finding: Finding) -> tuple[str, ...]:
    """The section that a finding rests on, and anchors in it, the best first."""
    return PLACES.get(finding.code.evidence, (ALL,)) if finding.code else (ALL,)


def section(finding: Finding) -> str:
    """The section alone."""
    return places(finding)[0]


def linked(findings: Sequence[Finding], sections: Sequence[Section]) -> Sentences:
    """Findings with links into these sections; to that of all findings where theirs is not there."""
    titles = {section.id: section.title for section in sections}
    there = {section.id: set(_anchors(section)) for section in sections}

    def link(finding: Finding) -> Link:
        home, *anchors = places(finding)
        if home not in titles:
            return Link(ALL, titles[ALL])
        return Link(next((anchor for anchor in anchors if anchor in there[home]), home), titles[home])

    return Sentences(findings, [link(finding) for finding in findings])


def _anchors(section: Section) -> Iterator[str]:
    """Link targets of a section besides itself: whatever is not folded away."""
    return (block.id for block in section.blocks if isinstance(block, Chart | Table))
