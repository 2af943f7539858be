"""Servers that a command of the plan starts."""
