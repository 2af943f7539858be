"""Every mistake has a place, says what was found and what is allowed, and names what was probably meant.

In each case `‹` stands before the place the message must point at.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from loadcell.model.catalogue import texts
from loadcell.model.message import Message, as_written, declared
from loadcell.plan.problems import Mark, PlanError, Problem
from loadcell.report.texts import Texts
from plan.fake_parts import PARTS, PLAN, mistakes, read

PLACE = "‹"


@dataclass
class Case:
    name: str
    text: str
    path: str
    finding: str
    allowed: str = ""
    nearest: str | None = None


def with_load(load: str) -> str:
    return PLAN.replace("{clients: 1}", load)


def with_target(target: str) -> str:
    return PLAN.replace("target: {database: {}}", f"target: {target}")


#: Messages that consist of names, or of other messages.
SAME_IN_BOTH = {"allowed.names", "plan.restated", "plan.placement-impossible"}
CASES = [
    Case("a duration of over a year", with_load("{clients: 1, duration: ‹400d}"), "load.duration", "400d",
         ""),
    Case("a step of over a year", with_load("{clients: 1, rate: {steps: [{rate: 5/s, for: ‹400d}]}}"),
         "load.rate.steps.0.for", "400d", ""),
    # -- names
    Case("unknown key", PLAN + "‹titel: x", "titel", 'no key "titel"', "title, question", "title"),
    Case("a title in one of two languages", PLAN + "title: ‹{en: A title}", "title.zh", "missing"),
    Case("a title in another language", PLAN + "title: {en: A, zh: B, ‹fr: C}", "title.fr",
         'no setting "fr"'),
    Case("a title that is a list", PLAN + "title: ‹[A, B]", "title", "found a list of 2",
         "text or a mapping"),
    Case("a setting where it does not belong", PLAN + "‹duration: 5s", "duration", "no key",
         nearest="load.duration"),
    Case("several values of a setting", with_load("{clients: ‹[1, 50]}"), "load.clients", "found a list of 2",
         "key `load.clients` below `factors:`"),
    Case("an address under the name of another system", with_target("{database: {‹url: x}}"),
         "target.database.url", 'no setting "url"', nearest="target.database.dsn"),
    Case("unknown setting", with_load("{clients: 1, ‹durations: 5s}"), "load.durations",
         'no setting "durations" in load', "clients, rate, arrivals, max_backlog, threads, warmup, duration",
         "load.duration"),
    Case("unknown option", with_target("{database: {‹dns: x}}"), "target.database.dns", 'no setting "dns"',
         "server, dsn", "target.database.dsn"),
    Case("unknown target", with_target("{‹databse: {}}"), "target.databse", 'no target "databse"',
         "database, cache", "target.database"),
    Case("unknown workload", PLAN.replace("mix:", "‹mixx:"), "workload.mixx", 'no workload "mixx"',
         "mix, sql, calls", "workload.mix"),
    Case("unknown workload of a target that not all go with",
         with_target("{cache: {}}").replace("mix:", "‹sqll:"), "workload.sqll", 'no workload "sqll"',
         "mix, calls"),
    Case("unknown monitor", PLAN + "monitors: [‹hots]", "monitors.hots", 'no monitor "hots"',
         "host, jvm, cache-stats", "monitors.host"),
    Case("unknown option of a monitor", PLAN + "monitors: [{host: {‹disk: true}}]", "monitors.host.disk",
         "no setting", nearest="monitors.host.disks"),
    Case("monitor of another target", PLAN + "monitors: [host, ‹cache-stats]", "monitors.cache-stats",
         "the monitor cache-stats does not support the target database", "the target cache"),
    Case("monitor listed twice", PLAN + "monitors: [host, ‹host]", "monitors", "listed twice"),
    Case("monitors that are no list", PLAN + "monitors: ‹host", "monitors", 'found "host"', "a list"),
    Case("two targets", with_target("‹{database: {}, cache: {}}"), "target", "2 names",
         "one of database, cache"),
    Case("a target without a mapping", with_target("‹databas"), "target", 'found "databas"',
         nearest="target: {database: {}}"),
    Case("workload for another target",
         with_target("{cache: {}}").replace("workload: {mix: {}}", "‹workload: {sql: {text: x}}"),
         "workload.sql", "does not work with the target cache", "the target database"),
    # -- values
    Case("text for a number", with_load("{clients: ‹many}"), "load.clients", 'found "many"',
         "a whole number"),
    Case("nearly the number of processors", with_load("{clients: ‹cpu}"), "load.clients", 'found "cpu"',
         "a whole number, or cpus", "cpus"),
    Case("thousands by a letter", with_load("{clients: ‹10k}"), "load.clients", 'found "10k"',
         "a whole number, or cpus", "10000"),
    Case("a quoted number", with_load('{clients: ‹"5"}'), "load.clients", 'found "5"', "a whole number"),
    Case("a number with a point", with_load("{clients: ‹1.5}"), "load.clients", "found 1.5",
         "a whole number"),
    Case("true for a number", with_load("{clients: ‹true}"), "load.clients", "found true", "a whole number"),
    Case("too small", with_load("{clients: ‹0}"), "load.clients", "found 0", "at least 1"),
    Case("a list for a value", with_load("{clients: ‹[1, 2]}"), "load.clients", "found a list of 2",
         "a whole number"),
    Case("a value for a mapping", PLAN.replace("{clients: 1}", "‹7"), "load", "found 7", "a mapping"),
    Case("one of some", with_target("{database: {server: ‹locl}}"), "target.database.server", 'found "locl"',
         "'embedded', 'local' or 'external'", "local"),
    Case("a list in free settings", with_target("{database: {settings: {fsync: ‹[1]}}}"),
         "target.database.settings.fsync", "found a list",
         "text or a whole number or a number or true or false"),
    Case("a setting without a default", PLAN.replace("{mix: {}}", "{‹sql: {}}"), "workload.sql.text",
         "is missing"),
    Case("no clients", PLAN.replace("load: {clients: 1}", "‹load: {}"), "load.clients", "is missing",
         "or as a factor"),
    Case("no target", "‹workload: {mix: {}}\nload: {clients: 1}", "target", "is missing", "database, cache"),
    Case("repeats 0", PLAN + "repeats: ‹0", "repeats", "found 0", "at least 1"),
    Case("unknown design", PLAN + "design: ‹ful", "design", 'found "ful"', "'full' or 'one-at-a-time'",
         "full"),
    Case("shorter than an interval", with_load("{clients: 1, ‹duration: 200ms}"), "load.duration",
         "shorter than one interval", "at least 1s"),
    # -- rates
    Case("a rate without a unit", with_load("{clients: 1, rate: ‹2000}"), "load.rate",
         "found 2000, a number without a unit", "a rate with its unit", "2000/s"),
    Case("no rate at all", with_load("{clients: 1, rate: ‹0/s}"), "load.rate", 'found "0/s"', "more than 0"),
    Case("a rate beyond any machine", with_load("{clients: 1, rate: ‹10000001/s}"), "load.rate", "found",
         "at most 10000000/s"),
    Case("a ramp without its length", with_load("{clients: 1, rate: ‹{from: 1/s, to: 2/s}}"),
         "load.rate.over", "is missing"),
    Case("a ramp from nothing to nothing", with_load("{clients: 1, rate: ‹{from: 0/s, to: 0/s, over: 1s}}"),
         "load.rate", "stays at 0/s", "one end above 0/s"),
    Case("steps without a step", with_load("{clients: 1, rate: {steps: ‹[]}}"), "load.rate.steps",
         "found an empty list", "at least 1"),
    Case("only pauses", with_load("{clients: 1, rate: ‹{steps: [{rate: 0/s, for: 1s}]}}"), "load.rate",
         "no step has a rate above"),
    Case("a step that takes no time", with_load("{clients: 1, rate: {steps: [{rate: 1/s, for: ‹0s}]}}"),
         "load.rate.steps.0.for", 'found "0s"', "more than 0"),
    Case("steps longer than the measurement",
         with_load("{clients: 1, ‹duration: 5s, "
                   "rate: {steps: [{rate: 1/s, for: 4s}, {rate: 2/s, for: 4s}]}}"),
         "load.duration", "is 5s, shorter than the 8s that load.rate takes", "at least 8s", "8s"),
    Case("arrivals without a rate", with_load("{clients: 1, ‹arrivals: poisson}"), "load.arrivals",
         "no effect without a rate", "together with load.rate"),
    Case("a limit for a backlog that cannot be", with_load("{clients: 1, ‹max_backlog: 3s}"),
         "load.max_backlog", "no effect without a rate"),
    Case("a rate and no connections", PLAN.replace("load: {clients: 1}", "‹load: {rate: 5/s}"),
         "load.clients", "is missing", "connections that carry the rate"),
    # -- deeper
    Case(
        "a slip in a named operation",
        PLAN.replace("{mix: {}}", "{calls: {operations: {read: {‹wieght: 1}}}}"),
        "workload.calls.operations.read.wieght",
        'no setting "wieght" in workload.calls.operations.read',
        "weight, think",
        "workload.calls.operations.read.weight",
    ),
    Case(
        "a wrong unit in a named operation",
        PLAN.replace("{mix: {}}", "{calls: {operations: {read: {think: ‹1}}}}"),
        "workload.calls.operations.read.think",
        "without a unit",
        nearest="1s",
    ),
    Case(
        "a slip below a named operation's path",
        PLAN.replace("{mix: {}}", "{calls: {}}") + "factors: {‹workload.calls.operations.read.wait: [1]}",
        "factors.workload.calls.operations.read.wait",
        'no setting "wait"',
        "weight, think",
    ),
    Case(
        "a slip in a part of a part",
        PLAN.replace("{mix: {}}", "{calls: {first: {‹wight: 1}}}"),
        "workload.calls.first.wight",
        "no setting",
        nearest="workload.calls.first.weight",
    ),
    # -- units
    Case("missing unit", with_load("{clients: 1, duration: ‹30}"), "load.duration",
         "30, a number without a unit", "30s, 5min", "30s"),
    Case("a latency without a unit", f"{PLAN}expect: [‹latency.p99 < 20]\n", "expect",
         "without a unit", nearest="20ms"),
    Case("missing unit in quotes", with_load("{clients: 1, duration: ‹'30'}"), "load.duration",
         "without a unit", nearest="30s"),
    Case("wrong unit", with_load("{clients: 1, duration: ‹30MB}"), "load.duration", 'unit "MB" is not one of',
         "30s"),
    Case("nearly a unit", with_load("{clients: 1, duration: ‹2m}"), "load.duration", 'unit "m"',
         nearest="2min"),
    Case("negative", with_load("{clients: 1, warmup: ‹-1s}"), "load.warmup", "negative"),
    Case("zero where time must pass", with_load("{clients: 1, duration: ‹0s}"), "load.duration", 'found "0s"',
         "more than 0"),
    Case("a size without a unit", with_target("{cache: {memory: ‹512}}"), "target.cache.memory",
         "without a unit", "512MB"),
    Case("a rate without a unit", PLAN.replace("{mix: {}}", "{mix: {goal: ‹2000}}"), "workload.mix.goal",
         "without a unit", "2000/s"),
    Case("a share without a unit", PLAN.replace("{mix: {}}", "{mix: {share: ‹5}}"), "workload.mix.share",
         "without a unit", "5%"),
    # -- factors
    Case("no such path", PLAN + "factors: {‹load.cleints: [1]}", "factors.load.cleints",
         'no setting "cleints" in load', "clients, rate, arrivals", "load.clients"),
    Case("a path from nowhere", PLAN + "factors: {‹clients: [1]}", "factors.clients", 'no setting "clients"',
         "target, workload, workloads, load", "load.clients"),
    Case("a path below a value", PLAN + "factors: {‹load.clients.x: [1]}", "factors.load.clients.x",
         "a single value"),
    Case("a path to another target's typo", PLAN + "factors: {‹target.databse.data: [a]}",
         "factors.target.databse.data", 'no target "databse"', "database, cache", "target.database.data"),
    Case("what no treatment has", PLAN + "factors: {‹repeats: [1, 2]}", "factors.repeats", "no setting"),
    Case("a bad level", PLAN + "factors: {load.clients: [1, ‹0, 2]}", "load.clients", "found 0",
         "at least 1"),
    Case("a level without its unit", PLAN + "factors: {load.duration: [1s, ‹2]}", "load.duration",
         "without a unit", nearest="2s"),
    Case("a level twice", PLAN + "factors: {load.clients: [1, 2, ‹1]}", "factors.load.clients",
         '"1" is given twice'),
    Case("no levels", PLAN + "factors: {load.clients: ‹[]}", "factors.load.clients",
         "an empty list, no levels"),
    Case("one value for levels", PLAN + "factors: {load.clients: ‹5}", "factors.load.clients",
         "found 5, no levels", nearest="load.clients: [5]"),
    Case("named levels without levels", PLAN + "factors: {storage: ‹{}}", "factors.storage", "has no levels"),
    Case("a named level that sets nothing", PLAN + "factors: {storage: {a: ‹5}}", "factors.storage.a",
         "found 5"),
    Case("a named level with a bad path", PLAN + "factors: {storage: {a: {‹target.database.dat: x}}}",
         "factors.storage.a.target.database.dat", 'no setting "dat"', nearest="target.database.data"),
    Case("a named level with a bad value",
         PLAN + "factors: {how: {a: {load.clients: 1}, b: {load.clients: ‹x}}}", "load.clients", 'found "x"'),
    Case("two factors, one path",
         PLAN + "factors:\n  target.database.data: [a]\n  storage: {b: {‹target.database.data: b}}"
         .replace("‹", "").replace("{b:", "{‹b:"),
         "factors.storage", 'as the factor "target.database.data" does'),
    Case("a factor within a factor",
         PLAN + "factors:\n  target.database: [{data: a}]\n  ‹target.database.data: [a]",
         "factors.target.database.data", "belongs to target.database"),
    Case("a factor round a factor",
         PLAN + "factors:\n  target.database.data: [a]\n  ‹target.database: [{data: a}]",
         "factors.target.database", "contains target.database.data of"),
    Case("a level that sets a thing twice",
         PLAN + "factors: {s: {a: {target.database: {}, ‹target.database.data: x}}}",
         "factors.s.a.target.database.data", "in the same level"),
    Case("a factor on the other target's option",
         PLAN + "factors: {target.cache.memory: [‹1MB]}".replace("‹", ""), "target", "2 names"),
    Case("a factor twice over",
         PLAN + "design: one-at-a-time\nfactors: {load.clients: [1]}\ncross: {‹load.clients: [2]}",
         "load.clients", "given twice"),
    Case("cross without its design", PLAN + "‹cross: {load.clients: [2]}", "cross",
         "no meaning in a full design"),
    Case("cross names no factor", PLAN + "design: one-at-a-time\ncross: [‹load.clients]", "cross",
         'no factor "load.clients"'),
    Case("too many treatments", PLAN + "‹factors: {load.clients: {from: 1, to: 1000, step: 1}, "
         "target.database.data: {from: 1, to: 101, step: 1}}", "factors", "give 101,000 treatments",
         "at most 100,000"),
    # -- ranges
    Case("step the wrong way", PLAN + "factors: {load.clients: {from: 5, to: 160, ‹step: -5}}",
         "factors.load.clients.step", "the range is empty", "a positive step", "5"),
    Case("empty range", PLAN + "factors: {load.clients: {from: 10, to: 5, ‹step: 1}}",
         "factors.load.clients.step", "the range is empty", "a negative step", "-1"),
    Case("step 0", PLAN + "factors: {load.clients: {from: 1, to: 5, ‹step: 0}}", "factors.load.clients.step",
         "step of 0"),
    Case("times 1", PLAN + "factors: {load.clients: {from: 1, to: 5, ‹times: 1}}",
         "factors.load.clients.times", "never reaches 5", "above 1"),
    Case("times the wrong way", PLAN + "factors: {load.clients: {from: 8, to: 1, ‹times: 2}}",
         "factors.load.clients.times", "never reaches 1", "between 0 and 1"),
    Case("times from 0", PLAN + "factors: {load.clients: ‹{from: 0, to: 5, times: 2}}",
         "factors.load.clients", "no multiplication"),
    Case("neither step nor times", PLAN + "factors: {load.clients: ‹{from: 1, to: 5}}",
         "factors.load.clients", "either `step` or `times`"),
    Case("step and times", PLAN + "factors: {load.clients: ‹{from: 1, to: 5, step: 1, times: 2}}",
         "factors.load.clients", "either `step` or `times`"),
    Case("no end", PLAN + "factors: {load.clients: ‹{from: 1, step: 5}}", "factors.load.clients",
         "missing: to"),
    Case("a slip in a range", PLAN + "factors: {load.clients: {from: 1, to: 5, ‹stp: 1}}",
         "factors.load.clients.stp", 'no "stp" in a range', nearest="step"),
    Case("units that differ", PLAN + "factors: {load.duration: {from: 1s, ‹to: 1min, step: 1s}}",
         "factors.load.duration.to", "a different unit"),
    Case("a range of words", PLAN + "factors: {load.clients: {from: ‹few, to: many, step: 1}}",
         "factors.load.clients.from", 'found "few"'),
    Case("a slip of a step", PLAN + "factors: {load.clients: ‹{from: 1, to: 1000000, step: 1}}",
         "factors.load.clients", "more than 100,000 levels"),
    Case(
        "a step in another unit",
        PLAN + "factors: {load.duration: {from: 1s, to: 9s, ‹step: 500ms}}",
        "factors.load.duration.step",
        "a different unit",
    ),
    Case(
        "times with a unit",
        PLAN + "factors: {load.duration: {from: 1s, to: 9s, ‹times: 2s}}",
        "factors.load.duration.times",
        'has a unit ("s")',
    ),
    Case(
        "times so near to 1",
        PLAN + "factors: {workload.mix.ratio: ‹{from: 1, to: 9, times: 1.00001}}",
        "factors.workload.mix.ratio",
        "more than 100,000 levels",
    ),
    # -- expectations
    Case("not an expectation", PLAN + "expect: [‹fast]", "expect", 'found "fast"', "errors == 0"),
    Case("unknown metric", PLAN + "expect: [‹latency.p98 < 5ms]", "expect", 'no metric "latency.p98"',
         "latency.p99, latency.p95, latency.p90, latency.p99.9, latency.p50, latency.p99.99; `loadcell plans",
         "latency.p99"),
    Case("a metric like none", PLAN + "expect: [‹frobnications < 5]", "expect", 'no metric "frobnications"',
         "one of the metrics that `loadcell plans metrics` lists"),
    Case("one equals sign", PLAN + "expect: [‹errors = 0]", "expect", "comparison =", "==", "errors == 0"),
    Case("a latency without its unit", PLAN + "expect: ['‹latency.p99 < 5']".replace("['‹", "[‹'"), "expect",
         "without a unit", "for latency.p99"),
    Case("a count with a unit", PLAN + "expect: [‹errors < 5ms]", "expect", 'the value "5ms"',
         "a bare number"),
    Case("a throughput in seconds", PLAN + "expect: [‹throughput > 5s]", "expect", 'unit "s"', "2000/s"),
    Case("an error rate without %", PLAN + "expect: [‹error_rate < 0.01]", "expect", "without a unit", "5%"),
    Case("one expectation, no list", PLAN + "expect: ‹errors == 0", "expect", 'found "errors == 0"',
         "a list"),
    # -- secrets
    Case("a variable that is not set",
         with_target("{database: {password: '‹${env:NOPE}'}}").replace("'‹", "‹'"),
         "target.database.password", "NOPE is not set", "export NOPE"),
    Case("a reference of another shape", with_target("{database: {data: ‹'${HOME}/x'}}"),
         "target.database.data", 'found "${HOME}"', "${env:NAME}"),
    # -- text
    Case("duplicate key", with_load("{clients: 1, ‹clients: 2}"), "clients", "given twice, first in line 3"),
    Case("a tab", "target:\n‹\tdatabase: {}\n", "", "a tab is used to indent", "spaces only"),
    Case("not YAML", PLAN + "title: [‹", "", "not YAML"),
    Case("two documents", PLAN + "‹---\n" + PLAN, "", "a second document"),
    Case("a list", "‹- target\n- workload\n", "", "contains a list of 2, not a plan"),
    Case("a word", "‹hello", "", 'contains "hello", not a plan'),
    Case("a tag", PLAN + "title: ‹!!python/object:os.system x", "", "the tag"),
    Case("a key that is a list", PLAN + "? ‹[a, b]\n: c\n", "", "a key is a list"),
    Case("an alias to nothing", PLAN + "title: ‹*nothing", "", "has no anchor above it"),
    Case("an alias to itself", PLAN + "factors: &me {a: ‹*me}", "", "has no anchor above it"),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_mistake_is_found_where_it_is(case: Case, tmp_path: Path) -> None:
    before = case.text.partition(PLACE)[0]
    problems = mistakes(tmp_path, case.text.replace(PLACE, ""))
    assert len(problems) == 1, [str(problem) for problem in problems]
    problem = problems[0]
    assert problem.mark.file == str(tmp_path / "plan.yaml")
    if PLACE in case.text:
        assert (problem.mark.line, problem.mark.column) == (
            before.count("\n") + 1,
            len(before.rpartition("\n")[2]) + 1,
        )
    assert problem.path == case.path
    assert case.finding in problem.finding
    assert case.allowed in (problem.allowed or "")
    if case.nearest is not None:
        assert problem.nearest == case.nearest


def strings(value: object) -> Iterator[str]:
    """Texts from outside among the arguments of a message: values of the plan, output of other programs."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Message):
        yield from (text for argument in value.arguments.values() for text in strings(argument))
        yield from value.recorded or ()
    elif isinstance(value, Sequence):
        yield from (text for item in value for text in strings(item))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_mistake_is_reported_in_chinese(case: Case, tmp_path: Path) -> None:
    (problem,) = mistakes(tmp_path, case.text.replace(PLACE, ""))
    assert problem.message.code in declared()
    first, *lines = problem.written(Texts("zh").message).split("\n")
    subject = f"{problem.mark}: " + (f"{problem.path}: " if problem.path else "")
    assert first.startswith(subject)
    finding = first.removeprefix(subject)
    if problem.nearest:
        assert lines.pop() == f"    是否想写：{problem.nearest}"
    assert len(lines) == (problem.allowed is not None)
    for line in (finding, *(line.removeprefix("    允许：") for line in lines)):
        for text in sorted(strings(problem.message), key=len, reverse=True):
            line = line.replace(text, "")
        plain = re.sub(r"`[^`]*`|'[^']*'", "", line)
        assert not re.search(r"\{\w+\}", plain)
        assert not re.search(r"[a-z]{2,} [a-z]{2,} [a-z]{2,}", plain), plain
    assert problem.finding not in finding
    assert re.search(r"[\u3400-\u9fff]", finding)


