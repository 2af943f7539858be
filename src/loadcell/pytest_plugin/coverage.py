"""Coverage of the ordinary pass, as pytest-cov measured it, in the run directory."""

from __future__ import annotations

import contextlib
import io
import json
import tempfile
from pathlib import Path
from typing import Any, Final

import pytest

from loadcell.model.coverage_record import CoverageRecord, FileCoverage

#: Directory of the pages with all lines, in the run directory.
DIRECTORY: Final = "coverage"
#: Name of the plugin of pytest-cov.
_PLUGIN: Final = "_cov"


def write(config: pytest.Config, run: Path) -> CoverageRecord | None:
    """Write the pages, and return the record; None where there is no coverage."""
    plugin = config.pluginmanager.get_plugin(_PLUGIN)
    controller = getattr(plugin, "cov_controller", None)
    measured: Any = getattr(controller, "combining_cov", None) or getattr(controller, "cov", None)
    if measured is None:
        return None
    # Of files without data, or of one that is gone, the library raises errors of a class of its module.
    with contextlib.suppress(Exception), contextlib.redirect_stdout(io.StringIO()):
        with tempfile.TemporaryDirectory(prefix="loadcell-") as directory:
            file = Path(directory) / "coverage.json"
            measured.json_report(outfile=str(file), ignore_errors=True)
            document = json.loads(file.read_text(encoding="utf-8"))
        pages = run / DIRECTORY
        measured.html_report(directory=str(pages), ignore_errors=True)
        page = f"{DIRECTORY}/index.html" if (pages / "index.html").is_file() else None
        return _record(document, page)
    return None


def _record(document: Any, page: str | None) -> CoverageRecord:
    files = tuple(
        FileCoverage(name, *_numbers(entry["summary"])) for name, entry in sorted(document["files"].items())
    )
    return CoverageRecord(*_numbers(document["totals"]), files, page)


def _numbers(summary: Any) -> tuple[int, int, float]:
    """Statements, missing statements, and the covered share."""
    return summary["num_statements"], summary["missing_lines"], summary["percent_covered"] / 100
