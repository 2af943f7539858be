"""Rows and blocks taken apart: what drifts with the machine is not what treatments do."""

from __future__ import annotations

import numpy as np
import pytest
import scipy

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


def test_a_chain_of_blocks_is_solved_for() -> None:
    """Twenty rows, each in two blocks only: the first and the last are joined by all of the others."""
    row, block = np.repeat(np.arange(20), 2), np.repeat(np.arange(20), 2) + np.tile([0, 1], 20)
    fitted = additive.fit(3.0 * row - 2.0 * block, row, block)
    assert np.diff(fitted.rows) == pytest.approx(3)
    assert np.diff(fitted.blocks) == pytest.approx(-2)
    assert fitted.blocks.sum() == pytest.approx(0)


def test_the_error_of_a_difference_in_balanced_incomplete_blocks_is_the_textbooks() -> None:
    """2k / (lambda t) with blocks of k = 2 of t = 3 rows, each pair in lambda = 1 of them (Yates 1936)."""
    row, block = np.array([0, 1, 0, 2, 1, 2]), np.array([0, 0, 1, 1, 2, 2])
    fitted = additive.fit(np.arange(6.0), row, block)
    error = fitted.error_of_difference(0, 1)
    assert error == pytest.approx(np.sqrt(2 * 2 / 3))
    assert fitted.error(np.array([1.0, -1.0, 0.0])) == pytest.approx(error)
    assert fitted.effective_count == pytest.approx(1.5)


def test_the_error_of_a_difference_is_what_repeated_fits_scatter_by() -> None:
    chance = np.random.default_rng(5)
    row, block = np.array([0, 0, 0, 1, 1, 2, 2, 2, 2, 0]), np.array([0, 1, 2, 2, 3, 0, 1, 2, 3, 0])
    fits = [additive.fit(chance.normal(0, 1, 10) + 9 * block, row, block) for _ in range(4000)]
    scatter = float(np.std([fitted.rows[0] - fitted.rows[1] for fitted in fits]))
    error = fits[0].error_of_difference(0, 1)
    assert scatter == pytest.approx(error, rel=0.05)
    assert scatter > 1.1 * np.sqrt(1 / 4 + 1 / 2), "more than from numbers of values alone"
    draws = np.concatenate([additive.draws(fitted, 50, chance) / fitted.inflation for fitted in fits[:200]])
    freedom = fits[0].freedom
    drawn = float(np.std(draws[:, 0] - draws[:, 1])) * np.sqrt(10 / freedom)
    assert drawn == pytest.approx(error, rel=0.1)


def test_every_row_in_every_block_has_the_error_of_independent_means() -> None:
    row, block = np.repeat([0, 1, 2], 4), np.tile([0, 1, 2, 3], 3)
    fitted = additive.fit(np.arange(12.0) ** 2, row, block)
    assert fitted.inverse is None
    assert fitted.error_of_difference(0, 2) == pytest.approx(np.sqrt(1 / 4 + 1 / 4))
    assert fitted.error(np.array([1.0, -0.5, -0.5])) == pytest.approx(np.sqrt(1.5 / 4))
    assert fitted.effective_count == 4


def test_nothing_is_known_of_a_difference_between_rows_that_no_blocks_join() -> None:
    row, block = np.array([0, 0, 1, 1, 2, 2, 3, 3]), np.array([0, 1, 0, 1, 2, 3, 2, 3])
    fitted = additive.fit(np.arange(8.0), row, block)
    assert fitted.islands.tolist() == [0, 0, 1, 1]
    assert fitted.freedom == 2
    assert fitted.error_of_difference(0, 1) == pytest.approx(1)
    assert fitted.error_of_difference(0, 2) is None
    assert fitted.error(np.array([1.0, 0.0, -1.0, 0.0])) is None


def test_draws_scatter_as_means_of_repeats_do_and_wider_where_little_is_known() -> None:
    chance = np.random.default_rng(2)
    row, block = np.repeat(np.arange(50), 8), np.tile(np.arange(8), 50)
    fitted = additive.fit(chance.normal(0, 0.1, 400), row, block)
    spread = additive.draws(fitted, 2000, chance).std()
    assert spread == pytest.approx(0.1 / np.sqrt(8), rel=0.1)
    few = additive.fit(chance.normal(0, 0.1, 4), np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1]))
    assert few.freedom == 1
    assert few.inflation > 2 * 6


def test_levenes_test_is_scipys_where_rows_share_one_block() -> None:
    chance = np.random.default_rng(3)
    table = chance.normal(0, [[1.0], [1.5], [2.0]], (3, 12))
    row = np.repeat(np.arange(3), 12)
    fitted = additive.fit(table.ravel(), row, np.zeros(36, dtype=np.int64))
    assert additive.scatter_p(fitted) == pytest.approx(scipy.stats.levene(*table, center="mean").pvalue)
    assert additive.row_variances(fitted) == pytest.approx(table.var(axis=1, ddof=1))


