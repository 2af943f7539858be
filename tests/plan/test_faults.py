"""`faults`: what they ask for, and every way to get them wrong."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from loadcell.faults import preload_fault
from loadcell.linux import limited_groups
from loadcell.parts import installed
from loadcell.plan.load import LoadedPlan, load_plan
from loadcell.plan.problems import PlanError
from loadcell.plan.remarks import remarks

GUIDES = Path(__file__).resolve().parents[2] / "docs" / "how-to"
PLAN = """
target: {redis: {server: local}}
workload: {kv: {keys: 10}}
load: {clients: 2, duration: 30s}
"""
EXTERNAL = PLAN.replace("server: local", "server: external, host: 127.0.0.1")
ALLOWED = PLAN.replace("server: local", "server: external, host: 127.0.0.1, faults-allowed: true")
HTTP = """
target: {http: {url: "http://127.0.0.1:80", faults-allowed: true}}
workload: {http: {requests: {get: {path: /}}}}
load: {clients: 2, duration: 30s}
"""
COMMAND = """
target: {command: {command: "python3 -m http.server {port}", url: "http://127.0.0.1:{port}"}}
workload: {http: {requests: {get: {path: /}}}}
load: {clients: 2, duration: 30s}
"""
STORE = "target: {store: {engine: sqlite}}\nworkload: {kv: {keys: 10}}\nload: {clients: 2, duration: 30s}\n"


def read(home: Path, text: str) -> LoadedPlan:
    (home / "plan.yaml").write_text(text)
    return load_plan(home / "plan.yaml", installed())


def test_a_fault_has_an_action_a_subject_and_a_time(tmp_path: Path) -> None:
    [fault] = read(tmp_path, PLAN + "faults: [{hang: redis, at: 10s, for: 500ms}]\n").base.faults
    assert (fault.action, fault.subject, fault.timing.at, fault.timing.for_) == ("hang", "redis", 10.0, 0.5)
    assert fault.document() == {"hang": {"subject": "redis"}, "at": "10s", "for": "500ms"}


@pytest.mark.parametrize("page", ["faults.md", "faults.zh-CN.md"])
def test_the_plans_of_the_guide_are_valid_and_have_no_remark(tmp_path: Path, page: str) -> None:
    blocks = re.findall(r"```yaml\n(.*?)```", (GUIDES / page).read_text(encoding="utf-8"), re.DOTALL)
    plans = [read(tmp_path, block) for block in blocks]
    assert [[fault.title for fault in plan.base.faults] for plan in plans] == [
        ["hang postgres"],
        ["kill postgres", "promote postgres.standby-1"],
        ["clock-step postgres", "write-errors postgres", "fsync-errors postgres"],
    ]
    for plan in plans:
        assert not [item for item in remarks(plan, installed()) if item.message.code.startswith("faults.")]


@pytest.mark.parametrize("written", ["100000 operations", "100_000 requests", "100000"])
def test_it_may_be_due_after_operations(tmp_path: Path, written: str) -> None:
    [fault] = read(tmp_path, PLAN + f"faults: [{{hang: {{subject: redis}}, after: {written}}}]\n").base.faults
    assert (fault.timing.after, fault.timing.at) == (100_000, None)


def test_faults_are_levels_of_a_factor(tmp_path: Path) -> None:
    text = (
        PLAN + "factors: {faults: {none: [], hang: [{hang: redis, at: 1s}], kill: [{kill: redis, at: 1s}]}}\n"
    )
    plan = read(tmp_path, text)
    assert [treatment.id for treatment in plan.treatments] == ["faults=none", "faults=hang", "faults=kill"]
    assert [len(treatment.resolved.faults) for treatment in plan.treatments] == [0, 1, 1]


@pytest.mark.parametrize(
    ("name", "action"),
    [
        ("pause", "hang"),
        ("SIGSTOP", "hang"),
        ("crash", "kill"),
        ("latency", "delay"),
        ("packet_loss", "loss"),
    ],
)
def test_names_of_other_tools_get_a_proposal(tmp_path: Path, name: str, action: str) -> None:
    with pytest.raises(PlanError) as raised:
        read(tmp_path, PLAN + f"faults: [{{{name}: redis, at: 1s}}]\n")
    [problem] = raised.value.problems
    assert problem.nearest == action


def test_no_synonym_is_ambiguous_or_an_action() -> None:
    actions = installed().faults
    synonyms = [synonym for action in actions.values() for synonym in action.synonyms]
    assert len(set(synonyms)) == len(synonyms)
    assert not set(synonyms) & set(actions)


def test_a_level_of_a_factor_may_have_the_name_of_a_key_of_ranges(tmp_path: Path) -> None:
    faults = "{clock-step: {subject: redis, by: 1h}, at: 1s, for: 1s}"
    plan = read(tmp_path, PLAN + f"factors: {{faults: {{none: [], full: [{faults}], step: [{faults}]}}}}\n")
    assert [treatment.id for treatment in plan.treatments] == ["faults=none", "faults=full", "faults=step"]
    settings = "small: {load.clients: 1}, times: {load.clients: 8}"
    plan = read(tmp_path, PLAN + f"factors: {{size: {{{settings}}}}}\n")
    assert [treatment.resolved.clients for treatment in plan.treatments] == [1, 8]


POSTGRES = "workload: {pgbench: {scale: 1}}\nload: {clients: 2, duration: 30s}\n"
STANDBY = POSTGRES + "target: {postgres: {standbys: {count: 1}}}\n"


def test_a_standby_can_be_promoted(tmp_path: Path) -> None:
    plan = read(tmp_path, STANDBY + "faults: [{promote: postgres.standby-1, at: 5s}]\n")
    assert [fault.title for fault in plan.base.faults] == ["promote postgres.standby-1"]
    assert "fault.primary-stays-down" in {item.message.code for item in remarks(plan, installed())}


@pytest.mark.parametrize(
    ("text", "fault", "part"),
    [
        (STANDBY, "{promote: postgres, at: 5s}", "postgres is no standby"),
        (STANDBY, "{promote: postgres.standby-2, at: 5s}", 'no part "postgres.standby-2"'),
        (STANDBY, "{promote: postgres.standby-1, at: 5s, for: 1s}", "ends by itself"),
        (POSTGRES + "target: {postgres: {}}\n", "{promote: postgres.standby-1, at: 5s}", "is no standby"),
        (
            POSTGRES + "target: {postgres: {server: external, dsn: 'postgresql://a@b/c'}}\n",
            "{promote: postgres.standby-1, at: 5s}",
            "promote",
        ),
    ],
)
def test_only_a_standby_can_be_promoted(tmp_path: Path, text: str, fault: str, part: str) -> None:
    with pytest.raises(PlanError) as caught:
        read(tmp_path, f"{text}faults: [{fault}]\n")
    [problem] = caught.value.problems
    assert part in str(problem.message), problem


@pytest.mark.parametrize("text", [PLAN, ALLOWED, HTTP])
def test_the_network_is_a_subject_of_every_server(tmp_path: Path, text: str) -> None:
    faults = "faults: [{bandwidth: {subject: network, rate: 8Mbit/s}, at: 1s}]\n"
    [fault] = read(tmp_path, text + faults).base.faults
    assert fault.document() == {
        "bandwidth": {"subject": "network", "rate": "1MB/s", "direction": "both"},
        "at": "1s",
    }


def test_a_fault_may_have_expectations(tmp_path: Path) -> None:
    text = PLAN + "faults: [{hang: redis, at: 1s, expect: ['latency.max < 20s']}]\n"
    [fault] = read(tmp_path, text).base.faults
    assert [expected.metric for expected in fault.expect] == ["latency.max"]


@pytest.mark.parametrize(
    ("target", "fault"),
    [
        ("redis: {server: external, host: h, OPTION}", "{command: {subject: redis, run: 'true'}, at: 1s}"),
        (
            "mysql: {server: external, url: 'mysql://u@h/d', OPTION}",
            "{command: {subject: mysql, run: x}, at: 1s}",
        ),
        (
            "postgres: {server: external, dsn: 'host=h user=u', OPTION}",
            "{terminate-backends: postgres, at: 1s}",
        ),
    ],
)
def test_faults_on_an_external_server_have_to_be_allowed(tmp_path: Path, target: str, fault: str) -> None:
    work = "kv: {keys: 10}" if target.startswith("redis") else "sysbench: {script: oltp_read_only}"
    plan = f"target: {{{target}}}\nworkload: {{{work}}}\n"
    plan += f"load: {{clients: 2, duration: 30s}}\nfaults: [{fault}]\n"
    allowed = read(tmp_path, plan.replace("OPTION", "faults-allowed: true")).base
    assert len(allowed.faults) == 1
    assert allowed.document()["target"][allowed.target_name]["faults-allowed"] is True
    with pytest.raises(PlanError) as raised:
        read(tmp_path, plan.replace(", OPTION", ""))
    [problem] = raised.value.problems
    assert "have to be allowed" in problem.finding
    assert "`faults-allowed: true`" in problem.allowed


@pytest.mark.parametrize(
    ("text", "path", "finding", "nearest"),
    [
        (
            PLAN + "faults: [{checkpoint: redis, at: 1s}]\n",
            "faults.0.checkpoint.subject",
            "does not execute the statements",
            None,
        ),
        (
            PLAN + "faults: [{disk-full: redis, at: 1s}]\n",
            "faults.0.disk-full.subject",
            "the data of redis cannot have a dedicated file system",
            None,
        ),
        (
            POSTGRES + "target: {postgres: {}}\nfaults: [{disk-full: postgres, at: 1s}]\n",
            "faults.0.disk-full.subject",
            "a file system that others use",
            None,
        ),
        (
            PLAN + "faults: [{command: {subject: redis, run: 'kill ${LOADCELL_SUBJECT_PIDS}'}, at: 1s}]\n",
            "faults.command.run",
            "LOADCELL_SUBJECT_PIDS",
            "$LOADCELL_SUBJECT_PIDS",
        ),
        (PLAN + "faults: [{cpu-quota: redis, at: 1s}]\n", "faults.0.cpu-quota.cores", "is missing", None),
        (
            PLAN + "faults: [{slow-disk: {subject: redis, bandwidth: 5MB}, at: 1s}]\n",
            "faults.0.slow-disk.bandwidth",
            'found "5MB"',
            None,
        ),
        (
            PLAN + "faults: [{slow-disk: {subject: redis, bandwidth: 0B/s}, at: 1s}]\n",
            "faults.0.slow-disk.bandwidth",
            "found",
            None,
        ),
        (
            PLAN + "faults: [{memory-limit: {subject: redis, size: 0B}, at: 1s}]\n",
            "faults.0.memory-limit.size",
            "found",
            None,
        ),
        (
            PLAN + "faults: [{memory-pressure: redis, at: 1s}]\n",
            "faults.0.memory-pressure.size",
            "is missing",
            None,
        ),
        (PLAN + "faults: [{clock-step: redis, at: 1s}]\n", "faults.0.clock-step.by", "is missing", None),
        (
            PLAN
            + "faults: [{clock-shift: {subject: redis, by: 2s, over: 1s, direction: backward}, at: 1s}]\n",
            "faults.0.clock-shift",
            "let the clock run backwards",
            None,
        ),
        (
            PLAN + "faults: [{write-errors: {subject: redis, directory: ../other}, at: 1s}]\n",
            "faults.0.write-errors.directory",
            "not a directory below",
            None,
        ),
        (
            PLAN + "faults: [{fsync-errors: {subject: redis, error: EPERM}, at: 1s}]\n",
            "faults.0.fsync-errors.error",
            'found "EPERM"',
            None,
        ),
        (
            COMMAND + "faults: [{write-errors: command, at: 1s}]\n",
            "faults.0.write-errors.subject",
            "data directory of command is unknown",
            None,
        ),
        (
            EXTERNAL + "faults: [{clock-step: {subject: redis, by: 1h}, at: 1s}]\n",
            "faults.0.clock-step",
            "did not start",
            None,
        ),
        (PLAN + "faults: [{command: redis, at: 1s}]\n", "faults.0.command.run", "is missing", None),
        (PLAN + "faults: hang\n", "faults", 'found "hang"', None),
        (PLAN + "faults: [hang]\n", "faults.0", 'found "hang"', None),
        (PLAN + "faults: [{at: 1s}]\n", "faults.0", "is missing", None),
        (PLAN + "faults: [{hang: redis, kill: redis, at: 1s}]\n", "faults.0", "found a mapping", None),
        (PLAN + "faults: [{hnag: redis, at: 1s}]\n", "faults.0.hnag", 'no fault "hnag"', "hang"),
        (PLAN + "faults: [{hang: reddis, at: 1s}]\n", "faults.0.hang", 'no part "reddis"', "redis"),
        (PLAN + "faults: [{hang: {}, at: 1s}]\n", "faults.0.hang.subject", "missing", None),
        (PLAN + "faults: [{hang: redis}]\n", "faults.0", "has no time", None),
        (PLAN + "faults: [{hang: redis, at: 1s, after: 5}]\n", "faults.0.after", "one time", None),
        (PLAN + "faults: [{hang: redis, at: 30s}]\n", "faults.0.at", "ends after 30s", None),
        (PLAN + "faults: [{hang: redis, at: 10}]\n", "faults.0.at", "found 10", None),
        (PLAN + "faults: [{hang: redis, after: many}]\n", "faults.0.after", 'found "many"', None),
        (PLAN + "faults: [{hang: redis, at: 1s, for: 0s}]\n", "faults.0.for", "found", None),
        (PLAN + "faults: [{restart: redis, at: 1s, for: 1s}]\n", "faults.0.for", "ends by itself", None),
        (
            PLAN + "faults: [{hang: redis, at: 1s, for: 5s}, {kill: redis, at: 2s}]\n",
            "faults",
            "begins while hang redis lasts",
            None,
        ),
        (
            PLAN + "faults: [{hang: redis, at: 1s, for: 5s}, {hang: redis, at: 2s, overlap: true}]\n",
            "faults",
            "the same fault lasts",
            None,
        ),
        (
            PLAN.replace("duration: 30s", "requests: 1000") + "faults: [{hang: redis, at: 1s}]\n",
            "faults.0",
            "may never end",
            None,
        ),
        (PLAN + "faults: [{hang: redis, at: 1s, expect: [speed < 5]}]\n", "faults.0.expect.0", "speed", None),
        (STORE + "faults: [{hang: store, at: 1s}]\n", "faults.0.hang", "no part that faults", None),
        (EXTERNAL + "faults: [{hang: redis, at: 1s}]\n", "faults.0.hang", "did not start", None),
        (ALLOWED + "faults: [{hang: redis, at: 1s}]\n", "faults.0.hang", "did not start", None),
        (EXTERNAL + "faults: [{reset: network, at: 1s}]\n", "faults.0.reset", "have to be allowed", None),
        (
            HTTP.replace(", faults-allowed: true", "") + "faults: [{reset: network, at: 1s}]\n",
            "faults.0.reset",
            "have to be allowed",
            None,
        ),
        (STORE + "faults: [{reset: network, at: 1s}]\n", "faults.0.reset", "no part that faults", None),
        (PLAN + "faults: [{delay: network, at: 1s}]\n", "faults.0.delay.time", "missing", None),
        (
            PLAN + "faults: [{delay: {subject: network, time: 1ms, jitter: 2ms}, at: 1s}]\n",
            "faults.0.delay",
            "longer than the delay",
            None,
        ),
        (
            PLAN + "faults: [{bandwidth: {subject: network, rate: 8Mb}, at: 1s}]\n",
            "faults.0.bandwidth.rate",
            "8Mb",
            None,
        ),
        (PLAN + "faults: [{reset: redis, at: 1s}]\n", "faults.0.reset", "only on the TCP connections", None),
        (PLAN + "faults: [{hang: network, at: 1s}]\n", "faults.0.hang", "cannot act on", None),
        (PLAN + "faults: [{reset: netwrok, at: 1s}]\n", "faults.0.reset", 'no part "netwrok"', "network"),
        (
            PLAN + "faults: [{http-5xx: network, at: 1s}]\n",
            "faults.0.http-5xx.subject",
            "needs connections of HTTP",
            None,
        ),
        (
            HTTP.replace("http://", "https://") + "faults: [{http-5xx: network, at: 1s}]\n",
            "faults.0.http-5xx.subject",
            "without TLS",
            None,
        ),
        (
            HTTP + "faults: [{http-5xx: {subject: network, status: 404}, at: 1s}]\n",
            "faults.0.http-5xx.status",
            "404",
            None,
        ),
    ],
)
def test_mistakes_have_a_place_and_a_remedy(
    tmp_path: Path, text: str, path: str, finding: str, nearest: str | None
) -> None:
    with pytest.raises(PlanError) as raised:
        read(tmp_path, text)
    [problem] = raised.value.problems
    assert problem.path == path
    assert finding in problem.finding
    assert problem.allowed
    if nearest is not None:
        assert problem.nearest == nearest


WAITING = "rate: 100/s, max_backlog: 1min, "


@pytest.mark.parametrize(
    ("load", "fault", "codes"),
    [
        ("rate: 100/s, ", "{hang: redis, at: 10s, for: 5s}", []),
        ("", "{hang: redis, at: 10s, for: 5s}", ["faults.closed-loop"]),
        ("rate: 100/s, ", "{hang: redis, at: 1s, for: 5s}", ["faults.no-baseline"]),
        (WAITING, "{hang: redis, at: 15s, for: 6s}", ["faults.recovery-unconfirmed"]),
        (WAITING, "{hang: redis, at: 5s}", []),
        ("rate: 100/s, ", "{hang: redis, at: 25s}", ["faults.recovery-unconfirmed"]),
        (WAITING, "{hang: redis, at: 15s, for: 60s}", ["faults.cut-off"]),
        ("rate: 100/s, ", "{hang: redis, at: 5s, for: 6s}", ["faults.short-backlog"]),
        ("rate: 100/s, ", "{kill: redis, at: 5s}", ["faults.short-backlog"]),
        ("rate: 100/s, ", "{blackhole: network, at: 5s, for: 6s}", ["faults.short-backlog"]),
        ("rate: 100/s, ", "{refuse: network, at: 5s, for: 6s}", []),
        ("rate: 100/s, ", "{command: {subject: redis, run: ls}, at: 5s}", ["fault.command-without-undo"]),
        ("rate: 100/s, ", "{command: {subject: redis, run: ls, undo: null}, at: 5s}", []),
        ("rate: 100/s, ", "{restart: redis, at: 15s}", []),
        (WAITING + "requests: 1000, ", "{hang: redis, at: 15s, for: 14s}", []),
    ],
)
def test_what_a_load_cannot_judge_is_remarked_on(
    tmp_path: Path, load: str, fault: str, codes: list[str]
) -> None:
    text = PLAN.replace("\nload: {", f"\nload: {{{load}") + f"faults: [{fault}]\n"
    listed = remarks(read(tmp_path, text), installed())
    assert [remark.message.code for remark in listed if remark.message.code.startswith("fault")] == codes


@pytest.mark.parametrize(
    ("lasts", "written", "enough"),
    [("10s", "10 s", "1min"), ("60min", "1 h", "2h"), ("150min", "2 h 30 min", "3h")],
)
def test_a_remark_on_a_fault_has_its_times_and_a_backlog_that_suffices(
    tmp_path: Path, lasts: str, written: str, enough: str
) -> None:
    plan = PLAN.replace("clients: 2, duration: 30s", "clients: 2, rate: 100/s, duration: 4h")
    listed = remarks(read(tmp_path, plan + f"faults: [{{hang: redis, at: 5s, for: {lasts}}}]\n"), installed())
    [remark] = [item for item in listed if item.path == "load.max_backlog"]
    assert remark.text == (
        f"hang redis lasts {written}, and `load.max_backlog` is 5s: the trial may end as overloaded. "
        f"set `load.max_backlog: {enough}`"
    )


@pytest.mark.parametrize(
    ("expectation", "nearest"),
    [("pause < 3", "3s"), ("recovery < 500", "500ms"), ("latency.p99 < 20", "20ms")],
)
def test_a_mistake_of_an_expectation_has_its_place_and_text(
    tmp_path: Path, expectation: str, nearest: str
) -> None:
    entry = f"  - {{hang: redis, at: 5s, for: 1s, expect: [errors == 0, {expectation}]}}\n"
    with pytest.raises(PlanError) as raised:
        read(tmp_path, PLAN + "faults:\n" + entry)
    [problem] = raised.value.problems
    assert problem.path == "faults.0.expect.1"
    assert problem.mark.column == entry.index(expectation) + 1
    assert problem.finding.startswith(f'"{expectation}": found ')
    assert "a number without a unit" in problem.finding
    assert problem.allowed
    assert problem.nearest == nearest


def test_expectations_of_effects(tmp_path: Path) -> None:
    faults = "faults: [{hang: redis, at: 5s, for: 1s, expect: [effect == none, pause < 2s]}]\n"
    effect, pause = read(tmp_path, PLAN + faults).base.faults[0].expect
    assert (effect.threshold, pause.threshold) == (0.0, 2000.0)
    assert effect.judge({"effect": 2.0}).verdict == "missed"
    assert effect.judge({}).verdict == "unknown"
    with pytest.raises(PlanError, match="none, slow, errors, dip, outage"):
        read(tmp_path, PLAN + "expect: [effect == small]\n")


STORAGE = PLAN.replace("{server: local}", "{server: local, storage: {gluster: {hosts: 3}}}")


@pytest.mark.parametrize(
    ("plan", "first", "second", "code"),
    [
        (PLAN, "hang: redis, after: 1000, for: 5s", "hang: redis, after: 9000", "may-overlap"),
        (PLAN, "hang: redis, after: 1000, for: 5s", "hang: redis, at: 9s", "may-overlap"),
        (PLAN, "hang: redis, after: 1000", "kill: redis, at: 9s", None),
        (PLAN, "restart: redis, after: 1000", "restart: redis, after: 2000", None),
        (
            PLAN,
            "delay: {subject: network, time: 1ms}, after: 1",
            "delay: {subject: network, time: 2ms}, after: 9",
            None,
        ),
        (
            PLAN,
            "command: {subject: redis, run: a, undo: b}, after: 1",
            "command: {subject: redis, run: c, undo: b}, after: 9",
            "may-overlap",
        ),
        (
            PLAN,
            "command: {subject: redis, run: a, undo: b}, after: 1",
            "command: {subject: redis, run: a, undo: c}, after: 9",
            None,
        ),
        (
            PLAN,
            "clock-step: {subject: redis, by: 1h}, at: 1s",
            "clock-shift: {subject: redis, by: 1s, over: 1s}, after: 9",
            "may-overlap",
        ),
        (STORAGE, "hang: storage.brick, at: 1s", "hang: storage.brick-1, at: 2s", "shares-parts"),
        (STORAGE, "hang: storage.brick, at: 1s, for: 1s", "hang: storage.brick-1, at: 2s", None),
        (STORAGE, "hang: storage.hosts, at: 1s", "hang: storage.brick-2, at: 2s", "shares-parts"),
        (STORAGE, "hang: storage.bricks, after: 9", "hang: storage.brick-2, at: 2s", "may-overlap"),
        (STORAGE, "hang: storage.brick, at: 1s", "hang: storage.brick-2, at: 2s", None),
        (STORAGE, "hang: storage.host-2, after: 1", "hang: storage.management-1, after: 2", None),
    ],
)
def test_a_fault_that_would_end_another_one_is_refused(
    tmp_path: Path, plan: str, first: str, second: str, code: str | None
) -> None:
    text = plan + f"faults:\n  - {{{first}}}\n  - {{{second}, overlap: true}}\n"
    if code is None:
        assert len(read(tmp_path, text).base.faults) == 2
        return
    with pytest.raises(PlanError) as raised:
        read(tmp_path, text)
    assert [problem.message.code for problem in raised.value.problems] == [f"plan.fault-{code}"]


def test_limits_of_one_hierarchy_of_control_groups_do_not_overlap(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In v1 each controller has its own, in v2 all share one: the second group would replace the first."""
    text = PLAN + "faults:\n" + (
        "  - {cpu-quota: {subject: redis, cores: 0.5}, at: 1s, for: 5s}\n"
        "  - {memory-limit: {subject: redis, size: 100MiB}, at: 2s, for: 1s, overlap: true}\n"
    )  # fmt: skip
    for directories, refused in (({}, True), ({"memory": "v1"}, False)):
        monkeypatch.setattr(
            limited_groups,
            "hierarchy",
            lambda name, _="", names=directories: limited_groups.Hierarchy(Path(names.get(name, "v2")), True),
        )
        if refused:
            with pytest.raises(PlanError) as raised:
                read(tmp_path, text)
            assert "memory-limit redis would replace the effect of cpu-quota redis" in str(raised.value)
        else:
            assert len(read(tmp_path, text).base.faults) == 2


def test_the_clock_has_one_fault_at_a_time_and_writes_have_another(tmp_path: Path) -> None:
    clocks = "faults:\n  - {clock-step: {subject: redis, by: 1h}, at: 1s, for: 5s}\n"
    shift = "  - {clock-shift: {subject: redis, by: 1s, over: 1s}, at: 2s, for: 1s, overlap: true}\n"
    with pytest.raises(PlanError, match="clock-shift redis would replace the effect of clock-step redis"):
        read(tmp_path, PLAN + clocks + shift)
    writes = "  - {write-errors: redis, at: 2s, for: 1s, overlap: true}\n"
    assert len(read(tmp_path, PLAN + clocks + writes).base.faults) == 2


def test_an_engine_without_the_library_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preload_fault._engine, "preload_library", lambda: b"")
    with pytest.raises(PlanError, match="no library for faults"):
        read(tmp_path, PLAN + "faults: [{clock-step: {subject: redis, by: 1h}, at: 1s}]\n")
