"""The energy statistic of Székely and Rizzo (2004): how unlike two neighbouring stretches of a series are.

For stretches X (n values) and Y (m values),

    Q(X, Y) = mn/(m+n) [2 E|X-Y| - E|X-X'| - E|Y-Y'|]

with means over all pairs. It is large when the distributions differ, in level or in shape (Matteson and James
2014, *A Nonparametric Approach for Multiple Change Point Analysis of Multivariate Data*, with their alpha =
1).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Split:
    """The most unlike neighbours: `Z[:at]` and `Z[at:end]`; `q` is their statistic."""

    at: int
    end: int
    q: float


def statistics(series: Array) -> Array:
    """Q of `Z[:i]` and `Z[i:k]` at `[..., i, k]`, for every `0 < i < k <= n`; 0 elsewhere.

    `series` has the values along its last axis, and may hold many series: the result is (..., n+1, n+1). Sums
    over all pairs come from one two-dimensional running sum T of the distances, T[i, k] being that of `Z[:i]`
    to `Z[:k]`:
    a series costs n squared, not n to the fourth. With w(i) = T[i, i]/2, the sum over pairs within `Z[:i]`,
    the pairs across are T[i, k] - 2w(i), those within `Z[i:k]` are w(k) + w(i) - T[i, k], and Q is linear in
    the three.
    """
    n = series.shape[-1]
    of_total, of_left, of_interval = _weights(n)
    q = np.zeros((*series.shape[:-1], n + 1, n + 1))
    inner = q[..., 1:, 1:]
    np.subtract(series[..., :, None], series[..., None, :], out=inner)
    np.abs(inner, out=inner)
    np.cumsum(inner, axis=-1, out=inner)
    np.cumsum(inner, axis=-2, out=inner)
    within = np.diagonal(q, axis1=-2, axis2=-1) / 2
    q *= of_total
    q -= of_left * within[..., :, None]
    q -= of_interval * within[..., None, :]
    return q


@lru_cache(maxsize=32)
def _weights(n: int) -> tuple[Array, Array, Array]:
    """Weights of T[i, k], w(i) and w(k) in Q[i, k]; 0 where there is no split."""
    i, k = np.arange(n + 1.0)[:, None], np.arange(n + 1.0)[None, :]
    left_size, right_size = i, k - i
    split = (left_size > 0) & (right_size > 0)
    pair_weights = np.divide(2, k, out=np.zeros((n + 1, n + 1)), where=split)
    of_left = np.divide(
        pair_weights * right_size,
        left_size - 1,
        out=np.zeros_like(pair_weights),
        where=split & (left_size > 1),
    )
    of_right = np.divide(
        pair_weights * left_size,
        right_size - 1,
        out=np.zeros_like(pair_weights),
        where=split & (right_size > 1),
    )
    return pair_weights + of_right, 2 * pair_weights + of_left + of_right, of_right


def best_split(series: Array, least: int = 1) -> Split | None:
    """Where the series is most unlike what came before, the end of the second stretch left free.

    `least` values are left on either side. None when there is no such place, or the series is constant.
    """
    if series.size < 2 * least:
        return None
    q = statistics(series)[least : series.size - least + 1]
    at, end = np.unravel_index(np.argmax(q), q.shape)
    highest = float(q[at, end])
    return Split(int(at) + least, int(end), highest) if highest > 0 else None


def best_halves(series: Array, least: int) -> tuple[Split, ...]:
    """The most unlike two sides of the whole series, then the most unlike stretch beside what came before it.

    Both have at least `least` values on either side. Empty if the series is too short or constant.
    """
    n = series.size
    if n < 2 * least:
        return ()
    q = statistics(series)
    rows, columns = np.ogrid[: n + 1, : n + 1]
    q[(rows < least) | (columns - rows < least)] = -np.inf
    halves = int(np.argmax(q[:, n]))
    at, end = np.unravel_index(np.argmax(q), q.shape)
    splits = Split(halves, n, float(q[halves, n])), Split(int(at), int(end), float(q[at, end]))
    return splits if splits[1].q > 0 else ()


def highest(series: Array, least: int = 1) -> Array:
    """The statistic of the best split of each of many series (one a row)."""
    maxima: Array = statistics(series)[:, least : series.shape[-1] - least + 1].max(axis=(-2, -1))
    return maxima