def test_every_mistake_of_a_plan_has_a_chinese_text() -> None:
    codes = {code for code in declared() if code.startswith(("plan.", "allowed.", "shown.", "problem."))}
    assert len(codes) > 150
    for code in codes - SAME_IN_BOTH:
        assert re.search(r"[\u3400-\u9fff]", texts()[code]["zh"]), code


def test_all_mistakes_come_at_once_in_the_order_of_the_text(tmp_path: Path) -> None:
    problems = mistakes(
        tmp_path,
        """\
titel: x
target: {database: {server: locl, dns: x}}
workload: {mix: {tables: many}}
load: {clients: 0, warmup: 5, warmup: 6s}
factors:
  load.clients: {from: 5, to: 1, step: 1}
  load.interval: [1s, 2]
  load.nothing: [1]
repeats: 0
monitors: [hots]
expect: [errors = 0, p99 < 5ms]
""",
    )
    assert [(p.mark.line, p.path) for p in problems] == [
        (1, "titel"),
        (2, "target.database.server"),
        (2, "target.database.dns"),
        (3, "workload.mix.tables"),
        (4, "load.clients"),
        (4, "load.warmup"),
        (4, "warmup"),
        (6, "factors.load.clients.step"),
        (7, "load.interval"),
        (8, "factors.load.nothing"),
        (9, "repeats"),
        (10, "monitors.hots"),
        (11, "expect"),
        (11, "expect"),
    ]


