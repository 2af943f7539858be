"""Where a line of rising load saturates: peak, knee, power, enough; and what bad input makes of them."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from analysis.reported import storages
from analysis.runs import analysis_of, findings_by_code, run_of
from loadcell.analysis import saturation
from loadcell.analysis.analyse import Analysis, analyse
from loadcell.analysis.finding import Subject
from loadcell.analysis.saturation import Saturation, reasons
from loadcell.analysis.sweep import Sweep, sweeps
from loadcell.analysis.usl import Estimate
from loadcell.report.texts import LANGUAGES, Texts
from stats.simulated import sweep, sweep_run, usl

POWERS = [1, 2, 4, 8, 16, 32, 64, 128]


def judged(truth: dict[float, float], repeats: int = 4, **more: Any) -> Saturation:
    (line,) = saturation.find(sweep(truth, repeats, **more))
    assert isinstance(line, Saturation)
    return line


def speak(analysis: Analysis) -> list[str]:
    """Every finding in every language: whatever it is, it must be sayable."""
    return [Texts(lang).message(finding.message) for lang in LANGUAGES for finding in analysis.findings]


def test_the_marks_of_a_known_curve_stand_where_they_must() -> None:
    """N* = 70: of the powers of two 64 is highest, and 32 has 90 %."""
    line = judged(usl(POWERS, 180, 0.02, 0.0002), noise=0.001)
    assert (line.load(line.peak), line.load(line.enough)) == (64, 64)
    assert line.between == (32, 128)
    assert line.reach(line.peak) == (64, 64)
    assert line.knee is not None
    assert line.load(line.knee) == 32
    assert not line.at_edge


def test_power_is_greatest_where_relative_gain_meets_relative_cost() -> None:
    """In a closed loop R = N / X, so X / R = X^2 / N, and its top is where d ln X / d ln N = 1/2."""
    truth = usl(range(1, 60), 100, 0.05, 0.001)
    line = judged(truth, repeats=2, noise=0.0)
    assert line.power is not None
    best = max(truth, key=lambda n: truth[n] ** 2 / n)
    assert line.load(line.power) == best
    slope = math.log(truth[best + 1] / truth[best - 1]) / math.log((best + 1) / (best - 1))
    assert slope == pytest.approx(0.5, abs=0.03)


def test_the_bend_of_a_known_curve_is_the_papers() -> None:
    """y = 1 - 1 / (x + 1) scaled to 0..1 over 0..9 lies highest above the diagonal at sqrt(10) - 1 = 2.2."""
    loads = np.arange(0, 10, dtype=float)
    at, above = saturation.bend(loads, (1 - 1 / (loads + 1))[None])
    assert loads[at[0]] == 2
    assert above[0] == pytest.approx((2 / 3) / 0.9 - 2 / 9)


def test_a_straight_line_has_no_knee() -> None:
    line = judged(usl(POWERS, 180, 0.0, 0.0))
    assert line.knee is None
    assert line.at_edge


def test_noise_widens_what_a_mark_may_be() -> None:
    truth = usl(range(5, 161, 5), 180, 0.02, 0.0002)
    quiet, loud = judged(truth, noise=0.0005), judged(truth, noise=0.05)
    narrow, wide = quiet.reach(quiet.peak), loud.reach(loud.peak)
    assert narrow is not None
    assert wide is not None
    assert narrow[1] - narrow[0] < wide[1] - wide[0]
    assert narrow[0] <= 70 <= narrow[1]
    assert wide[0] <= 70 <= wide[1]


def test_the_highest_level_is_among_those_it_may_be_in_nearly_all_of_200_runs() -> None:
    truth = usl([10, 20, 40, 60, 80, 120, 160], 180, 0.02, 0.0002)
    held = 0
    for seed in range(200):
        (line,) = sweeps(sweep(truth, 3, noise=0.03, drift=0.03, seed=seed))
        judgement = saturation.judge(line, seed)
        ends = judgement.reach(judgement.peak)
        assert ends is not None
        held += ends[0] <= 60 <= ends[1]
    assert held >= 190


def test_the_summary_says_it_in_one_sentence() -> None:
    analysis = analyse(*sweep_run(usl(POWERS, 180, 0.02, 0.0002), 4))
    (sentence,) = [
        Texts("en").message(item.message) for item in analysis.findings if item.subject is Subject.SATURATION
    ]
    assert re.fullmatch(
        r"Saturation: throughput peaks near \d+ clients "
        r"\(95% CI \d+ to \d+\) at about [\d,]+ transactions/s; "
        r"of the loads tested, 64 clients had the highest median\. "
        r"Beyond 64( \(32–64\))? clients, each further one adds waiting, not work\.",
        sentence,
    )


def test_three_storages_each_get_their_statement() -> None:
    analysis = storages()
    lines = {line.sweep.where: line for line in analysis.saturation if isinstance(line, Saturation)}
    assert {where: (line.load(line.peak), line.between) for where, line in lines.items()} == {
        "storage = curve": (128, (64, 256)),
        "storage = ceph": (64, (32, 128)),
        "storage = curve-striped": (128, (64, 256)),
    }
    assert all(line.law.reason == "few-loads" for line in lines.values()), "five loads support no law"
    assert all(line.reach(line.peak) is None for line in lines.values()), "one repeat supports no range"
    text = " ".join(speak(analysis))
    for sentence in (
        "Saturation at storage = curve: 128 clients gave the highest throughput of the loads tested. If "
        "these single "
        "measurements are typical, the peak lies between 64 and 256 clients, and beyond 128 clients "
        "each further one adds waiting",
        "Saturation at storage = ceph: 64 clients",
        "Saturation at storage = curve-striped: 128 clients",
        "5 loads are too few",
    ):
        assert sentence in text, sentence


def test_a_rise_after_the_fall_is_compared_with_single_measurements() -> None:
    """ceph: 9816, 9168, 9535 transactions/s at 64, 128 and 256 clients. No law of scalability does that."""
    result = findings_by_code(storages())["found.saturation.rebound"]
    assert result["rose_share"] == pytest.approx(9535.27 / 9167.86 - 1)
    assert result["line"].arguments == {"where": "storage = ceph"}


@pytest.mark.parametrize(
    ("throughputs", "key"),
    [
        ({"1": [100, 101]}, "found.saturation.few"),
        ({"1": [100, 101], "2": [190, 191]}, "found.saturation.few"),
        ({"1": [100], "2": [190], "4": [300]}, "found.saturation.edge"),
        ({"1": [100, 101], "2": [60, 61], "4": [40, 41]}, "found.saturation.falls"),
        ({"1": [100], "2": [99], "4": [40]}, "found.saturation.falls.once"),
        ({"1": [100], "2": [190], "4": [150]}, "found.saturation.once.waiting"),
        ({"1": [100, 101], "2": [190, 195], "4": [150, 149]}, "found.saturation.measured.waiting"),
        ({"1": [100, 101], "2": [200, 194], "4": [195, 196]}, "found.saturation.level.waiting"),
        ({"1": [100, 100], "2": [100, 100], "4": [100, 100]}, "found.saturation.flat"),
        ({"1": [None], "2": [None], "4": [None]}, None),
        ({"1": [100, 101], "2": [190, 191], "4": [300, 301]}, "found.saturation.edge"),
        ({"1": [100, 101], "2": [190, 230], "4": [200, 220]}, "found.saturation.edge.alike"),
        ({"1": [100, None], "2": [None, None], "4": [150, 149], "8": [160, 161]},
        "found.saturation.edge.alike"),
        ({"1": [0, 0], "2": [0, 0], "4": [0, 0]}, "found.saturation.few"),
        ({"1": [math.nan, 100], "2": [math.nan, math.nan], "4": [50, 51]}, "found.saturation.few"),
        ({"1": [math.inf, 100], "2": [120, 121], "4": [50, 51]}, "found.saturation.measured"),
    ],
)  # fmt: skip
def test_whatever_was_measured_has_a_sentence(
    throughputs: dict[str, list[float | None]], key: str | None
) -> None:
    analysis = analysis_of(throughputs)
    matches = [finding.message.code for finding in analysis.findings if finding.subject is Subject.SATURATION]
    assert (matches[0].removesuffix(".waiting") if matches else None) == (
        key and key.removesuffix(".waiting")
    )
    assert not any("nan" in sentence or "inf " in sentence for sentence in speak(analysis))


def test_trials_without_a_usable_figure_are_named() -> None:
    analysis = analysis_of({"1": [0, 100], "2": [math.nan, 190], "4": [300, 301]})
    finding = next(item for item in analysis.findings if item.message.code == "found.trials.empty")
    assert finding.evidence == ("001-1-r1", "002-2-r1")


def test_treatments_that_gave_nothing_are_left_out_and_named() -> None:
    analysis = analysis_of({"1": [100, 101], "2": [None, None], "4": [150, 149], "8": [160, 161]})
    (line,) = analysis.saturation
    assert isinstance(line, Saturation)
    assert [item.id for item in line.sweep.unusable] == ["2"]
    assert list(line.sweep.loads) == [1, 4, 8]


def test_loads_need_not_be_in_the_plans_order() -> None:
    (line,) = analysis_of({"8": [160, 161], "1": [100, 101], "4": [150, 149]}).saturation
    assert isinstance(line, Saturation)
    assert list(line.sweep.loads) == [1, 4, 8]


def test_what_is_no_load_has_no_saturation() -> None:
    levels = {name: {"target.postgres.settings.work_mem": int(name)} for name in ("1", "2", "4")}
    assert analysis_of({"1": [1.0], "2": [2.0], "4": [3.0]}, levels=levels).saturation == ()


def test_a_line_too_short_to_bend_stays_a_bare_line() -> None:
    (line,) = analysis_of({"1": [100, 101], "2": [190, 191]}).saturation
    assert isinstance(line, Sweep)


def test_of_many_lines_the_summary_speaks_of_the_best_and_counts_the_others() -> None:
    levels = {f"{s}{n}": {"storage": f"s{s}", "load.clients": n} for s in range(6) for n in (1, 2, 4)}
    throughputs = {
        name: [float(100 * item["load.clients"] * (1 + int(name[0])))] for name, item in levels.items()
    }  # type: ignore[operator]
    messages = findings_by_code(analysis_of(throughputs, levels=levels))
    assert messages["found.saturation.more"] == {"count": 5}
    assert messages["found.saturation.edge"]["line"].arguments == {"where": "storage = s5"}


def test_ten_thousand_trials_are_analysed_at_once() -> None:
    loads = list(range(1, 101))
    truth = usl(loads, 100, 0.03, 0.0003)
    chance = np.random.default_rng(5)
    throughputs = {str(n): list(truth[n] * np.exp(chance.normal(0, 0.05, 100))) for n in loads}
    (line,) = analyse(*run_of(throughputs)).saturation
    assert isinstance(line, Saturation)
    assert line.law.identified
    assert line.law.peak_load is not None
    assert line.law.peak_load.low is not None
    assert line.law.peak_load.low < math.sqrt(0.97 / 0.0003) < (line.law.peak_load.high or math.inf)


def test_a_ceiling_below_what_was_measured_is_not_said() -> None:
    """A curve that misses the highest load by a third has one; nobody believes the sentence beside the
    values.
    """
    loads = (1, 4, 16, 32, 64, 128, 250)
    typical = (18.4, 20.9, 30.7, 37.5, 21.4, 29.7, 27.4)
    analysis = analysis_of(
        {str(load): [rate * 1000, rate * 1100] for load, rate in zip(loads, typical, strict=True)}
    )
    (line,) = (line for line in analysis.saturation if isinstance(line, Saturation))
    for ceiling, key in ((30_000.0, "no-peak"), (50_000.0, "no-peak.ceiling")):
        law = replace(line.law, reason="no-peak", ceiling=Estimate(ceiling, ceiling, ceiling))
        (result,) = (reason for reason in reasons([replace(line, law=law)]) if "why" in reason.message.code)
        assert result.message.code == f"found.saturation.why.{key}"


def test_the_highest_level_is_reported_with_those_that_it_might_as_well_be() -> None:
    rates = {"1": [100.0, 101, 99, 100, 102, 98], "2": [200.0, 190, 210, 195, 205, 198]}
    rates |= {"4": [198.0, 204, 192, 207, 196, 200], "8": [120.0, 121, 119, 122, 118, 120]}
    (result,) = (
        finding
        for finding in analysis_of(rates).findings
        if finding.message.code.startswith("found.saturation.measured")
    )
    assert result.message.arguments["best"] in ("2 (2–4)", "4 (2–4)")


#: Six repeats each: those of the lower loads are distinguishable from the highest load's, not from each
#: other.
TOP_AT_THE_BOTTOM = {
    "100": [168.0, 163, 171, 164, 162, 165], "200": [173.0, 163, 164, 172, 163, 173],
    "500": [164.0, 160, 159, 166, 160, 164], "1000": [130.0, 128, 131, 129, 127, 130],
}  # fmt: skip


def test_below_the_lowest_load_nothing_was_measured_so_the_peak_may_lie_there() -> None:
    analysis = analysis_of(TOP_AT_THE_BOTTOM)
    (line,) = analysis.saturation
    assert isinstance(line, Saturation)
    assert line.peak.first == 0
    assert line.between[0] is None
    (result,) = (
        finding for finding in analysis.findings if finding.message.code.startswith("found.saturation.below")
    )
    sentence = Texts("en").message(result.message)
    assert "The peak lies below 500 clients, perhaps below the lowest load tested" in sentence


def test_loads_without_a_significant_difference_support_no_claim_on_more_clients() -> None:
    """Repeats as on a machine that others work on: that throughput levelled off, or where it was highest, is
    not in them.
    """
    wide = [18.0, 25, 20, 21, 30, 43]
    loads = {"1": [23.0, 18, 25, 20, 27, 28], "2": wide, "4": [*wide[3:], *wide[:3]], "8": [*wide[1:], 44.0]}
    analysis = analysis_of(loads)
    (line,) = analysis.saturation
    assert isinstance(line, Saturation)
    assert line.between == (None, None)
    (statement, *_) = (finding for finding in analysis.findings if finding.subject is Subject.SATURATION)
    assert statement.message.code == "found.saturation.untold"
    assert statement.message.arguments["last"] == "8"


def test_the_highest_level_is_that_of_the_results() -> None:
    """One slow repeat lowers the mean of a level below that of another one, not its median."""
    rates = {"1": [100.0, 101, 99, 100, 102, 98], "2": [198.0, 199, 197, 200, 198, 196]}
    rates |= {"4": [202.0, 203, 201, 202, 203, 150], "8": [120.0, 121, 119, 122, 118, 120]}
    analysis = analysis_of(rates)
    (line,) = analysis.saturation
    assert isinstance(line, Saturation)
    assert line.load(line.peak) == 2
    sentences = [Texts("en").message(finding.message) for finding in analysis.findings]
    assert any(": 4 (2–4) clients gave the highest throughput" in sentence for sentence in sentences)
    assert any("clients = 4 had the highest median throughput" in sentence for sentence in sentences)


@pytest.mark.parametrize("lang", LANGUAGES)
def test_an_estimate_that_excludes_the_highest_median_names_it(lang: str) -> None:
    """The law's peak lies between the loads tested."""
    levels = [1, 2, 4, 8, 16, 32, 64, 128, 256]
    truth = usl(levels, 180, 0.02, 0.0003)
    line = judged(truth, repeats=6, noise=0.002)
    message = saturation.statement(line).message
    assert message.code == "found.saturation.identified.apart.waiting"
    assert message.arguments["best"] == "64"
    text = Texts(lang).message(message)
    assert ("64 clients had the highest median" if lang == "en" else "64 个客户端的中位数最高") in text
