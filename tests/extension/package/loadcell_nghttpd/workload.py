"""The workload `nghttpd-page`: GET of the only page that the target `nghttpd` serves, over HTTP/2."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from loadcell.model.capability import HTTP
from loadcell.plan.parts import Options
from loadcell.plan.workload import Workload
from loadcell.workloads.http import HttpOptions


class PageOptions(Options):
    """Settings of the workload `nghttpd-page`."""

    streams: int = Field(default=1, ge=1, le=10_000, description="Requests in progress per connection.")


class Page(Workload[PageOptions]):
    """Requests of one page."""

    name = "nghttpd-page"
    summary = "GET of nghttpd's page over HTTP/2"
    Options = PageOptions
    needs = frozenset({HTTP})
    unit = "request"

    def data(self) -> None:
        return None

    @property
    def changes_data(self) -> bool:
        return False

    def engine(self) -> dict[str, Any]:
        """The section that the engine's workload `http` reads."""
        options = HttpOptions(version="2", path="/index.html", streams=self.options.streams)
        return {"http": options.section()}
