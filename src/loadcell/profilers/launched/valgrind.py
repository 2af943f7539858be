"""Runs a process under valgrind's memcheck, and reads the account of lost memory that it leaves at its end.

Memory is *definitely* lost when nothing points to it any more, *indirectly* when only lost memory does,
*possibly* when only its middle is pointed to, and *still reachable* when something points to it and it was
not freed (valgrind manual, 4.2.8). Of suppressed losses valgrind's XML has the number of records alone.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from xml.parsers import expat

from loadcell.model.message import ForeignText, MessageCode
from loadcell.model.metrics import declare
from loadcell.model.profile_record import LossRecord, LostMemory, MemoryRecord
from loadcell.profilers.launcher import NO_ACCOUNT, ProfilerAccount, SystemCode, UnreadableError

ACCOUNT_CUT = MessageCode("valgrind.account-cut", said=ForeignText)
ACCOUNT_DOCUMENT_TYPE = MessageCode("valgrind.account-document-type")
LEAK_DEFINITE = MessageCode("metric-meaning.leak-definite", "info")
LEAK_INDIRECT = MessageCode("metric-meaning.leak-indirect", "info")
LEAK_POSSIBLE = MessageCode("metric-meaning.leak-possible", "info")
LEAK_REACHABLE = MessageCode("metric-meaning.leak-reachable", "info")

declare("leak.definite", "count", LEAK_DEFINITE(), "lower", per_group=False)
declare("leak.indirect", "count", LEAK_INDIRECT(), "lower", per_group=False)
declare("leak.possible", "count", LEAK_POSSIBLE(), "lower", per_group=False)
declare("leak.reachable", "count", LEAK_REACHABLE(), "lower", per_group=False)

#: Kinds of loss, by valgrind's names of them.
KINDS = {
    "Leak_DefinitelyLost": "definite",
    "Leak_IndirectlyLost": "indirect",
    "Leak_PossiblyLost": "possible",
    "Leak_StillReachable": "reachable",
}
#: Maximum number of records kept: those of lost memory with most bytes, then those still reachable.
MOST_RECORDS = 20
_DIRECT = re.compile(r"\(([\d,]+) direct,")
_CHUNK = 1 << 16
_DEEPEST = 12
#: Frames that valgrind records: a system in the client's process may be deep below the allocation.
_CALLERS, _CALLERS_IN_CLIENT = 20, 60


class Memcheck:
    """valgrind with its default tool."""

    name = "valgrind"
    program = "valgrind"
    package = "valgrind"

    def command(
        self, program: str, words: Sequence[str], account: Path, code: SystemCode | None
    ) -> list[str]:
        """Children that the process forks are not accounted for."""
        callers = _CALLERS if code is None else _CALLERS_IN_CLIENT
        return [
            program, "--tool=memcheck", "--leak-check=full", "--show-leak-kinds=all",
            "--errors-for-leak-kinds=none", f"--num-callers={callers}", "--child-silent-after-fork=yes",
            "--xml=yes", f"--xml-file={str(account).replace('%', '%%')}", *words,
        ]  # fmt: skip

    def read(self, account: Path, code: SystemCode | None) -> ProfilerAccount:
        """Lost memory by kind, errors (reads and writes that are wrong) and the largest losses."""
        return ProfilerAccount(memory=read(account, code))


LAUNCHER = Memcheck()


def read(account: Path, code: SystemCode | None = None) -> MemoryRecord:
    """Findings of an account; with `code`, those whose stacks pass through it. Raises UnreadableError."""
    reader = _Reader(code)
    try:
        with account.open("rb") as file:
            while chunk := file.read(_CHUNK):
                reader.parser.Parse(chunk, False)
        reader.parser.Parse(b"", True)
    except OSError as error:
        raise UnreadableError(NO_ACCOUNT(error=error.strerror)) from None
    except (expat.ExpatError, ValueError) as error:
        raise UnreadableError(ACCOUNT_CUT(said=error)) from None
    records = reader.records
    top = sorted(records, key=lambda item: (item.kind == "reachable", -item.bytes, item.kind, item.stack))
    return MemoryRecord(
        _sums(records),
        reader.errors,
        tuple(top[:MOST_RECORDS]),
        len(records),
        reader.suppressed,
        None if code is None else _sums(reader.of_client),
    )


def _sums(records: Sequence[LossRecord]) -> dict[str, LostMemory]:
    return {
        kind: LostMemory(
            sum(record.bytes for record in records if record.kind == kind),
            sum(record.blocks for record in records if record.kind == kind),
        )
        for kind in KINDS.values()
    }


class _Reader:
    """Takes an account in, piece by piece. A document type is refused: entities could grow without bound."""

    def __init__(self, code: SystemCode | None = None) -> None:
        self.records: list[LossRecord] = []
        self.of_client: list[LossRecord] = []
        self.errors = 0
        self.suppressed: int | None = None
        self._code = code
        self._passes = code is None
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
            self._passes = self._code is None
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
            if self._code is not None:
                self._passes |= self._code.has(self._frame.get("fn", ""), self._frame.get("obj", ""))
        elif inside[-1:] == ["error"] or inside[-1:] == ["xwhat"]:
            self._what[name] = self._text
        elif name == "error":
            self._error()
        elif name == "suppcounts":
            self.suppressed = self.suppressed or 0
        elif inside[-2:] == ["suppcounts", "pair"] and name == "count":
            self.suppressed = (self.suppressed or 0) + int(self._text)
        self._path.pop()
        self._text = ""

    def _error(self) -> None:
        name = self._what.get("kind", "")
        kind = KINDS.get(name)
        if kind is None:
            self.errors += self._passes and not name.startswith("Leak_")
            return
        direct = _DIRECT.search(self._what.get("text", ""))  # the rest of them is counted as lost indirectly
        size = direct[1].replace(",", "") if direct else self._what["leakedbytes"]
        blocks = int(self._what["leakedblocks"])
        record = LossRecord(kind, int(size), blocks, tuple(self._stack[:_DEEPEST]))
        (self.records if self._passes else self.of_client).append(record)


def _place(frame: dict[str, str]) -> str:
    """`main (leak.c:6)`, or the file of code without a name."""
    name = frame.get("fn") or f"[{Path(frame.get('obj', '?')).name}]"
    return f"{name} ({frame['file']}:{frame['line']})" if "file" in frame and "line" in frame else name
