"""Tutorials as shell scripts: their fenced blocks, in the order of the page.

Blocks of `sh` are commands. Any other block whose first line is a comment with the name of a file
(`# plan.yaml`) is that file. Blocks of `console` and `text` are shown only: installation, and outputs.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from truth.loads import FULL_STRENGTH

TUTORIALS = Path(__file__).parents[2] / "docs" / "tutorial"
SHOWN = ("console", "text")

#: Loads of the pages that are as short as their experiments allow, and what `make test` executes instead:
#: each keeps the processors busy. At full strength, commands and files are those of the page.
_SHORTER = (
    (
        re.compile(r"^(loadcell run quickstart .*)$", re.MULTILINE),
        r"\1 --set load.warmup=200ms --set load.duration=1s",
    ),
    (re.compile(r" -d 1s(?! --warmup)"), " -d 500ms --warmup 100ms"),
    (re.compile(r" -d 1s(?= --warmup)"), " -d 500ms"),
    (re.compile(r"warmup: 200ms, duration: 1s}"), "warmup: 100ms, duration: 500ms, interval: 250ms}"),
)
_FENCED = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_FILE_NAME = re.compile(r"# ([\w.-]+)\n")


@dataclass(frozen=True)
class Block:
    """A fenced block of a page."""

    language: str
    text: str

    @property
    def file_name(self) -> str | None:
        """Name of the file that the block is, if it is one."""
        match = _FILE_NAME.match(self.text)
        return match[1] if match and self.language not in ("sh", *SHOWN) else None


def blocks(page: Path) -> list[Block]:
    """Fenced blocks of a page, in order."""
    return [Block(*match) for match in _FENCED.findall(page.read_text(encoding="utf-8"))]


def script(page: Path, addresses: Mapping[str, str], files: Mapping[str, str]) -> str:
    """Shell script of a page: its commands as written, and its files.

    `addresses` replaces the values of the variables that a reader changes, too; `files` replaces contents of
    files in the same way. A variable or file that the page does not have is an error.
    """
    text = _script(page, addresses, files)
    for pattern, shorter in () if FULL_STRENGTH else _SHORTER:
        text = pattern.sub(shorter, text)
    return text


def _script(page: Path, addresses: Mapping[str, str], files: Mapping[str, str]) -> str:
    parts = ["set -eo pipefail"]
    pending = {*addresses, *files}
    for block in blocks(page):
        if block.language == "sh":
            parts.append(_with_addresses(block.text, addresses, pending))
        elif (name := block.file_name) is not None:
            pending.discard(name)
            parts.append(f"cat > {name} <<'END OF FILE'\n{files.get(name, block.text)}END OF FILE")
        elif block.language not in SHOWN:
            raise AssertionError(f"{page.name}: neither a command nor a named file:\n{block.text}")
    assert not pending, f"{page.name} has no {', '.join(sorted(pending))}"
    return "\n".join(parts)


def _with_addresses(commands: str, addresses: Mapping[str, str], pending: set[str]) -> str:
    for name, value in addresses.items():
        commands, count = re.subn(
            rf"^export {name}=.*$", f"export {name}={value}", commands, flags=re.MULTILINE
        )
        if count:
            pending.discard(name)
    return commands
