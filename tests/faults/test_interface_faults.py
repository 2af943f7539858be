"""Faults on the interfaces of hosts in namespaces: their effect, and their undo by what the journal has."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from loadcell.faults.base import Fault
from loadcell.faults.limit_bandwidth import LimitBandwidth
from loadcell.faults.link_down import LinkDown
from loadcell.faults.loss import Loss
from loadcell.faults.partition import Partition
from loadcell.faults.reject import Reject
from loadcell.linux import procfs
from loadcell.plan.parts import Misfit
from loadcell.systems.gluster.hosts import CLIENT, Hosts, address
from loadcell.systems.gluster.options import GlusterOptions
from loadcell.systems.gluster.storage import unmet
from loadcell.systems.gluster.subjects import abilities
from loadcell.systems.subjects import CLIENT_NAME, Subject

pytestmark = pytest.mark.skipif(
    unmet() is not None and "CI" not in os.environ, reason="needs root, GlusterFS and FUSE"
)

SUBJECT = "storage.host-2"
ADDRESSES = {CLIENT_NAME: address(CLIENT), "storage.host-1": address(1), SUBJECT: address(2)}


@pytest.fixture(scope="module")
def hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hosts]:
    path = tmp_path_factory.mktemp("hosts")
    hosts = Hosts(path, 2, path / "mount")
    hosts.start()
    yield hosts
    hosts.stop()


def fault(kind: type[Fault[Any]], hosts: Hosts, **options: Any) -> Fault[Any]:
    subject = Subject(SUBJECT, lambda: (), interfaces=lambda: (hosts.interface(2),), addresses=ADDRESSES)
    return kind(kind.Options.model_validate({"subject": SUBJECT, **options}), subject)


def connections(hosts: Hosts, expected: list[str]) -> list[str]:
    """The outcomes of connections from the client and from host 1 to host 2, where nobody listens.

    `refused` shows that the host is reached; what should be lost gets little time.
    """
    results = []
    for source, outcome in zip((CLIENT, 1), expected, strict=True):
        limit_s = "10" if outcome == "refused" else "0.4"
        command = ["timeout", limit_s, "bash", "-c", f"</dev/tcp/{address(2)}/9"]
        done = subprocess.run(hosts.inside(source, command), capture_output=True, text=True, check=False)
        results.append("refused" if "refused" in done.stderr else "lost")
    return results


REACHED = ["refused", "refused"]


@pytest.mark.parametrize(
    ("kind", "options", "expected"),
    [
        (LinkDown, {}, ["lost", "lost"]),
        (Partition, {}, ["refused", "lost"]),
        (Partition, {"from": ["client"]}, ["lost", "refused"]),
        (Loss, {"share": "100%"}, ["lost", "lost"]),
        (Reject, {}, ["refused", "refused"]),
        (LimitBandwidth, {"bandwidth": "1MB/s"}, ["refused", "refused"]),
    ],
)
def test_hosts_are_separated_until_the_undo(
    kind: type[Fault[Any]], options: dict[str, Any], expected: list[str], hosts: Hosts
) -> None:
    action = fault(kind, hosts, **options)
    arguments = action.prepare()
    assert arguments is not None
    assert kind.is_undone(arguments)
    action.apply()
    assert not kind.is_undone(arguments)
    assert connections(hosts, expected) == expected
    kind.undo(arguments)
    assert kind.is_undone(arguments)
    kind.undo(arguments)  # as after a second look at the journal
    assert connections(hosts, REACHED) == REACHED


def test_faults_of_two_actions_overlap(hosts: Hosts) -> None:
    first, second = fault(Loss, hosts, share="100%"), fault(Partition, hosts)
    undo = [first.prepare(), second.prepare()]
    first.apply()
    second.apply()
    assert undo[0] is not None
    Loss.undo(undo[0])
    assert connections(hosts, ["refused", "lost"]) == ["refused", "lost"]
    assert undo[1] is not None
    Partition.undo(undo[1])


def test_the_end_of_the_namespaces_is_the_end_of_the_fault(tmp_path: Path) -> None:
    hosts = Hosts(tmp_path, 2, tmp_path / "mount")
    hosts.start()
    action = fault(LinkDown, hosts)
    arguments = action.prepare()
    assert arguments is not None
    action.apply()
    holder = hosts.holder(2)
    hosts.stop()
    assert procfs.started(holder.pid) != holder.started
    LinkDown.undo(arguments)
    assert LinkDown.is_undone(arguments)


def test_check_names_subjects_with_interfaces() -> None:
    subjects = abilities(GlusterOptions())

    def misfits(kind: type[Fault[Any]], **options: Any) -> list[Misfit]:
        return list(kind.misfits(kind.Options.model_validate(options), subjects))

    [misfit] = misfits(LinkDown, subject="storage.brick")
    assert "storage.host-3" in misfit.message.text
    [misfit] = misfits(Partition, subject="storage.host-1", **{"from": ["storage.host-9"]})
    assert (misfit.path, misfit.message.code) == ("from", "fault.unknown-peer")
