"""Which baseline a workload's ratio follows: known answers, and what engineers concluded from values they
published.
"""

from __future__ import annotations

from typing import Any

import pytest

import machines
from analysis.hosts.test_machines import held, machine
from loadcell.analysis.hosts.compare import Machine, Times, compare
from loadcell.analysis.hosts.findings import of_hypothesis
from loadcell.analysis.hosts.hypothesis import Hypothesis, Workload, hypothesis, workload
from loadcell.report.texts import Texts
from loadcell.stats.two_samples import Effect


def of(first: dict[str, Any], second: dict[str, Any], times: float) -> Hypothesis:
    return hypothesis(compare(machine(first), machine(second)), Workload("the query", Times(times), 1))


def standings(guess: Hypothesis) -> dict[str, str]:
    return {
        candidate.score.id.partition("/")[0] if candidate.score else candidate.resource: candidate.standing
        for candidate in guess.candidates
    }


def sentences_of(guess: Hypothesis, lang: str = "en") -> str:
    texts = Texts(lang)
    return "\n".join(texts.message(finding.message) for finding in of_hypothesis(guess, "kunpeng", "m2"))


def test_a_laptop_more_than_twice_as_fast_as_a_server_comes_down_to_memory() -> None:
    """The query took more than twice as long on the server.

    Its clock is 38% lower, its disk flushes 42% less often: too
    little. Memory moves 2.2 to 6.8 times as much."""
    scores = of(machines.KUNPENG, machines.M2, 2.1)
    assert standings(scores) == {
        "memory-speed": "near",
        "memory-mcblock-1": "part",
        "memory-dumb-1": "part",
        "memory-memcpy-1": "part",
        "disk-sync": "less",
        "clock": "less",
        "cores": "against",
    }
    times = {
        candidate.score.id if candidate.score else candidate.resource: candidate.times.value
        for candidate in scores.candidates
    }
    assert times["clock"] == pytest.approx(1.38, abs=0.01)
    assert times["disk-sync/iops"] == pytest.approx(1.42, abs=0.01)
    assert times["memory-memcpy-1/mib_per_s"] == pytest.approx(6.81, abs=0.01)
    assert times["memory-mcblock-1/mib_per_s"] == pytest.approx(2.65, abs=0.01)
    text = sentences_of(scores)
    assert "Hypothesis: the query follows memory speed (MT/s) (×2.18" in text
    assert (
        "Too small to explain it alone: Sequential reads and writes, flushed (×1.42), CPU clock (×1.38)"
        in text
    )
    assert "this is a hypothesis, not a cause" in text


def test_one_numa_node_instead_of_four_brought_what_memory_bandwidth_brought() -> None:
    """The query then took two thirds of the time; clock and disk were the same."""
    scores = of(machines.KUNPENG, machines.PINNED, 1.5)
    assert standings(scores) == {
        "memory-mcblock-1": "part",
        "memory-memcpy-1": "less",
        "memory-dumb-1": "less",
        "memory-speed": "alike",
        "clock": "alike",
        "cores": "alike",
        "cpu-1": "alike",
        "disk-sync": "alike",
    }
    (block,) = scores.of("part")
    assert block.share == pytest.approx((1 - 1 / 1.5) / (1 - 12099.614 / 21185.915))
    text = sentences_of(scores)
    assert (
        "No single benchmark follows the query: the nearest is MCBLOCK 256 MiB, 1 thread (×1.75), 17% away"
        in text
    )
    assert (
        "Possible partial explanation: MCBLOCK 256 MiB, 1 thread (×1.75, if it takes 78% of the time)" in text
    )
    assert "Equal on both machines" in text


def test_a_workload_that_only_computes_follows_the_processor() -> None:
    verdicts = held({"cpu-1/events_per_s": ([100.0], [150.0]), "disk-randread/iops": ([100.0], [400.0])})
    guess = hypothesis(verdicts, Workload("primes", Times(1.52), 1))
    assert standings(guess) == {"cpu-1": "near", "disk-randread": "part"}
    assert "Hypothesis: primes follows Primes, 1 thread (×1.50" in sentences_of(guess)


