"""Requests of a search's lowest rate: enough for the percentiles that its bounds name.

A percentile that no request lies beyond is unknown, so the lowest level would have no answer and the search
would end there.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from loadcell.model.message import Count, Message, MessageCode, Seconds
from loadcell.plan import rate
from loadcell.plan.expect import QUANTILES, needed
from loadcell.plan.search import RATE, Search

if TYPE_CHECKING:
    from loadcell.plan.model import Load

SEARCH_TOO_FEW_REQUESTS = MessageCode(
    "plan.search-too-few-requests", low=str, requests=Count, percentile=str, needed=Count, duration_s=Seconds
)


def too_few(search: Search, load: Load) -> Message | None:
    """Message on the lowest level of a search if it has too few requests; None otherwise."""
    if search.key != RATE or load.rate is None or load.expected_s is None:
        return None
    requests = rate.requests(load.rate, load.expected_s)
    percentiles = [name for bound in search.bounds for name in QUANTILES if bound.metric.endswith(f".{name}")]
    percentile = max(percentiles, key=lambda name: QUANTILES[name], default=None)
    if percentile is None or requests >= needed(QUANTILES[percentile]):
        return None
    least = needed(QUANTILES[percentile])
    return SEARCH_TOO_FEW_REQUESTS(
        low=search.labels[0],
        requests=round(requests),
        percentile=percentile,
        needed=least,
        duration_s=math.ceil(load.expected_s * least / requests) if requests else math.inf,
    )
