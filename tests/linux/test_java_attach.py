"""Commands of a JVM over its socket in /tmp, where other users can leave files, too."""

from __future__ import annotations

import os
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from jvms import running
from loadcell.linux import java_attach
from loadcell.linux.java_attach import FOREIGN_SOCKET, AttachError, run


@pytest.fixture
def jvm(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """A JVM with its own working directory."""
    with running("-Xmx64m", prefix=("env", "-C", str(tmp_path))) as process:
        yield process


def refused(pid: int) -> str:
    """Code of the refusal of a command."""
    with pytest.raises(AttachError) as caught:
        run(pid, "VM.version", 0.5)
    return caught.value.message.code


@pytest.mark.parametrize("way", ["mode", "owner", "link", "file"])
def test_a_socket_of_another_user_is_not_used(jvm: subprocess.Popen[str], tmp_path: Path, way: str) -> None:
    if way == "owner" and os.getuid() != 0:
        pytest.skip("only root makes files of other users")
    path = Path(f"/tmp/.java_pid{jvm.pid}")
    with socket.socket(socket.AF_UNIX) as server:
        bound = tmp_path / "socket" if way == "link" else path
        if way == "file":
            bound.write_text("")
        else:
            server.bind(str(bound))
            server.listen()
        bound.chmod(0o666 if way == "mode" else 0o600)
        if way == "owner":
            os.chown(bound, 65534, 65534)
        if way == "link":
            path.symlink_to(bound)
        try:
            assert refused(jvm.pid) == FOREIGN_SOCKET.code
        finally:
            path.unlink()


def test_the_socket_of_the_jvm_is_used(jvm: subprocess.Popen[str], tmp_path: Path) -> None:
    assert "OpenJDK" in run(jvm.pid, "VM.version", 5.0)
    assert list(tmp_path.iterdir()) == []


def test_no_file_remains_of_a_jvm_that_ends_meanwhile(
    jvm: subprocess.Popen[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    created: list[Path] = []

    def end(*_: object) -> bool:
        created.extend(tmp_path.iterdir())
        jvm.kill()
        jvm.wait()
        return False

    monkeypatch.setattr(java_attach, "send", end)
    assert refused(jvm.pid) == "java-command.ended"
    assert [path.name for path in created] == [f".attach_pid{jvm.pid}"]
    assert list(tmp_path.iterdir()) == []
