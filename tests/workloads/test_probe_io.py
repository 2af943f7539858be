"""Options of the probes of disks and networks, and their sections for the engine."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from loadcell.execution import checks
from loadcell.model.load_result import ClientResult, LoadResult, MeasuredWindow, ThreadResult
from loadcell.model.trial_record import ErrorRecord
from loadcell.workloads.probe import Probe, ProbeOptions


def probe(**section: Any) -> Probe:
    return Probe(ProbeOptions.model_validate(section))


def wrong(**section: Any) -> str:
    with pytest.raises(ValidationError) as caught:
        probe(**section)
    return str(caught.value.errors()[0]["msg"])


def test_a_disk_as_fio_has_it_by_default() -> None:
    assert probe(disk={}).engine() == {
        "probe": {
            "disk": {
                "access": "randread",
                "size_bytes": 2**31,
                "block_bytes": 4096,
                "direct": True,
                "fdatasync": 0,
                "engine": "psync",
                "depth": 1,
                "reads": 0.5,
                "random_map": True,
            }
        }
    }


def test_a_deep_queue_is_known_to_littles_law() -> None:
    deep = probe(disk={"engine": "io_uring", "depth": 32})
    assert (deep.options.most_in_flight, deep.engine()["probe"]["disk"]["engine"]) == (32, "io_uring")
    assert probe(disk={}).options.most_in_flight == probe(network={}).options.most_in_flight == 1
    assert probe(network={"test": "stream"}).options.most_in_flight > 100


def test_what_cannot_be_done_to_a_disk_is_named() -> None:
    assert "less than a block" in wrong(disk={"size": "1KiB"})
    assert "bypass the page cache" in wrong(disk={"block": "1000B"})
    assert "psync" in wrong(disk={"depth": 2})
    assert "nothing that `fdatasync` could flush" in wrong(disk={"fdatasync": 1})
    assert probe(disk={"block": "512B"}).advice()[0].path == "disk.block"


def test_a_network_as_netperf_has_it_by_default() -> None:
    section_document = probe(network={}).engine()["probe"]["network"]
    assert section_document == {"test": "rr", "request_bytes": 1, "response_bytes": 1, "block_bytes": 131072}
    assert "`stream` has no `request`" in wrong(network={"test": "stream", "request": "4KiB"})
    assert "`rr` has no `block`" in wrong(network={"block": "4KiB"})


def test_every_definition_is_in_the_report() -> None:
    assert probe(disk={}).notes() == ("probe.disk", "probe.disk.direct")
    assert probe(disk={"direct": False}).notes() == ("probe.disk", "probe.disk.cached")
    assert probe(network={"test": "crr"}).notes() == ("probe.network.crr",)


def completed(**fields: Any) -> LoadResult:
    return LoadResult(outcome="completed", **fields)


def test_what_the_load_noticed_of_the_machine_is_with_the_trial() -> None:
    unrelated = completed(errors=(ErrorRecord("reset", 1),))
    assert checks.remarks(completed()) == checks.remarks(unrelated) == []
    [direct] = checks.remarks(completed(remarks={"indirect": {"asked_for": True, "done": False}}))
    assert (direct.name, direct.verdict) == ("direct-io", "noticed")
    [ports] = checks.remarks(completed(errors=(ErrorRecord("ports", 7),)))
    assert (ports.name, ports.verdict, ports.detail["connections_refused"]) == ("ports", "noticed", 7)


def lacking_ports(waited_s: float, others: int = 0) -> tuple[str, float]:
    """Verdict on 4 clients that waited for ports this long in a second, with other errors."""
    threads = (ThreadResult(connections=3), ThreadResult(connections=1))
    errors = (ErrorRecord("ports", 7), ErrorRecord("reset", others))
    client = ClientResult(threads, reconnecting_ns=int(waited_s * 1e9))
    check = checks.ports(completed(errors=errors, client=client, window=MeasuredWindow(0, 0, 10**9)))
    assert check is not None
    return check.verdict, check.detail["share"]


def test_clients_that_waited_for_ports_make_results_of_their_own_machine() -> None:
    assert lacking_ports(0.1) == ("noticed", 0.025)
    assert lacking_ports(3.0) == ("broken", 0.75)
    assert lacking_ports(3.0, others=8)[0] == "noticed", "they waited for something else"
