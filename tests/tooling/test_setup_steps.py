"""`make setup` prints each of its steps, which take minutes."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_each_step_of_the_setup_is_announced(tmp_path: Path) -> None:
    command = ["make", "-n", "setup", f"VENV={tmp_path}/venv"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert re.findall(r"step (\d) of 4: \w+", done.stdout) == ["1", "2", "3", "4"]
