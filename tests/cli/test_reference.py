"""docs/reference/commands.md says what `--help` says."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_the_commands_page_is_what_help_says() -> None:
    script = str(ROOT / "scripts" / "commands-reference")
    checked = subprocess.run([sys.executable, script, "--check"], capture_output=True, text=True)
    assert checked.returncode == 0, checked.stderr
