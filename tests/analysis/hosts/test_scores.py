"""Scores, from a run's records and from JSON."""

from __future__ import annotations

import pytest

import machines
from loadcell.analysis.hosts.scores import Score, of_document, of_run, probed
from loadcell.model.run_record import RunRecord
from loadcell.model.trial_record import Totals
from loadcell.store.read import read_run
from records import treatment, trial


@pytest.fixture(scope="module")
def scores(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Score]:
    path = machines.write_baseline(tmp_path_factory.mktemp("run") / "a", failed=frozenset({"disk-write"}))
    stored = read_run(path)
    return {score.id: score for score in of_run(stored.run, stored.trials)}


def test_a_probe_has_the_values_that_its_test_is_known_by(scores: dict[str, Score]) -> None:
    assert {"cpu-1/events_per_s", "memory-memcpy-1/mib_per_s", "latency-4KiB/access_ns"} <= set(scores)
    assert {"disk-randread/iops", "disk-read/read_mib_per_s", "disk-sync/iops"} <= set(scores)
    assert {"network-rr/transactions_per_s", "network-stream/mbit_per_s"} <= set(scores)


def test_a_score_knows_what_it_was_measured_with(scores: dict[str, Score]) -> None:
    triad = scores["memory-triad-all/mib_per_s"]
    assert (triad.section, triad.test, triad.threads) == ("memory", "triad", 16)
    assert triad.size_bytes == 256 * machines.MIB
    assert scores["disk-read/read_mib_per_s"].block_bytes == machines.MIB


def test_repeats_are_its_values(scores: dict[str, Score]) -> None:
    cpu = scores["cpu-1/events_per_s"]
    assert len(cpu.values) == 3
    assert cpu.median == sorted(cpu.values)[1]
    assert cpu.repeats.low == min(cpu.values)


def test_the_latency_of_flushes_is_a_score_of_one_and_less_of_it_is_better(scores: dict[str, Score]) -> None:
    sync = scores["disk-sync/sync_ms"]
    assert sync.median == pytest.approx(0.61, rel=0.1)
    assert not sync.higher_is_better
    assert "disk-randread/sync_ms" not in scores


def test_what_never_succeeded_is_no_score(scores: dict[str, Score]) -> None:
    assert not [name for name in scores if name.startswith("disk-write/")]


def test_a_run_is_a_baseline_when_every_treatment_probes() -> None:
    probe = treatment({"workload": {"probe": {"cpu": {}, "memory": None}}}, "a")
    other = treatment({"workload": {"sysbench": {}}}, "b")
    assert probed(RunRecord(treatments=(probe,)))
    assert not probed(RunRecord(treatments=(probe, other)))
    assert not probed(RunRecord())


def test_json_gives_back_what_was_written(scores: dict[str, Score]) -> None:
    assert of_document([score.document() for score in scores.values()]) == tuple(scores.values())


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (5, "score 1 is not a mapping"),
        ({"id": ""}, "score 1 has no `id`"),
        ({"id": "a", "figure": "flops", "probe": "cpu", "values": [1]}, "no metric 'flops'; there are "
        "events_per_s"),
        ({"id": "a", "figure": "iops", "probe": "gpu", "values": [1]}, "no probe 'gpu'; there are cpu"),
        ({"id": "a", "figure": "iops", "probe": "disk", "values": []}, "`values` must be a list of numbers "
        "above 0"),
        ({"id": "a", "figure": "iops", "probe": "disk", "values": [0]}, "numbers above 0"),
        ({"id": "a", "figure": "iops", "probe": "disk", "values": ["1,000"]}, "numbers above 0"),
        ({"id": "a", "figure": "iops", "probe": "disk", "values": 5}, "numbers above 0"),
    ],
)  # fmt: skip
def test_json_that_is_wrong_says_where(wrong: object, message: str) -> None:
    with pytest.raises(ValueError, match=message.replace("(", r"\(")):
        of_document([wrong])


def test_records_of_any_shape_are_read() -> None:
    probe = treatment({"workload": {"probe": {"cpu": {}}}, "load": None}, "a")
    records = [
        trial(treatment="a", totals=None),
        *(trial(treatment="a", totals=Totals(figures={"events_per_s": x})) for x in (float("nan"), 7)),
    ]
    (score,) = of_run(RunRecord(treatments=(probe,)), records)
    assert (score.id, score.values, score.threads) == ("a/events_per_s", (7.0,), 1)
