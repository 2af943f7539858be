"""Long commands without output tell that they still run."""

from __future__ import annotations

import subprocess
import time

from scripts_of_make import SCRIPTS


def test_a_long_command_is_reported_and_ends_with_its_status() -> None:
    began_s = time.monotonic()
    ended = subprocess.run(
        [SCRIPTS / "still", "0.2", "building", "sh", "-c", "sleep 1; exit 3"],
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
    )
    assert ended.returncode == 3
    assert ended.stdout.splitlines()[:2] == ["still building: 0 min"] * 2
    assert time.monotonic() - began_s < 20


def test_its_output_ends_with_the_command() -> None:
    began_s = time.monotonic()
    ended = subprocess.run(
        [SCRIPTS / "still", "60", "building", "echo", "done"],
        capture_output=True,
        text=True,
        check=True,
        timeout=90,
    )
    assert ended.stdout == "done\n"
    assert time.monotonic() - began_s < 20
