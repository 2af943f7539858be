"""Charts of a report: functions declared with `chart` in the modules here."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, TypeAlias

from loadcell.report.blocks import Chart
from loadcell.report.charts import style

if TYPE_CHECKING:
    from loadcell.report.context import ReportContext

#: Draws a chart; None where there is nothing to draw.
Draw: TypeAlias = "Callable[[ReportContext], Chart | None]"

_declared: list[tuple[str, int, Draw]] = []


def chart(section: str, position: int) -> Callable[[Draw], Draw]:
    """Declare a chart of a section, by its position there."""

    def declare(draw: Draw) -> Draw:
        _declared.append((section, position, draw))
        return draw

    return declare


@cache
def load() -> None:
    """Load the modules of all charts, and altair with them."""
    for info in pkgutil.iter_modules(__path__, f"{__name__}."):
        importlib.import_module(info.name)


def drawn_in(section: str, context: ReportContext) -> list[Chart]:
    """Every chart of a section that there is something to draw for, in order."""
    load()
    drawers = sorted((item for item in _declared if item[0] == section), key=lambda item: item[1])
    with style.unchecked():
        charts = [drawn for _, _, draw in drawers if (drawn := draw(context)) is not None]
    context.drawn.update({drawn.id: drawn for drawn in charts})
    return charts
