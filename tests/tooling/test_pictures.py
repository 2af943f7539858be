"""Pictures of the README: small, and without addresses of other sites."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

from terminal_picture import Frame, at_most, picture, spans  # noqa: E402

IMAGES = sorted((ROOT / "docs" / "images").iterdir())
LARGEST_BYTES = 300_000


@pytest.mark.parametrize("image", IMAGES, ids=lambda path: path.name)
def test_images_are_small_and_stand_alone(image: Path) -> None:
    assert image.stat().st_size <= LARGEST_BYTES
    if image.suffix == ".svg":
        text = image.read_text(encoding="utf-8")
        assert set(re.findall(r"\w+://[^\"'\s<]+", text)) == {"http://www.w3.org/2000/svg"}
        assert "<script" not in text


def test_lines_are_split_by_style_and_blank() -> None:
    line = "a \x1b[1;32mok\x1b[0m \x1b[38;5;196mred\x1b[39m"
    parts = [(column, text, style.colour, style.bold) for column, text, style in spans(line)]
    assert parts == [(0, "a", "#d7dce2", False), (2, "ok", "#98c379", True), (5, "red", "#ff0000", False)]


def test_first_and_last_screen_are_kept() -> None:
    frames = [Frame(float(number), (str(number // 2),)) for number in range(200)]
    chosen = at_most(frames, 5)
    assert [frame.lines for frame in chosen] == [("0",), ("25",), ("50",), ("74",), ("99",)]


def test_line_is_visible_while_its_screens_last() -> None:
    frames = [Frame(0, ("$ x <y>",)), Frame(1, ("$ x <y>", "done")), Frame(3, ("", "done"))]
    text = picture(frames, columns=20, rows=2, play_s=3, hold_s=1, label="a session")
    ElementTree.fromstring(text)
    assert "@keyframes k0-2{0%{visibility:visible}0.00%{visibility:visible}75.00%{visibility:hidden}}" in text
    assert "@keyframes k1-3{0%{visibility:hidden}25.00%{visibility:visible}}" in text
    assert ">&lt;y&gt;<" in text
