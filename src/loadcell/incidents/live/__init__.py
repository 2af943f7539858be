"""Gatherers of evidence from this host, one module a topic (`PART`), each in a separate process.

A process that hangs on a dead mount can neither be ended nor waited for; it is left behind, and its topic is
reported as missing.
"""
