"""Why a JVM ended, from the lines that it printed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from loadcell.model.message import ForeignText, Message, MessageCode

JVM_REFUSED = MessageCode("jvm.refused", output=ForeignText)
JVM_NO_MEMORY = MessageCode("jvm.no-memory", output=ForeignText)
JVM_OUT_OF_HEAP = MessageCode("jvm.out-of-heap", output=ForeignText)
JVM_OUT_OF_DIRECT = MessageCode("jvm.out-of-direct", output=ForeignText)
JVM_OUT_OF_METASPACE = MessageCode("jvm.out-of-metaspace", output=ForeignText)
JVM_OUT_OF_MEMORY = MessageCode("jvm.out-of-memory", output=ForeignText)
JVM_CRASHED = MessageCode("jvm.crashed", output=ForeignText)
JVM_CANNOT_WRITE = MessageCode("jvm.cannot-write", output=ForeignText)
JVM_REQUESTS_CANNOT_WRITE = MessageCode("jvm.requests-cannot-write", failure=Message, output=ForeignText)
JVM_NOT_LOADED = MessageCode("jvm.not-loaded", output=ForeignText)
JVM_NO_CLASS = MessageCode("jvm.no-class", output=ForeignText)
JVM_NEWER_CLASS = MessageCode("jvm.newer-class", output=ForeignText)

#: Lines by which a JVM refuses its arguments; that of the initialization has its reason in the next one.
_REFUSALS: Final = (
    re.compile(
        r"^(?:Error: )?((?:Unrecognized (?:VM )?option|Improperly specified VM option|Invalid \w+ heap size|"
        r"Missing \+/- setting|Unexpected \+/- setting|VM option '|Conflicting |Could not find agent|"
        r"Initial heap size|Too small |Specified ).*)"
    ),
    re.compile(r"^(\w+ ?\w* of \w+ \(?.*(?:outside the allowed range|is outside).*)"),
    re.compile(r"^(-Xlog .*|Invalid -Xlog option .*)"),
)
_INITIALIZATION: Final = "Error occurred during initialization of "
_NO_MEMORY: Final = re.compile(
    r"insufficient memory for the Java Runtime|Could not reserve enough space|os::commit_memory\(.*failed"
)
_DETAIL: Final = re.compile(r"^#? ?(Native memory allocation .*|Could not reserve .*)")
_OUT_OF_MEMORY: Final = re.compile(r"java\.lang\.OutOfMemoryError(?:: (.*))?")
#: Lines by which a JVM ends itself, by ExitOnOutOfMemoryError or CrashOnOutOfMemoryError.
_ENDED: Final = re.compile(r"^(?:Terminating|Aborting) due to java\.lang\.OutOfMemoryError")
#: A disk that is full, by a quota or a limit too; the last one is Berkeley DB's, which keeps some space free.
_CANNOT_WRITE: Final = re.compile(
    r"No space left on device|Disk quota exceeded|File too large|Read-only file system|"
    r"Disk usage is not within je\.maxDisk or je\.freeDisk limits"
)
#: An exception, with its message behind it: other lines may have such words of a user's input.
_EXCEPTION: Final = re.compile(r"\b(?:[a-z_][\w$]*\.)+[A-Z][\w$]*(?:Exception|Error)\b: ?(.*)")
_UNCAUGHT: Final = "Exception in thread "
_CRASHED: Final = "A fatal error has been detected by the Java Runtime Environment"
_SIGNAL: Final = re.compile(r"^#\s+((?:SIG[A-Z]+|Internal Error|EXCEPTION)\b.*)")
_NOT_LOADED: Final = re.compile(
    r"^Error: (Unable to access jarfile .*|Could not find or load main class .*|"
    r"LinkageError occurred while loading .*|Invalid or corrupt jarfile .*|Main method not found .*|"
    r".*no main manifest attribute.*)|(no main manifest attribute.*)"
)
#: A class that was compiled for a newer JDK, and one that is missing.
_NEWER_CLASS: Final = re.compile(r"\S*\bUnsupportedClassVersionError\b.*")
_NO_CLASS: Final = re.compile(
    r"\b(?:NoClassDefFoundError|ClassNotFoundException)\b(?!: Could not initialize class)"
)
#: Lines of a stack trace below its exception.
_STACK: Final = re.compile(r"\s+(?:at |\.\.\. \d+ |Suppressed: )|Caused by: ")
_CAUSED_BY: Final = "Caused by: "
#: The first line of an exception, with its class; and how many lines its message has at most.
_THROWN: Final = re.compile(r"(?:Exception in thread .*|(?:[a-zA-Z_][\w$]*\.)+[\w$]+(?:: .*)?$)")
_MOST_MESSAGE_LINES: Final = 20
#: A thread other than the first one, whose end is not that of the JVM.
_OTHER_THREAD: Final = re.compile(r'Exception in thread "(?!main")')


def refusal(lines: Sequence[str]) -> str | None:
    """The message by which a JVM refused its arguments, or the lack of memory at its start; None if it
    started.
    """
    for number, line in enumerate(lines):
        if line.startswith(_INITIALIZATION):
            return next((text for text in lines[number + 1 :] if text.strip()), line)
        for pattern in _REFUSALS:
            if (match := pattern.match(line)) is not None:
                return match[1]
    return None


def out_of_memory(line: str) -> Message | None:
    """The cause of an OutOfMemoryError in a line of output."""
    match = _OUT_OF_MEMORY.search(line)
    if match is None:
        return None
    kind = (match[1] or match[0]).strip()
    lower = kind.lower()
    if "direct buffer" in lower:
        return JVM_OUT_OF_DIRECT(output=kind)
    if "metaspace" in lower or "class space" in lower:
        return JVM_OUT_OF_METASPACE(output=kind)
    if "heap space" in lower or "gc overhead" in lower or "array size" in lower or match[1] is None:
        return JVM_OUT_OF_HEAP(output=kind)
    return JVM_OUT_OF_MEMORY(output=kind)


def failed_write(line: str) -> str | None:
    """Why a write failed, in a line of output with an exception of a service that runs on."""
    exception = _EXCEPTION.search(line)
    match = None if exception is None else _CANNOT_WRITE.search(exception[1])
    return None if match is None else match[0]


def _cannot_write(line: str) -> Message | None:
    """The cause of a failed write in a line of output of a JVM that ended."""
    match = _CANNOT_WRITE.search(line)
    return None if match is None else JVM_CANNOT_WRITE(output=match[0])


def cause(lines: Sequence[str], *, early: bool) -> Message | None:
    """The cause in the last lines of a JVM that has ended; None if it printed none. `early`: it ended before
    the service was ready; only then did it refuse its arguments or the program.
    """
    for line in lines:
        if _ENDED.match(line):
            return out_of_memory(line)
    if any(_CRASHED in line for line in lines):
        signals = [match[1] for line in lines if (match := _SIGNAL.match(line))]
        return JVM_CRASHED(output=signals[0] if signals else _CRASHED)
    for line in lines:
        if _NO_MEMORY.search(line):
            details = [match[1] for text in lines if (match := _DETAIL.match(text))]
            return JVM_NO_MEMORY(output=details[0] if details else line)
    if early and (reason := _not_started(lines)) is not None:
        return reason
    # a service survives writes that fail in its requests
    reasons = (
        out_of_memory(line) or (_cannot_write(line) if early or line.startswith(_UNCAUGHT) else None)
        for line in lines
    )
    return next((reason for reason in reasons if reason is not None), None)


def exception(lines: Sequence[str], *, early: bool) -> str | None:
    """The exception by which a JVM ended: that of the stack trace at the end of its last lines, and `early`
    the uncaught one of a thread. Its last cause is named instead if it has one.
    """
    starts = [number for number, line in enumerate(lines) if line.startswith(_UNCAUGHT)] if early else []
    if starts:
        first: int | None = starts[-1]
    elif lines and _STACK.match(lines[-1]):
        first = _start_of_trace(lines)
    else:
        first = None
    if first is None:
        return None
    reason, in_message = lines[first], True
    for line in lines[first + 1 :]:
        is_stack = _STACK.match(line) is not None
        if not is_stack and not in_message:
            break
        in_message = line.startswith(_CAUSED_BY) or not is_stack  # a message may have several lines
        if line.startswith(_CAUSED_BY):
            reason = line
    return reason.strip()


def _start_of_trace(lines: Sequence[str]) -> int | None:
    """Number of the line with the exception of the stack trace at the end, whose message may have several
    lines; None if only a part of the trace is there.
    """
    above = len(lines) - 1
    while above >= 0 and _STACK.match(lines[above]):
        above -= 1
    if above < 0:
        return None
    for number in range(above, max(-1, above - _MOST_MESSAGE_LINES), -1):
        if _STACK.match(lines[number]):
            break
        if _THROWN.match(lines[number]):
            return number
    return above


def _not_started(lines: Sequence[str]) -> Message | None:
    refused = refusal(lines)
    if refused is not None:
        return JVM_REFUSED(output=refused)
    for line in lines:
        if (match := _NEWER_CLASS.search(line)) is not None:
            return JVM_NEWER_CLASS(output=match[0])
    for line in lines:
        if (match := _NOT_LOADED.search(line)) is not None:
            return JVM_NOT_LOADED(output=next(text for text in match.groups() if text))
    of_main = [line for line in lines if not _OTHER_THREAD.match(line)]
    ended_by = exception(of_main, early=True)
    return JVM_NO_CLASS(output=ended_by) if ended_by is not None and _NO_CLASS.search(ended_by) else None
