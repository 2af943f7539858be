"""Several monitors of one kind in a plan, metrics that a plan names, and the plans of the documentation."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from loadcell.parts import installed
from loadcell.plan.load import LoadedPlan, load_text
from loadcell.plan.problems import PlanError

DOCS = Path(__file__).parents[2] / "docs"
PLAN = """
target: {http: {url: "http://127.0.0.1:8080"}}
workload: {http: {path: /}}
load: {clients: 2, warmup: 0s, duration: 5s}
"""
APP = "{prometheus: {name: app, url: 'http://127.0.0.1:1/metrics'}}"
DB = "{prometheus: {name: db, url: 'http://127.0.0.1:2', interval: 2s}}"


def read(text: str, sets: tuple[str, ...] = ()) -> LoadedPlan:
    return load_text(PLAN + text, Path("plan.yaml"), installed(), sets=sets, env={"PASS": "secret"})


def problems(text: str) -> str:
    with pytest.raises(PlanError) as refused:
        read(text)
    return "\n".join(
        f"{problem.path}: {problem.message.text}; {problem.message.advice}"
        for problem in refused.value.problems
    )


def test_several_of_one_kind_have_names() -> None:
    plan = read(f"monitors: [host, {APP}, {DB}, {{prometheus: {{url: 'http://127.0.0.1:3'}}}}]")
    assert list(plan.monitors) == ["host", "prometheus:app", "prometheus:db", "prometheus"]
    assert plan.base.document()["monitors"]["prometheus:db"]["interval"] == "2s"


def test_without_names_they_are_asked_for() -> None:
    nameless = "{prometheus: {url: 'http://127.0.0.1:1'}}"
    assert "give each its own name" in problems(f"monitors: [{nameless}, {nameless}]")
    assert "give each its own name" in problems(f"monitors: [{APP}, {APP}]")


@pytest.mark.parametrize("name", ["App", "a.b", "a b", "''", "../x", "a:b", "3.5", "[a]"])
def test_names_are_parts_of_file_names(name: str) -> None:
    assert "monitors.prometheus.name" in problems(
        f"monitors: [{{prometheus: {{name: {name}, url: 'http://h:1'}}}}]"
    )


def test_options_of_a_named_one_are_set_and_varied() -> None:
    plan = read(f"monitors: [{APP}]", ("monitors.prometheus:app.interval=3s",))
    assert plan.base.document()["monitors"]["prometheus:app"]["interval"] == "3s"
    varied = read(f"monitors: [{APP}]\nfactors: {{'monitors.prometheus:app.interval': [1s, 2s]}}")
    assert [
        treatment.resolved.document()["monitors"]["prometheus:app"]["interval"]
        for treatment in varied.treatments
    ] == ["1s", "2s"]
    with pytest.raises(PlanError):
        read("monitors: [host]", ("monitors.host:a.x=1",))


def test_they_watch_only_where_they_are_named() -> None:
    assert not {"prometheus", "command"} & set(read("").monitors)


def test_metrics_are_names_for_expectations() -> None:
    app = "{prometheus: {url: 'http://h:1', metrics: {queue: 'max of depth', served: 'mean of a_total'}}}"
    plan = read(f"monitors: [{app}]\nexpect: [queue < 100, served > 5]")
    assert [(item.metric, item.threshold) for item in plan.expect] == [("queue", 100.0), ("served", 5.0)]
    assert "quue" in problems(f"monitors: [{app}]\nexpect: [quue < 100]")
    other = "{command: {run: [echo], metrics: {queue: 'last of x'}}}"
    assert "already that of the monitor prometheus" in problems(f"monitors: [{app}, {other}]")


@pytest.mark.parametrize(
    ("page", "plans"),
    [
        ("how-to/watch-your-service.md", 4),
        ("how-to/watch-your-service.zh-CN.md", 4),
        ("reference/monitors.md", 1),
    ],
)
def test_plans_of_the_documentation_are_accepted(tmp_path: Path, page: str, plans: int) -> None:
    text = (DOCS / page).read_text(encoding="utf-8")
    blocks = re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)
    blocks = [block for block in blocks if re.search(r"\bprometheus:|- command:", block)]
    assert len(blocks) == plans
    (tmp_path / "queue-depth").write_text("#!/bin/sh\n")
    for block in blocks:
        plan = block if "target:" in block else PLAN + block
        read = load_text(plan, tmp_path / "plan.yaml", installed(), env={"SCRAPE_TOKEN": "a-token"})
        assert any(":" in name or name in ("prometheus", "command") for name in read.monitors)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ("url: 'ftp://h'", "not a URL that can be scraped"),
        ("url: 'h:80'", "not a URL that can be scraped"),
        ("url: 'http://h:99999'", "not a URL that can be scraped"),
        ("url: 'http://me:${env:PASS}@h/metrics'", "the URL contains a login"),
        ("url: 'http://me:pass1234@h/metrics'", "${env:NAME}"),
        ("url: 'http://h', auth: {basic: {user: me, password: open1234}}", "${env:NAME}"),
        ("url: 'http://h', auth: {}", "one scheme"),
        ("url: 'http://h', tls: {verify: false}", "https"),
        ("url: 'http://h', timeout: 10s", "10ms to 3s"),
        ("url: 'http://h', interval: 1ms", "100ms to 1h"),
        ("url: 'http://h', page_limit: 1GB", "1KiB to 64MiB"),
        ("url: 'http://h', limit: 5000", "1000"),
        ("url: 'http://h', series: ['a{b']", "selects no series"),
        ("url: 'http://h', series: ['a{b=c}']", "selects no series"),
        ("url: 'http://h', metrics: {q: 'sum of a'}", "is not a metric of series"),
        ("url: 'http://h', metrics: {q: 'max of'}", "is not a metric of series"),
        ("url: 'http://h', metrics: {throughput: 'max of a'}", "cannot be the name of a metric"),
        ("interval: 1s", "monitors.prometheus.url"),
    ],
)
def test_mistakes_of_prometheus(options: str, text: str) -> None:
    assert text in problems(f"monitors: [{{prometheus: {{{options}}}}}]")


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ("run: []", "names no program"),
        ("run: vmstat 1", "monitors.command.run"),
        ("run: ['./no-such-script']", "there is no program"),
        ("run: [curl, '${env:PASS}']", "visible in the list of processes"),
        ("run: [echo], env: {'a-b': c}", "environment variable"),
        ("run: [echo], timeout: 1min", "10ms to 3s"),
        ("run: [echo], start: always", "each-interval"),
    ],
)
def test_mistakes_of_command(options: str, text: str) -> None:
    assert text in problems(f"monitors: [{{command: {{{options}}}}}]")


def test_missing_settings_are_reported_with_an_example() -> None:
    text = problems("monitors: [prometheus, command]\n")
    assert "monitors.prometheus.url: is missing" in text
    assert 'such as `url: "http://127.0.0.1:9090/metrics"`' in text
    assert 'such as `run: ["./queue-depth", "--json"]`' in text
