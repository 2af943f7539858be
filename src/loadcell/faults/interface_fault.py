"""Base of faults on the network interfaces of a subject, in namespaces of loadcell."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, TypeVar

from loadcell.faults.base import Fault, FaultError
from loadcell.linux.network_namespace import NamespaceError, NetworkNamespace, missing_programs
from loadcell.linux.process_tree import ProcessRoot
from loadcell.model.json import JsonObject
from loadcell.model.message import ForeignText, MessageCode
from loadcell.plan.parts import Misfit, SubjectOptions
from loadcell.systems.subjects import Interface, SubjectAbilities

NO_INTERFACES = MessageCode("fault.no-interfaces", subject=str, subjects=list)
NO_NETWORK_PROGRAM = MessageCode("fault.no-network-program", programs=list)
NETWORK_REFUSED = MessageCode("fault.network-refused", subject=str, error=ForeignText)

OptionsT = TypeVar("OptionsT", bound=SubjectOptions)


@dataclass(frozen=True)
class Device:
    """An interface in a namespace, as the journal has it."""

    namespace: NetworkNamespace
    name: str

    def document(self) -> list[object]:
        holder = self.namespace.holder
        return [holder.pid, holder.started, self.name]

    @staticmethod
    def of(document: Sequence[object]) -> Device:
        pid, started, name = document
        return Device(NetworkNamespace(ProcessRoot(int(str(pid)), int(str(started)))), str(name))


class InterfaceFault(Fault[OptionsT]):
    """Changes interfaces; the end of their namespace ends the change, too."""

    #: program that changes them
    program: ClassVar[str]

    @classmethod
    def misfits(cls, options: OptionsT, subjects: Mapping[str, SubjectAbilities]) -> Iterator[Misfit]:
        if not subjects[options.subject].interfaces:
            names = [name for name, abilities in subjects.items() if abilities.interfaces]
            yield Misfit("subject", NO_INTERFACES(subject=options.subject, subjects=names))
        if missing := missing_programs(cls.program):
            yield Misfit("subject", NO_NETWORK_PROGRAM(programs=missing))

    @abstractmethod
    def change(self, device: Device) -> None:
        """Change one device. Raises NamespaceError."""

    @classmethod
    @abstractmethod
    def restore_device(cls, device: Device) -> None:
        """Undo the change of a device that may not be changed. Raises NamespaceError."""

    @classmethod
    @abstractmethod
    def is_changed(cls, device: Device) -> bool:
        """Look at a device. Raises NamespaceError."""

    def devices(self, interface: Interface) -> tuple[Device, ...]:
        """The devices that are changed for an interface."""
        return (Device(interface.namespace, interface.device),)

    def prepare(self) -> JsonObject:
        assert self.subject.interfaces is not None
        self._devices = [
            device for interface in self.subject.interfaces() for device in self.devices(interface)
        ]
        return {"devices": [device.document() for device in self._devices]}

    def apply(self) -> None:
        try:
            for device in self._devices:
                self.change(device)
        except NamespaceError as error:
            raise FaultError(NETWORK_REFUSED(subject=self.subject.name, error=str(error))) from error

    @classmethod
    def undo(cls, arguments: JsonObject) -> None:
        for device in _existing(arguments):
            try:
                if cls.is_changed(device):
                    cls.restore_device(device)
            except NamespaceError as error:
                if device.namespace.exists:
                    raise FaultError(NETWORK_REFUSED(subject=device.name, error=str(error))) from error

    @classmethod
    def is_undone(cls, arguments: JsonObject) -> bool:
        try:
            return not any(cls.is_changed(device) for device in _existing(arguments))
        except NamespaceError:
            return not _existing(arguments)


def _existing(arguments: JsonObject) -> list[Device]:
    """The devices of an undo whose namespaces exist."""
    return [device for device in map(Device.of, arguments["devices"]) if device.namespace.exists]
