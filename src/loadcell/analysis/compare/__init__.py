"""Comparison of two or more systems: how much faster, how surely, and whether that matters.

`stats/MATH.md` derives the estimates and intervals.
"""
