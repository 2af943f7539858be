"""Quantities: what is read, what is refused, and that what is written can be read again."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadcell.plan.problems import SettingError
from loadcell.plan.units import Duration, Fraction, Rate, Size


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("30s", 30),
        ("5min", 300),
        ("1h", 3600),
        ("200ms", 0.2),
        ("1.5 s", 1.5),
        ("2d", 172800),
        ("7us", 7e-6),
        ("3ns", 3e-9),
    ],
)
def test_durations_are_seconds(text: str, seconds: float) -> None:
    assert Duration.read(text) == seconds


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("1B", 1),
        ("512MB", 512_000_000),
        ("512MiB", 536_870_912),
        ("4KiB", 4096),
        ("4kB", 4000),
        ("1.5GiB", 1_610_612_736),
    ],
)
def test_sizes_are_bytes_and_mb_is_a_power_of_ten(text: str, size: int) -> None:
    assert Size.read(text) == size
    assert type(Size.read(text)) is Size


def test_rates_are_per_second_and_percentages_fractions() -> None:
    assert Rate.read("2000/s") == 2000
    assert Rate.read("30/min") == 0.5
    assert Fraction.read("5%") == 0.05


@pytest.mark.parametrize(
    "value", [30, 0, 1.5, "30", "", "s", "-1s", "1e3s", "5 minutes long", True, None, [1], "٣s"]
)
def test_what_is_no_duration_is_refused(value: object) -> None:
    with pytest.raises(SettingError) as caught:
        Duration.read(value)
    assert "30s" in caught.value.advice


@pytest.mark.parametrize(
    ("text", "meant"),
    [("30", "30s"), ("30sec", "30s"), ("5m", "5min"), ("2hours", "2h"), ("1S", "1s"), ("9parsecs", None)],
)
def test_a_slip_names_what_was_meant(text: str, meant: str | None) -> None:
    with pytest.raises(SettingError) as caught:
        Duration.read(text)
    assert caught.value.nearest == meant


@given(st.integers(0, 10**18))
def test_a_written_duration_is_read_as_the_same_nanoseconds(ns: int) -> None:
    duration = Duration(ns / 1e9)
    assert Duration.read(duration.text).ns == duration.ns


@given(st.integers(0, 2**60))
def test_a_written_size_is_read_as_the_same_bytes(size: int) -> None:
    assert Size.read(Size(size).text) == size


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0s"), (30, "30s"), (90, "90s"), (300, "5min"), (0.2, "200ms"), (7200, "2h"), (1.5, "1500ms")],
)
def test_durations_are_written_as_people_would(seconds: float, text: str) -> None:
    assert Duration(seconds).text == text
