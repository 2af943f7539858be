"""Colours of the report: one set for light, one for dark, under the same names.

Series colours are those of Okabe and Ito (2008), distinguishable with any colour vision, shifted in lightness
until each has a contrast of 3:1 or more to the background. A chart names a colour as `var(--c1)`: the page
decides what it is.
"""

from __future__ import annotations

import re

SERIES = tuple(f"var(--c{number})" for number in range(1, 9))

LIGHT = {
    "page": "#ffffff",
    "surface": "#ffffff",
    "raised": "#f6f7f9",
    "ink": "#1b1f24",
    "soft": "#57606a",
    "line": "#d8dde3",
    "grid": "#e9ecef",
    "shade": "#eef0f3",
    "accent": "#0b62a8",
    "bar": "#dbe9f5",
    "good": "#1a7f4b",
    "info": "#57606a",
    "caution": "#9a5b00",
    "problem": "#b3261e",
    "c1": "#0072b2",
    "c2": "#c8500a",
    "c3": "#00865f",
    "c4": "#b0558a",
    "c5": "#a87400",
    "c6": "#3a94c9",
    "c7": "#5b4a9c",
    "c8": "#6b7280",
}

DARK = {
    "page": "#14171b",
    "surface": "#14171b",
    "raised": "#1c2127",
    "ink": "#e6e9ed",
    "soft": "#a3acb6",
    "line": "#353c45",
    "grid": "#272d34",
    "shade": "#1f252c",
    "accent": "#6cb6ff",
    "bar": "#1f3a55",
    "good": "#4cc38a",
    "info": "#a3acb6",
    "caution": "#e0a83e",
    "problem": "#ff8a80",
    "c1": "#56a9e8",
    "c2": "#f28a4a",
    "c3": "#2fc49a",
    "c4": "#e29cc3",
    "c5": "#f0c04f",
    "c6": "#9bd3f5",
    "c7": "#a99bea",
    "c8": "#a3acb6",
}

_VARIABLE = re.compile(r"var\(--(\w+)\)")


def resolved(text: str, colours: dict[str, str] = LIGHT) -> str:
    """`text` (a specification as JSON) with every colour's name replaced by the colour."""
    return _VARIABLE.sub(lambda match: colours.get(match[1], match[0]), text)
