"""Machines: what baselines say of them, how two differ, and which difference a workload's own may
come from.
"""
