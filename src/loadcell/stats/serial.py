"""Correlation of consecutive repeats, by whole blocks.

The interval of a median presumes independent repeats. What all treatments of a block have in common may
differ from block to block, but must not be alike in neighbouring ones. The lag-1 products of whole blocks are
compared with those of the same blocks in other orders: a permutation test, exact whatever the trials of a
block share (Wald and Wolfowitz 1943). Of 6 to 10 blocks it finds a correlation of 0.5 in 16 to 36 % only.
"""

from __future__ import annotations

import numpy as np

from loadcell.stats.energy import Array

#: Orders that are tried, from a fixed seed: p is known to 0.01 at 0.05.
ORDERS, SEED = 1999, 1943
#: Blocks without which no order is rare enough.
FEWEST_BLOCKS = 5


def consecutive_alike(residuals: Array) -> float | None:
    """Probability that chance makes consecutive blocks as alike as these; None with too few.

    `residuals` has a row a block, in the order they ran, and a column a treatment: deviations from the
    treatment's level, 0 where there is no trial.
    """
    blocks = residuals.shape[0]
    products = residuals @ residuals.T
    if blocks < FEWEST_BLOCKS or not products.any():
        return None
    orders = np.random.default_rng(SEED).permuted(np.tile(np.arange(blocks), (ORDERS, 1)), axis=1)
    sums = products[orders[:, 1:], orders[:, :-1]].sum(axis=1)
    as_measured = products[np.arange(1, blocks), np.arange(blocks - 1)].sum()
    least = as_measured - 1e-9 * abs(products).sum()
    return float((1 + (sums >= least).sum()) / (1 + ORDERS))
