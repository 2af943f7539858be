"""Incidents made for real, recognised, remedied, and examined again: all of them."""

from __future__ import annotations

from typing import Final

from .batch_rehearsal import REHEARSALS as OF_BATCHES
from .clock_rehearsals import REHEARSALS as OF_CLOCKS
from .plan_rehearsals import REHEARSALS as OF_PLANS

REHEARSALS: Final = (*OF_PLANS, *OF_CLOCKS, *OF_BATCHES)
