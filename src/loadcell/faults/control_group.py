"""Base of faults that limit the processes of the subject by a control group of loadcell."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import ClassVar, TypeVar

from loadcell.faults.base import NOT_RUNNING, Fault, FaultError
from loadcell.linux import limited_groups, process_tree
from loadcell.linux.process_tree import ProcessRoot
from loadcell.model.json import JsonObject
from loadcell.model.message import ForeignText, MessageCode
from loadcell.plan.parts import Misfit, SubjectOptions
from loadcell.systems.subjects import Subject, SubjectAbilities

NO_CONTROLLER = MessageCode("fault.no-controller", controller=str)
LIMITED_ALREADY = MessageCode("fault.limited-already", subject=str, path=str)
GROUP_REFUSED = MessageCode("fault.group-refused", path=str, error=ForeignText)

OptionsT = TypeVar("OptionsT", bound=SubjectOptions)


class ControlGroupFault(Fault[OptionsT]):
    """Moves the process trees of the subject into a new group with limits, and back."""

    #: name of the controller in v1 and in v2
    controller: ClassVar[tuple[str, str]]

    @classmethod
    def misfits(cls, options: OptionsT, subjects: Mapping[str, SubjectAbilities]) -> Iterator[Misfit]:  # noqa: ARG003
        if limited_groups.hierarchy(*cls.controller) is None:
            yield Misfit("subject", NO_CONTROLLER(controller=cls.controller[1]))

    @classmethod
    def changes(cls) -> str | None:
        hierarchy = limited_groups.hierarchy(*cls.controller)
        return None if hierarchy is None else str(hierarchy.directory)

    @abstractmethod
    def limits(self, unified: bool) -> Mapping[str, str]:
        """Contents of the group's files, by name, for v2 or v1. Raises FaultError."""

    def __init__(self, options: OptionsT, subject: Subject) -> None:
        super().__init__(options, subject)
        self._name = limited_groups.new_name()

    def prepare(self) -> JsonObject:
        self._roots = process_tree.roots(self.subject.processes())
        hierarchy = limited_groups.hierarchy(*self.controller)
        if not self._roots:
            raise FaultError(NOT_RUNNING(subject=self.subject.name))
        if hierarchy is None:
            raise FaultError(NO_CONTROLLER(controller=self.controller[1]))
        pid = self._roots[0].pid
        self._group = limited_groups.group_of(hierarchy, pid, self._name)
        self._back = limited_groups.present_group(hierarchy, pid)
        if limited_groups.is_ours(self._back):
            raise FaultError(LIMITED_ALREADY(subject=self.subject.name, path=self._back))
        limits = self.limits(hierarchy.unified)
        self._limits = limited_groups.with_present_limits(hierarchy, self._back, limits)
        return {"group": str(self._group), "back": str(self._back)}

    def apply(self) -> None:
        try:
            limited_groups.make(self._group, self._limits)
            moved: set[ProcessRoot] = set()
            while new := set(process_tree.tree(self._roots)) - moved:
                limited_groups.move_verified(self._group, self._back, new)
                moved |= new
        except OSError as error:
            raise FaultError(GROUP_REFUSED(path=self._group, error=error.strerror or str(error))) from error

    @classmethod
    def undo(cls, arguments: JsonObject) -> None:
        limited_groups.remove(Path(arguments["group"]), Path(arguments["back"]))

    @classmethod
    def is_undone(cls, arguments: JsonObject) -> bool:
        return not Path(arguments["group"]).exists()
