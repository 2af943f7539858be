"""Two machines, and what ran on both, put together from what was stored."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from loadcell.analysis.compare.findings import differing
from loadcell.analysis.compare.verdict import LEAST_EFFECT
from loadcell.analysis.finding import Finding
from loadcell.analysis.hosts import findings
from loadcell.analysis.hosts.compare import Machines, compare
from loadcell.analysis.hosts.hypothesis import Hypothesis, hypothesis, workload
from loadcell.report.comparison.gather import Gathered, Wanted, gather
from loadcell.report.hosts.read import Source, pair
from loadcell.report.messages import HOSTS_NOTHING_IN_COMMON, RUN_ON_OTHER_HOST
from loadcell.store.errors import StoreError
from loadcell.store.find import find_run

#: Two runs of one workload: on the first machine, and on the second.
Ran = tuple[str, str]
#: Kinds of differences between two runs that are not those of their machines.
_BESIDES = ("plan", "target", "tools")


@dataclass(frozen=True)
class Followed:
    """Workloads that ran on both machines: the comparison of their runs, and the baseline each follows."""

    gathered: Gathered
    hypothesis: Hypothesis


@dataclass(frozen=True)
class Compared:
    """Comparison of two machines, and of the workloads that ran on both."""

    sources: tuple[Source, Source]
    machines: Machines
    workloads: tuple[Followed, ...] = ()

    @property
    def incomplete(self) -> bool:
        """True if one machine has a score that the other has not."""
        return bool(self.machines.alone)

    def findings(self) -> Iterator[Finding]:
        """All findings on the machines, then on each workload."""
        yield from findings.of_machines(self.machines)
        for followed in self.workloads:
            yield from self.of(followed)

    def of(self, followed: Followed) -> Iterator[Finding]:
        """Findings on one workload: differences besides the machines, then the resource it follows."""
        gathered, first, second = followed.gathered, *(machine.label for machine in self.machines.machines)
        for source, run in zip(self.sources, gathered.runs, strict=True):
            hosts = run.environment.get("hosts") or [{}]
            named, hostname = source.machine.host.get("hostname"), hosts[0].get("hostname")
            if named and hostname and named != hostname:
                name, label = followed.hypothesis.workload.name, source.machine.label
                yield Finding("hosts", RUN_ON_OTHER_HOST(workload=name, host=hostname, label=label))
        others = [difference for difference in gathered.all_differences if difference.kind in _BESIDES]
        if others:
            yield from differing(gathered.comparison.sides, others)
        yield from findings.of_hypothesis(followed.hypothesis, first, second)


def compared(
    first: str,
    second: str,
    ran: Sequence[Ran] = (),
    *,
    least_effect: float = LEAST_EFFECT,
    anyway: bool = False,
) -> Compared:
    """Read two machines and the runs of workloads that ran on both.

    Raises StoreError and CannotCompareError.
    """
    sources = pair(first, second)
    machines = compare(sources[0].machine, sources[1].machine, least_effect=least_effect)
    workloads = []
    for one_name, other in ran:
        runs: list[tuple[Path, str | None]] = [
            (find_run(name), source.machine.label)
            for name, source in zip((one_name, other), sources, strict=True)
        ]
        gathered = gather(Wanted(runs, least_effect=least_effect, anyway=anyway))
        workloads.append(Followed(gathered, _follows(machines, gathered, one_name, other)))
    return Compared(sources, machines, tuple(workloads))


def _follows(machines: Machines, gathered: Gathered, first: str, other: str) -> Hypothesis:
    row = next(iter(gathered.comparison.headline), None)
    if row is None or row.effect is None:
        raise StoreError(HOSTS_NOTHING_IN_COMMON(first=first, second=other))
    run = gathered.runs[0].run
    name = run.title or run.plan_name or gathered.runs[0].id
    return hypothesis(machines, workload(name, row.effect, higher_is_better=row.metric.higher_is_better))
