"""Base of targets that live in the process that makes the load: their files are all that loadcell makes."""

from __future__ import annotations

from abc import abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Generic, TypeVar

from pydantic import Field, model_validator

from loadcell.model.message import MessageCode
from loadcell.plan.parts import Advice, Options
from loadcell.systems.base import DataSet, DataSpec, Loader, Role, Target, TargetContext, TargetError
from loadcell.systems.messages import TARGET_NOT_UP
from loadcell.systems.shared.data_files import DataFiles, FileDataSets
from loadcell.systems.shared.data_sets import Owner
from loadcell.systems.shared.disk_image import DataLocation, Image

if TYPE_CHECKING:
    from loadcell.plan.model import Load


class InProcessOptions(Options):
    """Options of such a target: where the data lie, and whether they stay at the run's end."""

    data: Annotated[str, Field(min_length=1)] | Image | None = None
    keep_data: bool = Field(
        default=False, description="Keep the data set at the run's end, for the next run (needs `data`)."
    )

    @model_validator(mode="after")
    def _kept_data_have_a_directory(self) -> InProcessOptions:
        if self.keep_data and self.data is None:
            raise ValueError("`keep_data` needs `data`: the run's work directory goes away with the run")
        if self.keep_data and isinstance(self.data, Image):
            raise ValueError("`keep_data` needs a directory in `data`: an image goes away with the run")
        return self


OptionsT = TypeVar("OptionsT", bound=InProcessOptions)


class InProcessTarget(Target[OptionsT], Generic[OptionsT]):
    """A library with files: nothing runs between loads, monitors watch the process that makes the load."""

    in_worker: ClassVar[bool] = True
    #: why the number of load threads is without effect
    threads_advice: ClassVar[MessageCode]

    def __init__(self, options: OptionsT, context: TargetContext) -> None:
        super().__init__(options, context)
        self._files: DataFiles | None = None

    @abstractmethod
    def _make_files(self, parent: Path) -> DataFiles:
        """The directory of the system's files in `parent`, not made yet. Raises TargetError."""

    @property
    def _location(self) -> DataLocation:
        return DataLocation(self.options.data, self.context.work, self.name)

    @property
    def files(self) -> DataFiles:
        """The files of a target that is up. Raises TargetError."""
        if self._files is None:
            raise TargetError(TARGET_NOT_UP())
        return self._files

    def up(self) -> None:
        if self._files is None:
            self._files = self._make_files(self._location.parent)
        self._location.make()
        self._files.make()

    def alive(self) -> bool:
        return self._files is not None and self._files.made

    def down(self) -> None:
        """Do nothing: the files are closed when the load ends."""

    def destroy(self) -> None:
        if self._files is not None and not self.options.keep_data:
            self._files.remove()
            self._location.remove()

    def prepare(self, spec: DataSpec, load: Loader, *, will_change: bool) -> DataSet:
        owner, keep = Owner.of(self.context.work), self.options.keep_data
        data_sets = FileDataSets(True, owner, keep, self.context.log, self.files, self.endpoint)
        return data_sets.prepare(spec, load, will_change=will_change).data_set

    def roles(self) -> tuple[Role, ...]:
        return ()

    def counters(self) -> dict[str, int]:
        return {}

    @classmethod
    def advice(cls, options: OptionsT, load: Load) -> list[Advice]:  # noqa: ARG003
        return [Advice("load.threads", cls.threads_advice())] if isinstance(load.threads, int) else []
