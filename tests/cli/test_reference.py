"""Generated pages of the reference are those of the present commands and incidents."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("name", ["commands-reference", "incidents-reference"])
def test_a_generated_page_is_up_to_date(name: str) -> None:
    script = str(ROOT / "scripts" / name)
    checked = subprocess.run([sys.executable, script, "--check"], capture_output=True, text=True)
    assert checked.returncode == 0, checked.stderr
