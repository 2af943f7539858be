"""Objects on the heap of JVMs by class, before and after the load.

The command GC.class_histogram counts live objects, so the JVM collects its whole heap first.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from loadcell.linux import procfs
from loadcell.linux.java_attach import AttachError, run
from loadcell.model.json import JsonObject
from loadcell.model.message import Message, MessageCode
from loadcell.model.profile_record import ClassCount, ClassGrowth, ClassRecord, ProfileRecord
from loadcell.plan.profile import JvmClassesProfile
from loadcell.profilers.jvms import jvms_of
from loadcell.profilers.perf import ProfilerError
from loadcell.profilers.sampler import LONGEST_S, Download
from loadcell.store.layout import CLASSES_AFTER, CLASSES_BEFORE
from loadcell.store.write import TrialWriter

CLASS_HISTOGRAM_REFUSED = MessageCode("class-histogram.refused", pid=str, reason=Message)

COMMAND: Final = "GC.class_histogram"
#: Largest number of classes in the record; the files have all.
MOST_CLASSES: Final = 30
#: A full collection of a heap of many GiB takes that long.
_LIMIT_S: Final = 120.0
_LINE: Final = re.compile(r"^\s*\d+:\s+(?P<instances>\d+)\s+(?P<bytes>\d+)\s+(?P<name>\S+)", re.MULTILINE)
_PRIMITIVES: Final = {
    "B": "byte", "C": "char", "D": "double", "F": "float",
    "I": "int", "J": "long", "S": "short", "Z": "boolean",
}  # fmt: skip
_NOTHING: Final = ClassCount(0, 0)


def counts(output: str) -> dict[str, ClassCount]:
    """Instances and bytes by class name, of the output of the command."""
    classes: dict[str, ClassCount] = {}
    for line in _LINE.finditer(output):
        name = readable(line["name"])
        sums = classes.get(name, _NOTHING)
        classes[name] = ClassCount(sums.instances + int(line["instances"]), sums.bytes + int(line["bytes"]))
    return classes


def readable(name: str) -> str:
    """`java.lang.String[]` for `[Ljava.lang.String;`."""
    element = name.lstrip("[")
    brackets = "[]" * (len(name) - len(element))
    if not brackets:
        return name
    return _PRIMITIVES.get(element, element.removeprefix("L").removesuffix(";")) + brackets


def grown(before: Mapping[str, ClassCount], after: Mapping[str, ClassCount]) -> ClassRecord:
    """The classes whose objects grew most, by bytes, and the totals of all."""
    growths = [
        ClassGrowth(name, before.get(name, _NOTHING), after.get(name, _NOTHING))
        for name in before.keys() | after.keys()
    ]
    growths = [growth for growth in growths if growth.bytes > 0]
    growths.sort(key=lambda growth: (-growth.bytes, -growth.instances, growth.name))
    return ClassRecord(
        _total(before.values()), _total(after.values()), len(growths), tuple(growths[:MOST_CLASSES])
    )


def _total(classes: Iterable[ClassCount]) -> ClassCount:
    every = list(classes)
    return ClassCount(sum(item.instances for item in every), sum(item.bytes for item in every))


@dataclass
class ClassHistogramSampler:
    """Counts objects before the load and after it."""

    options: JvmClassesProfile
    work: Path
    process_kind: Callable[[str], str] = str
    root: Path = procfs.ROOT
    unpacked: Path | None = None
    limit_s: float = LONGEST_S
    _pids: list[int] = field(default_factory=list)
    _before: str = ""

    @classmethod
    def check(cls, options: JvmClassesProfile) -> None:
        """Nothing is needed."""

    @classmethod
    def download(cls, options: JvmClassesProfile) -> Download | None:  # noqa: ARG003
        """Nothing is downloaded."""
        return None

    def workload(self, section: JsonObject) -> JsonObject:
        """The section as it is: the target is sampled from outside."""
        return section

    def attach(self, roots: list[int], *, by_thread: bool = False) -> None:  # noqa: ARG002
        """Count the objects before the load. Raises ProfilerError."""
        self._pids = jvms_of(roots, self.root)
        self._before = self._histogram()

    def phase(self, name: str, mono_ns: int) -> None:
        """Nothing is done during the load."""

    def end(self) -> None:
        """Nothing is attached."""

    def collect(self, writer: TrialWriter, title: str, log: Callable[[str], None]) -> ProfileRecord:  # noqa: ARG002
        """Count the objects after the load, and write both histograms. Raises ProfilerError."""
        after = self._histogram()
        writer.text(CLASSES_BEFORE, self._before)
        writer.text(CLASSES_AFTER, after)
        classes = grown(counts(self._before), counts(after))
        return ProfileRecord(
            kind="jvm-classes",
            tool=COMMAND,
            event="class-histogram",
            processes=len(self._pids),
            classes=classes,
        )

    def _histogram(self) -> str:
        """Output of the command, of all JVMs. Raises ProfilerError."""
        outputs = []
        for pid in self._pids:
            try:
                outputs.append(run(pid, COMMAND, _LIMIT_S))
            except AttachError as error:
                raise ProfilerError(CLASS_HISTOGRAM_REFUSED(pid=pid, reason=error.message)) from error
        return "".join(outputs)

    def output(self) -> list[str]:
        """It prints nothing."""
        return []

    def remove(self) -> None:
        """It has no files."""


SAMPLERS = (("jvm-classes", ClassHistogramSampler),)