@pytest.mark.parametrize(
    ("deviations", "missing"),
    [((1, 1, 5), ()), ((1, 2, 3, 4), ()), ((1, 1, 2, 5), ((0, 0), (1, 3), (2, 3), (3, 7), (0, 7)))],
)
def test_variances_of_rows_are_right_on_average(
    deviations: tuple[float, ...], missing: tuple[tuple[int, int], ...]
) -> None:
    """By squares of residuals alone, a quiet one of three rows would seem to have five times its variance."""
    cells = np.ones((len(deviations), 8), dtype=bool)
    for cell in missing:
        cells[cell] = False
    row, block = np.nonzero(cells)
    chance, truth = np.random.default_rng(6), np.array(deviations) ** 2.0
    estimates = np.stack(
        [
            additive.row_variances(
                additive.fit(
                    chance.normal(0, np.array(deviations)[row]) + chance.normal(0, 9, 8)[block], row, block
                )
            )
            for _ in range(4000)
        ]
    )
    error = estimates.std(axis=0) / np.sqrt(len(estimates))
    assert (np.abs(estimates.mean(axis=0) - truth) < 3.5 * error).all()
    assert (error / truth.max() < 0.02).all()


def test_variances_of_rows_in_whole_blocks_are_those_of_shukla() -> None:
    """Shukla (1972), for t rows in n blocks: [t (t - 1) S(i) - sum S] / [(t - 1)(t - 2)(n - 1)]."""
    table = np.random.default_rng(7).normal(0, [[1.0], [2.0], [3.0], [1.0]], (4, 5))
    row, block = (places.ravel() for places in np.indices(table.shape))
    fitted = additive.fit(table.ravel(), row, block)
    squares = (fitted.residuals.reshape(table.shape) ** 2).sum(axis=1)
    expected = (4 * 3 * squares - squares.sum()) / (3 * 2 * 4)
    assert additive.row_variances(fitted) == pytest.approx(expected)


def test_of_two_rows_or_one_value_no_variance_is_known() -> None:
    row, block = np.array([0, 0, 0, 1, 1, 1]), np.array([0, 1, 2, 0, 1, 2])
    fitted = additive.fit(np.arange(6.0) ** 2, row, block)
    assert np.isnan(additive.row_variances(fitted)).all()
    single = additive.fit(np.arange(10.0) ** 2, np.append(np.repeat([0, 1, 2], 3), 3), np.arange(10) % 3)
    assert np.isnan(additive.row_variances(single)).tolist() == [False, False, False, True]


def test_blocks_explain_besides_rows_what_two_fits_differ_by() -> None:
    """Sum of squares of rows alone less that of rows and blocks, and its expectation by simulation."""
    row, block = np.array([0, 0, 0, 1, 1, 2, 2, 2]), np.array([0, 1, 2, 2, 3, 0, 1, 3])
    chance, squares = np.random.default_rng(8), []
    for _ in range(4000):
        values = row + chance.normal(0, 1, 8) + chance.normal(0, 2, 4)[block]
        between = additive.fit(values, row, block).between_blocks
        assert between is not None
        squares.append(between.squares)
    means = np.bincount(row, values) / np.bincount(row)
    alone = float(np.sum((values - means[row]) ** 2))
    both = float(np.sum(additive.fit(values, row, block).residuals ** 2))
    assert between.squares == pytest.approx(alone - both)
    assert np.mean(squares) == pytest.approx(between.freedom * 1 + between.weight * 4, rel=0.05)
    assert between.variance(noise=between.squares) == 0


def test_blocks_that_no_row_joins_cannot_be_compared() -> None:
    apart = additive.fit(np.arange(4.0), np.array([0, 0, 1, 1]), np.array([0, 0, 1, 1]))
    assert apart.between_blocks is None


@pytest.mark.parametrize(("rows", "blocks", "missing"), [(8, 3, 0), (8, 3, 2), (5, 5, 0)])
def test_few_values_of_one_scatter_seldom_seem_to_differ_in_it(rows: int, blocks: int, missing: int) -> None:
    """By the F distribution 12 % of tables of eight rows and three blocks would be below 5 %."""
    row, block = (places.ravel()[missing:] for places in np.indices((rows, blocks)))
    chance = np.random.default_rng(4)
    p = [additive.scatter_p(additive.fit(chance.normal(size=row.size), row, block)) for _ in range(300)]
    assert np.mean(np.array(p) < 0.05) <= 0.08
    assert np.mean(np.array(p) < 0.5) == pytest.approx(0.5, abs=0.09)
