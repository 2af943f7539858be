"""Which configuration is recommended, what it buys, and what it risks."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from analysis.reported import storages
from analysis.runs import analysis_of, findings_by_code, run_of
from loadcell.analysis import recommend
from loadcell.analysis.analyse import Analysis, analyse
from loadcell.model.message import Message
from loadcell.report.texts import Texts
from records import with_field, with_times


def with_tails(throughputs: dict[str, list[float | None]], tails: dict[str, float]) -> Analysis:
    """A sweep whose trials have these 99th percentiles."""
    run, records = run_of(throughputs)
    return analyse(
        run,
        [
            with_times(record, p99_ms=tails[record.treatment]) if record.totals else record
            for record in records
        ],
    )


def risks(analysis: Analysis) -> set[str]:
    assert analysis.recommendation is not None
    return {item.message.code for item in recommend.risks(analysis.recommendation)}


def test_of_whatever_is_nearly_as_fast_the_shortest_tail_is_chosen() -> None:
    result = with_tails(
        {"10": [100, 101], "20": [190, 192], "40": [198, 199], "80": [150, 151]},
        {"10": 5, "20": 12, "40": 60, "80": 200},
    ).recommendation
    assert result is not None
    assert (result.choice.id, result.best.id, result.lowest.id) == ("20", "40", "10")
    assert result.lost_share == pytest.approx(1 - 191 / 198.5)
    assert result.gain_times == pytest.approx(191 / 100.5)
    assert (result.tail_ms(result.choice), result.tail_ms(result.best)) == (12, 60)


def test_nothing_is_bought_that_repeats_do_not_tell_from_the_slowest() -> None:
    def bought(throughputs: dict[str, list[float | None]]) -> int:
        result = with_tails(throughputs, {"10": 5, "20": 12}).recommendation
        assert result is not None
        return len([*recommend.buys(result)])

    assert bought({"10": [100, 101], "20": [190, 192]}) == 1
    assert bought({"10": [100, 191], "20": [190, 192]}) == 0


def test_without_response_times_the_fastest_is_chosen() -> None:
    run, records = run_of({"10": [100], "20": [190]})
    analysis = analyse(run, [with_field(record, "totals.response", None) for record in records])
    assert analysis.recommendation is not None
    assert analysis.recommendation.choice.id == "20"
    assert "found.recommend.no-latency" in {item.message.code for item in analysis.findings}


def test_what_failed_is_not_recommended_while_something_sound_is_there() -> None:
    analysis = with_tails({"10": [100, 101], "20": [190, None]}, {"10": 5, "20": 6})
    assert analysis.recommendation is not None
    assert analysis.recommendation.choice.id == "10"
    assert "found.recommend.next-broke" in risks(analysis)


def test_what_was_faster_and_failed_is_named_as_left_out() -> None:
    run, records = run_of({"2": [100, 112], "10": [105, 114], "18": [361, 362]})
    records = [
        with_field(record, "totals.transactions.failed", 7) if record.treatment == "18" else record
        for record in records
    ]
    analysis = analyse(run, records)
    texts = [Texts("en").message(item.message) for item in analysis.findings]
    assert any(
        "Of the treatments without failures, clients = 10 had the highest median" in text for text in texts
    )
    assert (
        "clients = 18 is excluded from the recommendation: its median throughput was higher than that of "
        "clients = 10, but 14 of its transactions failed."
    ) in texts
    broke = with_tails({"10": [100, 101], "20": [190, None]}, {"10": 5, "20": 6})
    assert "found.recommend.left-out.broke" in findings_by_code(broke)
    sound = with_tails({"10": [100, 101], "20": [190, 191]}, {"10": 5, "20": 6})
    assert not any("left-out" in code for code in findings_by_code(sound))


def test_where_nothing_is_sound_that_is_a_risk() -> None:
    assert "found.recommend.unsound" in risks(
        with_tails({"10": [100, None], "20": [190, None]}, {"10": 5, "20": 6})
    )


def test_treatments_without_a_significant_difference_are_a_risk() -> None:
    analysis = with_tails({"10": [50, 51], "20": [100, 110], "40": [105, 112]}, {"10": 5, "20": 5, "40": 6})
    assert "found.recommend.alike" in risks(analysis)


def test_without_any_significant_difference_nothing_is_recommended() -> None:
    run, records = run_of({"10": [100, 112], "20": [105, 110], "40": [103, 114]})
    analysis = analyse(run, records)  # whose tails are as far apart as their throughput
    result = analysis.recommendation
    assert result is not None
    assert not result.founded
    assert replace(recommend.choice(result).message, severity="problem") == Message(
        "found.recommend.none", {"treatment": "clients = 40", "count": 2}
    )
    assert [*recommend.buys(result), *recommend.risks(result)] == []
    assert analysis.document()["recommendation"]["founded"] is False


@pytest.mark.parametrize(
    ("throughputs", "english", "chinese"),
    [
        (
            {"10": [100, 112], "40": [103, 114]},
            "does not differ significantly from 1 other treatment (",
            "与另外 1 个参数组合没有显著差异",
        ),
        (
            {"10": [100, 112], "20": [105, 110], "40": [103, 114]},
            "does not differ significantly from 2 other treatments (",
            "与另外 2 个参数组合没有显著差异",
        ),
    ],
)
def test_no_recommendation_names_one_other_treatment_or_several(
    throughputs: dict[str, list[float | None]], english: str, chinese: str
) -> None:
    result = analyse(*run_of(throughputs)).recommendation
    assert result is not None
    message = recommend.choice(result).message
    assert english in Texts("en").message(message)
    assert chinese in Texts("zh").message(message)


def test_a_shorter_tail_is_a_ground_to_choose_by() -> None:
    result = with_tails({"10": [100, 110], "20": [105, 112]}, {"10": 5, "20": 60}).recommendation
    assert result is not None
    assert (result.founded, result.choice.id) == (True, "10")


def test_what_moves_whole_blocks_hides_no_difference() -> None:
    """Ranges overlap, and in each block the one is a fifth ahead of the other."""
    paces = (100.0, 140.0, 90.0, 120.0, 60.0, 110.0)
    apart: dict[str, list[float | None]] = {"10": [*paces], "20": [1.2 * pace for pace in paces]}
    analysis = analysis_of(apart)
    assert analysis.recommendation is not None
    assert (analysis.recommendation.choice.id, analysis.recommendation.alike) == ("20", ())
    assert "found.tied" not in findings_by_code(analysis)
    apart["20"][3:] = [119.0, 59.0, 109.0]  # but in three
    assert "found.tied" in findings_by_code(analysis_of(apart))


def test_the_highest_level_tried_is_a_risk() -> None:
    analysis = with_tails({"10": [100], "20": [150], "40": [200]}, {"10": 5, "20": 6, "40": 7})
    assert {"found.recommend.at-edge", "found.recommend.few"} <= risks(analysis)


def test_six_sound_repeats_in_the_middle_have_no_risk_to_speak_of() -> None:
    throughputs: dict[str, list[float | None]] = {
        name: [value + n for n in range(6)] for name, value in (("10", 100.0), ("20", 200.0), ("40", 150.0))
    }
    assert risks(with_tails(throughputs, {"10": 5, "20": 6, "40": 7})) == set()


@pytest.mark.parametrize("throughputs", [{"10": [None], "20": [None]}, {"10": [100]}, {"10": [0], "20": [0]}])
def test_without_a_choice_nothing_is_recommended(throughputs: dict[str, Any]) -> None:
    assert analysis_of(throughputs).recommendation is None


def test_of_three_storages_the_striped_one_is_recommended() -> None:
    analysis = storages()
    assert analysis.recommendation is not None
    assert analysis.recommendation.choice.levels == {"storage": "curve-striped", "load.clients": "128"}
    (choice,) = [item for item in analysis.effects.choices if item.key == "storage"]
    assert (choice.level, choice.risks) == ("curve-striped", 1)


def test_the_work_that_is_asked_for_is_nobodys_choice() -> None:
    throughputs: dict[str, list[float | None]] = {
        f"{engine}-{reads}": [speed * share, speed * share + 1]
        for engine, speed in (("slow", 100.0), ("fast", 300.0))
        for reads, share in (("20%", 1.0), ("80%", 2.0))
    }
    levels = {
        name: dict(zip(("target.store.engine", "workload.kv.reads"), name.split("-"), strict=True))
        for name in throughputs
    }
    analysis = analysis_of(throughputs, levels=levels)
    assert analysis.recommendation is None
    assert [(choice.key, choice.level) for choice in analysis.effects.choices] == [
        ("target.store.engine", "fast")
    ]
    assert {main.key for main in analysis.effects.mains if main.matters} == {
        "target.store.engine",
        "workload.kv.reads",
    }


def test_neither_is_work_that_a_factor_of_one_name_sets() -> None:
    run, records = run_of(
        {"get": [100, 101], "set": [200, 201]}, levels={n: {"test": n} for n in ("get", "set")}
    )
    assert analyse(run, records).recommendation is not None
    treatments = tuple(replace(item, values={"workload.kv.mix": {item.id: 1}}) for item in run.treatments)
    assert analyse(replace(run, treatments=treatments), records).recommendation is None


def test_a_rate_that_was_due_is_nobodys_choice_either() -> None:
    throughputs: dict[str, list[float | None]] = {"500/s": [500, 500], "2000/s": [2000, 2000]}
    levels = {name: {"load.rate": name} for name in throughputs}
    assert analysis_of(throughputs, levels=levels).recommendation is None
