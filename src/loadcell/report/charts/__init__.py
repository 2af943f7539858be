"""Charts of a report.

A chart is one module here with `SECTION`, `PLACE` and `draw(context) -> Chart | None`.
"""

from __future__ import annotations

import importlib
import pkgutil
from types import ModuleType

from loadcell.report.blocks import Chart
from loadcell.report.context import ReportContext


def drawn_in(section: str, context: ReportContext) -> list[Chart]:
    """Every chart of a section that there is something to draw for, in order."""
    from altair.utils.schemapi import debug_mode  # half a second that a terminal does not have to wait

    drawers: list[ModuleType] = [
        module
        for info in pkgutil.iter_modules(__path__, f"{__name__}.")
        if getattr(module := importlib.import_module(info.name), "SECTION", None) == section
    ]
    drawers.sort(key=lambda module: int(module.PLACE))
    # Every part checked against Vega-Lite's schema as it is made takes half of the time; tests paint every
    # chart instead.
    with debug_mode(False):
        return [chart for module in drawers if (chart := module.draw(context)) is not None]
