"""Tests without root's rights: root may read everything."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

NOBODY = 65534


@contextmanager
def nobody() -> Iterator[None]:
    """Become the user nobody, where the tests run as root; else stay the same user.

    The real user changes as well, which is whose rights `access` asks for.
    """
    root = os.geteuid() == 0
    if root:
        os.setresuid(NOBODY, NOBODY, 0)
    try:
        yield
    finally:
        if root:
            os.setresuid(0, 0, 0)
