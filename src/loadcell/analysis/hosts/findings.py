"""Findings on two machines and the workloads that ran on both."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from loadcell.analysis.finding import Finding
from loadcell.analysis.hosts.compare import Machine, Machines, Row, Times
from loadcell.analysis.hosts.hypothesis import Candidate, Hypothesis, Standing, Workload
from loadcell.analysis.hosts.names import candidate_name, listed, row_name, score_name
from loadcell.model.message import Argument, Message, Severity
from loadcell.stats.repeats import FEWEST_FOR_INTERVAL

#: Repeats that lie further apart than this are worth a word: the machine was not at rest, or is shared.
WIDE = 0.1
#: As many of a kind are named in a sentence; the table has all.
MOST_NAMED = 4
#: What the sentences on candidates that did not make it are about, in their order.
FURTHER: tuple[Standing, ...] = ("part", "less", "alike", "against")


def of_machines(machines: Machines) -> Iterator[Finding]:
    """Differences of the two machines, and how far the values carry."""
    first, second = machines.machines
    differing = machines.differing
    names = tuple(Message(f"hosts.fact.{fact.key}") for fact in differing if "." not in fact.key)
    if not names:
        yield _finding("info", "hosts.found.alike")
    elif len(names) <= MOST_NAMED:
        yield _finding("info", "hosts.found.differ", count=len(names), names=names)
    else:
        yield _finding("info", "hosts.found.differ.many", count=len(names), names=names[:MOST_NAMED])
    if not machines.rows:
        yield _finding("info", "hosts.found.no-scores")
        return
    clear = [row for row in machines.rows if not _may_be_alike(row.times)]
    ranked = sorted(clear, key=lambda row: row.times.value)
    labels: dict[str, Argument] = {"first": first.label, "second": second.label}
    if not ranked:
        yield _finding("info", "hosts.found.none-apart", labels)
    elif len(ranked) == 1:
        yield _finding("info", "hosts.found.one", {**labels, **_of(ranked[0], "best")})
    else:
        yield _finding("info", "hosts.found.range", {**labels, **_of(ranked[-1], "best"), **_of(ranked[0], "worst")})  # fmt: skip
    few = [row for row in machines.rows if not row.times.sure]
    if few:
        least = min(row.effect.n for row in few)
        yield _finding("caution", "hosts.found.few", count=least, least=FEWEST_FOR_INTERVAL)
    for machine in machines.machines:
        yield from _restless(machine)
    for index, machine in enumerate(machines.machines):
        alone = [score_name(score) for at, score in machines.alone if at == index]
        if alone:
            yield _finding("caution", "hosts.found.alone", label=machine.label, count=len(alone), names=listed(alone[:MOST_NAMED]))  # fmt: skip


def _may_be_alike(times: Times) -> bool:
    """True if the interval, or the range of repeats, contains the ratio of equally fast machines."""
    return times.low is not None and times.high is not None and times.low <= 1 <= times.high


def _restless(machine: Machine) -> Iterator[Finding]:
    """Number of scores whose values scatter so much that their ratios are unreliable."""
    wide = [score for score in machine.distinct if (score.repeats.spread or 0) > WIDE]
    if wide:
        params: dict[str, Argument] = {
            "label": machine.label,
            "count": len(wide),
            "of": len(machine.distinct),
        }
        yield _finding("caution", "hosts.found.restless", {**params, "wide_share": WIDE})


def of_hypothesis(hypothesis: Hypothesis, first: str, second: str) -> Iterator[Finding]:
    """The hypothesis on what the workload's ratio follows; `first` and `second` are the machines' names."""
    yield _finding("info", *_workload(hypothesis.workload, first, second))
    if not hypothesis.differs:
        yield _finding("info", "hosts.follows.same", workload=hypothesis.workload.name)
        return
    near = hypothesis.of("near")
    if not hypothesis.candidates:
        yield _finding("caution", "hosts.follows.nothing-known")
        return
    if len(near) == 1:
        yield _finding(
            "good", "hosts.follows.one", workload=hypothesis.workload.name, candidate=_near(near[0])
        )
    elif near:
        listed = tuple(_near(candidate) for candidate in near[:MOST_NAMED])
        key = "hosts.follows.several" if len(near) <= MOST_NAMED else "hosts.follows.several.many"
        yield _finding("good", key, workload=hypothesis.workload.name, count=len(near), candidates=listed)
    else:
        nearest = hypothesis.nearest
        assert nearest is not None  # there are candidates
        yield _finding(
            "caution", "hosts.follows.none", workload=hypothesis.workload.name, nearest=_short(nearest),
            apart_share=nearest.apart,
        )  # fmt: skip
    for standing in FURTHER:
        others = hypothesis.of(standing)
        if others:
            listed = tuple(
                _part(candidate) if standing == "part" else _short(candidate)
                for candidate in others[:MOST_NAMED]
            )
            more = len(others) - MOST_NAMED
            key = f"hosts.follows.{standing}"
            if more > 0:
                yield _finding("info", f"{key}.many", candidates=listed, count=more)
            else:
                yield _finding("info", key, candidates=listed)
    yield _finding("caution", "hosts.follows.caveat")


def _workload(work: Workload, first: str, second: str) -> tuple[str, dict[str, Argument]]:
    params: dict[str, Argument] = {
        "workload": work.name, "first": first, "second": second, "value_times": work.times.value,
    }  # fmt: skip
    if work.times.sure:
        return "hosts.follows.workload.sure", {**params, **_ends(work.times)}
    return "hosts.follows.workload", {**params, "count": work.repeats}


def _ends(times: Times) -> dict[str, Argument]:
    assert times.low is not None
    assert times.high is not None
    return {"low_times": times.low, "high_times": times.high}


def _near(candidate: Candidate) -> Message:
    ending = {None: "", True: ".overlap", False: ".apart"}[candidate.overlap]
    params = {
        "name": candidate_name(candidate),
        "value_times": candidate.times.value,
        "apart_share": candidate.apart,
    }
    return Message(f"hosts.candidate.near{ending}", params)


def _part(candidate: Candidate) -> Message:
    params = {
        "name": candidate_name(candidate),
        "value_times": candidate.times.value,
        "needed_share": candidate.share or 0.0,
    }
    return Message("hosts.candidate.part", params)


def _short(candidate: Candidate) -> Message:
    return Message(
        "hosts.candidate", {"name": candidate_name(candidate), "value_times": candidate.times.value}
    )


def _of(row: Row, which: str) -> dict[str, Argument]:
    return {which: row_name(row), f"{which}_times": row.times.value}


def _finding(
    severity: Severity, key: str, arguments: Mapping[str, Argument] | None = None, **params: Argument
) -> Finding:
    return Finding("hosts", Message(key, {**(arguments or {}), **params}).rated(severity))
