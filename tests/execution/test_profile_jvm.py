"""A service on the JVM that a plan profiles: CPU time, allocations, locks and objects by class."""

from __future__ import annotations

from pathlib import Path

from execution.live import loadcell, measured
from jvms import classes
from loadcell.store.read import read_run
from systems.jvm.programs import SERVICE

PLAN = """
target:
  jvm:
    main: Service
    classpath: {classes}
    arguments: ["{{port}}", {way}]
    url: http://127.0.0.1:{{port}}
    heap: 64MiB
    properties: {{sun.net.httpserver.nodelay: true}}
    options: {options}
workload: {{http: {{requests: {{get: {{path: /}}}}}}}}
load: {{clients: 2, warmup: 200ms, duration: 1s}}
repeats: 1
profile: {profile}
"""
#: A name that an agent of a JVM would take for several arguments, and a JVM for a pattern.
OUT = "runs/heap=1G,shards=4 50%p"
FOUR = "{jvm-cpu: {frequency: 499}, jvm-allocation: {every: 16KiB}, jvm-lock: {}, jvm-classes: {}}"


def test_each_profile_has_a_trial_and_the_report_shows_all(tmp_path: Path) -> None:
    plan = PLAN.format(classes=classes(SERVICE), way="plain", options="[]", profile=FOUR)
    (tmp_path / "plan.yaml").write_text(plan)
    ended = measured(tmp_path, "plan.yaml", out=OUT)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    stored = read_run(tmp_path / OUT)
    assert [trial.profile for trial in stored.trials] == [None]
    records = {trial.profile.kind: trial for trial in stored.unscored if trial.profile is not None}
    assert list(records) == ["jvm-cpu", "jvm-allocation", "jvm-lock", "jvm-classes"]
    for kind, trial in records.items():
        assert trial.status in ("ok", "invalid"), (kind, trial.reason)
        assert trial.name == f"profile-{kind}-baseline"
    folded = (stored.directory("profile-jvm-cpu-baseline") / "profile.folded").read_text()
    assert "Service" in folded
    assert "com.sun" in folded or "sun.net" in folded
    folded = (stored.directory("profile-jvm-allocation-baseline") / "profile.folded").read_text()
    assert "[]_[i]" in folded
    assert records["jvm-classes"].profile.classes.before.instances > 1000
    report = (tmp_path / OUT / "report.md").read_text()
    for text in (
        "## Profiles",
        "Flame graph of CPU time in JVMs",
        "Flame graph of allocations",
        "allocated in 1 s",
        "Most bytes by class",
    ):
        assert text in report
    # a service that has served before may have as many objects as then
    has_grown = "live objects had" in report
    assert has_grown or "no class had more live objects" in report
    assert ("Classes with the largest growth" in report) == has_grown
    shown = loadcell(tmp_path, "show", OUT, "profile-jvm-classes-baseline").stdout
    assert "classes-before.txt" in shown
    assert "classes-after.txt" in shown
    shown = loadcell(tmp_path, "show", OUT).stdout
    assert ("Classes with the largest growth" in shown) == has_grown
    assert "show allocations by function" in shown


def test_a_jvm_that_cannot_be_profiled_costs_no_result(tmp_path: Path) -> None:
    options = "[-XX:+DisableAttachMechanism]"
    plan = PLAN.format(classes=classes(SERVICE), way="plain", options=options, profile=FOUR)
    (tmp_path / "plan.yaml").write_text(plan)
    ended = measured(tmp_path, "plan.yaml")
    assert ended.returncode == 0, ended.stdout + ended.stderr
    stored = read_run(tmp_path / "run")
    assert [trial.status for trial in stored.trials] == ["ok"]
    assert [trial.status for trial in stored.unscored] == ["failed"] * 4
    for trial in stored.unscored:
        assert "it runs with -XX:+DisableAttachMechanism" in (trial.reason or "")
    report = (tmp_path / "run" / "report.md").read_text()
    assert "baseline was not profiled: the JVM" in report
    assert "start the JVM without -XX:+DisableAttachMechanism" in report
