"""The page of `loadcell doctor`: findings with their times, contents of several subjects, code that is not
broken.
"""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import repeat
from pathlib import Path

import pytest

from incidents.gc_texts import evidence, spiral
from loadcell.incidents.evidence.kernel_log import KernelLine, KernelLog
from loadcell.incidents.examination import Examination, examination
from loadcell.report.blocks import Table
from loadcell.report.doctor.document import document
from loadcell.report.doctor.jvm import sections
from loadcell.report.render import html
from loadcell.report.texts import Texts


def of_jvms(directory: Path, *names: str) -> Examination:
    """An examination of JVMs, each with a spiral of full collections."""
    jvms = []
    for name in names:
        (directory / name).mkdir()
        jvms.append(replace(evidence(directory / name, spiral(repeat(40), 20, 6)), source=f"{name}.log"))
    return examination("jvms", jvms)


def page(examined: Examination, language: str = "en") -> str:
    return html.render(document(examined, language).page(True))


def test_options_are_not_broken_after_a_hyphen() -> None:
    written = str(html.coded("Set `-XX:+UseZGC -Xmx1g` or `loadcell doctor --gc-log FILE`."))
    words = re.findall(r'<span class="word">([^<]*)</span>', written)
    assert words == ["-XX:+UseZGC", "-Xmx1g", "--gc-log"]
    assert html.coded("At 2026-11-29T10:00:00Z.") == 'At <span class="word">2026-11-29T10:00:00Z</span>.'
    assert html.coded("21 MiB of 5 things in 2 min 3 s, `sleep 5 s`", with_units=True) == (
        "21\u00a0MiB of 5 things in 2\u00a0min 3\u00a0s, <code>sleep 5 s</code>"
    )
    assert re.sub("<[^>]+>", "", written) == "Set -XX:+UseZGC -Xmx1g or loadcell doctor --gc-log FILE."


@pytest.mark.parametrize(("language", "colon"), [("en", ": "), ("zh", "：")])
def test_a_finding_has_a_colon_after_its_title_and_its_time_outside_the_fold(
    tmp_path: Path, language: str, colon: str
) -> None:
    text = page(of_jvms(tmp_path, "a"), language)
    first = text.index('<ul class="findings">')
    fold = text.index("<details>", first)
    shown = text[first:fold]
    assert f"</b>{colon}" in shown
    assert '<p class="note">' in shown
    assert re.search(r"\d (min|s)", shown[shown.index('<p class="note">') :])
    assert language == "en" or "。 " not in shown


def test_contents_have_the_name_of_a_subject_once(tmp_path: Path) -> None:
    text = page(of_jvms(tmp_path, "a", "b"))
    contents = text[text.index('<nav class="contents"') : text.index("</nav>")]
    groups = re.findall(r'<li class="group">([^<]+)</li>', contents)
    assert groups == ["a.log", "b.log"]
    assert all(contents.count(name) == 1 for name in groups)
    assert contents.count(">Pauses</a>") == 2
    assert text.count(f"{groups[0]}: Pauses</h2>") == 1


def test_tables_of_pauses_have_other_headings_than_their_columns(tmp_path: Path) -> None:
    [jvm] = of_jvms(tmp_path, "a").subjects
    parts = sections(jvm.evidence, 1, Texts("en"), is_page=True)
    tables = [block for part in parts for block in part.blocks if isinstance(block, Table)]
    assert tables
    assert not [table.title for table in tables if table.title in {column.title for column in table.columns}]


def test_a_live_host_has_the_named_process_first_and_ages_in_place_of_times(tmp_path: Path) -> None:
    examined = of_jvms(tmp_path, "a", "b")
    pids = [replace(item, evidence=replace(item.evidence, pid=pid)) for pid, item in
            enumerate(examined.subjects, 1)]  # fmt: skip
    live = replace(examined, subjects=tuple(pids), utc_ns=10**18)
    assert live.diagnoses[0][0].evidence.process == 1
    named = replace(live, named=2)
    assert {subject.evidence.process for subject, _ in named.diagnoses[: len(pids[1].diagnoses)]} == {2}


def test_an_incident_of_a_live_host_has_its_age() -> None:
    line = KernelLine(10**18, "Out of memory: Killed process 77 (java) total-vm:1kB")
    now_ns = 10**18 + 600 * 10**9
    live = replace(examination("vm", [KernelLog("host", now_ns, (line,))]), utc_ns=now_ns)
    text = re.sub("<[^>]+>", "", page(live)).replace("\u00a0", " ")
    assert "10 min ago." in text
    assert "after the first time in the evidence" not in text
