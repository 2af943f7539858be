"""The panel of nghttpd: context switches of all its threads."""

from loadcell.model.panels import Line, Panel, declare

declare(
    Panel(
        "nghttpd",
        "nghttpd.panel.switches",
        (Line("switches_per_s", "nghttpd.series.switches"),),
        place=80,
        total="tid",
    )
)
