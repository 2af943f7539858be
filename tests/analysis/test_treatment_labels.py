"""Names of treatments in a report."""

from __future__ import annotations

from loadcell.analysis.treatments import treatments
from loadcell.model.run_record import RunRecord, TreatmentRecord

USUAL = {"transport": "tcp", "target.jvm.properties.rules": "4", "queue": "locked"}


def labels(design: str, **levels_of: dict[str, str]) -> list[str]:
    records = [TreatmentRecord(name, {**USUAL, **levels}) for name, levels in levels_of.items()]
    result = treatments(RunRecord(design=design, treatments=tuple(records)), [])
    return [f"{treatment.label} ({treatment.brief})" for treatment in result]


def test_one_at_a_time_the_level_that_differs_is_the_name() -> None:
    rules = {"target.jvm.properties.rules": "10"}
    assert labels("one-at-a-time", baseline={}, unix={"transport": "unix"}, ten=rules) == [
        "transport = tcp, rules = 4, queue = locked (tcp, 4, locked)",
        "transport = unix (transport = unix)",
        "rules = 10 (rules = 10)",
    ]


def test_other_designs_have_all_levels_in_the_name() -> None:
    names = ["transport = tcp, rules = 4, queue = locked (tcp, 4, locked)"]
    unix = ["transport = unix, rules = 4, queue = locked (unix, 4, locked)"]
    assert labels("full", baseline={}, unix={"transport": "unix"}) == names + unix
    assert labels("one-at-a-time", remote={}, unix={"transport": "unix"}) == names + unix, "no baseline"
    both = {"transport": "unix", "queue": "lock-free"}
    assert labels("one-at-a-time", baseline={}, unix={"transport": "unix"}, both=both) == [
        *names, *unix, "transport = unix, rules = 4, queue = lock-free (unix, 4, lock-free)",
    ]  # fmt: skip
