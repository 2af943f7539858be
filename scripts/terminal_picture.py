"""A recorded terminal session as an animated SVG: text and CSS, no script, no external address."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from html import escape
from itertools import groupby

CELL_WIDTH, CELL_HEIGHT, FONT_SIZE, MARGIN = 8.4, 18, 14, 16
FONTS = "ui-monospace,SFMono-Regular,Menlo,Consolas,DejaVu Sans Mono,monospace"
BACKGROUND, FOREGROUND = "#1b1f24", "#d7dce2"
#: The eight colours of a terminal, then their bright variants.
PALETTE = (
    "#5c6370", "#e06c75", "#98c379", "#e5c07b", "#61afef", "#c678dd", "#56b6c2", "#d7dce2",
    "#7f8896", "#f0868f", "#b1d896", "#f2d49b", "#86c5f7", "#d9a0e8", "#7fcdd6", "#ffffff",
)  # fmt: skip
CUBE = (0, 95, 135, 175, 215, 255)

_STYLE = re.compile(r"\x1b\[([\d;]*)m")
_OTHER = re.compile(r"\x1b\[[^a-zA-Z]*[a-ln-zA-Z]|\x1b[()][A-Z0-9]|[\x0e\x0f]")


@dataclass(frozen=True)
class Style:
    """Style of characters."""

    colour: str = FOREGROUND
    bold: bool = False
    dim: bool = False


@dataclass(frozen=True)
class Frame:
    """The screen's lines, with escape sequences, from `start_s` of the recording on."""

    start_s: float
    lines: tuple[str, ...]


def indexed_colour(index: int) -> str:
    """Colour of the palette of 256."""
    if index < len(PALETTE):
        return PALETTE[index]
    if index >= 232:
        grey = 8 + 10 * (index - 232)
        return f"#{grey:02x}{grey:02x}{grey:02x}"
    index -= 16
    red, green, blue = CUBE[index // 36], CUBE[index // 6 % 6], CUBE[index % 6]
    return f"#{red:02x}{green:02x}{blue:02x}"


def styled(style: Style, parameters: str) -> Style:
    """Style after an escape sequence."""
    codes = [int(code or 0) for code in parameters.split(";")]
    while codes:
        code = codes.pop(0)
        if code == 0:
            style = Style()
        elif code in (1, 2):
            style = replace(style, bold=style.bold or code == 1, dim=style.dim or code == 2)
        elif code == 22:
            style = replace(style, bold=False, dim=False)
        elif code == 39:
            style = replace(style, colour=FOREGROUND)
        elif 30 <= code <= 37 or 90 <= code <= 97:
            style = replace(style, colour=PALETTE[code - 30 if code < 90 else code - 82])
        elif code == 38 and codes[:1] == [5]:
            style = replace(style, colour=indexed_colour(codes[1]))
            codes = codes[2:]
        elif code == 38 and codes[:1] == [2]:
            style = replace(style, colour="#{:02x}{:02x}{:02x}".format(*codes[1:4]))
            codes = codes[4:]
    return style


def spans(line: str) -> Iterator[tuple[int, str, Style]]:
    """Runs of characters of one style: column, text, style."""
    style, column = Style(), 0
    parts = _STYLE.split(_OTHER.sub("", line).rstrip())
    for number, part in enumerate(parts):
        if number % 2:
            style = styled(style, part)
            continue
        for blank, characters in groupby(part, key=str.isspace):
            text = "".join(characters)
            if not blank:
                yield column, text, style
            column += len(text)


def line_text(line: str) -> str:
    """The `tspan` elements of one line."""
    parts = []
    for column, text, style in spans(line):
        weight = ' font-weight="bold"' if style.bold else ""
        opacity = ' opacity="0.65"' if style.dim else ""
        colour = "" if style.colour == FOREGROUND else f' fill="{style.colour}"'
        x = MARGIN + column * CELL_WIDTH
        parts.append(
            f'<tspan x="{x:.1f}" textLength="{len(text) * CELL_WIDTH:.1f}"{colour}{weight}{opacity}>'
            f"{escape(text)}</tspan>"
        )
    return "".join(parts)


def at_most(frames: Sequence[Frame], count: int) -> list[Frame]:
    """Frames with different screens, evenly chosen if there are more than `count`; the last one is kept."""
    different = [frame for at, frame in enumerate(frames) if at == 0 or frame.lines != frames[at - 1].lines]
    if len(different) <= count:
        return different
    step = (len(different) - 1) / (count - 1)
    return [different[round(number * step)] for number in range(count)]


def picture(
    frames: Sequence[Frame], *, columns: int, rows: int, play_s: float, hold_s: float, label: str
) -> str:
    """The SVG: frames within `play_s` in proportion to their times, then `hold_s` of the last, in a loop."""
    begin, end = frames[0].start_s, frames[-1].start_s
    total_s = play_s + hold_s
    shares = [100 * (frame.start_s - begin) / (end - begin or 1) * play_s / total_s for frame in frames] + [
        100.0
    ]
    rules, texts = {}, []
    for row in range(rows):
        at = 0
        contents = [frame.lines[row] if row < len(frame.lines) else "" for frame in frames]
        for content, group in groupby(contents):
            first, at = at, at + len(list(group))
            text = line_text(content)
            if not text:
                continue
            name = f"k{first}-{at}"
            hidden_after = f"{shares[at]:.2f}%{{visibility:hidden}}" if at < len(frames) else ""
            rules[name] = (
                f"@keyframes {name}{{0%{{visibility:{'hidden' if first else 'visible'}}}"
                f"{shares[first]:.2f}%{{visibility:visible}}{hidden_after}}}.{name}{{animation-name:{name}}}"
            )
            last = " last" if at == len(frames) else ""
            y = MARGIN + (row + 0.8) * CELL_HEIGHT
            texts.append(f'<text class="f {name}{last}" y="{y:.1f}">{text}</text>')
    width, height = 2 * MARGIN + columns * CELL_WIDTH, 2 * MARGIN + rows * CELL_HEIGHT
    style = (
        f".f{{visibility:hidden;animation-duration:{total_s:g}s;animation-timing-function:step-end;"
        "animation-iteration-count:infinite}"
        + "".join(rules.values())
        + "@media (prefers-reduced-motion:reduce)"
        "{.f{animation:none!important}.last{visibility:visible}}"
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" role="img"'
        f' aria-label="{escape(label)}" font-family="{FONTS}" font-size="{FONT_SIZE}" fill="{FOREGROUND}">'
        f'<style>{style}</style><rect width="100%" height="100%" rx="8" fill="{BACKGROUND}"/>'
        + "".join(texts)
        + "</svg>\n"
    )
