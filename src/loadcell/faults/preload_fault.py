"""Base of faults that a library causes in the processes of the subject, which were started with it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import ClassVar, TypeVar

from loadcell import _engine
from loadcell.faults.base import NOT_RUNNING, Fault, FaultError
from loadcell.linux import process_tree
from loadcell.linux.fault_control import FaultControl, Part
from loadcell.model.json import JsonObject
from loadcell.model.message import ForeignText, MessageCode
from loadcell.plan.parts import Misfit, SubjectOptions
from loadcell.systems.shared.preload import PRELOAD_NO_LIBRARY
from loadcell.systems.subjects import SubjectAbilities

NOT_PRELOADABLE = MessageCode("fault.not-preloadable", subject=str)
NOT_PRELOADED = MessageCode("fault.not-preloaded", subject=str)
CONTROL_REFUSED = MessageCode("fault.control-refused", path=str, error=ForeignText)

OptionsT = TypeVar("OptionsT", bound=SubjectOptions)


class PreloadFault(Fault[OptionsT]):
    """Begins and ends by a store into the control file, which all processes of the subject map."""

    preloads: ClassVar[bool] = True
    #: the part of the control file that it uses
    part: ClassVar[Part]

    @classmethod
    def misfits(cls, options: OptionsT, subjects: Mapping[str, SubjectAbilities]) -> Iterator[Misfit]:
        if not subjects[options.subject].preloadable:
            yield Misfit("subject", NOT_PRELOADABLE(subject=options.subject))
        elif not _engine.preload_library():
            yield Misfit("subject", PRELOAD_NO_LIBRARY())

    @classmethod
    def changes(cls) -> str | None:
        return f"preload {cls.part}"

    @abstractmethod
    def begin(self, control: FaultControl) -> None:
        """Begin the effect. Raises OSError, ValueError."""

    def prepare(self) -> JsonObject:
        self._control = self._loaded()
        return {"control": str(self._control.path), "part": self.part}

    def _loaded(self) -> FaultControl:
        """The control file, if all roots of the subject have mapped it. Raises FaultError."""
        roots = process_tree.roots(self.subject.processes())
        if not roots:
            raise FaultError(NOT_RUNNING(subject=self.subject.name))
        path = self.subject.fault_control
        if path is None:
            raise FaultError(NOT_PRELOADABLE(subject=self.subject.name))
        control = FaultControl(path)
        if not all(control.is_mapped_by(root.pid) for root in roots):
            raise FaultError(NOT_PRELOADED(subject=self.subject.name))
        return control

    def apply(self) -> None:
        try:
            self.begin(self._control)
        except (OSError, ValueError) as error:
            raise FaultError(CONTROL_REFUSED(path=self._control.path, error=str(error))) from error

    @classmethod
    def undo(cls, arguments: JsonObject) -> None:
        FaultControl(Path(arguments["control"])).end(arguments["part"])

    @classmethod
    def is_undone(cls, arguments: JsonObject) -> bool:
        return not FaultControl(Path(arguments["control"])).is_active(arguments["part"])
