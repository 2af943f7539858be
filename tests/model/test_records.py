"""Records of runs and trials: JSON both ways, damage by key, and the schemas in the reference."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from loadcell.model.json import MismatchError, convert, document, read, schema
from loadcell.model.latency import Latency
from loadcell.model.run_record import RunRecord
from loadcell.model.trial_record import Status, TrialRecord

ROOT = Path(__file__).parents[2]
STORED = ROOT / "tests" / "data" / "schema-1" / "results"
TRIAL: dict[str, Any] = {"number": 1, "name": "001-a-r1", "treatment": "a", "repeat": 1, "status": "ok"}


@pytest.mark.parametrize(("kind", "name"), [(RunRecord, "run.json"), (TrialRecord, "trial.json")])
def test_stored_records_keep_every_value(kind: type[Any], name: str) -> None:
    files = sorted(STORED.rglob(name))
    assert len(files) > 10
    for file in files:
        before = json.loads(file.read_text(encoding="utf-8"))
        after = document(read(kind, file.read_bytes()))
        lost = {key: value for key, value in before.items() if value is not None and after[key] != value}
        for key, value in lost.items():  # keys may be added within, none may be lost or changed
            assert _contains(after[key], value), f"{file}: {key}"


def _contains(after: Any, before: Any) -> bool:
    if isinstance(before, dict):
        return all(value is None or _contains(after[key], value) for key, value in before.items())
    if isinstance(before, list):
        return len(after) == len(before) and all(map(_contains, after, before))
    return bool(after == before)


def test_percentiles_have_keys_of_their_own_in_json() -> None:
    latency = Latency(3, mean_ms=1.5, percentiles_ms={"50": 1.0, "99.9": 2.0})
    assert latency.to_json() == {"count": 3, "mean_ms": 1.5, "p50_ms": 1.0, "p99.9_ms": 2.0}
    assert Latency.from_values(latency.to_json()) == latency
    assert latency.percentile_ms("99.9") == 2.0
    assert latency.percentile_ms("90") is None


@pytest.mark.parametrize(
    ("changed", "key"),
    [
        ({"number": "one"}, "number"),
        ({"status": "fine"}, "status"),
        ({"totals": {"throughput_per_s": "many"}}, "totals.throughput_per_s"),
        ({"checks": [{"verdict": "ok"}]}, "checks.0.name"),
        ({"phases": {}}, "phases"),
    ],
)
def test_a_mismatch_names_the_key(changed: dict[str, Any], key: str) -> None:
    with pytest.raises(MismatchError) as error:
        convert(TrialRecord, {**TRIAL, **changed})
    assert error.value.mismatch is not None
    assert error.value.mismatch.key == key


def test_text_that_is_not_json_has_no_key() -> None:
    with pytest.raises(MismatchError) as error:
        read(TrialRecord, "{")
    assert error.value.mismatch is None


def test_unknown_keys_are_ignored_and_optional_ones_left_out() -> None:
    record = convert(TrialRecord, {**TRIAL, "of_a_later_version": 1})
    assert record.status is Status.OK
    assert "of_a_later_version" not in document(record)
    assert {"arm", "role", "search", "tool"} & document(record).keys() == set()
    assert document(record)["totals"] is None


@pytest.mark.parametrize(("kind", "name"), [(RunRecord, "run"), (TrialRecord, "trial")])
def test_the_reference_has_the_schemas(kind: type[Any], name: str) -> None:
    file = ROOT / "docs" / "reference" / "schemas" / f"{name}.schema.json"
    assert json.loads(file.read_text(encoding="utf-8")) == schema(kind), "run scripts/record-schemas"