@pytest.mark.parametrize("name", ["databas", "oracle"])
def test_a_wrong_target_and_a_factor_of_the_right_one_hides_no_other_mistake(
    name: str, tmp_path: Path
) -> None:
    factors = "factors: {target.database.settings.work_mem: [4MB, 8MB]}\n"
    text = with_target(f"{{{name}: {{dns: x}}}}").replace("{mix: {}}", "{mix: {tables: x}}") + factors
    wrong, *others = mistakes(tmp_path, text + "repeats: 0\n")
    assert wrong.path == f"target.{name}"
    assert wrong.finding == f'there is no target "{name}"'
    assert "database" in (wrong.allowed or "")
    if name == "databas":
        assert wrong.nearest == "target.database"
        option = others.pop(0)
        assert (option.path, option.nearest) == ("target.database.dns", "target.database.dsn")
    assert [problem.path for problem in others] == ["workload.mix.tables", "repeats"]


def test_a_misspelt_target_and_the_right_one_is_the_mistake(tmp_path: Path) -> None:
    (problem,) = mistakes(tmp_path, with_target("{databas: {}, database: {}}"))
    assert (problem.path, problem.nearest) == ("target.databas", "target.database")


def test_a_mistake_that_shows_in_many_treatments_is_reported_once(tmp_path: Path) -> None:
    text = (
        PLAN.replace("{mix: {}}", "{mix: {tables: x}}")
        + "factors: {load.clients: {from: 1, to: 50, step: 1}}"
    )
    assert [problem.path for problem in mistakes(tmp_path, text)] == ["workload.mix.tables"]


