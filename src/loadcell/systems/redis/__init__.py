"""Redis as a target, and compatible servers: one run by loadcell from the machine's binaries, or an existing
one.
"""
