"""The text of drafted plans: what is written is what is read."""

from __future__ import annotations

import random
from typing import Any

import pytest

from drafting.drafted import document
from loadcell.drafting.document import Items, Section, comment, text
from loadcell.model.message import Message, as_written

_ODD = [
    *("null", "true", "1e3", "0x1f", "0o7", ".5", "1_0", "2020-01-01", "12:30", "- a", "{a}", "[a", "a\nb\n"),
    *(
        "\x01\x7f",
        "'",
        '"',
        "#",
        "a #b",
        "&x",
        "*x",
        "!t",
        "%d",
        "@x",
        "`",
        "\u2028",
        "\ufeff",
        "",
        "  a ",
        "~",
    ),
    *("yes", "<<", "=", "?", "? x", "é\x85x", "a\tb", "\ttab", "a:", "a: b", "x" * 300, "a\r\nb", "+1", "-"),
    *(
        "--- x",
        "...",
        '{"a": 1, "b": ["c"]}',
        "<a b='c'>",
        '"quoted"',
        "]",
        "}",
        ",",
        "|",
        ">",
        "$",
        "${a}",
        "价",
    ),
]


def write(message: Message) -> str:
    return message.text


def read(value: Any) -> Any:
    return document(text(Section(key=value), write))["key"]


@pytest.mark.parametrize("odd", _ODD)
def test_every_text_stays_what_it_is(odd: str) -> None:
    assert read(odd) == odd
    assert read([odd]) == [odd]
    assert read({odd or "empty": odd}) == {odd or "empty": odd}
    assert read([{"a": [odd, odd]}, "x" * 90]) == [{"a": [odd, odd]}, "x" * 90]


def test_random_texts_stay_what_they_are() -> None:
    draw = random.Random(7)
    alphabet = "ab1 :#-?,[]{}&*!|>'\"%@`\\\n\t=~.<$é价\u2028"
    for _ in range(500):
        odd = "".join(draw.choices(alphabet, k=draw.randrange(12)))
        value = {"k": odd, "l": [odd], "m": {f"{odd}x": odd}}
        assert read(value) == value, odd


def test_entries_that_are_commented_out_are_valid_without_the_mark() -> None:
    section = Section(a=1)
    items = Items()
    items.add("x", as_written("An item."))
    items.add(Section(b={"c": ["d"] * 60}, e="f\ng"), active=False)
    section.put("list", items, as_written("A list."))
    section.put("off", Section(g=1), active=False)
    plan = text(section, write)
    assert document(plan) == {"a": 1, "list": ["x"]}
    active = plan.replace("# A list.", "").replace("# An item.", "").replace("# ", "")
    assert document(active) == {
        "a": 1, "list": ["x", {"b": {"c": ["d"] * 60}, "e": "f\ng"}], "off": {"g": 1},
    }  # fmt: skip


def test_a_comment_ends_with_its_lines() -> None:
    lines = comment("a\nb: c\x1b[2J \u2028 " + "word " * 60 + "很长的说明，" * 30)
    assert all(line.startswith("# ") and len(line) <= 100 for line in lines)
    assert "\x1b" not in "".join(lines)
    assert not any(line.startswith("# ，") for line in lines)
