"""The git checkout of a directory, with the real git."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from loadcell.linux.checkout import checkout_of
from loadcell.model.run_record import Checkout


def git(directory: Path, *words: str) -> str:
    identity = ("-c", "user.name=Test", "-c", "user.email=test@example.org", "-c", "commit.gpgsign=false")
    done = subprocess.run(
        ["git", *identity, "-C", str(directory), *words], capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A checkout with one commit on the branch `main`."""
    git(tmp_path, "init", "--quiet", "--initial-branch=main")
    (tmp_path / "plan.yaml").write_text("a")
    git(tmp_path, "add", "plan.yaml")
    git(tmp_path, "commit", "--quiet", "--message=first")
    return tmp_path


def test_commit_and_branch_are_those_of_git(tree: Path) -> None:
    commit = git(tree, "rev-parse", "HEAD")
    assert checkout_of(tree) == Checkout(commit, "main", dirty=False)
    (tree / "below").mkdir()
    assert checkout_of(tree / "below") == Checkout(commit, "main", dirty=False)


def test_a_changed_file_makes_it_dirty_and_a_new_one_does_not(tree: Path) -> None:
    (tree / "results").mkdir()
    (tree / "results" / "run.json").write_text("{}")
    before = checkout_of(tree)
    assert before is not None
    assert not before.dirty
    (tree / "plan.yaml").write_text("b")
    after = checkout_of(tree)
    assert after is not None
    assert after.dirty
    assert after.name == f"{git(tree, 'rev-parse', 'HEAD')[:10]}-dirty"


def test_a_detached_head_has_no_branch(tree: Path) -> None:
    git(tree, "checkout", "--quiet", "--detach")
    assert checkout_of(tree) == Checkout(git(tree, "rev-parse", "HEAD"), None, dirty=False)


def test_a_new_repository_has_no_commit(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet", "--initial-branch=main")
    assert checkout_of(tmp_path) == Checkout(None, "main", dirty=False)


def test_without_a_repository_nothing_is_known(tmp_path: Path) -> None:
    assert checkout_of(tmp_path) is None
    assert checkout_of(tmp_path / "nowhere") is None


def test_without_git_nothing_is_known(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tree / "nowhere"))
    assert checkout_of(tree) is None


def test_a_git_that_hangs_is_not_waited_for(
    tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "bin" / "git"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\nexec sleep 60\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")
    assert checkout_of(tree, limit_s=0.2) is None


def test_the_repository_starts_no_program(tree: Path) -> None:
    hook = tree / "hook"
    hook.write_text("#!/bin/sh\ntouch started\n")
    hook.chmod(0o755)
    git(tree, "config", "core.fsmonitor", str(hook))
    assert checkout_of(tree) is not None
    assert not (tree / "started").exists()


@pytest.mark.parametrize("driver", ["clean", "process"])
@pytest.mark.parametrize("name", ["x", "a.b c", "a=b"])
def test_filters_of_the_repository_do_not_run(tree: Path, driver: str, name: str) -> None:
    """git reads a file again whose time is another than that of its index."""
    program = tree / "filter"
    program.write_text(f"#!/bin/sh\ntouch '{tree}/started'\ncat\n")
    program.chmod(0o755)
    (tree / ".git" / "info" / "attributes").write_text(f"*.yaml filter={name}\n")
    git(tree, "config", f"filter.{name}.{driver}", str(program))
    git(tree, "config", f"filter.{name}.required", "true")
    os.utime(tree / "plan.yaml", (1e9, 1e9))
    checkout = checkout_of(tree)
    assert not (tree / "started").exists()
    assert checkout == (None if "=" in name else Checkout(git(tree, "rev-parse", "HEAD"), "main"))
    if name == "x":
        git(tree, "status") if driver == "clean" else None
        assert (tree / "started").exists() == (driver == "clean"), "git alone starts it"
