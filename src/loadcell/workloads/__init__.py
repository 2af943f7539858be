"""Workloads: one module each, with its options.

The names of distributions of keys are here, so that completion in a shell imports no workload.
"""

from __future__ import annotations

from typing import Literal, get_args

Distribution = Literal[
    "uniform", "zipfian", "scrambled_zipfian", "latest", "hotspot", "gaussian", "exponential", "sequential"
]
DISTRIBUTIONS: tuple[str, ...] = get_args(Distribution)
