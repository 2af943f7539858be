"""Names of trials that only profile."""

from __future__ import annotations

import pytest

from loadcell.model.profile_trials import kind_of, name_of


@pytest.mark.parametrize("kind", ["cpu", "off-cpu", "jvm-classes", "of-a-later-version"])
@pytest.mark.parametrize("treatment", ["baseline", "clients=8,cpu=2", "off-cpu-baseline"])
def test_the_kind_is_that_of_the_name(kind: str, treatment: str) -> None:
    assert kind_of(name_of(kind, treatment), treatment) == kind


def test_the_first_kind_is_in_no_name() -> None:
    assert name_of("cpu", "baseline") == "profile-baseline"
    assert name_of("off-cpu", "baseline") == "profile-off-cpu-baseline"


@pytest.mark.parametrize("name", ["baseline-r1", "profile-other", "profile"])
def test_another_trial_has_none(name: str) -> None:
    assert kind_of(name, "baseline") == ""
