"""Stores on real engines: how their data come to be, what a killed process leaves, and the errors when
something is wrong.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, get_args

import pytest
from pydantic import ValidationError

from loadcell.execution.executor import LoadError
from loadcell.model.json import document
from loadcell.model.load_result import LoadResult
from loadcell.plan.model import Load
from loadcell.systems.base import DataSpec, Endpoint, TargetError
from loadcell.systems.embedded.target import Engine, Store, StoreOptions
from systems.bench import LoadBench
from systems.embedded.conftest import KEYS, MS
from systems.test_image import CANNOT, machine_mounts

ENGINES = get_args(Engine)


def failures(result: LoadResult) -> dict[str, int]:
    return {error.code: error.count for error in result.errors}


def succeeded(result: LoadResult, name: str) -> int:
    [operation] = [operation for operation in result.operations if operation.name == name]
    return operation.succeeded


@pytest.mark.parametrize("engine", ENGINES)
def test_a_data_set_is_loaded_used_again_and_put_back(bench: LoadBench[Store], engine: str) -> None:
    store = bench.up(engine=engine, files=2)
    assert store.alive()
    first = bench.prepare(store)
    assert (first.how, first.rows) == ("loaded", KEYS)
    assert first.size_bytes
    assert failures(bench.run(store)) == {}
    assert bench.prepare(store).how == "reused"
    assert bench.prepare(store, writes=True).how == "reused"
    written = bench.run(store, writes=True)
    assert failures(written) == {}
    assert succeeded(written, "set") > 0
    again = bench.prepare(store)
    assert (again.how, again.method) == ("restored", "copy")
    assert failures(bench.run(store)) == {}, "every value is the first version again"
    described = document(store.describe())
    assert described["version"]
    assert described["files_on_disk"] > 0
    assert described["settings"]["files"] == 2
    store.destroy()
    assert not list(bench.work.iterdir())


@pytest.mark.parametrize("engine", ENGINES)
def test_a_killed_load_leaves_what_the_next_trial_can_put_back(bench: LoadBench[Store], engine: str) -> None:
    store = bench.up(engine=engine)
    bench.prepare(store, writes=True)
    with pytest.raises(LoadError, match="killed by SIGKILL"):
        bench.run(store, writes=True, kill=True, load={"duration_ns": 60_000 * MS})
    assert bench.prepare(store).how == "restored"
    assert failures(bench.run(store)) == {}


def test_a_load_of_data_that_was_aborted_begins_again(bench: LoadBench[Store]) -> None:
    store = bench.up()

    def dies(endpoint: Endpoint) -> int:
        (Path(endpoint.store.directory) / "kv-0.redb").write_bytes(b"half of it")
        raise LoadError("the worker process was killed by SIGKILL", advice="")

    with pytest.raises(LoadError):
        store.prepare(DataSpec(bench.workload(writes=False).data()), dies, will_change=False)
    made = bench.prepare(bench.up())
    assert made.how == "loaded"
    assert failures(bench.run(store)) == {}


def test_what_was_kept_is_found_by_the_next_run(bench: LoadBench[Store], tmp_path: Path) -> None:
    options = {"data": str(tmp_path / "here"), "keep_data": True}
    store = bench.up(**options)
    bench.prepare(store)
    store.destroy()
    other = bench.up(**options)
    assert bench.prepare(other).how == "reused"
    assert bench.prepare(other, key_prefix="other:").how == "loaded", "another data set takes its place"
    bench.up(data=options["data"]).destroy()
    assert not (tmp_path / "here").exists()


def test_files_of_another_version_are_made_again(bench: LoadBench[Store], tmp_path: Path) -> None:
    store = bench.up(data=str(tmp_path / "here"))
    bench.prepare(store)
    [marker] = (tmp_path / "here").glob("*/loadcell.json")
    mark = json.loads(marker.read_text())
    marker.write_text(json.dumps({**mark, "version": "0.1"}))
    assert bench.prepare(bench.up(data=str(tmp_path / "here"))).how == "loaded"
    assert "made again" in bench.log[-1]


def test_what_loadcell_did_not_make_is_left_alone(bench: LoadBench[Store], tmp_path: Path) -> None:
    foreign = tmp_path / "here" / "store-redb-1"
    foreign.mkdir(parents=True)
    (foreign / "precious").write_text("mine")
    with pytest.raises(TargetError, match="was not created by loadcell"):
        bench.up(data=str(tmp_path / "here"))
    assert (foreign / "precious").read_text() == "mine"
    (tmp_path / "rocks").mkdir()
    (tmp_path / "rocks" / "CURRENT").write_text("MANIFEST-000005\n")
    with pytest.raises(TargetError, match="of a store that loadcell did not create"):
        bench.up(data=str(tmp_path / "rocks"))


@pytest.mark.parametrize("engine", ENGINES)
def test_damaged_files_are_one_clear_error(bench: LoadBench[Store], engine: str) -> None:
    store = bench.up(engine=engine)
    bench.prepare(store)
    for file in Path(store.endpoint().store.directory).rglob("*"):
        if file.is_file():
            file.write_bytes(b"\x5a" * max(file.stat().st_size, 100))
    with pytest.raises(LoadError) as caught:
        bench.run(store)
    assert caught.value.message.code == "load.damaged"
    assert caught.value.finding.startswith("cannot open the store in")
    assert "check the device" in caught.value.advice


@pytest.mark.parametrize("path", ["a file", "/sys/loadcell"])
def test_a_place_that_cannot_be_used_is_named(bench: LoadBench[Store], tmp_path: Path, path: str) -> None:
    if path == "a file":
        (tmp_path / "a file").write_text("")
        path = str(tmp_path / "a file")
    with pytest.raises(TargetError) as caught:
        bench.up(data=path)
    assert "target.store.data" in caught.value.advice


def test_a_full_device_is_one_clear_error(bench: LoadBench[Store], tmp_path: Path) -> None:
    image = {"image": str(tmp_path), "size": "16MiB"}
    if not machine_mounts():
        with pytest.raises(TargetError) as refused:
            bench.up(data=image)
        assert any(words in refused.value.finding for words in CANNOT)
        return
    store = bench.up(data=image)
    try:
        assert store.describe().data["type"] == "ext4"
        with pytest.raises(LoadError) as caught:
            bench.prepare(store, keys=2000, value_size="20kB")
        assert caught.value.message.code == "load.no-space"
        assert "free space" in caught.value.advice
        assert "target.store.data" in caught.value.advice
        assert bench.prepare(store).how == "loaded", "what is smaller fits"
    finally:
        store.destroy()
    assert not list(tmp_path.glob("*.img"))


@pytest.mark.parametrize("engine", ["sqlite", "rocksdb"])
def test_a_library_that_is_not_there_is_named_with_its_package(bench: LoadBench[Store], engine: str) -> None:
    with pytest.raises(TargetError) as caught:
        bench.up(engine=engine, library="/no/such/library.so")
    assert "/no/such/library.so" in caught.value.finding
    assert {"sqlite": "libsqlite3-0", "rocksdb": "librocksdb"}[engine] in caught.value.advice


@pytest.mark.parametrize(
    ("options", "advice"),
    [
        ({"engine": "leveldb"}, "'redb', 'fjall', 'lmdb', 'sqlite' or 'rocksdb'"),
        ({"files": 0}, "greater than or equal to 1"),
        ({"files": 5000}, "less than or equal to 1024"),
        ({"cache": "1kB"}, "greater than or equal to"),
        ({"library": "/x.so"}, "redb is part of loadcell"),
        ({"keep_data": True}, "needs `data`"),
        ({"keep_data": True, "data": {"image": "/x", "size": "2GiB"}}, "an image is deleted with the run"),
    ],
)
def test_what_makes_no_sense_is_a_mistake(options: dict[str, Any], advice: str) -> None:
    with pytest.raises(ValidationError, match=advice):
        StoreOptions(**options)


def test_settings_without_effect_are_remarked_upon() -> None:
    advice = Store.advice(StoreOptions(engine="lmdb", cache="1GiB"), Load(threads=4, clients=8))
    assert [remark.path for remark in advice] == ["load.threads", "target.store.cache"]
    assert Store.advice(StoreOptions(), Load(threads="auto", clients=8)) == []
