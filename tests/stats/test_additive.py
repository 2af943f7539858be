"""Rows and blocks taken apart: what drifts with the machine is not what treatments do."""

from __future__ import annotations

import numpy as np
import pytest

from loadcell.stats import additive


def test_rows_and_blocks_are_recovered_exactly_where_there_is_no_noise() -> None:
    row, block = np.repeat([0, 1, 2], 4), np.tile([0, 1, 2, 3], 3)
    rows, blocks = np.array([1.0, 5.0, 2.0]), np.array([0.3, -0.1, -0.4, 0.2])
    fitted = additive.fit(rows[row] + blocks[block], row, block)
    assert fitted.rows == pytest.approx(rows)
    assert fitted.blocks == pytest.approx(blocks)
    assert (fitted.freedom, fitted.variance) == (6, None)


def test_a_trial_that_is_missing_does_not_make_its_row_look_slow() -> None:
    """The fast block lacks the third row's trial: plain means would put that row too low."""
    row, block = np.array([0, 0, 1, 1, 2]), np.array([0, 1, 0, 1, 0])
    values = np.array([0.0, 1.0, 10.0, 11.0, 20.0])
    fitted = additive.fit(values, row, block)
    assert np.diff(fitted.rows) == pytest.approx([10, 10], abs=1e-9)
    assert fitted.freedom == 1


def test_the_variance_is_that_of_the_noise() -> None:
    chance = np.random.default_rng(1)
    row, block = np.repeat(np.arange(40), 10), np.tile(np.arange(10), 40)
    values = row + 0.5 * block + chance.normal(0, 0.1, 400)
    fitted = additive.fit(values, row, block)
    assert fitted.freedom == 400 - 40 - 10 + 1
    assert fitted.variance == pytest.approx(0.01, rel=0.3)


def test_one_repeat_leaves_nothing_to_know_the_noise_from() -> None:
    fitted = additive.fit(np.array([1.0, 2.0, 3.0]), np.array([0, 1, 2]), np.array([0, 0, 0]))
    assert (fitted.freedom, fitted.variance) == (0, None)


def test_rows_that_share_no_block_keep_their_own_level() -> None:
    row, block = np.array([0, 0, 1, 1]), np.array([0, 1, 2, 3])
    fitted = additive.fit(np.array([1.0, 1.2, 9.0, 9.4]), row, block)
    assert fitted.freedom == 0


def test_draws_scatter_as_means_of_repeats_do_and_wider_where_little_is_known() -> None:
    chance = np.random.default_rng(2)
    row, block = np.repeat(np.arange(50), 8), np.tile(np.arange(8), 50)
    fitted = additive.fit(chance.normal(0, 0.1, 400), row, block)
    spread = additive.draws(fitted, 2000, chance).std()
    assert spread == pytest.approx(0.1 / np.sqrt(8), rel=0.1)
    few = additive.fit(chance.normal(0, 0.1, 4), np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1]))
    assert few.freedom == 1
    assert few.inflation > 2 * 6
