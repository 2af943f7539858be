"""pytest-xdist beside a measurement: processes at work at the same time would disturb each other."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

#: Whether the user had asked for processes, in the stash of the configuration.
_ATTRIBUTE = "loadcell_serialised"


def apply(config: pytest.Config) -> None:
    """Withdraw the options of pytest-xdist."""
    option = config.option
    if (
        getattr(option, "numprocesses", None)
        or getattr(option, "dist", "no") != "no"
        or getattr(option, "tx", None)
    ):
        option.numprocesses, option.dist, option.tx = 0, "no", []
        setattr(option, _ATTRIBUTE, True)


def was_applied(config: pytest.Config) -> bool:
    """True if there were any."""
    return bool(getattr(config.option, _ATTRIBUTE, False))
