"""Machines for tests: two with values that engineers published, and simulated baselines by the real writer.

The published ones are a Kunpeng 920 server and an Apple M2 laptop: lscpu, mbw and fio as their report prints
them.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

from loadcell.model.latency import Latency
from loadcell.model.run_record import FactorRecord, LevelRecord, PlannedTrial, RunRecord, TreatmentRecord
from loadcell.model.trial_record import Counts, OperationStats, Status, Totals, TrialRecord, Window
from loadcell.store import layout
from loadcell.store.write import RunWriter

GIB, MIB, KIB = 2**30, 2**20, 2**10


def score(name: str, metric: str, values: Sequence[float], **about: Any) -> dict[str, Any]:
    """A score as in JSON: `memory-memcpy-1` is the probe `memory` with the test `memcpy`, of one thread."""
    section, _, remaining = name.partition("-")
    test = remaining.partition("-")[0] if section != "cpu" else ""
    return {
        "id": f"{name}/{metric}", "probe": section, "test": test, "figure": metric, "threads": 1,
        "values": list(values),
        **about,
    }  # fmt: skip


def _memory(test: str, value: float) -> dict[str, Any]:
    return score(f"memory-{test}-1", "mib_per_s", [value], size_bytes=256 * MIB)


def _published(memcpy: float, dumb: float, mcblock: float, iops: float) -> list[dict[str, Any]]:
    scores = [_memory("memcpy", memcpy), _memory("dumb", dumb), _memory("mcblock", mcblock)]
    return [*scores, score("disk-sync", "iops", [iops], test="readwrite", block_bytes=4 * KIB, fdatasync=1)]


KUNPENG: dict[str, Any] = {
    "schema": 1,
    "host": {
        "hostname": "kunpeng",
        "cpu": {
            "model": "Kunpeng 920", "architecture": "aarch64", "sockets": 2, "cores": 128, "threads": 128,
            "max_mhz": 2600.0,
        },
        "numa_nodes": 4,
        "caches": [
            {"level": 1, "type": "data", "size_bytes": 64 * KIB, "count": 128, "threads": 1},
            {"level": 2, "type": "unified", "size_bytes": 512 * KIB, "count": 128, "threads": 1},
            {"level": 3, "type": "unified", "size_bytes": 32 * MIB, "count": 4, "threads": 32},
        ],
        "memory_bytes": 512 * GIB,
        "dimms": [{"locator": f"DIMM{n}", "size_bytes": 32 * GIB, "kind": "DDR4", "speed_mts": 3200,
            "configured_mts": 2933} for n in range(16)],
        "disks": [{"name": "sda", "model": "SAS3908", "size_bytes": 479559942144, "rotational": False,
            "scheduler": "mq-deadline"}],
    },
    "scores": [score("cpu-1", "events_per_s", [3329.35]), *_published(4802.921, 5611.106, 12099.614, 22_200)],
}  # fmt: skip
M2: dict[str, Any] = {
    "schema": 1,
    "host": {
        "hostname": "m2",
        "cpu": {
            "model": "Apple M2", "architecture": "aarch64", "sockets": 1, "cores": 8, "threads": 8,
            "max_mhz": 3600.0,
        },
        "numa_nodes": 1,
        "memory_bytes": 16 * GIB,
        "dimms": [{"locator": "soldered", "size_bytes": 16 * GIB, "kind": "LPDDR5", "speed_mts": 6400,
            "configured_mts": 6400}],
        "disks": [{"name": "disk0", "model": "APPLE SSD", "size_bytes": 251 * 10**9, "rotational": False,
            "scheduler": "none"}],
    },
    "scores": _published(32710.639, 23348.930, 32016.809, 31_500),
}  # fmt: skip
#: The same server with everything kept on one of its NUMA nodes; the disk and the clock are what they were.
PINNED: dict[str, Any] = {
    **deepcopy(KUNPENG),
    "host": {**deepcopy(KUNPENG["host"]), "hostname": "kunpeng-node0"},
    "scores": [score("cpu-1", "events_per_s", [3329.35]), *_published(5236.255, 6249.985, 21185.915, 22_200)],
}

HOST: dict[str, Any] = {
    "role": "client+target",
    "hostname": "bench-01",
    "kernel": "6.1.0-28-amd64",
    "os": "Debian GNU/Linux 12 (bookworm)",
    "cpu": {"model": "Example 9000", "architecture": "x86_64", "sockets": 1, "cores": 8, "threads": 16,
        "mhz": 3000.0, "max_mhz": 4200.0},
    "caches": [
        {"level": 1, "type": "data", "size_bytes": 32 * KIB, "count": 8, "threads": 2},
        {"level": 1, "type": "instruction", "size_bytes": 32 * KIB, "count": 8, "threads": 2},
        {"level": 2, "type": "unified", "size_bytes": MIB, "count": 8, "threads": 2},
        {"level": 3, "type": "unified", "size_bytes": 32 * MIB, "count": 1, "threads": 16},
    ],
    "numa_nodes": 1,
    "memory_bytes": 32 * GIB,
    "swap_bytes": 0,
    "governor": "performance",
    "thp": "madvise",
    "virtualisation": "none",
    "clocksource": "tsc",
    "disks": [{"name": "nvme0n1", "model": "Example SSD", "size_bytes": 512 * 10**9, "rotational": False,
        "scheduler": "none", "write_cache": "write back"}],
    "settings": {"vm.swappiness": "60", "vm.dirty_ratio": "20"},
    "limits": {"open_files": 65536, "open_files_hard": 65536},
}  # fmt: skip

#: Level -> section, options, clients, and the typical values of its metrics.
Probe = tuple[str, dict[str, Any], int, dict[str, float]]
PROBES: dict[str, Probe] = {
    "cpu-1": ("cpu", {"max_prime": 10000}, 1, {"events_per_s": 1400}),
    "cpu-all": ("cpu", {"max_prime": 10000}, 16, {"events_per_s": 15_800}),
    "memory-memcpy-1": ("memory", {"test": "memcpy", "size": "256MiB"}, 1, {"mib_per_s": 11_300}),
    "memory-mcblock-1": ("memory", {"test": "mcblock", "size": "256MiB"}, 1, {"mib_per_s": 15_100}),
    "memory-triad-1": ("memory", {"test": "triad", "size": "256MiB"}, 1, {"mib_per_s": 21_000}),
    "memory-triad-all": ("memory", {"test": "triad", "size": "256MiB"}, 16, {"mib_per_s": 48_000}),
    "copy-8KiB": ("memory", {"test": "copy", "size": "8KiB"}, 1, {"mib_per_s": 182_000}),
    "copy-256KiB": ("memory", {"test": "copy", "size": "256KiB"}, 1, {"mib_per_s": 74_000}),
    "copy-8MiB": ("memory", {"test": "copy", "size": "8MiB"}, 1, {"mib_per_s": 38_000}),
    **{
        f"latency-{size}": ("latency", {"size": size}, 1, {"access_ns": ns})
        for size, ns in (
            ("4KiB", 1.1), ("16KiB", 1.1), ("64KiB", 3.1), ("256KiB", 3.6), ("1MiB", 5.2), ("4MiB", 11.5),
            ("16MiB", 14.8),
            ("64MiB", 71.0), ("256MiB", 92.0),
        )
    },
    "disk-randread": ("disk", {"access": "randread", "size": "2GiB", "block": "4KiB"}, 1, {"iops": 11_800}),
    "disk-sync": ("disk", {"access": "readwrite", "size": "2GiB", "block": "4KiB", "fdatasync": 1}, 1,
        {"iops": 2_900, "sync_ms": 0.61}),
    "disk-read": ("disk", {"access": "read", "size": "2GiB", "block": "1MiB"}, 1, {"read_mib_per_s": 2_900}),
    "disk-write": ("disk", {"access": "write", "size": "2GiB", "block": "1MiB"}, 1,
        {"write_mib_per_s": 1_700}),
    "network-rr": ("network", {"test": "rr"}, 1, {"transactions_per_s": 52_000}),
    "network-stream": ("network", {"test": "stream"}, 1, {"mbit_per_s": 41_000}),
}  # fmt: skip


def write_baseline(
    path: Path,
    *,
    repeats: int = 3,
    pace: Mapping[str, float] | None = None,
    host: Mapping[str, Any] | None = None,
    failed: frozenset[str] = frozenset(),
    only: Sequence[str] = tuple(PROBES),
    scatter: float = 0.01,
    seed: int = 7,
) -> Path:
    """A baseline's run.

    `pace` multiplies the speed of sections (or single levels); `failed` levels have no values.
    """
    chance, faster = random.Random(seed), pace or {}
    treatments = tuple(_treatment(name, PROBES[name]) for name in only)
    order = [(block, treatment.id) for block in range(1, repeats + 1) for treatment in treatments]
    trials = tuple(
        PlannedTrial(n, f"{n:03d}-{treatment}-r{block}", treatment, repeat=block, block=block)
        for n, (block, treatment) in enumerate(order, 1)
    )
    writer = RunWriter(path)
    try:
        writer.write_plan("title: Baselines\n")
        writer.write_run(_run(treatments, trials, repeats))
        writer.write_environment({"schema": layout.SCHEMA, "hosts": [dict(host or HOST)]})
        for trial in trials:
            level = trial.treatment.partition("=")[2]
            section, *_, typical = PROBES[level]
            times = faster.get(level, faster.get(section, 1.0))
            values = {
                name: value * (1 / times if name in ("access_ns", "sync_ms") else times)
                for name, value in typical.items()
            }
            drawn = {name: value * chance.gauss(1, scatter) for name, value in values.items()}
            writer.trial(trial.name).finish(_record(trial, level, drawn, fails=level in failed))
    finally:
        writer.close()
    return path


def _treatment(name: str, probe: Probe) -> TreatmentRecord:
    section, options, clients, _ = probe
    sections = dict.fromkeys(("cpu", "memory", "latency", "disk", "network"))
    settings = {
        "target": {"host": {"directory": None, "peer": None}},
        "workload": {"probe": {**sections, section: options}},
        "load": {"clients": clients, "warmup": "100ms", "duration": "500ms"},
    }
    return TreatmentRecord(f"probe={name}", {"probe": name}, {f"workload.probe.{section}": options}, settings)


def _run(
    treatments: tuple[TreatmentRecord, ...], trials: tuple[PlannedTrial, ...], repeats: int
) -> RunRecord:
    levels = tuple(LevelRecord(treatment.levels["probe"], sets=treatment.values) for treatment in treatments)
    return RunRecord(
        plan_name="host-baseline", title="What this machine can do", question="", seed=1, order="blocks",
        design="full", repeats=repeats, factors=(FactorRecord("probe", levels),), treatments=treatments,
        trials=trials, loadcell_version="0.1.0", engine_version="0.1.0", python="3.11.7",
        started_utc="2026-03-09T08:00:00.000000Z", ended_utc="2026-03-09T08:02:00.000000Z", state="finished",
        command=("loadcell", "host", "--baseline"),
    )  # fmt: skip


def _record(trial: PlannedTrial, level: str, values: dict[str, float], *, fails: bool) -> TrialRecord:
    sync_ms = values.pop("sync_ms", None)
    record = TrialRecord(
        trial.number, trial.name, trial.treatment, trial.repeat, Status.FAILED if fails else Status.OK,
        levels={"probe": level}, block=trial.block, reason="no space left" if fails else None,
        target={"server": "host"},
    )  # fmt: skip
    if fails:
        return record
    sync = OperationStats(response=Latency(percentiles_ms={"50": sync_ms})) if sync_ms else None
    return replace(
        record,
        unit="operation",
        measure=Window(0.5, started_mono_ns=1, started_utc="2026-03-09T08:00:00.000000Z"),
        totals=Totals(Counts(attempted=50, succeeded=50), throughput_per_s=100.0, figures=values),
        operations={"fdatasync": sync} if sync else {},
    )
