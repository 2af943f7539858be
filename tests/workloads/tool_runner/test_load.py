"""The worker's side of a tool's load: run to its end, ended early, and killed, with nothing left of it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from loadcell.linux import process as supervision
from loadcell.workloads.tool import Tool, ToolOptions

PATIENCE_S = 60.0


def order(
    tmp_path: Path,
    mode: str = "run",
    target: dict[str, Any] | None = None,
    load: dict[str, Any] | None = None,
    **options: Any,
) -> str:
    values = ToolOptions.model_validate_json(
        json.dumps(options), strict=True, context={"directory": tmp_path}
    )
    spec = {
        "version": 1, "seed": 7, "target": target or {"protocol": "host", "directory": str(tmp_path)},
        "workload": Tool(values).engine(),
        "load": {"clients": 2, "threads": 1, "warmup_ns": 0, "duration_ns": 10**9, **(load or {})},
    }  # fmt: skip
    return json.dumps({"mode": mode, "parent": os.getpid(), "made_by": Tool.made_by, "spec": spec})


def start(text: str, **more: Any) -> subprocess.Popen[str]:
    worker = subprocess.Popen(
        [sys.executable, "-m", "loadcell.execution.worker"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True, start_new_session=True, **more,
    )  # fmt: skip
    assert worker.stdin is not None
    worker.stdin.write(text)
    worker.stdin.close()
    worker.stdin = None
    return worker


def done(text: str) -> tuple[list[dict[str, Any]], str]:
    """The worker's lines, and what it passed on of the tool's output."""
    output, printed = start(text).communicate(timeout=PATIENCE_S)
    return [json.loads(line) for line in output.splitlines()], printed


def result(text: str) -> dict[str, Any]:
    lines, _ = done(text)
    assert lines[-1]["type"] == "result", lines[-1]
    document: dict[str, Any] = lines[-1]["result"]
    return document


def error(text: str) -> dict[str, Any]:
    lines, _ = done(text)
    assert lines[-1]["type"] == "error", lines[-1]
    document: dict[str, Any] = lines[-1]["error"]
    return document


def until(condition: Callable[[], Any]) -> Any:
    deadline = time.monotonic() + PATIENCE_S
    while not (value := condition()):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return value


def with_mark(mark: str) -> list[int]:
    """Processes that have a text among their arguments, zombies left out."""
    results = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if mark.encode() in (process / "cmdline").read_bytes():
                results.append(int(process.name))
        except OSError:
            continue
    return results


def test_commands_run_in_their_order_and_only_one_is_measured(tmp_path: Path) -> None:
    text = order(
        tmp_path, command="echo tps = ${clients}.5", figures={"throughput": {"pattern": "tps = ([0-9.]+)"}},
        before=["echo first", "echo second"], after="echo last", load={"warmup_ns": 10**9},
    )  # fmt: skip
    lines, printed = done(text)
    assert [line["phase"] for line in lines if line["type"] == "phase"] == ["warmup", "measure", "drain"]
    assert printed.splitlines() == [
        "$ echo first",
        "first",
        "$ echo second",
        "second",
        "$ echo tps = 2.5",
        "tps = 2.5",
        "$ echo tps = 2.5",
        "tps = 2.5",
        "$ echo last",
        "last",
    ]
    document = lines[-1]["result"]
    assert document["operations"][0]["throughput_per_s"] == 2.5
    assert document["tool"]["command"] == ["echo", "tps", "=", "2.5"]
    assert document["client"]["cpu_ns"] > 0
    assert list(tmp_path.iterdir()) == [], "its directory is gone"


def test_what_a_tool_sees(tmp_path: Path) -> None:
    target = {
        "protocol": "postgres",
        "host": "127.0.0.1",
        "port": 1,
        "user": "u",
        "password": "s3cret",
        "database": "d",
        "socket": None,
    }
    seen = "$PGPASSWORD $LC_ALL $clients $duration_s $OWN $HIDDEN $(pwd | grep -c loadcell-tool-)"
    script = rf"""printf '%s\n' "{seen}" > "$plan/seen" """
    os.environ["HIDDEN"] = "of loadcell's own"
    try:
        document = result(order(tmp_path, target=target, command=["sh", "-c", script], env={"OWN": "mine"}))
    finally:
        del os.environ["HIDDEN"]
    assert (tmp_path / "seen").read_text() == "s3cret C 2 1 mine  1\n"
    assert "s3cret" not in json.dumps(document)


def test_the_data_are_made_by_commands_of_their_own(tmp_path: Path) -> None:
    lines, printed = done(
        order(tmp_path, mode="prepare", command="echo measured", prepare=["echo a", "echo b"])
    )
    assert printed.splitlines() == ["$ echo a", "a", "$ echo b", "b"]
    assert set(lines[-1]["result"]) == {"duration_s"}


def test_metrics_may_be_in_a_file_that_the_tool_leaves(tmp_path: Path) -> None:
    text = order(
        tmp_path, command=["sh", "-c", "echo tps,p99 > out.csv; echo 12,3.5 >> out.csv"], output="out.csv",
        figures={"throughput": {"csv": "tps"}, "latency.p99": {"csv": "p99"}},
    )  # fmt: skip
    total = result(text)["operations"][0]
    assert (total["throughput_per_s"], total["response"]["p99_ns"]) == (12, 3.5e6)
    none = error(order(tmp_path, command="true", output="none.csv", figures={"throughput": {"csv": "tps"}}))
    assert "left no readable file" in none["finding"]
    assert "workload.tool.output" in none["advice"]


@pytest.mark.parametrize(
    ("options", "finding", "advice"),
    [
        (
            {"command": ["sh", "-c", "echo it broke >&2; exit 3"]},
            "sh ended with status 3: it broke",
            "output.log",
        ),
        ({"command": ["sh", "-c", "kill -9 $$"]}, "sh was killed by signal 9", "output.log"),
        ({"command": "no-such-program-here"}, "no-such-program-here is not installed", "Install it"),
        (
            {"netperf": "-H 127.0.0.1", "program": "no-netperf-here"},
            "no-netperf-here is not installed",
            "correct its name",
        ),
        (
            {"sysbench": "cpu", "program": "true"},
            "the output of sysbench cannot be read: no line starts with",
            "figures",
        ),
        (
            {"command": "echo 1", "figures": {"throughput": {"pattern": "tps (.)"}}},
            "the metric throughput was not found",
            "figures.throughput",
        ),
        ({"command": "true", "before": "false"}, "false ended with status 1", "output.log"),
        ({"command": "echo ${database}"}, "there is no value for ${database}", "remove it"),
    ],
)
def test_whatever_goes_wrong_is_reported_with_what_to_do(
    tmp_path: Path, options: dict[str, Any], finding: str, advice: str
) -> None:
    failure = error(order(tmp_path, **options))
    assert finding in failure["finding"]
    assert advice in failure["advice"]
    assert list(tmp_path.iterdir()) == []


def test_a_script_beside_the_plan_says_how_it_is_called(tmp_path: Path) -> None:
    (tmp_path / "ours.sh").write_text("#!/bin/sh\necho 1\n")
    failure = error(order(tmp_path, command="ours.sh"))
    assert "ours.sh is not on PATH" in failure["finding"]
    assert "write `./ours.sh`" in failure["advice"]


def test_what_is_wrong_stands_before_the_usage_that_a_tool_prints_after_it(tmp_path: Path) -> None:
    script = (
        "echo 'wrong number of arguments' >&2; echo 'Usage: ours [options]' >&2; echo '  -E file' "
        ">&2; exit 22"
    )
    failure = error(order(tmp_path, command=["sh", "-c", script]))
    assert failure["finding"] == "sh ended with status 22: wrong number of arguments"
    script = "echo 'usage: ours [-h]' >&2; echo 'ours: error: no FILE' >&2; exit 2"
    failure = error(order(tmp_path, command=["sh", "-c", script]))
    assert failure["finding"] == "sh ended with status 2: ours: error: no FILE"


def test_a_password_that_could_only_stand_on_a_command_line_is_refused(tmp_path: Path) -> None:
    redis = {
        "protocol": "resp",
        "host": "127.0.0.1",
        "port": 1,
        "socket": None,
        "password": "s3cret",
        "database": "0",
    }
    failure = error(order(tmp_path, target=redis, **{"redis-benchmark": ""}))
    assert "only on its command line" in failure["finding"]
    assert "s3cret" not in json.dumps(failure)


def test_errors_of_tools_that_print_json_are_theirs(tmp_path: Path) -> None:
    script = tmp_path / "failing"
    script.write_text("""#!/bin/sh\necho '{"start": {}, "error": "unable to connect"}'; exit 1\n""")
    script.chmod(0o755)
    assert error(order(tmp_path, iperf3="-c x", program=str(script)))["finding"].endswith(
        "status 1: unable to connect"
    )


