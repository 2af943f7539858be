"""Loading modules and making a report without the search for cycles in between: both make hundreds of
thousands of objects that stay.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def uncollected() -> Iterator[None]:
    """No search meanwhile, which a seventh of the time to load altair goes to; afterwards as before."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def keep_loaded() -> None:
    """Exclude all that is loaded from the searches to come, the last of which, at exit, takes a third of a
    second where altair is loaded. DuckDB reports what such an exclusion keeps of it, so it must not be loaded.
    """
    if "duckdb" not in sys.modules:
        gc.freeze()
