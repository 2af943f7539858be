"""Runs a server under valgrind's memcheck, and reads the account of lost memory that it leaves when the
server ends.

Memory is *definitely* lost when nothing points to it any more, *indirectly* when only lost memory does,
*possibly* when only its middle is pointed to (valgrind manual, 4.2.8). What is still reachable at the end is
no leak here.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from xml.parsers import expat

from loadcell.model import trial_record
from loadcell.model.message import ForeignText, MessageCode, MessageError
from loadcell.model.metrics import declare

NO_ACCOUNT = MessageCode("valgrind.no-account", said=ForeignText)
ACCOUNT_CUT = MessageCode("valgrind.account-cut", said=ForeignText)
ACCOUNT_DOCUMENT_TYPE = MessageCode("valgrind.account-document-type")
LEAK_DEFINITE = MessageCode("metric-meaning.leak-definite", "info")
LEAK_INDIRECT = MessageCode("metric-meaning.leak-indirect", "info")
LEAK_POSSIBLE = MessageCode("metric-meaning.leak-possible", "info")

declare("leak.definite", "count", LEAK_DEFINITE(), "lower", per_group=False)
declare("leak.indirect", "count", LEAK_INDIRECT(), "lower", per_group=False)
declare("leak.possible", "count", LEAK_POSSIBLE(), "lower", per_group=False)

#: Kinds of loss, by valgrind's names of them.
KINDS = {
    "Leak_DefinitelyLost": "definite",
    "Leak_IndirectlyLost": "indirect",
    "Leak_PossiblyLost": "possible",
}
#: This many records of losses are kept, those of most bytes.
MOST_RECORDS = 20
#: How much longer a server may take to become ready: memcheck slows programs 10 to 50 times (valgrind manual,
#: 1.1).
SLOWER = 20
#: At the end all memory is searched, which takes its time.
END_WITHIN_S = 120.0
_DIRECT = re.compile(r"\(([\d,]+) direct,")
_CHUNK = 1 << 16
_DEEPEST = 12


class UnreadableError(MessageError):
    """The account is not whole, or none."""


def find_program() -> str | None:
    """The program; None where it is not installed."""
    return shutil.which("valgrind")


def command(program: str, words: Sequence[str], account: Path) -> list[str]:
    """The command that runs `words` under memcheck. Children that the server forks are not accounted for."""
    return [
        program, "--quiet", "--tool=memcheck", "--leak-check=full",
        "--show-leak-kinds=definite,indirect,possible",
        "--errors-for-leak-kinds=none", "--num-callers=20", "--child-silent-after-fork=yes", "--xml=yes",
        f"--xml-file={str(account).replace('%', '%%')}", *words,
    ]  # fmt: skip


def read(account: Path) -> trial_record.MemoryRecord:
    """Lost memory by kind, errors (reads and writes that are wrong) and the largest losses.

    Raises UnreadableError.
    """
    reader = _Reader()
    try:
        with account.open("rb") as file:
            while chunk := file.read(_CHUNK):
                reader.parser.Parse(chunk, False)
        reader.parser.Parse(b"", True)
    except OSError as error:
        raise UnreadableError(NO_ACCOUNT(said=error.strerror)) from None
    except (expat.ExpatError, ValueError) as error:
        raise UnreadableError(ACCOUNT_CUT(said=error)) from None
    lost = {
        kind: trial_record.LostMemory(
            sum(record.bytes for record in reader.records if record.kind == kind),
            sum(record.blocks for record in reader.records if record.kind == kind),
        )
        for kind in KINDS.values()
    }
    top = sorted(reader.records, key=lambda record: (-record.bytes, record.kind, record.stack))
    return trial_record.MemoryRecord(lost, reader.errors, tuple(top[:MOST_RECORDS]), len(reader.records))


class _Reader:
    """Takes an account in, piece by piece. A document type is refused: entities could grow without bound."""

    def __init__(self) -> None:
        self.records: list[trial_record.LossRecord] = []
        self.errors = 0
        self.parser = expat.ParserCreate()
        self.parser.buffer_text = True
        self.parser.StartDoctypeDeclHandler = self._refuse
        self.parser.StartElementHandler = self._begins
        self.parser.EndElementHandler = self._ends
        self.parser.CharacterDataHandler = self._says
        self._path: list[str] = []
        self._text = ""
        self._what: dict[str, str] = {}
        self._frame: dict[str, str] = {}
        self._stack: list[str] = []
        self._stacks = 0

    def _refuse(self, *_: Any) -> None:
        raise UnreadableError(ACCOUNT_DOCUMENT_TYPE())

    def _begins(self, name: str, _: Any) -> None:
        self._path.append(name)
        self._text = ""
        if name == "error":
            self._what, self._stack, self._stacks = {}, [], 0
        elif name == "stack":
            self._stacks += 1
        elif name == "frame":
            self._frame = {}

    def _says(self, text: str) -> None:
        self._text += text

    def _ends(self, name: str) -> None:
        inside = self._path[:-1]
        if "frame" in inside:
            self._frame[name] = self._text
        elif name == "frame" and self._stacks == 1:
            self._stack.append(_place(self._frame))
        elif inside[-1:] == ["error"] or inside[-1:] == ["xwhat"]:
            self._what[name] = self._text
        elif name == "error":
            self._error()
        self._path.pop()
        self._text = ""

    def _error(self) -> None:
        name = self._what.get("kind", "")
        kind = KINDS.get(name)
        if kind is None:
            self.errors += not name.startswith("Leak_")
            return
        direct = _DIRECT.search(self._what.get("text", ""))  # the rest of them is counted as lost indirectly
        size = direct[1].replace(",", "") if direct else self._what["leakedbytes"]
        blocks = int(self._what["leakedblocks"])
        self.records.append(trial_record.LossRecord(kind, int(size), blocks, tuple(self._stack[:_DEEPEST])))


def _place(frame: dict[str, str]) -> str:
    """`main (leak.c:6)`, or the file of code without a name."""
    name = frame.get("fn") or f"[{Path(frame.get('obj', '?')).name}]"
    return f"{name} ({frame['file']}:{frame['line']})" if "file" in frame and "line" in frame else name
