"""The distributions by which keys are drawn: apart from their workload, so that a shell's completion need not
import it.
"""

from __future__ import annotations

from typing import Literal, get_args

Distribution = Literal[
    "uniform",
    "zipfian",
    "scrambled_zipfian",
    "latest",
    "hotspot",
    "gaussian",
    "exponential",
    "sequential",
]
DISTRIBUTIONS: tuple[str, ...] = get_args(Distribution)
