"""Work of a key-value server at each treatment, from samples that are taken whenever a trial begins."""

from __future__ import annotations

from dataclasses import replace

import pytest

from analysis.runs import analysis_of
from frame_values import frame_of_rows
from loadcell.analysis import server
from loadcell.store.frames import Frame, number_column
from loadcell.store.layout import ColumnType


def samples(*rows: tuple[float, float, int]) -> Frame:
    """Samples of the first trial: when they were taken, of how long, and the commands since the
    one before.
    """
    types: dict[str, ColumnType] = {
        "trial": "text", "treatment": "text", "t_s": "number", "elapsed_s": "number", "commands": "integer",
        "cpu_s": "number",
        "clients": "integer",
    }  # fmt: skip
    return frame_of_rows(types, [("001-1-r1", "1", at, long, count, long / 2, 9) for at, long, count in rows])


def test_what_was_counted_before_the_measurement_is_in_no_rate() -> None:
    """A second before the first look, nothing was asked for half of the time: 800 commands a second were
    none.
    """
    treatments = analysis_of({"1": [1000.0]}).treatments
    (result,) = server.key_value_by_treatment(
        samples((0.6, 1.0, 800), (1.6, 1.0, 1000), (1.9, 0.3, 300)), (), treatments
    )
    assert result.commands_per_s == pytest.approx(1000)
    assert result.cpu == pytest.approx(0.5)
    assert result.clients == 9


def test_of_a_measurement_without_a_whole_sample_there_is_no_rate() -> None:
    treatments = analysis_of({"1": [1000.0]}).treatments
    (result,) = server.key_value_by_treatment(samples((0.6, 1.0, 800)), (), treatments)
    assert (result.commands_per_s, result.cpu, result.clients) == (None, None, 9)


def test_the_share_of_saving_is_of_the_columns_that_the_table_declares() -> None:
    treatments = analysis_of({"1": [1000.0]}).treatments
    frame = samples(*((at, 1.0, 1000) for at in (1.0, 2.0, 3.0, 4.0))).adding(
        {
            "snapshot": number_column([1.0, 0.0, 0.0, 0.0]),
            "rewrite": number_column([1.0, 0.0, 1.0, 0.0]),
        }
    )
    for columns, share in (((), 0), (("snapshot",), 0.25), (("snapshot", "rewrite", "absent"), 0.5)):
        (result,) = server.key_value_by_treatment(frame, columns, treatments)
        assert result.saving_share == share


@pytest.mark.parametrize(("evicted", "remarked"), [((0, 0), True), ((0, 7), False), ((None, 0), False)])
def test_a_policy_of_eviction_without_evictions_is_remarked(
    evicted: tuple[int | None, int | None], remarked: bool
) -> None:
    policy = "target.redis.settings.maxmemory-policy"
    treatments = [
        replace(treatment, values={policy: word})
        for treatment, word in zip(
            analysis_of({"1": [1000.0], "2": [1000.0]}).treatments,
            ("allkeys-lru", "allkeys-lfu"),
            strict=True,
        )
    ]
    frame = samples((1.0, 1.0, 1000))
    (first,) = server.key_value_by_treatment(frame, (), treatments[:1])
    served = [
        replace(first, treatment=treatment, evicted_keys=keys)
        for treatment, keys in zip(treatments, evicted, strict=True)
    ]
    messages = [finding.message for finding in server.key_value_findings(served, ("maxmemory-policy",))]
    assert [message.arguments["settings"] for message in messages] == [("maxmemory-policy",)] * remarked
    assert not list(server.key_value_findings(served, ("maxmemory-samples",)))
