"""The services that come with loadcell: built by Maven, with unit tests of their own, and what they store."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from execution.live import loadcell
from little_room import little_room
from loadcell.systems.base import TargetContext, TargetError
from loadcell.systems.jvm.options import JvmOptions
from loadcell.systems.jvm.services import ServiceBuild, services
from loadcell.systems.jvm.target import Jvm
from loadcell.systems.shared.packages import QUICK_START

BERKELEYDB = services()["berkeleydb"]
Start = Callable[..., Jvm]


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache in which both versions are built."""
    home = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(home))
        for version in BERKELEYDB.versions:
            build = ServiceBuild(BERKELEYDB, version)
            build.fetch()
            assert build.ready
    return home


@pytest.fixture
def start(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Start]:
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    targets: list[Jvm] = []

    def started(filling: Callable[[float], None] = lambda _: None, **options: Any) -> Jvm:
        values = {"service": "berkeleydb", "heap": "128MiB", **options}
        (tmp_path / "work").mkdir(exist_ok=True)
        context = TargetContext(tmp_path / "work", lambda _: None, str, filling=filling)
        targets.append(Jvm(JvmOptions.model_validate(values), context))
        targets[-1].up()
        return targets[-1]

    yield started
    for target in targets:
        target.destroy()


def ask(target: Jvm, path: str, body: bytes | None = None) -> bytes:
    with urllib.request.urlopen(f"http://{target.address}{path}", body, timeout=10) as answer:
        content: bytes = answer.read()
        return content


@pytest.mark.parametrize("version", BERKELEYDB.versions)
def test_unit_tests_of_the_service(tmp_path: Path, version: str) -> None:
    project = tmp_path / "berkeleydb"
    shutil.copytree(BERKELEYDB.directory, project, ignore=shutil.ignore_patterns("target"))
    command = ["mvn", "--batch-mode", "--no-transfer-progress", f"-Dje.version={version}"]
    command += [f"-DargLine={QUICK_START}", "test"]
    environment = {**os.environ, "MAVEN_OPTS": QUICK_START}
    done = subprocess.run(command, cwd=project, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-5000:]
    assert "Tests run: 14, Failures: 0, Errors: 0, Skipped: 0" in done.stdout


@pytest.mark.parametrize("collector", ["Serial", "Parallel", "G1", "ZGC", "Shenandoah"])
def test_a_client_reads_back_what_it_wrote(start: Start, collector: str) -> None:
    """Under a heap that holds a part of the values, so that they are evicted and collected."""
    target = start(collector=collector, properties={"shards": 4, "je.maxMemoryPercent": 5})
    chance = random.Random(collector)
    stored: dict[str, bytes] = {}
    for _ in range(400):
        key = f"key {chance.randrange(150)}"
        stored[key] = chance.randbytes(chance.randrange(1, 100_000))
        assert ask(target, f"/set?key={key.replace(' ', '%20')}", stored[key]) == b"stored\n"
    for key, value in stored.items():
        assert ask(target, f"/get?key={key.replace(' ', '%20')}") == value
    first, second = list(stored)[:2]
    expected = b"".join(
        f"{key} {len(stored[key])}\n".encode() + stored[key] + b"\n" for key in (first, second)
    )
    assert ask(target, f"/mget?keys={first},{second}".replace(" ", "%20")) == expected


def test_settings_of_berkeley_db_are_passed_on(start: Start) -> None:
    properties = {"je.maxMemory": 10_000_000, "je.maxOffHeapMemory": 200_000_000, "fill": 4000}
    target = start(properties=properties)
    assert b'"berkeleydb": "18.3.12"' in ask(target, "/statistics")
    for _ in range(3):
        ask(target, "/random_mget?keyRange=4000&keyNum=1000")
    statistics = ask(target, "/statistics").decode()
    off_heap = int(statistics.partition('"offHeapTotalBytes": ')[2].partition(",")[0])
    assert off_heap > 1_000_000, "values that do not fit into the cache in the heap are kept outside"
    with pytest.raises(TargetError, match=r"je\.noSuchSetting is not a valid"):
        start(properties={"je.noSuchSetting": 1})


def test_levels_of_a_run_have_data_of_their_own(start: Start) -> None:
    """All treatments of a run have one work directory: the order of their trials must not matter."""
    for value_bytes in (5000, 500, 5000):
        target = start(properties={"fill": 300, "fillValueSize": value_bytes})
        assert len(ask(target, "/get?key=300")) == value_bytes
        target.down()
    for heap in ("128MiB", "64MiB"):
        target = start(heap=heap, properties={"fill": "10%"})
        assert ask(target, "/random_mget?keyNum=500").count(b" 5000\n") == 500
        target.down()
    directories = {path.name for path in target.context.work.glob("berkeleydb/*/keys-*")}
    assert len(directories) == 4


def test_a_fill_reports_its_progress_once(start: Start) -> None:
    shares: list[float] = []
    target = start(filling=shares.append, properties={"fill": 300})
    assert shares == pytest.approx([step / 10 for step in range(1, 11)])
    target.down()
    target.up()
    assert len(shares) == 10, "the data are still there"


