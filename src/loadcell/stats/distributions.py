"""Student's t and Fisher's F, which intervals of means and tests of variances need."""

from __future__ import annotations


def f_tail(f: float, above: int, below: int) -> float:
    """The probability that a ratio of two mean squares with these degrees of freedom is `f` or more by
    chance.
    """
    from scipy.special import fdtrc

    return float(fdtrc(above, below, f)) if f > 0 else 1.0


def t_quantile(share: float, freedom: int) -> float:
    """Two-sided quantile of Student's t with `freedom` degrees of freedom, for probability `share`."""
    from scipy.special import stdtrit

    return float(stdtrit(freedom, (1 + share) / 2))
