"""Findings on open loops: how far the target kept up, what waited, how punctual the client was."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from analysis.runs import findings_by_code, run_of
from loadcell.analysis import validity
from loadcell.analysis.analyse import Analysis, analyse
from loadcell.analysis.open_loop import OpenLoop, open_loop_result
from loadcell.analysis.trials import Trial
from loadcell.model.run_record import RunRecord
from loadcell.model.trial_record import Backlog, Schedule, Status, TrialRecord
from records import latency, with_field, with_times


def open_loops(achieved: dict[str, list[float | None]], **shape: float) -> Analysis:
    """The same as `open_loop_records`, analysed."""
    return analyse(*open_loop_records(achieved, **shape))


def open_loop_records(
    achieved: dict[str, list[float | None]], *, service_p99_ms: float = 5.0, pacing_ms: float = 0.004
) -> tuple[RunRecord, list[TrialRecord]]:
    """A run whose treatments are rates: what each trial achieved of it, None where it was
    overloaded at 60 %.
    """
    levels = {name: {"load.rate": f"{name}/s"} for name in achieved}
    shown = {name: [value or float(name) * 0.6 for value in values] for name, values in achieved.items()}
    run, records = run_of(shown, levels=levels)

    def scheduled(record: TrialRecord) -> TrialRecord:
        rate = float(record.treatment)
        overloaded = achieved[record.treatment][record.repeat - 1] is None
        if overloaded:
            record = replace(record, status=Status.FAILED, reason="it grew", reason_code="overloaded")
        service = with_times(record, p99_ms=service_p99_ms).totals.response
        record = with_times(with_field(record, "totals.service", service), p99_ms=10.0)
        schedule = Schedule(
            "constant", int(rate * 10), rate, record.totals.throughput_per_s,
            pacing_error=latency(p50_ms=pacing_ms, p99_ms=10 * pacing_ms),
            backlog=Backlog(peak=900, at_end=800) if overloaded else Backlog(peak=2),
            requests_mean=5.0,
        )  # fmt: skip
        return replace(record, schedule=schedule)

    return run, [scheduled(record) for record in records]


def test_the_highest_rate_that_was_kept_up_with_is_named() -> None:
    messages = findings_by_code(open_loops({"1000": [1000, 999], "2000": [1990, 1999], "3000": [2400, 2500]}))
    assert messages["found.kept-up.highest"] == {"treatment": "rate = 2000/s", "offered_per_s": 2000}
    assert messages["found.behind"]["treatment"] == "rate = 3000/s"
    assert messages["found.behind"]["achieved_per_s"] == 2450


def test_overload_is_reported_of_the_lowest_rate_with_the_completed_load_and_the_others_are_counted() -> None:
    messages = findings_by_code(
        open_loops({"1000": [1000, 1000], "2000": [None, None], "4000": [None, None]})
    )
    assert messages["found.overloaded"] == {
        "treatment": "rate = 2000/s", "offered_per_s": 2000, "achieved_per_s": 1200, "count": 2, "of": 2,
    }  # fmt: skip
    assert messages["found.behind.others"] == {"count": 1}
    assert messages["found.kept-up.highest"]["treatment"] == "rate = 1000/s"


def test_values_of_a_treatment_are_those_of_the_trials_that_succeeded_while_there_are_any() -> None:
    some, none = open_loops({"1000": [980, None], "2000": [None, None]}).treatments
    item, other = open_loop_result(some), open_loop_result(none)
    assert item is not None and other is not None  # noqa: PT018
    assert (item.achieved.values, item.overloaded, item.sustained) == ((980,), 1, False)
    assert (other.achieved.values, other.backlog.median) == ((1200, 1200), 900)
    assert other.service["p99_ms"].median is None


def test_a_rate_that_was_not_kept_up_with_is_no_edge_to_go_beyond_and_its_response_times_are_no_price() -> (
    None
):
    messages = findings_by_code(open_loops({"500": [500], "2000": [2000], "2000000": [57_000]}))
    assert not {"found.at-edge", "found.highest"} & messages.keys()
    assert messages["found.highest.no-latency"]["treatment"] == "rate = 2000000/s"


def test_beyond_a_highest_rate_that_was_kept_up_with_there_may_be_more() -> None:
    messages = findings_by_code(open_loops({"500": [500], "1000": [1000], "2000": [2000]}))
    assert messages["found.at-edge"] == {"treatment": "rate = 2000/s"}
    assert messages["found.highest"]["p99_ms"] == 10.0


def test_that_the_fewest_were_done_where_the_fewest_fell_due_is_not_worth_a_sentence() -> None:
    assert "found.lowest" not in findings_by_code(open_loops({"500": [500], "1000": [1000], "2000": [2000]}))


def test_one_treatment_is_not_the_highest_of_several() -> None:
    assert findings_by_code(open_loops({"1000": [1000, 1000]}))["found.kept-up"]["offered_per_s"] == 1000


@pytest.mark.parametrize(("service_p99_ms", "reported"), [(9.0, False), (5.0, True)])
def test_waiting_is_reported_of_where_it_is_notable(service_p99_ms: float, reported: bool) -> None:
    messages = findings_by_code(open_loops({"1000": [1000, 1000]}, service_p99_ms=service_p99_ms))
    assert ("found.waiting" in messages) == reported


def test_waiting_is_not_put_on_the_target_where_the_client_was_late() -> None:
    analysis = open_loops({"1000": [1000, 1000]}, pacing_ms=0.3)
    messages = findings_by_code(analysis)
    assert "found.waiting" not in messages
    assert messages["found.waiting.late"]["late_p99_ms"] == pytest.approx(3.0)
    assert "pacing" in [doubt.name for doubt in validity.doubts(analysis.trials[0])]


@pytest.mark.parametrize(("pacing_ms", "code"), [(0.004, "waiting.only"), (0.3, "waiting.late.only")])
def test_the_only_treatment_of_a_plan_without_factors_has_no_name(pacing_ms: float, code: str) -> None:
    run, records = open_loop_records({"1000": [1000, 999]}, pacing_ms=pacing_ms)
    plain = replace(run, factors=(), treatments=(replace(run.treatments[0], levels={}, values={}),))
    messages = findings_by_code(analyse(plain, [replace(record, levels={}) for record in records]))
    assert "treatment" not in messages[f"found.{code}"]


def test_punctuality_is_reported_in_microseconds() -> None:
    assert findings_by_code(open_loops({"1000": [1000, 1000]}))["found.pacing"] == {
        "p50_us": pytest.approx(4.0),
        "p99_us": pytest.approx(40.0),
    }


def test_closed_loops_have_nothing_to_keep_up_with() -> None:
    run, records = run_of({"10": [100, 101]})
    assert not {key for key in findings_by_code(analyse(run, records)) if "pacing" in key or "kept-up" in key}
    assert open_loop_result(analyse(run, records).treatments[0]) is None


def test_rates_are_numbers_along_an_axis_that_says_its_unit() -> None:
    x = open_loops({"500": [500], "1000": [1000], "2000": [2000], "4000": [4000]}).layout.x
    assert x is not None
    assert (x.name, x.scale, x.at["500/s"]) == ("rate (/s)", "geometric", 500.0)


def test_json_holds_it() -> None:
    document: dict[str, Any] = open_loops({"1000": [1000, None]}).document()
    loop = document["treatments"][0]["open_loop"]
    assert (loop["overloaded"], loop["kept_up"], loop["offered_per_s"]["median"]) == (1, False, 1000)
    assert document["trials"][1]["reason_code"] == "overloaded"
    assert document["trials"][0]["open_loop"]["backlog_peak"] == 2


class TestLittlesLaw:
    @staticmethod
    def trial(requests_mean: float | None, *, edges_s: float = 0.0, failed: int = 0) -> Trial:
        """400/s for 10 s, 10 ms each: 4 requests under way."""
        return Trial(
            1, "001-x-r1", "x", 1, 1, "ok", throughput_per_s=400, succeeded=4_000 - failed, failed=failed,
            duration_s=10.0, clients=64, response={"mean_ms": 10.0, "max_ms": 20.0},
            open_loop=OpenLoop("poisson", 400.0, 400.0, requests_mean=requests_mean), edges_s=edges_s,
        )  # fmt: skip

    def test_it_is_compared_with_requests_not_clients(self) -> None:
        law = validity.littles_law(self.trial(4.0))
        assert (law.verdict, law.expected, law.measured) == ("ok", 4.0, pytest.approx(4.0))
        assert validity.littles_law(self.trial(4.4)).verdict == "broken"
        assert validity.littles_law(self.trial(3.6)).verdict == "broken"

    def test_what_is_under_way_at_the_ends_is_allowed_for(self) -> None:
        assert validity.littles_law(self.trial(4.4, edges_s=4.0)).verdict == "ok"
        assert validity.littles_law(self.trial(4.0, edges_s=4.0)).verdict == "broken"
        assert validity.littles_law(self.trial(5.0, edges_s=10.0)).verdict == "ok"

    def test_it_is_not_judged_without_what_it_needs(self) -> None:
        assert validity.littles_law(self.trial(None)).verdict == "unknown"
        assert validity.littles_law(self.trial(4.0, failed=400)).verdict == "unknown"
