"""Names of scores, and findings on two machines and the workloads that ran on both."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from loadcell.analysis.finding import Finding, FindingCode, Subject
from loadcell.analysis.hosts.compare import Machine, Machines, Row, Times
from loadcell.analysis.hosts.facts import FACTS
from loadcell.analysis.hosts.hypothesis import Candidate, Hypothesis, Standing
from loadcell.analysis.hosts.scores import Score
from loadcell.model import probes
from loadcell.model.message import Argument, Bytes, Count, Factor, Message, MessageCode, Share
from loadcell.model.probes import PROBES
from loadcell.stats.repeats import FEWEST_FOR_INTERVAL

_THREADS: dict[str, type] = {"threads": Count}
#: Names of scores, by probe and test.
TESTS = {
    probe.name: {
        name: MessageCode(f"hosts.score.{probe.name}.{name}", **(_THREADS if probe.states_threads else {}))
        for name in probe.test_names
    }
    for probe in PROBES.values()
}
#: The same with the size.
SIZED = {
    test.name: MessageCode(f"hosts.score.{probe.name}.{test.name}.size", threads=Count, size_bytes=Bytes)
    for probe in PROBES.values()
    for test in probe.tests
    if probe.states_size
}
#: The same of tests that write and flush what they wrote.
FLUSHED = {
    test.name: MessageCode(f"hosts.score.{probe.name}.{test.name}.flushed")
    for probe in PROBES.values()
    for test in probe.tests
    if test.writes
}
SCORE_CPU = MessageCode("hosts.score.cpu", threads=Count)
SCORE_LATENCY = MessageCode("hosts.score.latency", size_bytes=Bytes)
SCORE_DEEP = MessageCode("hosts.score.deep", depth=Count, name=Message)
SCORE_THREADS = MessageCode("hosts.score.threads", name=Message, threads=Count)
SCORE_UNLIKE = MessageCode("hosts.score.unlike", name=Message, threads=Count)
DISK_SYNC = MessageCode("hosts.score.disk.sync")
RESOURCES = {name: MessageCode(f"hosts.resource.{name}") for name in ("clock", "cores", "memory-speed")}


def score_name(score: Score) -> Argument:
    """A score in a few words; one of a test that nobody knows by its id."""
    name = _name(score)
    if not isinstance(name, Message):
        return name
    if score.depth > 1:
        name = SCORE_DEEP(name=name, depth=score.depth)
    if score.threads > 1 and not PROBES[score.section].states_threads:
        name = SCORE_THREADS(name=name, threads=score.threads)
    return name


def listed(names: Sequence[Argument]) -> Argument:
    """Several names as one value of a sentence."""
    return tuple(name if isinstance(name, Message) else str(name) for name in names)  # type: ignore[return-value]


def row_name(row: Row) -> Argument:
    """A score of two machines; what was asked of all processors was done by as many threads as each has."""
    first, second = row.scores
    if first.threads == second.threads:
        return score_name(first)
    return SCORE_UNLIKE(name=score_name(first), threads=second.threads)


def _name(score: Score) -> Argument:
    test, name = score.definition, None
    if score.section == probes.CPU.name:
        return SCORE_CPU(threads=score.threads)
    if score.section == probes.LATENCY.name and score.size_bytes:
        return SCORE_LATENCY(size_bytes=score.size_bytes)
    if score.figure == probes.SYNC_SCORE:
        return DISK_SYNC()
    if score.fdatasync:
        name = FLUSHED.get(test.name)
    elif score.size_bytes:
        name = SIZED.get(test.name)
    name = name or TESTS[score.section].get(test.name)
    return score.id if name is None else name.pick(threads=score.threads, size_bytes=score.size_bytes)


def candidate_name(candidate: Candidate) -> Argument:
    """Name of a candidate: that of its score, or of the resource in the inventory."""
    if candidate.score is None:
        return RESOURCES[candidate.resource]()
    return score_name(candidate.score)


#: Repeats that lie further apart than this are worth a word: the machine was not at rest, or is shared.
WIDE = 0.05
#: As many of a kind are named in a sentence; the table has all.
MOST_NAMED = 4

FACT_NAMES = {name: MessageCode(f"hosts.fact.{name}") for name in FACTS}
ALIKE = FindingCode("hosts.found.alike", Subject.HOSTS, "info")
DIFFER = FindingCode("hosts.found.differ", Subject.HOSTS, "info", count=Count, names=list)
DIFFER_MANY = FindingCode("hosts.found.differ.many", Subject.HOSTS, "info", count=Count, names=list)
NO_SCORES = FindingCode("hosts.found.no-scores", Subject.HOSTS, "info")
ONE = FindingCode(
    "hosts.found.one", Subject.HOSTS, "info", best=str, best_times=Factor, first=str, second=str
)
RANGE = FindingCode(
    "hosts.found.range", Subject.HOSTS, "info", best=str, best_times=Factor, first=str, second=str,
    worst=Message, worst_times=Factor,
)  # fmt: skip
NONE_APART = FindingCode("hosts.found.none-apart", Subject.HOSTS, "info", first=str, second=str)
RESTLESS = FindingCode(
    "hosts.found.restless", Subject.HOSTS, "caution", count=Count, label=str, of=Count, wide_share=Share
)
FEW = FindingCode("hosts.found.few", Subject.HOSTS, "caution", count=Count, least=Count)
ALONE = FindingCode("hosts.found.alone", Subject.HOSTS, "caution", count=Count, label=str, names=list)
FOLLOWS_WORKLOAD = FindingCode(
    "hosts.follows.workload", Subject.HOSTS, "info", count=Count, first=str, second=str, value_times=Factor,
    workload=str,
)  # fmt: skip
FOLLOWS_WORKLOAD_SURE = FindingCode(
    "hosts.follows.workload.sure", Subject.HOSTS, "info", first=str, high_times=Factor, low_times=Factor,
    second=str, value_times=Factor, workload=str,
)  # fmt: skip
FOLLOWS_SAME = FindingCode("hosts.follows.same", Subject.HOSTS, "info", workload=str)
FOLLOWS_NO_CANDIDATE = FindingCode("hosts.follows.nothing-known", Subject.HOSTS, "caution")
FOLLOWS_ONE = FindingCode("hosts.follows.one", Subject.HOSTS, "good", candidate=Message, workload=str)
FOLLOWS_SEVERAL = FindingCode(
    "hosts.follows.several", Subject.HOSTS, "good", candidates=list, count=Count, workload=str
)
FOLLOWS_SEVERAL_MANY = FindingCode(
    "hosts.follows.several.many", Subject.HOSTS, "good", candidates=list, count=Count, workload=str
)
FOLLOWS_NONE = FindingCode(
    "hosts.follows.none", Subject.HOSTS, "caution", apart_share=Share, nearest=Message, workload=str
)
FOLLOWS_CAVEAT = FindingCode("hosts.follows.caveat", Subject.HOSTS, "caution")


def _further(standing: Standing) -> tuple[FindingCode, FindingCode]:
    code = f"hosts.follows.{standing}"
    return (
        FindingCode(code, Subject.HOSTS, "info", candidates=list),
        FindingCode(f"{code}.many", Subject.HOSTS, "info", candidates=list, count=Count),
    )


#: The sentences on candidates that did not make it, in their order: few (all are named) and many.
FURTHER: dict[Standing, tuple[FindingCode, FindingCode]] = {
    "part": _further("part"),
    "less": _further("less"),
    "alike": _further("alike"),
    "against": _further("against"),
}
CANDIDATE = MessageCode("hosts.candidate", name=Message, value_times=Factor)
CANDIDATE_PART = MessageCode("hosts.candidate.part", name=Message, needed_share=Share, value_times=Factor)
#: A candidate near the workload's ratio, by whether the intervals overlap.
NEAR = {
    overlap: MessageCode(f"hosts.candidate.near{ending}", apart_share=Share, name=Message, value_times=Factor)
    for overlap, ending in ((None, ""), (True, ".overlap"), (False, ".apart"))
}


def of_machines(machines: Machines) -> Iterator[Finding]:
    """Differences of the two machines, and how far the values carry."""
    first, second = machines.machines
    differing = machines.differing
    names = tuple(FACT_NAMES[fact.key]() for fact in differing if "." not in fact.key)
    code = DIFFER_MANY if len(names) > MOST_NAMED else DIFFER if names else ALIKE
    yield code.finding(count=len(names), names=names[:MOST_NAMED])
    if not machines.rows:
        yield NO_SCORES.finding()
        return
    clear = [row for row in machines.rows if not _may_be_alike(row.times)]
    ranked = sorted(clear, key=lambda row: row.times.value)
    labels = {"first": first.label, "second": second.label}
    if not ranked:
        yield NONE_APART.finding(**labels)
    else:
        yield (ONE if len(ranked) == 1 else RANGE).finding(
            **labels, **_of(ranked[-1], "best"), **_of(ranked[0], "worst")
        )
    few = [row for row in machines.rows if not row.times.sure]
    if few:
        least = min(row.repeats for row in few)
        yield FEW.finding(count=least, least=FEWEST_FOR_INTERVAL)
    for machine in machines.machines:
        yield from _restless(machine)
    for index, machine in enumerate(machines.machines):
        alone = [score_name(score) for at, score in machines.alone if at == index]
        if alone:
            yield ALONE.finding(label=machine.label, count=len(alone), names=alone[:MOST_NAMED])


def _may_be_alike(times: Times) -> bool:
    """True if the interval, or the range of repeats, contains the ratio of equally fast machines."""
    return times.low is not None and times.high is not None and times.low <= 1 <= times.high


def _restless(machine: Machine) -> Iterator[Finding]:
    """Number of scores whose values scatter so much that their ratios are unreliable."""
    wide = [score for score in machine.distinct if (score.repeats.spread or 0) > WIDE]
    if wide:
        yield RESTLESS.finding(
            label=machine.label, count=len(wide), of=len(machine.distinct), wide_share=WIDE
        )


def of_hypothesis(hypothesis: Hypothesis, first: str, second: str) -> Iterator[Finding]:
    """The hypothesis on what the workload's ratio follows; `first` and `second` are the machines' names."""
    work = hypothesis.workload
    yield (FOLLOWS_WORKLOAD_SURE if work.times.sure else FOLLOWS_WORKLOAD).finding(
        workload=work.name, first=first, second=second, value_times=work.times.value,
        low_times=work.times.low, high_times=work.times.high, count=work.repeats,
    )  # fmt: skip
    if not hypothesis.differs:
        yield FOLLOWS_SAME.finding(workload=work.name)
        return
    near = hypothesis.of("near")
    if not hypothesis.candidates:
        yield FOLLOWS_NO_CANDIDATE.finding()
        return
    if len(near) == 1:
        yield FOLLOWS_ONE.finding(workload=work.name, candidate=_near(near[0]))
    elif near:
        yield (FOLLOWS_SEVERAL if len(near) <= MOST_NAMED else FOLLOWS_SEVERAL_MANY).finding(
            workload=work.name,
            count=len(near),
            candidates=tuple(_near(candidate) for candidate in near[:MOST_NAMED]),
        )
    else:
        nearest = hypothesis.nearest
        assert nearest is not None  # there are candidates
        yield FOLLOWS_NONE.finding(workload=work.name, nearest=_short(nearest), apart_share=nearest.apart)
    for standing, (few, many) in FURTHER.items():
        others = hypothesis.of(standing)
        if others:
            candidates = tuple(
                _part(candidate) if standing == "part" else _short(candidate)
                for candidate in others[:MOST_NAMED]
            )
            more = len(others) - MOST_NAMED
            yield (many if more > 0 else few).finding(candidates=candidates, count=more)
    yield FOLLOWS_CAVEAT.finding()


def _near(candidate: Candidate) -> Message:
    return NEAR[candidate.overlap](
        name=candidate_name(candidate), value_times=candidate.times.value, apart_share=candidate.apart
    )


def _part(candidate: Candidate) -> Message:
    return CANDIDATE_PART(
        name=candidate_name(candidate), value_times=candidate.times.value, needed_share=candidate.share or 0.0
    )


def _short(candidate: Candidate) -> Message:
    return CANDIDATE(name=candidate_name(candidate), value_times=candidate.times.value)


def _of(row: Row, which: str) -> dict[str, object]:
    return {which: row_name(row), f"{which}_times": row.times.value}
