"""Embedded stores as a target: key-value engines in the process that makes the load."""

from __future__ import annotations

from loadcell.targets.store.options import StoreOptions
from loadcell.targets.store.target import Store

PART = Store

__all__ = ["PART", "Store", "StoreOptions"]
