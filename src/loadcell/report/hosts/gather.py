"""Machines and runs of workloads on both, read from a baseline's run or the JSON of `loadcell host`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from loadcell.analysis.compare.findings import differing
from loadcell.analysis.finding import Finding, Subject
from loadcell.analysis.hosts import findings, scores
from loadcell.analysis.hosts.compare import Machine, Machines, compare
from loadcell.analysis.hosts.hypothesis import Hypothesis, hypothesis, workload
from loadcell.model import json as json_records
from loadcell.model import probes
from loadcell.model.json import JsonObject
from loadcell.model.message import ForeignText, Message, MessageCode
from loadcell.model.run_record import RunRecord
from loadcell.report.comparison.gather import Gathered, Wanted, gather
from loadcell.report.comparison.words import apart
from loadcell.store.find import find_run
from loadcell.store.layout import RUN, StoreError
from loadcell.store.read import StoredRun, read_run

HOSTS_NOTHING_IN_COMMON = MessageCode("hosts.nothing-in-common", first=str, second=str)
HOSTS_NO_BASELINE = MessageCode("hosts.no-baseline", path=str, workload=str)
HOSTS_SAME = MessageCode("hosts.same", first=str, second=str)
HOSTS_UNREADABLE = MessageCode("hosts.unreadable", path=str, said=ForeignText)
HOSTS_NO_JSON = MessageCode("hosts.no-json", path=str)
HOSTS_NO_MACHINE = MessageCode("hosts.no-machine", path=str)
HOSTS_BAD_SCORES = MessageCode("hosts.bad-scores", path=str, said=Message)
RUN_ON_OTHER_HOST = MessageCode("hosts.follows.elsewhere", workload=str, host=str, label=str)


@dataclass(frozen=True)
class Source:
    """A machine, where it was read from, and the run that its scores are of (None: it is known from JSON)."""

    machine: Machine
    path: Path
    run: StoredRun | None = None


def is_document(name: str) -> bool:
    """True if this names a file rather than a run."""
    return Path(name).is_file()


def is_baseline(path: Path) -> bool:
    """True if a run's directory is a baseline's; not where its run.json cannot be read, which its reader says
    better.
    """
    try:
        return scores.probed(json_records.read(RunRecord, (path / RUN).read_bytes()))
    except (OSError, json_records.MismatchError):
        return False


def source(name: str) -> Source:
    """The machine of a run or of a JSON file. Raises StoreError, also for runs that are no baselines."""
    return _of_file(Path(name)) if is_document(name) else of_run(read_run(find_run(name)))


def of_run(stored: StoredRun) -> Source:
    """The machine that a baseline was run on. Raises StoreError when the run is of something else."""
    if not scores.probed(stored.run):
        raise StoreError(HOSTS_NO_BASELINE(path=stored.path, workload=probes.WORKLOAD))
    host = _host(stored.environment)
    label = str(host.get("hostname") or stored.short_id)
    return Source(Machine(label, host, scores.of_run(stored.run, stored.trials)), stored.path, stored)


def pair(first: str, second: str) -> tuple[Source, Source]:
    """Two machines under distinct names. Raises StoreError."""
    first_source, other = source(first), source(second)
    if first_source.path.resolve() == other.path.resolve():
        raise StoreError(HOSTS_SAME(first=first, second=second))
    labels = apart([first_source.machine.label, other.machine.label], [_name(first_source), _name(other)])
    return (
        replace(first_source, machine=replace(first_source.machine, label=labels[0])),
        replace(other, machine=replace(other.machine, label=labels[1])),
    )


def _name(source: Source) -> str:
    """Label of the source: one machine can have two."""
    return source.run.short_id if source.run is not None else source.path.stem


def _of_file(path: Path) -> Source:
    try:
        document: Any = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise StoreError(HOSTS_UNREADABLE(path=path, said=error.strerror)) from None
    except ValueError:
        raise StoreError(HOSTS_NO_JSON(path=path)) from None
    host = _host(document) if isinstance(document, dict) else {}
    if not host:
        raise StoreError(HOSTS_NO_MACHINE(path=path))
    documents = document.get("scores") or []
    try:
        scores_read = (
            scores.of_document(documents) if isinstance(documents, list) else scores.of_document([documents])
        )
    except scores.ScoreError as error:
        raise StoreError(HOSTS_BAD_SCORES(path=path, said=error.message)) from None
    return Source(Machine(str(host.get("hostname") or path.stem), host, scores_read), path)


def _host(document: JsonObject) -> JsonObject:
    """The machine of `loadcell host --json`, or the first of an environment.json."""
    hosts = document.get("hosts")
    host = hosts[0] if isinstance(hosts, list) and hosts else document.get("host")
    return host if isinstance(host, dict) else {}


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
                yield Finding(Subject.HOSTS, RUN_ON_OTHER_HOST(workload=name, host=hostname, label=label))
        others = [difference for difference in gathered.all_differences if difference.kind in _BESIDES]
        if others:
            yield from differing(gathered.comparison.sides, others)
        yield from findings.of_hypothesis(followed.hypothesis, first, second)


def compared(
    first: str,
    second: str,
    ran: Sequence[Ran] = (),
    lang: str = "en",
    *,
    anyway: bool = False,
) -> Compared:
    """Read two machines and the runs of workloads that ran on both, whose titles are in `lang`.

    Raises StoreError and CannotCompareError.
    """
    sources = pair(first, second)
    machines = compare(sources[0].machine, sources[1].machine)
    workloads = []
    for one_name, other in ran:
        runs: list[tuple[Path, str | None]] = [
            (find_run(name), source.machine.label)
            for name, source in zip((one_name, other), sources, strict=True)
        ]
        gathered = gather(Wanted(runs, anyway=anyway))
        workloads.append(Followed(gathered, _follows(machines, gathered, (one_name, other), lang)))
    return Compared(sources, machines, tuple(workloads))


def _follows(machines: Machines, gathered: Gathered, ran: Ran, lang: str) -> Hypothesis:
    row = next(iter(gathered.comparison.headline), None)
    if row is None or row.effect is None:
        raise StoreError(HOSTS_NOTHING_IN_COMMON(first=ran[0], second=ran[1]))
    run = gathered.runs[0].run
    name = run.title_in(lang) or run.plan_name or gathered.runs[0].id
    return hypothesis(machines, workload(name, row.effect, higher_is_better=row.metric.higher_is_better))
