"""Judgement of faults against the arithmetic of a queue: a server with a constant service time, stopped."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from analysis.faults.made import completions, constant, fault, poisson, queue, stop, timeline
from loadcell.analysis.faults import around
from loadcell.analysis.faults.completions import Completions
from loadcell.analysis.faults.judge import judge
from loadcell.model import fault_metrics
from loadcell.model.fault_judgement import EFFECT_VALUES, Failed, FaultJudgement, Recovery
from loadcell.model.fault_record import FaultRecord, Instants
from loadcell.model.timeline import SlowRequest
from loadcell.plan.expect import Expectation

RATE_PER_S, SERVICE_S = 500.0, 0.001
AT_S, UNTIL_S = 10.0, 35.0


def judged(for_s: float, rate_per_s: float = RATE_PER_S) -> FaultJudgement:
    """The judgement of a stop for a time."""
    done = queue(constant(rate_per_s, UNTIL_S), SERVICE_S, stop(AT_S, for_s))
    (judgement,) = judge([fault(AT_S, for_s)], completions(done, UNTIL_S), 8)
    return judgement


@pytest.mark.parametrize("for_s", [1.0, 5.0])
def test_a_stopped_server_is_judged_as_arithmetic_has_it(for_s: float) -> None:
    """The backlog of `rate * for_s` drains at the difference of service rate and arrival rate."""
    judgement = judged(for_s)
    drained_s = for_s / (1 - RATE_PER_S * SERVICE_S)
    assert judgement.effect == "outage"
    assert judgement.pause_s == pytest.approx(for_s, abs=0.005)
    assert judgement.lost == pytest.approx(RATE_PER_S * for_s, abs=3)
    assert judgement.overshoot == pytest.approx(RATE_PER_S * for_s, abs=3)
    assert judgement.recovery is not None
    assert judgement.recovery.from_injection_s == pytest.approx(drained_s, abs=0.011)
    assert judgement.recovery.from_undo_s == pytest.approx(drained_s - for_s, abs=0.011)
    assert judgement.dip is not None
    assert judgement.dip.depth == pytest.approx(1.0, abs=0.01)
    assert judgement.first_effect_s is not None
    assert judgement.first_effect_s[0] <= 0.002
    assert judgement.first_effect_s[1] <= 0.01


def test_a_short_stop_is_a_dip() -> None:
    judgement = judged(0.2)
    assert judgement.effect == "dip"
    assert judgement.pause_s == pytest.approx(0.2, abs=0.005)
    assert judgement.dip is not None
    assert judgement.dip.depth == pytest.approx(0.2, abs=0.02)


def test_a_fault_without_effect() -> None:
    judgement = judged(0.0)
    assert judgement.effect == "none"
    assert judgement.recovery is not None
    assert judgement.recovery.from_injection_s == 0
    assert judgement.lost == 0
    assert judgement.first_effect_s is None


def test_random_arrivals_without_effect() -> None:
    """A dip by chance alone is none: at 200 per second the lowest of many seconds is 20% below the mean."""
    effects = []
    for seed in range(10):
        done = queue(poisson(200, 30, seed), SERVICE_S)
        (judgement,) = judge([fault(AT_S, 5.0)], completions(done, 30), 8)
        effects.append(judgement.effect)
    assert effects.count("none") >= 9


def test_a_load_that_ends_too_early_confirms_no_recovery() -> None:
    done = queue(constant(RATE_PER_S, 18), SERVICE_S, stop(AT_S, 1.0))
    (judgement,) = judge([fault(AT_S, 1.0)], completions(done, 18), 8)
    assert judgement.recovery is not None
    assert (judgement.recovery.from_injection_s, judgement.recovery.censored) == (None, "too-short")
    assert judgement.effect == "outage"
    assert fault_metrics.of_fault(judgement)["recovery"] is None


def test_an_outage_that_begins_late_and_stays() -> None:
    """A disk is filled at 20 s, the server ends at 32 s, and the load at 90 s."""
    done = queue(constant(RATE_PER_S, 32), SERVICE_S)
    (judgement,) = judge([fault(20, 5.0)], completions(done, 90), 8)
    assert judgement.effect == "outage"
    assert judgement.pause_s == pytest.approx(58, abs=0.01)
    assert judgement.recovery == Recovery(
        censored="not-recovered",
        at_least_s=pytest.approx(60),
        at_least_from_undo_s=pytest.approx(55, abs=0.1),
    )
    least = fault_metrics.least_recoveries_ms([judgement])
    values = fault_metrics.of_fault(judgement)
    for text, verdict in (
        ("recovery < 30s", "missed"),
        ("recovery < 1h", "unknown"),
        ("recovery > 30s", "met"),
        ("recovery_from_undo < 30s", "missed"),
        ("recovery_from_undo < 1h", "unknown"),
    ):
        assert Expectation.parse(text).judge(values, least).verdict == verdict
    assert judgement.lost == pytest.approx(58 * RATE_PER_S, rel=0.01)
    ends_s = around.ends_s(fault(20, 5.0), judgement)
    assert ends_s is not None
    assert ends_s[1] == 90


def test_an_outage_that_begins_late_and_ends() -> None:
    """The backlog of 5 s drains in 5 s more."""
    done = queue(constant(RATE_PER_S, 90), SERVICE_S, stop(32, 5.0))
    (judgement,) = judge([fault(20, 5.0)], completions(done, 90), 8)
    assert judgement.effect == "outage"
    assert judgement.recovery is not None
    assert judgement.recovery.from_injection_s == pytest.approx(22, abs=0.02)
    assert judgement.lost == pytest.approx(5 * RATE_PER_S, abs=30)
    (short,) = judge([fault(20, 5.0)], completions(done, 45), 8)
    assert short.recovery == Recovery(censored="too-short")


@pytest.mark.parametrize("for_s", [0.3, 20.0])
def test_a_dip_that_begins_late(for_s: float) -> None:
    """A short stop, and a loss of one success in two for a long time."""
    begin_s, end_s = 32.0, 32.0 + for_s
    done = [
        (at_s, 0.001)
        for number, at_s in enumerate(constant(RATE_PER_S, 90))
        if not (begin_s <= at_s < end_s and (for_s < 1 or number % 2))
    ]
    (judgement,) = judge([fault(20, 5.0)], completions(done, 90), 8)
    assert judgement.effect == "dip"
    assert judgement.recovery is not None
    assert judgement.recovery.from_injection_s == pytest.approx(12 + for_s, abs=0.15)  # 5% less is no loss
    assert judgement.lost == pytest.approx(for_s * RATE_PER_S * (1 if for_s < 1 else 0.5), rel=0.06)


def test_a_load_that_stops_twice_recovers_after_the_second_stop() -> None:
    """The first stop is the longest pause."""
    done = queue(constant(RATE_PER_S, 90), SERVICE_S, lambda at_s: stop(45, 2.0)(stop(20, 5.0)(at_s)))
    (judgement,) = judge([fault(20, 5.0)], completions(done, 90), 8)
    assert judgement.pause_s == pytest.approx(5, abs=0.01)
    assert judgement.recovery is not None
    assert judgement.recovery.from_injection_s == pytest.approx(29, abs=0.02)


def test_a_short_disturbance_long_after_an_outage_does_not_delay_the_recovery() -> None:
    """The second stop of 0.2 s is no outage, and its backlog drains."""
    done = queue(constant(RATE_PER_S, 90), SERVICE_S, lambda at_s: stop(60, 0.2)(stop(20, 5.0)(at_s)))
    (judgement,) = judge([fault(20, 5.0)], completions(done, 90), 8)
    assert judgement.recovery is not None
    assert judgement.recovery.from_injection_s == pytest.approx(10, abs=0.02)


def test_a_load_that_stays_slower_does_not_recover() -> None:
    """From the fault on the server is as slow as the load: response times stay high."""
    done = [pair for pair in queue(constant(RATE_PER_S, UNTIL_S), SERVICE_S) if pair[0] < AT_S]
    done += [(at_s, 0.05) for at_s in constant(RATE_PER_S, UNTIL_S) if at_s >= AT_S]
    (judgement,) = judge([fault(AT_S, 1.0)], completions(done, UNTIL_S), 8)
    assert judgement.recovery is not None
    assert judgement.recovery.censored == "not-recovered"
    assert judgement.effect == "slow"
    assert judgement.slow is not None
    assert judgement.slow.share == 1
    assert judgement.slow.p99_ms == pytest.approx(50, rel=0.02)
    assert judgement.first_effect_s is not None


def test_a_slow_dip_is_lost_operations() -> None:
    """For 8 s one success in five is missing: 100 per second."""
    done = [
        (at_s, 0.001)
        for number, at_s in enumerate(constant(RATE_PER_S, UNTIL_S))
        if not (AT_S <= at_s < AT_S + 8 and number % 5 == 0)
    ]
    (judgement,) = judge([fault(AT_S, 8.0)], completions(done, UNTIL_S), 8)
    assert judgement.effect == "dip"
    assert judgement.dip is not None
    assert judgement.dip.depth == pytest.approx(0.2, abs=0.01)
    assert judgement.lost == pytest.approx(800, rel=0.03)
    assert judgement.recovery is not None
    assert judgement.recovery.from_injection_s == pytest.approx(8.0, abs=0.26)  # 5% less is no loss


def failing(share: float, usual: float = 0.0, until_s: float = UNTIL_S, seed: int = 1) -> FaultJudgement:
    """The judgement of a fault of 8 s during which a share of additional operations fails, beside those that
    always do.
    """
    random = np.random.default_rng(seed)
    arrivals = constant(RATE_PER_S, until_s)
    chances = [share if AT_S <= at_s < AT_S + 8 else usual for at_s in arrivals]
    failures = [
        (at_s, "503") for at_s, chance in zip(arrivals, chances, strict=True) if random.random() < chance
    ]
    measured = Completions.of([timeline(queue(arrivals, SERVICE_S), failures)], until_s)
    (judgement,) = judge([fault(AT_S, 8.0)], measured, 8)
    return judgement


def test_failures_without_a_dip_are_an_effect() -> None:
    """As many operations succeed as before: the load retries at once what fails."""
    judgement = failing(0.1)
    assert judgement.effect == "errors"
    assert judgement.failed is not None
    assert judgement.failed.share == pytest.approx(0.1 / 1.1, abs=0.01)
    assert 0 < judgement.failed.at_least < judgement.failed.share


def test_failures_as_before_the_fault_are_no_effect() -> None:
    effects = [failing(0.02, usual=0.02, seed=seed).effect for seed in range(20)]
    assert effects.count("none") >= 17
    assert failing(0.06, usual=0.02).effect == "errors"


def test_failures_after_the_undo_are_none_of_the_fault_held() -> None:
    failures = [(AT_S + 12 + number / 10, "503") for number in range(50)]
    done = queue(constant(RATE_PER_S, UNTIL_S), SERVICE_S)
    (judgement,) = judge([fault(AT_S, 8.0)], Completions.of([timeline(done, failures)], UNTIL_S), 8)
    assert judgement.effect == "none"
    assert judgement.failed == Failed(0.0, 0.0)


def test_one_failure_after_a_baseline_without_any_is_within_the_bound() -> None:
    """The bound after 5,000 operations without a failure is 3 in 5,000."""
    done = queue(constant(RATE_PER_S, UNTIL_S), SERVICE_S)
    for count, effect in ((1, "none"), (8, "errors")):
        measured = Completions.of([timeline(done, [(AT_S + 1, "reset")] * count)], UNTIL_S)
        assert judge([fault(AT_S, 8.0)], measured, 8)[0].effect == effect


def test_errors_and_hung_clients() -> None:
    done = queue(constant(RATE_PER_S, UNTIL_S), SERVICE_S, stop(AT_S, 3.0))
    failures = [(AT_S + 0.5, "timeout"), (AT_S + 0.6, "timeout"), (AT_S + 0.7, "refused"), (5.0, "early")]
    second = 10**9
    slow = [
        SlowRequest(client, 10 * second, 10 * second, end * second, "ok")
        for client, end in ((1, 13), (1, 12), (2, 12), (3, 11))
    ]
    measured = Completions.of([timeline(done, failures, slow)], UNTIL_S)
    (judgement,) = judge([fault(AT_S, 3.0)], measured, 8)
    assert judgement.errors == {"timeout": 2, "refused": 1}
    assert judgement.hung is not None
    assert (judgement.hung.number, judgement.hung.share, judgement.hung.longest_s) == (2, 0.25, 3.0)


def test_each_of_several_faults_is_judged_until_the_next() -> None:
    def stopped(at_s: float) -> float:
        return stop(25.0, 2.0)(stop(AT_S, 0.5)(at_s))

    done = queue(constant(RATE_PER_S, 45), SERVICE_S, stopped)
    first, second = judge([fault(AT_S, 0.5), fault(25.0, 2.0)], completions(done, 45), 8)
    assert (first.effect, second.effect) == ("dip", "outage")
    assert first.until_s == 25.0
    assert first.recovery is not None
    assert second.baseline is not None
    assert second.baseline.begin_s == pytest.approx(first.recovery.at_s, abs=0.02)
    values = fault_metrics.of_trial([first, second])
    assert values["effect"] == EFFECT_VALUES["outage"]
    assert values["pause"] == pytest.approx(2000, abs=5)
    assert values["lost_operations"] == pytest.approx(0.5 * RATE_PER_S + 2 * RATE_PER_S, abs=5)


def test_an_outage_belongs_to_the_fault_in_which_it_began() -> None:
    """Another fault without effect begins and ends within it."""
    done = queue(constant(RATE_PER_S, 60), SERVICE_S, stop(AT_S, 3.0))
    hang, other = judge([fault(AT_S, 3.0), fault(AT_S + 1, 1.0)], completions(done, 60), 8)
    assert (hang.effect, other.effect) == ("outage", "none")
    assert hang.pause_s == pytest.approx(3, abs=0.01)
    assert other.pause_s == pytest.approx(0, abs=0.01)
    assert hang.overshoot == pytest.approx(3 * RATE_PER_S, abs=3)
    assert other.lost == 0
    assert hang.recovery is not None
    assert hang.recovery.from_injection_s == pytest.approx(6, abs=0.02)
    assert hang.until_s == pytest.approx(AT_S + 6, abs=0.02)
    assert fault_metrics.of_trial([hang, other])["lost_operations"] == pytest.approx(3 * RATE_PER_S, abs=3)


def test_an_outage_that_a_later_fault_ends_is_counted_once() -> None:
    """A primary is killed, and its standby promoted 3 s later: no success for 3.5 s, 1,750 operations."""
    done = queue(constant(RATE_PER_S, 60), SERVICE_S, stop(AT_S, 3.5))
    kill, promote = fault(AT_S, 50.0), replace(fault(AT_S + 3, 0.0), undone=None)
    killed, promoted = judge([kill, promote], completions(done, 60), 8)
    assert (killed.effect, promoted.effect) == ("outage", "none")
    assert killed.pause_s == pytest.approx(3.5, abs=0.01)
    assert killed.recovery is not None
    assert promoted.recovery is not None
    assert killed.recovery.from_injection_s == pytest.approx(7, abs=0.02)
    assert promoted.recovery.from_injection_s == pytest.approx(4, abs=0.03)
    total = fault_metrics.of_trial([killed, promoted])
    assert total["lost_operations"] == pytest.approx(3.5 * RATE_PER_S, abs=5)
    assert total["pause"] == pytest.approx(3500, abs=10)


def test_an_outage_through_three_faults_belongs_to_the_first() -> None:
    """A synchronous standby is stopped for 3 s, the primary killed meanwhile, and the standby promoted."""
    done = queue(constant(RATE_PER_S, 60), SERVICE_S, stop(AT_S, 6.5))
    faults = [fault(AT_S, 3.0), fault(AT_S + 2, 48.0), replace(fault(AT_S + 6, 0.0), undone=None)]
    stopped, killed, promoted = judge(faults, completions(done, 60), 8)
    assert (stopped.effect, killed.unjudged, promoted.effect) == ("outage", "in-outage", "none")
    for judgement, from_s in ((stopped, 13), (promoted, 7)):
        assert judgement.recovery is not None
        assert judgement.recovery.from_injection_s == pytest.approx(from_s, abs=0.03)
    assert fault_metrics.of_trial([stopped, killed, promoted])["lost_operations"] == pytest.approx(
        6.5 * RATE_PER_S, abs=5
    )


@pytest.mark.parametrize("end_s", [13.0041, 13.0099])
def test_a_closed_loop_recovers_at_once(end_s: float) -> None:
    """Without a backlog, and in the middle of a slot; the longest gap of the other fault comes later."""
    done = [
        (at_s, 0.002)
        for at_s in constant(RATE_PER_S, 60)
        if not AT_S <= at_s < end_s and not 30 <= at_s < 30.4
    ]
    hang, other = judge([fault(AT_S, 3.0), fault(AT_S + 1, 1.0)], completions(done, 60), 8)
    assert (hang.effect, other.effect) == ("outage", "dip")
    assert hang.recovery is not None
    assert hang.recovery.from_injection_s == pytest.approx(end_s - AT_S, abs=0.01)
    assert other.lost == pytest.approx(0.4 * RATE_PER_S, abs=3)


def test_a_stray_failure_does_not_delay_a_recovery() -> None:
    """Operations fail for 2 s of a fault that lasts to the end, and one fails much later."""
    failures = [(20 + number / 50, "timeout") for number in range(100)] + [(115.0, "timeout")]
    done = queue(constant(RATE_PER_S, 120), SERVICE_S)
    (judgement,) = judge([fault(20, 100.0)], Completions.of([timeline(done, failures)], 120), 8)
    assert judgement.effect == "errors"
    assert judgement.recovery is not None
    assert judgement.recovery.from_injection_s == pytest.approx(2, abs=0.1)


def test_a_fault_within_a_gap_of_a_slow_load_has_its_own_outage() -> None:
    """A delay lets eight requests in each 200 ms through; the server is killed between two of them."""
    done = [(at_s, 0.001) for at_s in constant(RATE_PER_S, 70) if at_s < AT_S or at_s >= 60]
    done += [
        (AT_S + burst * 0.2, 0.2)
        for burst in range(1, 250)
        if not 30 <= AT_S + burst * 0.2 < 45
        for _ in range(8)
    ]
    delay, kill = judge([fault(AT_S, 50.0), fault(29.9, 15.0)], completions(sorted(done), 70), 8)
    assert (delay.effect, kill.effect) == ("dip", "outage")
    assert kill.pause_s == pytest.approx(15.2, abs=0.21)


def test_losses_of_three_overlapping_faults_are_counted_once() -> None:
    """One lasts; the second begins within its outage, the third causes another outage later."""
    done = queue(constant(RATE_PER_S, 140), SERVICE_S, lambda at_s: stop(50, 4.0)(stop(20, 6.0)(at_s)))
    faults = [fault(20, 80.0), fault(22, 1.0), fault(50, 4.0)]
    lasting, within, third = judge(faults, completions(done, 140), 8)
    assert (lasting.effect, within.effect, third.effect) == ("outage", "none", "outage")
    assert fault_metrics.of_trial([lasting, within, third])["lost_operations"] == pytest.approx(
        10 * RATE_PER_S, abs=10
    )


def test_a_fault_just_after_an_outage_does_not_inherit_it() -> None:
    """The load succeeds again for half a second; its backlog is not drained."""
    done = queue(constant(RATE_PER_S, 60), SERVICE_S, stop(AT_S, 3.0))
    hang, other = judge([fault(AT_S, 3.0), fault(AT_S + 3.5, 1.0)], completions(done, 60), 8)
    assert hang.effect == "outage"
    assert other.effect == "none"


def test_a_load_that_stays_slow_under_a_lasting_fault_has_not_recovered() -> None:
    """The fault is undone with the end of the load."""
    done = [pair for pair in queue(constant(RATE_PER_S, 60), SERVICE_S) if pair[0] < AT_S]
    done += [(at_s, 0.05) for at_s in constant(RATE_PER_S, 60) if at_s >= AT_S + 2]
    (judgement,) = judge([fault(AT_S, 50.01)], completions(done, 60), 8)
    assert judgement.effect == "outage"
    assert judgement.recovery is not None
    assert judgement.recovery.censored == "not-recovered"


def test_a_fault_in_an_outage_without_end_is_not_judged() -> None:
    done = queue(constant(RATE_PER_S, AT_S), SERVICE_S)
    killed, later = judge([fault(AT_S, 1.0), fault(AT_S + 5, 1.0)], completions(done, 40), 8)
    assert killed.effect == "outage"
    assert killed.pause_s == pytest.approx(30, abs=0.01)
    assert (later.effect, later.unjudged) == (None, "in-outage")
    values = fault_metrics.of_trial([killed, later])
    assert values["pause"] == pytest.approx(30_000, abs=10)
    assert values["lost_operations"] == pytest.approx(30 * RATE_PER_S, abs=5)


def test_a_lasting_fault_is_not_blamed_for_a_later_outage() -> None:
    done = queue(constant(RATE_PER_S, 60), SERVICE_S, stop(25, 2.0))
    lasting, hang = judge([fault(AT_S, 40.0), fault(25, 2.0)], completions(done, 60), 8)
    assert (lasting.effect, hang.effect) == ("none", "outage")
    assert lasting.lost == 0


def test_the_load_has_not_recovered_while_operations_fail() -> None:
    """Half of them fail for 8 s, and one second of the baseline was as bad."""
    arrivals = constant(40, 40)
    failing = [(at_s, "503") for number, at_s in enumerate(arrivals) if 10 <= at_s < 18 and number % 2]
    lost = {at_s for at_s, _ in failing} | {
        at_s for number, at_s in enumerate(arrivals) if 5 <= at_s < 6 and number % 2
    }
    done = [(at_s, 0.001) for at_s in arrivals if at_s not in lost]
    (judgement,) = judge([fault(AT_S, 8.0)], Completions.of([timeline(done, failing)], 40), 8)
    assert judgement.recovery is not None
    assert judgement.recovery.from_injection_s == pytest.approx(8, abs=0.1)


@pytest.mark.parametrize("rate_per_s", [20, 40, 500])
def test_slow_requests_by_chance_are_no_effect(rate_per_s: float) -> None:
    """The p99 of a short baseline is uncertain itself."""
    effects = []
    for seed in range(20):
        arrivals = poisson(rate_per_s, 45, seed)
        response_s = 0.002 * np.random.default_rng(seed).lognormal(0, 1, len(arrivals))
        done = list(zip(arrivals, response_s.tolist(), strict=True))
        (judgement,) = judge([fault(4, 5.0)], completions(done, 45), 8)
        effects.append(judgement.effect)
    assert effects.count("slow") <= 1


def test_a_delay_of_a_few_requests_in_ten_is_slow() -> None:
    """For 3 s every third request takes 20 ms more."""
    done = [
        (at_s + 0.02, 0.021) if AT_S <= at_s < AT_S + 3 and number % 3 == 0 else (at_s, 0.001)
        for number, at_s in enumerate(constant(RATE_PER_S, UNTIL_S))
    ]
    (judgement,) = judge([fault(AT_S, 3.0)], completions(sorted(done), UNTIL_S), 8)
    assert judgement.effect == "slow"
    assert judgement.slow is not None
    assert judgement.slow.share == pytest.approx(1 / 3, abs=0.02)


def test_chance_does_not_delay_a_recovery() -> None:
    """At 40 per second p99 of 10 s is the noise of four requests; without a margin seven are above 1 s."""
    recovered_s = []
    for seed in range(40):
        response_s = 0.002 * np.random.default_rng(seed).lognormal(0, 1, 2400)
        done = list(zip(constant(40, 60), response_s.tolist(), strict=True))
        (judgement,) = judge([fault(20, 1.0)], completions(done, 60), 8)
        assert judgement.recovery is not None
        recovered_s.append(judgement.recovery.from_injection_s)
    assert sum(value is None or value > 1 for value in recovered_s) <= 2


def test_faults_with_one_due_time_are_judged_together() -> None:
    """Two of three copies stop one after the other, and with the second the service."""
    done = queue(constant(RATE_PER_S, 45), SERVICE_S, stop(AT_S + 0.4, 5.0))
    first, last = fault(AT_S, 5.0), fault(40.0, 1.0)
    second = replace(first, applied=Instants(AT_S, AT_S + 0.3, AT_S + 0.4))
    *both, later = judge([first, second, last], completions(done, 45), 8)
    for judgement in both:
        assert judgement.effect == "outage"
        assert judgement.until_s == 40.0
        assert judgement.pause_s == pytest.approx(5, abs=0.01)
        assert judgement.recovery is not None
        assert judgement.recovery.at_s == pytest.approx(AT_S + 10.4, abs=0.02)
    assert both[0].baseline == both[1].baseline
    assert later.baseline is not None
    assert later.baseline.begin_s == pytest.approx(AT_S + 10.4, abs=0.02)
    lost = fault_metrics.of_trial([*both, later])["lost_operations"]
    assert lost == pytest.approx(5 * RATE_PER_S, abs=5), "counted once"


def test_a_fault_soon_followed_by_another_is_not_without_effect() -> None:
    done = queue(constant(RATE_PER_S, UNTIL_S), SERVICE_S)
    first, second = judge([fault(AT_S, 1.0), fault(AT_S + 0.5, 1.0)], completions(done, UNTIL_S), 8)
    assert (first.effect, second.effect) == (None, "none")


def test_what_cannot_be_judged_is_unknown() -> None:
    done = queue(constant(RATE_PER_S, UNTIL_S), SERVICE_S, stop(0.5, 2.0))
    waiting = FaultRecord("kill", "server", "waiting")
    early, never = judge([fault(0.5, 2.0), waiting], completions(done, UNTIL_S), 8)
    assert (early.unjudged, early.effect, early.recovery) == ("no-baseline", None, None)
    assert early.pause_s == pytest.approx(2.0, abs=0.005)
    assert never.unjudged == "not-applied"
    (blind,) = judge([fault(AT_S)], None, 8)
    assert blind.unjudged == "no-timeline"
    values = fault_metrics.of_trial([early, never])
    assert set(values.values()) == {None}


def test_a_fault_that_is_never_undone_has_no_recovery_from_undo() -> None:
    done = queue(constant(RATE_PER_S, UNTIL_S), SERVICE_S, stop(AT_S, 1.0))
    restart, hang = fault(AT_S), fault(AT_S, 1.0)
    (of_restart,) = judge([restart], completions(done, UNTIL_S), 8)
    (of_hang,) = judge([hang], completions(done, UNTIL_S), 8)
    assert of_restart.recovery is not None
    assert of_restart.recovery.from_undo_s is None
    undone = fault_metrics.of_trial([of_restart, of_hang])["recovery_from_undo"]
    assert undone is not None
    assert math.isclose(undone, 1000, abs_tol=11)


def test_a_fault_that_takes_long_to_apply() -> None:
    """The first effect lies between the shortest and the longest time that it can have taken."""
    done = queue(constant(RATE_PER_S, UNTIL_S), SERVICE_S, stop(AT_S + 0.3, 1.0))
    slow = replace(fault(AT_S, 1.3), applied=Instants(AT_S, AT_S, AT_S + 0.25))
    (judgement,) = judge([slow], completions(done, UNTIL_S), 8)
    assert judgement.first_effect_s is not None
    earliest_s, latest_s = judgement.first_effect_s
    assert 0.04 < earliest_s < 0.05
    assert 0.3 < latest_s < 0.31
