"""Findings of `scripts/lint-language`."""

from __future__ import annotations

import tomllib
from types import ModuleType
from typing import Any

import pytest

from scripts_of_make import SCRIPTS, load_script


@pytest.fixture(scope="module")
def script() -> ModuleType:
    return load_script("lint-language")


@pytest.fixture(scope="module")
def rules(script: ModuleType) -> Any:
    return script.Rules(tomllib.loads((SCRIPTS / "language.toml").read_text(encoding="utf-8")))


PYTHON = '''"""What it is."""
from os import path as said

found_files: list[str] = []
unknown = owner = foundation = found_files


class Keeper:
    """A class, as `part of its own` says."""

    def method(self, one, *, remaining):
        """Return the value, held
        against the other."""
        self.left = [item for item in one]  # a remark of its
        # own, and so on
        text = "it was given up"
        key = "found"
        return text.found


def test_two_runs_are_held_against_each_other() -> None:
    for count, kept in enumerate(found_files):
        print(count, kept)
'''

RUST = """/// Whether it is open.
// Of two comments only documentation has an opening.
pub struct Desk { // so many
    pub own_port: u16,
    open: bool,
}
enum Kind { Told, Heard(u8), Open { whole: bool } }
fn serve<'a>(rest: &'a str, limit: usize) -> Option<u8> {
    let (said, count) = split(rest);
    let url = "what is left"; /* goes
    on */
    if let Some(found) = lookup(count) { return Some(found.own) }
    for lot in lots() {}
    list.map(|known| known + 1);
    match limit { tally => None }
}
#[test]
fn nothing_of_the_whole_stream_is_lost() {}
"""


def hits(findings: Any) -> list[tuple[int, str, str]]:
    return sorted((finding.line, finding.kind, finding.text) for finding in findings)


def test_bound_names_phrases_and_openings_of_python(script: ModuleType, rules: Any) -> None:
    assert hits(script.python_findings("a.py", PYTHON, rules)) == [
        (1, "opening", "What"),
        (2, "identifier", "said"),
        (4, "identifier", "found_files"),
        (8, "identifier", "Keeper"),
        (11, "identifier", "one"),
        (12, "docstring", "held against"),
        (14, "comment", "of its own"),
        (14, "identifier", "left"),
        (16, "string", "given up"),
        (21, "identifier", "held against"),
        (22, "identifier", "kept"),
    ]


def test_a_short_name_has_no_phrase_of_several_words(script: ModuleType, rules: Any) -> None:
    source = "def _held_against_the_first() -> None: ...\nfigures = 1\n"
    assert hits(script.python_findings("a.py", source, rules)) == [(1, "identifier", "held against")]


def test_bound_names_phrases_and_openings_of_rust(script: ModuleType, rules: Any) -> None:
    assert hits(script.rust_findings("a.rs", RUST, rules)) == [
        (1, "opening", "Whether"),
        (3, "comment", "so many"),
        (3, "identifier", "Desk"),
        (4, "identifier", "own_port"),
        (7, "identifier", "Heard"),
        (7, "identifier", "Told"),
        (7, "identifier", "whole"),
        (8, "identifier", "rest"),
        (9, "identifier", "said"),
        (10, "comment", "goes on"),
        (10, "string", "what is left"),
        (12, "identifier", "found"),
        (13, "identifier", "lot"),
        (14, "identifier", "known"),
        (15, "identifier", "tally"),
    ]


def test_long_lines_of_rust_and_of_comments_in_toml(script: ModuleType, rules: Any) -> None:
    long = "x" * 111
    assert hits(script.rust_findings("a.rs", f'const A: &str = "{long}";\n', rules)) == [
        (1, "line", "130 characters")
    ]
    assert hits(script.toml_findings("a.toml", f'# {long}\nen = "{long}"\n', rules)) == [
        (1, "line", "113 characters")
    ]