def test_a_mistake_that_only_a_combination_has_is_found(tmp_path: Path) -> None:
    text = PLAN + "factors:\n  load.duration: [2s, 10s]\n  load.interval: [1s, 5s]\n"
    (problem,) = mistakes(tmp_path, text)
    assert problem.finding == "is 2s, shorter than one interval"
    assert (problem.mark.line, problem.mark.column) == (5, 19)


def test_a_message_reads_well() -> None:
    message = as_written("there is no such setting", "duration, warmup")
    problem = Problem(Mark("plan.yaml", 3, 7), "load.durations", message, "load.duration")
    assert str(problem) == (
        "plan.yaml:3:7: load.durations: there is no such setting\n"
        "    expected: duration, warmup\n"
        "    did you mean: load.duration"
    )
    assert str(PlanError([problem])).endswith("1 error. Nothing was run.")


def test_thousands_of_mistakes_are_counted_not_listed(tmp_path: Path) -> None:
    labels = ", ".join(f"x{number}" for number in range(900))
    with pytest.raises(PlanError) as caught:
        read(tmp_path, PLAN + f"factors: {{load.clients: [{labels}]}}")
    assert len(caught.value.problems) == 900
    assert str(caught.value).count("did you mean") + str(caught.value).count("expected:") == 50
    assert "... and 850 more" in str(caught.value)


def test_the_parts_are_only_those_handed_in() -> None:
    assert set(PARTS.targets) == {"database", "cache"}


def test_a_slip_in_a_step_is_one_mistake_and_not_the_whole_lists(tmp_path: Path) -> None:
    problems = mistakes(tmp_path, with_load("{clients: 1, rate: {steps: [{rat: 1/s, rate: 2/s, for: 1s}]}}"))
    assert [(problem.path, problem.nearest) for problem in problems] == [
        ("load.rate.steps.0.rat", "load.rate.steps.0.rate")
    ]
    assert problems[0].allowed == "rate, for"
