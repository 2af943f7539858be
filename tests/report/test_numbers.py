"""Numbers as people read them."""

from __future__ import annotations

import pytest

from loadcell.model import numbers


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (0, "0"), (12.345, "12.3"), (0.012345, "0.0123"), (9.996, "10.0"), (99.96, "100"), (999.6, "1,000"),
        (123456.7, "123,457"), (-12.345, "-12.3"), (float("inf"), "∞"), (float("nan"), "–"),
    ],
)  # fmt: skip
def test_three_significant_digits_but_never_fewer_than_before_the_point(value: float, written: str) -> None:
    assert numbers.significant(value) == written


@pytest.mark.parametrize(("value", "written"), [(2859.13, "2,859"), (440.25, "440.2"), (3.14159, "3.142")])
def test_rates_have_one_digit_more(value: float, written: str) -> None:
    assert numbers.rate(value) == written


@pytest.mark.parametrize(
    ("value", "written"),
    [(12.34, "12.3 ms"), (0.1234, "0.123 ms"), (12_340, "12.3 s"), (0.00474, "4.74 µs"), (0, "0 ms")],
)
def test_latencies_carry_their_unit(value: float, written: str) -> None:
    assert numbers.milliseconds(value) == written


@pytest.mark.parametrize(
    ("value", "written"),
    [(0, "0%"), (0.044, "4.4%"), (0.00001, "<0.01%"), (0.9999, ">99.9%"), (1, "100%"), (0.4567, "46%")],
)
def test_shares_are_percent_and_never_round_to_all_or_nothing(value: float, written: str) -> None:
    assert numbers.share(value) == written


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (0.35, "0.35 s"), (5.0, "5 s"), (30, "30 s"), (125, "2 min 5 s"), (120, "2 min"), (3840, "1 h 4 min"),
        (7200, "2 h"), (0.089, "89 ms"), (0.0096, "9.6 ms"), (0.05, "50 ms"), (1.1e-5, "11 µs"), (0, "0 s"),
    ],
)  # fmt: skip
def test_durations(value: float, written: str) -> None:
    assert numbers.seconds(value) == written


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (0, "0 s"), (0.6744, "0.674 s"), (59.9999, "1 min 0.0 s"), (125.12, "2 min 5.1 s"),
        (3605, "1 h 0 min 5 s"), (90_061, "1 d 1 h 1 min"),
    ],
)  # fmt: skip
def test_instants_are_finer_than_durations(value: float, written: str) -> None:
    assert numbers.instant(value) == written


@pytest.mark.parametrize(
    ("value", "written"), [(9e-13, "<0.001"), (0.0034, "0.003"), (0.254, "0.25"), (1, "1.0")]
)
def test_probabilities_have_no_exponent(value: float, written: str) -> None:
    assert numbers.probability(value) == written


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (0, "0 B"),
        (0.0727, "<1 B"),
        (12.3, "12 B"),
        (512, "512 B"),
        (1023.9, "1 KiB"),
        (1536, "1.50 KiB"),
        (2**35, "32 GiB"),
        (290_000_000, "277 MiB"),
        (1023.6 * 2**20, "1 GiB"),
    ],
)  # fmt: skip
def test_sizes_are_binary(value: float, written: str) -> None:
    assert numbers.size(value) == written
