"""`faults`: actions, subjects, times and expectations."""

from __future__ import annotations

from pathlib import Path

import pytest

from loadcell.faults import preload_fault
from loadcell.parts import installed
from loadcell.plan.problems import PlanError
from loadcell.plan.remarks import remarks
from plan.fault_plans import ALLOWED, HTTP, PLAN, POSTGRES, STANDBY, read


def test_a_fault_has_an_action_a_subject_and_a_time(tmp_path: Path) -> None:
    [fault] = read(tmp_path, PLAN + "faults: [{hang: redis, at: 10s, for: 500ms}]\n").base.faults
    assert (fault.action, fault.subject, fault.timing.at, fault.timing.for_) == ("hang", "redis", 10.0, 0.5)
    assert fault.document() == {"hang": {"subject": "redis"}, "at": "10s", "for": "500ms"}


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


def test_expectations_of_effects(tmp_path: Path) -> None:
    faults = "faults: [{hang: redis, at: 5s, for: 1s, expect: [effect == none, pause < 2s]}]\n"
    effect, pause = read(tmp_path, PLAN + faults).base.faults[0].expect
    assert (effect.threshold, pause.threshold) == (0.0, 2000.0)
    assert effect.judge({"effect": 2.0}).verdict == "missed"
    assert effect.judge({}).verdict == "unknown"
    with pytest.raises(PlanError, match="none, slow, errors, dip, outage"):
        read(tmp_path, PLAN + "expect: [effect == small]\n")


def test_an_engine_without_the_library_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preload_fault._engine, "preload_library", lambda: b"")
    with pytest.raises(PlanError, match="no library for faults"):
        read(tmp_path, PLAN + "faults: [{clock-step: {subject: redis, by: 1h}, at: 1s}]\n")
