"""Finished output of other tools becomes a run that reports and comparisons treat like any other."""
