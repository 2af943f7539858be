"""loadcell: controlled performance experiments, and what their numbers mean.

`check`, `run`, `load` and `compare` are the same as the commands. They are imported at their first use.
"""

from typing import TYPE_CHECKING

from loadcell import lazy

if TYPE_CHECKING:
    from loadcell.api.checking import Checked, check
    from loadcell.api.comparisons import Comparison, compare
    from loadcell.api.errors import CallError, RunInterrupted
    from loadcell.api.findings import Statement
    from loadcell.api.plans import Plan
    from loadcell.api.running import run
    from loadcell.api.runs import Run, load
    from loadcell.model.message import MessageError
    from loadcell.plan.problems import PlanError

    __version__: str
else:
    #: Name -> module that has it.
    _PUBLIC = {
        "CallError": "api.errors",
        "Checked": "api.checking",
        "Comparison": "api.comparisons",
        "MessageError": "model.message",
        "Plan": "api.plans",
        "PlanError": "plan.problems",
        "Run": "api.runs",
        "RunInterrupted": "api.errors",
        "Statement": "api.findings",
        "check": "api.checking",
        "compare": "api.comparisons",
        "load": "api.runs",
        "run": "api.running",
    }

    def __getattr__(name: str) -> object:
        """Import a name of the interface, or read the version of the installed package."""
        if name in _PUBLIC:
            from importlib import import_module  # noqa: PLC0415

            return getattr(import_module(f"loadcell.{_PUBLIC[name]}"), name)
        if name != "__version__":
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib.metadata import version  # noqa: PLC0415

        return version("loadcell")

    def __dir__() -> list[str]:
        return sorted({*globals(), *_PUBLIC, "__version__"})


lazy.install()

__all__ = [
    "CallError",
    "Checked",
    "Comparison",
    "MessageError",
    "Plan",
    "PlanError",
    "Run",
    "RunInterrupted",
    "Statement",
    "check",
    "compare",
    "load",
    "run",
]
