"""Loads without a plan file: what `loadcell sql`, `http` and `redis` have in common.

A command says which target and workload its words mean; its options make a plan of that, which is run as any
other.
"""