def test_all_indistinguishable_causes_are_named() -> None:
    verdicts = held(
        {"cpu-1/events_per_s": ([100.0], [150.0]), "network-rr/transactions_per_s": ([100.0], [155.0])}
    )
    guess = hypothesis(verdicts, Workload("a service", Times(1.52), 1))
    assert standings(guess) == {"cpu-1": "near", "network-rr": "near"}
    assert "follows one of 2 differences, which these values cannot distinguish" in sentences_of(guess)


def test_intervals_that_overlap_are_support_and_those_that_do_not_are_reported() -> None:
    wide = ([100.0, 110, 120, 130, 140, 150], [150.0, 190, 200, 210, 220, 300])
    narrow = ([100.0, 101, 102, 103, 104, 105], [150.0, 151, 152, 153, 154, 155])
    verdicts = held({"memory-memcpy-1/mib_per_s": wide, "cpu-1/events_per_s": narrow})
    work = workload("w", Effect(1.4, 1.38, 1.42, 0.001, 6, paired=False), higher_is_better=True)
    guess = hypothesis(verdicts, work)
    overlap = {candidate.resource: (candidate.standing, candidate.overlap) for candidate in guess.candidates}
    assert overlap == {"memory-bandwidth": ("near", True), "cpu-one": ("near", False)}
    text = sentences_of(guess)
    assert "intervals overlap" in text
    assert "intervals do not overlap" in text


def test_a_workload_that_is_the_slower_one_is_held_the_same_way() -> None:
    verdicts = held({"cpu-1/events_per_s": ([150.0], [100.0]), "disk-randread/iops": ([400.0], [100.0])})
    guess = hypothesis(verdicts, Workload("primes", Times(1 / 1.52), 1))
    assert standings(guess) == {"cpu-1": "near", "disk-randread": "part"}
    (part,) = guess.of("part")
    assert part.share == pytest.approx((1 - 1 / 1.52) / (1 - 1 / 4))


def test_response_times_count_the_other_way_round() -> None:
    work = workload("w", Effect(0.5, 0.4, 0.6, 0.001, 8, paired=False), higher_is_better=False)
    assert work.times.value == pytest.approx(2)
    assert (work.times.low, work.times.high) == (pytest.approx(1 / 0.6), pytest.approx(2.5))


def test_a_workload_that_is_as_fast_on_both_needs_no_explanation() -> None:
    scores = of(machines.KUNPENG, machines.M2, 1.005)
    assert not scores.differs
    assert "there is no difference to explain" in sentences_of(scores)
    assert "Hypothesis" not in sentences_of(scores)


def test_machines_of_which_nothing_is_known_explain_nothing() -> None:
    empty = compare(Machine("a", {}), Machine("b", {}))
    guess = hypothesis(empty, Workload("w", Times(2.0), 1))
    assert guess.nearest is None
    assert "no benchmark, clock rate or memory speed in common" in sentences_of(guess)


def test_only_what_is_larger_than_caches_speaks_for_memory() -> None:
    names = ("memory-copy-1", "memory-copy-2", "latency-a", "latency-b", "latency-c")
    sizes = dict(zip(names, (8, 256 * machines.MIB, 4096, 2**20, 2**28), strict=True))
    sides = [
        [
            machines.score(name, "mib_per_s" if "memory" in name else "access_ns", [value],
            size_bytes=sizes[name])
            for name in names
        ]
        for value in (1.0, 2.0)
    ]  # fmt: skip
    guess = hypothesis(
        compare(machine({"host": {"hostname": "a"}, "scores": sides[0]}), machine({"host": {"hostname": "b"},
        "scores": sides[1]})),
        Workload("w", Times(2.0), 1),
    )  # fmt: skip
    assert {candidate.score.id.partition("/")[0] for candidate in guess.candidates if candidate.score} == {
        "memory-copy-2", "latency-a", "latency-c",
    }  # fmt: skip


def test_it_speaks_chinese() -> None:
    text = sentences_of(of(machines.KUNPENG, machines.M2, 2.1), "zh")
    assert "假设" in text
    assert "只是假设，不是结论" in text