def test_of_endless_output_a_part_is_passed_on_and_none_is_lost_to_metrics(tmp_path: Path) -> None:
    script = "yes 0123456789012345678901234567890123456789012345678 | head -200000; echo tps = 5"
    text = order(tmp_path, command=["sh", "-c", script], figures={"throughput": {"pattern": "tps = (.)"}})
    lines, printed = done(text)
    assert lines[-1]["result"]["operations"][0]["throughput_per_s"] == 5
    assert len(printed) < 5 << 20
    assert "more lines not stored" in printed


#: A program whose children are in its group, out of it, and daemons.
_FAMILY = "sleep 86{mark} & setsid sleep 86{mark} & (setsid sleep 86{mark} &) ; sleep 86{mark}"


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_nothing_outlives_the_load_however_it_ends(tmp_path: Path, how: signal.Signals) -> None:
    mark = f"{os.getpid()}.{int(how)}"
    worker = start(order(tmp_path, command=["sh", "-c", _FAMILY.format(mark=mark)]))
    until(lambda: len(with_mark("sleep\0" + f"86{mark}")) == 4)
    worker.send_signal(how)
    output, _ = worker.communicate(timeout=PATIENCE_S)
    until(lambda: not with_mark(f"86{mark}"))
    until(lambda: not list(tmp_path.iterdir()))
    if how != signal.SIGKILL:
        assert json.loads(output.splitlines()[-1])["error"]["finding"] == "the load was stopped"


