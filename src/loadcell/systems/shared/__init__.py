"""Shared parts of targets that start servers."""
