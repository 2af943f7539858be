"""Embedded stores as a target: key-value engines in the process that makes the load."""
