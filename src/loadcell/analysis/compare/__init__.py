"""Comparison of two or more systems: how much faster, how surely, and whether that matters.

MATH.md beside this file derives what is computed here.
"""