def test_nothing_outlives_a_load_whose_session_is_killed(tmp_path: Path) -> None:
    """The run kills the session of a worker that did not end in time: the worker last, here."""
    mark = f"{os.getpid()}.10"
    worker = start(order(tmp_path, command=["sh", "-c", _FAMILY.format(mark=mark)]))
    until(lambda: len(with_mark("sleep\0" + f"86{mark}")) == 4)
    for pid in sorted(supervision.remaining_processes(supervision.Session.of(worker.pid)), reverse=True):
        os.kill(pid, signal.SIGKILL)
    worker.communicate(timeout=PATIENCE_S)
    until(lambda: not with_mark(f"86{mark}"))
    until(lambda: not list(tmp_path.iterdir()))


def test_what_a_program_leaves_behind_is_ended_with_it(tmp_path: Path) -> None:
    mark = f"{os.getpid()}.9"
    result(order(tmp_path, command=["sh", "-c", f"setsid sleep 86{mark} & sleep 86{mark} & true"]))
    assert not with_mark(f"86{mark}")


def test_a_warm_up_without_a_duration_is_cut(tmp_path: Path) -> None:
    """The command sleeps until it is ordered to end, the first time; the second time it finds that it has
    been there.
    """
    script = (
        'if [ -e "$directory/warm" ]; then echo tps = 7; else touch "$directory/warm"; exec sleep 1000; fi'
    )
    text = order(
        tmp_path, command=["sh", "-c", script], load={"warmup_ns": 200_000_000},
        figures={"throughput": {"pattern": "tps = (.)"}},
    )  # fmt: skip
    assert result(text)["operations"][0]["throughput_per_s"] == 7


def test_benchmarksqls_folder_of_results(tmp_path: Path) -> None:
    rows = ["run,elapsed,latency,dblatency,ttype,rbk,dskipped,error"]
    rows += [f"1,{100 * n},{n},{n},NEW_ORDER,0,0,0" for n in range(1, 11)] + ["1,2000,7,7,PAYMENT,0,0,0"]
    (tmp_path / "result.csv").write_text("\n".join(rows) + "\n")
    script = 'mkdir -p result/data && cp "$plan/result.csv" result/data'
    document = result(
        order(tmp_path, command=["sh", "-c", script], read_as="benchmarksql", output="result/data/result.csv")
    )
    by_name = {item["name"]: item for item in document["operations"]}
    assert document["unit"] == "transaction"
    assert document["figures"] == {"tpmC": 300, "tpmTotal": 330}
    assert by_name["transaction"]["throughput_per_s"] == 5.5
    assert (by_name["new_order"]["succeeded"], by_name["new_order"]["throughput_per_s"]) == (10, 5)
    assert by_name["payment"]["kind"] == "type"


def test_a_total_that_disagrees_with_what_was_read_is_in_the_result(tmp_path: Path) -> None:
    """A script runs the real tool, and once its printed rate is tenfold."""
    script = "stress-ng --cpu 1 --timeout 1s --metrics 2>&1 | sed -E '{change}'"
    rate = r"s/( cpu .* )([0-9]+\.[0-9]+)( +[0-9.]+ +[0-9.]+ +[0-9]+ *)$/\19999999.99\3/"
    tools = []
    for change in ("", rate):
        command = ["sh", "-c", script.format(change=change)]
        tools.append(result(order(tmp_path, command=command, read_as="stress-ng"))["tool"])
    true, altered = (tool["disagreements"] for tool in tools)
    assert true == {}
    [(label, values)] = altered.items()
    assert label == "bogo ops/real time"
    assert values["stored"] == 9999999.99
    assert 0 < values["printed"] < 9e6
