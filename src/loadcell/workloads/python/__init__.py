"""A Python function as a workload."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from loadcell.model import python_metrics  # noqa: F401 - declares the metrics
from loadcell.model.extensions import HOST, TargetKind
from loadcell.model.json import JsonObject
from loadcell.model.message import Message, MessageCode
from loadcell.plan.parts import Advice, Misfit
from loadcell.plan.profile_python import OfPython
from loadcell.plan.workload import Workload, declare_unit
from loadcell.workloads.python.options import PythonOptions
from loadcell.workloads.python_runner.packages import lack

if TYPE_CHECKING:
    from loadcell.plan.model import Load
    from loadcell.plan.profile import Profile

PYTHON_NO_COUNT = MessageCode("python.no-count", key=str)
PYTHON_NO_TIMEOUT = MessageCode("python.no-timeout")


class Python(Workload[PythonOptions]):
    """A function, called again and again in a fresh process."""

    name: ClassVar[str] = "python"
    summary: ClassVar[str] = "a Python function or statements, in any interpreter"
    Options = PythonOptions
    needs = frozenset({HOST})
    unit = declare_unit("call")
    made_by: ClassVar[str | None] = "loadcell.workloads.python_runner"
    sets_load = True

    @staticmethod
    def load_settings(options: PythonOptions) -> JsonObject:  # noqa: ARG004
        """One client, unless the plan names several."""
        return {"clients": 1}

    @staticmethod
    def quantity(options: Mapping[str, object]) -> tuple[str, ...]:
        """The expected result: functions with another one do another work."""
        verify = options.get("verify")
        group = verify.get("group") if isinstance(verify, Mapping) else None
        return (str(group),) if group else ()

    def data(self) -> JsonObject | None:
        """None for the target: the load makes the data set itself."""
        return None

    @property
    def changes_data(self) -> bool:
        return False

    @property
    def lays_out(self) -> bool:
        return True

    def engine(self) -> JsonObject:
        return {"python": self.options.section()}

    def advice(self) -> list[Advice]:
        message = lack(self.options.program, self.options.packages)
        return [] if message is None else [Advice("packages", message)]

    def unmet(self, profile: Profile) -> Message | None:
        packages = profile.packages if isinstance(profile, OfPython) else ()
        return lack(self.options.program, packages)

    def misfits(self, load: Load, target: TargetKind | None) -> list[Misfit]:  # noqa: ARG002
        misfits = [
            Misfit(f"load.{key}", PYTHON_NO_COUNT(key=key))
            for key in ("requests", "requests_per_client")
            if getattr(load, key) is not None
        ]
        if load.timeout is not None:
            misfits.append(Misfit("load.timeout", PYTHON_NO_TIMEOUT()))
        return misfits


PART = Python

__all__ = ["PART", "Python", "PythonOptions"]