#: A fill that does not fit, one of which the load fills the rest, and a limit of Berkeley DB's own.
FULL_DISKS = {
    "fill": ({"fill": 20_000, "je.freeDisk": 0}, "No space left on device"),
    "load": ({"fill": 6_000, "je.freeDisk": 0}, "No space left on device"),
    "reserve": ({"fill": 0, "je.freeDisk": 1 << 30}, "je.maxDisk or je.freeDisk limits"),
}
WRITES = """
target: {{jvm: {{service: berkeleydb, heap: 128MiB, properties: {properties}, ready: {{within: 60s}}}}}}
workload: {{http: {{requests: {{set: {{path: "/random_set?keyRange=100000&valueSize=5000"}}}}}}}}
load: {{clients: 4, warmup: 0s, requests: 10000, duration: 60s}}
repeats: 1
"""


@pytest.mark.parametrize("case", FULL_DISKS)
def test_a_full_disk_is_the_reason_of_a_failed_trial(cache: Path, tmp_path: Path, case: str) -> None:
    settings, output = FULL_DISKS[case]
    with little_room(tmp_path / "data", 40 << 20):
        properties = json.dumps({**settings, "data": str(tmp_path / "data")})
        (tmp_path / "plan.yaml").write_text(WRITES.format(properties=properties))
        began_s = time.monotonic()
        loadcell(tmp_path, "run", "plan.yaml", "--out", "run", env={"XDG_CACHE_HOME": str(cache)})
        assert time.monotonic() - began_s < 150
    [path] = (tmp_path / "run" / "trials").iterdir()
    record = json.loads((path / "trial.json").read_text())
    code = "jvm.cannot-write" if case == "fill" else "jvm.requests-cannot-write"
    assert (record["status"], record["reason_code"]) == ("failed", code)
    assert output in record["reason"] or os.geteuid() != 0
    assert "target.jvm.properties.data" in record["advice"]


def test_sizes_without_a_unit_are_refused(start: Start) -> None:
    with pytest.raises(TargetError, match=r"with status 2 .*-DoffHeap=40 is not a share of the heap"):
        start(properties={"offHeap": 40})
    with pytest.raises(TargetError, match="-Dfill=1GiB is neither a number of keys nor a share"):
        start(properties={"fill": "1GiB"})


def test_the_old_version(start: Start) -> None:
    target = start(version="5.0.73", properties={"shards": 2})
    assert b'"berkeleydb": "5.0.73"' in ask(target, "/statistics")
    assert ask(target, "/set?key=a", b"one") == b"stored\n"
    target.down()
    target.up()
    assert ask(target, "/get?key=a") == b"one", "data remain over a start"
    facts = target.describe()
    assert facts.service == "berkeleydb 5.0.73"


def test_a_build_is_reused_until_the_sources_change(cache: Path, tmp_path: Path) -> None:
    build = ServiceBuild(BERKELEYDB, "18.3.12")
    changed = tmp_path / "berkeleydb"
    shutil.copytree(BERKELEYDB.directory, changed, ignore=shutil.ignore_patterns("target"))
    same = ServiceBuild(type(BERKELEYDB)("berkeleydb", changed, "je.version", ("18.3.12",)), "18.3.12")
    assert same.build == build.build
    (changed / "pom.xml").write_text((changed / "pom.xml").read_text() + "<!-- -->")
    other = ServiceBuild(type(BERKELEYDB)("berkeleydb", changed, "je.version", ("18.3.12",)), "18.3.12")
    assert other.build != build.build


#: Output of Maven without access to a repository, and without a compiler.
NO_ACCESS = (
    "[ERROR] Failed to execute goal on project x: Could not transfer artifact a:b:jar:1 from/to central: "
    "Connection refused -> [Help 1]"
)
NO_COMPILER = "[ERROR] COMPILATION ERROR: No compiler is provided in this environment."


@pytest.mark.parametrize(
    ("output", "code", "text"),
    [
        (None, "jvm.service-no-maven", "no program `mvn`"),
        (NO_ACCESS, "jvm.service-not-built", "Connection refused)"),
        (NO_COMPILER, "jvm.service-no-compiler", "no Java compiler"),
    ],
)
def test_what_cannot_be_built_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, output: str | None, code: str, text: str
) -> None:
    (tmp_path / "bin").mkdir()
    if output is not None:
        (tmp_path / "bin" / "mvn").write_text(f"#!/bin/sh\necho '{output}'\nexit 1\n")
        (tmp_path / "bin" / "mvn").chmod(0o755)
    for name in ("sh", "java"):
        (tmp_path / "bin" / name).symlink_to(shutil.which(name) or "")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    build = ServiceBuild(BERKELEYDB, "18.3.12")
    with pytest.raises(TargetError) as caught:
        build.fetch()
    assert caught.value.message.code == code
    assert text in caught.value.finding
    assert caught.value.advice
    assert not build.ready
    with pytest.raises(TargetError, match="nothing is built during a trial"):
        _ = build.jar
    options = JvmOptions.model_validate({"service": "berkeleydb"})
    paths = [misfit.path for misfit in Jvm.misfits(options)]
    assert paths == (["service"] if output is None else [])
