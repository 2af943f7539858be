"""Readers of other tools' outputs: one module a tool."""
