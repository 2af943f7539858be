"""Charts of a report.

A chart is one module here with `SECTION`, `PLACE` and `draw(context) -> Chart | None`.
"""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache
from types import ModuleType

from loadcell.report.blocks import Chart
from loadcell.report.context import ReportContext


@cache
def drawers() -> tuple[ModuleType, ...]:
    """The modules of charts by their place within a section; loads altair."""
    names = (info.name for info in pkgutil.iter_modules(__path__, f"{__name__}."))
    modules = (importlib.import_module(name) for name in names)
    return tuple(
        sorted(
            (module for module in modules if hasattr(module, "SECTION")), key=lambda module: int(module.PLACE)
        )
    )


def drawn_in(section: str, context: ReportContext) -> list[Chart]:
    """Every chart of a section that there is something to draw for, in order."""
    modules = [module for module in drawers() if section == module.SECTION]
    from altair.utils.schemapi import debug_mode  # half a second that a terminal does not have to wait

    # Every part checked against Vega-Lite's schema as it is made takes half of the time; tests paint every
    # chart instead.
    with debug_mode(False):
        return [chart for module in modules if (chart := module.draw(context)) is not None]
