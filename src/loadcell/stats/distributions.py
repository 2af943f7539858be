"""Tails and quantiles of distributions; a lazy module, because scipy is slow to load."""

from __future__ import annotations

from scipy.special import fdtrc, stdtr, stdtrit

__all__ = ["f_tail", "stdtr", "stdtrit", "t_quantile"]


def f_tail(f: float, above: int, below: int) -> float:
    """The probability that a ratio of two mean squares with these degrees of freedom is `f` or more by
    chance.
    """
    return float(fdtrc(above, below, f)) if f > 0 else 1.0


def t_quantile(share: float, freedom: int) -> float:
    """Two-sided quantile of Student's t with `freedom` degrees of freedom, for probability `share`."""
    return float(stdtrit(freedom, (1 + share) / 2))
