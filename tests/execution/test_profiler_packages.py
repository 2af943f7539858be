"""Lacks of profilers on a machine: reported once, before the first trial, with the remedy."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from loadcell.execution import profiler_packages
from loadcell.model.message import Message
from loadcell.plan.profile import (
    CpuProfile,
    JvmClassesProfile,
    JvmCpuProfile,
    JvmLockProfile,
    Profile,
)

NO_ACCESS = (
    "[ERROR] Failed to execute goal on project x: Could not transfer artifact a:b:jar:1 from/to central: "
    "Connection refused"
)
#: Copies a file that is no jar of async-profiler to the output directory.
WRONG_FILE = """for word in "$@"; do
  case $word in -DoutputDirectory=*) echo wrong > "${word#*=}/async-profiler-4.3.jar";; esac
done"""


def without_maven(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str | None) -> None:
    """An empty cache, and a PATH with this Maven or without any."""
    (folder / "bin").mkdir()
    if script is not None:
        (folder / "bin" / "mvn").write_text(f"#!/bin/sh\n{script}\n")
        (folder / "bin" / "mvn").chmod(0o755)
    (folder / "bin" / "sh").symlink_to(shutil.which("sh") or "")
    monkeypatch.setenv("PATH", str(folder / "bin"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "cache"))


@pytest.mark.parametrize(
    ("script", "finding", "remedy"),
    [
        (None, "this machine has no program `mvn`", "`apt-get install maven`"),
        (f"echo '{NO_ACCESS}'; exit 1", "Connection refused", "~/.m2/settings.xml"),
        (WRONG_FILE, "is not the released file", "~/.m2/repository"),
    ],
)
def test_a_package_that_cannot_be_had_is_noted_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str | None, finding: str, remedy: str
) -> None:
    without_maven(tmp_path, monkeypatch, script)
    notes: list[Message] = []
    profiler_packages.prepare([JvmCpuProfile(), JvmLockProfile()], notes.append, lambda _: None)
    assert finding in notes[0].text
    assert remedy in notes[0].text
    if script is not None:
        assert len(notes) == 1, "Maven is asked once"
    assert profiler_packages.unpacked(JvmCpuProfile()) is not None


def test_check_reports_what_is_missing_or_will_be_downloaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_maven(tmp_path, monkeypatch, None)
    profiles: list[Profile] = [CpuProfile(), JvmCpuProfile(), JvmClassesProfile()]
    perf, maven = [message.text for message in profiler_packages.remarks(profiles)]
    assert perf == "perf is not installed"
    assert "tools.profiler:async-profiler:4.3 is downloaded by Maven" in maven
    (tmp_path / "bin" / "mvn").write_text("#!/bin/sh\n")
    (tmp_path / "bin" / "mvn").chmod(0o755)
    [message] = profiler_packages.remarks([JvmCpuProfile(), JvmLockProfile()])
    assert "will be downloaded by Maven before the first trial" in message.text


def test_a_named_library_needs_neither_maven_nor_the_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_maven(tmp_path, monkeypatch, None)
    library = tmp_path / "libasyncProfiler.so"
    profile = JvmCpuProfile.model_validate({"library": str(library)})
    [message] = profiler_packages.remarks([profile])
    assert message.text == f"there is no file {library}"
    assert "`profile.jvm-cpu.library`" in str(message.remedy and message.remedy.text)
    library.touch()
    assert list(profiler_packages.remarks([profile])) == []
    assert profiler_packages.unpacked(profile) is None
