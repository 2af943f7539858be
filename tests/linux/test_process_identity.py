"""End of a recorded process, as seen from its container, from others, and after a reboot."""

from __future__ import annotations

import os
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from loadcell.linux import procfs
from loadcell.linux.process_identity import _INITIAL, ProcessIdentity


@pytest.fixture
def me() -> ProcessIdentity:
    return ProcessIdentity.of_this_process()


@pytest.fixture
def dead(me: ProcessIdentity) -> ProcessIdentity:
    with subprocess.Popen(["true"]) as child:
        child.wait()
    return replace(me, pid=child.pid)


def test_in_the_same_namespace_and_boot_the_start_time_decides(
    me: ProcessIdentity, dead: ProcessIdentity
) -> None:
    assert me.boot
    assert me.namespace == str(Path("/proc/self/ns/pid").readlink())
    assert me.has_ended() is False
    assert dead.has_ended() is True
    assert replace(me, started=me.started - 1).has_ended() is True, "the id was given to another process"


def test_a_zombie_has_ended(me: ProcessIdentity) -> None:
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as child:
        started = procfs.started(child.pid)
        assert started is not None
        identity = replace(me, pid=child.pid, started=started)
        assert identity.has_ended() is False
        child.kill()
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        assert procfs.started(child.pid) == started
        assert identity.has_ended() is True


def test_of_another_container_nothing_is_known(dead: ProcessIdentity) -> None:
    elsewhere = replace(dead, namespace="pid:[1]")
    assert elsewhere.has_ended() is None
    assert elsewhere.has_ended(local=True) is None


def test_of_another_machine_with_the_same_host_name_nothing_is_known(dead: ProcessIdentity) -> None:
    assert replace(dead, boot="other", namespace=_INITIAL, machine="other").has_ended() is None
    assert replace(dead, boot="other", namespace=_INITIAL, machine="").has_ended() is None


def test_a_process_of_before_a_reboot_has_ended(me: ProcessIdentity, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("loadcell.linux.process_identity._here", lambda: (_INITIAL, "0123456789ab"))
    before = replace(me, boot="earlier", namespace=_INITIAL, machine="0123456789ab")
    assert before.has_ended() is True
    in_a_container = replace(before, namespace="pid:[4026532001]")
    assert in_a_container.has_ended() is None, "two containers may have one image's machine id"
    assert in_a_container.has_ended(local=True) is True, "on a disk of this machine"
    clone = replace(before, host="other")
    assert clone.has_ended() is None, "virtual machines of one template have its machine id"
    assert replace(before, host="").has_ended() is None


def test_records_of_earlier_versions_are_judged_only_on_a_disk_of_this_machine(
    me: ProcessIdentity, dead: ProcessIdentity
) -> None:
    for process, ended in ((me, False), (dead, True)):
        old = ProcessIdentity(process.pid, process.started)
        assert old.has_ended() is None
        assert old.has_ended(local=True) is ended