def test_an_allowed_hit_needs_a_reason_and_agrees_in_all_that_it_states(script: ModuleType) -> None:
    document = {
        "words": {"found": "results"},
        "names": {},
        "phrases": {"so many": "n"},
        "openings": {"words": []},
    }
    entry = {"text": "found", "paths": ["src/a/*"]}
    with pytest.raises(SystemExit, match="without a reason"):
        script.Rules({**document, "allowed": [entry]})
    rules = script.Rules({**document, "allowed": [{**entry, "reason": "A term."}]})
    [finding] = script.python_findings("src/a/b.py", "found = 1\n", rules)
    assert rules.is_allowed(finding)
    [finding] = script.python_findings("src/b.py", "found = 1\n", rules)
    assert not rules.is_allowed(finding)
    [finding] = script.python_findings("src/a/b.py", "found_files = 1\n", rules)
    assert not rules.is_allowed(finding)


def test_terms_in_chinese_texts_of_the_catalogue_have_one_translation(script: ModuleType, rules: Any) -> None:
    text = '[code]\nen = "a"\nzh = "{count} 种处理，处理器，功效"\nadvice.zh = "各处理器，显著性水平"\n'
    assert hits(script.toml_findings("messages.toml", text, rules)) == [
        (3, "prose", "功效"), (3, "prose", "种处理")
    ]  # fmt: skip
    assert hits(script.toml_findings("other.toml", text, rules)) == []


def test_chinese_punctuation_is_full_width_except_in_code(script: ModuleType, rules: Any) -> None:
    page = "吞吐量,响应时间:见 `a: 重试`。\n\n```\n中,文\n```\n[链接](a.md)和 P99（一）。第 1 轮. 结束\n"
    assert [(hit.line, hit.remedy) for hit in script.page_findings("a.md", page, rules)] == [
        (1, "full-width punctuation"), (1, "full-width punctuation"), (6, "full-width punctuation")
    ]  # fmt: skip


def test_an_english_sentence_of_the_catalogue_has_at_most_25_words_and_a_colon(
    script: ModuleType, rules: Any
) -> None:
    words = " ".join(["word"] * 23)
    lines = [
        f'en = "{words} {{count|is|are many}} `a b`. Another: one."',
        f'en = "{words} {{count}} two three."',
        'en = "One: two: three."',
    ]
    assert hits(script.toml_findings("messages-x.toml", "\n".join(lines), rules)) == [
        (2, "prose", "26 words: word word word word word word …"),
        (3, "prose", "colons: One: two: three. …"),
    ]


def test_phrases_of_pages_plans_and_help_texts(script: ModuleType, rules: Any) -> None:
    page = "The run goes\non beside `going on` the [figures](figures.md).\n\n    goes on\n"
    assert hits(script.page_findings("docs/a.md", page, rules)) == [
        (1, "prose", "goes on"), (2, "prose", "beside"), (2, "prose", "figures")
    ]  # fmt: skip
    plan = "title: goes on  # goes on\n# 应发\n"
    assert hits(script.page_findings("plans/a.yaml", plan, rules)) == [
        (1, "prose", "goes on"), (2, "prose", "应发")
    ]  # fmt: skip
    source = 'HELP = "what was due a second"\n'
    assert (1, "prose", "what was due") in hits(
        script.python_findings("src/loadcell/cli/a.py", source, rules)
    )
    assert (1, "prose", "what was due") not in hits(
        script.python_findings("src/loadcell/a.py", source, rules)
    )


def test_placeholders_of_messages_are_names(script: ModuleType, rules: Any) -> None:
    text = '[code]\nen = "{said} of {count}, {said}"\nadvice.en = "look at {place}"\nzh = "{count}：{said}"\n'
    findings = [
        hit for hit in script.toml_findings("messages-a.toml", text, rules) if hit.kind == "placeholder"
    ]
    assert [(hit.line, hit.text) for hit in findings] == [(2, "said"), (3, "place")]
    assert not [hit for hit in script.toml_findings("a.toml", text, rules) if hit.kind == "placeholder"]
