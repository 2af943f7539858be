"""Errors and warnings name what the user can change: the words of the call, or the plan."""

from __future__ import annotations

from pathlib import Path

import pytest

from fake_runs import write_run
from lines import called, refused
from servers import free_port

LOAD = "load: {clients: 1}\n"


def unreachable(home: Path, *words: str, **environment: str) -> str:
    result = called(home, *words, **environment)
    assert result.returncode == 2, result.stdout + result.stderr
    assert (result.stdout, len(result.stderr.splitlines())) == ("", 1)
    assert not (home / "results").exists()
    return " ".join(result.stderr.split())


def test_a_server_of_a_dsn_that_does_not_respond(tmp_path: Path) -> None:
    words = ("sql", f"postgresql://me@127.0.0.1:{free_port()}/x", "--query", "SELECT 1", "--no-report", "-q")
    output = unreachable(tmp_path, *words)
    assert "check host and port of the DSN, and that the server is running" in output
    assert "target." not in output
    assert "请检查 DSN 中的主机和端口" in unreachable(tmp_path, *words, "--lang", "zh").replace("\n", "")


def test_a_redis_that_does_not_respond(tmp_path: Path) -> None:
    output = unreachable(tmp_path, "redis", f"127.0.0.1:{free_port()}", "--no-report", "-q")
    assert "check HOST:PORT of the call" in output
    assert "target." not in output


def test_a_service_that_does_not_respond(tmp_path: Path) -> None:
    url = f"http://127.0.0.1:{free_port()}/"
    output = unreachable(tmp_path, "http", url, "--json")
    assert output.startswith("Error: cannot connect to 127.0.0.1:")
    assert output.endswith("start the service, or correct the URL")
    assert "或更正 URL" in unreachable(tmp_path, "http", url, "--lang", "zh")


@pytest.mark.parametrize(
    ("server", "note"),
    [("foo", "No port given: foo:6379 is used.\n"), ("foo:6400", ""), ("/run/redis.sock", ""), ("local", "")],
)
def test_the_default_port_of_redis_is_named_before_the_run(tmp_path: Path, server: str, note: str) -> None:
    result = called(tmp_path, "redis", server, "--save-plan", "-")
    assert (result.returncode, result.stderr) == (0, note)


def test_a_run_that_measured_nothing_is_one_reason_with_its_remedy(tmp_path: Path) -> None:
    (tmp_path / "plan.yaml").write_text(f"""
target: {{postgres: {{server: external, dsn: "postgresql://me@127.0.0.1:{free_port()}/db"}}}}
workload: {{sysbench: {{script: oltp_read_only}}}}
load: {{clients: 1}}
repeats: 2
""")
    result = called(tmp_path, "run", "plan.yaml", "--no-report")
    assert result.returncode == 3
    assert result.stdout.count("Connection refused") == 1
    assert result.stderr.count("Connection refused") == 1
    assert "failed: for the same reason" in result.stderr
    output = " ".join(result.stdout.split())
    assert "✕ Nothing was measured: no server responds at 127.0.0.1:" in output
    assert "check host and port of target.postgres.dsn" in output
    assert "Errors" not in output


def test_a_module_in_the_directory_of_the_call_is_not_imported(tmp_path: Path) -> None:
    """Processes that a run starts import Python's modules, not those of the directory of the call."""
    (tmp_path / "json.py").write_text("raise SystemExit('not this one')")
    (tmp_path / "plan.yaml").write_text("""
target: {store: {engine: lmdb, sync: false}}
workload: {kv: {reads: 100%, keys: 100}}
load: {clients: 1, duration: 200ms, warmup: 0s, interval: 100ms}
repeats: 1
""")
    result = called(tmp_path, "run", "plan.yaml")
    assert result.returncode == 0, result.stdout + result.stderr


def test_a_setting_of_the_call_is_named_once() -> None:
    error = refused("check", "quickstart", "--set", "load.durtion=3s")
    assert error.startswith('--set load.durtion: there is no setting "durtion" in load')
    assert error.count("load.durtion") == 1
    assert "did you mean: load.duration" in error


@pytest.mark.parametrize(
    ("target", "text"),
    [
        ("{server: embedded}", "The plan is valid. "),
        (
            "{server: embedded, settings: {shared_buffers: 128XB}}",
            "values of server settings are checked",
        ),
        ("{server: external, dsn: 'postgresql://a@b/c'}", "the connection to the server was not checked"),
    ],
)
def test_check_states_what_it_does_not_check(tmp_path: Path, target: str, text: str) -> None:
    workload = "{sysbench: {script: oltp_read_only}}"
    (tmp_path / "plan.yaml").write_text(f"target: {{postgres: {target}}}\nworkload: {workload}\n" + LOAD)
    result = called(tmp_path, "check", "plan.yaml")
    assert result.returncode == 0, result.stderr
    assert text in " ".join(result.stdout.split())


def test_a_next_step_quotes_the_call_also_from_python(tmp_path: Path) -> None:
    results = tmp_path / "results" / "plan"
    for name in ("20260309T080000Z-4f2a", "20260310T080000Z-5f2a"):
        write_run(results / name)
    output = called(tmp_path, "compare", "4f2a", "5f2a").stdout
    assert "loadcell compare 4f2a 5f2a --out comparison.html" in output
