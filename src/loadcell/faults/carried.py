"""Base of faults on the connections of a load, which the proxy that carries them causes."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar, Literal

from loadcell.faults.base import Fault, OptionsT
from loadcell.model.json import JsonObject
from loadcell.plan.parts import SubjectOptions

#: Directions of the bytes that a fault acts on.
Direction = Literal["to-server", "to-client", "both"]


class CarriedFault(Fault[OptionsT]):
    """An effect on the subject `network`. It ends with the proxy, so that nothing outlives the run."""

    external: ClassVar[bool] = True
    on_network: ClassVar[bool] = True
    needs_proxy: ClassVar[bool] = True
    _number: int | None = None

    @classmethod
    def ends_another(cls, options: OptionsT, other: OptionsT) -> bool:  # noqa: ARG003
        return False  # the engine ends each by its number

    @abstractmethod
    def effect(self) -> JsonObject:
        """The effect as the engine reads it."""

    def apply(self) -> None:
        assert self.subject.carrier is not None
        self._number = self.subject.carrier.begin({self.name: self.effect()})

    def restore(self) -> None:
        assert self.subject.carrier is not None
        if self._number is not None:
            self.subject.carrier.end(self._number)


class PlainCarriedFault(CarriedFault[SubjectOptions]):
    """One without options."""

    def effect(self) -> JsonObject:
        return {}
