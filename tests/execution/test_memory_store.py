"""Memory of stores in the client's process, under a real valgrind: the part of loadcell is subtracted."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from execution.live import loadcell
from loadcell.store.read import StoredRun, read_run

#: SQLite, but each connection that is opened loses 1,000 bytes and keeps 5,000 until the end.
LEAKY = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
void *leaky_kept[64];
static int kept;
__attribute__((noinline)) void leaky_lose(void) {
  char *volatile lost = malloc(1000);
  lost[0] = 1;
  lost = NULL;
}
int sqlite3_open_v2(const char *name, void **db, int flags, const char *vfs) {
  int (*real)(const char *, void **, int, const char *) = dlsym(RTLD_NEXT, "sqlite3_open_v2");
  leaky_lose();
  if (kept < 64) leaky_kept[kept++] = malloc(5000);
  return real(name, db, flags, vfs);
}
"""
PLAN = """
target: {{store: {{engine: sqlite, sync: false, library: {library}, under: valgrind}}}}
workload: {{kv: {{keys: 200, reads: 50%}}}}
load: {{clients: 2, warmup: 0s, requests: 20}}
factors: {{target.store.under: [valgrind, massif]}}
repeats: 1
monitors: []
expect: [leak.definite < 1, heap.peak < 1GiB]
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> StoredRun:
    home = tmp_path_factory.mktemp("leaky")
    (home / "leaky.c").write_text(LEAKY)
    library = home / "libsqlite3-leaky.so"
    command = ["cc", "-g", "-O1", "-shared", "-fPIC", "-o", library, home / "leaky.c", "-Wl,--no-as-needed"]
    subprocess.run([*command, "-l:libsqlite3.so.0", "-ldl"], check=True)
    (home / "plan.yaml").write_text(PLAN.format(library=library))
    ended = loadcell(home, "run", "plan.yaml", "--out", "run", "--no-report")
    stored = read_run(home / "run")
    assert [trial.status for trial in stored.trials] == ["ok", "ok"], ended.stderr
    assert ended.returncode == 1, "memory was lost, which the plan does not expect"
    return stored


def test_memory_that_the_store_lost_is_known_to_the_byte(run: StoredRun) -> None:
    memory = next(trial.memory for trial in run.trials if trial.memory is not None)
    lost, reachable = memory.lost["definite"], memory.lost["reachable"]
    assert lost.blocks > 0
    assert lost.bytes == 1000 * lost.blocks
    assert reachable.bytes >= 5000 * lost.blocks
    assert memory.records[0].kind == "definite"
    assert memory.records[0].stack[1].startswith("leaky_lose (leaky.c:")


def test_memory_of_loadcell_is_subtracted(run: StoredRun) -> None:
    """Python alone keeps thousands of blocks until its end."""
    memory = next(trial.memory for trial in run.trials if trial.memory is not None)
    assert memory.client is not None
    assert memory.client["reachable"].blocks > 1000
    assert not any("Py" in frame for record in memory.records for frame in record.stack[:3])


def test_the_heap_of_the_store_is_recorded_over_time(run: StoredRun) -> None:
    trial = next(trial for trial in run.trials if trial.heap is not None)
    heap = trial.heap
    assert heap is not None
    assert heap.peak_bytes >= 5000
    assert heap.client_bytes is not None
    assert heap.client_bytes > heap.peak_bytes, "Python and the engine are larger than SQLite with 200 keys"
    assert any("sqlite3" in frame for stack in heap.stacks for frame in stack.stack)
    lines = (run.directory(trial.name) / "heap.csv").read_text().splitlines()
    assert lines[0] == "t_s,mono_ns,heap_bytes,overhead_bytes,client_bytes"
    assert len(lines) > 10
    sizes = [int(line.split(",")[2]) for line in lines[1:]]
    assert max(sizes) == heap.peak_bytes


def test_times_are_labelled_instead_of_judged(run: StoredRun) -> None:
    for trial in run.trials:
        checks = {check.name: check for check in trial.checks}
        assert checks["slowed"].detail == {"under": trial.levels["target.store.under"]}
        assert {checks[name].verdict for name in ("littles-law", "client-limit")} == {"unknown"}
        assert trial.resources is None or trial.resources.target is None


def test_an_unknown_profiler_is_refused(tmp_path: Path) -> None:
    plan = PLAN.format(library="x").replace("under: valgrind", "under: memchek").partition("factors")[0]
    (tmp_path / "plan.yaml").write_text(plan)
    checked = loadcell(tmp_path, "check", "plan.yaml")
    assert checked.returncode == 2
    assert "memchek" in checked.stderr
    assert "massif, valgrind" in " ".join(checked.stderr.split())


def test_lmdb_is_refused_before_the_run(tmp_path: Path) -> None:
    plan = PLAN.format(library="x").replace("engine: sqlite", "engine: lmdb").replace("library: x, ", "")
    (tmp_path / "plan.yaml").write_text(plan.partition("expect")[0])
    checked = loadcell(tmp_path, "check", "plan.yaml")
    assert checked.returncode == 2
    assert "memory map of 64 GiB" in " ".join(checked.stderr.split())
