"""Where a report shows what a finding rests on: the chart, table or section to look at."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from loadcell.analysis.finding import Finding
from loadcell.report.blocks import Chart, Link, Section, Sentences, Table

#: A finding's text, or the longest beginning of it that stands here -> its section, and what to look at in
#: there.
PLACES: Mapping[str, tuple[str, ...]] = {
    "found": ("results", "table-results"),
    "found.search": ("search", "chart-search"),
    "found.saturation": ("saturation", "chart-saturation"),
    "found.effects": ("effects", "chart-effects"),
    "found.effects.together": ("effects", "chart-interaction", "chart-effects"),
    "found.effects.choose": ("effects",),
    "found.recommend": ("recommendation",),
    "found.group": ("results", "table-groups"),
    "found.lost": ("memory", "table-memory"),
    "found.kept-up": ("open-loop", "table-open-loop"),
    "found.overloaded": ("open-loop", "table-open-loop"),
    "found.behind": ("open-loop", "table-open-loop"),
    "found.waiting": ("open-loop", "chart-waiting", "table-open-loop"),
    "found.pacing": ("open-loop", "table-open-loop"),
    "found.nothing-measured": ("trouble",),
    "found.trials.some": ("trouble",),
    "found.given-up": ("trouble",),
    "found.unfinished": ("trouble",),
    "found.errors": ("results", "table-errors", "table-results"),
    "found.expect": ("results", "table-expectations", "table-results"),
    "found.check": ("checks",),
    "found.checks": ("checks",),
    "found.steady": ("series", "chart-series"),
    "found.steady.too-short": ("method",),
    "found.dips": ("series", "chart-series"),
    "found.same-place": ("method",),
    "found.unread": ("sources", "table-sources"),
    "done": ("method",),
    "done.imported": ("sources", "table-sources"),
}
#: Where every finding stands at least.
ALL = "findings"


def places(finding: Finding) -> tuple[str, ...]:
    """The section that a finding rests on, and anchors in it, the best first."""
    name = finding.message.code
    while name and name not in PLACES:
        name = name.rpartition(".")[0]
    return PLACES.get(name, (ALL,))


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
