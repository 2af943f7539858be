"""Labels of a run, facts that loadcell cannot see, and every way to write them wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from loadcell.plan import labels
from loadcell.plan.load import load_plan
from loadcell.plan.problems import PlanError
from plan import fake_parts
from plan.fake_parts import PLAN


def test_a_plan_without_labels_has_none(tmp_path: Path) -> None:
    plan = fake_parts.read(tmp_path, PLAN + "labels:\nabout: {}\n")
    assert plan.labels == plan.about == {}


def test_texts_stay_as_they_are_written(tmp_path: Path) -> None:
    text = "labels: {commit: 0012345, ratio: 1e5, keep: true, build: '7'}\n"
    assert fake_parts.read(tmp_path, PLAN + text).labels == {
        "commit": "0012345", "ratio": "1e5", "keep": "true", "build": "7",
    }  # fmt: skip


def test_facts_have_names_in_any_language(tmp_path: Path) -> None:
    text = "about: {storage nodes: 6, 固件版本: 2.4.1, QoS: 20000 IOPS}\n"
    assert fake_parts.read(tmp_path, PLAN + text).about == {
        "storage nodes": "6", "固件版本": "2.4.1", "QoS": "20000 IOPS",
    }  # fmt: skip


def test_the_command_line_adds_labels_and_replaces_those_of_the_plan(tmp_path: Path) -> None:
    (tmp_path / "plan.yaml").write_text(PLAN + "labels: {branch: main, build: 7}\n")
    options = ("branch=fix=2", "keep", "note=")
    plan = load_plan(tmp_path / "plan.yaml", fake_parts.PARTS, added_labels=options)
    assert plan.labels == {"branch": "fix=2", "build": "7", "keep": "", "note": ""}


def test_set_changes_them(tmp_path: Path) -> None:
    sets = ("labels.build=8", "about.QoS=none")
    plan = fake_parts.read(tmp_path, PLAN + "labels: {build: 7}\n", sets=sets)
    assert plan.labels == {"build": "8"}
    assert plan.about == {"QoS": "none"}


LONG = "x" * (labels.LONGEST_VALUE + 1)


@pytest.mark.parametrize(
    ("written", "path", "finding", "advice"),
    [
        ("labels: main", "labels", 'found "main"', "names with texts, such as labels: {storage: nvme}"),
        ("labels: [main]", "labels", "found a list of 1", "names with texts"),
        ("labels: {1st: a}", "labels", 'found "1st"', "a letter, then letters"),
        ("labels: {a b: c}", "labels", 'found "a b"', "a letter, then letters"),
        ("labels: {a=b: c}", "labels", 'found "a=b"', "a letter, then letters"),
        ("labels: {a: }", "labels.a", "found nothing", "a text, a number"),
        ("labels: {a: [b]}", "labels.a", "found a list of 1", "a text, a number"),
        ("labels: {a: {b: c}}", "labels.a", "found a mapping with b", "a text, a number"),
        (f"labels: {{a: {LONG}}}", "labels.a", "a has 1,001 characters", "at most 1,000 characters"),
        ("labels: {password: hunter22}", "labels.password", "looks like a secret", "without secrets"),
        ("labels: {api-key: abcd}", "labels.api-key", "looks like a secret", "without secrets"),
        ("labels: {db: 'pg://me:hunter22@db/x'}", "labels.db", "looks like a secret", "without secrets"),
        ("labels: {a: '${env:HOME}'}", "labels.a", "looks like a secret", "without secrets"),
        ("labels: {ci: ghp_0123456789abcdefghij0123}", "labels.ci", "looks like a secret", "without secrets"),
        ("labels: {a: 'Bearer abcdefgh12'}", "labels.a", "looks like a secret", "without secrets"),
        ("about: {access key: AK}", "about.access key", "looks like a secret", "without secrets"),
        ("about: {'': x}", "about", 'found ""', "a name in one line"),
        (f"about: {{{'n' * 65}: x}}", "about", "found", "a name in one line"),
        (f"about: {{a: {LONG}}}", "about.a", "a has 1,001 characters", "at most 1,000 characters"),
        ("about: [6 nodes]", "about", "found a list of 1", "such as about: {storage: nvme}"),
    ],
)  # fmt: skip
def test_mistakes_have_a_place_and_a_remedy(
    tmp_path: Path, written: str, path: str, finding: str, advice: str
) -> None:
    [problem] = fake_parts.mistakes(tmp_path, PLAN + written + "\n")
    assert problem.path == path
    assert problem.mark.line == PLAN.count("\n") + 1
    assert finding in problem.finding
    assert advice in str(problem.allowed)
    assert "hunter22" not in str(problem)


def test_more_labels_than_a_table_holds_are_refused(tmp_path: Path) -> None:
    many = "".join(f"  l{number}: x\n" for number in range(labels.MOST + 1))
    [problem] = fake_parts.mistakes(tmp_path, f"{PLAN}labels:\n{many}")
    assert (problem.finding, problem.allowed) == ("there are 65 names", "at most 64")


@pytest.mark.parametrize(
    ("option", "finding"),
    [
        ("=abc", 'found ""'),
        ("1=abc", 'found "1"'),
        ("token=abcd", "token looks like a secret"),
        ("commit=" + "a" * 2**20, "commit has 1,048,576 characters"),
        ("note=\x1b[31m", "found"),
    ],
)
def test_mistakes_of_the_command_line_name_the_option(tmp_path: Path, option: str, finding: str) -> None:
    (tmp_path / "plan.yaml").write_text(PLAN)
    with pytest.raises(PlanError) as caught:
        load_plan(tmp_path / "plan.yaml", fake_parts.PARTS, added_labels=(option,))
    [problem] = caught.value.problems
    assert str(problem.mark) == "--label"
    assert finding in problem.finding


def test_what_is_no_secret_is_allowed(tmp_path: Path) -> None:
    text = "labels: {commit: 3f2a9c1d2e4b5f60718293a4b5c6d7e8f9012345, tokens_per_s: 5, url: 'https://ci/job/7'}\n"
    assert len(fake_parts.read(tmp_path, PLAN + text).labels) == 3
