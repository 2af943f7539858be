"""A suite in an empty directory."""

from __future__ import annotations

from pathlib import Path

import pytest

from suites import Suite


@pytest.fixture
def suite(tmp_path: Path) -> Suite:
    """A suite that the test writes."""
    return Suite(tmp_path)
