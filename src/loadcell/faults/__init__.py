"""Faults: what a plan breaks on purpose while a load runs; one file per action, found by scanning."""
